/* The bandwidths between the GPUs of a machine, for ath_set_best(). */
#pragma once
#include <stdint.h>

#include "numa/machine.h"

/*
 * Returns gpu_count x gpu_count bytes per second in one direction, or the unknown ones of set.h. A
 * pair has the bandwidth of its NVLinks, through switches that of the GPU with less; else that of
 * the slower PCIe link, unless the path leaves the NUMA node. The caller frees the matrix.
 */
int64_t *ath_place_matrix(const struct ath_machine *machine);
