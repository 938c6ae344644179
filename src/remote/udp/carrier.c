/* The carrier's thread: moves bytes between the programs' sockets, the flows and the network. */
#include "config.h"

#include "remote/udp/carrier.h"

#include <errno.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum {
    BUCKETS = 256,
    OPEN_PAYLOAD_BYTES = ATH_DATAGRAM_BYTES_MIN - ATH_DATAGRAM_HEAD_BYTES,
    COOKIE_SPAN_S = 60,
    SECRET_BYTES = 32,
    ROUNDS_MAX = 64, /* of receiving before sending */
};

static const int64_t ms_ns = 1000000, open_first_ns = 50 * ms_ns, open_most_ns = 400 * ms_ns,
                     linger_ns = 1000 * ms_ns;

enum channel_state {
    CHANNEL_OPENING, /* the peer has not answered */
    CHANNEL_OPEN,
    CHANNEL_LINGERS, /* both streams have ended; the peer may ask again for the last answer */
    CHANNEL_OVER
};

struct channel {
    struct channel *next, *next_in_bucket;
    enum channel_state state;
    uint64_t number;
    struct ath_peer peer;
    struct ath_flow *flow;
    int pipe; /* the carrier's end */
    int failure;
    bool is_input_over, is_output_over; /* from and to the program */
    bool wants_write;                   /* the program's socket is full */
    bool is_awaited;                    /* ath_carrier_open() looks at it */
    int64_t again_ns, pause_ns;         /* while it opens: the next attempt */
    int64_t until_ns;                   /* while it lingers */
    uint8_t open_payload[OPEN_PAYLOAD_BYTES];
};

struct ath_carrier {
    struct ath_carrier_settings settings;
    int fd, wake_fd;
    pthread_t thread;
    pthread_mutex_t lock; /* held by the thread except while it waits */
    pthread_cond_t changed;
    bool is_released, is_over;
    struct channel *channels, *buckets[BUCKETS];
    size_t channel_count;
    struct ath_carrier_counters counters; /* of channels that have ended, and of no channel */
    struct ath_outgoing outgoing;
    struct ath_incoming *incoming;
    uint8_t secret[SECRET_BYTES]; /* of cookies */
    struct pollfd *polls;
    size_t poll_room;
    int64_t now_ns;
};

static void wake(struct ath_carrier *carrier)
{
    const uint64_t one = 1;
    (void)!write(carrier->wake_fd, &one, sizeof one);
}

static void send_datagram(struct ath_carrier *carrier, const struct ath_peer *to,
                          const struct ath_datagram *datagram)
{
    if (ath_outgoing_add(&carrier->outgoing, to, datagram))
        return;
    ath_outgoing_send(&carrier->outgoing, carrier->fd);
    (void)ath_outgoing_add(&carrier->outgoing, to, datagram);
}

/* ---- channels ---- */

static struct channel *find_channel(const struct ath_carrier *carrier, uint64_t number)
{
    struct channel *channel = carrier->buckets[number % BUCKETS];
    while (channel && channel->number != number)
        channel = channel->next_in_bucket;
    return channel;
}

static void free_channel(struct channel *channel)
{
    if (channel->pipe >= 0) {
        shutdown(channel->pipe, SHUT_RDWR); /* a forked child may have a copy */
        close(channel->pipe);
    }
    ath_flow_free(channel->flow);
    free(channel);
}

/* Makes a channel. *out_fd is the program's end of it. */
/* Returns NULL with errno if there is no memory or descriptor. */
static struct channel *make_channel(struct ath_carrier *carrier, uint64_t number,
                                    const struct ath_peer *peer, int *out_fd)
{
    int ends[2];
    struct channel *channel = calloc(1, sizeof *channel);
    const struct ath_flow_settings settings = { .channel = number,
                                                .buffer_bytes = carrier->settings.buffer_bytes,
                                                .most_bytes =
                                                    ATH_DATAGRAM_BYTES_MAX, /* probes find it */
                                                .fixed_rate = carrier->settings.fixed_rate };
    if (!channel)
        return NULL;
    *channel = (struct channel){ .number = number, .peer = *peer, .pipe = -1 };
    channel->flow = ath_flow_make(&settings, (int64_t)ath_now_ns());
    if (!channel->flow || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        int error = channel->flow ? errno : ENOMEM;
        free_channel(channel);
        errno = error;
        return NULL;
    }
    channel->pipe = ends[0];
    *out_fd = ends[1];
    return channel;
}

