/* Losses of a flow's sender: found by acknowledgements and by timeouts. */
#include "config.h"

#include <errno.h>

#include "remote/udp/flow_state.h"

enum {
    REORDERING_MOST = 256,
    EXTRA = 2, /* datagrams that a timeout sends */
    SILENT_TIMEOUTS = 3,
    END_BYTES = 1, /* the end of a stream counts as a byte behind it */
};

static const int64_t ms = 1000000, timeout_most_ns = 250 * ms, variance_least_ns = 1 * ms,
                     ack_delay_ns = 1 * ms, dead_ns = 10000 * ms;

static void stop_travel(struct flow_sender *sender, struct flow_sent *sent)
{
    sender->travelling -= sent->length + ATH_DATAGRAM_HEAD_BYTES;
}

static void lose(struct ath_flow *flow, uint64_t number, bool is_congestion, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    struct flow_sent *sent = flow_sent_of(sender, number);
    stop_travel(sender, sent);
    sent->state = FLOW_FORGOTTEN;
    if (ath_path_mtu_lost(&flow->path, number, sent->length + ATH_DATAGRAM_HEAD_BYTES, now_ns))
        return;
    ath_congestion_resize(&flow->congestion, flow->path.size);
    flow->counters.lost++;
    sent->was_lost = true;
    if (is_congestion)
        ath_congestion_lost(&flow->congestion, number, sender->next_number);
    if (sent->kind == ATH_DATAGRAM_PROBE)
        return;
    sent->state = FLOW_LOST;
    sender->lost[(sender->lost_begin + sender->lost_count++) % FLOW_SENT_MAX] = number;
}

void ath_flow_advance_oldest(struct flow_sender *sender)
{
    for (; sender->oldest < sender->next_number; sender->oldest++) {
        const struct flow_sent *sent = flow_sent_of(sender, sender->oldest);
        if (sent->state == FLOW_TRAVELS || sent->state == FLOW_LOST)
            return;
    }
}

/* Datagrams that others have overtaken are lost. */
static void find_lost(struct ath_flow *flow, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    int64_t trip =
        flow_trip_of(sender) > sender->last_trip_ns ? flow_trip_of(sender) : sender->last_trip_ns;
    int64_t patience = trip + trip / 8 + ms / 4;
    sender->lost_at_ns = INT64_MAX;
    for (uint64_t number = sender->oldest; number < sender->came_until; number++) {
        const struct flow_sent *sent = flow_sent_of(sender, number);
        if (sent->state != FLOW_TRAVELS)
            continue;
        if (sender->came_until - 1 - number >= sender->reordering ||
            sent->sent_ns + patience <= now_ns)
            lose(flow, number, true, now_ns);
        else if (sent->sent_ns + patience < sender->lost_at_ns)
            sender->lost_at_ns = sent->sent_ns + patience;
    }
    ath_flow_advance_oldest(sender);
}

/* ---- acknowledgements ---- */

static void measure(struct ath_flow *flow, int64_t trip_ns, int64_t delay_ns, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    trip_ns -= delay_ns < trip_ns / 2 ? delay_ns : trip_ns / 2;
    trip_ns = trip_ns > 1000 ? trip_ns : 1000;
    int64_t error =
        sender->trip_ns > trip_ns ? sender->trip_ns - trip_ns : trip_ns - sender->trip_ns;
    sender->variance_ns = sender->trip_ns ? (3 * sender->variance_ns + error) / 4 : trip_ns / 2;
    sender->trip_ns = sender->trip_ns ? (7 * sender->trip_ns + trip_ns) / 8 : trip_ns;
    sender->last_trip_ns = trip_ns;
    ath_congestion_measured(&flow->congestion, trip_ns, sender->came_until - 1, sender->next_number,
                            now_ns);
}

/* A datagram that was believed lost has come: the path reorders. */
static void note_mistake(struct ath_flow *flow, uint64_t number, uint64_t largest)
{
    struct flow_sender *sender = &flow->sender;
    uint64_t later = largest - number + 1;
    flow->counters.mistaken++;
    if (later > sender->reordering)
        sender->reordering = later < REORDERING_MOST ? (uint32_t)later : REORDERING_MOST;
}

static void take_number(struct ath_flow *flow, uint64_t number, uint64_t largest, bool is_used,
                        int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    struct flow_sent *sent = flow_sent_of(sender, number);
    if (sent->was_lost && sent->state != FLOW_CAME)
        note_mistake(flow, number, largest);
    sent->was_lost = false;
    if (sent->state == FLOW_LOST)
        sent->state = FLOW_CAME;
    if (sent->state != FLOW_TRAVELS)
        return;
    stop_travel(sender, sent);
    sent->state = FLOW_CAME;
    if (ath_path_mtu_came(&flow->path, number, sent->length + ATH_DATAGRAM_HEAD_BYTES))
        ath_congestion_resize(&flow->congestion, flow->path.size);
    else
        ath_congestion_came(&flow->congestion, sent->length + ATH_DATAGRAM_HEAD_BYTES, is_used,
                            flow_trip_of(sender), now_ns);
}

