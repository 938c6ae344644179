/* The carrier and its thread: waits for the network, for programs and for time. */
#include "config.h"

#include "remote/udp/carrier_state.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

enum { ROUNDS_MAX = 64 }; /* of receiving before sending */

void ath_carrier_wake(struct ath_carrier *carrier)
{
    const uint64_t one = 1;
    (void)!write(carrier->wake_fd, &one, sizeof one);
}

void ath_carrier_send(struct ath_carrier *carrier, const struct ath_peer *to,
                      const struct ath_datagram *datagram)
{
    if (ath_outgoing_add(&carrier->outgoing, to, datagram))
        return;
    ath_outgoing_send(&carrier->outgoing, carrier->fd);
    (void)ath_outgoing_add(&carrier->outgoing, to, datagram);
}

/* ---- datagrams that come ---- */

/* Counts a datagram with a wrong sum, by the channel that it names if that has this peer. */
static void count_damaged(struct ath_carrier *carrier, const struct ath_peer *from,
                          const uint8_t *bytes)
{
    struct carrier_channel *channel =
        ath_carrier_find_channel(carrier, ath_datagram_channel(bytes));
    carrier->counters.damaged++;
    if (channel && ath_peer_is(&channel->peer, from))
        channel->damaged++;
}

static void take_datagram(void *context, const struct ath_peer *from, const uint8_t *bytes,
                          size_t length)
{
    struct ath_carrier *carrier = context;
    struct ath_datagram datagram;
    int status = ath_datagram_decode(bytes, length, &datagram);
    if (status) {
        if (status == -EILSEQ)
            count_damaged(carrier, from, bytes);
        else
            carrier->counters.foreign++;
        return;
    }
    if (datagram.kind == ATH_DATAGRAM_OPEN) {
        ath_carrier_take_open(carrier, from, &datagram);
        return;
    }
    struct carrier_channel *channel = ath_carrier_find_channel(carrier, datagram.channel);
    if (!channel || !ath_peer_is(&channel->peer, from) || channel->state == CHANNEL_OVER)
        carrier->counters.foreign++;
    else if (channel->state == CHANNEL_OPENING)
        ath_carrier_take_answer(carrier, channel, &datagram);
    else
        ath_flow_receive(channel->flow, &datagram, carrier->now_ns);
}

static void take_datagrams(struct ath_carrier *carrier)
{
    for (int i = 0; i < ROUNDS_MAX; i++)
        if (!ath_incoming_take(carrier->incoming, carrier->fd, take_datagram, carrier))
            return;
}

/* ---- the thread ---- */

static int64_t when_of(const struct ath_carrier *carrier, const struct carrier_channel *channel)
{
    int64_t when;
    switch (channel->state) {
    case CHANNEL_OPENING:
        return channel->again_ns;
    case CHANNEL_OVER:
        return INT64_MAX;
    default:
        when = ath_flow_when(channel->flow, carrier->now_ns);
        return channel->until_ns && channel->until_ns < when ? channel->until_ns : when;
    }
}

static short events_of(const struct carrier_channel *channel)
{
    struct iovec parts[2];
    if (channel->state != CHANNEL_OPEN)
        return 0;
    bool reads = !channel->is_input_over && ath_flow_room(channel->flow, parts);
    return (short)((reads ? POLLIN : 0) | (channel->wants_write ? POLLOUT : 0));
}

/* Fills carrier->polls. A channel without wanted events is left out, as ppoll() would report a
 * hangup all the time. Returns their number, and when the first channel has something to do. */
static size_t prepare_polls(struct ath_carrier *carrier, int64_t *out_when)
{
    size_t count = 0;
    *out_when = INT64_MAX;
    if (carrier->channel_count + 2 > carrier->poll_room) {
        size_t room = 2 * carrier->channel_count + 16;
        struct pollfd *larger = realloc(carrier->polls, room * sizeof *larger);
        carrier->poll_room = larger ? room : carrier->poll_room;
        carrier->polls = larger ? larger : carrier->polls;
    }
    carrier->polls[count++] = (struct pollfd){ .fd = carrier->fd, .events = POLLIN };
    carrier->polls[count++] = (struct pollfd){ .fd = carrier->wake_fd, .events = POLLIN };
    for (const struct carrier_channel *channel = carrier->channels; channel;
         channel = channel->next) {
        int64_t when = when_of(carrier, channel);
        short events = events_of(channel);
        *out_when = when < *out_when ? when : *out_when;
        if (events && count < carrier->poll_room)
            carrier->polls[count++] = (struct pollfd){ .fd = channel->pipe, .events = events };
    }
    return count;
}

