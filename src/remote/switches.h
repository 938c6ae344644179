/*
 * The optimisations that can be switched off. Each has a name, so that tests can find a faulty one
 * and measurements can tell its effect. AITHERION_DISABLE=name[,name...] switches them off in a
 * program, which passes the list on to its session's process.
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
    ATH_SWITCH_REUSE,
    ATH_SWITCH_FACTS,
    ATH_SWITCH_GPU, /* no optimisation, and not part of "all" */
    ATH_SWITCHES
};

/* A row without a name ends the table. */
struct ath_switch_row {
    const char *name;
    const char *side;    /* which process does it: "program" (its library), "server", "both" */
    const char *meaning; /* to be translated */
};
extern const struct ath_switch_row ath_switches[ATH_SWITCHES + 1];

/*
 * Reads a list of names. "all" is every optimisation, "1" is "gpu", "0" and an empty text are none.
 * *out_off has a bit for each. Returns 0, or -EINVAL "usage" with err for an unknown name. With err
 * NULL unknown names are ignored.
 */
int ath_switches_read(const char *names, uint32_t *out_off, struct ath_err *err);

/* The optimisations that are off in this process; none at first. */
extern _Atomic uint32_t ath_switches_off;

static inline bool ath_is_off(enum ath_switch which)
{
    return atomic_load_explicit(&ath_switches_off, memory_order_relaxed) >> which & 1u;
}
