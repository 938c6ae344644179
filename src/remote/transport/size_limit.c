/* Blocks SIGXFSZ and takes away the one that the thread has caused. */
#include "config.h"

#include "remote/transport/size_limit.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

static sigset_t the_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

void ath_size_limit_hold(sigset_t *old)
{
    sigset_t set = the_signal();
    pthread_sigmask(SIG_BLOCK, &set, old);
}

void ath_size_limit_release(const sigset_t *old)
{
    sigset_t set = the_signal();
    int error = errno;
    sigtimedwait(&set, NULL, &(struct timespec){ 0 });
    pthread_sigmask(SIG_SETMASK, old, NULL);
    errno = error;
}
