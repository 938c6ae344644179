/*
 * Copies of rows and of planes as what all copies are: CUDA_MEMCPY3D_PEER, in whatever contexts its
 * ends are. What is given stays the caller's. Any thread.
 */
#pragma once
#include <stddef.h>
#include <string.h>

#include "runtime/cuda/cuda_api.h"

static inline CUDA_MEMCPY3D_PEER ath_cuda_box_of_2d(const CUDA_MEMCPY2D *copy)
{
    return (CUDA_MEMCPY3D_PEER){ .srcXInBytes = copy->srcXInBytes,
                                 .srcY = copy->srcY,
                                 .srcMemoryType = copy->srcMemoryType,
                                 .srcHost = copy->srcHost,
                                 .srcDevice = copy->srcDevice,
                                 .srcArray = copy->srcArray,
                                 .srcPitch = copy->srcPitch,
                                 .dstXInBytes = copy->dstXInBytes,
                                 .dstY = copy->dstY,
                                 .dstMemoryType = copy->dstMemoryType,
                                 .dstHost = copy->dstHost,
                                 .dstDevice = copy->dstDevice,
                                 .dstArray = copy->dstArray,
                                 .dstPitch = copy->dstPitch,
                                 .WidthInBytes = copy->WidthInBytes,
                                 .Height = copy->Height,
                                 .Depth = 1 };
}

/* CUDA_MEMCPY3D has reserved members where CUDA_MEMCPY3D_PEER has contexts (cuda.h). */
static inline CUDA_MEMCPY3D_PEER ath_cuda_box_of_3d(const CUDA_MEMCPY3D *copy)
{
    CUDA_MEMCPY3D_PEER made;
    _Static_assert(sizeof *copy == sizeof made, "the same but for contexts");
    memcpy(&made, copy, sizeof made);
    made.srcContext = NULL;
    made.dstContext = NULL;
    return made;
}
