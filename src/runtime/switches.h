/*
 * What makes programs faster and may be left out: each by its name, so that tests can tell whether
 * one of them is wrong, and measurements what it brings. AITHERION_DISABLE=name[,name...] switches
 * them off in a program, which tells its session's process.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum ath_switch {
    ATH_SWITCH_SHARED_MEMORY,
    ATH_SWITCH_STAGING,
    ATH_SWITCH_STRIPES,
    ATH_SWITCH_OVERLAP,
    ATH_SWITCH_AHEAD,
    ATH_SWITCH_LENDING,
    ATH_SWITCH_HELPERS,
    ATH_SWITCH_SPINNING,
    ATH_SWITCH_BATCHING,
    ATH_SWITCH_CACHES,
    ATH_SWITCH_CAPTURES,
    ATH_SWITCH_RESTS,
    ATH_SWITCH_SPARES,
    ATH_SWITCH_GPU, /* no optimisation, and not one of "all" */
    ATH_SWITCHES
};

/* Ended by a row without a name. */
struct ath_switch_row {
    const char *name;
    const char *side;    /* where it is done: "program" (in its library), "server", "both" */
    const char *meaning; /* to be translated */
};
extern const struct ath_switch_row ath_switches[ATH_SWITCHES + 1];

/*
 * Reads names, and "all"; "1" is "gpu", and "0" and nothing none. *out_off has a bit for each.
 * Returns 0, or -EINVAL "usage" with err for a name that there is not; err NULL: such a one is left
 * alone.
 */
int ath_switches_read(const char *names, uint32_t *out_off, struct ath_err *err);

/* What is off in this process; all is on until it is said. */
extern _Atomic uint32_t ath_switches_off;

static inline bool ath_is_off(enum ath_switch which)
{
    return atomic_load_explicit(&ath_switches_off, memory_order_relaxed) >> which & 1u;
}
