/*
 * The server's log: one line for each event on standard error, as "name=value" pairs, which
 * programs can parse.
 *
 *     time=2026-11-21T03:44:27.120Z level=warning event=session-refused peer=10.0.0.7:41234
 *     reason=keyWrong
 *
 * Each line is one write, so lines of several processes do not mix. Values with blanks, quotes or
 * control characters are quoted as in C.
 *
 * Writing never waits for a reader. A line that finds no room is dropped, and the next line that is
 * written says how many were dropped (event=lines-missing).
 */
#pragma once
#include <stdint.h>

enum ath_event_level { ATH_EVENT_INFO, ATH_EVENT_WARNING, ATH_EVENT_ERROR };

/* Writes a line. The pairs of name and value are const char *, ended by NULL. A NULL value
 * leaves its pair out. */
void ath_event_log(enum ath_event_level level, const char *event, ...) __attribute__((sentinel));

/* Writes later lines to another descriptor. Call it before other threads exist. */
void ath_event_log_to(int fd);

/* Sets the counter of dropped lines, for this process and those forked later. The counter lies
 * in memory that they share, so that any of them can report it. Call it before other threads exist.
 */
void ath_event_log_count_in(_Atomic uint64_t *lines);
