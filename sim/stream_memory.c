/*
 * Stream-ordered allocation from pools. An address is returned at the call; memory is freed when
 * the stream reaches the free.
 */
#include "config.h"

#include "sim/capture.h"
#include "sim/context.h"
#include "sim/device.h"
#include "sim/device_memory.h"
#include "sim/graph_memory.h"
#include "sim/pool.h"
#include "sim/range.h"
#include "sim/sim.h"
#include "sim/stream.h"
#include "sim/work.h"

static CUresult allocate_in_graph(CUdeviceptr *out, size_t bytes, int device,
                                  struct sim_stream *stream)
{
    struct sim_work *work;
    CUresult status = sim_graph_memory_make(stream->object.context, device, bytes, &work);
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
