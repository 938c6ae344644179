/* GPUs that a user names: 2, GPU2, 0004:04:00.0, or the beginning of a UUID. */
#pragma once
#include "base/err.h"
#include "numa/machine.h"

/*
 * Sets out[i] for each GPU i of a comma-separated list; out has a flag for each GPU of the machine.
 * option is the flag's name for errors. Returns 0, or -EINVAL with err.
 */
int ath_gpu_names_read(const struct ath_machine *machine, const char *option, const char *list,
                       bool *out, struct ath_err *err);
