/*
 * Looking for something for a while before sleeping until it comes: who is woken by the kernel gets
 * there some ten microseconds late, and after a longer sleep, on a virtual machine, a hundred and
 * more (seen on one with an H200).
 */
#pragma once
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct ath_look {
    unsigned int rounds;
    uint32_t patience_us;
    uint64_t since_ns; /* 0: not begun */
};

static inline void ath_pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__powerpc64__)
    __asm__ volatile("or 27,27,27" ::: "memory"); /* a hint to yield to the core's other threads */
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/*
 * After a look in vain: whether to look once more. The clock is read every so many rounds; a
 * patience that changes meanwhile counts from then on. After some time other threads are let by
 * first.
 */
static inline bool ath_look_again(struct ath_look *look, unsigned int every,
                                  const _Atomic uint32_t *patience_us)
{
    enum { ALONE_NS = 20 * 1000, ALONE_SHARE = 25 /* of the patience, where that is less */ };
    ath_pause_briefly();
    if (++look->rounds % every)
        return true;
    uint64_t now_ns = ath_now_ns();
    uint32_t patience = atomic_load_explicit(patience_us, memory_order_relaxed);
    if (!look->since_ns || patience != look->patience_us) {
        look->since_ns = now_ns;
        look->patience_us = patience;
    }
    uint64_t looked_ns = now_ns - look->since_ns, patience_ns = (uint64_t)patience * 1000u;
    if (looked_ns > ALONE_NS || looked_ns > patience_ns / ALONE_SHARE)
        sched_yield();
    return looked_ns < patience_ns;
}
