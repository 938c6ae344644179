/*
 * The supervisor. All its processes share its session id (setsid(2)), by which sessions that the
 * runtime forked are found.
 */
#include "config.h"

#include "container/engine/supervisor_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "container/engine/kinds.h"
#include "container/engine/process_facts.h"
#include "container/engine/run_folder.h"

enum {
    BACKOFF_FIRST_MS = 100,
    BACKOFF_MOST_MS = 60 * 1000,
    GOOD_RUN_MS = 10 * 1000, /* a crash after this time counts as the first again */
};

struct supervisor {
    const struct ath_supervisor_job *job;
    struct ath_process_state *state;
    int lock;         /* held as long as the supervisor lives */
    sigset_t signals; /* blocked, and waited for with sigtimedwait() */
    bool is_stopping;
};

/* Waits until exec closes the pipe, or for the failure. */
static int read_report(int fd, struct ath_err *err)
{
    struct ath_supervisor_report report;
    ssize_t got;
    do
        got = read(fd, &report, sizeof report);
    while (got < 0 && errno == EINTR);
    if (got != sizeof report)
        return 0;
    ath_err_copy(err, &report.err);
    return report.status;
}

static int start_runtime(struct supervisor *supervisor, struct ath_err *err)
{
    struct ath_process_state *state = supervisor->state;
    const char *folder = supervisor->job->folder;
    ATH_AUTO(ath_process) process = { 0 };
    int ends[2];
    pid_t self = getpid();

    ath_auto_close int log = ath_supervisor_open_log(folder);
    if (log < 0)
        return ath_err_system(err, -errno, _("cannot write to the log in '%s'"), folder);
    if (pipe2(ends, O_CLOEXEC))
        return ath_err_system(err, -errno, _("cannot start '%s'"), state->name);
    ath_auto_close int read_end = ends[0], write_end = ends[1];
    pid_t pid = fork();
    if (pid < 0)
        return ath_err_system(err, -errno, _("cannot start '%s'"), state->name);
    if (!pid)
        ath_supervisor_be_runtime(supervisor->job, log, write_end, self);
    setpgid(pid, pid);
    close(ath_steal_fd(&write_end));
    int status = read_report(read_end, err);
    state->runtime = pid;
    state->runtime_ticks = ath_process_read(pid, &process) ? 0 : process.start_ticks;
    state->started_s = (int64_t)time(NULL);
    state->is_waiting = false;
    return status;
}

/* A full disk must not end the runtime; the next change tries again. */
static void save(const struct supervisor *supervisor)
{
    ath_process_state_write(supervisor->job->folder, supervisor->state, NULL);
}

static char *lock_path(const char *folder)
{
    return ath_xasprintf("%s/.supervisor.lock", folder);
}

/* Only the supervisor holds the lock, as long as it lives: children lose it at exec. */
static int take_lock(const struct ath_supervisor_job *job, struct ath_err *err)
{
    ath_auto_free char *path = lock_path(job->folder);
    ath_auto_close int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return ath_err_system(err, -errno, _("cannot write to the folder '%s'"), job->folder);
    if (flock(fd, LOCK_EX | LOCK_NB))
        return ath_err_set(err, -EAGAIN, ATH_E_LOCKED, _("'%s' has a supervisor already"),
                           job->node->name);
    return ath_steal_fd(&fd);
}

/* Returns whether the folder still has this supervisor's lock: another supervisor's folder may be
 * in its place. */
static bool has_folder(const struct supervisor *supervisor)
{
    ath_auto_free char *path = lock_path(supervisor->job->folder);
    struct stat held, found;
    return !fstat(supervisor->lock, &held) && !lstat(path, &found) && held.st_dev == found.st_dev &&
           held.st_ino == found.st_ino;
}

static char *parent_of(const char *path)
{
    return ath_xasprintf("%.*s", (int)(strrchr(path, '/') - path), path);
}

