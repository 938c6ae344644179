/* Functions that start_plan.c and start_plan_text.c share. Private to them. */
#pragma once
#include "cli/output/start_plan.h"

/* Returns what the start would do with a node of the plan; NULL if it is not known. */
static inline const struct ath_start_result *ath_start_plan_foreseen(
    const struct ath_start_plan_report *report, size_t node)
{
    return node < report->foreseen->count ? &report->foreseen->items[node] : NULL;
}

/* Prints a plan as text (of struct ath_view). */
void ath_start_plan_to_text(const struct ath_style *style, FILE *out, const void *data);
