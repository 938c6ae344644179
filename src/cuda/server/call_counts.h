/*
 * Counts of a session's calls, in memory from which other processes read them. Each count has one
 * writer at a time, so it is a plain load and store: no lock and no atomic read-modify-write on the
 * path of a call.
 */
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "remote/session/figures.h"

enum { ATH_COUNTS_LINE = 128 /* bytes of a cache line, at most: POWER's */ };

struct ath_call_counts {
    /* By the thread that reads calls. */
    _Atomic uint64_t calls, received_bytes;
    char apart[ATH_COUNTS_LINE]; /* the two writers share no line */
    /* By the thread that may write to the client. Calls that wait for the GPU, or may have to, by
     * their duration at the server, and their durations together. */
    _Atomic uint64_t sent_bytes;
    _Atomic uint64_t waits[ATH_WAIT_BUCKETS + 1], waited_us;
};

/* Adds to a count of which the calling thread is the only writer now. */
static inline void ath_count(_Atomic uint64_t *count, uint64_t more)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

/* Counts a call that waited. A duration that equals a bound belongs to the bound's bucket. */
static inline void ath_count_wait(struct ath_call_counts *counts, uint64_t duration_us)
{
    static const uint64_t bounds_us[ATH_WAIT_BUCKETS] = ATH_WAIT_BOUNDS_US;
    size_t bucket = 0;
    while (bucket < ATH_WAIT_BUCKETS && duration_us > bounds_us[bucket])
        bucket++;
    ath_count(&counts->waits[bucket], 1);
    ath_count(&counts->waited_us, duration_us);
}