static void add_channel(struct ath_carrier *carrier, struct channel *channel)
{
    channel->next = carrier->channels;
    carrier->channels = channel;
    channel->next_in_bucket = carrier->buckets[channel->number % BUCKETS];
    carrier->buckets[channel->number % BUCKETS] = channel;
    carrier->channel_count++;
}

static void add_counters(struct ath_flow_counters *sum, const struct ath_flow_counters *more)
{
    sum->sent += more->sent;
    sum->retransmitted += more->retransmitted;
    sum->lost += more->lost;
    sum->mistaken += more->mistaken;
    sum->received += more->received;
    sum->duplicates += more->duplicates;
    sum->refused += more->refused;
}

static void remove_channel(struct ath_carrier *carrier, struct channel *channel)
{
    struct channel **link = &carrier->channels;
    while (*link != channel)
        link = &(*link)->next;
    *link = channel->next;
    link = &carrier->buckets[channel->number % BUCKETS];
    while (*link != channel)
        link = &(*link)->next_in_bucket;
    *link = channel->next_in_bucket;
    carrier->channel_count--;
    const struct ath_flow_counters counters = ath_flow_counters(channel->flow);
    add_counters(&carrier->counters.flows, &counters);
    free_channel(channel);
}

static void end_channel(struct ath_carrier *carrier, struct channel *channel, int failure)
{
    channel->failure = failure;
    channel->state = CHANNEL_OVER;
    pthread_cond_broadcast(&carrier->changed);
}

/* Ends a channel whose program has gone, and tells the peer. */
static void drop_channel(struct ath_carrier *carrier, struct channel *channel)
{
    struct ath_datagram datagram;
    ath_flow_close(channel->flow, &datagram, carrier->now_ns);
    send_datagram(carrier, &channel->peer, &datagram);
    end_channel(carrier, channel, -ECONNRESET);
}

/* ---- opening ---- */

static void make_cookie(const struct ath_carrier *carrier, const struct ath_peer *peer,
                        uint64_t number, uint64_t span, uint8_t out[ATH_COOKIE_BYTES])
{
    struct hmac_sha256_ctx hmac;
    hmac_sha256_set_key(&hmac, sizeof carrier->secret, carrier->secret);
    hmac_sha256_update(&hmac, sizeof number, (const uint8_t *)&number);
    hmac_sha256_update(&hmac, sizeof span, (const uint8_t *)&span);
    hmac_sha256_update(&hmac, peer->length, (const uint8_t *)&peer->address);
    hmac_sha256_digest(&hmac, ATH_COOKIE_BYTES, out);
}

static uint64_t span_of(const struct ath_carrier *carrier)
{
    return (uint64_t)carrier->now_ns / 1000000000 / COOKIE_SPAN_S + 1;
}

static bool has_cookie(const struct ath_carrier *carrier, const struct ath_peer *peer,
                       const struct ath_datagram *datagram)
{
    uint8_t cookie[ATH_COOKIE_BYTES];
    for (uint64_t span = span_of(carrier); span + 1 >= span_of(carrier); span--) {
        make_cookie(carrier, peer, datagram->channel, span, cookie);
        if (memeql_sec(cookie, datagram->payload, sizeof cookie))
            return true;
    }
    return false;
}

static void send_at_once(struct ath_carrier *carrier, const struct ath_peer *to,
                         const struct ath_datagram *datagram)
{
    send_datagram(carrier, to, datagram);
    ath_outgoing_send(&carrier->outgoing, carrier->fd); /* the payload is on a stack */
}

