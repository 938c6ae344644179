/* CUDA's error for a session that could not be opened. */
#pragma once
#include <errno.h>

#include "cuda/api/cuda_api.h"

/* status: 0, or the negative errno of the attempt. */
static inline CUresult ath_cuda_result_of_open(int status)
{
    switch (status) {
    case 0:
        return CUDA_SUCCESS;
    case -ENODEV:
    case -ENOTSUP:
    case -EREMOTEIO:
        return CUDA_ERROR_NO_DEVICE;
    case -EACCES:
    case -ENOKEY:
    case -EPERM:
        return CUDA_ERROR_NOT_PERMITTED;
    case -ENOMEM:
        return CUDA_ERROR_OUT_OF_MEMORY;
    default:
        return CUDA_ERROR_SYSTEM_NOT_READY;
    }
}
