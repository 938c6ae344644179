/* Reads what the processes of sessions report, checks their keys and limits, and answers. */
#include "config.h"

#include "runtime/reports.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "runtime/arbiter.h"
#include "runtime/event_log.h"
#include "runtime/joins.h"
#include "runtime/server_keys.h"
#include "runtime/session_report.h"
#include "runtime/session_request.h"

enum { REPORTS_AT_ONCE = 64 };

static const char *identity_of(const struct ath_process *process)
{
    return *process->identity ? process->identity : NULL;
}

void ath_reports_close(struct ath_listener *listener, struct ath_process *process)
{
    if (process->report_fd < 0)
        return;
    epoll_ctl(listener->polls[ATH_POLL_REPORTS].fd, EPOLL_CTL_DEL, process->report_fd, NULL);
    close(process->report_fd);
    process->report_fd = -1;
}

int ath_reports_open(struct ath_listener *listener, struct ath_process *process)
{
    struct epoll_event event = {
        .events = EPOLLIN,
        .data.u32 = (uint32_t)ath_process_table_slot(&listener->processes, process),
    };
    int pair[2];
    int status = ath_session_report_pair(pair);
    if (status)
        return status;
    if (epoll_ctl(listener->polls[ATH_POLL_REPORTS].fd, EPOLL_CTL_ADD, pair[0], &event)) {
        status = -errno;
        close(pair[0]);
        close(pair[1]);
        return status;
    }
    process->report_fd = pair[0];
    return pair[1];
}

static void end_process(struct ath_process *process, const char *reason, const char *by)
{
    ath_event_log(ATH_EVENT_INFO, "session-ended", "peer", process->peer, "identity",
                  identity_of(process), "reason", reason, "by", by, NULL);
    process->is_ending = true;
    kill(process->pid, SIGKILL); /* one that was taken over may ignore other signals */
}

static void follow_order(struct ath_listener *listener, const struct ath_process *process,
                         uint64_t session)
{
    struct ath_process *other = ath_process_table_find(&listener->processes, session);
    if (!other)
        return;
    if (!ath_session_request_may_change(process, other)) {
        ath_event_log(ATH_EVENT_WARNING, "order-refused", "peer", process->peer, "identity",
                      identity_of(process), "reason", "it may not end this session", NULL);
        return;
    }
    end_process(other, "asked for", identity_of(process));
}

/* Ends a session whose key is gone: it may have been removed since the process read it. */
static void check_key(const struct ath_listener *listener, struct ath_process *process)
{
    if (process->is_proven && !process->is_ending &&
        !ath_server_keys_has(&listener->server, process->identity, &process->version))
        end_process(process, "its key was removed or replaced", NULL);
}

/* Notes on the board which GPUs the identity may use: later changes of its row are not for sessions
 * that have begun. */
static void note_devices(const struct ath_listener *listener, const struct ath_process *process)
{
    const struct ath_devices *devices = &listener->server.devices;
    const struct ath_identity *row =
        ath_identities_find(&listener->access.identities, process->identity);
    uint64_t allowed = 0;
    for (size_t i = 0; i < devices->count; i++)
        allowed |= (uint64_t)ath_identity_has_gpu(row, devices->items[i].pci) << i;
    size_t slot = ath_process_table_slot(&listener->processes, process);
    atomic_store(&listener->server.board->known[slot].allowed_devices, allowed);
}

static void take_time(const struct ath_identity *row, struct ath_session_board_known *known)
{
    atomic_store(&known->identity_share, row ? row->time.share_percent : 0);
    atomic_store(&known->identity_cap, row && row->time.is_capped);
    atomic_store(&known->identity_priority, row ? (int)row->time.priority : ATH_GPU_PRIORITY_UNSET);
    atomic_store(&known->identity_part, row ? row->time.sm_percent : 0);
}

