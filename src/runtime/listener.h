/*
 * The state of the listening process, and its sockets.
 *
 * The listening process has one thread. A session's process inherits the state and only reads it;
 * it reports by session_report.h. The parts of the listening process build on each other:
 * newcomers.h (connections without a first message), clients.h (processes of sessions), reports.h
 * (what these say), joins.h (further connections of a session).
 */
#pragma once
#include <poll.h>
#include <signal.h>

#include "proto/control.h"
#include "runtime/access.h"
#include "runtime/arbiter.h"
#include "runtime/attempts.h"
#include "runtime/datagrams.h"
#include "runtime/fd_passing.h"
#include "runtime/options.h"
#include "runtime/process_table.h"
#include "runtime/refusal_log.h"
#include "runtime/sampler.h"
#include "runtime/server.h"
#include "runtime/share_table.h"
#include "runtime/unused.h"
#include "runtime/waiting_room.h"

/* The events of the listening process, beside those of the connections in the waiting room. */
enum {
    ATH_POLL_SIGNALS,
    ATH_POLL_REPORTS, /* an epoll of the table's slots */
    ATH_POLL_ACCESS,
    ATH_POLL_TCP,
    ATH_POLL_UNIX,
    ATH_POLL_METRICS,
    ATH_POLL_UDP,  /* channels that the helper of UDP hands over */
    ATH_POLL_DATA, /* the first of those that take further connections of sessions alone */
    ATH_POLL_COUNT = ATH_POLL_DATA + ATH_DATA_ADDRESSES_MAX
};

struct ath_listener {
    struct ath_server server;
    struct ath_fd_passing fd_passing;
    struct ath_sandbox sandbox;
    struct ath_sandbox_users users;
    struct ath_share_table *shares;
    struct ath_process_table processes;
    const char *metrics_web;  /* file with TLS and passwords of the metrics; NULL: none */
    struct ath_access access; /* its watch_fd is of polls */
    struct ath_waiting_room waiting;
    struct ath_attempts attempts;
    struct ath_refusal_log refusals;
    struct ath_helper sampler;
    struct ath_arbiter arbiter;
    struct ath_datagrams datagrams;
    struct pollfd polls[ATH_POLL_COUNT]; /* fd -1: unused */
    char *identities_path;               /* NULL: an option names it, or there is none */
    char *socket_path;                   /* to remove at the end; NULL: none */
    struct ath_unused unused;
    sigset_t old_signals;
    bool is_over;
};

/* Closes the sockets, and removes the unix socket's file. */
void ath_listener_free(struct ath_listener *listener);

/* Raises this process's limits of files, file sizes, locked memory and threads to their hard
 * ones. */
void ath_listener_raise_limits(void);

/* Blocks the signals that end or interrupt the process, and makes the descriptors of signals and
 * reports. Returns 0, or a negative errno with err. */
int ath_listener_take_signals(struct ath_listener *listener, struct ath_err *err);

/* Reads what identities may have, and how many sessions a source may have. Returns 0, or a negative
 * errno with err. */
int ath_listener_open_access(struct ath_listener *listener,
                             const struct ath_runtime_options *options, struct ath_err *err);

/* Opens the sockets that the options name. Returns 0, or a negative errno with err. */
int ath_listener_listen(struct ath_listener *listener, const struct ath_runtime_options *options,
                        struct ath_err *err);

/* Returns whether an ATH_POLL_... is that of a data address. */
static inline bool ath_listener_is_data(size_t which)
{
    return which >= ATH_POLL_DATA && which < ATH_POLL_COUNT;
}

/* Prints and logs where it listens. */
void ath_listener_announce(const struct ath_listener *listener);

/* A number that no client can foresee, for a choice among clients. */
uint32_t ath_listener_random(void);

/* Logs that a connection ended or was ended before its client had a session. */
void ath_listener_log_broken(struct ath_listener *listener, int fd, const char *reason);

/* Tells a client why it gets no session, if that needs no waiting. which is the ATH_POLL_... that
 * it came by. */
void ath_listener_turn_away(struct ath_listener *listener, int fd, size_t which,
                            enum ath_control_reason reason, const char *message);
