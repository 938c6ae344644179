/*
 * The listening process: it accepts connections, forks one process for each client, and reaps them.
 *
 * Signals come through a descriptor. They are blocked, so the kernel does not drop them if this is
 * process 1 of a container (signal(7), init). A session's process ends with this one, by
 * PR_SET_PDEATHSIG, and by SIGTERM at a clean end.
 */
#include "config.h"

#include "runtime/serve.h"

#include <locale.h>
#include <string.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "runtime/clients.h"
#include "runtime/data_listen.h"
#include "runtime/event_log.h"
#include "runtime/newcomers.h"
#include "runtime/reports.h"
#include "runtime/server_keys.h"
#include "runtime/trial.h"

enum { USER_MAP_BYTES_MAX = 64 << 10 }; /* 340 lines (user_namespaces(7)) */

static void take_signal(struct ath_listener *listener)
{
    struct signalfd_siginfo info;
    while (read(listener->polls[ATH_POLL_SIGNALS].fd, &info, sizeof info) == sizeof info)
        listener->is_over = listener->is_over || info.ssi_signo != SIGCHLD;
    ath_clients_reap(listener);
}

/* The shorter one of two times to wait; -1: any time. */
static int shorter(int one_ms, int other_ms)
{
    if (one_ms < 0 || other_ms < 0)
        return one_ms < 0 ? other_ms : one_ms;
    return one_ms < other_ms ? one_ms : other_ms;
}

/* Milliseconds until a connection has waited for too long, a log line is due, or a helper must be
 * looked at; -1: none. */
static int patience_ms(const struct ath_listener *listener)
{
    uint64_t first_ms = ath_waiting_room_first_ms(&listener->waiting), now_ms = ath_now_ms();
    int patience = shorter(
        listener->refusals.left_out || listener->unused.fd >= 0 ? 1000 : -1,
        shorter(shorter(ath_helper_patience_ms(listener, &listener->sampler, &ath_sampler_kind),
                        ath_helper_patience_ms(listener, &listener->datagrams.helper,
                                               &ath_datagrams_kind)),
                ath_helper_patience_ms(listener, &listener->arbiter.helper, &ath_arbiter_kind)));
    if (first_ms == UINT64_MAX)
        return patience;
    uint64_t end_ms = first_ms + (uint64_t)listener->server.handshake_ms;
    return shorter(patience, end_ms > now_ms ? (int)(end_ms - now_ms) : 0);
}

/* Waits for events of the fixed polls and of the connections that wait. Returns how many of these
 * there are. */
static size_t await_events(struct ath_listener *listener, struct pollfd polls[])
{
    size_t count = listener->waiting.count;
    memcpy(polls, listener->polls, sizeof listener->polls);
    for (size_t i = 0; i < count; i++) {
        const struct ath_waiting *waiting = &listener->waiting.items[i];
        polls[ATH_POLL_COUNT + i] =
            (struct pollfd){ .fd = waiting->fd,
                             .events = (short)(POLLRDHUP | (waiting->session ? 0 : POLLIN)) };
    }
    if (poll(polls, ATH_POLL_COUNT + count, patience_ms(listener)) < 0)
        for (size_t i = 0; i < ATH_POLL_COUNT + count; i++)
            polls[i].revents = 0;
    return count;
}

static void serve_clients(struct ath_listener *listener)
{
    struct pollfd polls[ATH_POLL_COUNT + ATH_WAITING_MOST];
    while (!listener->is_over) {
        size_t waiting = await_events(listener, polls);
        if (polls[ATH_POLL_SIGNALS].revents)
            take_signal(listener);
        if (polls[ATH_POLL_REPORTS].revents)
            ath_reports_take(listener);
        if (polls[ATH_POLL_ACCESS].revents)
            ath_reports_follow_access(listener);
        ath_newcomers_attend(listener, polls + ATH_POLL_COUNT, waiting);
        ath_newcomers_end_silent(listener);
        ath_refusal_log_settle(&listener->refusals);
        ath_helper_look(listener, &listener->sampler, &ath_sampler_kind);
        ath_helper_look(listener, &listener->arbiter.helper, &ath_arbiter_kind);
        ath_helper_look(listener, &listener->datagrams.helper, &ath_datagrams_kind);
        listener->is_over =
            listener->is_over ||
            ath_unused_is_over(&listener->unused, ath_clients_are_there(&listener->processes));
        for (size_t i = ATH_POLL_TCP; i < ATH_POLL_COUNT && !listener->is_over; i++)
            if (polls[i].revents)
                ath_newcomers_accept(listener, i);
    }
    ath_clients_end(&listener->processes);
    ath_helper_end(&listener->sampler);
    ath_helper_end(&listener->arbiter.helper);
    ath_helper_end(&listener->datagrams.helper);
}

