/*
 * The list of host memory that CUDA knows, and the mirrors in it: private to host_memory.c,
 * mirror_push.c, mirror_pull.c, mirror_map.c and pointer_scan.c. mirror.h is for all other files.
 *
 * A thread that pushes holds the mirrors' lock until the bytes have their place in the order of
 * calls, so that no other thread's launch goes before them. The list's lock is taken inside the
 * mirrors' lock if both are held. The list changes only under both.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "cuda/client/mirror.h"

/* Smaller memory is compared faster than the kernel is asked. */
enum { ATH_CUDA_ALWAYS_COMPARED = 64 * 1024 };

struct ath_cuda_mirror_entry {
    struct ath_cuda_mirror_entry *next;
    struct ath_cuda_host_memory facts;
    uint8_t *shadow; /* the bytes when both sides were last equal; NULL: no mirror */
    bool is_pushed;  /* since the last synchronization */
    bool is_unsure;  /* all of it may differ, whatever the kernel reports */
    bool is_aside;   /* the server frees it: nothing is pushed */
    bool is_gone;    /* the program unmapped registered memory: see ath_cuda_mirrors_find_gone() */
    bool is_pointed; /* a mirror has an address of it that kernels may read, and it is not open */

    /* Offsets of the whole pages that the kernel tracks (page_tracking.h); equal: none. */
    size_t tracked_first, tracked_end;
    uint64_t faults; /* page faults before the last walk */
};

/* A range that memory lies in, with the address behind it: a kernel may count down from there. */
struct ath_cuda_range {
    _Atomic(uintptr_t) first, end; /* equal: empty */
};

struct ath_cuda_mirrors {
    pthread_mutex_t list_lock, lock; /* of the list; of the mirrors in it */
    struct ath_cuda_mirror_entry *entries;
    atomic_int entry_count, mirror_count;
    atomic_bool waits_for_memory; /* a stream may wait for memory; never reset */
    atomic_bool has_displaced;    /* the GPU has a mirror at another address */

    /* The ranges of allocated and of registered memory that is not open to kernels. Few words that
     * kernels get lie in one. */
    struct ath_cuda_range closed[2];
};
extern struct ath_cuda_mirrors ath_cuda_mirrors;

static inline bool ath_cuda_mirror_is_tracked(const struct ath_cuda_mirror_entry *entry)
{
    return entry->tracked_end > entry->tracked_first;
}

/* The entry that an address lies in, or NULL. The caller holds one of the two locks. */
struct ath_cuda_mirror_entry *ath_cuda_mirror_entry_of(const void *address);

/* Tracks the whole pages of an entry. Registered memory is not tracked: the program may use
 * userfaultfd there itself. */
void ath_cuda_mirror_track(struct ath_cuda_mirror_entry *entry);

/* Computes the ranges of closed memory again. The caller holds the list's lock. */
void ath_cuda_mirrors_find_closed(void);

/* Marks the closed memory of each address in bytes of a mirror. Parts of words at both ends do not
 * count. The caller holds the mirrors' lock. */
void ath_cuda_mirrors_note_pointers(const uint8_t *bytes, size_t length);

/* Opens marked memory to kernels. Returns whether there was some. The caller holds no lock. */
bool ath_cuda_mirrors_open_marked(CUresult *out_status);

/* Marks registered memory that the program unmapped without unregistering it. Natively such memory
 * stays pinned. The caller holds the mirrors' lock. */
void ath_cuda_mirrors_find_gone(void);

/* Applies the changes that have arrived. The caller holds the mirrors' lock. */
CUresult ath_cuda_mirrors_take_all(void);

/* Forgets changes of memory that never joined the list. The caller holds the mirrors' lock. */
void ath_cuda_mirrors_drop_early(void);
