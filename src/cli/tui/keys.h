/* The keys and their actions, in one table: the dispatch, the line of key hints and the help of
 * every screen use it. Private to tui. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* A turn of the mouse wheel moves by this many rows. */
enum { ATH_WHEEL_ROWS = 3 };

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
    ATH_ACTION_SEARCH,
    ATH_ACTION_NEXT,
    ATH_ACTION_PREVIOUS,
    ATH_ACTION_END, /* a session */
    ATH_ACTION_STOP,
    ATH_ACTION_LIMIT, /* the memory of a session */
    ATH_ACTION_FILTER,
    ATH_ACTION_SORT,
    ATH_ACTION_REVERSE,
    ATH_ACTION_PAUSE,
    ATH_ACTION_SLOWER,
    ATH_ACTION_FASTER,
    ATH_ACTION_CLICK, /* at the place of ath_screen_mouse() */
    ATH_ACTION_WHEEL_UP,
    ATH_ACTION_WHEEL_DOWN,
};

/* Places where a key works; combined with |. */
enum ath_key_place {
    ATH_IN_MENU = 1,
    ATH_IN_PAGE = 2,   /* reading text */
    ATH_IN_LIST = 4,   /* choosing one item */
    ATH_IN_CHECKS = 8, /* choosing several items */
    ATH_IN_INPUT = 16,
    ATH_IN_DIALOG = 32,  /* a message: any key closes it */
    ATH_IN_STATUS = 64,  /* reading the status */
    ATH_IN_RUN = 128,    /* a command that runs: other keys are its input */
    ATH_IN_RESULT = 256, /* reading what a command printed */
    ATH_IN_TOP = 512,    /* the live screen of `aitherion top` */
};

struct ath_key_row {
    int codes[6]; /* terminated by 0 */
    enum ath_action action;
    int places;
    const char *name; /* as on the keyboard; N_() if it is translated; "": not in the help */
    const char *help; /* N_() */
    const char *hint; /* N_(), for the line of key hints; NULL: not there */
};

extern const struct ath_key_row ath_key_rows[]; /* terminated by a NULL name */

/* Returns what a key does in a place. */
enum ath_action ath_key_action(int code, enum ath_key_place place);

/* Returns "Enter: open   q, Esc: back   ?, F1: keys   ", with as many as fit into the columns. The
 * caller frees it. */
char *ath_key_hints(enum ath_key_place place, size_t columns);

/* Returns the keys of a place, one on each line. The caller frees it. */
char *ath_key_help(enum ath_key_place place);
