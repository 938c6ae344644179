/*
 * Promised handles: the client's own names for code that it loads.
 *
 * A driver's handle is an address in the server's process, another one in each run. A promised
 * handle follows from the code alone: its bits are a hash of a library's or module's image, and of
 * a kernel's name, and the number of this copy of the code. So a program that starts again has the
 * same handles, questions about them are the same messages, and the client may use a handle before
 * the server has answered (client/code_facts.h). The server translates them
 * (server/object_table.h).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Bits 52 to 55 mark a promised handle: no address of a process has them. Bits 56 and up number
 * servers (client/instance.h). Bits 48 to 51 number the copies of equal code, and its kernels with
 * it: cuBLAS loads the same module for each of its handles. Bit 4 tells a kernel's function from
 * the kernel. */
#define ATH_CUDA_PROMISE_MARK (UINT64_C(0xa0) << 48)
#define ATH_CUDA_PROMISE_COPY (UINT64_C(0x0f) << 48)
#define ATH_CUDA_PROMISE_HASH ((UINT64_C(1) << 48) - 32)
#define ATH_CUDA_PROMISE_FUNCTION UINT64_C(16)

enum { ATH_CUDA_PROMISE_COPIES = 16 };

static inline bool ath_cuda_is_promise(uint64_t handle)
{
    return (handle & ~(ATH_CUDA_PROMISE_HASH | ATH_CUDA_PROMISE_COPY |
                       ATH_CUDA_PROMISE_FUNCTION)) == ATH_CUDA_PROMISE_MARK;
}

/* The promised handle of a hash, in the same copy as other code; 0: in the first. */
static inline uint64_t ath_cuda_promise_from_hash(uint64_t hash, uint64_t copy_of)
{
    return ATH_CUDA_PROMISE_MARK | (hash & ATH_CUDA_PROMISE_HASH) |
           (copy_of & ATH_CUDA_PROMISE_COPY);
}

/* The handle of the n-th copy of code. */
static inline uint64_t ath_cuda_promise_copy(uint64_t handle, uint32_t number)
{
    return (handle & ~ATH_CUDA_PROMISE_COPY) | ((uint64_t)number << 48 & ATH_CUDA_PROMISE_COPY);
}

/* A handle that the client sent as a promised one; 0 if it cannot be one. */
static inline uint64_t ath_cuda_promise_of(uint64_t sent)
{
    return ath_cuda_is_promise(sent) ? sent & ~ATH_CUDA_PROMISE_FUNCTION : 0;
}

/* The promised handle of a kernel's function in the client's first context; 0 of 0. */
static inline uint64_t ath_cuda_promise_function(uint64_t promised)
{
    return promised ? promised | ATH_CUDA_PROMISE_FUNCTION : 0;
}
