#include "config.h"

#include "runtime/sampler.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/process_name.h"
#include "runtime/clients.h"
#include "runtime/event_log.h"
#include "runtime/gpu_sampler.h"

enum {
    LOOK_MS = 5000,
    HANGS_MS = 10000,      /* without a sign of life: a sample takes less than a second */
    BEGIN_MS = 60000,      /* the first one: NVML takes seconds for GPUs without persistence mode */
    FIRST_PAUSE_MS = 1000, /* before a replacement, and twice as long each time */
    LONGEST_PAUSE_MS = 300000,
    SOON_MS = 300000, /* an end after less time is a failure */
};

/* Runs in the child. The listening process has one thread, so nothing holds a lock. */
__attribute__((noreturn)) static void run(struct ath_listener *listener, pid_t parent)
{
    static _Atomic uint64_t missing_lines; /* those of this process are not counted on the board */
    prctl(PR_SET_NAME, ATH_SAMPLER_NAME);  /* first: it is no session */
    ath_clients_leave(listener, parent);
    ath_secret_free(&listener->server.secret);
    if (ath_session_board_confine_sampler(listener->server.board) || ath_sandbox_close_inherited())
        _exit(EXIT_FAILURE);
    ath_event_log_count_in(&missing_lines);
    ath_gpu_sampler_run(&listener->server);
}

/* The pause before the next sampler, after so many failures. */
static uint64_t pause_ms(unsigned int failures)
{
    uint64_t pause = (uint64_t)FIRST_PAUSE_MS << (failures < 16 ? failures : 16);
    return pause < LONGEST_PAUSE_MS ? pause : LONGEST_PAUSE_MS;
}

static void start(struct ath_listener *listener, uint64_t now_ms)
{
    struct ath_sampler *sampler = &listener->sampler;
    pid_t parent = getpid();
    sampler->started_ms = now_ms;
    sampler->next_ms = now_ms + pause_ms(sampler->failures);
    pid_t child = fork();
    if (!child)
        run(listener, parent);
    if (child < 0)
        ath_event_log(ATH_EVENT_WARNING, "no-sampler", "reason", strerror(errno), NULL);
    sampler->pid = child > 0 ? child : 0;
    sampler->is_killed = false;
}

static bool hangs(const struct ath_listener *listener, uint64_t now_ms)
{
    uint64_t beat_ms = atomic_load(&listener->server.board->samples.beat_ms);
    uint64_t started_ms = listener->sampler.started_ms;
    bool has_begun = beat_ms >= started_ms;
    uint64_t end_ms = has_begun ? beat_ms + HANGS_MS : started_ms + BEGIN_MS;
    return now_ms > end_ms;
}

/* A process that hangs in the kernel ends late or never, and is not replaced before. */
static void kill_hung(struct ath_listener *listener)
{
    struct ath_sampler *sampler = &listener->sampler;
    ath_auto_free char *pid = ath_xasprintf("%d", (int)sampler->pid);
    ath_event_log(ATH_EVENT_WARNING, "sampler-hangs", "pid", pid, NULL);
    kill(sampler->pid, SIGKILL);
    sampler->is_killed = true;
}

static bool is_needed(const struct ath_listener *listener)
{
    return listener->server.devices.count && !listener->sampler.is_useless;
}

void ath_sampler_look(struct ath_listener *listener)
{
    struct ath_sampler *sampler = &listener->sampler;
    uint64_t now_ms = ath_now_ms();
    if (!is_needed(listener))
        return;
    if (!sampler->pid && now_ms >= sampler->next_ms)
        start(listener, now_ms);
    else if (sampler->pid && !sampler->is_killed && hangs(listener, now_ms))
        kill_hung(listener);
}

static void log_end(const struct ath_sampler *sampler, int status)
{
    ath_auto_free char *pid = ath_xasprintf("%d", (int)sampler->pid);
    ath_auto_free char *code = ath_xasprintf("exit code %d", WEXITSTATUS(status));
    ath_event_log(ATH_EVENT_WARNING, "sampler-ended", "pid", pid, "reason",
                  WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : code, NULL);
}

bool ath_sampler_take_end(struct ath_listener *listener, pid_t pid, int status)
{
    struct ath_sampler *sampler = &listener->sampler;
    uint64_t now_ms = ath_now_ms();
    if (!sampler->pid || pid != sampler->pid)
        return false;
    sampler->is_useless = WIFEXITED(status) && WEXITSTATUS(status) == ATH_SAMPLER_NO_LIBRARY;
    if (!sampler->is_useless)
        log_end(sampler, status);
    if (now_ms - sampler->started_ms > SOON_MS)
        sampler->failures = 0;
    sampler->next_ms = now_ms + pause_ms(sampler->failures++);
    sampler->pid = 0;
    return true;
}

int ath_sampler_patience_ms(const struct ath_listener *listener)
{
    const struct ath_sampler *sampler = &listener->sampler;
    uint64_t now_ms = ath_now_ms();
    if (!is_needed(listener))
        return -1;
    if (sampler->pid)
        return LOOK_MS;
    return sampler->next_ms > now_ms ? (int)(sampler->next_ms - now_ms) : 0;
}

void ath_sampler_end(const struct ath_sampler *sampler)
{
    if (sampler->pid)
        kill(sampler->pid, SIGKILL);
}
