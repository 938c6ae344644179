/*
 * Two ends of a channel of the UDP carrier and the path between them, in simulated time. Each
 * datagram goes over the path as bytes: it is encoded, may be lost, damaged, copied, delayed and
 * overtaken, and is decoded.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "remote/udp/flow.h"

enum { WORLD_FLOWS_MAX = 4, WORLD_FLIGHT_MAX = 40000 };

static const int64_t WORLD_MS = 1000000, WORLD_SECOND = 1000000000;

/* One direction of the path. Parts are in 100000. */
struct world_path {
    uint64_t bytes_per_second;
    size_t queue_bytes; /* that wait to be sent */
    int64_t delay_ns;
    uint32_t lost, damaged, copied, overtaken;
    int64_t overtaken_ns; /* that others arrive earlier */
    size_t most_bytes;    /* larger datagrams vanish; 0: any size */
    int64_t down_from_ns, down_until_ns;
    int64_t free_ns; /* when its queue is empty */
};

struct world_datagram {
    int64_t arrives_ns;
    uint64_t order;
    int to; /* 2 * flow + end */
    size_t length;
    uint8_t *bytes;
};

struct world_end {
    struct ath_flow *flow;
    uint64_t to_write, written, read; /* bytes of the stream */
    uint64_t wrong;                   /* pieces that are not the stream's */
    bool reads_nothing;
    uint64_t damaged, foreign;
    int64_t done_ns; /* when it had read all bytes that its peer has to write; 0: not yet */
};

struct world {
    int64_t now_ns;
    uint32_t random;
    uint64_t order;
    size_t flow_count;
    struct world_end ends[2 * WORLD_FLOWS_MAX]; /* a client and a server of each flow */
    struct world_path paths[2];                 /* to the servers, to the clients */
    struct world_datagram flight[WORLD_FLIGHT_MAX];
    size_t flight_count;
    void (*see)(struct world *world, int to, const uint8_t *bytes, size_t length); /* or NULL */
};

static inline uint32_t world_random(struct world *world)
{
    world->random ^= world->random << 13;
    world->random ^= world->random >> 17;
    world->random ^= world->random << 5;
    return world->random;
}

static inline bool world_happens(struct world *world, uint32_t parts)
{
    return world_random(world) % 100000 < parts;
}

/* The bytes of the stream that this end writes, from this offset on; `most` gets smaller if fewer
 * lie there in one piece. Each 2 KiB are multiples of 7, which begin at another one in each of
 * them: the byte of 7 * 183 is 1. */
static inline const uint8_t *world_bytes(int end, uint64_t offset, size_t *most)
{
    enum { PIECE = 2048 };
    static uint8_t sevens[256 + PIECE];
    if (!sevens[1])
        for (size_t i = 0; i < sizeof sevens; i++)
            sevens[i] = (uint8_t)(i * 7);
    size_t left = PIECE - offset % PIECE;
    *most = *most < left ? *most : left;
    uint64_t begin = (offset >> 11) * 31 + (offset >> 20) + (uint64_t)end;
    return sevens + (offset + begin * 183) % 256;
}

/* The datagrams in flight are a heap: the first one arrives first. */
static inline bool world_is_earlier(const struct world_datagram *a, const struct world_datagram *b)
{
    return a->arrives_ns != b->arrives_ns ? a->arrives_ns < b->arrives_ns : a->order < b->order;
}

static inline void world_swap(struct world *world, size_t a, size_t b)
{
    struct world_datagram kept = world->flight[a];
    world->flight[a] = world->flight[b];
    world->flight[b] = kept;
}

static inline void world_push(struct world *world, struct world_datagram datagram)
{
    size_t at = world->flight_count++;
    if (world->flight_count > WORLD_FLIGHT_MAX)
        abort();
    world->flight[at] = datagram;
    for (; at && world_is_earlier(&world->flight[at], &world->flight[(at - 1) / 2]);
         at = (at - 1) / 2)
        world_swap(world, at, (at - 1) / 2);
}

static inline struct world_datagram world_pop(struct world *world)
{
    struct world_datagram first = world->flight[0];
    world->flight[0] = world->flight[--world->flight_count];
    for (size_t at = 0;;) {
        size_t least = at, left = 2 * at + 1;
        for (size_t child = left; child < left + 2 && child < world->flight_count; child++)
            if (world_is_earlier(&world->flight[child], &world->flight[least]))
                least = child;
        if (least == at)
            return first;
        world_swap(world, at, least);
        at = least;
    }
}

static inline void world_fly(struct world *world, int to, const uint8_t *bytes, size_t length,
                             int64_t arrives_ns, bool is_damaged)
{
    struct world_datagram datagram = { .arrives_ns = arrives_ns,
                                       .order = world->order++,
                                       .to = to,
                                       .length = length,
                                       .bytes = malloc(length) };
    memcpy(datagram.bytes, bytes, length);
    if (is_damaged)
        datagram.bytes[world_random(world) % length] ^= (uint8_t)(1u << world_random(world) % 8);
    world_push(world, datagram);
}

