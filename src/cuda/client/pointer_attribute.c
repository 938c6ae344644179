/*
 * Attributes of addresses. The client answers about pinned memory that the server does not know.
 * The answers about other memory hold until memory is freed (proto/cuda.capnp,
 * forgets): Triton asks about each argument before each launch.
 */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "cuda/client/answer_cache.h"
#include "cuda/client/client.h"
#include "cuda/client/graph_memory.h"
#include "cuda/client/instance.h"
#include "cuda/client/mirror.h"
#include "cuda/common/bytes.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

static void put_u32(void *to, uint32_t value)
{
    memcpy(to, &value, sizeof value);
}

static void put_u64(void *to, uint64_t value)
{
    memcpy(to, &value, sizeof value);
}

/* Attributes of pinned memory that the server does not know. */
static CUresult describe_pinned(const struct ath_cuda_host_memory *host,
                                CUpointer_attribute attribute, CUdeviceptr address, void *to)
{
    size_t bytes = ath_cuda_bytes_of_pointer_attribute(attribute);
    CUdevice device = 0;
    memset(to, 0, bytes);
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        put_u64(to, (uintptr_t)host->context);
        break;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        put_u32(to, CU_MEMORYTYPE_HOST);
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        put_u64(to, address);
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        put_u64(to, host->id << 32); /* the server's own ids are small */
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        if (!ath_cuda_do_cuCtxGetDevice(&device))
            put_u32(to, (uint32_t)device);
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        put_u64(to, host->address);
        break;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        put_u64(to, host->bytes);
        break;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        put_u32(to, 1);
        break;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        put_u32(to, CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
        break;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return CUDA_ERROR_INVALID_VALUE;
    default:
        break;
    }
    return CUDA_SUCCESS;
}

/* Converts a context, device or pool of the server's into the program's. */
static void take_attribute(CUpointer_attribute attribute, void *data)
{
    uint64_t handle;
    int32_t device;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        memcpy(&handle, data, sizeof handle);
        put_u64(data, ath_instance_to_own(ATH_CUDA_KIND_CONTEXT, handle));
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        memcpy(&handle, data, sizeof handle);
        put_u64(data, ath_instance_to_own(ATH_CUDA_KIND_MEMORY_POOL, handle));
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        memcpy(&device, data, sizeof device);
        put_u32(data,
                (uint32_t)ath_instance_to_own(ATH_CUDA_KIND_DEVICE, (uint64_t)(int64_t)device));
        break;
    default:
        break;
    }
}

/* The attributes that a program asks for together, and where it wants them. */
struct question {
    unsigned int count;
    const CUpointer_attribute *attributes;
    CUdeviceptr address;
};

/* Returns whether the answer is about memory that there is. Nothing is forgotten when memory is
 * made. */
