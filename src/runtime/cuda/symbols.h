/* The exported functions as cuGetProcAddress() gives them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "runtime/cuda/cuda_api.h"

struct ath_cuda_symbol {
    const char *base; /* "cuMemAlloc", whatever its version */
    const char *name; /* "cuMemAlloc_v2" */
    int since;        /* the CUDA version that first had it: 3020 */
    int is_thread;    /* its default stream is the thread's */
    void (*function)(void);
};

/* By base, then (those of a thread last) by version. */
extern const struct ath_cuda_symbol ath_cuda_symbols[];
extern const size_t ath_cuda_symbol_count;

/*
 * The newest form of a function that a version of CUDA had, as cuGetProcAddress() documents:
 * per_thread takes that with the thread's default stream where there is one. NULL with
 * *out_status: the name is none, or the function is newer than version.
 */
const struct ath_cuda_symbol *ath_cuda_symbol_find(const char *name, int version, bool per_thread,
                                                   CUdriverProcAddressQueryResult *out_status);
