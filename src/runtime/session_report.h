/*
 * The reports of a session's process to the listening process. They travel by a pair of sockets
 * that only these two have: first who has proven a key, then orders to end sessions. Each process
 * has a pair of its own, so the sender of a report is certain. The listening process believes the
 * first report and no later one, and decides by its own table whether the sender may end a session.
 */
#pragma once
#include <stdint.h>

#include "base/key_name.h"

struct ath_session_report {
    uint64_t ends;   /* the session to end; 0: this is the report of who is here */
    int32_t purpose; /* enum ath_gpu_purpose */
    char identity[ATH_KEY_NAME_BYTES]; /* empty: the server has no keys */
};

/* Makes a pair of sockets: the first for the listening process, the second for the session's.
 * Returns 0 or a negative errno. */
int ath_session_report_pair(int out[2]);

/* Sends without waiting. Returns 0 or a negative errno. */
int ath_session_report_send(int fd, const struct ath_session_report *report);

/* Takes a message that has come, without waiting. Returns 0, -EAGAIN if there is none, -ENODATA if
 * the session's process has ended, or another negative errno. Text in *out is valid, whatever the
 * session's process sent. */
int ath_session_report_take(int fd, struct ath_session_report *out);
