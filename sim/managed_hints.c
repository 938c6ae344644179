/* Hints about managed memory: they are checked, and have no effect. */
#include "config.h"

#include "sim/capture.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/range.h"
#include "sim/sim.h"
#include "sim/stream.h"
#include "sim/work.h"

static CUresult hint(CUdeviceptr address, size_t bytes)
{
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    const struct sim_range *range = sim_range_at(address);
    return bytes && range && range->memory == SIM_MANAGED_MEMORY && sim_is_known(address, bytes)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static bool is_location(CUmemLocation location)
{
    switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return sim_device(location.id);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return true;
    default:
        return false;
    }
}

static CUmemLocation location_of(CUdevice device)
{
    CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST };
    CUmemLocation of_device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device };
    return device == CU_DEVICE_CPU ? host : of_device;
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                        CUmemLocation location)
{
    SIM_LOCKED;
    bool wants_location = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                          advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                          advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    CUresult status = hint(address, bytes);
    if (!status &&
        (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY ||
         (wants_location && !is_location(location))))
        return CUDA_ERROR_INVALID_VALUE;
    return status;
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
    return cuMemAdvise_v2(address, bytes, advice, location_of(device));
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location,
                               unsigned int flags, CUstream handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (!status)
        status = hint(address, bytes);
    if (!status && (flags || !is_location(location)))
        status = CUDA_ERROR_INVALID_VALUE;
    if (status)
        return status;
    if (stream->capture)
        return sim_capture_refuse(stream);
    return sim_submit(stream, sim_work_new(CU_GRAPH_NODE_TYPE_EMPTY, sim_run_nothing, NULL), NULL);
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
    return cuMemPrefetchAsync_v2(address, bytes, location_of(device), 0, stream);
}

CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t bytes,
                                unsigned int flags)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (status)
        return status;
    const struct sim_range *range = sim_range_at(address);
    if (!range || range->memory != SIM_MANAGED_MEMORY || (bytes && bytes != range->bytes) ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
         flags != CU_MEM_ATTACH_SINGLE))
        return CUDA_ERROR_INVALID_VALUE;
    return sim_submit(stream, sim_work_new(CU_GRAPH_NODE_TYPE_EMPTY, sim_run_nothing, NULL), NULL);
}
