/* The answer of `aitherion fingerprint`, as text and as JSON. */
#pragma once
#include "cli/output/output.h"
#include "place/gpu_fingerprint.h"

/* Owns nothing. */
struct ath_fingerprint_report {
    const struct ath_machine *machine;
    const struct ath_gpu_fingerprint *gpus; /* one for each GPU of the machine, in its order */
    size_t count;
};

extern const struct ath_view ath_fingerprint_view; /* of a struct ath_fingerprint_report */
