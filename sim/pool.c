/*
 * Stream-ordered allocation, and its pools.
 *
 * An address is returned at the call; memory is freed when the stream reaches the free. A pool is
 * two counts: the memory that it has taken from the device, and the part in use.
 */
#include "config.h"

#include "sim/pool.h"

#include <stdlib.h>
#include <unistd.h>

#include "sim/capture.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/device_memory.h"
#include "sim/facts.h"
#include "sim/graph_memory.h"
#include "sim/range.h"
#include "sim/stream.h"
#include "sim/work.h"

struct sim_pool {
    struct sim_object object;
    struct sim_pool *next; /* of all pools */
    int device;
    bool is_default, is_destroyed;
    CUmemPoolProps props;
    int fd;       /* of an imported pool: the arena of its memory; -1 */
    int reuse[3]; /* CU_MEMPOOL_ATTR_REUSE_*: stored, without effect */
    uint64_t threshold, reserved, reserved_high, used, used_high;
};

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

/* ---- allocation ---- */

/* The memory of graphs on each device, and its maximum so far. */
static struct {
    uint64_t bytes, high;
} of_graphs[SIM_DEVICES_MAX];

static void end_of_graph(struct sim_work *work)
{
    if (!work->range)
        return;
    of_graphs[work->range->device].bytes -= work->range->bytes;
    sim_range_end(work->range);
}

static CUresult run_allocation(struct sim_work *work, struct sim_context *context)
{
    (void)context;
    sim_lock();
    work->range->is_unmapped = false;
    sim_unlock();
    return CUDA_SUCCESS;
}

/* The memory exists at once, and as long as the graph; it belongs to no pool. */
static CUresult make_graph_memory(struct sim_context *context, int device, size_t bytes,
                                  struct sim_work **out)
{
    struct sim_range *range;
    CUresult status = sim_device_memory(context, device, bytes, NULL, &range);
    if (status)
        return status;
    struct sim_work *work =
        sim_work_new(CU_GRAPH_NODE_TYPE_MEM_ALLOC, run_allocation, end_of_graph);
    if (!work) {
        sim_range_end(range);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    range->is_of_graph = range->is_unmapped = true;
    work->range = range;
    of_graphs[device].bytes += range->bytes;
    if (of_graphs[device].high < of_graphs[device].bytes)
        of_graphs[device].high = of_graphs[device].bytes;
    *out = work;
    return CUDA_SUCCESS;
}

CUresult sim_graph_memory_work(CUDA_MEM_ALLOC_NODE_PARAMS *params, struct sim_work **out)
{
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if (!params || !params->bytesize || !sim_device(params->poolProps.location.id) ||
        params->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return CUDA_ERROR_INVALID_VALUE;
    status = make_graph_memory(context, params->poolProps.location.id, params->bytesize, out);
    if (!status)
        params->dptr = (*out)->range->base;
    return status;
}

static CUresult allocate_in_graph(CUdeviceptr *out, size_t bytes, int device,
                                  struct sim_stream *stream)
{
    struct sim_work *work;
    CUresult status = make_graph_memory(stream->object.context, device, bytes, &work);
    if (status)
        return status;
    CUdeviceptr address = work->range->base;
    status = sim_submit(stream, work, NULL);
    if (!status)
        *out = address;
    return status;
}

static CUresult allocate(CUdeviceptr *out, size_t bytes, struct sim_pool *pool,
                         struct sim_stream *stream)
{
    struct sim_context *context = stream->object.context;
    struct sim_range *range;
    int device = pool->device;
    if (stream->capture)
        return allocate_in_graph(out, bytes, device, stream);
    CUresult status = sim_device_memory(context, device, bytes, pool, &range);
    if (status == CUDA_ERROR_OUT_OF_MEMORY) {
        status = sim_context_drain(context);
        if (!status)
            status = sim_device_memory(context, device, bytes, pool, &range);
    }
    if (!status)
        *out = range->base;
    return status;
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool handle,
                                 CUstream stream_handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(stream_handle, &stream);
    if (status)
        return status;
    struct sim_pool *pool = sim_object_find(SIM_POOL, handle);
    if (!out || !bytes || !pool || pool->fd >= 0) /* an imported pool allocates nothing */
        return CUDA_ERROR_INVALID_VALUE;
    return allocate(out, bytes, pool, stream);
}

CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream stream_handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(stream_handle, &stream);
    if (status)
        return status;
    if (!out || !bytes)
        return CUDA_ERROR_INVALID_VALUE;
    return allocate(out, bytes, sim_device(stream->object.context->device)->current_pool, stream);
}

static CUresult run_free(struct sim_work *work, struct sim_context *context)
{
    (void)context;
    SIM_LOCKED;
    sim_range_end(work->range);
    work->range = NULL;
    return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream_handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(stream_handle, &stream);
    if (status)
        return status;
    struct sim_range *range = sim_range_at(address);
    bool is_freed_so = range && (range->memory == SIM_DEVICE_MEMORY ||
                                 (range->memory == SIM_FOREIGN_MEMORY && range->pool));
    if (!is_freed_so || range->base != address || range->is_leaving)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture && !range->is_of_graph)
        return sim_capture_refuse(stream);
    struct sim_work *work = sim_work_new(CU_GRAPH_NODE_TYPE_MEM_FREE,
                                         range->is_of_graph ? sim_run_nothing : run_free, NULL);
    if (work && !range->is_of_graph) {
        work->range = range;
        range->is_leaving = true;
    }
    return sim_submit(stream, work, NULL);
}

/* ---- pools ---- */

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

/* ---- memory of graphs ---- */

CUresult cuDeviceGetGraphMemAttribute(CUdevice number, CUgraphMem_attribute attribute, void *value)
{
    SIM_LOCKED;
    struct sim_device *device;
    CUresult status = sim_enter_device(number, &device);
    if (status)
        return status;
    if (!value || attribute > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
        return CUDA_ERROR_INVALID_VALUE;
    bool is_high = attribute == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH ||
                   attribute == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;
    *(uint64_t *)value = is_high ? of_graphs[number].high : of_graphs[number].bytes;
    return CUDA_SUCCESS;
}

/* Only a high mark can be set, to zero, which restarts it. */
CUresult cuDeviceSetGraphMemAttribute(CUdevice number, CUgraphMem_attribute attribute, void *value)
{
    SIM_LOCKED;
    struct sim_device *device;
    CUresult status = sim_enter_device(number, &device);
    if (status)
        return status;
    if (!value || *(uint64_t *)value ||
        (attribute != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH &&
         attribute != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
        return CUDA_ERROR_INVALID_VALUE;
    of_graphs[number].high = of_graphs[number].bytes;
    return CUDA_SUCCESS;
}

/* A graph owns its memory as long as it lives, so there is no unused memory to give back. */
CUresult cuDeviceGraphMemTrim(CUdevice number)
{
    SIM_LOCKED;
    struct sim_device *device;
    return sim_enter_device(number, &device);
}
