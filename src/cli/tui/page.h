/* Text to read: a report of one of the outputs, scrolled in both directions. Private to tui. */
#pragma once
#include "cli/tui/tui.h"

struct ath_page {
    const char *title;   /* N_() */
    const char *command; /* the same by command line */
    /* Makes the text for a style; the caller frees it. */
    char *(*make)(struct ath_tui *tui, const struct ath_style *style);
    bool is_live; /* the machine is read anew from time to time, where it is the live one */
};

/* Shows it until the person goes back. */
void ath_page_show(struct ath_tui *tui, const struct ath_page *page);