static void wait_for_work(struct ath_carrier *carrier)
{
    int64_t when;
    uint64_t woken;
    size_t count = prepare_polls(carrier, &when);
    int64_t left = when == INT64_MAX ? INT64_MAX : when - (int64_t)ath_now_ns();
    const struct timespec patience = { .tv_sec = left > 0 ? left / 1000000000 : 0,
                                       .tv_nsec = left > 0 ? left % 1000000000 : 0 };
    pthread_mutex_unlock(&carrier->lock);
    (void)ppoll(carrier->polls, count, left == INT64_MAX ? NULL : &patience, NULL);
    pthread_mutex_lock(&carrier->lock);
    (void)!read(carrier->wake_fd, &woken, sizeof woken);
    carrier->now_ns = (int64_t)ath_now_ns();
}

static void free_carrier(struct ath_carrier *carrier)
{
    while (carrier->channels)
        ath_carrier_remove_channel(carrier, carrier->channels);
    close(carrier->fd);
    close(carrier->wake_fd);
    ath_incoming_free(carrier->incoming);
    free(carrier->polls);
    pthread_cond_destroy(&carrier->changed);
    pthread_mutex_destroy(&carrier->lock);
    free(carrier);
}

static void *serve(void *argument)
{
    struct ath_carrier *carrier = argument;
    prctl(PR_SET_NAME, "ath-udp");
    prctl(PR_SET_TIMERSLACK, 1000); /* nanoseconds: pacing wakes often */
    pthread_mutex_lock(&carrier->lock);
    while (!carrier->is_over && !(carrier->is_released && !carrier->channels)) {
        wait_for_work(carrier);
        take_datagrams(carrier);
        ath_carrier_work(carrier);
    }
    bool is_released = carrier->is_released;
    pthread_mutex_unlock(&carrier->lock);
    if (is_released)
        free_carrier(carrier);
    return NULL;
}

int ath_carrier_make(int fd, const struct ath_carrier_settings *settings,
                     struct ath_carrier **out_carrier)
{
    struct ath_carrier *carrier = calloc(1, sizeof *carrier);
    if (!carrier)
        return -ENOMEM;
    carrier->settings = *settings;
    carrier->fd = fd;
    carrier->local.length = sizeof carrier->local.address;
    (void)getsockname(fd, (struct sockaddr *)&carrier->local.address, &carrier->local.length);
    carrier->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    carrier->incoming = ath_incoming_make();
    carrier->poll_room = 16;
    carrier->polls = calloc(carrier->poll_room, sizeof *carrier->polls);
    pthread_mutex_init(&carrier->lock, NULL);
    ath_cond_init(&carrier->changed);
    carrier->now_ns = (int64_t)ath_now_ns();
    ath_batch_tune(fd);
    int status = carrier->wake_fd < 0                    ? -errno
                 : !carrier->incoming || !carrier->polls ? -ENOMEM
                 : getrandom(carrier->secret, CARRIER_SECRET_BYTES, 0) != CARRIER_SECRET_BYTES
                     ? -EIO
                     : 0;
    if (!status)
        status = ath_thread_start(&carrier->thread, serve, carrier);
    if (status) {
        carrier->fd = -1; /* stays the caller's */
        free_carrier(carrier);
        return status;
    }
    *out_carrier = carrier;
    return 0;
}

struct ath_carrier_counters ath_carrier_counters(struct ath_carrier *carrier)
{
    pthread_mutex_lock(&carrier->lock);
    struct ath_carrier_counters counters = carrier->counters;
    counters.channels = carrier->channel_count;
    for (const struct carrier_channel *channel = carrier->channels; channel;
         channel = channel->next) {
        const struct ath_flow_counters one = ath_flow_counters(channel->flow);
        ath_carrier_add_counters(&counters.flows, &one);
        if (one.trip_ns > counters.flows.trip_ns)
            counters.flows.trip_ns = one.trip_ns;
        if (one.datagram_bytes > counters.flows.datagram_bytes)
            counters.flows.datagram_bytes = one.datagram_bytes;
    }
    pthread_mutex_unlock(&carrier->lock);
    return counters;
}

void ath_carrier_release(struct ath_carrier *carrier)
{
    pthread_detach(carrier->thread);
    pthread_mutex_lock(&carrier->lock);
    carrier->is_released = true;
    ath_carrier_wake(carrier);
    pthread_mutex_unlock(&carrier->lock);
}

void ath_carrier_free(struct ath_carrier *carrier)
{
    if (!carrier)
        return;
    pthread_mutex_lock(&carrier->lock);
    carrier->is_over = true;
    ath_carrier_wake(carrier);
    pthread_mutex_unlock(&carrier->lock);
    pthread_join(carrier->thread, NULL);
    free_carrier(carrier);
}
