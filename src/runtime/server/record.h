/*
 * The server's log: one line an event on standard error, in "name=value" pairs that programs read
 * too.
 *
 *     time=2026-11-21T03:44:27.120Z level=warning event=session-refused peer=10.0.0.7:41234
 * reason=keyWrong
 *
 * A line is one write, so those of several processes do not mix. Values with blanks, quotes or
 * control characters are quoted as C does.
 *
 * Nothing waits for who reads it: a line that finds no room is left out, and how many were is said
 * in front of the next one (event=lines-missing).
 */
#pragma once
#include <stdint.h>

enum ath_record_level { ATH_RECORD_INFO, ATH_RECORD_WARNING, ATH_RECORD_ERROR };

/* Pairs of name and value, both const char *, ended by NULL. A NULL value leaves its pair out. */
void ath_record(enum ath_record_level level, const char *event, ...) __attribute__((sentinel));

/* Where the lines that were left out are counted from now on, in this process and those forked from
 * it: in memory that they share, so that any of them can say it. Before other threads are there. */
void ath_record_count_in(_Atomic uint64_t *lines);
