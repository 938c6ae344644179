/*
 * A child process for calls that cannot be trusted to return.
 *
 * The child holds the only open end of a pipe, so that its end, however it comes, is seen by
 * poll(). A child that hangs inside a driver may not even die by SIGKILL: it is left to init then.
 */
#include "config.h"

#include "base/isolated.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* True when the other end was closed within timeout_ms. */
static bool wait_for_end(int fd, int timeout_ms)
{
    int64_t end = now_ms() + timeout_ms;
    struct pollfd entry = { .fd = fd, .events = POLLIN };

    for (int64_t left; (left = end - now_ms()) > 0;) {
        int ready = poll(&entry, 1, (int)left);
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            return false;
    }
    return false;
}

/* Takes the child away, if it can be killed at all within a second. */
static void end_child(pid_t child)
{
    kill(child, SIGKILL);
    for (int tries = 0; tries < 50 && waitpid(child, NULL, WNOHANG) == 0; tries++)
        nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

static _Noreturn void be_child(void (*function)(void *), void *argument)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGSEGV, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    function(argument);
    _exit(0);
}

int ath_run_isolated(void (*function)(void *), void *argument, int timeout_ms)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    ath_auto_close int read_end = ends[0];
    pid_t child = fork();
    if (child == 0)
        be_child(function, argument);
    int fork_status = child < 0 ? -errno : 0;
    close(ends[1]);
    if (fork_status)
        return fork_status;

    int status = 0;
    if (!wait_for_end(read_end, timeout_ms)) {
        end_child(child);
        return -ETIMEDOUT;
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EFAULT;
}
