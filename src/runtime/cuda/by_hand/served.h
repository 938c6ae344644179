/* What the hand-written functions of the server have in common. */
#pragma once
#include "runtime/cuda/server.h"

/* A driver that does not have a function is asked for it in vain. */
#define NEEDS(served, function)                                                                    \
    if (!(served)->driver->function) {                                                             \
        (served)->status = CUDA_ERROR_NOT_SUPPORTED;                                               \
        return;                                                                                    \
    }

static inline CUfunction ath_cuda_function_of(struct ath_cuda_side *side, uint64_t wire)
{
    return (CUfunction)(uintptr_t)ath_cuda_to_own(side, ATH_CUDA_KIND_FUNCTION, wire);
}

static inline CUstream ath_cuda_stream_of(struct ath_cuda_side *side, uint64_t wire)
{
    return (CUstream)(uintptr_t)ath_cuda_to_own(side, ATH_CUDA_KIND_STREAM, wire);
}
