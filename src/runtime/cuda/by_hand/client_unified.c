/*
 * Calls that take any address: copies that find out the direction by themselves, and questions
 * about pointers. Where the answer needs the program's own memory it is given here.
 */
#include "config.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/cuda-client.h"
#include "runtime/cuda/box.h"
#include "runtime/cuda/by_hand/captured.h"
#include "runtime/cuda/by_hand/host.h"
#include "runtime/cuda/by_hand/share.h"
#include "runtime/cuda/by_hand/sides.h"
#include "runtime/cuda/by_hand/snapshot.h"
#include "runtime/cuda/bytes.h"
#include "runtime/cuda/client.h"
#include "runtime/cuda/instance.h"

/* ---- whose address it is ---- */

enum side { SIDE_GPU, SIDE_HOST };

/* Whether the program has a page there. mincore() says ENOMEM of one that is not mapped. */
static bool is_mapped_here(CUdeviceptr address)
{
    unsigned char resident;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return !mincore((void *)((uintptr_t)address / page * page), 1, &resident);
}

/*
 * Memory that the server reaches under its own address counts as the GPU's. Of what is mapped in
 * the program the GPU may still have an allocation of the same address, so the server is asked.
 */
static enum side side_of(CUdeviceptr address, size_t bytes)
{
    struct ath_cuda_host found;
    CUdeviceptr base;
    size_t size;
    if (ath_cuda_host_find((const void *)(uintptr_t)address, &found))
        return ath_cuda_host_reaches((const void *)(uintptr_t)address, bytes) ? SIDE_GPU
                                                                              : SIDE_HOST;
    if (!is_mapped_here(address))
        return SIDE_GPU;
    return ath_cuda_do_cuMemGetAddressRange_v2(&base, &size, address) ? SIDE_HOST : SIDE_GPU;
}

bool ath_cuda_is_program_memory(CUdeviceptr address, size_t bytes)
{
    return side_of(address, bytes) == SIDE_HOST;
}

/* MS_ASYNC does nothing since Linux 2.6.19 but to say ENOMEM where a part is not mapped: msync(2).
 */
bool ath_cuda_is_all_mapped(const void *address, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)address / page * page;
    return !msync((void *)begin, (uintptr_t)address - begin + bytes, MS_ASYNC) || errno != ENOMEM;
}

bool ath_cuda_is_too_much(CUdeviceptr to, size_t to_bytes, const void *from, size_t from_bytes)
{
    enum { LOOKED_AT = 64 * 1024 }; /* less is not worth a system call */
    CUdeviceptr base = 0;
    size_t size = 0;
    if (from_bytes < LOOKED_AT || ath_cuda_is_all_mapped(from, from_bytes) ||
        ath_cuda_do_cuMemGetAddressRange_v2(&base, &size, to))
        return false;
    return to_bytes > size - (to - base);
}

/* ---- copies ---- */

/* On the server by its own unified copy: from and to may be host memory that it reaches. */
static CUresult copy_there(CUdeviceptr dst, CUdeviceptr src, size_t byte_count, CUstream stream)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemcpyAsync);
    if (status)
        return status;
    struct ath_cuda_side *side = &exchange.side;
    struct ath_cuda_wire_memcpy_async_builder call =
        ath_cuda_wire_call_init_memcpy_async(exchange.call);
    ath_cuda_wire_memcpy_async_set_dst(call, ath_cuda_to_wire(side, ATH_CUDA_KIND_ADDRESS, dst));
    ath_cuda_wire_memcpy_async_set_src(call, ath_cuda_to_wire(side, ATH_CUDA_KIND_ADDRESS, src));
    ath_cuda_wire_memcpy_async_set_byte_count(call, byte_count);
    ath_cuda_wire_memcpy_async_set_stream(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    return ath_cuda_end(&exchange, ath_cuda_post(&exchange));
}

