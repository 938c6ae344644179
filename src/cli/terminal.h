/* What standard output is: a terminal or not, how wide, with colour, with UTF-8; and the pager for
 * long text. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum { ATH_TEXT_COLUMNS_MAX = 100 }; /* prose is not set wider, however wide the terminal */

bool ath_terminal_is_utf8(void);

/* Columns of standard output: of the terminal, else $COLUMNS, else 0 (no limit). */
int ath_terminal_columns(void);

/* Rows of standard output; 0 where it is no terminal. */
int ath_terminal_rows(void);

/* The width for prose: the terminal's, 80 where there is none, at most ATH_TEXT_COLUMNS_MAX. */
int ath_terminal_prose_columns(void);

/* Whether what stands on the screen can be written over: a terminal, TERM not "dumb". */
bool ath_terminal_can_redraw(void);

/* Colour with --color=auto: a terminal, TERM not "dumb", NO_COLOR not set. */
bool ath_terminal_has_color(void);

/*
 * Writes text to standard output; where that is a terminal with fewer lines, through $PAGER (less
 * -FRSX where it is not set). Returns 0 or a negative errno with err (a full disk). A reader who
 * quits early is no error.
 */
int ath_terminal_print(const char *text, size_t length, struct ath_err *err);
