/* Shows how `aitherion run` would start a program: its environment and its command line. */
#pragma once
#include <stddef.h>

#include "cli/output/output.h"

enum { ATH_RUN_VARIABLES = 9 };

/* Owns nothing. */
struct ath_run_report {
    struct {
        const char *name, *value;
    } environment[ATH_RUN_VARIABLES]; /* added variables; the first NULL name, or the end of the
                                         array, ends the list */
    const char *const *words;         /* the program and its arguments */
    size_t word_count;
};

/* The transports that a user can choose, up to a NULL. */
extern const char *const ath_run_transports[];

/* The values of --encrypt, up to a NULL. */
extern const char *const ath_run_encryptions[];

extern const struct ath_view ath_run_view; /* of a struct ath_run_report */
