/* Time that only goes forward, for measuring and waiting. */
#pragma once
#include <stdint.h>
#include <time.h>

/* Nanoseconds since an unspecified moment in the past. CLOCK_MONOTONIC costs a few dozen ns a call
 * and does not enter the kernel. */
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
