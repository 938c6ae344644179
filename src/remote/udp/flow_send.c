/* The sender of a flow: which datagram it sends, and when. */
#include "config.h"

#include "remote/udp/flow_state.h"

enum {
    FOR_NEW = 2, /* quarters of the numbers */
    FOR_ACKS = 3,
    FOR_LOST = 4,
};

static const int64_t burst_ns = 1000000;
static const uint64_t burst_bytes = UINT64_C(128) * 1024;

static void send_it(struct ath_flow *flow, struct ath_datagram *out, bool is_answered,
                    int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    ath_flow_advance_oldest(sender);
    out->channel = flow->settings.channel;
    out->number = sender->next_number++;
    out->limit = flow->receiver.limit = ath_flow_limit(flow);
    *flow_sent_of(sender, out->number) =
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
    return ath_congestion_rate(&flow->congestion, flow_trip_of(&flow->sender));
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
    struct flow_sent *sent = flow_sent_of(sender, sender->lost[sender->lost_begin]);
    if (sent->state == FLOW_LOST)
        sent->state = FLOW_FORGOTTEN;
    sender->lost_begin = (sender->lost_begin + 1) % FLOW_SENT_MAX;
    sender->lost_count--;
    ath_flow_advance_oldest(sender);
}

/* Sends the next lost bytes again, in several datagrams if the path carries only smaller ones. */
static bool make_lost(struct ath_flow *flow, struct ath_datagram *out, int64_t now_ns)
{
    struct flow_sender *sender = &flow->sender;
    for (; sender->lost_count; drop_lost(sender)) {
        struct flow_sent *sent = flow_sent_of(sender, sender->lost[sender->lost_begin]);
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
    ath_flow_pass(flow, now_ns);
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
    when = earlier(when, ath_flow_waits(flow) ? ath_flow_timeout_at(flow)
                                              : flow->spoken_ns + FLOW_IDLE_NS);
    if (has_number(sender, FOR_LOST) && sender->wants_probe)
        when = now_ns;
    if (has_number(sender, sender->lost_count ? FOR_LOST : FOR_NEW) && has_window(flow) &&
        has_bytes(sender))
        when = earlier(when, sender->paced_ns);
    return when;
}