/* Takes a folder that was removed or replaced again, unless another supervisor has it. */
static bool take_folder(struct supervisor *supervisor)
{
    const char *folder = supervisor->job->folder;
    ath_auto_free char *states = parent_of(folder);
    ath_auto_free char *run = parent_of(states);

    if (has_folder(supervisor))
        return true;
    for (const char *const *path = (const char *const[]){ run, states, folder, NULL }; *path;
         path++) {
        ath_run_folder_make(*path);
        if (ath_run_folder_check(*path, NULL))
            return false;
    }
    int lock = take_lock(supervisor->job, NULL);
    if (lock < 0)
        return false;
    close(supervisor->lock);
    supervisor->lock = lock;
    return true;
}

/* Repairs a state that is lost, or that aitherion does not trust. Nothing else could find the
 * runtime. */
static void look_at_files(struct supervisor *supervisor)
{
    ath_supervisor_trim_log(supervisor->job->folder);
    if (take_folder(supervisor))
        ath_process_state_keep(supervisor->job->folder, supervisor->state);
}

static void pass_on(struct supervisor *supervisor)
{
    supervisor->is_stopping = true;
    if (supervisor->state->runtime > 0)
        kill(supervisor->state->runtime, SIGTERM);
}

/* Also reaps orphans of the runtime (PR_SET_CHILD_SUBREAPER). Returns true when the runtime has
 * ended. */
static bool reap(struct supervisor *supervisor)
{
    struct ath_process_state *state = supervisor->state;
    bool has_ended = false;
    int code;
    pid_t pid;

    while ((pid = waitpid(-1, &code, WNOHANG)) > 0) {
        if (pid != state->runtime)
            continue;
        state->exit_code = WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
        has_ended = true;
    }
    return has_ended;
}

/* Returns whether a signal asks the supervisor to end. */
static bool is_end(int number)
{
    return number == SIGTERM || number == SIGINT || number == SIGHUP;
}

static void watch(struct supervisor *supervisor)
{
    struct ath_process_state *state = supervisor->state;
    while (!reap(supervisor)) {
        const struct timespec look = { .tv_sec = ATH_SUPERVISOR_LOOK_S };
        int number = sigtimedwait(&supervisor->signals, NULL, &look);
        if (is_end(number))
            pass_on(supervisor);
        look_at_files(supervisor);
    }
    kill(-state->runtime, SIGKILL); /* the runtime's sessions */
    state->runtime = ATH_UNKNOWN;
    state->runtime_ticks = 0;
}

static void wait_before_next(struct supervisor *supervisor, int wait_ms)
{
    uint64_t end = ath_now_ms() + (uint64_t)wait_ms, now;
    while (!supervisor->is_stopping && (now = ath_now_ms()) < end) {
        const struct timespec left = { (time_t)((end - now) / 1000),
                                       (long)((end - now) % 1000 * 1000000) };
        int number = sigtimedwait(&supervisor->signals, NULL, &left);
        if (is_end(number))
            supervisor->is_stopping = true;
        reap(supervisor);
    }
}

/* Like Docker's policy on-failure: an end with exit code 0 is final. */
static void keep_running(struct supervisor *supervisor)
{
    struct ath_process_state *state = supervisor->state;
    int wait_ms = BACKOFF_FIRST_MS;

    for (;;) {
        uint64_t begin = ath_now_ms();
        if (state->runtime > 0)
            watch(supervisor);
        if (supervisor->is_stopping || !state->exit_code)
            break;
        if (ath_now_ms() - begin > GOOD_RUN_MS)
            wait_ms = BACKOFF_FIRST_MS;
        ath_supervisor_log_end(supervisor->job->folder, state, wait_ms);
        state->is_waiting = true;
        save(supervisor);
        wait_before_next(supervisor, wait_ms);
        wait_ms = wait_ms * 2 > BACKOFF_MOST_MS ? BACKOFF_MOST_MS : wait_ms * 2;
        if (supervisor->is_stopping)
            break;
        state->restarts++;
        start_runtime(supervisor, NULL);
        save(supervisor);
    }
    state->is_waiting = false;
}

