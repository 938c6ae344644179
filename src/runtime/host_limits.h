/*
 * Limits of a program's session on the server's host: memory, threads, descriptors. Sessions
 * count what they take on the board, so that one session, or all together, leave enough for the
 * others. Also makes the kernel end a session rather than the listening process when memory runs
 * out.
 */
#pragma once
#include "base/root.h"
#include "runtime/server.h"

enum {
    ATH_HOST_THREADS_OWN = 16,    /* that each session may have */
    ATH_HOST_THREADS_ALL = 8192,  /* beyond them, of all sessions together */
    ATH_HOST_DESCRIPTORS = 32768, /* of one session: each exported piece of memory is one */
    ATH_HOST_OOM_SCORE = 500,     /* proc(5), oom_score_adj */
};

/* The memory that processes of this control group may have, or this machine's. root: where /proc
 * and /sys are. ATH_UNKNOWN if the kernel does not say. */
int64_t ath_host_limits_memory(const struct ath_root *root);

/* Applies the limits to this process, which serves the session of an entry, before other threads
 * exist and while the process may still read /proc. */
void ath_host_limits_apply(const struct ath_server *server, struct ath_session_board_entry *entry);
