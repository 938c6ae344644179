/*
 * Lines of text that the user scrolls in both directions and searches. The outputs write colours as
 * escape sequences (output/style.c); they are turned back into roles when the lines are drawn.
 * Private to tui.
 */
#pragma once
#include "cli/tui/tui.h"

/* A zeroed struct is empty; ath_lines_free() releases it. */
struct ath_lines {
    char **items;
    size_t count;
    int first, left; /* first row and column shown */
    int found;       /* the number of the line that was searched for, from 1; 0: none */
};
void ath_lines_free(struct ath_lines *lines);

/* Replaces the lines by those of a text; the place stays. */
void ath_lines_set(struct ath_lines *lines, const char *text);

/* Adds one line, broken where it is wider than the columns. */
void ath_lines_add(struct ath_lines *lines, const char *text, int columns);

/* Drops the lines from index `count` on. */
void ath_lines_cut(struct ath_lines *lines, size_t count);

/* Scrolls to the last line. */
void ath_lines_end(struct ath_lines *lines);

/* Returns the bytes of one of our colour sequences at text, and sets *role; 0 for none. */
size_t ath_lines_sequence(const char *text, enum ath_role *role);

/* Draws as many lines as fit into the rows. Returns the row after them. */
int ath_lines_draw(struct ath_tui *tui, struct ath_lines *lines, int row, int rows);

/* Returns "lines 1 to 16 of 31" for this number of rows. The caller frees it. */
char *ath_lines_place(const struct ath_lines *lines, int rows);

/* Scrolls or searches, if the action asks for it. rows: those that are shown. */
void ath_lines_act(struct ath_tui *tui, struct ath_lines *lines, enum ath_action action, int rows);