/* The state is written before the runtime starts, so that even a killed supervisor can be found. */
static int begin(struct supervisor *supervisor, struct ath_err *err)
{
    const struct ath_supervisor_job *job = supervisor->job;
    struct ath_process_state *state = supervisor->state;
    ATH_AUTO(ath_process) self = { 0 };

    supervisor->lock = take_lock(job, err);
    if (supervisor->lock < 0)
        return supervisor->lock;
    if (ath_process_read(getpid(), &self))
        return ath_err_set(err, -ESRCH, ATH_E_IO, _("cannot read '/proc': is it mounted?"));
    state->supervisor = getpid();
    state->supervisor_ticks = self.start_ticks;
    state->session = self.session;
    state->boot_id = ath_boot_id();
    int status = ath_process_state_write(job->folder, state, err);
    if (!status)
        status = start_runtime(supervisor, err);
    if (!status)
        status = ath_process_state_write(job->folder, state, err);
    return status;
}

/* Detaches from the caller: standard streams become /dev/null, inherited files are closed. */
static void leave_everything(int report_fd)
{
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    int last = dup2(report_fd, STDERR_FILENO + 1);
    fcntl(last, F_SETFD, FD_CLOEXEC);
    ath_close_from(last + 1); /* the lock of the run folder among them */
    if (chdir("/"))
        _exit(1);
    umask(022);
}

static _Noreturn void supervise(const struct ath_supervisor_job *job, int report_fd)
{
    struct supervisor supervisor = { .job = job, .state = job->state };
    struct ath_supervisor_report report = { 0 };

    leave_everything(report_fd);
    prctl(PR_SET_NAME, job->node->name, 0, 0, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    sigemptyset(&supervisor.signals);
    for (const int *number = (const int[]){ SIGTERM, SIGINT, SIGHUP, SIGCHLD, 0 }; *number;
         number++)
        sigaddset(&supervisor.signals, *number);
    sigprocmask(SIG_SETMASK, &supervisor.signals, NULL);
    signal(SIGPIPE, SIG_IGN);

    report.status = begin(&supervisor, &report.err);
    if (write(STDERR_FILENO + 1, &report, sizeof report) < 0)
        supervisor.is_stopping = false; /* the caller is gone, which changes nothing */
    close(STDERR_FILENO + 1);
    if (report.status)
        _exit(1);
    keep_running(&supervisor);
    save(&supervisor);
    _exit(0);
}

/* ---- in aitherion ---- */

int ath_supervisor_start(const struct ath_supervisor_job *job, struct ath_err *err)
{
    int ends[2];
    struct ath_supervisor_report report;

    if (pipe2(ends, O_CLOEXEC))
        return ath_err_system(err, -errno, _("cannot start '%s'"), job->node->name);
    ath_auto_close int read_end = ends[0], write_end = ends[1];
    pid_t pid = fork();
    if (pid < 0)
        return ath_err_system(err, -errno, _("cannot start '%s'"), job->node->name);
    if (!pid) {
        setsid();
        pid_t second = fork();
        if (!second)
            supervise(job, write_end);
        _exit(second < 0);
    }
    close(ath_steal_fd(&write_end));
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    ssize_t got;
    do
        got = read(read_end, &report, sizeof report);
    while (got < 0 && errno == EINTR);
    if (got != sizeof report)
        return ath_err_set(err, -ECHILD, ATH_E_START_FAILED, _("the supervisor of '%s' ended"),
                           job->node->name);
    if (report.status)
        ath_err_copy(err, &report.err);
    return report.status;
}

bool ath_supervisor_is_alive(const char *folder)
{
    ath_auto_free char *path = lock_path(folder);
    ath_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == EACCES; /* only its owner can tell */
    return flock(fd, LOCK_EX | LOCK_NB) != 0;
}

int ath_supervisor_ask(const struct ath_process_state *state, struct ath_err *err)
{
    if (!ath_process_state_is_supervised(state) || !kill(state->supervisor, SIGTERM) ||
        errno != EPERM)
        return 0;
    return ath_node_not_yours(state->name, err);
}

int ath_supervisor_stop(const struct ath_process_state *state, int grace_s, struct ath_err *err)
{
    uint64_t end = ath_now_ms() + (uint64_t)grace_s * 1000;

    int status = ath_supervisor_ask(state, err);
    if (status)
        return status;
    while (ath_process_state_is_supervised(state) && ath_now_ms() < end)
        nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000000L }, NULL);
    ath_process_state_kill(state);
    return 0;
}
