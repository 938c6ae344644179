/* The answer of `aitherion estimate`, as text and as JSON. */
#pragma once
#include "cli/output/fields.h"
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

/* For outputs that have estimates, too: the members of a struct ath_estimate, and those of a struct
 * ath_nccl_estimate. */
extern const struct ath_field ath_estimate_fields[], ath_nccl_estimate_fields[];

/* Why there is no estimate of NCCL's, translated; NULL if there is one. */
const char *ath_nccl_lack_words(enum ath_nccl_lack lack);

/* Prints "Label  12.3 us; ... of the buffer, ... on each link; how". how: NULL for none. */
void ath_estimate_print(const struct ath_style *style, FILE *out, const char *label,
                        const struct ath_estimate *estimate, const char *how);
