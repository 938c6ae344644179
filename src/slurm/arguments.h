/*
 * The words NAME=VALUE that the administrator writes behind the plugin's name in plugstack.conf.
 *
 *     server=HOST:PORT[,...]  the servers whose GPUs --aitherion-remote gives
 *     key=FILE, key-name=NAME, encrypt=WORD, tls-ca=FILE
 *                             how to reach them; the options of `aitherion run` with these names
 *     config=FILE             the document of a node, for its own runtimes
 *     aitherion=FILE          the command line tool on the nodes
 */
#pragma once
#include <stdbool.h>

#include "base/err.h"

enum ath_slurm_argument {
    ATH_SLURM_SERVER,
    ATH_SLURM_KEY,
    ATH_SLURM_KEY_NAME,
    ATH_SLURM_ENCRYPT,
    ATH_SLURM_TLS_CA,
    ATH_SLURM_CONFIG,
    ATH_SLURM_PROGRAM,
    ATH_SLURM_ARGUMENTS
};

/* The values point into the words; NULL: not given. */
struct ath_slurm_arguments {
    const char *values[ATH_SLURM_ARGUMENTS];
};

/* The name of an argument. */
extern const char *const ath_slurm_argument_names[ATH_SLURM_ARGUMENTS];

/* Returns whether an argument counts only for the cluster's servers. */
bool ath_slurm_argument_is_remote(enum ath_slurm_argument argument);

/* Reads the words. Returns 0, or -EINVAL "usage" with err and *out unchanged. */
int ath_slurm_arguments_read(char *const *words, int count, struct ath_slurm_arguments *out,
                             struct ath_err *err);
