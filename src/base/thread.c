/* Starts threads that block all signals, and initializes conditions for waits by the monotonic
 * clock. */
#include "config.h"

#include "base/thread.h"

#include <signal.h>
#include <stddef.h>

/* A thread inherits the mask of the thread that starts it, so that no signal comes before its first
 * instruction. */
int ath_thread_start(pthread_t *out_thread, void *(*run)(void *argument), void *argument)
{
    sigset_t all, before;
    pthread_t detached;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int status = -pthread_create(out_thread ? out_thread : &detached, NULL, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!status && !out_thread)
        pthread_detach(detached);
    return status;
}

void ath_cond_init(pthread_cond_t *out)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(out, &attributes);
    pthread_condattr_destroy(&attributes);
}
