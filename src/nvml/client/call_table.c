/*
 * The function table that nvidia-smi gets by nvmlInternalGetExportTable(). Without it nvidia-smi
 * reports a version mismatch. NVIDIA does not document the table. Its known slots are published in
 * NVIDIA's own github.com/NVIDIA/k8s-test-infra (pkg/gpu/mocknvml, on 580.65) and were tried here
 * with nvidia-smi 580.159: slot 0 is the size of the table in bytes, and nvidia-smi calls the slots
 * below. What PCI_DISTANCE and NEAREST_CPU_NODES take and return was found out with nvidia-smi
 * 580.159 on two H200. The table exists for interoperability. ./configure --disable-runtime-tables
 * leaves it out, and nvidia-smi does not work then.
 */
#include "config.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nvml/api/nvml_functions.h"
#include "nvml/client/client.h"

#pragma GCC visibility push(default)
nvmlReturn_t nvmlInternalGetExportTable(const void **table, const void *id);
#pragma GCC visibility pop

#ifdef ATH_RUNTIME_TABLES

enum {
    SLOTS = 512,
    PCI_DISTANCE = 23,
    IS_MONITORED = 72,
    DEVICE_BY_INDEX = 81,
    COMPUTE_PROCESSES = 213,
    GRAPHICS_PROCESSES = 214,
    MPS_PROCESSES = 215,
    NEAREST_CPU_NODES = 223,
    HOST_MAX_LINK_GENERATION = 230,
    PROCESSES_MAX = 1024,
};

/* nvmlGpuTopologyLevel_t */
enum { INTERNAL = 0, SINGLE_SWITCH = 10, SYSTEM = 50, LEVEL_STEP = 10 };

typedef void (*slot)(void);

/* A process in the lists that the table returns. */
struct process {
    uint32_t pid;
    uint64_t used_bytes;
    uint32_t gpu_instance, compute_instance;
    uint64_t protected_bytes;
    char name[4096];
};

typedef nvmlReturn_t (*lister)(nvmlDevice_t device, unsigned int *count, nvmlProcessInfo_t *infos);

static nvmlReturn_t absent(void)
{
    return NVML_ERROR_NOT_SUPPORTED;
}

/* Returns whether `nvidia-smi dmon` and `nvidia-smi pmon` work for this device. */
static nvmlReturn_t is_monitored(nvmlDevice_t device, unsigned int *out)
{
    (void)device;
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = 1;
    return NVML_SUCCESS;
}

/* The meaning of flags is unknown. */
static nvmlReturn_t device_by_index(unsigned int index, nvmlDevice_t *device, unsigned int flags)
{
    (void)flags;
    return nvmlDeviceGetHandleByIndex_v2(index, device);
}

static void take_process(const nvmlProcessInfo_t *from, struct process *to)
{
    memset(to, 0, sizeof *to);
    to->pid = from->pid;
    to->used_bytes = from->usedGpuMemory;
    to->gpu_instance = from->gpuInstanceId;
    to->compute_instance = from->computeInstanceId;
    if (nvmlSystemGetProcessName(from->pid, to->name, sizeof to->name))
        snprintf(to->name, sizeof to->name, "[Not Found]"); /* the text that nvidia-smi uses */
}

static nvmlReturn_t list(lister ask, nvmlDevice_t device, unsigned int *count, struct process *out)
{
    nvmlProcessInfo_t infos[PROCESSES_MAX];
    if (!count || (*count && !out))
        return NVML_ERROR_INVALID_ARGUMENT;
    unsigned int found = *count < PROCESSES_MAX ? *count : PROCESSES_MAX;
    nvmlReturn_t status = ask(device, &found, infos);
    for (unsigned int i = 0; !status && i < found; i++)
        take_process(&infos[i], &out[i]);
    *count = status && status != NVML_ERROR_INSUFFICIENT_SIZE ? 0 : found;
    return status;
}

static nvmlReturn_t compute_processes(nvmlDevice_t device, unsigned int *count, struct process *out)
{
    return list(nvmlDeviceGetComputeRunningProcesses_v3, device, count, out);
}

static nvmlReturn_t graphics_processes(nvmlDevice_t device, unsigned int *count,
                                       struct process *out)
{
    return list(nvmlDeviceGetGraphicsRunningProcesses_v3, device, count, out);
}

