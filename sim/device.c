/*
 * The simulated devices. Each is a small GPU of compute capability 9.0; its memory uses real memory
 * only where it was written. facts.h lists what a user can choose.
 */
#include "config.h"

#include "sim/device.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/facts.h"
#include "sim/pool.h"
#include "sim/thread.h"

static struct {
    bool is_done, is_forked;
    int count;
    int numbers[SIM_DEVICES_MAX]; /* as facts.h counts */
    struct sim_device devices[SIM_DEVICES_MAX];
} state;

/* Values of cuDeviceGetAttribute; all others are 0: not supported. */
static const int attributes[] = {
    [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X] = 1024,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y] = 1024,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z] = 64,
    [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = INT_MAX,
    [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535,
    [CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535,
    [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 49152,
    [CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY] = 65536,
    [CU_DEVICE_ATTRIBUTE_WARP_SIZE] = 32,
    [CU_DEVICE_ATTRIBUTE_MAX_PITCH] = INT_MAX,
    [CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = 65536,
    [CU_DEVICE_ATTRIBUTE_CLOCK_RATE] = 1000000,
    [CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT] = 512,
    [CU_DEVICE_ATTRIBUTE_GPU_OVERLAP] = 1,
    [CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 16,
    [CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY] = 1,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH] = 131072,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH] = 131072,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT] = 65536,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH] = 16384,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT] = 16384,
    [CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH] = 16384,
    [CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT] = 512,
    [CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS] = 1,
    [CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = 1000000,
    [CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH] = 512,
    [CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = 8 << 20,
    [CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = 2048,
    [CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT] = 2,
    [CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING] = 1,
    [CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID] = SIM_PCI_DOMAIN,
    [CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT] = 32,
    [CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = SIM_COMPUTE_MAJOR,
    [CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR] = SIM_COMPUTE_MINOR,
    [CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = 233472,
    [CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR] = 65536,
    [CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY] = 1,
    [CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED] = 0,
    [CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO] = 2,
    [CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = 1,
    [CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM] = 1,
    [CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS] = 1,
    [CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR] = 1,
    [CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH] = 1,
    [CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH] = 1,
    [CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 232448,
    [CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = 32,
    [CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] = 1024,
    [CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = 1,
    [CU_DEVICE_ATTRIBUTE_NUMA_ID] = -1,
    [CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID] = -1,
    [CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED] = 1,
    [CU_DEVICE_ATTRIBUTE_MAX - 1] = 0,
};

/* A forked child has none of the threads, and perhaps a lock that one of them held. */
static void begin_child(void)
{
    state.is_done = false;
    state.is_forked = true;
    sim_lock_anew();
}

CUresult sim_init(unsigned int flags)
{
    int count = sim_facts_visible(state.numbers);
    size_t bytes = sim_facts_memory_bytes();

    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (state.is_done)
        return CUDA_SUCCESS;
    if (state.is_forked)
        return CUDA_ERROR_NOT_INITIALIZED;
    if (!count || !bytes)
        return CUDA_ERROR_NO_DEVICE;
    for (int i = 0; i < count; i++) {
        state.devices[i].total_bytes = bytes;
        state.count = i + 1;
        CUresult status = sim_pools_start(i);
        if (status)
            return status;
    }
    if (pthread_atfork(NULL, NULL, begin_child))
        return CUDA_ERROR_OUT_OF_MEMORY;
    state.is_done = true;
    return CUDA_SUCCESS;
}

int sim_device_count(void)
{
    return state.count;
}

struct sim_device *sim_device(int number)
{
    return number >= 0 && number < state.count ? &state.devices[number] : NULL;
}

bool sim_charge(int device, size_t bytes)
{
    struct sim_device *of = sim_device(device);
    if (bytes > of->total_bytes - of->used_bytes)
        return false;
    of->used_bytes += bytes;
    return true;
}

void sim_discharge(int device, size_t bytes)
{
    sim_device(device)->used_bytes -= bytes;
}

int sim_device_number(int device)
{
    return state.numbers[device];
}

CUresult sim_enter_driver(void)
{
    if (sim_thread()->is_in_callback)
        return CUDA_ERROR_NOT_PERMITTED;
    return state.is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult sim_enter_device(int number, struct sim_device **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    *out = sim_device(number);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

/* ---- the functions ---- */

/* NVIDIA's driver writes the names of its threads since version 570, and does not start without. It
 * opens them as new files (strace of driver 580). */
static bool may_name_threads(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)gettid());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno == ENOENT;
}

CUresult cuInit(unsigned int flags)
{
    SIM_LOCKED;
    return may_name_threads() ? sim_init(flags) : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult cuDriverGetVersion(int *version)
{
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = SIM_DRIVER_VERSION;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = state.count;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    SIM_LOCKED;
    struct sim_device *found;
    CUresult status = sim_enter_device(ordinal, &found);
    if (status)
        return status;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    SIM_LOCKED;
    struct sim_device *found;
    CUresult status = sim_enter_device(device, &found);
    if (status)
        return status;
    if (!name || length < 1)
        return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)length, "%s", sim_device_name);
    return CUDA_SUCCESS;
}

static CUresult get_uuid(CUuuid *uuid, CUdevice device)
{
    SIM_LOCKED;
    struct sim_device *found;
    CUresult status = sim_enter_device(device, &found);
    if (status)
        return status;
    if (!uuid)
        return CUDA_ERROR_INVALID_VALUE;
    sim_device_uuid(sim_device_number(device), uuid->bytes);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    return get_uuid(uuid, device);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    return get_uuid(uuid, device);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    SIM_LOCKED;
    struct sim_device *found;
    CUresult status = sim_enter_device(device, &found);
    if (status)
        return status;
    if (!bytes)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = found->total_bytes;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    SIM_LOCKED;
    struct sim_device *found;
    CUresult status = sim_enter_device(device, &found);
    if (status)
        return status;
    if (!value || attribute < 1 || (size_t)attribute >= SIM_COUNT(attributes))
        return CUDA_ERROR_INVALID_VALUE;
    *value = attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID ? sim_device_bus(sim_device_number(device))
                                                         : attributes[attribute];
    if (attribute == CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES)
        *value = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (attribute == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES)
        *value = sim_facts_copies_late();
    return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
    CUresult status =
        cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    return status
               ? status
               : cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

CUresult cuDeviceGetProperties(CUdevprop *out, CUdevice device)
{
    SIM_LOCKED;
    struct sim_device *found;
    CUresult status = sim_enter_device(device, &found);
    if (status)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUdevprop){
        .maxThreadsPerBlock = attributes[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK],
        .maxThreadsDim = { 1024, 1024, 64 },
        .maxGridSize = { INT_MAX, 65535, 65535 },
        .sharedMemPerBlock = attributes[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK],
        .totalConstantMemory = attributes[CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY],
        .SIMDWidth = attributes[CU_DEVICE_ATTRIBUTE_WARP_SIZE],
        .memPitch = attributes[CU_DEVICE_ATTRIBUTE_MAX_PITCH],
        .regsPerBlock = attributes[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK],
        .clockRate = attributes[CU_DEVICE_ATTRIBUTE_CLOCK_RATE],
        .textureAlign = attributes[CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT],
    };
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device)
{
    SIM_LOCKED;
    struct sim_device *found;
    CUresult status = sim_enter_device(device, &found);
    if (status)
        return status;
    char address[16];
    int needed = sim_device_address(sim_device_number(device), address, sizeof address);
    if (!text || length <= needed)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(text, address, (size_t)needed + 1);
    return CUDA_SUCCESS;
}

/* Reads "fffe:01:00.0" as 0xfffe, 1 and 0; ignores what follows. */
static bool parse_address(const char *text, unsigned long out[3])
{
    for (int i = 0; i < 3; i++) {
        char *end;
        out[i] = strtoul(text, &end, 16);
        if (end == text || (i < 2 && *end != ':'))
            return false;
        text = end + 1;
    }
    return true;
}

CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *text)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    unsigned long parts[3];
    if (status)
        return status;
    if (!device || !text || !parse_address(text, parts))
        return CUDA_ERROR_INVALID_VALUE;
    for (int i = 0; i < state.count && parts[0] == SIM_PCI_DOMAIN && !parts[2]; i++)
        if ((unsigned long)sim_device_bus(sim_device_number(i)) == parts[1]) {
            *device = i;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    SIM_LOCKED;
    struct sim_device *found;
    CUresult status = sim_enter_device(device, &found);
    if (!status)
        status = sim_enter_device(peer, &found);
    if (status)
        return status;
    if (!can)
        return CUDA_ERROR_INVALID_VALUE;
    *can = device != peer;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device,
                                 CUdevice peer)
{
    SIM_LOCKED;
    struct sim_device *found;
    CUresult status = sim_enter_device(device, &found);
    if (!status)
        status = sim_enter_device(peer, &found);
    if (status)
        return status;
    if (!value || device == peer)
        return device == peer ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
    *value = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
             attribute == CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetExecAffinitySupport(int *is_supported, CUexecAffinityType type, CUdevice device)
{
    SIM_LOCKED;
    struct sim_device *found;
    CUresult status = sim_enter_device(device, &found);
    (void)type;
    if (status)
        return status;
    if (!is_supported)
        return CUDA_ERROR_INVALID_VALUE;
    *is_supported = 0;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *elements, CUarray_format format,
                                            unsigned int channels, CUdevice device)
{
    SIM_LOCKED;
    struct sim_device *found;
    CUresult status = sim_enter_device(device, &found);
    (void)format;
    if (status)
        return status;
    if (!elements || (channels != 1 && channels != 2 && channels != 4))
        return CUDA_ERROR_INVALID_VALUE;
    *elements = (size_t)1 << 27;
    return CUDA_SUCCESS;
}
