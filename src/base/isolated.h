/* Calling into code that may hang or crash (a vendor's library on a broken driver) without doing
 * the same. */
#pragma once

/*
 * Runs function(argument) in a child process and waits for its end, at most timeout_ms. What it
 * prints is lost; what it leaves behind must lie in memory that is shared (mmap with MAP_SHARED).
 *
 * confine  called first in the child, to set limits; NULL for none
 * Returns what the function returned (0 to 255), or -ETIMEDOUT (the child is killed), -EFAULT (it
 * crashed or broke a limit), or another negative errno. For programs of one thread.
 */
int ath_run_isolated(int (*function)(void *), void *argument, void (*confine)(void),
                     int timeout_ms);
