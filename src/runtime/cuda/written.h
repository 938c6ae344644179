/*
 * Which pages of its memory the program wrote, as the kernel knows it (Linux from 6.7 on, where
 * userfaultfd(2) is allowed): the kernel marks the pages, takes the mark away at the first write to
 * each, whoever writes (system calls, too), and hands the list out. No signal and no second thread
 * are in it, and what the program does with signals makes no difference.
 *
 * Not seen are writes of devices to pages that they hold (RDMA, registered buffers of io_uring).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Watches whole pages of private memory without a file until they are unmapped. What they hold now
 * does not count as written. -ENOTSUP: the kernel does not, or must not, or not there. Any thread.
 */
int ath_written_watch(uintptr_t first, size_t bytes);

/* Walks over what was written in [at, end) since the last walk over it; from then on it is
 * unwritten again. A page counts as unwritten before its bytes can be looked at, so that none
 * escapes. */
struct ath_written {
    uintptr_t at, end; /* the caller's; at: how far it came */
    struct {
        uint64_t first, end, kind;
    } runs[32];
    size_t count, next;
};

/* The next pages. 0: there are; -ENODATA: no more; another negative errno: they are not watched any
 * more, and each may have been written. One thread a walk. */
int ath_written_next(struct ath_written *walk, uintptr_t *out_first, uintptr_t *out_end);

/* How many pages this process has waited for: the first write to an unwritten page is one of them.
 * Where it stays the same no thread of the process wrote to any. Any thread. */
uint64_t ath_written_faults(void);
