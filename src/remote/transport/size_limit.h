/*
 * A program's limit of file sizes (RLIMIT_FSIZE) also holds for files in memory: making a larger
 * one gives EFBIG and SIGXFSZ (setrlimit(2); inode_newsize_ok() in the kernel), which kills the
 * program. Files in memory that this library makes are not the program's own, so the limit must
 * cause an error only.
 */
#pragma once
#include <signal.h>

/* Keep SIGXFSZ from the calling thread until release. old is the thread's mask before. */
void ath_size_limit_hold(sigset_t *old);
void ath_size_limit_release(const sigset_t *old);
