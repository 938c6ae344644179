/* Facts about the terminal (width, colour, UTF-8), and the pager for long text. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { ATH_TEXT_COLUMNS_MAX = 100 }; /* widest line of prose on a wider terminal */

bool ath_terminal_is_utf8(void);

/* Returns the columns of standard output: the terminal's, else $COLUMNS, else 0 (no limit). */
int ath_terminal_columns(void);

/* The same for standard error. */
int ath_terminal_error_columns(void);

/* Returns the rows of standard output; 0 if it is no terminal. */
int ath_terminal_rows(void);

/* Returns the width for prose: the terminal's but at most ATH_TEXT_COLUMNS_MAX, 80 without a
 * terminal. */
int ath_terminal_prose_columns(void);

/* Returns whether lines on the screen can be overwritten: a terminal whose TERM is not "dumb". */
bool ath_terminal_can_redraw(void);

/*
 * Returns whether --color=auto means colour: a terminal, TERM is not "dumb", NO_COLOR is not set.
 */
bool ath_terminal_has_color(void);

/*
 * Writes text to standard output, through $PAGER (default: less -FRSX) if the terminal has fewer
 * lines. Quitting the pager early is not an error. Returns 0 or a negative errno with err (e.g. a
 * full disk).
 */
int ath_terminal_print(const char *text, size_t length, struct ath_err *err);
