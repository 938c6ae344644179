/* The command table as data: what the man pages are made from, and what programs may ask for. */
#pragma once
#include <jansson.h>

#include "cli/command.h"

/*
 * aitherion.help/1 (without its "schema"): the command with its children, arguments, options and
 * examples; for the root also the shared options, exit codes, error codes, environment and the
 * document's keys. The caller owns it.
 */
json_t *ath_help_to_json(const struct ath_command *command);
