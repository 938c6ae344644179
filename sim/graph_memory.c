/* Memory that graphs allocate: it exists at once, and as long as the graph. */
#include "config.h"

#include "sim/graph_memory.h"

#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/device_memory.h"
#include "sim/facts.h"
#include "sim/range.h"
#include "sim/work.h"

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

CUresult sim_graph_memory_make(struct sim_context *context, int device, size_t bytes,
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
    status = sim_graph_memory_make(context, params->poolProps.location.id, params->bytesize, out);
    if (!status)
        params->dptr = (*out)->range->base;
    return status;
}

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
