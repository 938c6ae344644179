/*
 * Pages of the program's memory that were written, as the kernel tracks them (Linux 6.7 or newer,
 * if userfaultfd(2) is allowed). The kernel marks the pages, removes a page's mark at its first
 * write, also by a system call, and returns the list. This needs no signal and no second thread, so
 * the program's signal handlers make no difference.
 *
 * Not tracked are writes by devices to pages that they hold (RDMA, registered buffers of io_uring).
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tracks whole pages of private anonymous memory until they are unmapped. Their present bytes count
 * as unwritten. Returns -ENOTSUP if the kernel does not support or allow it, or not for this
 * memory. Any thread. */
int ath_page_tracking_watch(uintptr_t first, size_t bytes);

/* A walk over the pages in [at, end) that were written since the last walk. A page is marked
 * unwritten before the caller looks at its bytes, so that no write is missed. */
struct ath_page_walk {
    uintptr_t at, end; /* set by the caller; at moves forward */
    struct {
        uint64_t first, end, kind;
    } runs[32];
    size_t count, next;
};

/* Finds the next written pages. Returns 0; -ENODATA at the end; or another negative errno if the
 * pages are no longer tracked and any of them may have been written. One thread for each walk. */
int ath_page_tracking_next(struct ath_page_walk *walk, uintptr_t *out_first, uintptr_t *out_end);

/* The number of page faults of this process, which include the first write to an unwritten page. As
 * long as it stays the same, no thread of the process wrote to such a page. Any thread. */
uint64_t ath_page_tracking_faults(void);
