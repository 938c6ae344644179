/* Help texts, made from the command table. */
#pragma once
#include <stdio.h>

#include "cli/command.h"

/* The help of a command as `aitherion COMMAND --help` shows it, fitted to width columns,
 * translated. */
void ath_help_print(FILE *out, const struct ath_command *command, int width);

/* What bare `aitherion` shows: the commands of a command, and where to read on. */
void ath_help_print_short(FILE *out, const struct ath_command *command, int width);