static nvmlReturn_t mps_processes(nvmlDevice_t device, unsigned int *count, struct process *out)
{
    return list(nvmlDeviceGetMPSComputeRunningProcesses_v3, device, count, out);
}

/* Returns how many devices of all servers have the address, and one of them. */
static unsigned int find_by_bus_id(const char *id, nvmlDevice_t *out)
{
    unsigned int count = 0, found = 0;
    if (nvmlDeviceGetCount_v2(&count))
        return 0;
    for (unsigned int i = 0; i < count; i++) {
        nvmlDevice_t device;
        nvmlPciInfo_t pci;
        if (!nvmlDeviceGetHandleByIndex_v2(i, &device) && !nvmlDeviceGetPciInfo_v3(device, &pci) &&
            (!strcasecmp(pci.busId, id) || !strcasecmp(pci.busIdLegacy, id))) {
            *out = device;
            found++;
        }
    }
    return found;
}

/* The cell of `nvidia-smi topo -m`: 0 PIX, 1 PXB, 2 PHB, 3 NODE, 4 SYS. The table's numbers are
 * those of NVML in steps of one, and NVML's INTERNAL is PIX, too. */
static unsigned int cell_of(nvmlGpuTopologyLevel_t level)
{
    return level == INTERNAL ? 0 : (level - SINGLE_SWITCH) / LEVEL_STEP;
}

/* The distance of two addresses of GPUs and network ports. A network port is the program's
 * machine's, so it is far from all GPUs. GPUs of two servers can have one address: then it is not
 * known which of them is meant, and they are far, too. */
static nvmlReturn_t pci_distance(const char *one, const char *other, unsigned int *out)
{
    nvmlDevice_t first, second;
    nvmlGpuTopologyLevel_t level = SYSTEM;
    nvmlReturn_t status = NVML_SUCCESS;
    if (!one || !other || !out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (find_by_bus_id(one, &first) == 1 && find_by_bus_id(other, &second) == 1)
        status = nvmlDeviceGetTopologyCommonAncestor(first, second, &level);
    if (!status)
        *out = cell_of(level);
    return status;
}

/* A bit for each NUMA node whose CPUs are nearest. No function of NVML gives them: these are the
 * nodes whose memory is nearest, which are the same except for nodes of memory alone. */
static nvmlReturn_t nearest_cpu_nodes(nvmlDevice_t device, unsigned int size, unsigned long *nodes,
                                      nvmlAffinityScope_t scope)
{
    return nvmlDeviceGetMemoryAffinity(device, size, nodes, scope);
}

/* No function of NVML gives the generation of the host's slot. The GPU's own generation is an upper
 * bound. */
static nvmlReturn_t host_max_link_generation(nvmlDevice_t device, unsigned int *generation)
{
    return nvmlDeviceGetMaxPcieLinkGeneration(device, generation);
}

static const slot known[SLOTS] = {
    [PCI_DISTANCE] = (slot)pci_distance,
    [IS_MONITORED] = (slot)is_monitored,
    [DEVICE_BY_INDEX] = (slot)device_by_index,
    [COMPUTE_PROCESSES] = (slot)compute_processes,
    [GRAPHICS_PROCESSES] = (slot)graphics_processes,
    [MPS_PROCESSES] = (slot)mps_processes,
    [NEAREST_CPU_NODES] = (slot)nearest_cpu_nodes,
    [HOST_MAX_LINK_GENERATION] = (slot)host_max_link_generation,
};

nvmlReturn_t nvmlInternalGetExportTable(const void **table, const void *id)
{
    static const uint8_t wanted[16] = { 0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                        0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4 };
    static union {
        uintptr_t size;
        slot call;
    } slots[SLOTS];
    if (!table || !id)
        return NVML_ERROR_INVALID_ARGUMENT;
    *table = NULL;
    if (memcmp(id, wanted, sizeof wanted) != 0)
        return NVML_ERROR_NOT_FOUND;
    for (size_t i = 1; i < SLOTS; i++)
        slots[i].call = known[i] ? known[i] : (slot)absent;
    slots[0].size = sizeof slots;
    *table = slots;
    return NVML_SUCCESS;
}

#else

nvmlReturn_t nvmlInternalGetExportTable(const void **table, const void *id)
{
    (void)id;
    if (table)
        *table = NULL;
    return NVML_ERROR_NOT_FOUND;
}

#endif
