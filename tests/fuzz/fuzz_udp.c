/*
 * Fuzzes the UDP carrier's decoder and its flows. An input is what a peer and time do: datagrams
 * with right sums and any fields, bytes that are no datagrams, programs that write and read, and
 * time that passes.
 */
#include "config.h"

#include "remote/udp/flow.h"

#include "fuzz.h"

enum { BUFFER_BYTES = 16384, STEPS_MAX = 200, SENT_MAX = 64 };

static uint64_t sent_numbers; /* of the flow */

/* A small number, or any. */
static uint64_t take_number(struct fuzz_input *input, uint64_t near)
{
    uint64_t which = fuzz_take(input, 2);
    return which < 0xc000 ? near + which % 64 : which < 0xf000 ? which : fuzz_take(input, 8);
}

static size_t make_ack(struct fuzz_input *input, uint8_t bytes[ATH_ACK_BYTES_MAX])
{
    struct ath_ack ack = { .largest = fuzz_take(input, 1) };
    if (ack.largest & 128)
        ack.largest = sent_numbers - 1 - (ack.largest & 7);
    ack.delay_us = (uint32_t)fuzz_take(input, 2);
    ack.count = 1 + fuzz_take(input, 1) % 8;
    for (size_t i = 0; i < ack.count; i++) {
        ack.ranges[i].gap = i ? (uint32_t)fuzz_take(input, 1) : 0;
        ack.ranges[i].length = (uint32_t)fuzz_take(input, 1);
    }
    return ath_ack_encode(&ack, bytes);
}

static void receive(struct ath_flow *flow, const uint8_t *bytes, size_t length, int64_t now_ns)
{
    struct ath_datagram datagram;
    struct ath_ack ack;
    uint8_t head[ATH_DATAGRAM_HEAD_BYTES], numbers[ATH_ACK_BYTES_MAX];
    if (ath_datagram_decode(bytes, length, &datagram))
        return;
    insist(datagram.length == length - sizeof head, "a payload ends with its datagram");
    ath_datagram_encode(&datagram, head);
    insist(!memcmp(head, bytes, sizeof head), "a datagram is encoded as it was decoded");
    if (datagram.kind == ATH_DATAGRAM_ACK &&
        !ath_ack_decode(datagram.payload, datagram.length, &ack))
        insist(ath_ack_encode(&ack, numbers) == datagram.length &&
                   !memcmp(numbers, datagram.payload, datagram.length),
               "an acknowledgement is encoded as it was decoded");
    ath_flow_receive(flow, &datagram, now_ns);
}

static void receive_datagram(struct ath_flow *flow, struct fuzz_input *input, int64_t now_ns)
{
    static uint8_t bytes[ATH_DATAGRAM_HEAD_BYTES + 4096], payload[4096];
    static uint64_t next;
    uint64_t kind = fuzz_take(input, 1);
    struct ath_datagram datagram = { .kind =
                                         (enum ath_datagram_kind)(kind % (ATH_DATAGRAM_KINDS + 1)),
                                     .number = take_number(input, next),
                                     .payload = payload };
    datagram.offset = take_number(input, 0);
    datagram.limit = take_number(input, BUFFER_BYTES);
    datagram.back = (uint32_t)fuzz_take(input, 1);
    datagram.length = datagram.kind == ATH_DATAGRAM_ACK && kind & 128
                          ? make_ack(input, payload)
                          : fuzz_take(input, 2) % sizeof payload;
    next = datagram.number < UINT32_MAX ? datagram.number : next;
    ath_datagram_encode(&datagram, bytes);
    memcpy(bytes + ATH_DATAGRAM_HEAD_BYTES, payload, datagram.length);
    receive(flow, bytes, ATH_DATAGRAM_HEAD_BYTES + datagram.length, now_ns);
}

static void receive_bytes(struct ath_flow *flow, struct fuzz_input *input, int64_t now_ns)
{
    struct fuzz_input bytes = fuzz_part(input, (size_t)fuzz_take(input, 2));
    receive(flow, bytes.at, fuzz_left(&bytes), now_ns);
}

static void write_some(struct ath_flow *flow, struct fuzz_input *input)
{
    struct iovec parts[2];
    size_t room = ath_flow_room(flow, parts);
    insist(room == parts[0].iov_len + parts[1].iov_len && room <= BUFFER_BYTES,
           "the room is in its parts, and in the buffer");
    size_t some = (size_t)fuzz_take(input, 2) % (room + 1);
    for (int i = 0; i < 2; i++)
        memset(parts[i].iov_base, 1, parts[i].iov_len); /* the sanitizer looks */
    ath_flow_written(flow, some);
}

static void read_some(struct ath_flow *flow, struct fuzz_input *input)
{
    struct iovec parts[2];
    size_t ready = ath_flow_ready(flow, parts), sum = 0;
    insist(ready == parts[0].iov_len + parts[1].iov_len && ready <= BUFFER_BYTES,
           "the bytes are in their parts, and in the buffer");
    for (int i = 0; i < 2; i++)
        for (size_t at = 0; at < parts[i].iov_len; at++)
            sum += ((const uint8_t *)parts[i].iov_base)[at];
    insist(sum <= 255 * ready, "the bytes can be read");
    ath_flow_taken(flow, (size_t)fuzz_take(input, 2) % (ready + 1));
}

static void send_some(struct ath_flow *flow, int64_t now_ns)
{
    static uint8_t bytes[ATH_DATAGRAM_BYTES_MAX];
    struct ath_datagram datagram, read;
    for (int i = 0; i < SENT_MAX && ath_flow_next(flow, &datagram, now_ns); i++) {
        insist(datagram.number == sent_numbers++, "numbers follow each other");
        ath_datagram_encode(&datagram, bytes);
        if (datagram.length)
            memcpy(bytes + ATH_DATAGRAM_HEAD_BYTES, datagram.payload, datagram.length);
        insist(!ath_datagram_decode(bytes, ATH_DATAGRAM_HEAD_BYTES + datagram.length, &read),
               "a flow's datagrams can be decoded");
    }
    (void)ath_flow_when(flow, now_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = { data, data + size };
    const struct ath_flow_settings settings = { .channel = 1,
                                                .buffer_bytes = BUFFER_BYTES,
                                                .most_bytes = 65507,
                                                .fixed_rate =
                                                    fuzz_take(&input, 1) & 1 ? 1000000 : 0 };
    int64_t now_ns = 1;
    struct ath_flow *flow = ath_flow_make(&settings, now_ns);
    insist(flow != NULL, "there is memory");
    sent_numbers = 0;
    for (int steps = 0; fuzz_left(&input) && steps < STEPS_MAX; steps++) {
        switch (fuzz_take(&input, 1) % 8) {
        case 0:
            receive_bytes(flow, &input, now_ns);
            break;
        case 1:
            write_some(flow, &input);
            break;
        case 2:
            read_some(flow, &input);
            break;
        case 3:
            now_ns += (int64_t)fuzz_take(&input, 4);
            send_some(flow, now_ns);
            break;
        case 4:
            if (fuzz_take(&input, 1) > 250)
                ath_flow_finish(flow);
            else
                send_some(flow, now_ns);
            break;
        default:
            receive_datagram(flow, &input, now_ns);
        }
    }
    (void)ath_flow_counters(flow);
    ath_flow_free(flow);
    return 0;
}
