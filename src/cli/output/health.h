/* Shows the findings of the health checks, and the state of the devices of each NUMA entry. */
#pragma once
#include "cli/output/output.h"
#include "health/health.h"

/* Owns nothing. */
struct ath_health_output {
    const struct ath_health_facts *facts;
    const struct ath_health_report *report;
    bool shows_nodes; /* text only: print each entry's state above the findings */
    bool shows_fine;  /* text only: print checks without a fault, too */
};

extern const struct ath_view ath_health_view; /* of a struct ath_health_output */