/* Into a graph, as each of its launches does it. */
static CUresult capture_here(CUdeviceptr dst, CUdeviceptr src, size_t byte_count, CUstream stream)
{
    CUDA_MEMCPY3D_PEER row = ath_cuda_box_from_host((const void *)(uintptr_t)src, byte_count);
    row.dstMemoryType = CU_MEMORYTYPE_HOST;
    row.dstHost = (void *)(uintptr_t)dst;
    return ath_cuda_captured_box(&row, stream);
}

/* Between two places of the program's, in the stream's order: what is before is waited for. */
static CUresult copy_here(CUdeviceptr dst, CUdeviceptr src, size_t byte_count, CUstream stream)
{
    if (ath_cuda_captures(stream))
        return capture_here(dst, src, byte_count, stream);
    CUresult status = ath_cuda_do_cuStreamSynchronize(stream);
    if (!status)
        memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, byte_count);
    return status;
}

CUresult ath_cuda_by_hand_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t byte_count,
                                        CUstream stream)
{
    if (!byte_count)
        return ath_cuda_ready(ATH_CUDA_METHOD_cuMemcpyAsync);
    if (!dst || !src)
        return CUDA_ERROR_INVALID_VALUE;
    enum side to = side_of(dst, byte_count), from = side_of(src, byte_count);
    if (to == SIDE_GPU && from == SIDE_GPU)
        return copy_there(dst, src, byte_count, stream);
    if (to == SIDE_GPU)
        return ath_cuda_by_hand_cuMemcpyHtoDAsync_v2(dst, (const void *)(uintptr_t)src, byte_count,
                                                     stream);
    if (from == SIDE_GPU)
        return ath_cuda_by_hand_cuMemcpyDtoHAsync_v2((void *)(uintptr_t)dst, src, byte_count,
                                                     stream);
    return copy_here(dst, src, byte_count, stream);
}

/* Between host and GPU it has been done when the call returns. */
CUresult ath_cuda_by_hand_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t byte_count)
{
    CUresult status = ath_cuda_by_hand_cuMemcpyAsync(dst, src, byte_count, NULL);
    return status || !byte_count ? status : ath_cuda_do_cuStreamSynchronize(NULL);
}

/* The copies of a batch may run in any order, so this one will do. What the attributes say of the
 * sources' lifetime and place are hints. */
/* NOLINTBEGIN(readability-non-const-parameter): as CUDA declares them */
CUresult ath_cuda_by_hand_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                                size_t count, CUmemcpyAttributes *attributes,
                                                size_t *attribute_indexes, size_t attribute_count,
                                                CUstream stream)
{
    CUresult status = CUDA_SUCCESS;
    if (!count || !dsts || !srcs || !sizes || !stream ||
        (attribute_count && (!attributes || !attribute_indexes)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !status && i < count; i++)
        status = ath_cuda_by_hand_cuMemcpyAsync(dsts[i], srcs[i], sizes[i], stream);
    return status;
}

CUresult ath_cuda_by_hand_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                             size_t count, CUmemcpyAttributes *attributes,
                                             size_t *attribute_indexes, size_t attribute_count,
                                             size_t *fail_index, CUstream stream)
{
    CUresult status = ath_cuda_by_hand_cuMemcpyBatchAsync_v2(
        dsts, srcs, sizes, count, attributes, attribute_indexes, attribute_count, stream);
    if (status && fail_index)
        *fail_index = SIZE_MAX; /* none in particular */
    return status;
}
/* NOLINTEND(readability-non-const-parameter) */

/* ---- attributes of pointers ---- */

static void put_u32(void *to, uint32_t value)
{
    memcpy(to, &value, sizeof value);
}

static void put_u64(void *to, uint64_t value)
{
    memcpy(to, &value, sizeof value);
}

/* Pinned memory that the server does not know. */
static CUresult describe(const struct ath_cuda_host *host, CUpointer_attribute attribute,
                         CUdeviceptr address, void *to)
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
        put_u64(to, host->id << 32); /* the server's own are small */
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
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return CUDA_ERROR_INVALID_VALUE;
    default:
        break;
    }
    return CUDA_SUCCESS;
}

/* What the server says of its context, device and pool, as the program has them. */
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

