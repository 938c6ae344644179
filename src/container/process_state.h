/*
 * What a supervisor writes down about its node: FOLDER/state.json, whole or not at all; FOLDER is
 * the one of run_folder.h that no container gets. A pid alone proves nothing, since another process
 * may get it: with the time of its start and the boot it names one process ever. Private to
 * container.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "config/schema.h"

struct ath_process_state {
    int id;
    char *name; /* "aitherion-numa0" */
    char *boot_id;
    int supervisor, session; /* its pid, and its session's id */
    uint64_t supervisor_ticks;
    int runtime; /* the pid; ATH_UNKNOWN while it does not run */
    uint64_t runtime_ticks;
    int64_t started_s; /* of the runtime, since 1970 */
    int restarts;
    int exit_code;   /* of the last end; 128 and the signal; ATH_UNKNOWN */
    bool is_waiting; /* until it is started again */
    char *plan, *document, *socket;
    char *macvlans; /* names with commas; NULL */
    char *netns;    /* path of the runtime's network namespace; NULL: the host's */
    struct ath_texts cgroups;
    char *limits; /* NULL */
};

/* Returns 0, or a negative errno with err; -ENOENT: there is none; -EPERM "foreign": somebody else
 * could have written it. *out is released with the function below. */
int ath_process_state_read(const char *folder, struct ath_process_state *out, struct ath_err *err);
int ath_process_state_write(const char *folder, const struct ath_process_state *state,
                            struct ath_err *err);
void ath_process_state_remove(const char *folder);
void ath_process_state_free(struct ath_process_state *state);

/* Whether its supervisor, its runtime, are alive. */
bool ath_process_state_is_supervised(const struct ath_process_state *state);
bool ath_process_state_has_runtime(const struct ath_process_state *state);

/* Ends all processes of the supervisor's session and waits for their end (some seconds): what a
 * killed supervisor may have left. Others, which got the session's number since, lack the runtime's
 * environment and are left alone. */
void ath_process_state_kill(const struct ath_process_state *state);
