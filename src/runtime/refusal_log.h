/*
 * Log lines about connections that the listening process turns away. Anybody on the network can
 * cause any number of them, so only some lines are written in each second, and a line later says
 * how many were left out.
 */
#pragma once
#include <stdint.h>

enum { ATH_REFUSAL_LINES = 64 }; /* in a second */

/* A log that is {} has written nothing. */
struct ath_refusal_log {
    uint64_t second_ms; /* when the present second began */
    unsigned int lines; /* written in it */
    uint64_t left_out;
};

/* Writes a line, or counts it as left out. reason: why; detail: more of it, or NULL. */
void ath_refusal_log(struct ath_refusal_log *log, const char *event, const char *peer,
                     const char *reason, const char *detail);

/* Writes how many lines were left out, if any and if their second is over. */
void ath_refusal_log_settle(struct ath_refusal_log *log);
