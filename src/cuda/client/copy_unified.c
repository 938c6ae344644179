/* Copies between any two addresses, whose direction the client finds out. */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "cuda/client/captured_copy.h"
#include "cuda/client/client.h"
#include "cuda/client/program_memory.h"
#include "cuda/common/copy_box.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

/* A copy by the server's own cuMemcpyAsync(). Both ends are memory that the server reaches. */
static CUresult copy_there(CUdeviceptr dst, CUdeviceptr src, size_t byte_count, CUstream stream)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemcpyAsync);
    if (status)
        return status;
    struct ath_cuda_side *side = &exchange.side;
    struct ath_cuda_wire_memcpy_async_builder call =
        ath_cuda_wire_call_init_memcpy_async(exchange.call);
    ath_cuda_wire_memcpy_async_set_dst(call, ath_cuda_to_wire(side, ATH_CUDA_KIND_ADDRESS, dst));
    ath_cuda_wire_memcpy_async_set_src(call, ath_cuda_to_wire(side, ATH_CUDA_KIND_ADDRESS, src));
    ath_cuda_wire_memcpy_async_set_byte_count(call, byte_count);
    ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
    ath_cuda_wire_memcpy_async_set_stream(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    return ath_cuda_end(&exchange, ath_cuda_post(&exchange));
}

/* A copy that each launch of the graph repeats. */
static CUresult capture_here(CUdeviceptr dst, CUdeviceptr src, size_t byte_count, CUstream stream)
{
    CUDA_MEMCPY3D_PEER row = ath_cuda_box_from_host((const void *)(uintptr_t)src, byte_count);
    row.dstMemoryType = CU_MEMORYTYPE_HOST;
    row.dstHost = (void *)(uintptr_t)dst;
    return ath_cuda_captured_copy(&row, stream);
}

/* Copies between two places of the program's memory, in the stream's order: earlier work is waited
 * for. */
static CUresult copy_here(CUdeviceptr dst, CUdeviceptr src, size_t byte_count, CUstream stream)
{
    if (ath_cuda_is_stream_capturing(stream))
        return capture_here(dst, src, byte_count, stream);
    CUresult status = ath_cuda_do_cuStreamSynchronize(stream);
    if (!status)
        memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, byte_count);
    return status;
}

CUresult ath_cuda_by_hand_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t byte_count,
                                        CUstream stream)
{
    if (!byte_count)
        return ath_cuda_ready_on(ATH_CUDA_METHOD_cuMemcpyAsync, stream);
    if (!dst || !src)
        return CUDA_ERROR_INVALID_VALUE;
    bool to_host = ath_cuda_is_program_memory(dst, byte_count);
    bool from_host = ath_cuda_is_program_memory(src, byte_count);
    if (!to_host && !from_host)
        return copy_there(dst, src, byte_count, stream);
    if (!to_host)
        return ath_cuda_by_hand_cuMemcpyHtoDAsync_v2(dst, (const void *)(uintptr_t)src, byte_count,
                                                     stream);
    if (!from_host)
        return ath_cuda_by_hand_cuMemcpyDtoHAsync_v2((void *)(uintptr_t)dst, src, byte_count,
                                                     stream);
    if (!ath_cuda_can_read((const void *)(uintptr_t)src, byte_count) ||
        !ath_cuda_can_write((const void *)(uintptr_t)dst, byte_count))
        return CUDA_ERROR_INVALID_VALUE;
    return copy_here(dst, src, byte_count, stream);
}

/* A copy between host and GPU is complete on return. */
CUresult ath_cuda_by_hand_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t byte_count)
{
    CUresult status = ath_cuda_by_hand_cuMemcpyAsync(dst, src, byte_count, NULL);
    return status || !byte_count ? status : ath_cuda_do_cuStreamSynchronize(NULL);
}
