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
#include <stdbool.h>
#include <stdint.h>

#include "base/level.h"

enum ath_event_level {
    ATH_EVENT_ERROR = ATH_LEVEL_ERROR,
    ATH_EVENT_WARNING = ATH_LEVEL_WARNING,
    ATH_EVENT_INFO = ATH_LEVEL_INFO,
    ATH_EVENT_DEBUG = ATH_LEVEL_DEBUG
};

/* Sets the lowest level that is written, for this process and those forked later (at first: info).
 * Call it before other threads exist. */
void ath_event_log_set_level(enum ath_level level);

/* Returns whether lines of this level are written, so that a caller need not make their values. */
bool ath_event_log_has(enum ath_event_level level);

/* Writes a line, if its level is written. The pairs of name and value are const char *, ended by
 * NULL. A NULL value leaves its pair out. */
void ath_event_log(enum ath_event_level level, const char *event, ...) __attribute__((sentinel));

/* Writes later lines to another descriptor. Call it before other threads exist. */
void ath_event_log_to(int fd);

/* Sets the counter of dropped lines, for this process and those forked later. The counter lies in
 * memory that they share, so that any of them can report it. Call it before other threads exist. */
void ath_event_log_count_in(_Atomic uint64_t *lines);
