/* Doing nothing, for a container's network namespace to have somebody in it. */
#include "config.h"

#include "runtime/server/pause.h"

#include <signal.h>
#include <sys/wait.h>

/* Blocked signals reach process 1 of a container too, which the kernel else shields from those that
 * it has no handler for. */
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
        got = sigwaitinfo(&wanted, NULL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    return 0;
}
