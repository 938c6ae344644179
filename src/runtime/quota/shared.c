/*
 * Memory that other processes open by an IPC handle. It exists until the last process has closed
 * it, even after its maker has ended (seen with driver 580 on an H200).
 */
#include "config.h"

#include "runtime/quota/wrappers.h"

#include "runtime/quota/ledger.h"
#include "runtime/quota/session_quota.h"

/* The name of an IPC handle's share: a hash of its bytes, never 0. */
static uint64_t name_of(const CUipcMemHandle *handle)
{
    uint64_t name = 1;
    for (size_t i = 0; i < sizeof handle->reserved; i++)
        name = (name ^ (unsigned char)handle->reserved[i]) * UINT64_C(0x100000001b3);
    return name | 1;
}

/* The start of the allocation that an address lies in: an IPC handle is for the whole
 * allocation. */
static CUdeviceptr base_of(CUdeviceptr address)
{
    CUdeviceptr base;
    size_t bytes;
    return ath_quota.driver.cuMemGetAddressRange_v2 &&
                   !ath_quota.driver.cuMemGetAddressRange_v2(&base, &bytes, address)
               ? base
               : address;
}

CUresult ath_quota_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    CUresult status = ath_quota.driver.cuIpcGetMemHandle(handle, address);
    if (status)
        return status;
    return ath_ledger_share_address(base_of(address), name_of(handle)) ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult ath_quota_cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle,
                                         unsigned int flags)
{
    /* The reference lasts until the memory is open, so that its maker may end meanwhile. */
    uint64_t share = ath_quota.books->share_find(name_of(&handle));
    bool is_held = share && ath_ledger_hold_share(share);
    CUresult status = ath_quota.driver.cuIpcOpenMemHandle_v2(address, handle, flags);
    CUcontext context = ath_quota_current_context();
    bool is_counted =
        status || !is_held || ath_ledger_add_shared(ATH_HOLDING_OPENED, *address, context, share);
    if (is_held)
        ath_ledger_drop_share(share);
    if (is_counted)
        return status;
    ath_quota.driver.cuIpcCloseMemHandle(*address);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult ath_quota_cuIpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle,
                                      unsigned int flags)
{
    return ath_quota.driver.cuIpcOpenMemHandle_v2
               ? ath_quota_cuIpcOpenMemHandle_v2(address, handle, flags)
               : ath_quota.driver.cuIpcOpenMemHandle(address, handle, flags);
}

CUresult ath_quota_cuIpcCloseMemHandle(CUdeviceptr address)
{
    struct ath_holding *closed = ath_ledger_withdraw_opened(address);
    CUresult status = ath_quota.driver.cuIpcCloseMemHandle(address);
    if (!status)
        return ath_ledger_conclude(closed, status);
    ath_ledger_restore_opened(address, closed);
    return status;
}
