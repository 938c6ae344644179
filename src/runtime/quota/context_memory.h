/*
 * GPU memory that the driver takes for contexts, counted for each context of the session:
 *
 * - the context itself, as it was measured when it was made;
 * - the kernels' stacks: the driver has the larger one of CU_LIMIT_STACK_SIZE and the local memory
 * of the kernel that needs most, for as many threads as the GPU can have at once. An H200 (driver
 *   580.159) takes 264 MiB with a stack of 1 KiB, 16.5 GiB for a kernel with 64 KiB of local
 * memory, and keeps it;
 * - the kernels' heap and the buffer of printf() beyond what they are at first: the driver takes
 * them when a kernel that needs them is launched;
 * - the session's libraries: any context may use any of them, and the driver loads them late.
 *
 * Any thread; the functions lock the table themselves. One table for the process, which has one
 * session.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda-server.h"

/* A session may have so many contexts at once, green ones included. */
enum { ATH_CONTEXTS_MAX = 256 };

/* Returns whether the session may have one more context. */
bool ath_context_memory_may_add(void);

/* Returns the bytes that a context of a device takes at first, if it cannot be measured. */
int64_t ath_context_memory_expected(CUdevice device);

/* Counts a new context, which is current, and the libraries for it. Returns
 * CUDA_ERROR_OUT_OF_MEMORY if a limit has no room for it; nothing is counted then. */
CUresult ath_context_memory_begin(CUcontext context, CUdevice device, int64_t own_bytes);

/* Counts a context that is there already, even beyond a limit. */
void ath_context_memory_found(CUcontext context, CUdevice device, int64_t own_bytes);

/* Adds a reference to a context (cuCtxAttach()). */
void ath_context_memory_retain(CUcontext context);

/* Takes one away (cuCtxDetach()). Returns whether it was the last one. */
bool ath_context_memory_release(CUcontext context);

/* Ends what is counted for a context. */
void ath_context_memory_end(CUcontext context);

/* Counts a limit of the current context, and returns the old value in *out_old. Returns
 * CUDA_ERROR_OUT_OF_MEMORY if there is no room. A smaller value is counted, too. */
CUresult ath_context_memory_set_limit(CUlimit limit, uint64_t value, uint64_t *out_old);

/* Counts the local memory that each thread of a kernel needs: in the current context, or in all
 * (is_everywhere) that the session has and will have. Returns CUDA_ERROR_OUT_OF_MEMORY if there is
 * no room. */
CUresult ath_context_memory_need_local(uint64_t bytes, bool is_everywhere);

/* Counts bytes of a library, or gives them back (negative), in all contexts that the session has
 * and will have. is_there: the driver has taken the memory already, so that it counts beyond a
 * limit, too. Returns CUDA_ERROR_OUT_OF_MEMORY if there is no room; without is_there nothing is
 * counted then. */
CUresult ath_context_memory_add_library(int64_t bytes, bool is_there);
