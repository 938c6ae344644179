/* A plan of runtimes as text (with the commands that would do the same) and as data. */
#pragma once
#include "cli/output/output.h"
#include "container/plan.h"

extern const struct ath_view ath_start_plan_view; /* of a struct ath_plan */

/* Where others find a runtime: "control 10.0.0.11:50051/tcp, ...,
 * /run/aitherion/numa0/runtime.sock". The caller frees it. */
char *ath_start_plan_reach(const struct ath_plan_node *node);

/* What is doubtful about it, with the mend. */
void ath_start_plan_print_warning(const struct ath_style *style, FILE *out,
                                  const struct ath_plan_warning *warning);

/* A list of a node's warnings. */
json_t *ath_start_plan_warnings(const struct ath_plan_node *node);
