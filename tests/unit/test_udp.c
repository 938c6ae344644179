/* The UDP carrier's datagrams, and its flows on paths that damage, in simulated time. */
#include "config.h"

#include <math.h>
#include <stdio.h>

#include "remote/udp/crc32c.h"
#include "remote/udp/datagram.h"
#include "udp_world.h"
#include "unit.h"

SECONDS(300);

/* ---- sums ---- */

TEST(sums_as_the_standard_says)
{
    /* RFC 3720, B.4, and the check value of the Castagnoli polynomial */
    uint8_t bytes[32] = { 0 };
    ck_assert_uint_eq(ath_crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    ck_assert_uint_eq(ath_crc32c(0, bytes, 32), 0x62a8ab43);
    for (int i = 0; i < 32; i++)
        bytes[i] = (uint8_t)i;
    ck_assert_uint_eq(ath_crc32c(0, bytes, 32), 0x46dd794e);
    ck_assert_uint_eq(ath_crc32c(0, "123456789", 9), 0xe3069283);
    ck_assert_uint_eq(ath_crc32c_by_tables(0, "123456789", 9), 0xe3069283);
}

TEST(sums_parts_and_lengths_alike)
{
    static uint8_t bytes[20000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * i >> 3);
    for (size_t length = 0; length < sizeof bytes; length += length < 100 ? 1 : 601) {
        uint32_t sum = ath_crc32c(0, bytes + 1, length);
        ck_assert_uint_eq(sum, ath_crc32c_by_tables(0, bytes + 1, length));
        size_t part = length * 2 / 3;
        ck_assert_uint_eq(
            sum, ath_crc32c(ath_crc32c(0, bytes + 1, part), bytes + 1 + part, length - part));
    }
}

/* ---- datagrams ---- */

static uint8_t wire[ATH_DATAGRAM_BYTES_MAX + 1];

static size_t put(const struct ath_datagram *datagram)
{
    ath_datagram_encode(datagram, wire);
    if (datagram->length)
        memcpy(wire + ATH_DATAGRAM_HEAD_BYTES, datagram->payload, datagram->length);
    return ATH_DATAGRAM_HEAD_BYTES + datagram->length;
}

static struct ath_datagram some_data(void)
{
    return (struct ath_datagram){ .kind = ATH_DATAGRAM_DATA,
                                  .channel = 0x1122334455667788,
                                  .number = 99,
                                  .offset = UINT64_C(1) << 40,
                                  .limit = UINT64_C(3) << 40,
                                  .back = 99,
                                  .payload = (const uint8_t *)"payload",
                                  .length = 7 };
}

TEST(decodes_its_own_datagrams)
{
    struct ath_datagram sent = some_data(), read = { 0 };
    size_t length = put(&sent);
    ck_assert_int_eq(ath_datagram_decode(wire, length, &read), 0);
    ck_assert_int_eq(read.kind, sent.kind);
    ck_assert_uint_eq(read.channel, sent.channel);
    ck_assert_uint_eq(read.number, sent.number);
    ck_assert_uint_eq(read.offset, sent.offset);
    ck_assert_uint_eq(read.limit, sent.limit);
    ck_assert_uint_eq(read.back, sent.back);
    ck_assert_uint_eq(read.length, 7);
    ck_assert_mem_eq(read.payload, "payload", 7);
}

TEST(notices_each_damaged_bit)
{
    struct ath_datagram sent = some_data(), read;
    size_t length = put(&sent);
    for (size_t bit = 0; bit < 8 * length; bit++) {
        wire[bit / 8] ^= (uint8_t)(1u << bit % 8);
        ck_assert_int_lt(ath_datagram_decode(wire, length, &read), 0);
        wire[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t some = 0; some < length; some++)
        ck_assert_int_eq(ath_datagram_decode(wire, some, &read), -EBADMSG);
    ck_assert_int_eq(ath_datagram_decode(wire, length + 1, &read), -EBADMSG);
    ck_assert_int_eq(ath_datagram_decode(wire, length, &read), 0);
}

static const struct {
    enum ath_datagram_kind kind;
    size_t length;
    uint32_t back;
    uint64_t number, offset;
    bool is_sound;
} heads[] = {
    { (enum ath_datagram_kind)0, 0, 0, 0, 0, false },
    { ATH_DATAGRAM_KINDS, 0, 0, 0, 0, false },
    { ATH_DATAGRAM_DATA, 0, 0, 0, 0, false },
    { ATH_DATAGRAM_DATA, 1, 0, 0, 0, true },
    { ATH_DATAGRAM_DATA, 1, 1, 0, 0, false },
    { ATH_DATAGRAM_DATA, 2, 0, 0, UINT64_MAX - 1, false },
    { ATH_DATAGRAM_DATA, 1, 0, UINT64_MAX, 0, false },
    { ATH_DATAGRAM_DATA, ATH_DATAGRAM_BYTES_MAX - ATH_DATAGRAM_HEAD_BYTES, 0, 0, 0, true },
    { ATH_DATAGRAM_END, 0, 0, 0, 5, true },
    { ATH_DATAGRAM_END, 1, 0, 0, 5, false },
    { ATH_DATAGRAM_CLOSE, 0, 0, 0, 0, true },
    { ATH_DATAGRAM_CLOSE, 1, 0, 0, 0, false },
    { ATH_DATAGRAM_PROBE, 0, 0, 0, 0, true },
    { ATH_DATAGRAM_PROBE, 9000, 0, 0, 0, true },
    { ATH_DATAGRAM_ACK, 16, 0, 0, 0, false },
    { ATH_DATAGRAM_ACK, 24, 0, 0, 0, true },
    { ATH_DATAGRAM_ACK, ATH_ACK_BYTES_MAX, 0, 0, 0, true },
    { ATH_DATAGRAM_ACK, ATH_ACK_BYTES_MAX + 1, 0, 0, 0, false },
    { ATH_DATAGRAM_OPEN, 1151, 0, 0, 0, false },
    { ATH_DATAGRAM_OPEN, 1152, 0, 0, 0, true },
    { ATH_DATAGRAM_OPEN, 1153, 0, 0, 0, false },
    { ATH_DATAGRAM_COOKIE, 31, 0, 0, 0, false },
    { ATH_DATAGRAM_COOKIE, 32, 0, 0, 0, true },
};

LOOP_TEST(is_strict_about_heads, 0, sizeof heads / sizeof *heads)
{
    static const uint8_t zeros[ATH_DATAGRAM_BYTES_MAX];
    struct ath_datagram sent = { .kind = heads[_i].kind,
                                 .number = heads[_i].number,
                                 .offset = heads[_i].offset,
                                 .back = heads[_i].back,
                                 .payload = zeros,
                                 .length = heads[_i].length };
    struct ath_datagram read;
    ck_assert_int_eq(ath_datagram_decode(wire, put(&sent), &read),
                     heads[_i].is_sound ? 0 : -EBADMSG);
}

/* ---- room ---- */

/* Bytes that no path has taken yet stay with the program, which may give them to another channel.
 */
TEST(a_flow_takes_few_bytes_that_it_cannot_send)
{
    enum { MOST = 64 * 1024, BUFFER = 1024 * 1024 };
    const struct ath_flow_settings settings = {
        .channel = 1, .buffer_bytes = BUFFER, .most_bytes = 1472, .unsent_most = MOST
    };
    struct ath_flow *flow = ath_flow_make(&settings, 1000);
    struct ath_datagram datagram;
    struct iovec parts[2];
    size_t sent = 0;
    ck_assert_ptr_nonnull(flow);
    ck_assert_uint_eq(ath_flow_room(flow, parts), MOST);
    ck_assert_uint_eq(parts[0].iov_len + parts[1].iov_len, MOST);
    ath_flow_written(flow, MOST);
    ck_assert_uint_eq(ath_flow_room(flow, parts), 0);
    while (ath_flow_next(flow, &datagram, 1000))
        sent += datagram.kind == ATH_DATAGRAM_DATA ? datagram.length : 0;
    ck_assert_uint_gt(sent, 0);
    ck_assert_uint_eq(ath_flow_room(flow, parts), sent);
    ath_flow_free(flow);
}

/* ---- acknowledgements ---- */

static bool acknowledges(const struct ath_ack *ack, uint64_t number)
{
    uint64_t end = ack->largest + 1;
    for (size_t i = 0; i < ack->count; i++) {
        end -= ack->ranges[i].gap;
        if (number < end && number >= end - ack->ranges[i].length)
            return true;
        end -= ack->ranges[i].length;
    }
    return false;
}

TEST(acknowledges_the_numbers_that_came)
{
    static struct ath_numbers numbers;
    static bool came[100000];
    uint8_t bytes[ATH_ACK_BYTES_MAX];
    uint32_t random = 5;
    for (uint64_t number = 0; number < 100000;
         number += 1 + (random >> 8) % 3 / 2 * (random % 90)) {
        random = random * 1103515245 + 12345;
        ck_assert(ath_numbers_is_new(&numbers, number));
        ath_numbers_add(&numbers, number);
        ck_assert(!ath_numbers_is_new(&numbers, number));
        came[number] = true;
        numbers.floor = number > 1000 ? number - 1000 : 0;
        if (random % 16)
            continue;
        struct ath_ack ack, read;
        ath_numbers_ack(&numbers, &ack);
        ck_assert_uint_eq(ack.largest, number);
        size_t length = ath_ack_encode(&ack, bytes);
        ck_assert_int_eq(ath_ack_decode(bytes, length, &read), 0);
        for (uint64_t i = numbers.floor; i <= number; i++)
            ck_assert_msg(acknowledges(&read, i) == came[i] || ack.count == ATH_ACK_RANGES_MAX,
                          "number %zu of %zu", (size_t)i, (size_t)number);
    }
}

TEST(knows_copies_within_its_window)
{
    static struct ath_numbers numbers;
    for (uint64_t number = 0; number < 40000; number++) {
        if (number % 3 == 0)
            continue;
        ath_numbers_add(&numbers, number);
        if (number > 10000) {
            ck_assert(!ath_numbers_is_new(&numbers, (number - 9999) / 3 * 3 + 1));
            ck_assert(ath_numbers_is_new(&numbers, (number - 9999) / 3 * 3));
        }
    }
    ck_assert(!ath_numbers_is_new(&numbers, 3)); /* too old to be known */
    ck_assert(!ath_numbers_is_new(&numbers, 4));
    ath_numbers_add(&numbers, 1000000);
    ck_assert(!ath_numbers_is_new(&numbers, 39998)); /* a jump clears what is too old */
    ck_assert(ath_numbers_is_new(&numbers, 999999));
}

TEST(refuses_wrong_acknowledgements)
{
    struct ath_ack ack = { .largest = 9, .count = 2, .ranges = { { 0, 3 }, { 2, 5 } } }, read;
    uint8_t bytes[ATH_ACK_BYTES_MAX];
    size_t length = ath_ack_encode(&ack, bytes);
    ck_assert_int_eq(ath_ack_decode(bytes, length, &read), 0);
    ck_assert_int_eq(ath_ack_decode(bytes, length - 1, &read), -EBADMSG);
    ck_assert_int_eq(ath_ack_decode(bytes, 15, &read), -EBADMSG);
    ack.ranges[1].length = 6; /* below 0 */
    ck_assert_int_eq(ath_ack_decode(bytes, ath_ack_encode(&ack, bytes), &read), -EBADMSG);
    ack.ranges[1].length = 0;
    ck_assert_int_eq(ath_ack_decode(bytes, ath_ack_encode(&ack, bytes), &read), -EBADMSG);
    ack = (struct ath_ack){ .largest = 9, .count = 1, .ranges = { { 1, 3 } } };
    ck_assert_int_eq(ath_ack_decode(bytes, ath_ack_encode(&ack, bytes), &read), -EBADMSG);
    ack = (struct ath_ack){ .largest = UINT64_MAX, .count = 1, .ranges = { { 0, 3 } } };
    ck_assert_int_eq(ath_ack_decode(bytes, ath_ack_encode(&ack, bytes), &read), -EBADMSG);
}

/* ---- flows ---- */

static struct world world;

static void setup(void)
{
    memset(&world, 0, sizeof world);
    for (int i = 0; i < 2; i++)
        world.paths[i] = (struct world_path){ .bytes_per_second = 125000000, /* 1 Gb/s */
                                              .queue_bytes = 256 * 1024,
                                              .delay_ns = WORLD_MS / 2 };
}

static void teardown(void)
{
    world_free(&world);
}

FIXTURE(setup, teardown);

enum { MIB = 1 << 20 };

static void both(struct world_path path)
{
    world.paths[0] = world.paths[1] = path;
}

/* Everything has come, in both directions, and its bytes are right. */
static void expect_right(void)
{
    for (size_t i = 0; i < 2 * world.flow_count; i++) {
        ck_assert_int_eq(ath_flow_failure(world.ends[i].flow), 0);
        ck_assert_uint_eq(world.ends[i].wrong, 0);
        ck_assert_uint_eq(world.ends[i].read, world.ends[i ^ 1].to_write);
        ck_assert(ath_flow_has_ended(world.ends[i].flow));
        ck_assert(ath_flow_is_delivered(world.ends[i].flow));
    }
}

/* Bytes a second that came to the server of a flow. */
static double speed(size_t flow)
{
    const struct world_end *server = &world.ends[2 * flow + 1];
    return (double)server->read * 1e9 / (double)(server->done_ns ? server->done_ns : world.now_ns);
}

static void expect_speed(size_t flow, double least)
{
    ck_assert_msg(speed(flow) >= least, "%.1f MB/s, not %.1f", speed(flow) / 1e6, least / 1e6);
}

TEST(moves_bytes_both_ways)
{
    world_add(&world, 20 * MIB + 1, 3 * MIB + 5, (struct ath_flow_settings){ 0 });
    world_run(&world, 10 * WORLD_SECOND);
    expect_right();
    expect_speed(0, 0.85 * 125e6);
    struct ath_flow_counters counters = ath_flow_counters(world.ends[0].flow);
    ck_assert_uint_eq(counters.datagram_bytes, 1472);
    ck_assert_int_ge(counters.trip_ns, WORLD_MS);
}

TEST(moves_nothing)
{
    world_add(&world, 0, 0, (struct ath_flow_settings){ 0 });
    world_run(&world, 10 * WORLD_SECOND);
    expect_right();
    ck_assert_int_lt(world.now_ns, 100 * WORLD_MS);
}

TEST(uses_a_path_that_loses_one_percent)
{
    for (int i = 0; i < 2; i++)
        world.paths[i].lost = 1000;
    world_add(&world, 200 * MIB, 0, (struct ath_flow_settings){ 0 });
    world_run(&world, 60 * WORLD_SECOND);
    expect_right();
    expect_speed(0, 0.6 * 125e6);
    struct ath_flow_counters counters = ath_flow_counters(world.ends[0].flow);
    ck_assert_uint_ge(counters.lost, counters.sent / 200);
    ck_assert_uint_ge(counters.retransmitted, counters.sent / 200);
}

static const struct {
    const char *what;
    struct world_path path;
    double least_part; /* of the path's speed */
} hard[] = {
    { "damage", { 125000000, 262144, 500000, .damaged = 100 }, 0.6 },
    { "copies", { 125000000, 262144, 500000, .copied = 1000 }, 0.6 },
    { "reordering", { 125000000, 262144, 500000, .overtaken = 5000, .overtaken_ns = 200000 }, 0.5 },
    { "all at once",
      { 125000000, 262144, 500000, 1000, 100, 1000, 1000, .overtaken_ns = 300000 },
      0.4 },
    { "much loss", { 125000000, 262144, 500000, .lost = 20000 }, 0.002 },
    { "far away", { 125000000, 4194304, 40000000, .lost = 10 }, 0.15 },
    { "slow", { 1250000, 65536, 5000000, .lost = 100 }, 0.5 },
    { "fast", { 12500000000, 8388608, 25000, .lost = 100 }, 0.1 },
};

LOOP_TEST(keeps_the_stream_right_on_a_path_with, 0, sizeof hard / sizeof *hard)
{
    both(hard[_i].path);
    world_add(&world, hard[_i].path.bytes_per_second < 10000000 ? 4 * MIB : 64 * MIB, MIB,
              (struct ath_flow_settings){ 0 });
    world_run(&world, 200 * WORLD_SECOND);
    expect_right();
    ck_assert_msg(speed(0) >= hard[_i].least_part * (double)hard[_i].path.bytes_per_second,
                  "%s: %.1f MB/s", hard[_i].what, speed(0) / 1e6);
    if (hard[_i].path.damaged)
        ck_assert_uint_gt(world.ends[1].damaged, 0);
    if (hard[_i].path.copied)
        ck_assert_uint_gt(ath_flow_counters(world.ends[1].flow).duplicates, 0);
}

TEST(waits_for_a_link_that_comes_back)
{
    world_add(&world, 200 * MIB, 0, (struct ath_flow_settings){ 0 });
    for (int i = 0; i < 2; i++) {
        world.paths[i].down_from_ns = WORLD_SECOND / 2;
        world.paths[i].down_until_ns = 4 * WORLD_SECOND;
    }
    world_run(&world, 60 * WORLD_SECOND);
    expect_right();
    double alone = 200 * MIB / (0.85 * 125e6);
    ck_assert_double_le((double)world.ends[1].done_ns / 1e9, alone + 3.5 + 0.5);
}

TEST(gives_a_dead_peer_up_after_ten_seconds)
{
    world_add(&world, 200 * MIB, 0, (struct ath_flow_settings){ 0 });
    for (int i = 0; i < 2; i++) {
        world.paths[i].down_from_ns = WORLD_SECOND / 2;
        world.paths[i].down_until_ns = INT64_MAX;
    }
    world_run(&world, WORLD_SECOND * 10);
    ck_assert_int_eq(ath_flow_failure(world.ends[0].flow), 0);
    world_run(&world, WORLD_SECOND * 11);
    ck_assert_int_eq(ath_flow_failure(world.ends[0].flow), -ETIMEDOUT);
}

TEST(notices_a_dead_peer_while_idle)
{
    for (int i = 0; i < 2; i++) {
        world.paths[i].down_from_ns = 30 * WORLD_SECOND;
        world.paths[i].down_until_ns = INT64_MAX;
    }
    world_add(&world, MIB, MIB, (struct ath_flow_settings){ 0 });
    world.ends[0].reads_nothing = world.ends[1].reads_nothing = true;
    world_run(&world, 30 * WORLD_SECOND);
    ck_assert_int_eq(ath_flow_failure(world.ends[0].flow), 0);
    world_run(&world, 46 * WORLD_SECOND);
    ck_assert_int_eq(ath_flow_failure(world.ends[0].flow), -ETIMEDOUT);
    ck_assert_int_eq(ath_flow_failure(world.ends[1].flow), -ETIMEDOUT);
}

TEST(waits_for_a_program_that_does_not_read)
{
    enum { ROOM = 64 * 1024 }; /* it has taken nothing yet */
    world_add(&world, 20 * MIB, 0, (struct ath_flow_settings){ 0 });
    world.paths[1].lost = 10000; /* acknowledgements, and so news of room */
    world.ends[1].reads_nothing = true;
    world_run(&world, 20 * WORLD_SECOND);
    ck_assert_int_eq(ath_flow_failure(world.ends[0].flow), 0);
    ck_assert_uint_eq(ath_flow_ready(world.ends[1].flow, (struct iovec[2]){ 0 }), ROOM);
    uint64_t sent = ath_flow_counters(world.ends[0].flow).sent;
    ck_assert_uint_le(sent, ROOM / 1000 + 20 * 10); /* it does not ask all the time */
    world.ends[1].reads_nothing = false;
    world_run(&world, 30 * WORLD_SECOND);
    expect_right();
}

static const size_t path_sizes[] = { 1200, 1399, 1400, 1451, 1472, 8952, 9000, 65000 };

LOOP_TEST(finds_the_size_that_the_path_carries, 0, sizeof path_sizes / sizeof *path_sizes)
{
    static const size_t found[] = { 1200, 1200, 1400, 1400, 1472, 8952, 8952, 65000 };
    for (int i = 0; i < 2; i++)
        world.paths[i].most_bytes = path_sizes[_i];
    world_add(&world, 30 * MIB, 0, (struct ath_flow_settings){ .most_bytes = 65507 });
    world_run(&world, 30 * WORLD_SECOND);
    expect_right();
    ck_assert_uint_eq(ath_flow_counters(world.ends[0].flow).datagram_bytes, found[_i]);
    expect_speed(0, 0.6 * 125e6);
}

TEST(tries_no_more_than_the_first_hop_carries)
{
    world_add(&world, 30 * MIB, 0, (struct ath_flow_settings){ .most_bytes = 1471 });
    world_run(&world, 30 * WORLD_SECOND);
    expect_right();
    ck_assert_uint_eq(ath_flow_counters(world.ends[0].flow).datagram_bytes, 1452);
}

TEST(falls_back_when_the_path_gets_narrow)
{
    world_add(&world, 300 * MIB, 0, (struct ath_flow_settings){ .most_bytes = 9000 });
    world_run(&world, WORLD_SECOND);
    ck_assert_uint_eq(ath_flow_counters(world.ends[0].flow).datagram_bytes, 8952);
    world.paths[0].most_bytes = 1400;
    world_run(&world, 30 * WORLD_SECOND);
    expect_right();
    ck_assert_uint_eq(ath_flow_counters(world.ends[0].flow).datagram_bytes, 1400);
    expect_speed(0, 0.5 * 125e6);
}

LOOP_TEST(shares_a_path_fairly, 0, 2)
{
    world.paths[0].lost = _i ? 100 : 0;
    world_add(&world, UINT64_C(4096) * MIB, 0, (struct ath_flow_settings){ 0 });
    world_add(&world, UINT64_C(4096) * MIB, 0, (struct ath_flow_settings){ 0 });
    world_run(&world, 4 * WORLD_SECOND);
    double sum = speed(0) + speed(1);
    ck_assert_double_ge(sum, 0.8 * 125e6);
    ck_assert_msg(speed(0) >= 0.35 * sum && speed(1) >= 0.35 * sum, "%.1f and %.1f MB/s",
                  speed(0) / 1e6, speed(1) / 1e6);
}

TEST(sends_at_a_fixed_rate)
{
    for (int i = 0; i < 2; i++)
        world.paths[i].lost = 5000;
    world_add(&world, 100 * MIB, 0, (struct ath_flow_settings){ .fixed_rate = 50000000 });
    world_run(&world, 60 * WORLD_SECOND);
    expect_right();
    expect_speed(0, 0.85 * 50e6);
    ck_assert_double_le(speed(0), 50e6);
}

/* ---- a peer that does not keep the rules ---- */

static struct ath_flow *flow_with(size_t buffer_bytes)
{
    world_add(&world, 0, 0, (struct ath_flow_settings){ .buffer_bytes = buffer_bytes });
    return world.ends[0].flow;
}

/* A peer that has proven nothing cannot fill the whole buffer while no program takes bytes. */
TEST(the_room_grows_with_what_the_program_takes)
{
    enum { FIRST = 64 * 1024, PIECE = 1024, BUFFER_BYTES = 1 << 20 };
    static const uint8_t zeros[PIECE];
    struct ath_flow *flow = flow_with(BUFFER_BYTES);
    struct ath_datagram answer, datagram = {
        .kind = ATH_DATAGRAM_DATA, .offset = FIRST - PIECE + 1, .payload = zeros, .length = PIECE
    };
    ath_flow_receive(flow, &datagram, 0);
    ck_assert_uint_eq(ath_flow_counters(flow).refused, 1);
    uint64_t limit = 0;
    for (datagram.offset = 0; datagram.offset < FIRST; datagram.offset += PIECE, datagram.number++)
        ath_flow_receive(flow, &datagram, 0);
    ck_assert_uint_eq(ath_flow_counters(flow).refused, 1);
    ck_assert_uint_eq(ath_flow_counters(flow).received, FIRST / PIECE);
    ath_flow_taken(flow, FIRST);
    while (ath_flow_next(flow, &answer, 0))
        limit = answer.limit;
    ck_assert_uint_eq(limit, FIRST + 2 * FIRST);
}

TEST(refuses_what_no_peer_sends)
{
    static const uint8_t zeros[1000];
    struct ath_flow *flow = flow_with(4096);
    struct ath_datagram datagram = { .kind = ATH_DATAGRAM_DATA, .payload = zeros, .length = 1000 };
    uint64_t refused = 0;
    datagram.offset = 4096 - 999; /* behind the room */
    ath_flow_receive(flow, &datagram, 0);
    ck_assert_uint_eq(ath_flow_counters(flow).refused, ++refused);
    datagram.offset = 4096 - 1000;
    ath_flow_receive(flow, &datagram, 0);
    ck_assert_uint_eq(ath_flow_counters(flow).refused, refused);
    datagram = (struct ath_datagram){ .kind = ATH_DATAGRAM_END, .number = 1, .offset = 4095 };
    ath_flow_receive(flow, &datagram, 0); /* before bytes that came */
    ck_assert_uint_eq(ath_flow_counters(flow).refused, ++refused);
    datagram.kind = ATH_DATAGRAM_COOKIE;
    ath_flow_receive(flow, &datagram, 0);
    ck_assert_uint_eq(ath_flow_counters(flow).refused, ++refused);
    struct ath_ack ack = { .largest = 0, .count = 1, .ranges = { { 0, 1 } } };
    uint8_t bytes[ATH_ACK_BYTES_MAX];
    datagram = (struct ath_datagram){ .kind = ATH_DATAGRAM_ACK, .number = 2, .payload = bytes };
    datagram.length = ath_ack_encode(&ack, bytes);
    ath_flow_receive(flow, &datagram, 0); /* of a datagram that was not sent */
    ck_assert_uint_eq(ath_flow_counters(flow).refused, ++refused);
    ck_assert_int_eq(ath_flow_failure(flow), 0);
    datagram = (struct ath_datagram){ .kind = ATH_DATAGRAM_CLOSE, .number = 3 };
    ath_flow_receive(flow, &datagram, 0);
    ck_assert_int_eq(ath_flow_failure(flow), -ECONNRESET);
}

static uint8_t replayed[65536];
static size_t replayed_bytes;

static void record(struct world *seen, int to, const uint8_t *bytes, size_t length)
{
    if (to != 1 || replayed_bytes || seen->ends[1].read < MIB)
        return;
    memcpy(replayed, bytes, length);
    replayed_bytes = length;
}

TEST(ignores_replays)
{
    replayed_bytes = 0;
    world.see = record;
    world_add(&world, 30 * MIB, 0, (struct ath_flow_settings){ 0 });
    world_run(&world, WORLD_SECOND / 10);
    ck_assert_uint_gt(replayed_bytes, 0);
    uint64_t before = ath_flow_counters(world.ends[1].flow).duplicates;
    for (int i = 0; i < 10; i++)
        world_fly(&world, 1, replayed, replayed_bytes, world.now_ns, false);
    world_run(&world, 30 * WORLD_SECOND);
    expect_right();
    ck_assert_uint_eq(ath_flow_counters(world.ends[1].flow).duplicates, before + 10);
}
