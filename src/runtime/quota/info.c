/* Answers about how much memory there is: never more than the share and the session's limit, unless
 * the server only counts. */
#include "config.h"

#include "runtime/quota/wrappers.h"

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

/* Narrows to the limits of the session, of its identity, and of all sessions. */
static void narrow_to_limits(size_t device, size_t *free_bytes, size_t *total_bytes)
{
    struct ath_books_page page;
    ath_quota.books->look(device, &page);
    for (size_t i = 0; i < ATH_BOOKS_OWNERS; i++)
        narrow(page.of[i].used_bytes, page.of[i].limit_bytes, free_bytes, total_bytes);
}

CUresult ath_quota_cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    ath_pool_usage_settle();
    ath_graphs_count();
    CUresult status = ath_quota.driver.cuMemGetInfo_v2(free_bytes, total_bytes);
    size_t device = status || ath_quota.books->only_counts ? SIZE_MAX : ath_quota_current_device();
    if (device != SIZE_MAX)
        narrow_to_limits(device, free_bytes, total_bytes);
    return status;
}

/* PyTorch's and the runtime's properties of a device have this number. The client keeps it, so it
 * is the session's limit of that time. */
CUresult ath_quota_cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    size_t unused = SIZE_MAX;
    CUresult status = ath_quota.driver.cuDeviceTotalMem_v2(bytes, device);
    if (status || ath_quota.books->only_counts || !ath_quota_has_device(device))
        return status;
    narrow_to_limits(ath_quota.devices[device], &unused, bytes);
    return status;
}
