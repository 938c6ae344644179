/* Searching the rows of a list or the lines of a text; the same for every screen. Private to
 * tui. */
#pragma once
#include "cli/tui/tui.h"

struct ath_search_rows {
    char *(*row)(const void *data, int index); /* its text; the caller frees it */
    const void *data;
    const size_t *count; /* it may change while the user types the text */
};

/*
 * Does the actions SEARCH (asks for a text), NEXT and PREVIOUS: sets *at to the next row that
 * contains the text, in any case of letters, going around at the end. *at is -1 to begin with the
 * first row. Returns whether a row was found.
 */
bool ath_search_act(struct ath_tui *tui, enum ath_action action, const struct ath_search_rows *rows,
                    int *at);
