/* The selected row of a list, and which rows are visible. Private to tui. */
#pragma once
#include <stdbool.h>

#include "cli/tui/keys.h"

struct ath_cursor {
    int at, first; /* selected and first visible row, from 0 */
    int page;      /* rows that were shown last */
    int number;    /* the number typed so far; 0: none */
    int row;       /* of the screen, where the first visible row is; for clicks */
};

/* Keeps the selected one of `count` rows among the `shown` visible ones. */
void ath_cursor_fit(struct ath_cursor *cursor, int count, int shown);

/*
 * Moves the selection. Typing a number selects that row. Returns true if no longer number is
 * possible, so that the row can be opened at once.
 */
bool ath_cursor_act(struct ath_cursor *cursor, enum ath_action action, int key, int count);

/*
 * Selects the row at this row of the screen, if one is there. Returns true if it was selected
 * before, so that it can be opened.
 */
bool ath_cursor_click(struct ath_cursor *cursor, int row, int count);
