/*
 * The parts of the engine without Docker: what runs (process_survey.c), start (process_start.c),
 * stop and clean (process_clean.c), and the table of them (process_engine.c).
 */
#pragma once
#include "container/engine/kinds.h"
#include "container/engine/process_state.h"

/*
 * Reads the state of a node. Returns 0, -ENOENT without a state that can be used, or another
 * negative errno with err: a supervisor runs, and its state is lost or not trusted. The supervisor
 * writes its state as soon as it begins, and repairs it (supervisor.c).
 */
int ath_process_read_state(const char *folder, struct ath_process_state *out, struct ath_err *err);

/* Calls function for each node with a state file. Returns 0, or the first negative errno with err
 * of a node that runs and whose state cannot be read. */
int ath_process_for_each(const struct ath_engine *engine,
                         void (*function)(void *context, const char *folder,
                                          const struct ath_process_state *state),
                         void *context, struct ath_err *err);

/* Returns the memory_percent from which the limit was made, or NULL. The caller frees it. */
char *ath_process_percent(const struct ath_engine *engine, const struct ath_process_state *state);

/* Makes group names of two run folders differ: both share the machine's control groups. The caller
 * frees it. */
char *ath_process_cgroup_suffix(const struct ath_engine *engine);
void ath_process_remove_cgroups(const struct ath_texts *folders);

/* For the table (engine.h). The process engine has no image; the program must exist. */
int ath_process_check_program(struct ath_engine *engine, const char *image, struct ath_err *err);
int ath_process_survey(struct ath_engine *engine, struct ath_node_statuses *out,
                       struct ath_err *err);
int ath_process_start(struct ath_engine *engine, const struct ath_plan *plan,
                      const struct ath_start_options *options, struct ath_start_results *results,
                      struct ath_err *err);
int ath_process_stop(struct ath_engine *engine, const int *ids, size_t id_count, int grace_s,
                     struct ath_stop_results *out, struct ath_err *err);
int ath_process_clean_plan(struct ath_engine *engine, const struct ath_clean_options *options,
                           struct ath_clean_steps *out, struct ath_err *err);
int ath_process_clean_step(struct ath_engine *engine, const struct ath_clean_step *step,
                           struct ath_err *err);
