/* Reports, questions and orders of the processes of sessions (session_report.h). */
#pragma once
#include "runtime/listener.h"

/* Makes the pair of a session's process. Returns the end for that process, or a negative errno. */
int ath_reports_open(struct ath_listener *listener, struct ath_process *process);

/* Closes the listening process's end. A process without one is not heard any more. */
void ath_reports_close(struct ath_listener *listener, struct ath_process *process);

/* Leaves a session's process without the other sessions' pairs. */
void ath_reports_close_all(const struct ath_process_table *processes);

/* Takes all reports that have come, or all of one process. */
void ath_reports_take(struct ath_listener *listener);
void ath_reports_take_of(struct ath_listener *listener, struct ath_process *process);

/* Gives all sessions what keys and rows of identities say now, and ends those without a key. */
void ath_reports_follow_access(struct ath_listener *listener);
