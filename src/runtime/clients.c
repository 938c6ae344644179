/* Forks a process for each client, ends it, and reaps it with the cause of its end. */
#include "config.h"

#include "runtime/clients.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "runtime/event_log.h"
#include "runtime/joins.h"
#include "runtime/lock_in.h"
#include "runtime/metrics.h"
#include "runtime/reports.h"
#include "runtime/server_keys.h"
#include "runtime/session.h"

enum { PRIORITY = 10 /* of pages of metrics: below sessions */ };

/* Clients without a key may ask, so this process has none. */
static void serve_metrics(struct ath_listener *listener, int fd,
                          struct ath_session_board_entry *entry)
{
    ATH_AUTO(ath_metrics_web) web = { 0 };
    struct ath_err err = { 0 };
    listener->server.entry = entry;
    (void)setpriority(PRIO_PROCESS, 0, PRIORITY);
    ath_server_keys_forget(&listener->server);
    int status = ath_metrics_read_web(listener->metrics_web, &web, &err);
    if (!status && ath_lock_in_find_user(&listener->server))
        status = ath_err_system(&err, -EIO, "%s", "the listening process does not answer");
    if (!status)
        status = ath_lock_in(&listener->server, entry, fd, NULL, &err);
    if (status)
        ath_event_log(ATH_EVENT_ERROR, "session-failed", "peer", entry->peer, "reason", err.message,
                      NULL);
    else
        ath_metrics_serve(fd, &listener->server, &web);
}

void ath_clients_leave(struct ath_listener *listener, pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    sigprocmask(SIG_SETMASK, &listener->old_signals, NULL);
    if (getppid() != parent)
        _exit(0);
    for (size_t i = 0; i < ATH_POLL_COUNT; i++)
        if (listener->polls[i].fd >= 0)
            close(listener->polls[i].fd);
    ath_reports_close_all(&listener->processes);
    ath_process_table_wipe_tickets(&listener->processes);
    ath_waiting_room_clear(&listener->waiting);
}

/* Runs a session in the child process. */
static void run_client(struct ath_listener *listener, int fd, size_t which,
                       struct ath_session_board_entry *entry, pid_t parent)
{
    ath_clients_leave(listener, parent);
    if (listener->arbiter.pipe_fd >= 0)
        close(listener->arbiter.pipe_fd);
    ath_datagrams_close(&listener->datagrams);
    if (ath_arbiter_open_pipe(&listener->server))
        _exit(EXIT_FAILURE);
    if (ath_session_board_confine(listener->server.board, entry))
        _exit(EXIT_FAILURE);
    ath_event_log_count_in(&entry->missing_lines);
    ath_fd_passing_keep_inner(&listener->fd_passing);
    if (which == ATH_POLL_METRICS)
        serve_metrics(listener, fd, entry);
    else
        ath_session_serve(fd, &listener->server, entry);
    close(fd);
    _exit(0);
}

bool ath_clients_is_trusted(int fd, size_t which)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    return which == ATH_POLL_UNIX && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) &&
           (peer.uid == 0 || peer.uid == geteuid());
}

/* Ends a client that has been unproven for long, in favour of a new one. */
static void send_away(struct ath_process *process)
{
    ath_event_log(ATH_EVENT_WARNING, "session-ended", "peer", process->peer, "reason",
                  "it has proven no key, and other clients wait", NULL);
    kill(process->pid, SIGTERM);
}

static void forget(struct ath_listener *listener, struct ath_process *process)
{
    ath_reports_take_of(listener, process);
    ath_reports_close(listener, process);
    ath_joins_let_in(listener, process, false);
    ath_fd_passing_remove(&listener->fd_passing,
                          ath_process_table_slot(&listener->processes, process));
    ath_share_table_drop_all(listener->shares,
                             ath_process_table_slot(&listener->processes, process));
    ath_process_table_remove(&listener->processes, process);
    ath_arbiter_wake(&listener->server);
}