static inline void world_send(struct world *world, int to, const struct ath_datagram *datagram)
{
    static uint8_t bytes[ATH_DATAGRAM_BYTES_MAX];
    struct world_path *path = &world->paths[!(to & 1)];
    size_t length = ATH_DATAGRAM_HEAD_BYTES + datagram->length;
    ath_datagram_encode(datagram, bytes);
    if (datagram->length)
        memcpy(bytes + ATH_DATAGRAM_HEAD_BYTES, datagram->payload, datagram->length);
    path->free_ns = path->free_ns > world->now_ns ? path->free_ns : world->now_ns;
    uint64_t waiting =
        (uint64_t)((double)(path->free_ns - world->now_ns) * (double)path->bytes_per_second / 1e9);
    if (waiting + length > path->queue_bytes)
        return;
    path->free_ns += (int64_t)(length * UINT64_C(1000000000) / path->bytes_per_second);
    int64_t arrives_ns = path->free_ns + path->delay_ns;
    bool is_down = world->now_ns >= path->down_from_ns && world->now_ns < path->down_until_ns;
    if (is_down || world_happens(world, path->lost) ||
        (path->most_bytes && length > path->most_bytes))
        return;
    if (world_happens(world, path->overtaken))
        arrives_ns += path->overtaken_ns;
    world_fly(world, to, bytes, length, arrives_ns, world_happens(world, path->damaged));
    if (world_happens(world, path->copied))
        world_fly(world, to, bytes, length, arrives_ns + path->delay_ns, false);
}

static inline void world_write(struct world *world, int which)
{
    struct world_end *end = &world->ends[which];
    struct iovec parts[2];
    size_t room = ath_flow_room(end->flow, parts), done = 0;
    for (int i = 0; i < 2; i++)
        for (size_t at = 0, piece; at < parts[i].iov_len && end->written < end->to_write;
             at += piece, done += piece, end->written += piece) {
            piece = parts[i].iov_len - at;
            if (piece > end->to_write - end->written)
                piece = (size_t)(end->to_write - end->written);
            const uint8_t *bytes = world_bytes(which, end->written, &piece);
            memcpy((uint8_t *)parts[i].iov_base + at, bytes, piece);
        }
    if (done > room)
        abort();
    ath_flow_written(end->flow, done);
    if (end->written == end->to_write)
        ath_flow_finish(end->flow);
}

static inline void world_read(struct world *world, int which)
{
    struct world_end *end = &world->ends[which], *peer = &world->ends[which ^ 1];
    struct iovec parts[2];
    size_t ready = ath_flow_ready(end->flow, parts);
    if (end->reads_nothing)
        return;
    for (int i = 0; i < 2; i++)
        for (size_t at = 0, piece; at < parts[i].iov_len; at += piece, end->read += piece) {
            piece = parts[i].iov_len - at;
            const uint8_t *bytes = world_bytes(which ^ 1, end->read, &piece);
            end->wrong += memcmp((uint8_t *)parts[i].iov_base + at, bytes, piece) != 0;
        }
    ath_flow_taken(end->flow, ready);
    if (!end->done_ns && end->read == peer->to_write)
        end->done_ns = world->now_ns;
}

static inline void world_act(struct world *world, int which)
{
    struct ath_datagram datagram;
    world_read(world, which);
    world_write(world, which);
    while (ath_flow_next(world->ends[which].flow, &datagram, world->now_ns))
        world_send(world, which ^ 1, &datagram);
}

static inline void world_arrive(struct world *world)
{
    struct world_datagram came = world_pop(world);
    struct world_end *end = &world->ends[came.to];
    struct ath_datagram datagram;
    int status = ath_datagram_decode(came.bytes, came.length, &datagram);
    if (world->see)
        world->see(world, came.to, came.bytes, came.length);
    if (status)
        end->damaged++;
    else
        ath_flow_receive(end->flow, &datagram, world->now_ns);
    free(came.bytes);
    world_act(world, came.to);
}

/* Adds a flow. Its client writes so many bytes, and its server as many back. */
static inline void world_add(struct world *world, uint64_t there, uint64_t back,
                             struct ath_flow_settings settings)
{
    int client = 2 * (int)world->flow_count++;
    settings.channel = world->flow_count;
    settings.buffer_bytes = settings.buffer_bytes ? settings.buffer_bytes : 4 << 20;
    settings.most_bytes = settings.most_bytes ? settings.most_bytes : 1472;
    world->random = world->random ? world->random : 7;
    for (int end = client; end < client + 2; end++) {
        world->ends[end] = (struct world_end){ .flow = ath_flow_make(&settings, world->now_ns),
                                               .to_write = end & 1 ? back : there };
        if (!world->ends[end].flow)
            abort();
    }
}

static inline bool world_is_done(const struct world *world)
{
    for (size_t i = 0; i < 2 * world->flow_count; i++)
        if (!ath_flow_failure(world->ends[i].flow) &&
            !(ath_flow_is_delivered(world->ends[i].flow) &&
              ath_flow_has_ended(world->ends[i].flow)))
            return false;
    return true;
}

/* Lets time pass until all is delivered, or until then_ns. */
static inline void world_run(struct world *world, int64_t then_ns)
{
    for (size_t i = 0; i < 2 * world->flow_count; i++)
        world_act(world, (int)i);
    while (world->now_ns < then_ns && !world_is_done(world)) {
        int64_t next_ns = then_ns;
        int next = -1;
        for (size_t i = 0; i < 2 * world->flow_count; i++) {
            int64_t when = ath_flow_when(world->ends[i].flow, world->now_ns);
            if (when < next_ns) {
                next_ns = when;
                next = (int)i;
            }
        }
        if (world->flight_count && world->flight[0].arrives_ns <= next_ns) {
            next_ns = world->flight[0].arrives_ns;
            next = -2;
        }
        world->now_ns = next_ns > world->now_ns ? next_ns : world->now_ns;
        if (next == -2)
            world_arrive(world);
        else if (next >= 0)
            world_act(world, next);
    }
}

static inline void world_free(struct world *world)
{
    while (world->flight_count)
        free(world_pop(world).bytes);
    for (size_t i = 0; i < 2 * world->flow_count; i++)
        ath_flow_free(world->ends[i].flow);
}
