/* How far long work is: a bar on a terminal, a line for each phase elsewhere; both on standard
 * error. One at a time. */
#pragma once
#include <stdbool.h>

struct ath_bar {
    bool is_silent, is_terminal;
    int columns;      /* of the terminal; 0: not known */
    const char *told; /* the phase that was shown last */
};

/*
 * What the work has come to.
 *
 * phase     one word, translated ("latency"); a new one is compared by its text
 * fraction  0 to 1; below 0: not known
 * note      shown behind the bar ("1.2 of 4.5 MiB"); NULL for none
 */
struct ath_bar_step {
    const char *phase;
    double fraction;
    const char *note;
};

/* line: what is said of a new phase where there is no terminal. phase lives as long as the bar. */
void ath_bar_show(struct ath_bar *bar, const struct ath_bar_step *step, const char *line);

/* Takes the bar away. */
void ath_bar_end(struct ath_bar *bar);
