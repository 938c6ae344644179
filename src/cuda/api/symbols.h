/* The exported functions as cuGetProcAddress() returns them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "cuda/api/cuda_api.h"

struct ath_cuda_symbol {
    const char *base; /* "cuMemAlloc", for every version */
    const char *name; /* "cuMemAlloc_v2" */
    int since;        /* the first CUDA version with it: 3020 */
    int is_thread;    /* its default stream is the thread's */
    void (*function)(void);
};

/* Sorted by base, then by version, per-thread ones last. */
extern const struct ath_cuda_symbol ath_cuda_symbols[];
extern const size_t ath_cuda_symbol_count;

/* Finds the newest version of a function in a CUDA version, as cuGetProcAddress() documents.
 * per_thread prefers the one with the thread's default stream. Returns NULL and *out_status if the
 * name is unknown or the function is newer than version. */
const struct ath_cuda_symbol *ath_cuda_symbol_find(const char *name, int version, bool per_thread,
                                                   CUdriverProcAddressQueryResult *out_status);
