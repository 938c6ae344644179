/* Exchange rates: the worth of one GPU of a model in GPUs of another model. */
#pragma once
#include "place/gpu_models.h"

enum ath_gpu_rate {
    ATH_RATE_COMPUTE,          /* dense FP16 */
    ATH_RATE_MEMORY,           /* size */
    ATH_RATE_MEMORY_BANDWIDTH, /* bandwidth of the memory */
    ATH_RATE_LINKS,            /* bandwidth of all NVLinks */
    ATH_RATE_OVERALL,          /* shipped, not computed: see below */
    ATH_RATE_COUNT
};

/*
 * Returns the rate of model in thousandths of base, rounded: 700 for 0.7. Returns ATH_UNKNOWN if
 * the table lacks one of the two figures, or if base has 0 (a card without NVLink).
 *
 * The overall rates are six figures of the design that aitherion began with. They are judgements,
 * of software too, so that no other model's can be computed.
 */
int64_t ath_gpu_rate_thousandths(const struct ath_gpu_model *model,
                                 const struct ath_gpu_model *base, enum ath_gpu_rate rate);

/* The model whose rates are all 1 unless the user names another one: A100 SXM4 80GB. */
const struct ath_gpu_model *ath_gpu_rate_base(void);
