/*
 * The environment of a job's tasks on one node: `aitherion run` finds it, run as the job's user,
 * with env(1) as its program. So tasks get what `aitherion run` gives, and its errors.
 */
#pragma once
#include <stddef.h>

#include "base/text.h"
#include "slurm/arguments.h"
#include "slurm/wishes.h"

/* In the environment of a batch script: the GPUs that --aitherion-remote=N chose for all nodes of
 * the job. The job's steps choose among them. */
#define ATH_SLURM_GPUS_VARIABLE "SLURM_AITHERION_GPUS"

struct ath_slurm_job {
    const struct ath_slurm_arguments *arguments;
    bool is_wished[ATH_SLURM_WISHES];     /* the options that were given */
    const char *wishes[ATH_SLURM_WISHES]; /* their values; NULL: none */
    char *const *environment;             /* of the job: NAME=VALUE up to a NULL */
    size_t node, node_count;              /* this node among those that choose GPUs */
    bool is_batch;                        /* the script of sbatch, not a step */
};

/* Owns its members. A zeroed struct is empty. */
struct ath_slurm_tasks {
    char **set;    /* NAME=VALUE that differ from the job's environment, up to a NULL */
    char **unset;  /* names that are not in it any more, up to a NULL; NULL: none */
    char *said;    /* lines for the user; "" for none */
    int exit_code; /* 0, or the one of `aitherion run`: tasks must not start */
};
void ath_slurm_tasks_free(struct ath_slurm_tasks *tasks);

/*
 * Asks the servers and fills *out. The process may be root with the user's effective ids: the
 * command runs with these alone. Takes at most two minutes. Returns 0, or a negative errno with err
 * if the command could not be run, with *out empty.
 */
int ath_slurm_tasks_find(const struct ath_slurm_job *job, struct ath_slurm_tasks *out,
                         struct ath_err *err);
