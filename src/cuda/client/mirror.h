/*
 * The program's host memory that CUDA knows: pinned (allocated or registered) and managed.
 *
 * If the transport has memory that both sides see, pinned memory lies there and only the GPU copies
 * it. A registered file in memory is shared in the same way. Otherwise pinned memory belongs to the
 * client alone until the GPU needs it:
 *
 * - Copies that the GPU must do itself (in a graph, or behind a callback) map the memory: the
 * server has a mirror at the same address. The GPU changes only the bytes that are copied to.
 * - Memory is opened to kernels when one may have an address of it: from a parameter, from bytes
 *   that are copied to the GPU or lie in another mirror (pointer_scan.c), from
 *   cuMemHostGetDevicePointer() or by CU_MEMHOSTALLOC_DEVICEMAP. A kernel may keep an address
 *   anywhere, so the memory stays open, and from then on all of it may change.
 *
 * Managed memory always has a mirror and is always open.
 *
 * The client pushes the program's changes before a call that may read them. The GPU's changes come
 * ahead of the answer to a call that synchronizes. Changes are found by a shadow copy of the bytes
 * when both sides were last equal, byte by byte, so that no side overwrites the other's bytes. If
 * the kernel tracks the written pages (cuda/client/page_tracking.h), only those are compared. Any
 * thread.
 */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"
#include "proto/cuda-methods.h"
#include "remote/wire/frame.h"

enum ath_cuda_host_memory_kind {
    ATH_CUDA_HOST_ALLOCATED,
    ATH_CUDA_HOST_REGISTERED,
    ATH_CUDA_HOST_MANAGED,
};

struct ath_cuda_host_memory {
    enum ath_cuda_host_memory_kind kind;
    uintptr_t address;
    size_t bytes;
    unsigned int flags; /* as the program gave them */
    uint64_t shared;    /* the transport's number; 0: not shared */
    bool is_mapped;     /* the server has it at the same address */
    bool is_open;       /* kernels may have an address of it; the server has it */
    CUdeviceptr device; /* the GPU's address, once it is mapped */
    CUcontext context;  /* current when the memory was made */
    CUlibrary library;  /* the library of a managed variable; NULL: none */
    uint64_t id;        /* unique */
};

/* Finds the memory that an address lies in. Returns false if there is none. */
bool ath_cuda_host_find(const void *address, struct ath_cuda_host_memory *out);

/* Finds any memory that some of these bytes lie in. Returns false if there is none. */
bool ath_cuda_host_find_of(const void *address, size_t bytes, struct ath_cuda_host_memory *out);

/* Called before the program's bytes are read for a copy in a stream. Waits for the stream if some
 * of the bytes are a mirror's, since the GPU may have written them. */
CUresult ath_cuda_host_bring(const void *address, size_t bytes, CUstream stream);

/* Adds memory to the list. is_mirrored: the server has a mirror with equal bytes. */
CUresult ath_cuda_host_add(const struct ath_cuda_host_memory *facts, bool is_mirrored);

/* Allocates pinned memory that both sides see and adds it to the list. It stays as long as the
 * link. Returns CUDA_ERROR_NOT_SUPPORTED if the transport cannot share memory. */
CUresult ath_cuda_host_alloc_shared(size_t bytes, void **out);

/* Removes memory from the list by its first byte. Returns false if there is none. */
bool ath_cuda_host_take(uintptr_t address, bool is_managed, struct ath_cuda_host_memory *out);

/* The address of one of a library's managed variables; 0: the list has no more. */
uintptr_t ath_cuda_host_of_library(CUlibrary library);

/* Finds a mirror that was made in a context and belongs to no library. Returns false if the list
 * has no more. */
bool ath_cuda_host_of_context(CUcontext context, struct ath_cuda_host_memory *out);

/* Stops or resumes pushing managed memory, named by its first byte, that is about to be freed.
 * Returns false if it is not managed memory. */
