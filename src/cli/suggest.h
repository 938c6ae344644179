/* Suggested commands must work on the document and the machine of this run, so they get its
 * options. */
#pragma once
#include "cli/cli.h"

/*
 * Adds the -c, --root and --topology of this run after each "aitherion COMMAND" in a text
 * ("aitherion -c FILE configure 0 --data-iface IF"), if the command takes the option and does not
 * have it yet. Commands in quotes and commands for another host stay as they are. The caller frees
 * the result; NULL stays NULL.
 */
char *ath_suggest_complete(const struct ath_globals *globals, const char *text);

/* The same for one whole command ("aitherion configure --show"), with the options at its end. */
char *ath_suggest_command(const struct ath_globals *globals, const char *command);
