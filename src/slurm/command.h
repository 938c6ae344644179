/* Running a command as the effective user of a process that may be root, and reading what it
 * prints. */
#pragma once
#include "base/err.h"
#include "base/text.h"

/* The output of a command, and its end. */
struct ath_slurm_output {
    struct ath_text out, errors;
    int exit_code; /* 128 and the signal if it was killed */
};
void ath_slurm_output_free(struct ath_slurm_output *output);

/*
 * Runs words[0], a path, with an environment, and waits for its end, at most two minutes. The
 * command and its children get the effective user and group of this process as their only ones, no
 * input, and no other open file. Returns 0, or a negative errno with err: -ETIMEDOUT, or -E2BIG if
 * it prints too much. The caller releases *out.
 */
int ath_slurm_command_run(char *const *words, char *const *environment,
                          struct ath_slurm_output *out, struct ath_err *err);
