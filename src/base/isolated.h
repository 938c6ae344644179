/* Calling into code that may hang or crash (a vendor's library on a broken driver) without doing
 * the same. */
#pragma once

/*
 * Runs function(argument) in a child process and waits for its end, at most timeout_ms. What the
 * function leaves behind must lie in memory that is shared (mmap with MAP_SHARED). Returns 0, or
 * -ETIMEDOUT (the child is killed), -EFAULT (it crashed), or another negative errno. For programs
 * of one thread.
 */
int ath_run_isolated(void (*function)(void *), void *argument, int timeout_ms);
