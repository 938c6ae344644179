/*
 * The server's log: one line an event on standard error, in "name=value" pairs that programs read
 * too.
 *
 *     time=2026-11-21T03:44:27.120Z level=warning event=session-refused peer=10.0.0.7:41234
 * reason=keyWrong
 *
 * A line is one write, so those of several processes do not mix. Values with blanks, quotes or
 * control characters are quoted as C does.
 */
#pragma once

enum ath_record_level { ATH_RECORD_INFO, ATH_RECORD_WARNING, ATH_RECORD_ERROR };

/* Pairs of name and value, both const char *, ended by NULL. A NULL value leaves its pair out. */
void ath_record(enum ath_record_level level, const char *event, ...) __attribute__((sentinel));
