/* Where a kernel's parameters lie, as the server says: with the kernel's handle, or asked once for
 * each kernel. Any thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "proto/cuda-wire.h"
#include "runtime/cuda/cuda_api.h"

struct ath_cuda_layout {
    uint64_t max_threads; /* of a block; 0: not known */
    size_t bytes;         /* of all parameters, from the first one's beginning */
    size_t count;
    struct {
        size_t offset, size;
    } parameters[];
};

/* function is a CUfunction or a CUkernel. The caller frees *out_layout. */
CUresult ath_cuda_layout_of(const void *function, struct ath_cuda_layout **out_layout);

/* Whether it was said already: then the kernel is loaded. */
bool ath_cuda_layout_is_known(const void *function);

/* What came with a handle. */
void ath_cuda_layout_learn(const void *function, struct ath_cuda_wire_layout from);
