/* Reads the faults from the environment at each question, and answers what only faults need. */
#include "config.h"

#include "sim/nvml_faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)
#include "nvml/api/nvml_functions.h"
#pragma GCC visibility pop

enum {
    NAME_BYTES = 32,
    LANES = 16,
    GENERATION = 5,
    SLOWDOWN_C = 90,
    SHUTDOWN_C = 95,
    UNCORRECTED = 1, /* nvmlMemoryErrorType_t */
    AGGREGATE = 1,   /* nvmlEccCounterType_t */
    NOT_GIVEN = -1,
};

static const struct {
    const char *name;
    long long sound;
} faults[SIM_FAULT_COUNT] = {
    [SIM_FAULT_LOST] = { "lost", 0 },
    [SIM_FAULT_RECOVERY] = { "recovery", 0 },
    [SIM_FAULT_XID] = { "xid", 0 },
    [SIM_FAULT_ROWS_REMAPPED] = { "rows_remapped", 0 },
    [SIM_FAULT_ROWS_PENDING] = { "rows_pending", 0 },
    [SIM_FAULT_ROWS_FAILED] = { "rows_failed", 0 },
    [SIM_FAULT_PAGES_RETIRED] = { "pages_retired", NOT_GIVEN },
    [SIM_FAULT_PAGES_PENDING] = { "pages_pending", NOT_GIVEN },
    [SIM_FAULT_ECC_UNCORRECTED] = { "ecc_uncorrected", 0 },
    [SIM_FAULT_ECC_UNCORRECTED_EVER] = { "ecc_uncorrected_ever", NOT_GIVEN },
    [SIM_FAULT_ECC_CORRECTED] = { "ecc_corrected", 0 },
    [SIM_FAULT_THROTTLE] = { "throttle", 0 },
    [SIM_FAULT_TEMPERATURE] = { "temperature", 30 },
    [SIM_FAULT_LINKS_DOWN] = { "links_down", 0 },
    [SIM_FAULT_PCIE_WIDTH] = { "pcie_width", LANES },
    [SIM_FAULT_PCIE_GEN] = { "pcie_gen", GENERATION },
    [SIM_FAULT_PSTATE] = { "pstate", 0 },
};

long long sim_fault(int device, enum sim_fault fault)
{
    const char *at = getenv("AITHERION_SIM_FAULTS");
    char name[NAME_BYTES];
    long long value;
    int number, length;

    /* NOLINTNEXTLINE(cert-err34-c): a test's own setting */
    for (; at && sscanf(at, "%d:%31[a-z_]=%lli%n", &number, name, &value, &length) == 3;
         at += at[length] == ',') {
        at += length;
        length = 0;
        if (number == device && !strcmp(name, faults[fault].name))
            return value;
    }
    return faults[fault].sound;
}

/* Returns the number of a device, or -1. */
static int number_of(nvmlDevice_t device)
{
    unsigned int index;
    return nvmlDeviceGetIndex(device, &index) == NVML_SUCCESS ? (int)index : -1;
}

static nvmlReturn_t tell(nvmlDevice_t device, unsigned int *out, enum sim_fault fault)
{
    int number = number_of(device);
    if (number < 0 || !out)
        return NVML_ERROR_INVALID_ARGUMENT;
    long long value = sim_fault(number, fault);
    if (value < 0)
        return NVML_ERROR_NOT_SUPPORTED;
    *out = (unsigned int)value;
    return NVML_SUCCESS;
}

/* ---- memory ---- */

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrRows,
                                       unsigned int *uncRows, unsigned int *isPending,
                                       unsigned int *failureOccurred)
{
    if (!corrRows)
        return NVML_ERROR_INVALID_ARGUMENT;
    *corrRows = 0;
    nvmlReturn_t status = tell(device, uncRows, SIM_FAULT_ROWS_REMAPPED);
    if (!status)
        status = tell(device, isPending, SIM_FAULT_ROWS_PENDING);
    return status ? status : tell(device, failureOccurred, SIM_FAULT_ROWS_FAILED);
}

/* All pages are retired for the second cause, an uncorrectable error. */
nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t device, nvmlPageRetirementCause_t cause,
                                       unsigned int *pageCount, unsigned long long *addresses)
{
    unsigned int room = pageCount ? *pageCount : 0;
    nvmlReturn_t status = tell(device, pageCount, SIM_FAULT_PAGES_RETIRED);

    if (status)
        return status;
    if (!cause)
        *pageCount = 0;
    if (*pageCount > room)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned int i = 0; addresses && i < *pageCount; i++)
        addresses[i] = i;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRetiredPagesPendingStatus(nvmlDevice_t device,
                                                    nvmlEnableState_t *isPending)
{
    return tell(device, isPending, SIM_FAULT_PAGES_PENDING);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
                                         nvmlEccCounterType_t counterType,
                                         unsigned long long *eccCounts)
{
    unsigned int count, since = 0;
    enum sim_fault fault =
        errorType == UNCORRECTED ? SIM_FAULT_ECC_UNCORRECTED : SIM_FAULT_ECC_CORRECTED;

    if (!eccCounts)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t status = tell(device, &since, fault);
    *eccCounts = since;
    if (!status && errorType == UNCORRECTED && counterType == AGGREGATE &&
        !tell(device, &count, SIM_FAULT_ECC_UNCORRECTED_EVER))
        *eccCounts = count;
    return status;
}

/* ---- clocks and heat ---- */

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device,
                                                    unsigned long long *clocksEventReasons)
{
    unsigned int reasons = 0;

    if (!clocksEventReasons)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t status = tell(device, &reasons, SIM_FAULT_THROTTLE);
    *clocksEventReasons = reasons;
    return status;
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t device,
                                                       unsigned long long *clocksThrottleReasons)
{
    return nvmlDeviceGetCurrentClocksEventReasons(device, clocksThrottleReasons);
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device,
                                               nvmlTemperatureThresholds_t thresholdType,
                                               unsigned int *temp)
{
    if (number_of(device) < 0 || !temp)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (thresholdType > 1)
        return NVML_ERROR_NOT_SUPPORTED;
    *temp = thresholdType ? SLOWDOWN_C : SHUTDOWN_C;
    return NVML_SUCCESS;
}

/* ---- PCIe ---- */

static nvmlReturn_t tell_most(nvmlDevice_t device, unsigned int *out, unsigned int most)
{
    if (number_of(device) < 0 || !out)
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = most;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int *currLinkWidth)
{
    return tell(device, currLinkWidth, SIM_FAULT_PCIE_WIDTH);
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int *maxLinkWidth)
{
    return tell_most(device, maxLinkWidth, LANES);
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int *currLinkGen)
{
    return tell(device, currLinkGen, SIM_FAULT_PCIE_GEN);
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int *maxLinkGen)
{
    return tell_most(device, maxLinkGen, GENERATION);
}