static bool is_of_memory(const struct ath_cuda_exchange *exchange, const void *context)
{
    const struct question *question = context;
    struct ath_cuda_host_memory host;
    struct ath_wire_list values = ath_cuda_wire_pointer_get_attributes_result_values(
        ath_cuda_wire_answer_pointer_get_attributes(exchange->answer));
    for (uint32_t i = 0; i < values.count && i < question->count; i++) {
        uint32_t type = 0;
        if (question->attributes[i] != CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
            continue;
        ath_cuda_copy_bytes(&type, sizeof type, ath_wire_list_data(values, i));
        return type && !ath_cuda_host_find((const void *)(uintptr_t)question->address, &host);
    }
    return false;
}

/* A graph frees memory while it runs, which no call says. */
static void forget_if_of_graph(CUdeviceptr address)
{
    if (ath_cuda_is_graph_memory(address))
        ath_cuda_answer_cache_forget(ATH_CUDA_METHOD_cuMemFreeAsync);
}

static CUresult ask_pointer_attributes(unsigned int attribute_count,
                                       CUpointer_attribute *attributes, void **data,
                                       CUdeviceptr address)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuPointerGetAttributes);
    if (status)
        return status;
    struct ath_cuda_wire_pointer_get_attributes_builder call =
        ath_cuda_wire_call_init_pointer_get_attributes(exchange.call);
    struct ath_wire_array list =
        ath_cuda_wire_pointer_get_attributes_init_attributes(call, ath_cuda_items(attribute_count));
    for (uint32_t i = 0; i < list.count; i++)
        ath_wire_array_set_bits(list, i, (uint32_t)attributes[i]);
    ath_cuda_wire_pointer_get_attributes_set_address(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_ADDRESS, address));
    const struct question question = { attribute_count, attributes, address };
    forget_if_of_graph(address);
    status = ath_cuda_ask_cached_if(&exchange, is_of_memory, &question);
    if (!status) {
        struct ath_wire_list values = ath_cuda_wire_pointer_get_attributes_result_values(
            ath_cuda_wire_answer_pointer_get_attributes(exchange.answer));
        for (uint32_t i = 0; i < values.count && i < attribute_count; i++) {
            ath_cuda_copy_bytes(data[i], ath_cuda_bytes_of_pointer_attribute(attributes[i]),
                                ath_wire_list_data(values, i));
            take_attribute(attributes[i], data[i]);
        }
    }
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_by_hand_cuPointerGetAttributes(unsigned int attribute_count,
                                                 CUpointer_attribute *attributes, void **data,
                                                 CUdeviceptr address)
{
    struct ath_cuda_host_memory host;
    CUresult status = CUDA_SUCCESS;
    if (!attribute_count || !attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < attribute_count; i++)
        if (!data[i] || !ath_cuda_bytes_of_pointer_attribute(attributes[i]))
            return CUDA_ERROR_INVALID_VALUE;
    if (!ath_cuda_host_find((const void *)(uintptr_t)address, &host) || host.is_mapped)
        return ask_pointer_attributes(attribute_count, attributes, data, address);
    for (unsigned int i = 0; !status && i < attribute_count; i++)
        status = describe_pinned(&host, attributes[i], address, data[i]);
    return status;
}

CUresult ath_cuda_by_hand_cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
                                                CUdeviceptr address)
{
    struct ath_cuda_host_memory host;
    if (!data || !ath_cuda_bytes_of_pointer_attribute(attribute))
        return CUDA_ERROR_INVALID_VALUE;
    if (ath_cuda_host_find((const void *)(uintptr_t)address, &host))
        return host.is_mapped ? ask_pointer_attributes(1, &attribute, &data, address)
                              : describe_pinned(&host, attribute, address, data);
    forget_if_of_graph(address);
    CUresult status = ath_cuda_do_cuPointerGetAttribute(data, attribute, address);
    if (!status && attribute == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) /* the server notes the pool */
        return ask_pointer_attributes(1, &attribute, &data, address);
    if (!status)
        take_attribute(attribute, data);
    return status;
}

CUresult ath_cuda_by_hand_cuMemRangeGetAttributes(void **data, size_t *data_sizes,
                                                  CUmem_range_attribute *attributes,
                                                  size_t attribute_count, CUdeviceptr address,
                                                  size_t count)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemRangeGetAttributes);
    if (status)
        return status;
    if (!attribute_count || !attributes || !data || !data_sizes)
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    struct ath_cuda_wire_mem_range_get_attributes_builder call =
        ath_cuda_wire_call_init_mem_range_get_attributes(exchange.call);
    struct ath_wire_array list = ath_cuda_wire_mem_range_get_attributes_init_attributes(
        call, ath_cuda_items(attribute_count));
    struct ath_wire_array sizes =
        ath_cuda_wire_mem_range_get_attributes_init_sizes(call, ath_cuda_items(attribute_count));
    for (uint32_t i = 0; i < sizes.count; i++) {
        ath_wire_array_set_bits(list, i, (uint32_t)attributes[i]);
        ath_wire_array_set_bits(sizes, i, data_sizes[i]);
    }
    ath_cuda_wire_mem_range_get_attributes_set_address(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_ADDRESS, address));
    ath_cuda_wire_mem_range_get_attributes_set_count(call, count);
    status = ath_cuda_ask(&exchange);
    if (!status) {
        struct ath_wire_list values = ath_cuda_wire_mem_range_get_attributes_result_values(
            ath_cuda_wire_answer_mem_range_get_attributes(exchange.answer));
        for (uint32_t i = 0; i < values.count && i < attribute_count; i++)
            ath_cuda_copy_bytes(data[i], data_sizes[i], ath_wire_list_data(values, i));
    }
    return ath_cuda_end(&exchange, status);
}
