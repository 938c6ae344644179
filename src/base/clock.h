/* Time that only goes forward, for measuring and for waiting. */
#pragma once
#include <stdint.h>
#include <time.h>

/* Nanoseconds since some moment in the past (CLOCK_MONOTONIC: a few dozen ns a call, no kernel
 * entry). */
static inline uint64_t ath_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t ath_now_ms(void)
{
    return ath_now_ns() / 1000000u;
}
