/*
 * One region of host memory (regions.h), for the files that serve calls about host memory.
 * "The lock" is session->lock. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/server/server.h"

enum { ATH_REGION_MAX_BITS = 46 }; /* of an address space of 47 */

struct ath_cuda_region {
    struct ath_cuda_region *next;
    uint64_t address, bytes;
    uint8_t *same;      /* the mirror as it was when both sides were the same; NULL: no mirror */
    size_t first, end;  /* offsets of the bytes that the GPU may have changed; equal: none */
    CUlibrary library;  /* the library whose managed variables it holds; NULL: none */
    CUcontext context;  /* of managed memory, which ends with its context; NULL: none */
    uint8_t *here;      /* in this process: at address, except for displaced mirrors */
    CUdeviceptr device; /* its address for the GPU; 0: not registered with the driver */
    bool is_displaced;
    bool has_pages; /* mapped here for it, and for regions that begin or end in one of its pages */
    bool is_registered; /* with the driver */
    bool is_counted; /* in the session's budget (base/host_budget.h); managed memory is not: it may
                      * be larger than the host's */
};

/* Returns a region that is not in the list yet, or NULL if memory runs out. is_mirror: with a copy
 * that changes are found by. */
struct ath_cuda_region *ath_cuda_region_make(uint64_t address, uint64_t bytes, bool is_mirror);

/* Puts a region into the list, which owns it from now on. Takes the lock. */
void ath_cuda_region_add(struct ath_cuda_session *session, struct ath_cuda_region *region);

/* Takes the region that begins at an address out of the list. The caller owns it then. Returns NULL
 * if there is none. Takes the lock. */
struct ath_cuda_region *ath_cuda_region_take(struct ath_cuda_session *session, uint64_t address);

/* Frees a region that is not in the list, with the pages that no other region uses. The caller has
 * the lock if other threads run. NULL is allowed. */
void ath_cuda_region_free(const struct ath_cuda_session *session, struct ath_cuda_region *region);

/* The same, and takes the lock. */
void ath_cuda_region_let_go(struct ath_cuda_session *session, struct ath_cuda_region *region);

/* Returns the region that holds all these bytes, or NULL. The caller has the lock. */
struct ath_cuda_region *ath_cuda_region_of(struct ath_cuda_session *session, uint64_t address,
                                           uint64_t bytes);

/* Notes that the GPU may change the bytes from offset first to offset end of a mirror. The caller
 * has the lock if the region is in the list. */
void ath_cuda_region_widen(struct ath_cuda_region *region, size_t first, size_t end);

/* Maps pages for a mirror at the client's address. The caller has the lock, and the region is not
 * in the list. */
CUresult ath_cuda_region_map(const struct ath_cuda_session *session,
                             struct ath_cuda_region *region);

/* Has a region use a file of the program's that the transport has mapped here. The region is no
 * mirror: the pages are the same. */
CUresult ath_cuda_region_find(struct ath_cuda_session *session, uint64_t shared,
                              struct ath_cuda_region *region);
