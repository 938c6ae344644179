/* Allocations of plain and managed memory, and freeing. */
#include "config.h"

#include "runtime/quota/wrappers.h"

#include "runtime/quota/room.h"
#include "runtime/quota/session_quota.h"

CUresult ath_quota_cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    struct ath_holding *holding =
        ath_room_take(ath_quota_current_device(), bytes, ath_quota_current_context());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_quota.driver.cuMemAlloc_v2(address, bytes);
    return ath_ledger_settle(holding, ATH_HOLDING_ADDRESS, *address, status);
}

CUresult ath_quota_cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width,
                                      size_t height, unsigned int element)
{
    enum { PITCH = 512 }; /* rows begin at multiples of it, or of less */
    uint64_t row = ((uint64_t)width + PITCH - 1) / PITCH * PITCH, bytes;
    if (__builtin_mul_overflow(row, (uint64_t)height, &bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct ath_holding *holding =
        ath_room_take(ath_quota_current_device(), bytes, ath_quota_current_context());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_quota.driver.cuMemAllocPitch_v2(address, pitch, width, height, element);
    return ath_ledger_settle(holding, ATH_HOLDING_ADDRESS, *address, status);
}

CUresult ath_quota_cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
    struct ath_holding *holding =
        ath_room_take(ath_quota_current_device(), bytes, ath_quota_current_context());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_quota.driver.cuMemAllocManaged(address, bytes, flags);
    return ath_ledger_settle(holding, ATH_HOLDING_ADDRESS, *address, status);
}

CUresult ath_quota_cuMemFree_v2(CUdeviceptr address)
{
    struct ath_holding *holding = ath_ledger_withdraw(ATH_HOLDING_ADDRESS, address);
    return ath_ledger_conclude(holding, ath_quota.driver.cuMemFree_v2(address));
}

CUresult ath_quota_cuMemFreeAsync(CUdeviceptr address, CUstream stream)
{
    struct ath_holding *holding = ath_ledger_withdraw(ATH_HOLDING_ADDRESS, address);
    return ath_ledger_conclude(holding, ath_quota.driver.cuMemFreeAsync(address, stream));
}
