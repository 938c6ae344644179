/* The command table as JSON, for the man pages and for other programs. */
#pragma once
#include "cli/output/fields.h"

/*
 * The members of schema aitherion.help/1, of a struct ath_command: the command with its children,
 * arguments, options and examples. The root command also has the shared options, exit codes, error
 * codes, environment variables and the document's keys.
 */
extern const struct ath_field ath_help_fields[];
