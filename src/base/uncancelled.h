/* A part of a function in which the thread cannot be cancelled, because it holds locks that other
 * threads of a foreign program need:
 *
 *     ath_uncancelled int cancel = ath_uncancel();
 */
#pragma once
#include <pthread.h>

static inline int ath_uncancel(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void ath_recancel(const int *before)
{
    pthread_setcancelstate(*before, NULL);
}

#define ath_uncancelled __attribute__((cleanup(ath_recancel), unused))
