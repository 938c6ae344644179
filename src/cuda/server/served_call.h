/* Helpers of the server's hand-written functions. */
#pragma once
#include "cuda/server/server.h"

/* Refuses a call whose function the driver lacks. */
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