static void record_start(const struct ath_server *server)
{
    ath_auto_free char *count = ath_xasprintf("%zu", server->devices.count);
    ath_event_log(ATH_EVENT_INFO, "started", "version", PACKAGE_VERSION, "node",
                  *server->node ? server->node : NULL, "devices", count, "simulated",
                  server->is_simulated ? "true" : "false", "key",
                  ath_server_wants_key(server) ? "wanted" : "none", "encrypt",
                  ath_encrypt_word(server->encrypt), NULL);
    for (size_t i = 0; i < server->devices.problem_count; i++) {
        const struct ath_problem *problem = &server->devices.problems[i];
        ath_event_log(problem->is_fault ? ATH_EVENT_WARNING : ATH_EVENT_INFO, "problem", "code",
                      problem->code, "object", *problem->object ? problem->object : NULL, "message",
                      problem->message, NULL);
    }
}

static void prepare_sandbox(struct ath_listener *listener)
{
    ath_auto_free char *map = NULL;
    size_t length;
    struct ath_err err;
    int status = ath_file_read("/proc/self/uid_map", USER_MAP_BYTES_MAX, &map, &length, &err);
    ath_sandbox_users_init(&listener->users, status ? "" : map);
    ath_sandbox_prepare(&listener->sandbox, listener->users.count, &listener->server.devices);
    ath_sandbox_try(&listener->server,
                    ath_sandbox_users_find(&listener->users, ATH_KEY_NAME_DEFAULT),
                    &listener->sandbox, &listener->server.devices);
}

static int set_log_level(const char *text, struct ath_err *err)
{
    enum ath_level level = ATH_LEVEL_INFO;
    int status = text ? ath_level_read("--log-level", text, &level, err) : 0;
    if (!status)
        ath_event_log_set_level(level);
    return status;
}

int ath_serve(const struct ath_runtime_options *options, struct ath_err *err)
{
    ATH_AUTO(ath_listener) listener = { .unused.fd = -1 };
    int status = set_log_level(options->log_level, err);
    if (status)
        return status;
    for (size_t i = 0; i < ATH_POLL_COUNT; i++)
        listener.polls[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
    ath_listener_raise_limits();
    ath_fd_passing_init(&listener.fd_passing);
    status = ath_server_init(options, &listener.server, err);
    listener.server.fd_passing = &listener.fd_passing;
    listener.server.sandbox = &listener.sandbox;
    listener.shares = ath_xalloc(sizeof *listener.shares);
    listener.shares->board = listener.server.board;
    if (!status)
        prepare_sandbox(&listener);
    if (!status)
        status = ath_arbiter_prepare(&listener, err);
    listener.processes.board = listener.server.board;
    listener.processes.limits_identities = listener.server.key_folder;
    (void)!getrandom(&listener.attempts.seed, sizeof listener.attempts.seed, 0);
    if (!status)
        status = ath_listener_open_access(&listener, options, err);
    if (!status)
        status = ath_listener_take_signals(&listener, err);
    if (!status)
        status = ath_unused_open(options->until_unused, &listener.unused, err);
    if (!status)
        status = ath_listener_listen(&listener, options, err);
    if (!status)
        status = ath_data_listen(&listener, options, err);
    if (!status)
        status = ath_datagrams_open(&listener, options, err);
    if (status)
        return status;
    setlocale(LC_MESSAGES, "C"); /* from here on the text goes to logs */
    ath_event_log_count_in(&listener.server.board->missing_lines);
    record_start(&listener.server);
    ath_listener_announce(&listener);
    serve_clients(&listener);
    ath_event_log(ATH_EVENT_INFO, "stopped", NULL);
    return ATH_RUNTIME_DONE;
}
