/* Help texts, made from the command table. */
#pragma once
#include <stdio.h>

#include "cli/command.h"

/* Prints the help of a command as `aitherion COMMAND --help` shows it, translated and wrapped to
 * width columns. */
void ath_help_print(FILE *out, const struct ath_command *command, int width);

/*
 * Prints what `aitherion` shows without arguments: the command's children, and where to read more.
 */
void ath_help_print_short(FILE *out, const struct ath_command *command, int width);
