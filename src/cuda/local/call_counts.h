/*
 * Counts of the program's calls, which the runtime shows in lists and figures (connection.c tells
 * them). Each thread has a counter that it alone changes, so a call costs no atomic addition. A
 * counter stays when its thread ends, and another thread gets it. Any thread.
 */
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct ath_local_counter {
    _Atomic uint64_t calls, to_gpu_bytes, from_gpu_bytes;
    atomic_bool is_taken;
    struct ath_local_counter *next; /* constant once it is in the list */
};

struct ath_local_counts {
    uint64_t calls;
    uint64_t to_gpu_bytes, from_gpu_bytes; /* of copies whose function names the direction */
};

extern _Thread_local struct ath_local_counter *ath_local_own_counter;

/* Takes a counter for this thread. */
struct ath_local_counter *ath_local_counter_take(void);

/* Adds up all counters. */
struct ath_local_counts ath_local_counts_sum(void);

static inline struct ath_local_counter *ath_local_counter(void)
{
    struct ath_local_counter *own = ath_local_own_counter;
    return __builtin_expect(own != NULL, 1) ? own : ath_local_counter_take();
}

/* Adds to a count of this thread's counter. */
static inline void ath_local_add(_Atomic uint64_t *count, uint64_t more)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more,
                          memory_order_relaxed);
}

static inline void ath_local_count_call(void)
{
    ath_local_add(&ath_local_counter()->calls, 1);
}

static inline void ath_local_count_to_gpu(uint64_t bytes)
{
    ath_local_add(&ath_local_counter()->to_gpu_bytes, bytes);
}

static inline void ath_local_count_from_gpu(uint64_t bytes)
{
    ath_local_add(&ath_local_counter()->from_gpu_bytes, bytes);
}
