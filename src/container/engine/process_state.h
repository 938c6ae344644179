/*
 * The state of a node that its supervisor writes to FOLDER/state.json, always as a whole. FOLDER is
 * that of run_folder.h which no container gets. A pid alone proves nothing, because the kernel uses
 * pids again: with the start time and the boot id it identifies one process. Private to container.
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
    int supervisor, session; /* the supervisor's pid and session id */
    uint64_t supervisor_ticks;
    int runtime; /* its pid; ATH_UNKNOWN while it does not run */
    uint64_t runtime_ticks;
    int64_t started_s; /* of the runtime, since 1970 */
    int restarts;
    int exit_code;   /* of the last end; 128 + signal; ATH_UNKNOWN */
    bool is_waiting; /* the supervisor waits before it starts the runtime again */
    char *plan, *document, *socket;
    char *memory_percent; /* at its start */
    bool has_sim_flag;    /* --sim started the node, not the document */
    char *macvlans;       /* names with commas; NULL */
    char *netns;          /* path of the runtime's network namespace; NULL: the host's */
    struct ath_texts cgroups;
    char *limits; /* NULL */
};

/* Returns 0, or a negative errno with err: -ENOENT: no state; -EPERM "foreign": another user could
 * have written it. *out is released with ath_process_state_free(). */
int ath_process_state_read(const char *folder, struct ath_process_state *out, struct ath_err *err);
int ath_process_state_write(const char *folder, const struct ath_process_state *state,
                            struct ath_err *err);
/* Writes the state again if the file has another node's or none, or is not trusted. Writes nothing
 * into a folder that is not trusted. */
void ath_process_state_keep(const char *folder, const struct ath_process_state *state);
void ath_process_state_remove(const char *folder);
bool ath_process_state_exists(const char *folder);
void ath_process_state_free(struct ath_process_state *state);

/* Return true while the supervisor, or the runtime, is alive. */
bool ath_process_state_is_supervised(const struct ath_process_state *state);
bool ath_process_state_has_runtime(const struct ath_process_state *state);

/* Kills all processes that a killed supervisor left in its session, and waits up to five seconds
 * for their end. Other processes, in a later session with the same number, lack the runtime's
 * environment and are left alone. */
void ath_process_state_kill(const struct ath_process_state *state);
