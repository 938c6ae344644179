/* The layout of kernels' parameters. The server sends it with the kernel's handle, or is asked once
 * for each kernel. Any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cuda/api/cuda_api.h"
#include "proto/cuda-wire-types.h"

struct ath_cuda_parameter_layout {
    uint64_t max_threads; /* in a block; 0: not known */
    size_t bytes;         /* of all parameters together */
    size_t count;
    struct {
        size_t offset, size;
    } parameters[];
};

/* function is a CUfunction or a CUkernel. The caller frees *out_layout. */
CUresult ath_cuda_parameter_layout_of(const void *function,
                                      struct ath_cuda_parameter_layout **out_layout);

/* Returns whether the layout is known, which means that the kernel is loaded. */
bool ath_cuda_parameter_layout_is_known(const void *function);

/* Keeps a layout that came with a handle. */
void ath_cuda_parameter_layout_learn(const void *function, struct ath_cuda_wire_layout from);
