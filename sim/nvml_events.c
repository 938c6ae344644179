/* The events of the simulated NVML: a device whose fault is an Xid tells it once to each set. */
#include "config.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "sim/nvml_device.h"
#include "sim/nvml_faults.h"

enum {
    EVENT_SETS_MAX = 64,
    XID_EVENT = 0x8,
    ALL_EVENTS = 0x18, /* XID errors and clock changes */
    NO_INSTANCE = -1,  /* of a device that is not split */
};

struct nvmlEventSet_st {
    atomic_bool is_made;
    atomic_uint due; /* bits of devices whose Xid this set has yet to tell */
};

static struct nvmlEventSet_st sets[EVENT_SETS_MAX];

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *eventTypes)
{
    NEED(sim_nvml_number_of(device) >= 0 && eventTypes);
    *eventTypes = ALL_EVENTS;
    return NVML_SUCCESS;
}

static bool is_made(nvmlEventSet_t set)
{
    for (size_t i = 0; i < EVENT_SETS_MAX; i++)
        if (set == &sets[i])
            return atomic_load(&set->is_made);
    return false;
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    NEED(set);
    for (size_t i = 0; i < EVENT_SETS_MAX; i++) {
        if (!atomic_exchange(&sets[i].is_made, true)) {
            *set = &sets[i];
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_MEMORY;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    NEED(is_made(set));
    atomic_store(&set->due, 0);
    atomic_store(&set->is_made, false);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long eventTypes,
                                      nvmlEventSet_t set)
{
    int number = sim_nvml_number_of(device);
    NEED(number >= 0 && is_made(set));
    if (eventTypes & ~(unsigned long long)ALL_EVENTS)
        return NVML_ERROR_NOT_SUPPORTED;
    if (eventTypes & XID_EVENT && sim_fault(number, SIM_FAULT_XID))
        atomic_fetch_or(&set->due, 1u << number);
    return NVML_SUCCESS;
}

/* Takes one Xid that a set has yet to tell. */
static bool take_xid(nvmlEventSet_t set, nvmlEventData_t *data)
{
    for (int i = 0; i < sim_facts_count(); i++) {
        if (!(atomic_fetch_and(&set->due, ~(1u << i)) & 1u << i))
            continue;
        *data = (nvmlEventData_t){ .device = &sim_nvml_devices[i],
                                   .eventType = XID_EVENT,
                                   .eventData = (unsigned long long)sim_fault(i, SIM_FAULT_XID),
                                   .gpuInstanceId = (unsigned int)NO_INSTANCE,
                                   .computeInstanceId = (unsigned int)NO_INSTANCE };
        return true;
    }
    return false;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
    NEED(is_made(set) && data);
    if (take_xid(set, data))
        return NVML_SUCCESS;
    nanosleep(&(struct timespec){ .tv_sec = timeoutms / 1000,
                                  .tv_nsec = (long)(timeoutms % 1000) * 1000000 },
              NULL);
    return NVML_ERROR_TIMEOUT;
}
