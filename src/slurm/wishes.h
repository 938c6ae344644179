/*
 * The wishes of Slurm's users: the options of srun, sbatch and salloc, and the
 * variable of a program's environment that holds each value (remote/session/open.h).
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

enum ath_slurm_wish {
    ATH_SLURM_REMOTE, /* has no variable: it chooses servers */
    ATH_SLURM_MEMORY,
    ATH_SLURM_SHARE,
    ATH_SLURM_PRIORITY,
    ATH_SLURM_SM_SHARE,
    ATH_SLURM_WISHES
};

struct ath_slurm_wish_row {
    const char *option; /* without the dashes */
    const char *metavar, *help;
    const char *variable; /* of the program's environment; NULL: none */
    const char *hint;     /* what a value may be */
    bool is_optional;     /* the option may stand without a value */
    bool (*is_valid)(const char *value);
};

extern const struct ath_slurm_wish_row ath_slurm_wishes[ATH_SLURM_WISHES];

/* Checks the value of an option; NULL: none was given. Returns 0, or -EINVAL "usage" with err. */
int ath_slurm_wish_check(enum ath_slurm_wish wish, const char *value, struct ath_err *err);
