/* Showing how a program would be run: its environment and its words. */
#pragma once
#include <stddef.h>

#include "cli/output/output.h"

enum { ATH_RUN_VARIABLES = 5 };

/* Owns nothing. */
struct ath_run_report {
    struct {
        const char *name, *value;
    } environment[ATH_RUN_VARIABLES]; /* what is set beside what there is; ended by a NULL name or
                                         the array's end */
    const char *const *words;         /* of the program */
    size_t word_count;
};

extern const struct ath_view ath_run_view; /* of a struct ath_run_report */
