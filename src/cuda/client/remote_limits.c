/* Refuses what a driver offers only for its own host: attributes of devices, and host memory that
 * the driver would allocate. */
#include "config.h"

#include "cuda/client/client.h"
#include "cuda/client/device_facts.h"
#include "cuda/client/instance.h"
#include "cuda/common/memory_token.h"
#include "proto/cuda-client.h"

/* ---- attributes of devices ---- */

/*
 * Attributes that are always 0. The GPU does not reach the program's pageable memory. Writes to
 * managed memory reach the other side only at launches and synchronizations (docs/runtime.md). Host
 * memory that the driver allocates is on the server's host, and so are the devices that use a
 * dma-buf.
 */
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
           attribute == CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ||
           attribute == CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED ||
           attribute == CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS ||
           attribute == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED;
}

CUresult ath_cuda_by_hand_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute,
                                               CUdevice device)
{
    uint64_t there;
    if (!ath_cuda_is_lost() && ath_instance_to_wire(ATH_CUDA_KIND_DEVICE, (uint64_t)device, &there))
        ath_cuda_device_facts_fetch((int)there);
    CUresult status = ath_cuda_do_cuDeviceGetAttribute(value, attribute, device);
    if (!status && is_taken_away(attribute))
        *value = 0;
    return status;
}

/* ---- host memory that the driver allocates ---- It would be on the server, and the program would
 * follow addresses where it has nothing mapped. */

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
