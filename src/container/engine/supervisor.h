/*
 * The supervisor: a process that stays with a node's runtime after aitherion has ended. It starts
 * the runtime on its CPUs and memory nodes, starts it again after a crash (after 0.1 s, doubling up
 * to a minute), and ends with it. Private to container.
 */
#pragma once
#include "container/engine/cgroup.h"
#include "container/engine/process_state.h"
#include "container/plan/plan.h"

struct ath_supervisor_job {
    const struct ath_plan_node *node;
    const char *folder;  /* of its state (run_folder.h); must exist */
    const char *program; /* the path of aitherion-runtime */
    const struct ath_cgroup *cgroup;
    struct ath_process_state *state; /* filled in partly; the supervisor adds the rest */
};

/*
 * Starts the supervisor in its own session and without a parent, and waits until it has started the
 * runtime for the first time. Returns 0, or a negative errno with err: "locked" if the node already
 * has a supervisor.
 */
int ath_supervisor_start(const struct ath_supervisor_job *job, struct ath_err *err);

/* Returns whether a node has a supervisor, by its lock: also if its state cannot be trusted. */
bool ath_supervisor_is_alive(const char *folder);

/* Asks the supervisor to end the runtime and itself. Returns 0, or -EPERM with err if it belongs to
 * another user. */
int ath_supervisor_ask(const struct ath_process_state *state, struct ath_err *err);

/* Asks the supervisor to end, waits up to grace_s, and kills the rest. Errors as above. */
int ath_supervisor_stop(const struct ath_process_state *state, int grace_s, struct ath_err *err);

enum { ATH_SUPERVISOR_LOOK_S = 10 /* how often a supervisor looks at its state and its log */ };

/* Files of the runtime's output in that folder; the second has the end of what the supervisor cut
 * off. */
#define ATH_SUPERVISOR_LOG "runtime.log"
#define ATH_SUPERVISOR_OLD_LOG ATH_SUPERVISOR_LOG ".old"

/* Adds the last lines of FOLDER/runtime.log, the runtime's output. */
void ath_supervisor_log_tail(const char *folder, struct ath_texts *out);
