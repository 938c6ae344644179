/*
 * A ring of bytes between two processes that do not trust each other: one writes, one reads.
 *
 * Positions only grow. Each side keeps its own to itself and puts a copy where the other one looks;
 * of what the other one says only the difference is used, and one that cannot be is -EBADMSG.
 * Whoever has nothing to do looks for a while, then says so and sleeps (futex(2)).
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATH_RING_BYTES = 4 * 1024 * 1024 };

/* What both see: each side's part in a cache line of its own. */
struct ath_ring_shared {
    _Alignas(128) _Atomic uint64_t written;
    _Atomic uint32_t reader_sleeps;
    _Alignas(128) _Atomic uint64_t read;
    _Atomic uint32_t writer_sleeps;
    _Alignas(4096) uint8_t bytes[ATH_RING_BYTES];
};

/* One side of one ring. */
struct ath_ring {
    struct ath_ring_shared *shared;
    uint64_t position;             /* this side's */
    const atomic_bool *is_over;    /* makes every wait end with -ESHUTDOWN */
    int (*is_gone)(void *context); /* asked now and then while it waits: 0, or why it is over */
    void *context;
    const _Atomic uint32_t *patience_us; /* how long to look before sleeping; may change */
};

/* Return 0 or a negative errno. One thread at a time. */
int ath_ring_write(struct ath_ring *ring, const void *bytes, size_t length);
int ath_ring_read(struct ath_ring *ring, void *bytes, size_t length);

/* Has both sides look again. Any thread. */
void ath_ring_wake(struct ath_ring_shared *shared);
