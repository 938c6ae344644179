/* Text to read: a report of one of the outputs, scrolled in both directions. Private to tui. */
#pragma once
#include "cli/tui/tui.h"

struct ath_page {
    const char *title;   /* N_() */
    const char *command; /* the same by command line */
    /* Makes the text for a style; the caller frees it. */
    char *(*make)(struct ath_tui *tui, const struct ath_style *style);
    int refresh_ms; /* how often the machine is read anew and the text made again; 0: when asked */
};

/* Shows it until the person goes back. */
void ath_page_show(struct ath_tui *tui, const struct ath_page *page);
