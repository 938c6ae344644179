/* Shows the result of a start, and its progress. */
#pragma once
#include <stdbool.h>

#include "cli/output/bar.h"
#include "cli/output/output.h"
#include "cli/output/session.h"
#include "container/engine/engine.h"
#include "container/plan/plan.h"

/* Owns nothing. */
struct ath_start_report {
    const char *engine, *where; /* "docker", "unix:///var/run/docker.sock" */
    const char *document;
    const char *key_path;
    bool is_key_new;
    bool is_image_built;                   /* the image was missing, so it was built first */
    const struct ath_session_report *ends; /* the programs that ended (output/ending.h) */
    const struct ath_plan *plan;
    const struct ath_start_results *results;
    const char *next; /* the command to run next */
};

extern const struct ath_view ath_start_view; /* of a struct ath_start_report */

/* Returns whether the start of any node failed. */
bool ath_start_has_failed(const struct ath_start_results *results);

/* The progress of all nodes. Initialize with ath_start_bar_begin(), free with
 * ath_start_bar_free(). */
struct ath_start_bar {
    struct ath_bar bar;
    const struct ath_plan *plan;
    int *steps; /* by node of the plan: enum ath_engine_step */
};
void ath_start_bar_begin(struct ath_start_bar *bar, const struct ath_plan *plan);
void ath_start_bar_free(struct ath_start_bar *bar);

/* A callback for struct ath_start_options; context is a struct ath_start_bar. */
void ath_start_bar_show(void *context, const struct ath_plan_node *node, enum ath_engine_step step);
