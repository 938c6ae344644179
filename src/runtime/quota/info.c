/* Answers about how much memory there is: never more than the share and the session's limit. */
#include "config.h"

#include "runtime/quota/wrappers.h"

#include "base/unknown.h"
#include "runtime/quota/graphs.h"
#include "runtime/quota/pool_usage.h"
#include "runtime/quota/quota.h"
#include "runtime/quota/session_quota.h"

static void narrow(int64_t used, int64_t limit, size_t *free_bytes, size_t *total_bytes)
{
    if (limit < 0)
        return;
    uint64_t left = used < limit ? (uint64_t)(limit - used) : 0;
    *free_bytes = *free_bytes < left ? *free_bytes : (size_t)left;
    *total_bytes = *total_bytes < (uint64_t)limit ? *total_bytes : (size_t)limit;
}

CUresult ath_quota_cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    ath_pool_usage_settle();
    ath_graphs_count();
    CUresult status = ath_quota.driver.cuMemGetInfo_v2(free_bytes, total_bytes);
    size_t device = status ? SIZE_MAX : ath_quota_current_device();
    int64_t used, limit = ATH_UNKNOWN;
    if (device != SIZE_MAX) {
        narrow(atomic_load(&ath_quota.entry->used_bytes[device]),
               atomic_load(&ath_quota.entry->limit_bytes[device]), free_bytes, total_bytes);
        ath_quota_of_device(ath_quota.server, device, &used, &limit);
    }
    if (limit == ATH_UNKNOWN)
        return status;
    narrow(used, limit, free_bytes, total_bytes);
    return status;
}

CUresult ath_quota_cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    CUresult status = ath_quota.driver.cuDeviceTotalMem_v2(bytes, device);
    int64_t limit = status || !ath_quota_has_device(device)
                        ? ATH_UNKNOWN
                        : ath_quota_limit(ath_quota.server, ath_quota.devices[device]);
    if (limit != ATH_UNKNOWN)
        *bytes = (size_t)limit;
    return status;
}
