/* The layout of a kernel's parameters: offset and size of each. */
#pragma once
#include "cuda/server/server.h"
#include "proto/cuda-wire-types.h"

enum { ATH_CUDA_PARAMETERS_MAX = 4096 }; /* they have 32764 bytes in all: CUDA 12.1's limit */

struct ath_cuda_kernel_layout {
    uint32_t count, max_threads; /* of a block; 0: not known */
    struct {
        size_t offset, size;
    } parameters[ATH_CUDA_PARAMETERS_MAX];
};

/* Asks the driver about a function or a kernel; the other is NULL. A driver before CUDA 12.4 cannot
 * tell the layout: CUDA_ERROR_NOT_SUPPORTED. */
CUresult ath_cuda_kernel_layout_ask(const struct ath_cuda_driver *driver, CUfunction function,
                                    CUkernel kernel, struct ath_cuda_kernel_layout *out);

void ath_cuda_kernel_layout_put(struct ath_cuda_wire_layout_builder to,
                                const struct ath_cuda_kernel_layout *layout);
