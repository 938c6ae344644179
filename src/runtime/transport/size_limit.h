/*
 * A program's limit of file sizes (RLIMIT_FSIZE) holds for files of memory, too: who makes a larger
 * one gets EFBIG and SIGXFSZ (setrlimit(2); inode_newsize_ok() in the kernel), and dies of that.
 * What this library makes within a program is no file of the program's, so here it is an error
 * alone.
 */
#pragma once
#include <signal.h>

/* The calling thread gets no SIGXFSZ until release; old is its mask before. */
void ath_size_limit_hold(sigset_t *old);
void ath_size_limit_release(const sigset_t *old);
