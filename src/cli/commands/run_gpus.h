/* The GPUs that `aitherion run --gpus K` leaves to its program. */
#pragma once
#include "cli/output/run.h"
#include "cli/server_gpus.h"

/* Reads the value of --gpus. Returns 0, or -EINVAL "usage" with err. */
int ath_run_gpus_read(const char *text, size_t *out, struct ath_err *err);

/*
 * Chooses `wanted` of the visible GPUs, by the rules of place/set.h. GPUs that no session uses come
 * before others, and those with a poor health score last. Logs the reasons at -v.
 *
 * Reserves idle GPUs at their runtimes for the moment until the program uses them, and chooses
 * others if another program was faster.
 *
 * servers  the addresses of the runtimes of the GPUs; *out keeps pointers to them and to gpus
 * reserves false: only shows the choice
 *
 * Returns 0, or a negative errno with err: ATH_E_MISFIT if there are fewer GPUs. The caller
 * releases *out with ath_run_choice_free().
 */
int ath_run_gpus_choose(struct ath_server_gpus *gpus, const char *const *servers, size_t wanted,
                        bool reserves, struct ath_run_choice *out, struct ath_err *err);