/* Gives a session what the row of its identity says now. */
static void take_row(struct ath_listener *listener, struct ath_process *process)
{
    const struct ath_identity *row =
        ath_identities_find(&listener->access.identities, process->identity);
    struct ath_session_board_known *known =
        &listener->server.board->known[ath_process_table_slot(&listener->processes, process)];

    process->is_admin = process->is_trusted || (row && row->is_admin);
    for (size_t i = 0; i < listener->server.devices.count; i++)
        atomic_store(
            &known->identity_limit_bytes[i],
            ath_identity_limit_bytes(row, listener->server.devices.items[i].memory_total_bytes));
    take_time(row, known);
    ath_arbiter_wake(&listener->server);
}

/* Two sessions may have come at the same time, when each still had a place. */
static void check_newcomer(struct ath_listener *listener, struct ath_process *process)
{
    const struct ath_identity *row =
        ath_identities_find(&listener->access.identities, process->identity);
    check_key(listener, process);
    if (row && row->sessions != ATH_UNKNOWN && process->purpose == ATH_GPU_PURPOSE_CUDA &&
        !process->is_ending &&
        ath_process_table_count(&listener->processes, process->identity) > row->sessions)
        end_process(process, "its identity has too many sessions", NULL);
}

void ath_reports_follow_access(struct ath_listener *listener)
{
    ath_access_take_changes(&listener->access);
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        struct ath_process *process = &listener->processes.items[i];
        if (!process->session || !process->is_proven)
            continue;
        take_row(listener, process);
        check_key(listener, process);
    }
}

static int note_report(struct ath_listener *listener, struct ath_process *process,
                       const struct ath_session_report *report)
{
    if (!ath_process_table_note(process, report))
        return -EBADMSG;
    if (!process->is_trusted)
        ath_attempts_give(&listener->attempts, process->source, ath_now_ms());
    ath_joins_let_in(listener, process,
                     process->purpose == ATH_GPU_PURPOSE_CUDA &&
                         ath_process_table_judge(&listener->processes, process) ==
                             ATH_VERDICT_GO_ON);
    ath_session_board_note(listener->server.board,
                           ath_process_table_slot(&listener->processes, process), process->purpose,
                           process->identity);
    note_devices(listener, process);
    take_row(listener, process);
    check_newcomer(listener, process);
    return 0;
}

/* A session's process that does not read its answers is not heard any more, either. */
static int answer_question(struct ath_listener *listener, const struct ath_process *process,
                           const struct ath_session_report *question)
{
    uint64_t answer = ath_session_request_answer(&listener->processes, listener->shares,
                                                 &listener->users, process, question);
    if (question->asks == ATH_ASK_CLAIM && answer)
        ath_arbiter_wake(&listener->server);
    return ath_session_report_answer(process->report_fd, answer);
}

/* A session's process that breaks the rules is not heard any more. */
void ath_reports_take_of(struct ath_listener *listener, struct ath_process *process)
{
    struct ath_session_report report;
    int status = 0;
    while (process->report_fd >= 0 && !status) {
        status = ath_session_report_take(process->report_fd, &report);
        if (!status && report.asks)
            status = answer_question(listener, process, &report);
        else if (!status && report.ends)
            follow_order(listener, process, report.ends);
        else if (!status)
            status = note_report(listener, process, &report);
    }
    if (status && status != -EAGAIN)
        ath_reports_close(listener, process);
}

void ath_reports_take(struct ath_listener *listener)
{
    struct epoll_event events[REPORTS_AT_ONCE];
    int count = epoll_wait(listener->polls[ATH_POLL_REPORTS].fd, events, REPORTS_AT_ONCE, 0);
    for (int i = 0; i < count; i++)
        ath_reports_take_of(listener, &listener->processes.items[events[i].data.u32]);
}

void ath_reports_close_all(const struct ath_process_table *processes)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        if (processes->items[i].session && processes->items[i].report_fd >= 0)
            close(processes->items[i].report_fd);
}
