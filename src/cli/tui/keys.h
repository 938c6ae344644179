/* What keys do, as one table: dispatch, the line of hints and the help of every screen come from
 * it. Private to tui. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum ath_action {
    ATH_ACTION_NONE,
    ATH_ACTION_UP,
    ATH_ACTION_DOWN,
    ATH_ACTION_PAGE_UP,
    ATH_ACTION_PAGE_DOWN,
    ATH_ACTION_FIRST,
    ATH_ACTION_LAST,
    ATH_ACTION_LEFT,
    ATH_ACTION_RIGHT,
    ATH_ACTION_NUMBER,
    ATH_ACTION_OPEN,
    ATH_ACTION_TOGGLE,
    ATH_ACTION_ERASE,
    ATH_ACTION_DELETE,
    ATH_ACTION_CLEAR,
    ATH_ACTION_RELOAD,
    ATH_ACTION_SAVE,
    ATH_ACTION_HELP,
    ATH_ACTION_BACK,
    ATH_ACTION_REPAINT,
};

/* Where a key does something; to be or-ed. */
enum ath_key_place {
    ATH_IN_MENU = 1,
    ATH_IN_PAGE = 2,   /* text to read */
    ATH_IN_LIST = 4,   /* choosing one */
    ATH_IN_CHECKS = 8, /* choosing several */
    ATH_IN_INPUT = 16,
    ATH_IN_DIALOG = 32, /* a word: any key goes on */
};

struct ath_key_row {
    int codes[4]; /* 0 ends them */
    enum ath_action action;
    int places;
    const char *name; /* as on the keyboard; N_() where that has a word for it */
    const char *help; /* N_() */
    const char *hint; /* N_(), for the line of hints; NULL: not there */
};

extern const struct ath_key_row ath_key_rows[]; /* ended by a NULL name */

/* What a key does in a place. */
enum ath_action ath_key_action(int code, enum ath_key_place place);

/* "Enter open  q back  ? keys", of as many as fit into so many columns; the caller frees it. */
char *ath_key_hints(enum ath_key_place place, size_t columns);

/* The keys of a place, one a line; the caller frees it. */
char *ath_key_help(enum ath_key_place place);