static void accept_channel(struct ath_carrier *carrier, const struct ath_peer *peer,
                           const struct ath_datagram *datagram)
{
    struct channel *channel = NULL;
    int fd;
    if (carrier->channel_count < carrier->settings.channels_max)
        channel = make_channel(carrier, datagram->channel, peer, &fd);
    if (!channel) {
        send_at_once(
            carrier, peer,
            &(struct ath_datagram){ .kind = ATH_DATAGRAM_CLOSE, .channel = datagram->channel });
        return;
    }
    channel->state = CHANNEL_OPEN;
    ath_flow_ask(channel->flow); /* this probe tells the client that the channel is open */
    add_channel(carrier, channel);
    carrier->settings.accept(carrier->settings.context, fd, peer);
}

static void take_open(struct ath_carrier *carrier, const struct ath_peer *peer,
                      const struct ath_datagram *datagram)
{
    uint8_t cookie[ATH_COOKIE_BYTES];
    if (!carrier->settings.channels_max || find_channel(carrier, datagram->channel)) {
        carrier->counters.foreign += !carrier->settings.channels_max;
        return;
    }
    if (has_cookie(carrier, peer, datagram)) {
        accept_channel(carrier, peer, datagram);
        return;
    }
    make_cookie(carrier, peer, datagram->channel, span_of(carrier), cookie);
    send_at_once(carrier, peer,
                 &(struct ath_datagram){ .kind = ATH_DATAGRAM_COOKIE,
                                         .channel = datagram->channel,
                                         .payload = cookie,
                                         .length = sizeof cookie });
}

static void send_open(struct ath_carrier *carrier, struct channel *channel)
{
    send_datagram(carrier, &channel->peer,
                  &(struct ath_datagram){ .kind = ATH_DATAGRAM_OPEN,
                                          .channel = channel->number,
                                          .payload = channel->open_payload,
                                          .length = sizeof channel->open_payload });
    channel->pause_ns = channel->pause_ns ? 2 * channel->pause_ns : open_first_ns;
    channel->pause_ns = channel->pause_ns < open_most_ns ? channel->pause_ns : open_most_ns;
    channel->again_ns = carrier->now_ns + channel->pause_ns;
}

/* An answer to a channel that opens. */
static void take_answer(struct ath_carrier *carrier, struct channel *channel,
                        const struct ath_datagram *datagram)
{
    switch (datagram->kind) {
    case ATH_DATAGRAM_COOKIE:
        memcpy(channel->open_payload, datagram->payload, ATH_COOKIE_BYTES);
        channel->pause_ns = 0;
        send_open(carrier, channel);
        break;
    case ATH_DATAGRAM_CLOSE:
        end_channel(carrier, channel, -ECONNREFUSED);
        break;
    default:
        channel->state = CHANNEL_OPEN;
        pthread_cond_broadcast(&carrier->changed);
        ath_flow_receive(channel->flow, datagram, carrier->now_ns);
    }
}

static int random_number(uint64_t *out)
{
    return getrandom(out, sizeof *out, 0) == sizeof *out ? 0 : -EIO;
}

/* Waits for the end of the opening. The lock is held. */
static int await_open(struct ath_carrier *carrier, const struct channel *channel,
                      uint64_t deadline_ms)
{
    const struct timespec until = { .tv_sec = (time_t)(deadline_ms / 1000),
                                    .tv_nsec = (long)(deadline_ms % 1000) * ms_ns };
    int status = 0;
    while (channel->state == CHANNEL_OPENING && !status)
        status = -pthread_cond_timedwait(&carrier->changed, &carrier->lock, &until);
    return channel->state == CHANNEL_OPEN ? 0 : channel->failure ? channel->failure : status;
}

int ath_carrier_begin(struct ath_carrier *carrier, const struct ath_peer *to, uint64_t *out_number,
                      int *out_fd)
{
    uint64_t number;
    int status = random_number(&number);
    if (status)
        return status;
    struct channel *channel = make_channel(carrier, number, to, out_fd);
    if (!channel)
        return -errno;
    pthread_mutex_lock(&carrier->lock);
    channel->is_awaited = true;
    add_channel(carrier, channel);
    wake(carrier);
    pthread_mutex_unlock(&carrier->lock);
    *out_number = number;
    return 0;
}

