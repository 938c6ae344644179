/* Xid errors and health scores of the devices. */
#include "config.h"

#include "runtime/gpu_sampler_state.h"

#include "base/clock.h"
#include "base/unknown.h"
#include "gpu/xid.h"

enum {
    EVENTS_AT_ONCE = 64, /* taken with one sample */
    EVENT_XID = 8,       /* nvmlEventTypeXidCriticalError (NVML API Reference Guide) */
};

static int number_of(const struct ath_gpu_sampler *sampler, nvmlDevice_t device)
{
    for (size_t i = 0; i < sampler->server->devices.count; i++)
        if (sampler->devices[i] && sampler->devices[i] == device)
            return (int)i;
    return -1;
}

static void note_xid(const struct ath_gpu_sampler *sampler, const nvmlEventData_t *event)
{
    int number = number_of(sampler, event->device);
    if (number < 0 || event->eventType != EVENT_XID)
        return;
    struct ath_device_sample *sample = &sampler->samples->devices[number];
    if (ath_xid_kind((int64_t)event->eventData) != ATH_XID_APPLICATION)
        atomic_store(&sample->figures[ATH_DEVICE_FIGURE(xids)],
                     atomic_load(&sample->figures[ATH_DEVICE_FIGURE(xids)]) + 1);
    atomic_store(&sample->figures[ATH_DEVICE_FIGURE(last_xid)], (int64_t)event->eventData);
    ath_xid_count(&sample->xids, (int64_t)event->eventData);
    ath_gpu_log_xid(&sampler->server->devices.items[number], (size_t)number,
                    (int64_t)event->eventData);
}

void ath_gpu_sampler_take_events(const struct ath_gpu_sampler *sampler)
{
    nvmlReturn_t (*wait)(nvmlEventSet_t, nvmlEventData_t *, unsigned int) =
        sampler->nvml.nvmlEventSetWait_v2 ? sampler->nvml.nvmlEventSetWait_v2
                                          : sampler->nvml.nvmlEventSetWait;
    for (size_t i = 0; sampler->events && wait && i < EVENTS_AT_ONCE; i++) {
        nvmlEventData_t event = { 0 };
        if (wait(sampler->events, &event, 0) != NVML_SUCCESS)
            return;
        note_xid(sampler, &event);
    }
}

void ath_gpu_sampler_begin_events(struct ath_gpu_sampler *sampler)
{
    const struct ath_gpu_sampler_nvml *nvml = &sampler->nvml;
    if (!nvml->nvmlEventSetCreate || !nvml->nvmlDeviceRegisterEvents ||
        nvml->nvmlEventSetCreate(&sampler->events) != NVML_SUCCESS)
        return;
    for (size_t i = 0; i < sampler->server->devices.count; i++) {
        struct ath_device_sample *sample = &sampler->samples->devices[i];
        if (!sampler->devices[i] || nvml->nvmlDeviceRegisterEvents(sampler->devices[i], EVENT_XID,
                                                                   sampler->events) != NVML_SUCCESS)
            continue;
        if (atomic_load(&sample->figures[ATH_DEVICE_FIGURE(xids)]) < 0)
            atomic_store(&sample->figures[ATH_DEVICE_FIGURE(xids)], 0);
        ath_xid_none(&sample->xids);
    }
}

void ath_gpu_sampler_find_device(struct ath_gpu_sampler *sampler, size_t number)
{
    const struct ath_device *device = &sampler->server->devices.items[number];
    const struct ath_gpu_sampler_nvml *nvml = &sampler->nvml;
    nvmlDevice_t *out = &sampler->devices[number];
    nvmlReturn_t status = NVML_ERROR_NOT_FOUND;
    if (*device->uuid && nvml->nvmlDeviceGetHandleByUUID)
        status = nvml->nvmlDeviceGetHandleByUUID(device->uuid, out);
    if (status != NVML_SUCCESS && *device->pci && nvml->nvmlDeviceGetHandleByPciBusId_v2)
        status = nvml->nvmlDeviceGetHandleByPciBusId_v2(device->pci, out);
    if (status != NVML_SUCCESS)
        *out = NULL;
    sampler->lookups[number] = status;
}

static int64_t driver_of(const struct ath_gpu_sampler *sampler, size_t number)
{
    if (ath_gpu_nvml_is_silent((int)sampler->lookups[number]))
        return ATH_GPU_DRIVER_SILENT;
    return sampler->devices[number] ? ATH_GPU_DRIVER_RUNS : ATH_UNKNOWN;
}

void ath_gpu_sampler_judge_health(struct ath_gpu_sampler *sampler, size_t number)
{
    if (!sampler->devices[number])
        ath_gpu_sampler_find_device(sampler, number);
    struct ath_device_sample *sample = &sampler->samples->devices[number];
    struct ath_gpu_facts facts = sample->xids;
    struct ath_gpu_health health;
    struct ath_pci pci;
    facts.driver = driver_of(sampler, number);
    if (sampler->root.fd >= 0 && !ath_pci_parse(sampler->server->devices.items[number].pci, &pci))
        ath_gpu_pcie_read(&sampler->root, &pci, &facts);
    if (sampler->devices[number])
        ath_gpu_nvml_ask(&sampler->health, sampler->devices[number], &facts);
    ath_gpu_health_judge(&facts, &health);
    atomic_store(&sample->figures[ATH_DEVICE_FIGURE(health_score)], health.score);
    ath_gpu_log_score(&sampler->logs[number], &sampler->server->devices.items[number], number,
                      &health, ath_now_ms());
}
