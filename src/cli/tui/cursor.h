/* The selected row of a list, and which rows of it are to be seen. Private to tui. */
#pragma once
#include <stdbool.h>

#include "cli/tui/keys.h"

struct ath_cursor {
    int at, first; /* from 0 */
    int page;      /* rows that were shown last */
    int number;    /* digits typed so far, 0 for none */
};

/* Makes the selected one of `count` rows be among the `shown` ones. */
void ath_cursor_fit(struct ath_cursor *cursor, int count, int shown);

/*
 * Moves as the action says. A number selects its row; true where it can mean no other row, so that
 * the row is to be opened at once.
 */
bool ath_cursor_act(struct ath_cursor *cursor, enum ath_action action, int key, int count);
