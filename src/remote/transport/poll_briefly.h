/*
 * Polls for a while before sleeping: a thread that the kernel wakes runs some ten microseconds
 * late, and after a longer sleep on a virtual machine a hundred microseconds and more (seen on one
 * with an H200).
 */
#pragma once
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

struct ath_brief_poll {
    unsigned int rounds;
    uint32_t patience_us;
    uint64_t since_ns; /* 0: not started */
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
 * Returns whether to poll again after a poll that found nothing. Reads the clock once in every so
 * many rounds. A change of the patience starts the time again. After a while other threads may run
 * before each poll.
 */
static inline bool ath_brief_poll_again(struct ath_brief_poll *look, unsigned int every,
                                        const _Atomic uint32_t *patience_us)
{
    enum { ALONE_NS = 20 * 1000, ALONE_SHARE = 25 /* of the patience, if that is less */ };
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
