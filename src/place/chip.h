/* The chip of a GPU, for tables by device id. */
#pragma once
#include "numa/machine.h"

/*
 * Returns the GPU's device id; if only its model's name is known (`nvidia-smi -L`), an id of that
 * chip, to look up figures and not to be shown; ATH_UNKNOWN if neither tells the chip.
 */
int ath_gpu_chip(const struct ath_gpu *gpu);
