/* Threads that block all signals, and conditions whose waits end by the clock of base/clock.h. */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include <time.h>

/*
 * Starts a thread that blocks all signals, so that they reach the caller's threads; the caller's
 * own mask stays as it was. With out_thread the caller joins or detaches the thread; *out_thread is
 * set before run() begins, and has no value after a failure. With out_thread NULL the thread is
 * detached. The caller keeps argument valid as long as run() needs it. Returns 0, or a negative
 * errno (-EAGAIN: no memory, or too many threads). Any thread may call this function.
 */
int ath_thread_start(pthread_t *out_thread, void *(*run)(void *argument), void *argument);

/*
 * Initializes a condition for pthread_cond_timedwait() with moments of CLOCK_MONOTONIC, which
 * ath_moment() makes. The caller releases the condition with pthread_cond_destroy().
 */
void ath_cond_init(pthread_cond_t *out);

/* Returns the moment at which ath_now_ms() is at_ms, for a wait with such a condition. */
static inline struct timespec ath_moment(uint64_t at_ms)
{
    return (struct timespec){ .tv_sec = (time_t)(at_ms / 1000),
                              .tv_nsec = (long)(at_ms % 1000) * 1000000 };
}
