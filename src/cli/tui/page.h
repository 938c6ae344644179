/* Text to read: a report of one of the outputs. Private to tui. */
#pragma once
#include "cli/tui/tui.h"

struct ath_page {
    const char *title;   /* N_() */
    const char *command; /* the same on the command line */
    /* Makes the text in a style. The caller frees it. */
    char *(*make)(struct ath_tui *tui, const struct ath_style *style);
    bool is_slow;   /* making the text asks daemons: a child process does it (look.h) */
    int refresh_ms; /* how often a child process reads the machine and makes the text again; 0: only
                       on request */
    enum ath_key_place place; /* ATH_IN_PAGE, or a place with more keys */
    bool (*act)(struct ath_tui *tui,
                enum ath_action action); /* does the action of a key that only
                                            this place has; returns whether the
                                            text must be made again; NULL: none */
};

/* Shows it until the user goes back. */
void ath_page_show(struct ath_tui *tui, const struct ath_page *page);
