/* The answer of `aitherion fingerprint --rates`, as text and as JSON. */
#pragma once
#include "cli/output/output.h"
#include "place/gpu_rates.h"

/* Owns nothing. */
struct ath_rates_report {
    const struct ath_gpu_model *base;
};

extern const struct ath_view ath_rates_view; /* of a struct ath_rates_report */
