/* Device memory, which a program allocates and frees at once. */
#include "config.h"

#include "sim/device_memory.h"

#include "sim/address_space.h"
#include "sim/arena.h"
#include "sim/capture.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/pool.h"
#include "sim/range.h"
#include "sim/stream.h"

/* Returns the device memory that a range occupies. */
static size_t cost_of(size_t bytes)
{
    return sim_round_up(bytes, SIM_ALIGNMENT);
}

static bool pay(int device, size_t bytes, struct sim_pool *pool)
{
    return pool ? sim_pool_take(pool, bytes) : sim_charge(device, bytes);
}

static void refund(int device, size_t bytes, struct sim_pool *pool)
{
    if (pool)
        sim_pool_give(pool, bytes);
    else
        sim_discharge(device, bytes);
}

CUresult sim_device_memory(struct sim_context *context, int device, size_t bytes,
                           struct sim_pool *pool, struct sim_range **out)
{
    size_t slot_bytes = cost_of(bytes) + SIM_ALIGNMENT;
    struct sim_range range = {
        .bytes = bytes,
        .memory = SIM_DEVICE_MEMORY,
        .context = context,
        .device = device,
        .is_readable = true,
        .is_writable = true,
        .pool = pool,
    };
    if (bytes > sim_device(device)->total_bytes || !pay(device, cost_of(bytes), pool))
        return CUDA_ERROR_OUT_OF_MEMORY;
    bool has_slot = sim_arena_take(slot_bytes, &range.base, &range.backing);
    CUresult status = has_slot ? sim_range_add(&range, out) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!status)
        return CUDA_SUCCESS;
    if (has_slot)
        sim_arena_give(range.backing, slot_bytes);
    refund(device, cost_of(bytes), pool);
    return status;
}

void sim_device_memory_end(const struct sim_range *range)
{
    sim_arena_give(range->backing, cost_of(range->bytes) + SIM_ALIGNMENT);
    refund(range->device, cost_of(range->bytes), range->pool);
}

/* If the device has no memory, waits for streams that still have to free some, and tries again. */
static CUresult allocate(struct sim_context *context, size_t bytes, struct sim_range **out)
{
    CUresult status = sim_device_memory(context, context->device, bytes, NULL, out);
    if (status != CUDA_ERROR_OUT_OF_MEMORY)
        return status;
    status = sim_context_drain(context);
    return status ? status : sim_device_memory(context, context->device, bytes, NULL, out);
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    SIM_LOCKED;
    struct sim_context *context;
    struct sim_range *range = NULL;
    CUresult status = sim_enter_unless_captured(&context);
    if (!status && (!out || !bytes))
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = allocate(context, bytes, &range);
    if (range)
        *out = range->base;
    return status;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *out_pitch, size_t width_bytes, size_t height,
                            unsigned int element_bytes)
{
    size_t pitch = sim_round_up(width_bytes, SIM_ALIGNMENT);
    if (!out_pitch || !width_bytes || !height || pitch < width_bytes ||
        (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
        return CUDA_ERROR_INVALID_VALUE;
    if (height > SIZE_MAX / pitch)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = cuMemAlloc_v2(out, pitch * height);
    if (!status)
        *out_pitch = pitch;
    return status;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter_unless_captured(&context);
    if (status || !address)
        return status;
    struct sim_range *range = sim_range_at(address);
    if (!range || range->base != address || range->is_leaving ||
        (range->memory != SIM_DEVICE_MEMORY && range->memory != SIM_MANAGED_MEMORY &&
         !(range->memory == SIM_FOREIGN_MEMORY && range->pool)))
        return CUDA_ERROR_INVALID_VALUE;
    sim_drain_all();
    range = sim_range_at(address);
    if (!range || range->base != address)
        return CUDA_ERROR_INVALID_VALUE; /* another thread freed it meanwhile */
    if (!range->is_of_graph)
        sim_range_end(range);
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    const struct sim_device *device = sim_device(context->device);
    if (total_bytes)
        *total_bytes = device->total_bytes;
    if (free_bytes)
        *free_bytes = device->total_bytes - device->used_bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_range *range = sim_range_at(address);
    if (!range || range->is_unmapped)
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = range->base;
    if (bytes)
        *bytes = range->bytes;
    return CUDA_SUCCESS;
}