/* Gives a client a slot in the table. Returns NULL if it gets none, and tells it why. */
static struct ath_process *admit(struct ath_listener *listener, int fd, size_t which,
                                 const struct ath_newcomer *newcomer)
{
    static const char *const reasons[] = {
        [ATH_PLACE_FULL] = "too many sessions",
        [ATH_PLACE_SOURCE_FULL] = "too many sessions from this address",
        [ATH_PLACE_CROWDED] = "too many clients have not proven a key yet",
    };
    struct ath_process *process, *leaves;
    if (!newcomer->is_trusted &&
        !ath_attempts_take(&listener->attempts, newcomer->source, ath_now_ms())) {
        ath_listener_turn_away(listener, fd, which, ATH_CONTROL_REASON_BUSY,
                               "too many failed attempts from this address");
        return NULL;
    }
    ath_reports_take(listener); /* so that no proven client counts as unproven */
    enum ath_place place = ath_process_table_add(&listener->processes, newcomer,
                                                 ath_listener_random(), &process, &leaves);
    if (leaves)
        send_away(leaves);
    if (place == ATH_PLACE_GIVEN)
        return process;
    if (!newcomer->is_trusted)
        ath_attempts_give(&listener->attempts, newcomer->source, ath_now_ms());
    ath_listener_turn_away(listener, fd, which, ATH_CONTROL_REASON_BUSY, reasons[place]);
    return NULL;
}

static void log_process(const char *event, pid_t pid, const char *peer)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)pid);
    ath_event_log(ATH_EVENT_DEBUG, event, "pid", number, "peer", peer, NULL);
}

void ath_clients_start(struct ath_listener *listener, int fd, size_t which,
                       struct ath_source source, bool trusts)
{
    char peer[ATH_ENDPOINT_TEXT];
    pid_t parent = getpid();
    const struct ath_newcomer newcomer = { .peer = ath_endpoint_of_socket(fd, true, peer),
                                           .source = source,
                                           .way = (int)which,
                                           .is_trusted = trusts };
    struct ath_process *process = admit(listener, fd, which, &newcomer);
    if (!process)
        return;
    size_t slot = ath_process_table_slot(&listener->processes, process);
    if (which == ATH_POLL_TCP)
        ath_fd_passing_add(&listener->fd_passing, slot);
    ath_auto_close int report_fd = ath_reports_open(listener, process);
    if (report_fd < 0)
        errno = -report_fd;
    pid_t child = report_fd < 0 ? -1 : fork();
    if (!child) {
        listener->server.report_fd = report_fd;
        run_client(listener, fd, which, ath_session_board_at(listener->server.board, slot), parent);
    }
    int forked = errno;
    ath_fd_passing_keep_outer(&listener->fd_passing);
    process->pid = child;
    ath_session_board_note_process(listener->server.board, slot, child);
    if (child > 0)
        log_process("process-started", child, peer);
    if (child < 0) {
        ath_event_log(ATH_EVENT_ERROR, "no-process", "peer", peer, "reason", strerror(forked),
                      NULL);
        forget(listener, process);
    }
}

/* Describes an unexpected end of a session's process; NULL for an expected one. The process
 * always exits with 0, unless it is ended. */
static const char *crash_of(const struct ath_process *process, int status)
{
    if (WIFSIGNALED(status))
        return WTERMSIG(status) == SIGTERM || process->is_ending ? NULL
                                                                 : strsignal(WTERMSIG(status));
    return WEXITSTATUS(status) ? "exit code" : NULL;
}

/* Process 1 of a container also gets orphans, which are no sessions. */
void ath_clients_reap(struct ath_listener *listener)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        struct ath_process *process = ath_process_table_find_pid(&listener->processes, pid);
        if (ath_helper_take_end(&listener->sampler, &ath_sampler_kind, pid, status) ||
            ath_helper_take_end(&listener->arbiter.helper, &ath_arbiter_kind, pid, status) ||
            ath_helper_take_end(&listener->datagrams.helper, &ath_datagrams_kind, pid, status) ||
            !process)
            continue;
        log_process("process-ended", pid, process->peer);
        const char *crash = crash_of(process, status);
        forget(listener, process);
        ath_auto_free char *number = ath_xasprintf("%d", (int)pid);
        if (crash)
            ath_event_log(ATH_EVENT_ERROR, "session-crashed", "pid", number, "reason", crash, NULL);
    }
}

bool ath_clients_are_there(const struct ath_process_table *processes)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        if (processes->items[i].session)
            return true;
    return false;
}

void ath_clients_end(const struct ath_process_table *processes)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        if (processes->items[i].session)
            kill(processes->items[i].pid, SIGTERM);
}
