/* Functions of the driver's in programs that do not link libcuda.so.1. */
#pragma once
#include <cuda.h>

#include "test.cuh"

#define cu_gives(wanted, call)                                                                     \
    do {                                                                                           \
        CUresult got_ = (call);                                                                    \
        if (got_ != (wanted))                                                                      \
            fail("%s: %d", #call, got_);                                                           \
    } while (0)
#define cu_ok(call) cu_gives(CUDA_SUCCESS, call)

/* As of the runtime's version, which cuda.h names them by. */
template <typename F> static F *found(const char *name)
{
    void *address = nullptr;
    cudaDriverEntryPointQueryResult result;
    ok(cudaGetDriverEntryPointByVersion(name, &address, CUDART_VERSION, cudaEnableDefault,
                                        &result));
    if (result != cudaDriverEntryPointSuccess)
        fail("%s is not there", name);
    return (F *)address;
}

#define driver(function) found<decltype(function)>(#function)
