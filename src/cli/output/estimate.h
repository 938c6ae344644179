/* The answer of `aitherion estimate`, as text and as JSON. */
#pragma once
#include "cli/output/output.h"
#include "place/estimate.h"
#include "place/gpu_pair.h"

/* Owns nothing. */
struct ath_estimate_report {
    const struct ath_machine *machine;
    enum ath_collective collective;
    uint64_t size_bytes;
    const size_t *ring; /* facts.gpu_count indexes into the machine */
    bool is_exact;      /* no ring is better */
    struct ath_estimate_facts facts;
    struct ath_gpu_pair slowest; /* if there are two GPUs or more */
    struct ath_estimate bound;
    struct ath_nccl_estimate nccl;
};

extern const struct ath_view ath_estimate_view; /* of a struct ath_estimate_report */
