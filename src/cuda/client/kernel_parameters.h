/* A kernel's parameters as one block of bytes, laid out as the kernel expects them. Any thread. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"
#include "cuda/common/call_side.h"

struct ath_cuda_packed {
    uint8_t *bytes; /* owned */
    size_t length;
};

void ath_cuda_packed_free(struct ath_cuda_packed *packed);

/*
 * Packs the parameters of a launch, from the list of pointers or from `extra`, and makes the server
 * map the pinned memory that they point to. threads is the number of threads in a block: CUDA
 * reports too many at once.
 */
CUresult ath_cuda_pack(CUfunction function, uint64_t threads, void **params, void **extra,
                       struct ath_cuda_packed *out);

/* The wire's handle for a CUfunction, or for a CUkernel in its place. */
uint64_t ath_cuda_function_to_wire(struct ath_cuda_side *side, CUfunction function);

/* The number of threads in a block; UINT64_MAX if it is too large for any GPU. */
static inline uint64_t ath_cuda_block_threads(uint64_t x, uint64_t y, uint64_t z)
{
    return x < UINT32_MAX / 2 && y < 65536 && z < 65536 ? x * y * z : UINT64_MAX;
}

static inline struct ath_wire_bytes ath_cuda_packed_bytes(const struct ath_cuda_packed *packed)
{
    return (struct ath_wire_bytes){ packed->bytes, packed->length };
}
