/* The bandwidths between the GPUs of a machine, for ath_set_best(). */
#pragma once
#include <stdint.h>

#include "numa/machine.h"

/*
 * Returns gpu_count x gpu_count bytes per second in one direction, those of gpu_pair.h, or the
 * unknown ones of set.h. The caller frees the matrix.
 */
int64_t *ath_place_matrix(const struct ath_machine *machine);
