/* Pools of device memory. */
#include "config.h"

#include "sim/pool.h"

#include <stdlib.h>
#include <unistd.h>

#include "sim/device.h"

static struct sim_pool *pools;

static struct sim_pool *make(int device, const CUmemPoolProps *props)
{
    struct sim_pool *pool = sim_object_new(SIM_POOL, NULL, sizeof *pool);
    if (!pool)
        return NULL;
    pool->device = device;
    pool->props = *props;
    pool->fd = -1;
    for (size_t i = 0; i < SIM_COUNT(pool->reuse); i++)
        pool->reuse[i] = 1;
    pool->next = pools;
    pools = pool;
    return pool;
}

CUresult sim_pools_start(int number)
{
    const CUmemPoolProps props = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = number },
    };
    struct sim_device *device = sim_device(number);
    if (!device->default_pool)
        device->default_pool = device->current_pool = make(number, &props);
    if (!device->default_pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    device->default_pool->is_default = true;
    return CUDA_SUCCESS;
}

static void trim(struct sim_pool *pool, uint64_t keep)
{
    if (keep < pool->used)
        keep = pool->used;
    if (pool->reserved > keep) {
        sim_discharge(pool->device, pool->reserved - keep);
        pool->reserved = keep;
    }
}

void sim_pools_trim(int device)
{
    for (struct sim_pool *pool = pools; pool; pool = pool->next)
        if (pool->device == device)
            trim(pool, pool->is_destroyed ? 0 : pool->threshold);
}

/* If the device has too little memory, unused memory of other pools is given back first. */
static bool grow(struct sim_pool *pool, uint64_t used)
{
    if (!sim_charge(pool->device, used - pool->reserved)) {
        for (struct sim_pool *other = pools; other; other = other->next)
            if (other->device == pool->device)
                trim(other, 0);
        if (!sim_charge(pool->device, used - pool->reserved))
            return false;
    }
    pool->reserved = used;
    return true;
}

bool sim_pool_take(struct sim_pool *pool, size_t bytes)
{
    uint64_t used = pool->used + bytes;
    if ((pool->props.maxSize && used > pool->props.maxSize) ||
        (used > pool->reserved && !grow(pool, used)))
        return false;
    pool->used = used;
    if (pool->reserved_high < pool->reserved)
        pool->reserved_high = pool->reserved;
    if (pool->used_high < pool->used)
        pool->used_high = pool->used;
    return true;
}

static void end_pool(struct sim_pool *pool)
{
    struct sim_pool **at = &pools;
    while (*at != pool)
        at = &(*at)->next;
    *at = pool->next;
    if (pool->fd >= 0)
        close(pool->fd);
    free(pool);
}

bool sim_pool_is_shared(const struct sim_pool *pool)
{
    return pool->props.handleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && pool->fd < 0;
}

int sim_pool_descriptor(const struct sim_pool *pool)
{
    return pool->fd;
}

CUresult sim_pool_import(int fd, CUmemoryPool *out)
{
    const CUmemPoolProps props = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
    };
    struct sim_pool *pool = make(0, &props);
    if (!pool) {
        close(fd);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pool->fd = fd;
    *out = (CUmemoryPool)pool;
    return CUDA_SUCCESS;
}

void sim_pool_give(struct sim_pool *pool, size_t bytes)
{
    pool->used -= bytes;
    if (!pool->is_destroyed)
        return;
    trim(pool, 0);
    if (!pool->used)
        end_pool(pool);
}

/* ---- calls of programs ---- */

CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (!out || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if (props->handleTypes & ~(unsigned int)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (!sim_device(props->location.id))
        return CUDA_ERROR_INVALID_DEVICE;
    struct sim_pool *pool = make(props->location.id, props);
    if (!pool)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUmemoryPool)pool;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(CUmemoryPool handle)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_pool *pool = sim_object_find(SIM_POOL, handle);
    if (!pool || pool->is_default)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_device *device = sim_device(pool->device);
    if (device->current_pool == pool)
        device->current_pool = device->default_pool;
    sim_object_forget(&pool->object);
    pool->is_destroyed = true; /* its allocations stay valid */
    trim(pool, 0);
    if (!pool->used)
        end_pool(pool);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_pool *pool = sim_object_find(SIM_POOL, handle);
    if (!pool)
        return CUDA_ERROR_INVALID_VALUE;
    trim(pool, keep);
    return CUDA_SUCCESS;
}

/* Finds an attribute in the pool; one of the two outputs is NULL, both if it is unknown. */
static void find_attribute(struct sim_pool *pool, CUmemPool_attribute attribute, int **out_int,
                           uint64_t **out_large)
{
    *out_int = NULL;
    *out_large = NULL;
    switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        *out_int = &pool->reuse[attribute - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
        return;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        *out_large = &pool->threshold;
        return;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        *out_large = &pool->reserved;
        return;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        *out_large = &pool->reserved_high;
        return;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        *out_large = &pool->used;
        return;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        *out_large = &pool->used_high;
        return;
    default:
        return;
    }
}

CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    SIM_LOCKED;
    int *number;
    uint64_t *large;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_pool *pool = sim_object_find(SIM_POOL, handle);
    if (!pool || !value)
        return CUDA_ERROR_INVALID_VALUE;
    find_attribute(pool, attribute, &number, &large);
    if (number)
        *(int *)value = *number;
    else if (large)
        *(uint64_t *)value = *large;
    return number || large ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute, void *value)
{
    SIM_LOCKED;
    int *number;
    uint64_t *large;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_pool *pool = sim_object_find(SIM_POOL, handle);
    if (!pool || !value || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ||
        attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
        return CUDA_ERROR_INVALID_VALUE;
    find_attribute(pool, attribute, &number, &large);
    if (number)
        *number = *(int *)value != 0;
    else if (large == &pool->threshold)
        *large = *(uint64_t *)value;
    else if (large && !*(uint64_t *)value) /* setting a high mark to zero restarts it */
        *large = large == &pool->used_high ? pool->used : pool->reserved;
    else
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *list, size_t count)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_pool *pool = sim_object_find(SIM_POOL, handle);
    if (!pool || (count && !list))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (list[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
            !sim_device(list[i].location.id))
            return CUDA_ERROR_INVALID_DEVICE;
    return CUDA_SUCCESS; /* every simulated device reaches all memory */
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (!flags || !location || !sim_object_find(SIM_POOL, handle) ||
        location->type != CU_MEM_LOCATION_TYPE_DEVICE || !sim_device(location->id))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}

static CUresult get_pool(CUmemoryPool *out, CUdevice number, bool is_default)
{
    SIM_LOCKED;
    struct sim_device *device;
    CUresult status = sim_enter_device(number, &device);
    if (status)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUmemoryPool)(is_default ? device->default_pool : device->current_pool);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device)
{
    return get_pool(out, device, true);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device)
{
    return get_pool(out, device, false);
}

CUresult cuDeviceSetMemPool(CUdevice number, CUmemoryPool handle)
{
    SIM_LOCKED;
    struct sim_device *device;
    CUresult status = sim_enter_device(number, &device);
    if (status)
        return status;
    struct sim_pool *pool = sim_object_find(SIM_POOL, handle);
    if (!pool || pool->device != number)
        return CUDA_ERROR_INVALID_VALUE;
    device->current_pool = pool;
    return CUDA_SUCCESS;
}
