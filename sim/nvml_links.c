/* The NVLinks of the simulated NVML, and the fields that it knows. */
#include "config.h"

#include <stdbool.h>

#include "sim/nvml_device.h"
#include "sim/nvml_faults.h"
#include "sim/nvml_figures.h"

enum {
    LINK_SPEED = 90, /* NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON */
    LINK_MB_PER_S = 25000,
    RECOVERY_ACTION = 230, /* NVML_FI_DEV_GET_GPU_RECOVERY_ACTION */
    NUMBER_UNSIGNED = 1,   /* NVML_VALUE_TYPE_UNSIGNED_INT */
    NUMBER_LARGE = 3,      /* NVML_VALUE_TYPE_UNSIGNED_LONG_LONG */
};

/* Returns the device at the end of a link, or -1. */
static int link_peer(nvmlDevice_t device, unsigned int link)
{
    int peer = sim_facts_link_peer(sim_nvml_number_of(device), link);
    return peer < sim_facts_count() ? peer : -1;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
                                      nvmlEnableState_t *isActive)
{
    NEED(sim_nvml_number_of(device) >= 0 && isActive);
    if (link_peer(device, link) < 0)
        return link ? NVML_ERROR_INVALID_ARGUMENT : NVML_ERROR_NOT_SUPPORTED;
    *isActive = link >= sim_fault(sim_nvml_number_of(device), SIM_FAULT_LINKS_DOWN);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
                                                 nvmlPciInfo_t *pci)
{
    NEED(sim_nvml_number_of(device) >= 0 && link_peer(device, link) >= 0);
    return nvmlDeviceGetPciInfo_v3(&sim_nvml_devices[link_peer(device, link)], pci);
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                 nvmlIntNvLinkDeviceType_t *type)
{
    NEED(link_peer(device, link) >= 0);
    return sim_nvml_number(device, type, 0); /* a GPU */
}

/* The bytes that all links together have carried. */
static bool tell_link_bytes(nvmlDevice_t device, nvmlFieldValue_t *value)
{
    bool is_sent = value->fieldId == SIM_FIELD_NVLINK_SENT;
    if ((!is_sent && value->fieldId != SIM_FIELD_NVLINK_RECEIVED) || link_peer(device, 0) < 0)
        return false;
    value->nvmlReturn = NVML_SUCCESS;
    value->valueType = NUMBER_LARGE;
    value->value = is_sent ? SIM_LINK_SENT_KIB : SIM_LINK_RECEIVED_KIB;
    return true;
}

/* Only the speed of links, their bytes and the recovery are known; each other value reports that it
 * is not. */
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount,
                                      nvmlFieldValue_t *values)
{
    NEED(sim_nvml_number_of(device) >= 0 && valuesCount >= 0 && (values || !valuesCount));
    for (int i = 0; i < valuesCount; i++) {
        if (tell_link_bytes(device, &values[i]))
            continue;
        bool is_recovery = values[i].fieldId == RECOVERY_ACTION;
        bool is_known =
            is_recovery || (values[i].fieldId == LINK_SPEED && link_peer(device, 0) >= 0);
        values[i].nvmlReturn = is_known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
        if (!is_known)
            continue;
        values[i].valueType = NUMBER_UNSIGNED;
        values[i].value = is_recovery ? (unsigned long long)sim_fault(sim_nvml_number_of(device),
                                                                      SIM_FAULT_RECOVERY)
                                      : LINK_MB_PER_S;
    }
    return NVML_SUCCESS;
}
