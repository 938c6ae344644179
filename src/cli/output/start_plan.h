/* Shows a plan of runtimes; the text includes shell commands that would do the same. */
#pragma once
#include "cli/output/fields.h"
#include "cli/output/output.h"
#include "cli/output/session.h"
#include "container/engine/engine.h"
#include "container/plan/plan.h"

/* Owns nothing. */
struct ath_start_plan_report {
    const struct ath_plan *plan;
    const char *identities;                   /* rows of the document, a line each */
    const struct ath_start_results *foreseen; /* one for each node of the plan; none: not known */
    const struct ath_session_report *ends;    /* the programs that would end (output/ending.h) */
};

extern const struct ath_view ath_start_plan_view; /* of a struct ath_start_plan_report */

/*
 * The addresses of a runtime for clients: "control 10.0.0.11:50051/tcp, ...,
 * /run/aitherion/numa0/runtime.sock". The caller frees it.
 */
char *ath_start_plan_reach(const struct ath_plan_node *node);

/* Prints a warning of the plan and its hint. */
void ath_start_plan_print_warning(const struct ath_style *style, FILE *out,
                                  const struct ath_plan_warning *warning);

extern const struct ath_field ath_start_plan_warning_fields[]; /* of a struct ath_plan_warning */

/* All texts that `purpose` and `protocol` of a struct ath_plan_port can be, up to a NULL. */
extern const char *const ath_start_plan_purposes[], *const ath_start_plan_protocols[];
