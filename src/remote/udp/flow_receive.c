/* The receiver of a flow: puts the stream together, and says what came. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "remote/udp/flow_state.h"

enum { ACK_EACH = 2 };

static const int64_t ack_delay_ns = 1000000;

/* ---- pieces of the stream ---- */

static void remove_spans(struct flow_receiver *receiver, size_t from, size_t to)
{
    memmove(receiver->spans + from, receiver->spans + to,
            (receiver->span_count - to) * sizeof *receiver->spans);
    receiver->span_count -= to - from;
}

/* Adds a piece that begins behind received. Returns false if there are too many pieces. */
static bool add_span(struct flow_receiver *receiver, uint64_t begin, uint64_t end)
{
    size_t from = receiver->span_count, to;
    while (from && receiver->spans[from - 1].end >= begin)
        from--;
    for (to = from; to < receiver->span_count && receiver->spans[to].begin <= end; to++) {
        begin = receiver->spans[to].begin < begin ? receiver->spans[to].begin : begin;
        end = receiver->spans[to].end > end ? receiver->spans[to].end : end;
    }
    if (from == to) {
        if (receiver->span_count == FLOW_SPANS_MAX)
            return false;
        memmove(receiver->spans + from + 1, receiver->spans + from,
                (receiver->span_count++ - from) * sizeof *receiver->spans);
    } else {
        remove_spans(receiver, from + 1, to);
    }
    receiver->spans[from] = (struct flow_span){ begin, end };
    return true;
}

/* The stream has come up to this offset: takes the pieces that follow. */
static void advance(struct flow_receiver *receiver, uint64_t end)
{
    size_t used = 0;
    for (; used < receiver->span_count && receiver->spans[used].begin <= end; used++)
        end = receiver->spans[used].end > end ? receiver->spans[used].end : end;
    remove_spans(receiver, 0, used);
    receiver->received = end;
}

/* Returns false if the bytes cannot be kept now. */
static bool keep(struct ath_flow *flow, const struct ath_datagram *datagram)
{
    struct flow_receiver *receiver = &flow->receiver;
    uint64_t end = datagram->offset + datagram->length;
    uint64_t begin = datagram->offset > receiver->received ? datagram->offset : receiver->received;
    struct iovec parts[2];
    if (end <= receiver->received)
        return true;
    if (begin > receiver->received && !add_span(receiver, begin, end))
        return false;
    const uint8_t *from = datagram->payload + (begin - datagram->offset);
    ath_flow_parts(flow, receiver->bytes, begin, (size_t)(end - begin), parts);
    memcpy(parts[0].iov_base, from, parts[0].iov_len);
    memcpy(parts[1].iov_base, from + parts[0].iov_len, parts[1].iov_len);
    if (begin == receiver->received)
        advance(receiver, end);
    return true;
}

/* ---- datagrams ---- */

static uint64_t highest(const struct flow_receiver *receiver)
{
    return receiver->span_count ? receiver->spans[receiver->span_count - 1].end
                                : receiver->received;
}

/* Whether a peer that keeps the rules may have sent this. */
static bool is_allowed(const struct ath_flow *flow, const struct ath_datagram *datagram)
{
    const struct flow_receiver *receiver = &flow->receiver;
    switch (datagram->kind) {
    case ATH_DATAGRAM_DATA:
        return datagram->offset + datagram->length <= receiver->limit &&
               datagram->offset + datagram->length <= receiver->end;
    case ATH_DATAGRAM_END:
        return receiver->end == UINT64_MAX
                   ? datagram->offset >= highest(receiver) && datagram->offset <= receiver->limit
                   : datagram->offset == receiver->end;
    case ATH_DATAGRAM_ACK:
    case ATH_DATAGRAM_PROBE:
    case ATH_DATAGRAM_CLOSE:
        return true;
    default:
        return false;
    }
}

static void note_number(struct flow_receiver *receiver, const struct ath_datagram *datagram,
                        int64_t now_ns)
{
    const bool is_next = datagram->number == receiver->numbers.end;
    if (datagram->number >= receiver->numbers.end)
        receiver->largest_ns = now_ns;
    ath_numbers_add(&receiver->numbers, datagram->number);
    uint64_t floor = datagram->number - datagram->back;
    if (floor > receiver->numbers.floor)
        receiver->numbers.floor = floor;
    if (datagram->kind == ATH_DATAGRAM_ACK || datagram->kind == ATH_DATAGRAM_CLOSE)
        return;
    receiver->is_urgent |= !is_next || datagram->kind != ATH_DATAGRAM_DATA;
    if (!receiver->unanswered++)
        receiver->first_ns = now_ns;
}

