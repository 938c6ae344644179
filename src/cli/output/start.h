/* Showing what a start has done, and how far one is. */
#pragma once
#include <stdbool.h>

#include "cli/output/bar.h"
#include "cli/output/output.h"
#include "container/engine.h"
#include "container/plan.h"

/* Owns nothing. */
struct ath_start_report {
    const char *engine, *where; /* "docker", "unix:///var/run/docker.sock" */
    const char *document;
    const char *key_path;
    bool is_key_new;
    bool is_image_built; /* it was missing */
    const struct ath_plan *plan;
    const struct ath_start_results *results;
    const char *next; /* a command */
};

extern const struct ath_view ath_start_view; /* of a struct ath_start_report */

/* Whether a node has failed. */
bool ath_start_has_failed(const struct ath_start_results *results);

/* How far each node is. */
struct ath_start_bar {
    struct ath_bar bar;
    const struct ath_plan *plan;
    int *steps; /* by node of the plan: enum ath_engine_step */
};
void ath_start_bar_begin(struct ath_start_bar *bar, const struct ath_plan *plan);
void ath_start_bar_free(struct ath_start_bar *bar);

/* As struct ath_start_options wants it; context is a struct ath_start_bar. */
void ath_start_bar_show(void *context, const struct ath_plan_node *node, enum ath_engine_step step);
