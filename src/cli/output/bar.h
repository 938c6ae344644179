/*
 * The progress of long work, on standard error: a bar on a terminal, else one line for each phase.
 * Only one bar can be shown at a time.
 */
#pragma once
#include <stdbool.h>

struct ath_bar {
    bool is_silent, is_terminal;
    int columns;            /* width to fit into; 0: the terminal's at each drawing */
    const char *last_phase; /* the phase that was shown last; not owned, NULL before the first */
};

/*
 * The state of the work.
 *
 * phase     one word, translated ("latency"); phases are compared by their text
 * fraction  from 0 to 1; below 0 if not known
 * note      shown behind the bar ("1.2 of 4.5 MiB"); NULL for no note
 */
struct ath_bar_step {
    const char *phase;
    double fraction;
    const char *note;
};

/*
 * Draws the bar. Without a terminal, prints `line` when a new phase begins. step->phase must live
 * as long as the bar.
 */
void ath_bar_show(struct ath_bar *bar, const struct ath_bar_step *step, const char *line);

/* Removes the bar from the terminal. */
void ath_bar_end(struct ath_bar *bar);
