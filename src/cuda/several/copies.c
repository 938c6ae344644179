/* CUDA's copies. A copy that one server can make alone is left to that server. */
#include "config.h"

#include "cuda/several/copies.h"

#include <stdint.h>

#include "cuda/common/copy_box.h"
#include "cuda/common/copy_list.h"
#include "cuda/several/journey.h"
#include "cuda/several/stream_copy.h"
#include "cuda/several/stream_gate.h"
#include "proto/cuda-client.h"

/* Enters the server that can make the copy alone: the stream's server, or without a stream the
 * target's or source's. */
static CUresult enter_near(const struct ath_several_journey *journey, const CUstream *stream,
                           bool *out_is_far, struct ath_several **out)
{
    const struct ath_several *from = journey->from.at, *to = journey->to.at;
    unsigned int near = stream ? ath_several_of_stream(*stream)
                        : to   ? to->self.index
                        : from ? from->self.index
                               : ath_several_here();
    *out_is_far = (from && from->self.index != near) || (to && to->self.index != near);
    return ath_several_enter(near, out);
}

/* In the order of the legacy default streams of both contexts. */
static CUresult carry_now(const struct ath_several_journey *journey)
{
    return journey->from.at && journey->to.at ? ath_several_carry(journey, NULL, NULL)
                                              : ath_several_carry_own(journey);
}

static CUDA_MEMCPY3D_PEER row(CUmemorytype to, CUdeviceptr dst, CUmemorytype from, CUdeviceptr src,
                              size_t byte_count)
{
    return (CUDA_MEMCPY3D_PEER){ .srcMemoryType = from,
                                 .srcDevice = src,
                                 .srcHost = (const void *)(uintptr_t)src,
                                 .dstMemoryType = to,
                                 .dstDevice = dst,
                                 .dstHost = (void *)(uintptr_t)dst,
                                 .WidthInBytes = byte_count,
                                 .Height = 1,
                                 .Depth = 1 };
}

/* NEAR is the call if one server can make the copy. STREAM NULL: the copy is complete on return. */
#define GO(BOX, STREAM, NEAR)                                                                      \
    do {                                                                                           \
        const CUDA_MEMCPY3D_PEER box_ = (BOX);                                                     \
        const struct ath_several_journey journey_ = ath_several_journey_of(&box_);                 \
        const CUstream *stream_ = (STREAM);                                                        \
        struct ath_several *to;                                                                    \
        bool is_far;                                                                               \
        CUresult status_ = enter_near(&journey_, stream_, &is_far, &to);                           \
        if (status_ || (!is_far && stream_))                                                       \
            return status_ ? status_ : to->calls.NEAR;                                             \
        if (!is_far)                                                                               \
            return ath_several_waited(to, to->calls.NEAR);                                         \
        return stream_ ? ath_several_carry_in_stream(&journey_, to, *stream_)                      \
                       : carry_now(&journey_);                                                     \
    } while (0)

CUresult ath_cuda_by_hand_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t byte_count,
                                        CUstream stream)
{
    GO(row(CU_MEMORYTYPE_UNIFIED, dst, CU_MEMORYTYPE_UNIFIED, src, byte_count), &stream,
       cuMemcpyAsync(dst, src, byte_count, stream));
}

CUresult ath_cuda_by_hand_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t byte_count)
{
    GO(row(CU_MEMORYTYPE_UNIFIED, dst, CU_MEMORYTYPE_UNIFIED, src, byte_count), NULL,
       cuMemcpy(dst, src, byte_count));
}

CUresult ath_cuda_do_cuMemcpyDtoDAsync_v2(CUdeviceptr dst_device, CUdeviceptr src_device,
                                          size_t byte_count, CUstream stream)
{
    GO(row(CU_MEMORYTYPE_UNIFIED, dst_device, CU_MEMORYTYPE_UNIFIED, src_device, byte_count),
       &stream, cuMemcpyDtoDAsync_v2(dst_device, src_device, byte_count, stream));
}

CUresult ath_cuda_do_cuMemcpyDtoD_v2(CUdeviceptr dst_device, CUdeviceptr src_device,
                                     size_t byte_count)
{
    GO(row(CU_MEMORYTYPE_UNIFIED, dst_device, CU_MEMORYTYPE_UNIFIED, src_device, byte_count), NULL,
       cuMemcpyDtoD_v2(dst_device, src_device, byte_count));
}