bool ath_cuda_host_set_aside(uintptr_t address, bool is_aside);

/* Stops pushing a library's managed variables. */
void ath_cuda_host_set_library_aside(CUlibrary library);

/* Bytes rounded up to whole pages. */
size_t ath_cuda_host_pages(size_t bytes);

/* Returns whether any memory has a mirror. */
bool ath_cuda_has_mirrors(void);

/* Returns whether the server can use all these bytes at their own address. */
bool ath_cuda_host_reaches(const void *address, size_t bytes);

/* Returns whether a stream may wait for the program: for a callback, or for a write to memory. */
bool ath_cuda_host_may_hold(void);

/* Returns whether an address lies in a mirror: the program sees a call's writes only after a
 * synchronization. */
bool ath_cuda_host_is_mirror(CUdeviceptr address);

/* Returns whether all these bytes are pinned memory that the client copies, not the GPU. CUDA also
 * accepts the address of this memory as a device address. */
bool ath_cuda_host_is_copied_here(CUdeviceptr address, size_t bytes);

/* The GPU's address for an address of the program's. They differ only for a displaced mirror. */
uint64_t ath_cuda_host_device_address(uint64_t address);

/* Makes the server map the memory that an address lies in, for copies. Returns CUDA_SUCCESS if the
 * address lies in none. */
CUresult ath_cuda_host_map(const void *address);

/* Opens the memory that an address lies in to kernels. Returns CUDA_SUCCESS if the address lies in
 * none. */
CUresult ath_cuda_host_open(const void *address);

/* The same if the program asks for it. Returns CUDA_ERROR_NOT_SUPPORTED if the program mapped a
 * file there that the transport cannot share: other processes may write the file, and a kernel
 * would not see that in a mirror. */
CUresult ath_cuda_host_open_as_asked(const void *address);

/* Opens the memory of each address in bytes that kernels can read. at: the address of the first
 * byte for kernels, of which only the alignment counts: addresses lie at multiples of eight. */
CUresult ath_cuda_host_open_pointers(const void *bytes, size_t length, uint64_t at);

/* The same search, which helper threads may begin while the caller does something else. */
enum { ATH_CUDA_WORD_RANGES = 2 };
struct ath_cuda_pointer_search {
    const void *all; /* as above */
    size_t length;
    uint64_t at;
    bool is_begun; /* helpers search: */
    const uint8_t *bytes;
    struct ath_cuda_word_range {
        uint64_t first, span;
    } ranges[ATH_CUDA_WORD_RANGES]; /* for these addresses, as they were when the search began */
    atomic_bool may_find;
};

/* Begins a search if helpers are free. The search must stay where it is, and must be ended. */
void ath_cuda_pointer_search_begin(struct ath_cuda_pointer_search *search);

/* Searches, if helpers have not, and opens memory. A search ends once. */
CUresult ath_cuda_pointer_search_end(struct ath_cuda_pointer_search *search);

/* Push before a call of a method, and pull after one that succeeded. */
CUresult ath_cuda_mirror_push(enum ath_cuda_method method);
CUresult ath_cuda_mirror_pull(enum ath_cuda_method method);

/* Takes an unsolicited answer with the GPU's changes (struct ath_cuda_link). */
int ath_cuda_mirror_take_changes(struct ath_frame *answer);

/* Push and pull for any method: around callbacks in a stream's order. is_asked: the server has the
 * bytes when this returns. */
CUresult ath_cuda_mirror_push_all(bool is_asked);
CUresult ath_cuda_mirror_pull_all(void);

/* Ends the mirrors that were made in a context, before the context ends. */
void ath_cuda_host_end_in(CUcontext context);

/* Removes managed memory that the server has freed. Returns false if the address is not managed
 * memory. */
bool ath_cuda_host_free_managed(CUdeviceptr address);

/* Removes everything after the link has ended. */
void ath_cuda_host_clear(void);
