/*
 * Copies of rows and planes in their most general form, CUDA_MEMCPY3D_PEER, whose two ends may be
 * in different contexts. Arguments stay the caller's. Any thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cuda/api/cuda_api.h"

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
    _Static_assert(sizeof *copy == sizeof made, "the same except for contexts");
    memcpy(&made, copy, sizeof made);
    made.srcContext = NULL;
    made.dstContext = NULL;
    return made;
}

/* Describes one row of bytes from or to host memory. The caller fills in the other end. */
static inline CUDA_MEMCPY3D_PEER ath_cuda_box_from_host(const void *host, size_t bytes)
{
    return (CUDA_MEMCPY3D_PEER){ .srcMemoryType = CU_MEMORYTYPE_HOST,
                                 .srcHost = host,
                                 .WidthInBytes = bytes,
                                 .Height = 1,
                                 .Depth = 1 };
}

static inline CUDA_MEMCPY3D_PEER ath_cuda_box_to_host(void *host, size_t bytes)
{
    return (CUDA_MEMCPY3D_PEER){ .dstMemoryType = CU_MEMORYTYPE_HOST,
                                 .dstHost = host,
                                 .WidthInBytes = bytes,
                                 .Height = 1,
                                 .Depth = 1 };
}

/* One end of a copy. Memory other than host memory begins at 0. */
struct ath_cuda_rows {
    uint8_t *first;
    size_t pitch, slice; /* distance between rows, and between planes, in bytes */
};

/* Fills in pitches and heights that are left out: rows and planes then have no gaps. */
static inline struct ath_cuda_rows ath_cuda_box_rows(const CUDA_MEMCPY3D_PEER *copy, bool is_source)
{
    size_t pitch = is_source ? copy->srcPitch : copy->dstPitch;
    size_t height = is_source ? copy->srcHeight : copy->dstHeight;
    size_t x = is_source ? copy->srcXInBytes : copy->dstXInBytes;
    size_t y = is_source ? copy->srcY : copy->dstY, z = is_source ? copy->srcZ : copy->dstZ;
    CUmemorytype type = is_source ? copy->srcMemoryType : copy->dstMemoryType;
    const void *host = is_source ? copy->srcHost : copy->dstHost;
    pitch = pitch ? pitch : x + copy->WidthInBytes;
    height = height ? height : y + copy->Height;
    uintptr_t first = (z * height + y) * pitch + x;
    if (type == CU_MEMORYTYPE_HOST) /* else it may be anything */
        first += (uintptr_t)host;
    return (struct ath_cuda_rows){ (uint8_t *)first, pitch, height * pitch };
}

/* Between two places of host memory. */
static inline void ath_cuda_box_move(const CUDA_MEMCPY3D_PEER *copy)
{
    const struct ath_cuda_rows from = ath_cuda_box_rows(copy, true);
    const struct ath_cuda_rows to = ath_cuda_box_rows(copy, false);
    for (size_t z = 0; z < copy->Depth; z++)
        for (size_t y = 0; y < copy->Height; y++)
            memmove(to.first + z * to.slice + y * to.pitch,
                    from.first + z * from.slice + y * from.pitch, copy->WidthInBytes);
}

/* Makes an end host memory without gaps between its rows. */
static inline void ath_cuda_box_pack_source(CUDA_MEMCPY3D_PEER *copy, const void *host)
{
    copy->srcMemoryType = CU_MEMORYTYPE_HOST;
    copy->srcHost = host;
    copy->srcXInBytes = copy->srcY = copy->srcZ = copy->srcLOD = 0;
    copy->srcPitch = copy->WidthInBytes;
    copy->srcHeight = copy->Height;
}

static inline void ath_cuda_box_pack_target(CUDA_MEMCPY3D_PEER *copy, void *host)
{
    copy->dstMemoryType = CU_MEMORYTYPE_HOST;
    copy->dstHost = host;
    copy->dstXInBytes = copy->dstY = copy->dstZ = copy->dstLOD = 0;
    copy->dstPitch = copy->WidthInBytes;
    copy->dstHeight = copy->Height;
}

/* Returns whether the attributes of a batch are valid ("CUmemcpyAttributes" in cuda.h): each says
 * when the sources are read, and the first copies that they are about ascend from the first copy
 * on. */
static inline bool ath_cuda_are_batch_attributes(const CUmemcpyAttributes *attributes,
                                                 const size_t *indexes, size_t count,
                                                 size_t copy_count)
{
    if (count && (!attributes || !indexes || indexes[0] || count > copy_count))
        return false;
    for (size_t i = 0; i < count; i++)
        if (attributes[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
            attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY ||
            (i && (indexes[i] <= indexes[i - 1] || indexes[i] >= copy_count)))
            return false;
    return true;
}
