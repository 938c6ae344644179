/* Completion scripts for shells, made from the command table. */
#pragma once
#include <stdio.h>

extern const char *const ath_shell_names[4]; /* "bash", "zsh", "fish", terminated by NULL */

/* Prints the script for one of ath_shell_names. The script contains all names and values, so
 * completing does not run aitherion. */
void ath_completion_print(FILE *out, const char *shell);
