/* Batches of copies. CUDA allows any order of their copies, so the order of the list will do. */
#include "config.h"

#include <stdint.h>

#include "cuda/client/client.h"
#include "cuda/client/copy_rectangle.h"
#include "cuda/common/bytes.h"
#include "cuda/common/copy_list.h"
#include "proto/cuda-client.h"

/* Bytes of an array's element. CUDA_ERROR_NOT_SUPPORTED if the format has no fixed size. */
static CUresult element_bytes(CUarray array, size_t *out)
{
    CUDA_ARRAY3D_DESCRIPTOR facts;
    CUresult status = ath_cuda_do_cuArray3DGetDescriptor_v2(&facts, array);
    if (status)
        return status;
    *out = ath_cuda_bytes_of_format(facts.Format) * facts.NumChannels;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

/* If an operand is an array, widths and offsets count its elements, else bytes. */
static CUresult unit_of(const CUDA_MEMCPY3D_BATCH_OP *copy, size_t *out)
{
    const CUmemcpy3DOperand *const ends[] = { &copy->src, &copy->dst };
    *out = 1;
    for (size_t i = 0; i < 2; i++)
        if (ends[i]->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
            return element_bytes(ends[i]->op.array.array, out);
    return CUDA_SUCCESS;
}

static bool is_operand(const CUmemcpy3DOperand *operand)
{
    return operand->type == CU_MEMCPY_OPERAND_TYPE_POINTER ||
           operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY;
}

static void set_source(CUDA_MEMCPY3D_PEER *copy, const CUmemcpy3DOperand *from, size_t unit)
{
    if (from->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        copy->srcMemoryType = CU_MEMORYTYPE_ARRAY;
        copy->srcArray = from->op.array.array;
        copy->srcXInBytes = from->op.array.offset.x * unit;
        copy->srcY = from->op.array.offset.y;
        copy->srcZ = from->op.array.offset.z;
        return;
    }
    copy->srcMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy->srcDevice = from->op.ptr.ptr;
    copy->srcPitch = from->op.ptr.rowLength * unit;
    copy->srcHeight = from->op.ptr.layerHeight;
}

static void set_target(CUDA_MEMCPY3D_PEER *copy, const CUmemcpy3DOperand *to, size_t unit)
{
    if (to->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
        copy->dstMemoryType = CU_MEMORYTYPE_ARRAY;
        copy->dstArray = to->op.array.array;
        copy->dstXInBytes = to->op.array.offset.x * unit;
        copy->dstY = to->op.array.offset.y;
        copy->dstZ = to->op.array.offset.z;
        return;
    }
    copy->dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    copy->dstDevice = to->op.ptr.ptr;
    copy->dstPitch = to->op.ptr.rowLength * unit;
    copy->dstHeight = to->op.ptr.layerHeight;
}

static CUresult copy_one_of_batch(const CUDA_MEMCPY3D_BATCH_OP *asked, CUstream stream)
{
    size_t unit;
    if (!is_operand(&asked->src) || !is_operand(&asked->dst))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = unit_of(asked, &unit);
    if (status)
        return status;
    CUDA_MEMCPY3D_PEER copy = { .WidthInBytes = asked->extent.width * unit,
                                .Height = asked->extent.height,
                                .Depth = asked->extent.depth };
    set_source(&copy, &asked->src, unit);
    set_target(&copy, &asked->dst, unit);
    return ath_cuda_copy_box(copy, stream, false);
}

CUresult ath_cuda_by_hand_cuMemcpy3DBatchAsync(size_t op_count, CUDA_MEMCPY3D_BATCH_OP *ops,
                                               size_t *fail_index, unsigned long long flags,
                                               CUstream stream)
{
    CUresult status = CUDA_SUCCESS;
    size_t at = SIZE_MAX; /* no particular copy */
    if (!op_count || !ops || flags || !stream)
        status = CUDA_ERROR_INVALID_VALUE;
    else
        status = ath_cuda_refuse_capture(stream);
    for (size_t i = 0; !status && i < op_count; i++)
        if ((status = copy_one_of_batch(&ops[i], stream)))
            at = i;
    if (status && fail_index)
        *fail_index = at;
    return status;
}

CUresult ath_cuda_by_hand_cuMemcpy3DBatchAsync_v2(size_t op_count, CUDA_MEMCPY3D_BATCH_OP *ops,
                                                  unsigned long long flags, CUstream stream)
{
    return ath_cuda_by_hand_cuMemcpy3DBatchAsync(op_count, ops, NULL, flags, stream);
}