static CUresult ask_attributes(unsigned int attribute_count, CUpointer_attribute *attributes,
                               void **data, CUdeviceptr address)
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
    status = ath_cuda_ask(&exchange);
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
    struct ath_cuda_host host;
    CUresult status = CUDA_SUCCESS;
    if (!attribute_count || !attributes || !data)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < attribute_count; i++)
        if (!data[i] || !ath_cuda_bytes_of_pointer_attribute(attributes[i]))
            return CUDA_ERROR_INVALID_VALUE;
    if (!ath_cuda_host_find((const void *)(uintptr_t)address, &host) || host.is_mapped)
        return ask_attributes(attribute_count, attributes, data, address);
    for (unsigned int i = 0; !status && i < attribute_count; i++)
        status = describe(&host, attributes[i], address, data[i]);
    return status;
}

CUresult ath_cuda_by_hand_cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
                                                CUdeviceptr address)
{
    struct ath_cuda_host host;
    if (!data || !ath_cuda_bytes_of_pointer_attribute(attribute))
        return CUDA_ERROR_INVALID_VALUE;
    if (ath_cuda_host_find((const void *)(uintptr_t)address, &host) && !host.is_mapped)
        return describe(&host, attribute, address, data);
    CUresult status = ath_cuda_do_cuPointerGetAttribute(data, attribute, address);
    if (!status)
        take_attribute(attribute, data);
    return status;
}

/* ---- attributes of devices that are otherwise through a network ---- */

/* The program's pageable memory is nothing that the GPU reaches, what either side
 * writes into managed memory the other sees at launches and synchronizations alone
 * (docs/architecture.md, 22), what the driver places in the host's memory is in the server's host,
 * and so are devices that a dma-buf is for. */
static bool is_taken_away(CUdevice_attribute attribute)
{
    return attribute == CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS ||
           attribute == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS ||
           attribute == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES ||
           attribute == CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST ||
           attribute == CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED ||
           attribute == CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ||
           attribute == CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED ||
           attribute == CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED ||
           attribute == CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS ||
           attribute == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED;
}

CUresult ath_cuda_by_hand_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                               CUdevice device)
{
    uint64_t there;
    if (!ath_cuda_is_lost() && ath_instance_to_wire(ATH_CUDA_KIND_DEVICE, (uint64_t)device, &there))
        ath_cuda_snapshot((int)there);
    CUresult status = ath_cuda_do_cuDeviceGetAttribute(value, attribute, device);
    if (!status && is_taken_away(attribute))
        *value = 0;
    return status;
}

/* ---- memory that the driver places in a host: it would be the server's, and the program would
 * follow addresses to where it has nothing ---- */

static bool is_of_host(const CUmemLocation *location, CUmemAllocationType type)
{
    return location->type == CU_MEM_LOCATION_TYPE_HOST ||
           location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
           location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT ||
           type == CU_MEM_ALLOCATION_TYPE_MANAGED;
}

CUresult ath_cuda_by_hand_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                                      const CUmemAllocationProp *properties,
                                      unsigned long long flags)
{
    ath_cuda_shares_sweep();
    return properties && is_of_host(&properties->location, properties->type)
               ? CUDA_ERROR_NOT_SUPPORTED
               : ath_cuda_do_cuMemCreate(handle, size, properties, flags);
}

CUresult ath_cuda_by_hand_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties)
{
    return properties && is_of_host(&properties->location, properties->allocType)
               ? CUDA_ERROR_NOT_SUPPORTED
               : ath_cuda_do_cuMemPoolCreate(pool, properties);
}

CUresult ath_cuda_by_hand_cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location,
                                                 CUmemAllocationType type)
{
    return location && is_of_host(location, type)
               ? CUDA_ERROR_NOT_SUPPORTED
               : ath_cuda_do_cuMemGetDefaultMemPool(pool, location, type);
}

CUresult ath_cuda_by_hand_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location,
                                          CUmemAllocationType type)
{
    return location && is_of_host(location, type)
               ? CUDA_ERROR_NOT_SUPPORTED
               : ath_cuda_do_cuMemGetMemPool(pool, location, type);
}
