/* Showing what the checks of health found, and the state of what each NUMA entry serves. */
#pragma once
#include "cli/output/output.h"
#include "health/health.h"

struct ath_globals;

/* Owns nothing. */
struct ath_health_output {
    const struct ath_health_facts *facts;
    const struct ath_health_report *report;
    const struct ath_globals *globals; /* whose -c, --root and --topology hints shall name too */
    bool shows_nodes;                  /* text only: the state of each entry above the findings */
    bool shows_fine;                   /* text only: what the checks found nothing about, too */
};

extern const struct ath_view ath_health_view; /* of a struct ath_health_output */

/* The JSON in one line, ended by a newline; the caller frees it. */
char *ath_health_to_line(const struct ath_health_output *view);
