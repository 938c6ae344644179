/* One round of a carrier's channels: bytes go between the program's socket and the flow. */
#include "config.h"

#include "remote/udp/carrier_state.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

static const int64_t linger_ns = 1000000000;
/* As long as a flow waits for a silent peer. */
static const int64_t gone_ns = INT64_C(10000000000);

/* Both parts, or the first if the second is empty. */
static size_t part_count(const struct iovec parts[2])
{
    return parts[1].iov_len ? 2 : 1;
}

static void take_from_program(struct carrier_channel *channel)
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
static bool give_to_program(struct carrier_channel *channel)
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

/* Returns whether the program has closed its socket, and not only ended what it sends. */
static bool is_program_gone(const struct carrier_channel *channel)
{
    struct pollfd one = { .fd = channel->pipe };
    return channel->is_input_over && poll(&one, 1, 0) > 0 && one.revents & (POLLHUP | POLLERR);
}

/* ---- one round of a channel ---- */

static void send_flow(struct ath_carrier *carrier, struct carrier_channel *channel)
{
    struct ath_datagram datagram;
    while (ath_flow_next(channel->flow, &datagram, carrier->now_ns))
        ath_carrier_send(carrier, &channel->peer, &datagram);
}

static void write_row(const struct carrier_channel *channel)
{
    const struct ath_flow_counters counters = ath_flow_counters(channel->flow);
    const struct ath_udp_figures figures = { .sent = counters.sent,
                                             .received = counters.received,
                                             .sent_again = counters.retransmitted,
                                             .lost = counters.lost,
                                             .duplicates = counters.duplicates,
                                             .damaged = channel->damaged,
                                             .trip_ns = (uint64_t)counters.trip_ns };
    ath_udp_row_write(channel->row, ath_flow_waiting(channel->flow), &figures);
}

static void work_open(struct ath_carrier *carrier, struct carrier_channel *channel)
{
    take_from_program(channel);
    write_row(channel); /* at once: the bytes are not in the socket any more */
    if (!give_to_program(channel)) {
        ath_carrier_drop_channel(carrier, channel);
        return;
    }
    if (!channel->until_ns && is_program_gone(channel))
        channel->until_ns = carrier->now_ns + gone_ns;
    send_flow(carrier, channel);
    write_row(channel);
    int failure = ath_flow_failure(channel->flow);
    if (failure)
        ath_carrier_end_channel(carrier, channel, failure);
    else if (channel->state == CHANNEL_OPEN && channel->is_output_over &&
             ath_flow_is_delivered(channel->flow)) {
        channel->state = CHANNEL_LINGERS;
        channel->until_ns = carrier->now_ns + linger_ns;
    } else if (channel->until_ns && carrier->now_ns >= channel->until_ns) {
        if (channel->state == CHANNEL_LINGERS)
            ath_carrier_end_channel(carrier, channel, 0);
        else
            ath_carrier_drop_channel(carrier, channel);
    }
}

static void work_channel(struct ath_carrier *carrier, struct carrier_channel *channel)
{
    if (channel->state == CHANNEL_OPENING && carrier->now_ns >= channel->again_ns)
        ath_carrier_send_open(carrier, channel);
    else if (channel->state == CHANNEL_OPEN || channel->state == CHANNEL_LINGERS)
        work_open(carrier, channel);
}

void ath_carrier_work(struct ath_carrier *carrier)
{
    for (struct carrier_channel *channel = carrier->channels, *next; channel; channel = next) {
        next = channel->next;
        work_channel(carrier, channel);
    }
    ath_outgoing_send(&carrier->outgoing, carrier->fd);
    for (struct carrier_channel *channel = carrier->channels, *next; channel; channel = next) {
        next = channel->next;
        if (channel->state == CHANNEL_OVER && !channel->is_awaited)
            ath_carrier_remove_channel(carrier, channel);
    }
}
