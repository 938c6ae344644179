/* A command whose output is shown inside the screen. Private to tui. */
#pragma once
#include "cli/tui/tui.h"

struct ath_pane {
    const char *title;       /* of the screen */
    const char *command;     /* shown at the foot */
    const char *const *argv; /* terminated by NULL */
};

/*
 * Runs a command on a terminal of its own and shows its lines as they come. While it runs, typed
 * keys are its input, so it can ask. At the end waits until the user goes back. Returns the exit
 * code, 128 + N for signal N, or a negative errno if it could not be started; the message at the
 * foot of the screen says which.
 */
int ath_pane_run(struct ath_tui *tui, const struct ath_pane *pane);
