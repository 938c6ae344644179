/* The sender of a flow: what to send when, what came, and what is lost. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>

#include "remote/udp/flow_state.h"

enum {
    REORDERING_FIRST = 3, /* RFC 9002, 6.1.1 */
    REORDERING_MOST = 256,
    EXTRA = 2, /* datagrams that a timeout sends */
    SILENT_TIMEOUTS = 3,
    FOR_NEW = 2, /* quarters of the numbers */
    FOR_ACKS = 3,
    FOR_LOST = 4,
    END_BYTES = 1, /* the end of a stream counts as a byte behind it */
};

static const int64_t ms = 1000000, trip_first_ns = 50 * ms, timeout_most_ns = 250 * ms,
                     variance_least_ns = 1 * ms, ack_delay_ns = 1 * ms, burst_ns = 1 * ms,
                     idle_ns = 4000 * ms, dead_ns = 10000 * ms;
static const uint64_t burst_bytes = UINT64_C(128) * 1024;

static struct flow_sent *sent_of(struct flow_sender *sender, uint64_t number)
{
    return &sender->sent[number % FLOW_SENT_MAX];
}

static int64_t trip_of(const struct flow_sender *sender)
{
    return sender->trip_ns ? sender->trip_ns : trip_first_ns;
}

/* ---- making and ending ---- */

struct ath_flow *ath_flow_make(const struct ath_flow_settings *settings, int64_t now_ns)
{
    struct ath_flow *flow = calloc(1, sizeof *flow + 2 * settings->buffer_bytes);
    if (!flow)
        return NULL;
    flow->settings = *settings;
    flow->heard_ns = flow->spoken_ns = now_ns;
    ath_path_mtu_begin(&flow->path, settings->most_bytes);
    ath_congestion_begin(&flow->congestion, flow->path.size, settings->fixed_rate, now_ns);
    flow->sender.bytes = (uint8_t *)(flow + 1);
    flow->sender.limit = settings->buffer_bytes;
    flow->sender.reordering = REORDERING_FIRST;
    flow->sender.lost_at_ns = INT64_MAX;
    flow->receiver.bytes = flow->sender.bytes + settings->buffer_bytes;
    flow->receiver.limit = settings->buffer_bytes;
    flow->receiver.end = UINT64_MAX;
    return flow;
}

void ath_flow_free(struct ath_flow *flow)
{
    free(flow);
}

int ath_flow_failure(const struct ath_flow *flow)
{
    return flow->failure;
}

struct ath_flow_counters ath_flow_counters(const struct ath_flow *flow)
{
    struct ath_flow_counters counters = flow->counters;
    counters.trip_ns = flow->sender.trip_ns;
    counters.datagram_bytes = flow->path.size;
    return counters;
}

/* ---- the program ---- */

size_t ath_flow_room(const struct ath_flow *flow, struct iovec parts[2])
{
    const struct flow_sender *sender = &flow->sender;
    size_t used = (size_t)(sender->end - sender->acknowledged);
    size_t room = sender->is_finished ? 0 : flow->settings.buffer_bytes - used;
    ath_flow_parts(flow, sender->bytes, sender->end, room, parts);
    return room;
}

void ath_flow_written(struct ath_flow *flow, size_t bytes)
{
    flow->sender.end += bytes;
}

void ath_flow_finish(struct ath_flow *flow)
{
    flow->sender.is_finished = true;
}

bool ath_flow_is_delivered(const struct ath_flow *flow)
{
    return flow->sender.is_end_acknowledged;
}

/* ---- losses ---- */

static void stop_travel(struct flow_sender *sender, struct flow_sent *sent)
{
    sender->travelling -= sent->length + ATH_DATAGRAM_HEAD_BYTES;
}

