/*
 * The filter of system calls (seccomp(2)). The table names the calls that a session must not make;
 * all others work, because the GPU driver is closed and its next version may need other calls than
 * this one.
 */
#pragma once
#include <stdbool.h>

/* Returns whether the kernel filters system calls. */
bool ath_sandbox_filters_calls(void);

/* Refuses the calls of the table to the calling process, which has one thread, for the rest of its
 * life. has_own_user: the process's user is not the server's. Needs no_new_privs. Returns 0 or a
 * negative errno. */
int ath_sandbox_filter_calls(bool has_own_user);