int ath_carrier_await(struct ath_carrier *carrier, uint64_t number, uint64_t deadline_ms)
{
    pthread_mutex_lock(&carrier->lock);
    struct channel *channel = find_channel(carrier, number); /* it stays while it is awaited */
    int status = await_open(carrier, channel, deadline_ms);
    if (status && channel->state != CHANNEL_OVER)
        end_channel(carrier, channel, status);
    channel->is_awaited = false;
    wake(carrier);
    pthread_mutex_unlock(&carrier->lock);
    return status;
}

int ath_carrier_open(struct ath_carrier *carrier, const struct ath_peer *to, uint64_t deadline_ms,
                     int *out_fd)
{
    uint64_t number = 0;
    ath_auto_close int fd = -1;
    int status = ath_carrier_begin(carrier, to, &number, &fd);
    if (!status)
        status = ath_carrier_await(carrier, number, deadline_ms);
    if (!status)
        *out_fd = ath_steal_fd(&fd);
    return status;
}

/* ---- datagrams that come ---- */

static void take_datagram(void *context, const struct ath_peer *from, const uint8_t *bytes,
                          size_t length)
{
    struct ath_carrier *carrier = context;
    struct ath_datagram datagram;
    int status = ath_datagram_decode(bytes, length, &datagram);
    if (status) {
        carrier->counters.damaged += status == -EILSEQ;
        carrier->counters.foreign += status != -EILSEQ;
        return;
    }
    if (datagram.kind == ATH_DATAGRAM_OPEN) {
        take_open(carrier, from, &datagram);
        return;
    }
    struct channel *channel = find_channel(carrier, datagram.channel);
    if (!channel || !ath_peer_is(&channel->peer, from) || channel->state == CHANNEL_OVER)
        carrier->counters.foreign++;
    else if (channel->state == CHANNEL_OPENING)
        take_answer(carrier, channel, &datagram);
    else
        ath_flow_receive(channel->flow, &datagram, carrier->now_ns);
}

static void take_datagrams(struct ath_carrier *carrier)
{
    for (int i = 0; i < ROUNDS_MAX; i++)
        if (!ath_incoming_take(carrier->incoming, carrier->fd, take_datagram, carrier))
            return;
}

/* ---- the program's socket ---- */

/* Both parts, or the first if the second is empty. */
static size_t part_count(const struct iovec parts[2])
{
    return parts[1].iov_len ? 2 : 1;
}

