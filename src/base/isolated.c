/*
 * A child process for calls that cannot be trusted to return.
 *
 * The function's answer comes through a pipe. The exit status would be lost if SIGCHLD is ignored:
 * a process inherits that setting, and waitpid() then fails with ECHILD. Only the child holds the
 * pipe's write end, so a child that dies without an answer closes it, and poll() reports that too.
 * SIGKILL may not end a child that hangs inside a driver; such a child is left to init.
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

#include "base/alloc.h"
#include "base/cleanup.h"

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns true if an answer arrives or the other end closes within timeout_ms. */
static bool wait_for_answer(int fd, int timeout_ms)
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

/* Collects the child, but waits no longer than a second: leaving a driver may hang too. */
static void reap(pid_t child)
{
    enum { FIRST_NS = 100000, LONGEST_NS = 20000000, TRIES = 60 };
    long pause_ns = FIRST_NS;

    for (int i = 0; i < TRIES && waitpid(child, NULL, WNOHANG) == 0; i++) {
        nanosleep(&(struct timespec){ .tv_nsec = pause_ns }, NULL);
        pause_ns = pause_ns * 2 < LONGEST_NS ? pause_ns * 2 : LONGEST_NS;
    }
}

/* Resets the signals to those of a fresh program, so that a fatal one is fatal, and discards
 * output. */
static void reset_child(void)
{
    static const int fatal[] = { SIGALRM, SIGXCPU, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
    sigset_t none;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
    }
    for (size_t i = 0; i < ATH_COUNT(fatal); i++)
        signal(fatal[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static _Noreturn void be_child(int (*function)(void *), void *argument, void (*confine)(void),
                               int pipe)
{
    reset_child();
    if (confine)
        confine();
    uint8_t answer = (uint8_t)function(argument);
    _exit(write(pipe, &answer, 1) == 1 ? 0 : 1);
}

/* Returns the child's answer, or -EFAULT if it died without one. */
static int read_answer(int fd)
{
    uint8_t answer;
    ssize_t got;

    do
        got = read(fd, &answer, 1);
    while (got < 0 && errno == EINTR);
    return got == 1 ? answer : -EFAULT;
}

int ath_run_isolated(int (*function)(void *), void *argument, void (*confine)(void), int timeout_ms)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    ath_auto_close int read_end = ends[0];
    pid_t child = fork();
    if (child == 0)
        be_child(function, argument, confine, ends[1]);
    int status = child < 0 ? -errno : 0;
    close(ends[1]);
    if (status)
        return status;

    if (wait_for_answer(read_end, timeout_ms)) {
        status = read_answer(read_end);
    } else {
        status = -ETIMEDOUT;
        kill(child, SIGKILL);
    }
    reap(child);
    return status;
}
