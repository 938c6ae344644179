/*
 * Locks a session's process in, so that a client that takes the process over gains only the GPU
 * memory of its own identity (docs/runtime.md, "A session is locked in").
 *
 * The listening process calls ath_sandbox_prepare() once. Each process that it forks calls
 * ath_sandbox_enter() after the client has proven its key, and before it uses anything else that
 * the client has sent, loads the driver or makes a thread. A step that the host cannot do is
 * skipped: the listening process reports it as a problem when it starts. A step that works on this
 * host and fails in a session ends that session.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "runtime/devices.h"
#include "runtime/sandbox/file_access.h"
#include "runtime/sandbox/users.h"
#include "runtime/sandbox/view.h"

enum { ATH_SANDBOX_GROUPS_MAX = 8 };

/* The steps that the host can do. Belongs to the listening process; processes that it forks read
 * it. */
struct ath_sandbox {
    bool changes_user;                    /* identities have users of their own */
    struct ath_sandbox_view view;         /* has no descriptors if the host cannot make one */
    bool has_filter;                      /* the kernel filters system calls */
    int landlock_version;                 /* 0: none */
    gid_t groups[ATH_SANDBOX_GROUPS_MAX]; /* that the GPUs' device files want */
    size_t group_count;
    pid_t listener; /* the process that prepared this; a session ends with it */
};

/* How one session is locked in. */
struct ath_sandbox_plan {
    const struct ath_sandbox *sandbox;
    uid_t user;           /* of the identity, from ath_sandbox_users_find() */
    const char *identity; /* its name; empty: the server has no keys */
    const int *kept;      /* descriptors that stay open beside 0, 1 and 2; -1 is ignored */
    size_t kept_count;
};

/* Finds out what the host can do, and adds a problem for each part that it cannot do. user_count is
 * the number of users for identities. The devices have been found before, which makes the driver's
 * device files. */
void ath_sandbox_prepare(struct ath_sandbox *out, size_t user_count, struct ath_devices *problems);

/* Finds the groups of the GPUs' device files in a folder ("/dev"), at most ATH_SANDBOX_GROUPS_MAX.
 * Adds a problem for each file that sessions could not open. */
void ath_sandbox_find_groups(struct ath_sandbox *out, const char *folder,
                             struct ath_devices *problems);

/* Closes the descriptors of a prepared sandbox. */
void ath_sandbox_free(struct ath_sandbox *sandbox);

/* Closes all descriptors except 0, 1 and 2. Returns 0 or a negative errno. */
int ath_sandbox_close_inherited(void);

/*
 * Locks the calling process in for the rest of its life. The process has one thread. Sets the
 * environment variables that tell the driver and libraries which folders they may write. Returns 0,
 * or a negative errno with err; the process must end then.
 */
int ath_sandbox_enter(const struct ath_sandbox_plan *plan, struct ath_err *err);
