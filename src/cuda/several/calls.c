/* Calls that convert devices or functions inside their parameters. */
#include "config.h"

#include <string.h>

#include "base/cleanup.h"
#include "cuda/client/allocate.h"
#include "cuda/several/libraries.h"
#include "cuda/several/several.h"
#include "proto/cuda-client.h"

/* ---- places of managed memory ---- */

static bool is_list_of_devices(CUmem_range_attribute attribute)
{
    switch ((int)attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        return true;
    default:
        return false;
    }
}

static void take_devices(const struct ath_several *to, CUmem_range_attribute attribute, void *data,
                         size_t size)
{
    int device;
    for (size_t i = 0; is_list_of_devices(attribute) && i + sizeof device <= size;
         i += sizeof device) {
        memcpy(&device, (char *)data + i, sizeof device);
        if (device >= 0)
            device = ath_several_device_to_own(to->self.index, device);
        memcpy((char *)data + i, &device, sizeof device);
    }
}

CUresult ath_cuda_do_cuMemRangeGetAttribute(void *data, size_t data_size,
                                            CUmem_range_attribute attribute, CUdeviceptr address,
                                            size_t count)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_address(address), &to);
    if (!status)
        status = to->calls.cuMemRangeGetAttribute(data, data_size, attribute, address, count);
    if (!status)
        take_devices(to, attribute, data, data_size);
    return status;
}

CUresult ath_cuda_by_hand_cuMemRangeGetAttributes(void **data, size_t *data_sizes,
                                                  CUmem_range_attribute *attributes,
                                                  size_t attribute_count, CUdeviceptr address,
                                                  size_t count)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_address(address), &to);
    if (!status)
        status = to->calls.cuMemRangeGetAttributes(data, data_sizes, attributes, attribute_count,
                                                   address, count);
    for (size_t i = 0; !status && i < attribute_count; i++)
        take_devices(to, attributes[i], data[i], data_sizes[i]);
    return status;
}

/* ---- one launch on several devices: their kernels wait for each other ---- */

CUresult ath_cuda_by_hand_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launches,
                                                               unsigned int device_count,
                                                               unsigned int flags)
{
    struct ath_several *to;
    unsigned int index = launches && device_count ? ath_several_of_stream(launches[0].hStream) : 0;
    CUresult status = ath_several_enter(index, &to);
    ath_auto_free CUDA_LAUNCH_PARAMS *there =
        ath_cuda_allocate((device_count + (size_t)1) * sizeof *there);
    if (!status && !there)
        status = CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned int i = 0; !status && launches && i < device_count; i++) {
        there[i] = launches[i];
        if (ath_several_of_stream(launches[i].hStream) != index)
            return ath_several_refuse("cuLaunchCooperativeKernelMultiDevice",
                                      "the devices are at two servers");
        status = ath_several_function_there(to, &there[i].function);
    }
    return status ? status
                  : to->calls.cuLaunchCooperativeKernelMultiDevice(launches ? there : NULL,
                                                                   device_count, flags);
}
