/* The health scores of a machine's GPUs. */
#pragma once
#include "numa/machine.h"

/* Judges the facts of NVIDIA's GPUs, and warns of each whose score is low. Called by
 * ath_machine_finish(). */
void ath_gpus_judge(struct ath_machine *machine);

/* True if a warning of its own tells the cause of a deduction. */
bool ath_gpu_deduction_is_told(const struct ath_machine *machine, const struct ath_gpu *gpu,
                               enum ath_gpu_deduction deduction);
