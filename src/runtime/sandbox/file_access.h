/*
 * Rules of Landlock (docs.kernel.org/userspace-api/landlock.html): which files the session's
 * process may open, whatever its user may. They matter most on a server whose sessions run as the
 * server's own user, who owns more than the GPUs. Landlock also keeps the process from looking into
 * processes that are not its own, and from signalling them (Linux 6.12).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The version of Landlock that the kernel has; 0: none. */
int ath_sandbox_landlock_version(void);

/* Opens the folder of aitherion's own libraries, which holds the simulated driver. Returns -1 if
 * there is none. The caller closes it. */
int ath_sandbox_open_libraries(void);

/*
 * Takes all other access from the calling process and its later threads, for the rest of its life.
 * Needs no_new_privs. Descriptors that are open stay usable.
 *
 *     version    from ath_sandbox_landlock_version(), above 0
 *     reads_all  the process may read every file that its user may read; otherwise libraries,
 *                settings and the kernel's information only
 *     libraries  a descriptor of ath_sandbox_open_libraries(), or -1
 *     folder     that the process may change; NULL: none
 *
 * Returns 0 or a negative errno.
 */
int ath_sandbox_limit_files(int version, bool reads_all, int libraries, const char *folder);
