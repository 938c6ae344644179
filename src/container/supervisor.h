/*
 * The process that stays with a node's runtime when aitherion has gone: starts it, bound to its
 * CPUs and memory, starts it again when it crashes (after 0.1 s, doubling up to a minute), and ends
 * with it. Private to container.
 */
#pragma once
#include "container/cgroup.h"
#include "container/plan.h"
#include "container/process_state.h"

struct ath_supervisor_job {
    const struct ath_plan_node *node;
    const char *folder;  /* of its state (run_folder.h); there already */
    const char *program; /* the path of aitherion-runtime */
    const struct ath_cgroup *cgroup;
    struct ath_process_state *state; /* what is known already; the supervisor fills in the rest */
};

/*
 * Starts the supervisor, in a session of its own and without a parent, and waits until it has
 * started the runtime for the first time. Returns 0, or a negative errno with err: "locked" where
 * one is there already.
 */
int ath_supervisor_start(const struct ath_supervisor_job *job, struct ath_err *err);

/* Asks it to end the runtime and itself. */
void ath_supervisor_ask(const struct ath_process_state *state);

/* The same, waits grace_s, and kills what is left. */
void ath_supervisor_stop(const struct ath_process_state *state, int grace_s);

/* FOLDER/runtime.log, beside the state: what the runtime writes. The last lines of it. */
void ath_supervisor_log_tail(const char *folder, struct ath_texts *out);
