/* What commands with long work share: being stopped by a signal, and a bar that fits where standard
 * error goes. */
#pragma once
#include <stdbool.h>

#include "cli/cli.h"
#include "cli/output/bar.h"

/* From now on SIGINT, SIGTERM and SIGHUP do not end us but make ath_stop_is_wanted() true; system
 * calls that wait end with EINTR. */
void ath_stop_catch(void);

/* As the is_stopped() members of the layers below want it; context is not used. Any thread. */
bool ath_stop_is_wanted(void *context);

/* Silent with -q, --json and --yaml. */
struct ath_bar ath_cli_bar(const struct ath_cli *cli);
