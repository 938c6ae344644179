/* Completion scripts for shells, made from the command table. */
#pragma once
#include <stdio.h>

extern const char *const ath_shell_names[4]; /* "bash", "zsh", "fish", ended by NULL */

/* Prints the script for a shell of ath_shells. Names and values need no running aitherion at the
 * time of the Tab. */
void ath_completion_print(FILE *out, const char *shell);
