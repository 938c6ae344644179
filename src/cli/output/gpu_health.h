/* The health score of a GPU as data and in words. */
#pragma once
#include "cli/output/fields.h"
#include "numa/machine.h"

extern const struct ath_field ath_gpu_health_fields[]; /* of a struct ath_gpu */

#define ATH_GPU_HEALTH_HELP                                                                        \
    "how well the GPU is, by the driver and the kernel; docs/health-score.md has the points"

/* Returns "40 of 100: REASON (60 points); not known: ecc", or "not known" without a score. The
 * caller frees it. */
char *ath_gpu_health_words(const struct ath_gpu *gpu);