/* Whether the window has kept the sender from sending more. */
static bool is_window_used(const struct ath_flow *flow)
{
    uint64_t window = ath_congestion_window(&flow->congestion);
    return flow->sender.travelling + flow->sender.travelling / 4 >= window;
}

static void take_ranges(struct ath_flow *flow, const struct ath_ack *ack, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    const bool is_used = is_window_used(flow);
    const uint64_t kept =
        sender->next_number > FLOW_SENT_MAX ? sender->next_number - FLOW_SENT_MAX : 0;
    uint64_t end = ack->largest + 1;
    for (size_t i = 0; i < ack->count && end > kept; i++) {
        end -= ack->ranges[i].gap;
        uint64_t begin = end - ack->ranges[i].length;
        for (uint64_t number = begin > kept ? begin : kept; number < end; number++)
            take_number(flow, number, ack->largest, is_used, now_ns);
        end = begin;
    }
}

static void take_offset(struct flow_sender *sender, uint64_t offset)
{
    if (sender->is_end_sent && offset == sender->end + END_BYTES) {
        sender->is_end_acknowledged = true;
        offset = sender->end;
    }
    if (offset > sender->acknowledged && offset <= sender->begun)
        sender->acknowledged = offset;
}

static bool is_possible(const struct flow_sender *sender, const struct ath_datagram *datagram,
                        const struct ath_ack *ack)
{
    return ack->largest < sender->next_number &&
           datagram->offset <= sender->begun + (sender->is_end_sent ? END_BYTES : 0);
}

void ath_flow_take_ack(struct ath_flow *flow, const struct ath_datagram *datagram, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    struct ath_ack ack;
    if (ath_ack_decode(datagram->payload, datagram->length, &ack) ||
        !is_possible(sender, datagram, &ack)) {
        flow->counters.refused++;
        return;
    }
    const struct flow_sent *largest = flow_sent_of(sender, ack.largest);
    bool is_news = largest->state == FLOW_TRAVELS;
    sender->came_until =
        ack.largest + 1 > sender->came_until ? ack.largest + 1 : sender->came_until;
    if (is_news) {
        measure(flow, now_ns - largest->sent_ns, (int64_t)ack.delay_us * 1000, now_ns);
        sender->timeouts = 0;
        sender->awaited_ns = now_ns;
    }
    take_ranges(flow, &ack, now_ns);
    take_offset(sender, datagram->offset);
    find_lost(flow, now_ns);
}

/* ---- timeouts ---- */

bool ath_flow_waits(const struct ath_flow *flow)
{
    const struct flow_sender *sender = &flow->sender;
    return sender->travelling || sender->lost_count ||
           (sender->begun < sender->end && sender->begun >= sender->limit);
}

int64_t ath_flow_timeout_at(const struct ath_flow *flow)
{
    const struct flow_sender *sender = &flow->sender;
    int64_t variance =
        4 * sender->variance_ns > variance_least_ns ? 4 * sender->variance_ns : variance_least_ns;
    int64_t patience = flow_trip_of(sender) + variance + ack_delay_ns;
    if (!sender->travelling && !sender->lost_count)
        patience = timeout_most_ns; /* the peer tells of new room by itself */
    for (int i = 0; i < sender->timeouts && patience < timeout_most_ns; i++)
        patience *= 2;
    int64_t most = flow_trip_of(sender) > timeout_most_ns ? flow_trip_of(sender) : timeout_most_ns;
    int64_t since = flow->spoken_ns > sender->awaited_ns ? flow->spoken_ns : sender->awaited_ns;
    return since + (patience < most ? patience : most);
}

static void lose_oldest(struct ath_flow *flow, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    for (uint64_t number = sender->oldest; number < sender->next_number; number++)
        if (flow_sent_of(sender, number)->state == FLOW_TRAVELS) {
            lose(flow, number, false, now_ns);
            return;
        }
}

static void time_out(struct ath_flow *flow, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    sender->awaited_ns = now_ns;
    sender->extra = EXTRA;
    if (sender->travelling)
        lose_oldest(flow, now_ns);
    sender->wants_probe = !sender->lost_count;
    ath_flow_advance_oldest(sender);
    if (++sender->timeouts != SILENT_TIMEOUTS)
        return;
    ath_path_mtu_silent(&flow->path, now_ns);
    ath_congestion_resize(&flow->congestion, flow->path.size);
    ath_congestion_silent(&flow->congestion);
}

void ath_flow_pass(struct ath_flow *flow, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    if (now_ns >= sender->lost_at_ns)
        find_lost(flow, now_ns);
    if (ath_flow_waits(flow) && now_ns >= ath_flow_timeout_at(flow))
        time_out(flow, now_ns);
    if (!ath_flow_waits(flow) && now_ns >= flow->spoken_ns + FLOW_IDLE_NS)
        sender->wants_probe = true;
    if (sender->timeouts >= SILENT_TIMEOUTS && now_ns - flow->heard_ns >= dead_ns)
        flow->failure = -ETIMEDOUT;
}
