/*
 * The run folder, and which of its parts can be trusted:
 *
 *     FOLDER/numaN/         the runtime's socket. The folder is bound into the container, or
 * belongs to the runtime's user: nothing in it is trusted. FOLDER/state/numaN/   the process
 * engine's state of a node, its log and its lock. No container gets it, and only the user who
 * started the node may write.
 *
 * Private to container.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define ATH_RUN_STATE "state"

/*
 * Checks that only the caller and root can change the contents of a folder. Otherwise another user
 * could make root end any process. Returns 0, also if the folder does not exist, or -EPERM
 * "foreign" with err. Does not check the folders above.
 */
int ath_run_folder_check(const char *path, struct ath_err *err);

/* Return "FOLDER/numa0", "FOLDER/state", "FOLDER/state/numa0"; the caller frees them. */
char *ath_run_folder_node(const char *folder, int id);
char *ath_run_folder_states(const char *folder);
char *ath_run_folder_state(const char *folder, int id);

/* Makes one folder that other users may enter, independent of the umask: their programs must reach
 * the sockets. Returns 0, also if the folder exists, or a negative errno. */
int ath_run_folder_make(const char *path);

/* Makes FOLDER/state/numaN. Returns 0, or a negative errno with err. */
int ath_run_folder_make_state(const char *folder, int id, struct ath_err *err);

/*
 * The memory_percent of a node whose limit was changed while it ran: labels and the state file have
 * the one of its start. Returns NULL if the limit was not changed; the caller frees it. Setting
 * NULL forgets it; setting never fails, because the next start then changes the limit again.
 */
char *ath_run_folder_memory(const char *folder, int id);
void ath_run_folder_set_memory(const char *folder, int id, const char *percent);

/* Lists the ids of all nodes that have a folder of either kind, ascending. *out_is_ours is true if
 * the run folder contains only files of aitherion. The caller frees *out. */
void ath_run_folder_ids(const char *folder, int **out, size_t *out_count, bool *out_is_ours);

/* Removes our files, and the folders that become empty: both folders of a node, or with ATH_UNKNOWN
 * the run folder itself. A missing folder is no failure. Returns 0, or a negative errno with
 * err. */
int ath_run_folder_remove(const char *folder, int id, struct ath_err *err);

/* Files of both engines in the run folder itself. */
#define ATH_RUN_LOCK "engine"
#define ATH_RUN_LOCK_FILE ".engine.lock" /* the file that ath_file_lock() makes */
#define ATH_RUN_MARK ".starting"
