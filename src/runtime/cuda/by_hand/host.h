/*
 * The program's host memory that CUDA knows: pinned (allocated or registered) and managed.
 *
 * Where the transport has memory that both sides see, pinned memory lies there, and nothing is ever
 * copied but by the GPU; so does a file in memory that the program registers. Elsewhere it is the
 * client's alone until the GPU may reach it by itself (a kernel's parameter,
 * cuMemHostGetDevicePointer(), CU_MEMHOSTALLOC_DEVICEMAP); from then on, as for managed memory
 * always, the server has a mirror of it at the same address: what the program changed is pushed
 * before a call that may read it, what the GPU changed comes ahead of the answer to a call that
 * synchronizes. A mirror is compared with how it was when both sides were last the same, byte by
 * byte, so that neither side writes over the other's bytes; where the kernel says which pages the
 * program wrote (runtime/cuda/written.h), only those. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/cuda-methods.h"
#include "runtime/cuda/cuda_api.h"
#include "runtime/wire/frame.h"

enum ath_cuda_host_kind {
    ATH_CUDA_HOST_ALLOCATED,
    ATH_CUDA_HOST_REGISTERED,
    ATH_CUDA_HOST_MANAGED,
};

struct ath_cuda_host {
    enum ath_cuda_host_kind kind;
    uintptr_t address;
    size_t bytes;
    unsigned int flags; /* as the program gave them */
    uint64_t shared;    /* the transport's number; 0: none */
    bool is_mapped;     /* the server has it at the same address */
    CUdeviceptr device; /* where the GPU sees it, once it is mapped */
    CUcontext context;  /* current when it was made */
    CUlibrary library;  /* whose variable it is; NULL: none */
    uint64_t id;        /* of no other */
};

/* The memory that an address lies in. false: none. */
bool ath_cuda_host_find(const void *address, struct ath_cuda_host *out);

/* Whether any of these bytes is in such memory. */
bool ath_cuda_host_has_of(const void *address, size_t bytes);

/* Before the program's own bytes are taken for a copy in a stream: where some of them are a
 * mirror's, what the GPU wrote there is waited for. */
CUresult ath_cuda_host_bring(const void *address, size_t bytes, CUstream stream);

/* Takes facts over into the list; is_mirrored: the server has such memory, of the same bytes. */
CUresult ath_cuda_host_add(const struct ath_cuda_host *facts, bool is_mirrored);

/* Pinned memory that both sides see, in the list; CUDA_ERROR_NOT_SUPPORTED: this transport has
 * none. It stays as long as the link. */
CUresult ath_cuda_host_alloc_shared(size_t bytes, void **out);

/* Takes one out of the list by its first byte. false: there is none. */
bool ath_cuda_host_take(uintptr_t address, bool is_managed, struct ath_cuda_host *out);

/* The first byte of what holds a library's managed variables; 0: it has none (more). */
uintptr_t ath_cuda_host_of_library(CUlibrary library);

/* A mirror that was made in a context, of no library. false: there is none (more). */
bool ath_cuda_host_of_context(CUcontext context, struct ath_cuda_host *out);

/* Managed memory, by its first byte, that is about to be freed: nothing of it is pushed any more,
 * until it is told otherwise. false: it is none. */
bool ath_cuda_host_set_aside(uintptr_t address, bool is_aside);

/* The same for a library's managed variables. */
void ath_cuda_host_set_library_aside(CUlibrary library);

/* Bytes rounded up to whole pages. */
size_t ath_cuda_host_pages(size_t bytes);

/* Whether there is memory that is pushed and pulled. */
bool ath_cuda_host_has_mirrors(void);

/* Whether the server can use all these bytes under their own address. */
bool ath_cuda_host_reaches(const void *address, size_t bytes);

/* Whether a stream may wait for what the program has yet to do: a function of its own that the
 * driver calls, or a write to memory. */
bool ath_cuda_host_may_hold(void);

/* Whether the server has a mirror of what an address lies in: what a call wrote there is in the
 * program's only after a synchronization. */
bool ath_cuda_host_is_mirror(CUdeviceptr address);

/* Whether all these bytes are pinned memory that is copied here rather than by the GPU: CUDA takes
 * such memory's address for one of the GPU's as well. */
bool ath_cuda_host_is_copied_here(CUdeviceptr address, size_t bytes);

/* Where the server's GPU has an address of the program's: elsewhere for a displaced mirror. */
uint64_t ath_cuda_host_device_address(uint64_t address);

/* Has the server know what an address lies in; CUDA_SUCCESS also where it is in none. */
CUresult ath_cuda_host_map(const void *address);

/* The same for the eyes of kernels. CUDA_ERROR_NOT_SUPPORTED: the program mapped a file there, so
 * that other processes may have it too, and the transport cannot share it: in a mirror a kernel
 * would not see what they write. */
CUresult ath_cuda_host_map_for_kernels(const void *address);

/* The same for each word of a kernel's parameters that is such an address. */
CUresult ath_cuda_host_map_parameters(const void *parameters, size_t bytes);

/* Before a call of a method, and after one that succeeded. */
CUresult ath_cuda_host_push(enum ath_cuda_method method);
CUresult ath_cuda_host_pull(enum ath_cuda_method method);

/* Takes an answer to no call that brings what the GPU changed (struct ath_cuda_link). */
int ath_cuda_host_take_changes(struct ath_frame *answer);

/* The same whatever the method: around functions of the program's that run in a stream's order.
 * is_asked: the server has it when this returns. */
CUresult ath_cuda_host_push_all(bool is_asked);
CUresult ath_cuda_host_pull_all(void);

/* Ends the mirrors that were made in a context, which is about to end. */
void ath_cuda_host_end_in(CUcontext context);

/* Forgets managed memory by its address; the server has freed it. false: it is none. */
bool ath_cuda_host_free_managed(CUdeviceptr address);

/* Forgets everything: the link is gone. */
void ath_cuda_host_clear(void);