static void lose(struct ath_flow *flow, uint64_t number, bool is_congestion, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    struct flow_sent *sent = sent_of(sender, number);
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

static void advance_oldest(struct flow_sender *sender)
{
    for (; sender->oldest < sender->next_number; sender->oldest++) {
        const struct flow_sent *sent = sent_of(sender, sender->oldest);
        if (sent->state == FLOW_TRAVELS || sent->state == FLOW_LOST)
            return;
    }
}

/* Datagrams that others have overtaken are lost. */
static void find_lost(struct ath_flow *flow, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    int64_t trip = trip_of(sender) > sender->last_trip_ns ? trip_of(sender) : sender->last_trip_ns;
    int64_t patience = trip + trip / 8 + ms / 4;
    sender->lost_at_ns = INT64_MAX;
    for (uint64_t number = sender->oldest; number < sender->came_until; number++) {
        const struct flow_sent *sent = sent_of(sender, number);
        if (sent->state != FLOW_TRAVELS)
            continue;
        if (sender->came_until - 1 - number >= sender->reordering ||
            sent->sent_ns + patience <= now_ns)
            lose(flow, number, true, now_ns);
        else if (sent->sent_ns + patience < sender->lost_at_ns)
            sender->lost_at_ns = sent->sent_ns + patience;
    }
    advance_oldest(sender);
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
    struct flow_sent *sent = sent_of(sender, number);
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
                            trip_of(sender), now_ns);
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
    const struct flow_sent *largest = sent_of(sender, ack.largest);
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

/* Something waits for the peer: bytes, or the room to send them. */
static bool waits(const struct ath_flow *flow)
{
    const struct flow_sender *sender = &flow->sender;
    return sender->travelling || sender->lost_count ||
           (sender->begun < sender->end && sender->begun >= sender->limit);
}

static int64_t timeout_at(const struct ath_flow *flow)
{
    const struct flow_sender *sender = &flow->sender;
    int64_t variance =
        4 * sender->variance_ns > variance_least_ns ? 4 * sender->variance_ns : variance_least_ns;
    int64_t patience = trip_of(sender) + variance + ack_delay_ns;
    if (!sender->travelling && !sender->lost_count)
        patience = timeout_most_ns; /* the peer tells of new room by itself */
    for (int i = 0; i < sender->timeouts && patience < timeout_most_ns; i++)
        patience *= 2;
    int64_t most = trip_of(sender) > timeout_most_ns ? trip_of(sender) : timeout_most_ns;
    int64_t since = flow->spoken_ns > sender->awaited_ns ? flow->spoken_ns : sender->awaited_ns;
    return since + (patience < most ? patience : most);
}

static void lose_oldest(struct ath_flow *flow, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    for (uint64_t number = sender->oldest; number < sender->next_number; number++)
        if (sent_of(sender, number)->state == FLOW_TRAVELS) {
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
    advance_oldest(sender);
    if (++sender->timeouts != SILENT_TIMEOUTS)
        return;
    ath_path_mtu_silent(&flow->path, now_ns);
    ath_congestion_resize(&flow->congestion, flow->path.size);
    ath_congestion_silent(&flow->congestion);
}

static void pass(struct ath_flow *flow, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    if (now_ns >= sender->lost_at_ns)
        find_lost(flow, now_ns);
    if (waits(flow) && now_ns >= timeout_at(flow))
        time_out(flow, now_ns);
    if (!waits(flow) && now_ns >= flow->spoken_ns + idle_ns)
        sender->wants_probe = true;
    if (sender->timeouts >= SILENT_TIMEOUTS && now_ns - flow->heard_ns >= dead_ns)
        flow->failure = -ETIMEDOUT;
}

/* ---- sending ---- */

static void send_it(struct ath_flow *flow, struct ath_datagram *out, bool is_answered,
                    int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    advance_oldest(sender);
    out->channel = flow->settings.channel;
    out->number = sender->next_number++;
    out->limit = flow->receiver.limit = ath_flow_limit(flow);
    *sent_of(sender, out->number) =
        (struct flow_sent){ .state = is_answered ? FLOW_TRAVELS : FLOW_FORGOTTEN,
                            .kind = out->kind,
                            .offset = out->offset,
                            .length = out->length,
                            .sent_ns = now_ns };
    out->back = (uint32_t)(out->number - sender->oldest);
    flow->counters.sent++;
    if (!is_answered)
        return;
    if (!sender->travelling)
        sender->awaited_ns = now_ns;
    sender->travelling += out->length + ATH_DATAGRAM_HEAD_BYTES;
    flow->spoken_ns = now_ns;
}

static uint64_t rate_of(const struct ath_flow *flow)
{
    return ath_congestion_rate(&flow->congestion, trip_of(&flow->sender));
}

/* How long the bytes of a burst take: short bursts cost more system calls, long ones fill queues.
 */
static int64_t burst_of(const struct ath_flow *flow)
{
    uint64_t ns = burst_bytes * 1000000000 / rate_of(flow);
    return ns < (uint64_t)burst_ns ? (int64_t)ns : burst_ns;
}

static void pace(struct ath_flow *flow, size_t length, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    int64_t least = now_ns - burst_of(flow);
    sender->paced_ns = sender->paced_ns > least ? sender->paced_ns : least;
    sender->paced_ns +=
        (int64_t)((length + ATH_DATAGRAM_HEAD_BYTES) * UINT64_C(1000000000) / rate_of(flow));
}

/* Whether a datagram may have a number: new bytes leave numbers for acknowledgements, and both for
 * bytes that are sent again, so that the oldest number always gets free. */
static bool has_number(const struct flow_sender *sender, int quarters)
{
    return sender->next_number - sender->oldest < (uint64_t)(FLOW_SENT_MAX / 4 * quarters - 1);
}

static bool has_window(const struct ath_flow *flow)
{
    return flow->sender.extra || !flow->sender.travelling ||
           flow->sender.travelling + flow->path.size <= ath_congestion_window(&flow->congestion);
}

static bool make_data(struct ath_flow *flow, uint64_t offset, size_t length,
                      struct ath_datagram *out, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    const size_t at = ath_flow_place(flow, offset);
    size_t most = ath_flow_lesser(flow->path.size - ATH_DATAGRAM_HEAD_BYTES,
                                  flow->settings.buffer_bytes - at);
    *out = (struct ath_datagram){ .kind = ATH_DATAGRAM_DATA,
                                  .offset = offset,
                                  .payload = sender->bytes + at,
                                  .length = ath_flow_lesser(length, most) };
    pace(flow, out->length, now_ns);
    send_it(flow, out, true, now_ns);
    sender->extra -= sender->extra > 0;
    return true;
}

static bool make_end(struct ath_flow *flow, struct ath_datagram *out, int64_t now_ns)
{
    *out = (struct ath_datagram){ .kind = ATH_DATAGRAM_END, .offset = flow->sender.end };
    flow->sender.is_end_sent = true;
    send_it(flow, out, true, now_ns);
    return true;
}

static void drop_lost(struct flow_sender *sender)
{
    struct flow_sent *sent = sent_of(sender, sender->lost[sender->lost_begin]);
    if (sent->state == FLOW_LOST)
        sent->state = FLOW_FORGOTTEN;
    sender->lost_begin = (sender->lost_begin + 1) % FLOW_SENT_MAX;
    sender->lost_count--;
    advance_oldest(sender);
}

/* Sends the next lost bytes again, in several datagrams if the path carries only smaller ones. */
static bool make_lost(struct ath_flow *flow, struct ath_datagram *out, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    for (; sender->lost_count; drop_lost(sender)) {
        struct flow_sent *sent = sent_of(sender, sender->lost[sender->lost_begin]);
        if (sent->state != FLOW_LOST)
            continue;
        if (sent->kind == ATH_DATAGRAM_END) {
            if (sender->is_end_acknowledged)
                continue;
            drop_lost(sender);
            return make_end(flow, out, now_ns);
        }
        if (sent->offset + sent->length <= sender->acknowledged)
            continue;
        make_data(flow, sent->offset, sent->length, out, now_ns);
        flow->counters.retransmitted++;
        sent->offset += out->length;
        sent->length -= out->length;
        if (!sent->length)
            drop_lost(sender);
        return true;
    }
    return false;
}

static bool make_new(struct ath_flow *flow, struct ath_datagram *out, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    uint64_t end = sender->end < sender->limit ? sender->end : sender->limit;
    if (sender->begun < end) {
        make_data(flow, sender->begun, (size_t)(end - sender->begun), out, now_ns);
        sender->begun += out->length;
        return true;
    }
    return sender->is_finished && !sender->is_end_sent && sender->begun == sender->end &&
           make_end(flow, out, now_ns);
}

static bool make_probe(struct ath_flow *flow, size_t size, struct ath_datagram *out, int64_t now_ns)
{
    static const uint8_t padding[ATH_DATAGRAM_BYTES_MAX];
    *out = (struct ath_datagram){ .kind = ATH_DATAGRAM_PROBE,
                                  .payload = padding,
                                  .length = size - ATH_DATAGRAM_HEAD_BYTES };
    if (size > ATH_DATAGRAM_HEAD_BYTES)
        ath_path_mtu_sent(&flow->path, size, flow->sender.next_number);
    flow->sender.wants_probe = false;
    send_it(flow, out, true, now_ns);
    return true;
}

/* A larger size is worth a probe once bytes travel, and never beside losses. */
static size_t due_size(const struct ath_flow *flow, int64_t now_ns)
{
    const struct flow_sender *sender = &flow->sender;
    bool is_worth = sender->trip_ns && !sender->lost_count && !sender->timeouts &&
                    sender->end > ATH_DATAGRAM_BYTES_MIN;
    return is_worth ? ath_path_mtu_due(&flow->path, now_ns) : 0;
}

bool ath_flow_next(struct ath_flow *flow, struct ath_datagram *out, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    if (flow->failure)
        return false;
    pass(flow, now_ns);
    if (flow->failure)
        return false;
    if (ath_flow_owes_ack(flow, now_ns) && has_number(sender, FOR_ACKS)) {
        ath_flow_make_ack(flow, out, now_ns);
        send_it(flow, out, false, now_ns);
        return true;
    }
    if (!has_number(sender, FOR_LOST))
        return false;
    if (sender->wants_probe)
        return make_probe(flow, ATH_DATAGRAM_HEAD_BYTES, out, now_ns);
    if (!has_window(flow) || sender->paced_ns > now_ns)
        return false;
    size_t size = due_size(flow, now_ns);
    if (size)
        return make_probe(flow, size, out, now_ns);
    return make_lost(flow, out, now_ns) ||
           (has_number(sender, FOR_NEW) && make_new(flow, out, now_ns));
}

void ath_flow_ask(struct ath_flow *flow)
{
    flow->sender.wants_probe = true;
}

void ath_flow_close(struct ath_flow *flow, struct ath_datagram *out, int64_t now_ns)
{
    *out = (struct ath_datagram){ .kind = ATH_DATAGRAM_CLOSE };
    send_it(flow, out, false, now_ns);
}

static bool has_bytes(const struct flow_sender *sender)
{
    return sender->lost_count || (sender->begun < sender->end && sender->begun < sender->limit) ||
           (sender->is_finished && !sender->is_end_sent && sender->begun == sender->end);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t ath_flow_when(const struct ath_flow *flow, int64_t now_ns)
{
    const struct flow_sender *sender = &flow->sender;
    if (flow->failure)
        return INT64_MAX;
    int64_t when = sender->lost_at_ns;
    if (has_number(sender, FOR_ACKS))
        when = earlier(when, ath_flow_ack_when(flow));
    when = earlier(when, waits(flow) ? timeout_at(flow) : flow->spoken_ns + idle_ns);
    if (has_number(sender, FOR_LOST) && sender->wants_probe)
        when = now_ns;
    if (has_number(sender, sender->lost_count ? FOR_LOST : FOR_NEW) && has_window(flow) &&
        has_bytes(sender))
        when = earlier(when, sender->paced_ns);
    return when;
}
