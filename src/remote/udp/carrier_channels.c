/* The list of a carrier's channels. */
#include "config.h"

#include "remote/udp/carrier_state.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

struct carrier_channel *ath_carrier_find_channel(const struct ath_carrier *carrier, uint64_t number)
{
    struct carrier_channel *channel = carrier->buckets[number % CARRIER_BUCKETS];
    while (channel && channel->number != number)
        channel = channel->next_in_bucket;
    return channel;
}

static void free_channel(struct carrier_channel *channel)
{
    if (channel->pipe >= 0) {
        shutdown(channel->pipe, SHUT_RDWR); /* a forked child may have a copy */
        close(channel->pipe);
    }
    ath_udp_row_leave(channel->row);
    ath_flow_free(channel->flow);
    free(channel);
}

struct carrier_channel *ath_carrier_make_channel(struct ath_carrier *carrier, uint64_t number,
                                                 const struct ath_peer *peer, int *out_fd)
{
    int ends[2];
    struct carrier_channel *channel = calloc(1, sizeof *channel);
    const struct ath_flow_settings settings = { .channel = number,
                                                .buffer_bytes = carrier->settings.buffer_bytes,
                                                .most_bytes =
                                                    ATH_DATAGRAM_BYTES_MAX, /* probes find it */
                                                .unsent_most = carrier->settings.unsent_most,
                                                .fixed_rate = carrier->settings.fixed_rate };
    if (!channel)
        return NULL;
    *channel = (struct carrier_channel){ .number = number, .peer = *peer, .pipe = -1 };
    channel->flow = ath_flow_make(&settings, (int64_t)ath_now_ns());
    if (!channel->flow || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends)) {
        int error = channel->flow ? errno : ENOMEM;
        free_channel(channel);
        errno = error;
        return NULL;
    }
    channel->pipe = ends[0];
    channel->row = ath_udp_row_take(ends[1], (const struct sockaddr *)&carrier->local.address,
                                    (const struct sockaddr *)&peer->address);
    *out_fd = ends[1];
    return channel;
}

void ath_carrier_add_channel(struct ath_carrier *carrier, struct carrier_channel *channel)
{
    channel->next = carrier->channels;
    carrier->channels = channel;
    channel->next_in_bucket = carrier->buckets[channel->number % CARRIER_BUCKETS];
    carrier->buckets[channel->number % CARRIER_BUCKETS] = channel;
    carrier->channel_count++;
}

void ath_carrier_add_counters(struct ath_flow_counters *sum, const struct ath_flow_counters *more)
{
    sum->sent += more->sent;
    sum->retransmitted += more->retransmitted;
    sum->lost += more->lost;
    sum->mistaken += more->mistaken;
    sum->received += more->received;
    sum->duplicates += more->duplicates;
    sum->refused += more->refused;
}

void ath_carrier_remove_channel(struct ath_carrier *carrier, struct carrier_channel *channel)
{
    struct carrier_channel **link = &carrier->channels;
    while (*link != channel)
        link = &(*link)->next;
    *link = channel->next;
    link = &carrier->buckets[channel->number % CARRIER_BUCKETS];
    while (*link != channel)
        link = &(*link)->next_in_bucket;
    *link = channel->next_in_bucket;
    carrier->channel_count--;
    const struct ath_flow_counters counters = ath_flow_counters(channel->flow);
    ath_carrier_add_counters(&carrier->counters.flows, &counters);
    free_channel(channel);
}

void ath_carrier_end_channel(struct ath_carrier *carrier, struct carrier_channel *channel,
                             int failure)
{
    channel->failure = failure;
    channel->state = CHANNEL_OVER;
    pthread_cond_broadcast(&carrier->changed);
}

void ath_carrier_drop_channel(struct ath_carrier *carrier, struct carrier_channel *channel)
{
    struct ath_datagram datagram;
    ath_flow_close(channel->flow, &datagram, carrier->now_ns);
    ath_carrier_send(carrier, &channel->peer, &datagram);
    ath_carrier_end_channel(carrier, channel, -ECONNRESET);
}
