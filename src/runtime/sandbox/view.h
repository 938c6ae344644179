/*
 * The file systems and the System V IPC that a session sees: namespaces that are made once,
 * when the server starts, and that each session enters.
 *
 * In the view every file system is read-only. /tmp and /dev/shm are empty file systems in memory,
 * which all sessions of the server share and the host does not see. For a server of root, /proc
 * shows a process its own user's processes only. For a server of another user, /run is empty,
 * because a socket in it could run programs for that user.
 */
#pragma once
#include <stdbool.h>

struct ath_sandbox_view {
    bool is_made;
    int user, mounts, ipc; /* namespaces; user is -1 for a server of root */
};

/*
 * Makes the view. is_root: the server may make namespaces without a user namespace. Returns 0 or a
 * negative errno: -EPERM or -ENOSPC if the host does not let this user make namespaces, -ENOSYS if
 * the kernel is older than Linux 5.12.
 */
int ath_sandbox_view_make(bool is_root, struct ath_sandbox_view *out);
void ath_sandbox_view_free(struct ath_sandbox_view *view);

/* Moves the calling process, which has one thread, into the view. Returns 0 or a negative errno. */
int ath_sandbox_view_enter(const struct ath_sandbox_view *view);
