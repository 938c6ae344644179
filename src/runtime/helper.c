/* One table for each kind of helper says how often it must show that it lives. */
#include "config.h"

#include "runtime/helper.h"

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
#include "runtime/event_log.h"
#include "runtime/listener.h"

/* Writes an event whose name ends or begins with the helper's. */
static void log_event(const struct ath_helper_kind *kind, const char *before, const char *after,
                      pid_t pid, const char *reason)
{
    ath_auto_free char *event = ath_xasprintf("%s%s%s", before, kind->name, after);
    ath_auto_free char *number = pid ? ath_xasprintf("%d", (int)pid) : NULL;
    ath_event_log(ATH_EVENT_WARNING, event, "pid", number, "reason", reason, NULL);
}

/* The pause before the next one, after so many failures. */
static uint64_t pause_ms(const struct ath_helper_kind *kind, unsigned int failures)
{
    uint64_t pause = kind->pause_ms << (failures < 16 ? failures : 16);
    return pause < kind->longest_pause_ms ? pause : kind->longest_pause_ms;
}

/* The listening process has one thread, so no lock is held in the child. */
static void start(struct ath_listener *listener, struct ath_helper *helper,
                  const struct ath_helper_kind *kind, uint64_t now_ms)
{
    pid_t parent = getpid();
    helper->started_ms = now_ms;
    helper->next_ms = now_ms + pause_ms(kind, helper->failures);
    pid_t child = fork();
    if (!child) {
        prctl(PR_SET_NAME, kind->process_name); /* first: it is no session */
        kind->run(listener, parent);
        _exit(EXIT_FAILURE);
    }
    if (child < 0)
        log_event(kind, "no-", "", 0, strerror(errno));
    helper->pid = child > 0 ? child : 0;
    helper->is_killed = false;
}

static uint64_t later(uint64_t one_ms, uint64_t other_ms)
{
    return one_ms > other_ms ? one_ms : other_ms;
}

static bool hangs(const struct ath_listener *listener, const struct ath_helper *helper,
                  const struct ath_helper_kind *kind, uint64_t now_ms)
{
    uint64_t beat_ms = atomic_load(kind->beat_ms(listener->server.board));
    bool has_begun = beat_ms >= helper->started_ms;
    return now_ms > (has_begun ? later(beat_ms, helper->idle_ms) + kind->hangs_ms
                               : later(helper->started_ms, helper->idle_ms) + kind->begin_ms);
}

/* A process that hangs in the kernel ends late or never, and is not replaced before. */
static void kill_hung(struct ath_helper *helper, const struct ath_helper_kind *kind)
{
    log_event(kind, "", "-hangs", helper->pid, NULL);
    kill(helper->pid, SIGKILL);
    helper->is_killed = true;
}

static bool is_needed(const struct ath_listener *listener, const struct ath_helper *helper)
{
    return listener->server.devices.count && !helper->is_useless;
}

void ath_helper_look(struct ath_listener *listener, struct ath_helper *helper,
                     const struct ath_helper_kind *kind)
{
    uint64_t now_ms = ath_now_ms();
    bool is_busy = kind->is_busy(listener);
    if (!is_busy || !helper->was_busy) /* the look before may have been long ago */
        helper->idle_ms = now_ms;
    helper->was_busy = is_busy;
    if (!is_needed(listener, helper))
        return;
    if (!helper->pid && now_ms >= helper->next_ms)
        start(listener, helper, kind, now_ms);
    else if (helper->pid && !helper->is_killed && hangs(listener, helper, kind, now_ms))
        kill_hung(helper, kind);
}

bool ath_helper_take_end(struct ath_helper *helper, const struct ath_helper_kind *kind, pid_t pid,
                         int status)
{
    uint64_t now_ms = ath_now_ms();
    if (!helper->pid || pid != helper->pid)
        return false;
    ath_auto_free char *code = ath_xasprintf("exit code %d", WEXITSTATUS(status));
    helper->is_useless =
        kind->useless_code && WIFEXITED(status) && WEXITSTATUS(status) == kind->useless_code;
    if (!helper->is_useless)
        log_event(kind, "", "-ended", pid,
                  WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : code);
    if (now_ms - helper->started_ms > kind->soon_ms)
        helper->failures = 0;
    bool is_at_once = kind->returns_at_once && !helper->failures;
    helper->next_ms = now_ms + (is_at_once ? 0 : pause_ms(kind, helper->failures));
    helper->failures++;
    helper->pid = 0;
    return true;
}

int ath_helper_patience_ms(const struct ath_listener *listener, const struct ath_helper *helper,
                           const struct ath_helper_kind *kind)
{
    uint64_t now_ms = ath_now_ms();
    if (!is_needed(listener, helper))
        return -1;
    if (helper->pid)
        return kind->is_busy(listener) ? kind->look_ms : -1;
    return helper->next_ms > now_ms ? (int)(helper->next_ms - now_ms) : 0;
}

void ath_helper_end(const struct ath_helper *helper)
{
    enum { PATIENCE_MS = 1000 };
    const struct timespec moment = { .tv_nsec = 1000000 };
    if (!helper->pid)
        return;
    kill(helper->pid, SIGKILL);
    uint64_t end_ms = ath_now_ms() + PATIENCE_MS;
    while (!waitpid(helper->pid, NULL, WNOHANG) && ath_now_ms() < end_ms)
        nanosleep(&moment, NULL);
}
