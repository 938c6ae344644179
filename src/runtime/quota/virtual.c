/* Virtual memory. It exists as long as a handle or a mapping of it does, in any session. */
#include "config.h"

#include "runtime/quota/wrappers.h"

#include "runtime/quota/quota.h"
#include "runtime/quota/room.h"
#include "runtime/quota/session_quota.h"

CUresult ath_quota_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                               const CUmemAllocationProp *properties, unsigned long long flags)
{
    struct ath_holding *holding =
        ath_room_take(ath_quota_device_at(&properties->location), bytes, NULL);
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_quota.driver.cuMemCreate(handle, bytes, properties, flags);
    return ath_ledger_settle(holding, ATH_HOLDING_HANDLE, *handle, status);
}

CUresult ath_quota_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    CUresult status = ath_quota.driver.cuMemRelease(handle);
    if (!status)
        ath_ledger_release_handle(handle);
    return status;
}

CUresult ath_quota_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address)
{
    CUresult status = ath_quota.driver.cuMemRetainAllocationHandle(handle, address);
    if (!status)
        ath_ledger_retain_handle(*handle);
    return status;
}

/* From now on other sessions may have the memory, and the descriptor keeps it. */
CUresult ath_quota_exported(CUmemGenericAllocationHandle handle, uint64_t *out_share)
{
    return ath_ledger_share_handle(handle, out_share) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult ath_quota_imported(CUmemGenericAllocationHandle handle, uint64_t share)
{
    if (ath_ledger_add_shared(ATH_HOLDING_HANDLE, handle, NULL, share))
        return CUDA_SUCCESS;
    ath_quota.driver.cuMemRelease(handle); /* the maker has dropped the memory meanwhile */
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult ath_quota_cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                            CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    struct ath_holding *mapping = ath_holding_make(SIZE_MAX, 0, NULL);
    if (!mapping)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_quota.driver.cuMemMap(address, size, offset, handle, flags);
    mapping->size = size;
    mapping->handle = handle;
    if (!status)
        ath_ledger_retain_handle(handle);
    return ath_ledger_settle(mapping, ATH_HOLDING_MAPPED, address, status);
}

CUresult ath_quota_cuMemUnmap(CUdeviceptr address, size_t size)
{
    CUresult status = ath_quota.driver.cuMemUnmap(address, size);
    if (!status)
        ath_ledger_unmap(address, size);
    return status;
}
