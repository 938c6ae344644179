/* A process that does nothing, so that a container's network namespace has a process. */
#include "config.h"

#include "runtime/pause.h"

#include <signal.h>
#include <sys/wait.h>

/* The kernel does not send process 1 of a container signals without a handler; blocked signals
 * do arrive. */
int ath_pause(void)
{
    sigset_t wanted;
    int got = 0;

    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGCHLD);
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    signal(SIGCHLD, SIG_DFL);
    while (got != SIGTERM && got != SIGINT) {
        /* First, because a child may have ended before its signal was blocked. */
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        got = sigwaitinfo(&wanted, NULL);
    }
    return 0;
}
