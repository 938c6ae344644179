/* One run of aitherion start or restart. start.c runs it; start_plan.c makes its plan and chooses
 * the engine, start_foresee.c finds what it changes and ends, start_needs.c makes what it needs.
 * Private to the four. */
#pragma once
#include "cli/commands/start.h"
#include "cli/ending.h"
#include "cli/nodes.h"
#include "cli/output/start.h"

/* The state of one start. */
struct ath_start_work {
    struct ath_cli *cli;
    const struct ath_start_flags *options;
    bool is_restart;
    int timeout_ms;
    struct ath_nodes nodes;
    struct ath_engine *engine;
    char *user;
    struct ath_plan_options plan_options;
    int *sim_ids; /* nodes that run with --sim, and keep it */
    size_t sim_id_count;
    struct ath_plan plan;
    int *fixed_ids; /* nodes that need a restart for another share of GPU memory */
    size_t fixed_id_count;
    int *row_ids; /* nodes that got other rows of identities */
    size_t row_id_count;
    struct ath_start_results foreseen; /* what the start will do */
    struct ath_ending ending;          /* the programs that it ends */
    struct ath_start_results results;
    struct ath_start_bar bar;
    bool is_key_new, is_image_built;
};

/* ---- start_plan.c ---- */

/* Makes the plan again, of the document, the machine and the options. Returns 0, or a negative
 * errno with err. */
int ath_start_make_plan(struct ath_start_work *work, struct ath_err *err);

void ath_start_set_plan_options(struct ath_start_work *work, bool is_process);

/* Opens an engine, and plans for it. Returns 0, or a negative errno with err. */
int ath_start_take_engine(struct ath_start_work *work, enum ath_engine_kind kind,
                          struct ath_err *err);

/* Chooses the engine and the limits by what runs. Returns 0, or a negative errno with err. */
int ath_start_settle(struct ath_start_work *work, struct ath_err *err);

/* ---- start_foresee.c ---- */

/* Returns the options for ath_engine_start(), without its questions. */
struct ath_start_options ath_start_engine_options(struct ath_start_work *work);

/* Finds what the start will do with each node, and the programs that it would end. Returns 0, or a
 * negative errno with err. */
int ath_start_foresee(struct ath_start_work *work, struct ath_err *err);

/* ath_start_options.may_end: the user has agreed to the end of the runtimes that were foreseen, and
 * to no other. */
bool ath_start_may_end(void *context, const struct ath_plan_node *node);

/* Gives the runtimes the document's share of GPU memory, and notes it in the results of those that
 * go on. A dry run notes those that need a restart for that. Returns 0, or a negative errno with
 * err. */
int ath_start_set_shares(struct ath_start_work *work, struct ath_start_results *results,
                         bool is_dry_run, struct ath_err *err);

/* Gives the runtimes the document's rows of identities. Runtimes that go on take them at once. A
 * dry run only compares the rows. Returns 0, or a negative errno with err. */
int ath_start_set_identities(struct ath_start_work *work, bool is_dry_run, struct ath_err *err);

/* Notes changed rows in the results of runtimes that go on. */
void ath_start_note_identities(const struct ath_start_work *work,
                               struct ath_start_results *results);

/* ---- start_needs.c ---- */

/* Each makes what is missing: the shared key and the image. A certificate is only checked. Returns
 * 0, or a negative errno with err. */
int ath_start_need_key(struct ath_start_work *work, struct ath_err *err);
int ath_start_need_certificate(const struct ath_start_work *work, struct ath_err *err);
int ath_start_need_image(struct ath_start_work *work, struct ath_err *err);
