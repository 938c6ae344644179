/* Arrays and mipmapped arrays. */
#include "config.h"

#include "runtime/quota/wrappers.h"

#include "runtime/quota/room.h"
#include "runtime/quota/session_quota.h"

/* Bits of a channel; for block formats bits of a texel, whose descriptor has one channel. */
static unsigned int bits_of(CUarray_format format)
{
    switch ((unsigned int)format) {
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 16;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 32;
    default:
        return 8;
    }
}

static uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    const size_t factors[] = { descriptor->Width, descriptor->Height ? descriptor->Height : 1,
                               descriptor->Depth ? descriptor->Depth : 1,
                               descriptor->NumChannels ? descriptor->NumChannels : 1 };
    uint64_t bytes = bits_of(descriptor->Format) / 8;
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (__builtin_mul_overflow(bytes, (uint64_t)factors[i], &bytes))
            return UINT64_MAX;
    return descriptor->Flags & CUDA_ARRAY3D_SPARSE
               ? 0
               : bytes; /* a sparse array has mapped memory only */
}

CUresult ath_quota_cuArray3DCreate_v2(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    struct ath_holding *holding = ath_room_take(ath_quota_current_device(), array_bytes(descriptor),
                                                ath_quota_current_context());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_quota.driver.cuArray3DCreate_v2(array, descriptor);
    return ath_ledger_settle(holding, ATH_HOLDING_ARRAY, (uintptr_t)*array, status);
}

CUresult ath_quota_cuArrayCreate_v2(CUarray *array, const CUDA_ARRAY_DESCRIPTOR *descriptor)
{
    const CUDA_ARRAY3D_DESCRIPTOR same = { .Width = descriptor->Width,
                                           .Height = descriptor->Height,
                                           .Format = descriptor->Format,
                                           .NumChannels = descriptor->NumChannels };
    struct ath_holding *holding =
        ath_room_take(ath_quota_current_device(), array_bytes(&same), ath_quota_current_context());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_quota.driver.cuArrayCreate_v2(array, descriptor);
    return ath_ledger_settle(holding, ATH_HOLDING_ARRAY, (uintptr_t)*array, status);
}

CUresult ath_quota_cuArrayDestroy(CUarray array)
{
    struct ath_holding *holding = ath_ledger_withdraw(ATH_HOLDING_ARRAY, (uintptr_t)array);
    return ath_ledger_conclude(holding, ath_quota.driver.cuArrayDestroy(array));
}

/* All levels together take a third more than the first. */
CUresult ath_quota_cuMipmappedArrayCreate(CUmipmappedArray *array,
                                          const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                                          unsigned int levels)
{
    uint64_t bytes = array_bytes(descriptor);
    bytes += levels > 1 && bytes < UINT64_MAX / 2 ? bytes / 3 : 0;
    struct ath_holding *holding =
        ath_room_take(ath_quota_current_device(), bytes, ath_quota_current_context());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_quota.driver.cuMipmappedArrayCreate(array, descriptor, levels);
    return ath_ledger_settle(holding, ATH_HOLDING_MIPMAP, (uintptr_t)*array, status);
}

CUresult ath_quota_cuMipmappedArrayDestroy(CUmipmappedArray array)
{
    struct ath_holding *holding = ath_ledger_withdraw(ATH_HOLDING_MIPMAP, (uintptr_t)array);
    return ath_ledger_conclude(holding, ath_quota.driver.cuMipmappedArrayDestroy(array));
}