static void take_from_program(struct channel *channel)
{
    struct iovec parts[2];
    while (!channel->is_input_over && ath_flow_room(channel->flow, parts)) {
        struct msghdr message = { .msg_iov = parts, .msg_iovlen = part_count(parts) };
        ssize_t got = recvmsg(channel->pipe, &message, MSG_DONTWAIT);
        if (got > 0) {
            ath_flow_written(channel->flow, (size_t)got);
            continue;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        channel->is_input_over = true;
        ath_flow_finish(channel->flow);
    }
}

/* Returns false if the program has closed its socket. */
static bool give_to_program(struct channel *channel)
{
    struct iovec parts[2];
    channel->wants_write = false;
    while (ath_flow_ready(channel->flow, parts)) {
        struct msghdr message = { .msg_iov = parts, .msg_iovlen = part_count(parts) };
        ssize_t sent = sendmsg(channel->pipe, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN)
            return false;
        if (sent < 0) {
            channel->wants_write = true;
            return true;
        }
        ath_flow_taken(channel->flow, (size_t)sent);
    }
    if (!channel->is_output_over && ath_flow_has_ended(channel->flow)) {
        channel->is_output_over = true;
        shutdown(channel->pipe, SHUT_WR);
    }
    return true;
}

/* ---- one round of a channel ---- */

static void send_flow(struct ath_carrier *carrier, struct channel *channel)
{
    struct ath_datagram datagram;
    while (ath_flow_next(channel->flow, &datagram, carrier->now_ns))
        send_datagram(carrier, &channel->peer, &datagram);
}

static void work_open(struct ath_carrier *carrier, struct channel *channel)
{
    take_from_program(channel);
    if (!give_to_program(channel)) {
        drop_channel(carrier, channel);
        return;
    }
    send_flow(carrier, channel);
    int failure = ath_flow_failure(channel->flow);
    if (failure)
        end_channel(carrier, channel, failure);
    else if (channel->state == CHANNEL_OPEN && channel->is_output_over &&
             ath_flow_is_delivered(channel->flow)) {
        channel->state = CHANNEL_LINGERS;
        channel->until_ns = carrier->now_ns + linger_ns;
    } else if (channel->state == CHANNEL_LINGERS && carrier->now_ns >= channel->until_ns)
        end_channel(carrier, channel, 0);
}

static void work_channel(struct ath_carrier *carrier, struct channel *channel)
{
    if (channel->state == CHANNEL_OPENING && carrier->now_ns >= channel->again_ns)
        send_open(carrier, channel);
    else if (channel->state == CHANNEL_OPEN || channel->state == CHANNEL_LINGERS)
        work_open(carrier, channel);
}

static void work(struct ath_carrier *carrier)
{
    for (struct channel *channel = carrier->channels, *next; channel; channel = next) {
        next = channel->next;
        work_channel(carrier, channel);
    }
    ath_outgoing_send(&carrier->outgoing, carrier->fd);
    for (struct channel *channel = carrier->channels, *next; channel; channel = next) {
        next = channel->next;
        if (channel->state == CHANNEL_OVER && !channel->is_awaited)
            remove_channel(carrier, channel);
    }
}

/* ---- the thread ---- */

static int64_t when_of(const struct ath_carrier *carrier, const struct channel *channel)
{
    int64_t when;
    switch (channel->state) {
    case CHANNEL_OPENING:
        return channel->again_ns;
    case CHANNEL_OVER:
        return INT64_MAX;
    case CHANNEL_LINGERS:
        when = ath_flow_when(channel->flow, carrier->now_ns);
        return when < channel->until_ns ? when : channel->until_ns;
    default:
        return ath_flow_when(channel->flow, carrier->now_ns);
    }
}

static short events_of(const struct channel *channel)
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
    for (const struct channel *channel = carrier->channels; channel; channel = channel->next) {
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
        remove_channel(carrier, carrier->channels);
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
        work(carrier);
    }
    bool is_released = carrier->is_released;
    pthread_mutex_unlock(&carrier->lock);
    if (is_released)
        free_carrier(carrier);
    return NULL;
}

static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static int start_thread(struct ath_carrier *carrier)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = -pthread_create(&carrier->thread, NULL, serve, carrier);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

int ath_carrier_make(int fd, const struct ath_carrier_settings *settings,
                     struct ath_carrier **out_carrier)
{
    struct ath_carrier *carrier = calloc(1, sizeof *carrier);
    if (!carrier)
        return -ENOMEM;
    carrier->settings = *settings;
    carrier->fd = fd;
    carrier->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    carrier->incoming = ath_incoming_make();
    carrier->poll_room = 16;
    carrier->polls = calloc(carrier->poll_room, sizeof *carrier->polls);
    pthread_mutex_init(&carrier->lock, NULL);
    init_condition(&carrier->changed);
    carrier->now_ns = (int64_t)ath_now_ns();
    ath_batch_tune(fd);
    int status = carrier->wake_fd < 0                                          ? -errno
                 : !carrier->incoming || !carrier->polls                       ? -ENOMEM
                 : getrandom(carrier->secret, SECRET_BYTES, 0) != SECRET_BYTES ? -EIO
                                                                               : 0;
    if (!status)
        status = start_thread(carrier);
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
    for (const struct channel *channel = carrier->channels; channel; channel = channel->next) {
        const struct ath_flow_counters one = ath_flow_counters(channel->flow);
        add_counters(&counters.flows, &one);
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
    wake(carrier);
    pthread_mutex_unlock(&carrier->lock);
}

void ath_carrier_free(struct ath_carrier *carrier)
{
    if (!carrier)
        return;
    pthread_mutex_lock(&carrier->lock);
    carrier->is_over = true;
    wake(carrier);
    pthread_mutex_unlock(&carrier->lock);
    pthread_join(carrier->thread, NULL);
    free_carrier(carrier);
}
