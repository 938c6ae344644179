/* The answer of `aitherion fingerprint --equivalent`, as text and as JSON. */
#pragma once
#include "cli/output/output.h"
#include "place/equivalent.h"

/* Owns nothing. */
struct ath_equivalent_report {
    const struct ath_machine *machine;
    const struct ath_needs *needs;
    const struct ath_equivalents *here;
};

extern const struct ath_view ath_equivalent_view; /* of a struct ath_equivalent_report */
