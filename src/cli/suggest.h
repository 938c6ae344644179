/* Commands of ours that are named to people: they shall work on the document and the machine that
 * this run was given. */
#pragma once
#include "cli/cli.h"

/*
 * Text with the -c, --root and --topology of this run behind each "aitherion" that a command
 * follows ("aitherion -c FILE configure 0 --data-iface IF"), where the command takes them and does
 * not say them. What stands in quotes is about the command, and left alone, as is what another host
 * is to run. The caller frees it; NULL stays NULL.
 */
char *ath_suggest_complete(const struct ath_globals *globals, const char *text);

/* The same for one whole command ("aitherion configure --show"), and with the options at its end.
 */
char *ath_suggest_command(const struct ath_globals *globals, const char *command);
