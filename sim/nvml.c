/*
 * The simulated NVML, libnvidia-ml.so.1 beside the simulated driver: the same devices, idle and
 * cool.
 *
 * The simulated driver's memory belongs to each program and is unknown here, so all memory is
 * reported as free. A property that a real GPU of this kind would lack is NVML_ERROR_NOT_SUPPORTED,
 * and so is each missing function (proto/nvml-absent.c).
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sim/facts.h"
#include "sim/nvml_device.h"
#include "sim/nvml_faults.h"
#include "sim/nvml_figures.h"

enum {
    ARCHITECTURE = 9,    /* NVML_DEVICE_ARCH_HOPPER, of compute capability 9.0 */
    PCI_ID = 0x000010de, /* NVIDIA's vendor id and no device id */
    PCI_CLASS_DISPLAY = 3,
    POWER_MW = 25000,
    POWER_LIMIT_MW = 300000,
    CLOCK_MHZ = 1000,
    PERSISTENT = 1,
};

struct nvmlDevice_st sim_nvml_devices[SIM_DEVICES_MAX];

int sim_nvml_number_of(nvmlDevice_t device)
{
    for (int i = 0; i < sim_facts_count(); i++)
        if (device == &sim_nvml_devices[i])
            return i;
    return -1;
}

nvmlReturn_t sim_nvml_number(nvmlDevice_t device, unsigned int *out, unsigned int value)
{
    NEED(sim_nvml_number_of(device) >= 0 && out);
    *out = value;
    return NVML_SUCCESS;
}

static nvmlReturn_t text(char *out, unsigned int room, const char *value)
{
    NEED(out);
    if (strlen(value) >= room)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, value);
    return NVML_SUCCESS;
}

/* ---- the system ---- */

nvmlReturn_t nvmlInit_v2(void)
{
    while (sim_nvml_hangs())
        pause();
    return sim_facts_count() ? NVML_SUCCESS : NVML_ERROR_DRIVER_NOT_LOADED;
}

nvmlReturn_t nvmlInit(void)
{
    return nvmlInit_v2();
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    return nvmlInit_v2();
}

nvmlReturn_t nvmlShutdown(void)
{
    return NVML_SUCCESS;
}

/* Returns the version of the driver that it imitates: nvidia-smi requires NVML's version to
 * match. */
nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    return text(version, length, "580.159.04");
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    return text(version, length, "13.580.159.04");
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *cudaDriverVersion)
{
    NEED(cudaDriverVersion);
    *cudaDriverVersion = SIM_DRIVER_VERSION;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *cudaDriverVersion)
{
    return nvmlSystemGetCudaDriverVersion(cudaDriverVersion);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *file = fopen(path, "re");
    char *got = file ? fgets(line, sizeof line, file) : NULL;
    if (file)
        fclose(file);
    if (!got)
        return NVML_ERROR_NOT_FOUND;
    line[strcspn(line, "\n")] = '\0';
    return text(name, length, line);
}

/* ---- finding devices ---- */

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
    NEED(deviceCount);
    *deviceCount = (unsigned int)sim_facts_count();
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    NEED(device && index < (unsigned int)sim_facts_count());
    if (sim_fault((int)index, SIM_FAULT_LOST) == SIM_LOST_AT_ONCE)
        return NVML_ERROR_GPU_IS_LOST;
    *device = &sim_nvml_devices[index];
    return NVML_SUCCESS;
}