static void take_limit(struct ath_flow *flow, uint64_t limit)
{
    if (limit > flow->sender.limit)
        flow->sender.limit = limit;
}

void ath_flow_receive(struct ath_flow *flow, const struct ath_datagram *datagram, int64_t now_ns)
{
    struct flow_receiver *receiver = &flow->receiver;
    if (flow->failure)
        return;
    if (!ath_numbers_is_new(&receiver->numbers, datagram->number)) {
        flow->counters.duplicates++;
        receiver->is_urgent = true; /* the acknowledgement may be lost */
        return;
    }
    if (!is_allowed(flow, datagram)) {
        flow->counters.refused++;
        return;
    }
    if (datagram->kind == ATH_DATAGRAM_DATA && !keep(flow, datagram))
        return; /* as if it were lost */
    flow->counters.received++;
    flow->heard_ns = now_ns;
    note_number(receiver, datagram, now_ns);
    take_limit(flow, datagram->limit);
    if (datagram->kind == ATH_DATAGRAM_END)
        receiver->end = datagram->offset;
    if (datagram->kind == ATH_DATAGRAM_ACK)
        ath_flow_take_ack(flow, datagram, now_ns);
    if (datagram->kind == ATH_DATAGRAM_CLOSE)
        flow->failure = -ECONNRESET;
}

/* ---- acknowledgements ---- */

/* A peer that has proven nothing yet may not fill the buffer: the room grows with what the program
 * takes, as fast as a sender that begins slowly may use it. */
static uint64_t room_of(const struct ath_flow *flow)
{
    const uint64_t most = flow->settings.buffer_bytes, taken = flow->receiver.taken;
    return taken < most - ath_flow_first_room(&flow->settings)
               ? ath_flow_first_room(&flow->settings) + taken
               : most;
}

uint64_t ath_flow_limit(const struct ath_flow *flow)
{
    return flow->receiver.taken + room_of(flow);
}

/* The peer learns of new room early enough to go on. */
static bool owes_limit(const struct ath_flow *flow)
{
    return ath_flow_limit(flow) - flow->receiver.limit >= room_of(flow) / 4;
}

bool ath_flow_owes_ack(const struct ath_flow *flow, int64_t now_ns)
{
    const struct flow_receiver *receiver = &flow->receiver;
    return receiver->numbers.end &&
           (receiver->is_urgent || receiver->unanswered >= ACK_EACH || owes_limit(flow) ||
            (receiver->unanswered && now_ns >= receiver->first_ns + ack_delay_ns));
}

int64_t ath_flow_ack_when(const struct ath_flow *flow)
{
    const struct flow_receiver *receiver = &flow->receiver;
    if (!receiver->numbers.end)
        return INT64_MAX;
    if (receiver->is_urgent || receiver->unanswered >= ACK_EACH || owes_limit(flow))
        return 0;
    return receiver->unanswered ? receiver->first_ns + ack_delay_ns : INT64_MAX;
}

void ath_flow_make_ack(struct ath_flow *flow, struct ath_datagram *out, int64_t now_ns)
{
    struct flow_receiver *receiver = &flow->receiver;
    struct ath_ack ack;
    ath_numbers_ack(&receiver->numbers, &ack);
    int64_t delay_us = (now_ns - receiver->largest_ns) / 1000;
    ack.delay_us = delay_us < UINT32_MAX ? (uint32_t)delay_us : UINT32_MAX;
    /* The end counts as one more byte, so that its acknowledgement differs. */
    bool has_end = receiver->received == receiver->end;
    *out = (struct ath_datagram){ .kind = ATH_DATAGRAM_ACK,
                                  .offset = receiver->received + has_end,
                                  .payload = flow->ack,
                                  .length = ath_ack_encode(&ack, flow->ack) };
    receiver->unanswered = 0;
    receiver->is_urgent = false;
}

/* ---- the program ---- */

size_t ath_flow_ready(const struct ath_flow *flow, struct iovec parts[2])
{
    const struct flow_receiver *receiver = &flow->receiver;
    size_t bytes = (size_t)(receiver->received - receiver->taken);
    ath_flow_parts(flow, receiver->bytes, receiver->taken, bytes, parts);
    return bytes;
}

void ath_flow_taken(struct ath_flow *flow, size_t bytes)
{
    flow->receiver.taken += bytes;
}

bool ath_flow_has_ended(const struct ath_flow *flow)
{
    return flow->receiver.taken == flow->receiver.end;
}
