/* CUDA's driver library, loaded when it is needed: the functions that copies take. */
#pragma once
#include "base/err.h"
#include "base/late.h"
#include "cuda/api/cuda_api.h"

#define ATH_MEASURE_FUNCTIONS(F)                                                                   \
    F(cuInit)                                                                                      \
    F(cuDriverGetVersion)                                                                          \
    F(cuGetErrorName)                                                                              \
    F(cuDeviceGetCount)                                                                            \
    F(cuDeviceGet)                                                                                 \
    F(cuDeviceGetPCIBusId)                                                                         \
    F(cuDeviceGetUuid)                                                                             \
    F(cuDeviceCanAccessPeer)                                                                       \
    F(cuDevicePrimaryCtxRetain)                                                                    \
    F(cuCtxSetCurrent)                                                                             \
    F(cuCtxEnablePeerAccess)                                                                       \
    F(cuMemGetInfo_v2)                                                                             \
    F(cuMemAlloc_v2)                                                                               \
    F(cuMemHostAlloc)                                                                              \
    F(cuMemFreeHost)                                                                               \
    F(cuMemcpyPeerAsync)                                                                           \
    F(cuMemcpyHtoDAsync_v2)                                                                        \
    F(cuMemcpyDtoHAsync_v2)                                                                        \
    F(cuStreamCreate)                                                                              \
    F(cuEventCreate)                                                                               \
    F(cuEventRecord)                                                                               \
    F(cuEventSynchronize)                                                                          \
    F(cuEventElapsedTime)

struct ath_measure_driver {
    ATH_MEASURE_FUNCTIONS(ATH_LATE_MEMBER)
};

/* Loads "libcuda.so.1". Returns 0, or -ENOENT "library-missing" with err. */
int ath_measure_driver_load(struct ath_measure_driver *out, struct ath_err *err);

/* Returns the name of an error: "CUDA_ERROR_OUT_OF_MEMORY". */
const char *ath_measure_driver_error(const struct ath_measure_driver *driver, CUresult status);
