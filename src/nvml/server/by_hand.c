/* The functions about the list of devices and their memory, which show what the server serves. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/unknown.h"
#include "nvml/server/server.h"

/* ---- devices ---- */

nvmlReturn_t ath_nvml_serve_nvmlDeviceGetCount_v2(struct ath_nvml_server *nvml,
                                                  union ath_nvml_argument *arguments)
{
    if (!arguments[0].pointer)
        return NVML_ERROR_INVALID_ARGUMENT;
    *(unsigned int *)arguments[0].pointer = (unsigned int)nvml->host->devices->count;
    return NVML_SUCCESS;
}

nvmlReturn_t ath_nvml_serve_nvmlDeviceGetCount(struct ath_nvml_server *nvml,
                                               union ath_nvml_argument *arguments)
{
    return ath_nvml_serve_nvmlDeviceGetCount_v2(nvml, arguments);
}

nvmlReturn_t ath_nvml_serve_nvmlDeviceGetHandleByIndex_v2(struct ath_nvml_server *nvml,
                                                          union ath_nvml_argument *arguments)
{
    if (!arguments[1].pointer || arguments[0].number >= nvml->host->devices->count)
        return NVML_ERROR_INVALID_ARGUMENT;
    void *device = nvml->objects[arguments[0].number].pointer;
    *(void **)arguments[1].pointer = device;
    return device ? NVML_SUCCESS : NVML_ERROR_GPU_IS_LOST;
}

nvmlReturn_t ath_nvml_serve_nvmlDeviceGetHandleByIndex(struct ath_nvml_server *nvml,
                                                       union ath_nvml_argument *arguments)
{
    return ath_nvml_serve_nvmlDeviceGetHandleByIndex_v2(nvml, arguments);
}

/* Returns whether a device is served. A part of a device (MIG) counts as its device. */
static bool is_served(struct ath_nvml_server *nvml, void *device)
{
    void *whole = NULL;
    union ath_nvml_argument arguments[] = { { .pointer = device }, { .pointer = &whole } };
    if (ath_nvml_place_of(nvml, device) >= 0)
        return true;
    return !ath_nvml_native(nvml, ATH_NVML_nvmlDeviceGetDeviceHandleFromMigDeviceHandle,
                            arguments) &&
           ath_nvml_place_of(nvml, whole) >= 0;
}

static nvmlReturn_t find(struct ath_nvml_server *nvml, enum ath_nvml_function function,
                         union ath_nvml_argument *arguments)
{
    nvmlReturn_t status = ath_nvml_native(nvml, function, arguments);
    if (!status && arguments[1].pointer && !is_served(nvml, *(void **)arguments[1].pointer))
        return NVML_ERROR_NOT_FOUND;
    return status;
}

nvmlReturn_t ath_nvml_serve_nvmlDeviceGetHandleByUUID(struct ath_nvml_server *nvml,
                                                      union ath_nvml_argument *arguments)
{
    return find(nvml, ATH_NVML_nvmlDeviceGetHandleByUUID, arguments);
}

nvmlReturn_t ath_nvml_serve_nvmlDeviceGetHandleByUUIDV(struct ath_nvml_server *nvml,
                                                       union ath_nvml_argument *arguments)
{
    return find(nvml, ATH_NVML_nvmlDeviceGetHandleByUUIDV, arguments);
}

nvmlReturn_t ath_nvml_serve_nvmlDeviceGetHandleBySerial(struct ath_nvml_server *nvml,
                                                        union ath_nvml_argument *arguments)
{
    return find(nvml, ATH_NVML_nvmlDeviceGetHandleBySerial, arguments);
}

nvmlReturn_t ath_nvml_serve_nvmlDeviceGetHandleByPciBusId_v2(struct ath_nvml_server *nvml,
                                                             union ath_nvml_argument *arguments)
{
    return find(nvml, ATH_NVML_nvmlDeviceGetHandleByPciBusId_v2, arguments);
}

nvmlReturn_t ath_nvml_serve_nvmlDeviceGetHandleByPciBusId(struct ath_nvml_server *nvml,
                                                          union ath_nvml_argument *arguments)
{
    return find(nvml, ATH_NVML_nvmlDeviceGetHandleByPciBusId, arguments);
}

nvmlReturn_t ath_nvml_serve_nvmlDeviceGetIndex(struct ath_nvml_server *nvml,
                                               union ath_nvml_argument *arguments)
{
    int place = ath_nvml_place_of(nvml, arguments[0].pointer);
    if (place < 0 || !arguments[1].pointer)
        return ath_nvml_native(nvml, ATH_NVML_nvmlDeviceGetIndex, arguments);
    *(unsigned int *)arguments[1].pointer = (unsigned int)place;
    return NVML_SUCCESS;
}

/* ---- memory ---- */

/* Shows what the program may have instead of the GPU's memory. Free memory is at most what the GPU
 * itself has left. */
static void show_room(const struct ath_nvml_server *nvml, const void *device,
                      unsigned long long *total, unsigned long long *unused,
                      unsigned long long *used)
{
    int place = ath_nvml_place_of(nvml, device);
    int64_t limit, left;
    if (place < 0 ||
        !nvml->host->memory_room(nvml->host->data, (size_t)place, &nvml->asked, &limit, &left))
        return;
    *total = (unsigned long long)limit < *total ? (unsigned long long)limit : *total;
    *unused = (unsigned long long)left < *unused ? (unsigned long long)left : *unused;
    *used = *total - *unused;
}

nvmlReturn_t ath_nvml_serve_nvmlDeviceGetMemoryInfo(struct ath_nvml_server *nvml,
                                                    union ath_nvml_argument *arguments)
{
    nvmlReturn_t status = ath_nvml_native(nvml, ATH_NVML_nvmlDeviceGetMemoryInfo, arguments);
    nvmlMemory_t *memory = arguments[1].pointer;
    if (!status && memory)
        show_room(nvml, arguments[0].pointer, &memory->total, &memory->free, &memory->used);
    return status;
}

nvmlReturn_t ath_nvml_serve_nvmlDeviceGetMemoryInfo_v2(struct ath_nvml_server *nvml,
                                                       union ath_nvml_argument *arguments)
{
    nvmlReturn_t status = ath_nvml_native(nvml, ATH_NVML_nvmlDeviceGetMemoryInfo_v2, arguments);
    nvmlMemory_v2_t *memory = arguments[1].pointer;
    if (status || !memory)
        return status;
    unsigned long long total = memory->total;
    show_room(nvml, arguments[0].pointer, &memory->total, &memory->free, &memory->used);
    if (memory->total != total)
        memory->reserved = 0; /* no part of what the program may have */
    return NVML_SUCCESS;
}
