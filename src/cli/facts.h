/* Facts that help, man pages and `help --json` list besides the commands: exit codes and
 * environment variables. */
#pragma once
#include <stddef.h>

struct ath_fact {
    const char *name;
    const char *meaning; /* marked with N_(), not translated */
};

extern const struct ath_fact ath_exit_codes[];  /* terminated by a NULL name */
extern const struct ath_fact ath_environment[]; /* terminated by a NULL name */
