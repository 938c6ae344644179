/* The values of cuPointerGetAttribute. */
#include "config.h"

#include "sim/sim.h"

#include <string.h>

#include "sim/device.h"
#include "sim/range.h"

union value {
    unsigned int small;
    int number;
    size_t size;
    unsigned long long large;
    void *pointer;
};

static bool is_host(const struct sim_range *range)
{
    return range->memory == SIM_HOST_MEMORY || range->memory == SIM_REGISTERED_MEMORY;
}

/* Gets the value and returns its size in bytes; 0: no such attribute. range NULL: unknown
 * address. */
static size_t ask(CUpointer_attribute attribute, CUdeviceptr address, const struct sim_range *range,
                  union value *out)
{
    *out = (union value){ 0 };
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        out->pointer =
            range && !range->pool && range->memory != SIM_MAPPED_MEMORY ? range->context : NULL;
        return sizeof out->pointer;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        if (range)
            out->small = is_host(range) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return sizeof out->small;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        out->large = range ? address : 0;
        return sizeof out->large;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (range && (is_host(range) || range->memory == SIM_MANAGED_MEMORY))
            out->large = address;
        return sizeof out->large;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        out->number = range && range->is_sync_memops;
        return sizeof out->number;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        out->large = range ? range->id : 0;
        return sizeof out->large;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        out->number = range && range->memory == SIM_MANAGED_MEMORY;
        return sizeof out->number;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        out->number = range ? range->device : CU_DEVICE_INVALID;
        return sizeof out->number;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return sizeof out->number;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        out->large = range ? range->base : 0;
        return sizeof out->large;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        out->size = range ? range->bytes : 0;
        return sizeof out->size;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        out->number = range != NULL;
        return sizeof out->number;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        if (range && range->memory == SIM_MAPPED_MEMORY)
            out->large = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        return sizeof out->large;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        if (range && range->is_writable)
            out->small = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        else if (range && range->is_readable)
            out->small = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ;
        return sizeof out->small;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        out->pointer = range ? range->pool : NULL;
        return sizeof out->pointer;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        out->large = range ? range->id : 0;
        return sizeof out->large;
    default:
        return 0;
    }
}

static const struct sim_range *told_range(CUdeviceptr address)
{
    const struct sim_range *range = sim_range_at(address);
    return range && range->is_unmapped ? NULL : range;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
    SIM_LOCKED;
    union value value;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_range *range = told_range(address);
    size_t bytes = ask(attribute, address, range, &value);
    bool wants_host = attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER;
    if (!data || !bytes || !range || (wants_host && !value.large))
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(data, &value, bytes);
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes, void **data,
                                CUdeviceptr address)
{
    SIM_LOCKED;
    union value value;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (!count || !attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    const struct sim_range *range = told_range(address);
    for (unsigned int i = 0; i < count; i++) {
        size_t bytes = ask(attributes[i], address, range, &value);
        if (!bytes || !data[i])
            return CUDA_ERROR_INVALID_VALUE;
        memcpy(data[i], &value, bytes);
    }
    return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr address)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_range *range = sim_range_at(address);
    if (!value || !range || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return CUDA_ERROR_INVALID_VALUE;
    range->is_sync_memops = *(const unsigned int *)value != 0;
    return CUDA_SUCCESS;
}