CUresult ath_cuda_by_hand_cuMemcpyHtoDAsync_v2(CUdeviceptr dst_device, const void *src_host,
                                               size_t byte_count, CUstream stream)
{
    GO(row(CU_MEMORYTYPE_UNIFIED, dst_device, CU_MEMORYTYPE_HOST, (uintptr_t)src_host, byte_count),
       &stream, cuMemcpyHtoDAsync_v2(dst_device, src_host, byte_count, stream));
}

CUresult ath_cuda_by_hand_cuMemcpyDtoHAsync_v2(void *dst_host, CUdeviceptr src_device,
                                               size_t byte_count, CUstream stream)
{
    GO(row(CU_MEMORYTYPE_HOST, (uintptr_t)dst_host, CU_MEMORYTYPE_UNIFIED, src_device, byte_count),
       &stream, cuMemcpyDtoHAsync_v2(dst_host, src_device, byte_count, stream));
}

/* The contexts name the servers; the same address may exist on both. */
static CUDA_MEMCPY3D_PEER between(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                                  CUcontext src_context, size_t byte_count)
{
    CUDA_MEMCPY3D_PEER box = row(CU_MEMORYTYPE_DEVICE, dst, CU_MEMORYTYPE_DEVICE, src, byte_count);
    box.dstContext = dst_context;
    box.srcContext = src_context;
    return box;
}

CUresult ath_cuda_do_cuMemcpyPeer(CUdeviceptr dst_device, CUcontext dst_context,
                                  CUdeviceptr src_device, CUcontext src_context, size_t byte_count)
{
    GO(between(dst_device, dst_context, src_device, src_context, byte_count), NULL,
       cuMemcpyPeer(dst_device, dst_context, src_device, src_context, byte_count));
}

CUresult ath_cuda_do_cuMemcpyPeerAsync(CUdeviceptr dst_device, CUcontext dst_context,
                                       CUdeviceptr src_device, CUcontext src_context,
                                       size_t byte_count, CUstream stream)
{
    GO(between(dst_device, dst_context, src_device, src_context, byte_count), &stream,
       cuMemcpyPeerAsync(dst_device, dst_context, src_device, src_context, byte_count, stream));
}

CUresult ath_cuda_by_hand_cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
    GO(copy ? ath_cuda_box_of_2d(copy) : (CUDA_MEMCPY3D_PEER){ 0 }, NULL, cuMemcpy2D_v2(copy));
}

CUresult ath_cuda_by_hand_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
    GO(copy ? ath_cuda_box_of_2d(copy) : (CUDA_MEMCPY3D_PEER){ 0 }, NULL,
       cuMemcpy2DUnaligned_v2(copy));
}

CUresult ath_cuda_by_hand_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    GO(copy ? ath_cuda_box_of_2d(copy) : (CUDA_MEMCPY3D_PEER){ 0 }, &stream,
       cuMemcpy2DAsync_v2(copy, stream));
}

CUresult ath_cuda_by_hand_cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
    GO(copy ? ath_cuda_box_of_3d(copy) : (CUDA_MEMCPY3D_PEER){ 0 }, NULL, cuMemcpy3D_v2(copy));
}

CUresult ath_cuda_by_hand_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    GO(copy ? ath_cuda_box_of_3d(copy) : (CUDA_MEMCPY3D_PEER){ 0 }, &stream,
       cuMemcpy3DAsync_v2(copy, stream));
}

CUresult ath_cuda_by_hand_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy)
{
    GO(copy ? *copy : (CUDA_MEMCPY3D_PEER){ 0 }, NULL, cuMemcpy3DPeer(copy));
}

CUresult ath_cuda_by_hand_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    GO(copy ? *copy : (CUDA_MEMCPY3D_PEER){ 0 }, &stream, cuMemcpy3DPeerAsync(copy, stream));
}

CUresult ath_cuda_refuse_capture(CUstream stream)
{
    struct ath_several *near;
    CUresult status = ath_several_enter(ath_several_of_stream(stream), &near);
    if (status || !ath_several_captures(near, stream))
        return status;
    return ath_several_spoil_capture(near, stream);
}