static void format_uuid(int device, char out[64])
{
    char bytes[16];
    size_t length = 3;
    sim_device_uuid(device, bytes);
    strcpy(out, "GPU");
    for (int i = 0; i < 16; i++) {
        bool has_dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        length += (size_t)snprintf(out + length, 64 - length, "%s%02x", has_dash ? "-" : "",
                                   (unsigned char)bytes[i]);
    }
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    char own[64];
    NEED(uuid && device);
    for (int i = 0; i < sim_facts_count(); i++) {
        format_uuid(i, own);
        if (!strcasecmp(own, uuid)) {
            if (sim_fault(i, SIM_FAULT_LOST))
                return NVML_ERROR_GPU_IS_LOST;
            *device = &sim_nvml_devices[i];
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
    char own[32];
    NEED(pciBusId && device);
    while (*pciBusId == '0') /* the domain has four or eight digits */
        pciBusId++;
    for (int i = 0; i < sim_facts_count(); i++) {
        sim_device_address(i, own, sizeof own);
        if (!strcasecmp(own, pciBusId)) {
            if (sim_fault(i, SIM_FAULT_LOST) == SIM_LOST_AT_ONCE)
                return NVML_ERROR_GPU_IS_LOST;
            *device = &sim_nvml_devices[i];
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    return sim_nvml_number(device, index, (unsigned int)sim_nvml_number_of(device));
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned int *minorNumber)
{
    return sim_nvml_number(device, minorNumber, (unsigned int)sim_nvml_number_of(device));
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    NEED(sim_nvml_number_of(device) >= 0);
    return text(name, length, sim_device_name);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    char own[64];
    NEED(sim_nvml_number_of(device) >= 0);
    format_uuid(sim_nvml_number_of(device), own);
    return text(uuid, length, own);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    NEED(sim_nvml_number_of(device) >= 0 && pci);
    unsigned char bus = (unsigned char)sim_device_bus(sim_nvml_number_of(device));
    *pci = (nvmlPciInfo_t){ .domain = SIM_PCI_DOMAIN, .bus = bus, .pciDeviceId = PCI_ID };
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:00.0", SIM_PCI_DOMAIN, bus);
    snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:00.0", SIM_PCI_DOMAIN, bus);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t device, nvmlPciInfoExt_t *pci)
{
    unsigned int version = sizeof *pci | 1u << 24;
    nvmlPciInfo_t known;
    NEED(pci && !nvmlDeviceGetPciInfo_v3(device, &known));
    if (pci->version != version)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *pci = (nvmlPciInfoExt_t){ .version = version,
                               .domain = known.domain,
                               .bus = known.bus,
                               .pciDeviceId = known.pciDeviceId,
                               .baseClass = PCI_CLASS_DISPLAY };
    memcpy(pci->busId, known.busId, sizeof pci->busId);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return nvmlDeviceGetPciInfo_v3(device, pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return nvmlDeviceGetPciInfo_v3(device, pci);
}

/* ---- properties ---- */

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t *type)
{
    return sim_nvml_number(device, type, 0);
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t *arch)
{
    return sim_nvml_number(device, arch, ARCHITECTURE);
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    NEED(sim_nvml_number_of(device) >= 0 && major && minor);
    *major = SIM_COMPUTE_MAJOR;
    *minor = SIM_COMPUTE_MINOR;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned int *multiGpuBool)
{
    return sim_nvml_number(device, multiGpuBool, 0);
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t *mode)
{
    return sim_nvml_number(device, mode, 0);
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
    return sim_nvml_number(device, mode, PERSISTENT);
}

nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, nvmlEnableState_t *display)
{
    return sim_nvml_number(device, display, 0);
}

nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, nvmlEnableState_t *isActive)
{
    return sim_nvml_number(device, isActive, 0);
}

nvmlReturn_t nvmlDeviceGetPerformanceState(nvmlDevice_t device, nvmlPstates_t *pState)
{
    if (sim_fault(sim_nvml_number_of(device), SIM_FAULT_LOST))
        return NVML_ERROR_GPU_IS_LOST;
    return sim_nvml_number(device, pState,
                           (unsigned int)sim_fault(sim_nvml_number_of(device), SIM_FAULT_PSTATE));
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device1, nvmlDevice_t device2,
                                    nvmlGpuP2PCapsIndex_t p2pIndex, nvmlGpuP2PStatus_t *p2pStatus)
{
    (void)p2pIndex;
    NEED(sim_nvml_number_of(device2) >= 0);
    return sim_nvml_number(device1, p2pStatus, 0);
}

/* Each device is nearest to a NUMA node of its own number. */
nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t device, unsigned int nodeSetSize,
                                         unsigned long *nodeSet, nvmlAffinityScope_t scope)
{
    (void)scope;
    NEED(sim_nvml_number_of(device) >= 0 && nodeSet && nodeSetSize);
    memset(nodeSet, 0, nodeSetSize * sizeof *nodeSet);
    nodeSet[0] = 1ul << sim_nvml_number_of(device);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device1, nvmlDevice_t device2,
                                                 nvmlGpuTopologyLevel_t *pathInfo)
{
    NEED(sim_nvml_number_of(device2) >= 0 && device1 != device2);
    return sim_nvml_number(device1, pathInfo, sim_facts_distance());
}

nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, nvmlGpuTopologyLevel_t level,
                                              unsigned int *count, nvmlDevice_t *deviceArray)
{
    unsigned int found = 0;
    NEED(sim_nvml_number_of(device) >= 0 && count);
    for (int i = 0; level == sim_facts_distance() && i < sim_facts_count(); i++) {
        if (device == &sim_nvml_devices[i])
            continue;
        if (deviceArray && found < *count)
            deviceArray[found] = &sim_nvml_devices[i];
        found++;
    }
    *count = deviceArray && found > *count ? *count : found;
    return NVML_SUCCESS;
}

/* ---- state ---- */

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    NEED(sim_nvml_number_of(device) >= 0 && memory);
    unsigned long long total = sim_facts_memory_bytes();
    *memory = (nvmlMemory_t){ .total = total, .free = total };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    const unsigned long long reserved = 64 << 20; /* the driver's own */
    unsigned int version = sizeof *memory | 2u << 24;
    NEED(sim_nvml_number_of(device) >= 0 && memory);
    if (memory->version != version)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    unsigned long long total = sim_facts_memory_bytes();
    *memory = (nvmlMemory_v2_t){ .version = version,
                                 .total = total,
                                 .reserved = reserved < total ? reserved : total,
                                 .free = reserved < total ? total - reserved : 0 };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    NEED(sim_nvml_number_of(device) >= 0 && utilization);
    *utilization =
        (nvmlUtilization_t){ .gpu = sim_busy_percent(), .memory = sim_busy_percent() / 2 };
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensorType,
                                      unsigned int *temp)
{
    NEED(!sensorType);
    return sim_nvml_number(
        device, temp, (unsigned int)sim_fault(sim_nvml_number_of(device), SIM_FAULT_TEMPERATURE));
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
    unsigned int value[3]; /* version, sensor, degrees */
    _Static_assert(sizeof value == sizeof *temperature, "the same layout as NVML's");
    NEED(sim_nvml_number_of(device) >= 0 && temperature);
    if (temperature->version != (sizeof value | 1u << 24))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memcpy(value, temperature, sizeof value);
    NEED(!value[1]);
    value[2] = (unsigned int)sim_fault(sim_nvml_number_of(device), SIM_FAULT_TEMPERATURE);
    memcpy(temperature, value, sizeof value);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *power)
{
    return sim_nvml_number(device, power, POWER_MW);
}

nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int *limit)
{
    return sim_nvml_number(device, limit, POWER_LIMIT_MW);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *limit)
{
    return sim_nvml_number(device, limit, POWER_LIMIT_MW);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    (void)type;
    return sim_nvml_number(device, clock, CLOCK_MHZ);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                       unsigned int *clock)
{
    return nvmlDeviceGetClockInfo(device, type, clock);
}

static nvmlReturn_t no_processes(nvmlDevice_t device, unsigned int *count)
{
    return sim_nvml_number(device, count, 0);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *infoCount,
                                                     nvmlProcessInfo_t *infos)
{
    (void)infos;
    return no_processes(device, infoCount);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *infoCount,
                                                      nvmlProcessInfo_t *infos)
{
    (void)infos;
    return no_processes(device, infoCount);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device,
                                                        unsigned int *infoCount,
                                                        nvmlProcessInfo_t *infos)
{
    (void)infos;
    return no_processes(device, infoCount);
}

/* Returns the only memory clock and its only graphics clock. */
nvmlReturn_t nvmlDeviceGetSupportedMemoryClocks(nvmlDevice_t device, unsigned int *count,
                                                unsigned int *clocksMHz)
{
    NEED(sim_nvml_number_of(device) >= 0 && count);
    bool has_room = *count && clocksMHz;
    *count = 1;
    if (!has_room)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    *clocksMHz = CLOCK_MHZ;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedGraphicsClocks(nvmlDevice_t device, unsigned int memoryClockMHz,
                                                  unsigned int *count, unsigned int *clocksMHz)
{
    if (memoryClockMHz != CLOCK_MHZ)
        return NVML_ERROR_NOT_FOUND;
    return nvmlDeviceGetSupportedMemoryClocks(device, count, clocksMHz);
}
