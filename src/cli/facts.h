/* What help, man pages and `help --json` say beside the commands: exit codes and environment. */
#pragma once
#include <stddef.h>

struct ath_fact {
    const char *name;
    const char *meaning; /* marked with N_(), not translated */
};

extern const struct ath_fact ath_exit_codes[];  /* ended by a NULL name */
extern const struct ath_fact ath_environment[]; /* the same */
