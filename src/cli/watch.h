/* For commands with long work: stopping by a signal, and a progress bar on standard error. The
 * option --watch is in repeat.h. */
#pragma once
#include <stdbool.h>

#include "cli/cli.h"
#include "cli/output/bar.h"

/* Catches SIGINT, SIGTERM and SIGHUP from now on: they make ath_stop_is_wanted() true, and blocking
 * system calls end with EINTR. */
void ath_stop_catch(void);

/* Returns whether a caught signal has come. Fits the is_stopped() members of the layers below;
 * context is not used. Safe in any thread. */
bool ath_stop_is_wanted(void *context);

/* Returns a bar that is silent with -q, --json and --yaml. */
struct ath_bar ath_cli_bar(const struct ath_cli *cli);
