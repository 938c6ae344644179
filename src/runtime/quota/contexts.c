/* Contexts: memory ends with its context. */
#include "config.h"

#include "runtime/quota/wrappers.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "runtime/event_log.h"
#include "runtime/quota/ledger.h"
#include "runtime/quota/session_quota.h"

struct primary {
    CUcontext context;
    unsigned int retained;
};

static pthread_mutex_t primaries_lock = PTHREAD_MUTEX_INITIALIZER;
static struct primary primaries[ATH_DEVICES_MAX]; /* by CUDA's number */

/*
 * A context takes some hundred megabytes of the GPU, which are no allocation of the program and do
 * not count. If the GPU has too little left, any call of the program may be the one that fails, so
 * the log reports the cause.
 */
static CUresult log_if_full(CUresult status, CUdevice device)
{
    uint32_t sessions;
    if (status != CUDA_ERROR_OUT_OF_MEMORY || !ath_quota_has_device(device))
        return status;
    size_t number = ath_quota.devices[device];
    int64_t bytes = ath_session_board_memory(ath_quota.server->board, number, &sessions);
    ath_auto_free char *which = ath_xasprintf("%zu", number);
    ath_auto_free char *count = ath_xasprintf("%u", (unsigned int)sessions);
    ath_auto_free char *used = ath_xasprintf("%lld", (long long)bytes);
    ath_event_log(ATH_EVENT_WARNING, "no-memory-for-context", "peer", ath_quota.entry->peer,
                  "device", which, "sessions", count, "allocated_bytes", used, NULL);
    return status;
}

CUresult ath_quota_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    return log_if_full(ath_quota.driver.cuCtxCreate_v2(context, flags, device), device);
}

CUresult ath_quota_cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params, int count,
                                  unsigned int flags, CUdevice device)
{
    return log_if_full(ath_quota.driver.cuCtxCreate_v3(context, params, count, flags, device),
                       device);
}

CUresult ath_quota_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult status =
        log_if_full(ath_quota.driver.cuDevicePrimaryCtxRetain(context, device), device);
    if (status || !ath_quota_has_device(device))
        return status;
    pthread_mutex_lock(&primaries_lock);
    primaries[device].context = *context;
    primaries[device].retained++;
    pthread_mutex_unlock(&primaries_lock);
    atomic_fetch_or(&ath_quota.entry->devices, UINT64_C(1) << ath_quota.devices[device]);
    return status;
}

/* Drops a reference of the primary context, or all (is_reset). The last one ends its holdings. */
static void drop_primary(CUdevice device, bool is_reset)
{
    CUcontext gone = NULL;
    if (!ath_quota_has_device(device))
        return;
    pthread_mutex_lock(&primaries_lock);
    struct primary *primary = &primaries[device];
    if (!is_reset && primary->retained)
        primary->retained--;
    if (is_reset || !primary->retained)
        gone = primary->context;
    pthread_mutex_unlock(&primaries_lock);
    ath_ledger_drop_context(gone);
}

CUresult ath_quota_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult status = ath_quota.driver.cuDevicePrimaryCtxRelease_v2(device);
    if (!status)
        drop_primary(device, false);
    return status;
}

CUresult ath_quota_cuDevicePrimaryCtxRelease(CUdevice device)
{
    return ath_quota_cuDevicePrimaryCtxRelease_v2(device);
}

CUresult ath_quota_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUresult status = ath_quota.driver.cuDevicePrimaryCtxReset_v2(device);
    if (!status)
        drop_primary(device, true);
    return status;
}

CUresult ath_quota_cuDevicePrimaryCtxReset(CUdevice device)
{
    return ath_quota_cuDevicePrimaryCtxReset_v2(device);
}

CUresult ath_quota_cuCtxDestroy_v2(CUcontext context)
{
    CUresult status = ath_quota.driver.cuCtxDestroy_v2(context);
    if (!status)
        ath_ledger_drop_context(context);
    return status;
}

CUresult ath_quota_cuCtxDestroy(CUcontext context)
{
    return ath_quota_cuCtxDestroy_v2(context);
}
