/* Memory pools. Calls that wait for the GPU are wrapped too, because pools keep less after them. */
#include "config.h"

#include "runtime/quota/wrappers.h"

#include "runtime/quota/graphs.h"
#include "runtime/quota/pool_usage.h"
#include "runtime/quota/room.h"
#include "runtime/quota/session_quota.h"

bool ath_quota_charge_pool(size_t device, int64_t bytes, bool is_there)
{
    if (!is_there && !ath_room_take_bytes(device, bytes))
        return false;
    if (is_there)
        ath_quota.books->give(device, -bytes);
    ath_quota.books->note(device);
    return true;
}

/* Returns whether a stream is capturing: an allocation on it then becomes a node of its graph. */
static bool is_captured(CUstream stream)
{
    CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
    return ath_quota.driver.cuStreamIsCapturing &&
           !ath_quota.driver.cuStreamIsCapturing(stream, &state) &&
           state == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static bool has_pool(CUdevice device, CUmemoryPool pool)
{
    const struct ath_cuda_driver *driver = &ath_quota.driver;
    CUmemoryPool own = NULL, used = NULL;
    return (driver->cuDeviceGetDefaultMemPool && !driver->cuDeviceGetDefaultMemPool(&own, device) &&
            own == pool) ||
           (driver->cuDeviceGetMemPool && !driver->cuDeviceGetMemPool(&used, device) &&
            used == pool);
}

/* The device that has a pool as its own, or that the program told to use it; else the current
 * device. */
static size_t device_of_pool(CUmemoryPool pool)
{
    for (size_t device = 0; device < ath_quota.count; device++)
        if (has_pool((CUdevice)device, pool))
            return ath_quota.devices[device];
    return ath_quota_current_device();
}

/* Memory of a pool belongs to the device, so it outlives contexts. */
static struct ath_holding *take_from_pool(CUmemoryPool handle, size_t bytes, CUstream stream)
{
    struct ath_holding *holding = ath_holding_make(SIZE_MAX, 0, NULL);
    struct ath_pool *pool = ath_pool_usage_find(handle, device_of_pool);
    if (holding && pool && ath_pool_take(pool, bytes, stream)) {
        holding->pool = pool;
        holding->size = bytes;
        return holding;
    }
    ath_holding_give(holding);
    if (pool && ath_pool_device(pool) != SIZE_MAX)
        ath_room_log_full(ath_pool_device(pool), bytes);
    return NULL;
}

static CUresult settle_pool(struct ath_holding *holding, CUdeviceptr address, CUresult status)
{
    struct ath_pool *pool = holding->pool;
    status = ath_ledger_settle(holding, ATH_HOLDING_ADDRESS, address, status);
    ath_pool_give(pool, 0); /* counts what the driver has taken for the pool */
    return status;
}

/* The pool that the current device uses; NULL if the driver does not say. */
static CUmemoryPool current_pool(void)
{
    CUdevice device;
    CUmemoryPool pool = NULL;
    if (!ath_quota.driver.cuDeviceGetMemPool || ath_quota.driver.cuCtxGetDevice(&device) ||
        ath_quota.driver.cuDeviceGetMemPool(&pool, device))
        return NULL;
    return pool;
}

CUresult ath_quota_cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    if (is_captured(stream)) {
        CUresult status = ath_graphs_check_room(ath_quota_current_device(), bytes);
        return status ? status : ath_quota.driver.cuMemAllocAsync(address, bytes, stream);
    }
    struct ath_holding *holding = take_from_pool(current_pool(), bytes, stream);
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_quota.driver.cuMemAllocAsync(address, bytes, stream);
    return settle_pool(holding, *address, status);
}

CUresult ath_quota_cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                           CUstream stream)
{
    if (is_captured(stream)) {
        const struct ath_pool *known = ath_pool_usage_find(pool, device_of_pool);
        CUresult status = ath_graphs_check_room(known ? ath_pool_device(known) : SIZE_MAX, bytes);
        return status ? status
                      : ath_quota.driver.cuMemAllocFromPoolAsync(address, bytes, pool, stream);
    }
    struct ath_holding *holding = take_from_pool(pool, bytes, stream);
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_quota.driver.cuMemAllocFromPoolAsync(address, bytes, pool, stream);
    return settle_pool(holding, *address, status);
}

CUresult ath_quota_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    CUresult status = ath_quota.driver.cuMemPoolCreate(pool, props);
    if (!status)
        ath_pool_usage_made(*pool, ath_quota_device_at(&props->location));
    return status;
}

CUresult ath_quota_cuMemPoolDestroy(CUmemoryPool pool)
{
    CUresult status = ath_quota.driver.cuMemPoolDestroy(pool);
    if (!status)
        ath_pool_usage_destroyed(pool);
    return status;
}

CUresult ath_quota_cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes)
{
    CUresult status = ath_quota.driver.cuMemPoolTrimTo(pool, bytes);
    ath_pool_usage_count();
    return status;
}

/* ---- waiting: pools keep less after it ---- */

CUresult ath_quota_cuStreamSynchronize(CUstream stream)
{
    CUresult status = ath_quota.driver.cuStreamSynchronize(stream);
    ath_pool_usage_settle();
    return status;
}

CUresult ath_quota_cuEventSynchronize(CUevent event)
{
    CUresult status = ath_quota.driver.cuEventSynchronize(event);
    ath_pool_usage_settle();
    return status;
}

CUresult ath_quota_cuCtxSynchronize(void)
{
    CUresult status = ath_quota.driver.cuCtxSynchronize();
    ath_pool_usage_settle();
    return status;
}
