/* Calls code that may hang or crash (a vendor's library on a broken driver) in a child process. */
#pragma once

/*
 * Runs function(argument) in a child process and waits for its end, at most timeout_ms. The child's
 * output is discarded. Results other than the return value must go to shared memory (mmap with
 * MAP_SHARED).
 *
 * confine  called first in the child, to set limits; may be NULL
 * Returns the function's return value (0 to 255), -ETIMEDOUT (the child was killed), -EFAULT (the
 * child crashed or broke a limit), or another negative errno. Only for programs with one thread: it
 * forks without exec.
 */
int ath_run_isolated(int (*function)(void *), void *argument, void (*confine)(void),
                     int timeout_ms);
