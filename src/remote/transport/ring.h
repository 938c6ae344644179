/*
 * A ring of bytes between two processes that do not trust each other. One writes, one reads.
 *
 * Positions only grow. Each side keeps its own position to itself and puts a copy into shared
 * memory. From the other side's copy only the difference is used; an impossible difference is
 * -EBADMSG. A side that has nothing to do polls for a while, then marks itself as sleeping and
 * sleeps (futex(2)).
 *
 * A cache line that the other processor has just changed costs some hundred nanoseconds. So a side
 * looks at the other's position only when the one it has seen is used up, and the reader tells its
 * own only when it has read a step: the writer then has the rest of the ring.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ATH_RING_BYTES = 4 * 1024 * 1024,
    ATH_RING_STEP = ATH_RING_BYTES / 8, /* the reader tells its position after so much */
};

/* The shared part. Each side's fields have a cache line of their own. */
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
    uint64_t position;             /* of this side */
    uint64_t told;                 /* the position that the other side may see */
    uint64_t seen;                 /* the other side's position, as of the last look */
    const atomic_bool *is_over;    /* makes every wait end with -ESHUTDOWN */
    int (*is_gone)(void *context); /* called now and then during a wait: 0, or the reason to stop */
    void *context;
    const _Atomic uint32_t *patience_us; /* how long to poll before sleeping; may change */
};

/* Return 0 or a negative errno. One thread at a time. */
int ath_ring_write(struct ath_ring *ring, const void *bytes, size_t length);
int ath_ring_read(struct ath_ring *ring, void *bytes, size_t length);

/* Makes both sides check again. Any thread. */
void ath_ring_wake(struct ath_ring_shared *shared);
