/*
 * The run folder, and what in it may be believed:
 *
 *     FOLDER/numaN/         the runtime's socket. It is bound into the container, or belongs to
 * whom the runtime runs as: nothing that lies there is believed. FOLDER/state/numaN/   what the
 * process engine writes down of a node, its log and its lock. No container gets it, and only who
 * started the node may write there.
 *
 * Private to container.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define ATH_RUN_STATE "state"

/*
 * Whether only we, or root, can change what lies in a folder: else whoever can has root end his
 * enemies' processes. Returns 0, also where there is no such folder, or -EPERM "foreign" with err.
 * What is above it is not looked at.
 */
int ath_run_folder_check(const char *path, struct ath_err *err);

/* "FOLDER/numa0", "FOLDER/state", "FOLDER/state/numa0"; the caller frees them. */
char *ath_run_folder_node(const char *folder, int id);
char *ath_run_folder_states(const char *folder);
char *ath_run_folder_state(const char *folder, int id);

/* Makes one folder that others may enter, whatever the umask is: their programs come to the
 * sockets. Returns 0, also where it is there, or a negative errno. */
int ath_run_folder_make(const char *path);

/* Makes FOLDER/state/numaN. Returns 0, or a negative errno with err. */
int ath_run_folder_make_state(const char *folder, int id, struct ath_err *err);

/* The ids of nodes of which there is a folder of either kind, ascending; true in *out_is_ours while
 * nothing else lies there but what aitherion puts there. The caller frees *out. */
void ath_run_folder_ids(const char *folder, int **out, size_t *out_count, bool *out_is_ours);

/* Removes what we put there, and the folders where nothing else is left: both of a node, or with
 * ATH_UNKNOWN the run folder itself. Gone already is no failure. Returns 0, or a negative errno
 * with err. */
int ath_run_folder_remove(const char *folder, int id, struct ath_err *err);

/* The files that both engines keep in the run folder itself. */
#define ATH_RUN_LOCK "engine"
#define ATH_RUN_LOCK_FILE ".engine.lock" /* what ath_file_lock() makes of it */
#define ATH_RUN_MARK ".starting"
