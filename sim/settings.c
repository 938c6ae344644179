/* Settings, most of them without effect on the simulated device, and operations on values. */
#include "config.h"

#include "sim/sim.h"

#include <string.h>

#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/function.h"
#include "sim/stream.h"

/* ---- settings that change nothing on the simulated device ---- */

CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (!status && (unsigned int)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return CUDA_ERROR_INVALID_VALUE;
    return status;
}

CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(function, &code);
    if (!status && (unsigned int)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return CUDA_ERROR_INVALID_VALUE;
    return status;
}

/* The attributes of a stream that can be set, beside its priority. */
static bool is_stream_attribute(CUstreamAttrID id)
{
    return id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW ||
           id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
           id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP ||
           id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN || id == CU_LAUNCH_ATTRIBUTE_PRIORITY;
}

CUresult cuStreamSetAttribute(CUstream handle, CUstreamAttrID id, const CUstreamAttrValue *value)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (status)
        return status;
    if (!value || !is_stream_attribute(id))
        return CUDA_ERROR_INVALID_VALUE;
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        stream->priority = value->priority;
    else
        stream->attributes[id] = *value;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(CUstream handle, CUstreamAttrID id, CUstreamAttrValue *value)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (status)
        return status;
    if (!value || !is_stream_attribute(id))
        return CUDA_ERROR_INVALID_VALUE;
    memset(value, 0, sizeof *value);
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        value->priority = stream->priority;
    else
        *value = stream->attributes[id];
    return CUDA_SUCCESS;
}

CUresult cuStreamCopyAttributes(CUstream to_handle, CUstream from_handle)
{
    SIM_LOCKED;
    struct sim_stream *to, *from;
    CUresult status = sim_enter_stream(to_handle, &to);
    if (!status)
        status = sim_enter_stream(from_handle, &from);
    if (!status && to != from)
        memcpy(to->attributes, from->attributes, sizeof to->attributes);
    return status;
}

/* ---- several value operations in one call ---- */

static CUresult do_value_op(CUstream stream, const CUstreamBatchMemOpParams *op)
{
    switch (op->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return cuStreamWaitValue32_v2(stream, op->waitValue.address, op->waitValue.value,
                                      op->waitValue.flags);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return cuStreamWaitValue64_v2(stream, op->waitValue.address, op->waitValue.value64,
                                      op->waitValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return cuStreamWriteValue32_v2(stream, op->writeValue.address, op->writeValue.value,
                                       op->writeValue.flags);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return cuStreamWriteValue64_v2(stream, op->writeValue.address, op->writeValue.value64,
                                       op->writeValue.flags);
    case CU_STREAM_MEM_OP_BARRIER:
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops,
                               unsigned int flags)
{
    CUresult status =
        !ops || !count || count > 256 || flags ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    for (unsigned int i = 0; i < count && !status; i++)
        status = do_value_op(stream, &ops[i]);
    return status;
}

/* ---- the pools of a location (CUDA 13): the device's ---- */

static CUresult device_of(const CUmemLocation *location, CUmemAllocationType type, CUdevice *out)
{
    if (!location)
        return CUDA_ERROR_INVALID_VALUE;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_NOT_SUPPORTED;
    *out = location->id;
    return CUDA_SUCCESS;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *location,
                                CUmemAllocationType type)
{
    CUdevice device;
    CUresult status = device_of(location, type, &device);
    return status ? status : cuDeviceGetDefaultMemPool(out, device);
}

CUresult cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *location, CUmemAllocationType type)
{
    CUdevice device;
    CUresult status = device_of(location, type, &device);
    return status ? status : cuDeviceGetMemPool(out, device);
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
    CUdevice device;
    CUresult status = device_of(location, type, &device);
    return status ? status : cuDeviceSetMemPool(device, pool);
}

/*
 * A tensor map is opaque, and no simulated kernel reads one. The arguments are checked, and
 * returned as bytes that differ if the arguments differ.
 */
CUresult cuTensorMapEncodeTiled(CUtensorMap *out, CUtensorMapDataType type, uint32_t rank,
                                void *address, const uint64_t *dims, const uint64_t *strides,
                                const uint32_t *box, const uint32_t *element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill)
{
    if (!out || !rank || rank > 5 || (uintptr_t)address % 16 || !dims || !box || !element_strides ||
        (rank > 1 && !strides))
        return CUDA_ERROR_INVALID_VALUE;
    CUtensorMap map = { { (uint64_t)(uintptr_t)address,
                          (uint64_t)type | (uint64_t)rank << 8 | (uint64_t)interleave << 16 |
                              (uint64_t)swizzle << 24 | (uint64_t)promotion << 32 |
                              (uint64_t)fill << 40 } };
    for (uint32_t i = 0; i < rank; i++) {
        if (!dims[i] || dims[i] > (uint64_t)1 << 32 || !box[i] || box[i] > 256 ||
            !element_strides[i] || element_strides[i] > 8 || (i && strides[i - 1] % 16))
            return CUDA_ERROR_INVALID_VALUE;
        map.opaque[2 + i] = dims[i];
        map.opaque[7 + i] = (uint64_t)box[i] << 32 | element_strides[i];
        if (i)
            map.opaque[11 + i] = strides[i - 1];
    }
    *out = map;
    return CUDA_SUCCESS;
}
