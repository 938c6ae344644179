/* A table of NVML's questions with the figure that each of them answers. */
#include "config.h"

#include "runtime/gpu_sampler_state.h"

#include "base/alloc.h"
#include "base/unknown.h"

/* Numbers of NVML's interface (NVML API Reference Guide, docs.nvidia.com/deploy/nvml-api). */
enum {
    CLOCK_SM = 1, /* nvmlClockType_t */
    CLOCK_MEMORY = 2,
    PCIE_SENT = 0, /* nvmlPcieUtilCounter_t */
    PCIE_RECEIVED = 1,
    ECC_CORRECTED = 0, /* nvmlMemoryErrorType_t */
    ECC_UNCORRECTED = 1,
    FIELD_NVLINK_SENT = 138, /* NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, in KiB */
    FIELD_NVLINK_RECEIVED = 139,
};
#define ALL_LINKS UINT32_MAX /* the scope of those fields */

/* A value, or unknown if NVML refused or the value cannot be. */
static int64_t answered(nvmlReturn_t status, unsigned long long value)
{
    return status == NVML_SUCCESS && value <= INT64_MAX ? (int64_t)value : ATH_UNKNOWN;
}

static int64_t memory_of(const struct ath_gpu_sampler_nvml *nvml, nvmlDevice_t device,
                         unsigned int wants_free)
{
    nvmlMemory_t memory = { 0 };
    if (!nvml->nvmlDeviceGetMemoryInfo)
        return ATH_UNKNOWN;
    nvmlReturn_t status = nvml->nvmlDeviceGetMemoryInfo(device, &memory);
    return answered(status, wants_free ? memory.free : memory.total);
}

static int64_t busy_of(const struct ath_gpu_sampler_nvml *nvml, nvmlDevice_t device,
                       unsigned int wants_memory)
{
    nvmlUtilization_t rates = { 0 };
    if (!nvml->nvmlDeviceGetUtilizationRates)
        return ATH_UNKNOWN;
    nvmlReturn_t status = nvml->nvmlDeviceGetUtilizationRates(device, &rates);
    return answered(status, wants_memory ? rates.memory : rates.gpu);
}

static int64_t temperature_of(const struct ath_gpu_sampler_nvml *nvml, nvmlDevice_t device,
                              unsigned int sensor)
{
    unsigned int value = 0;
    if (!nvml->nvmlDeviceGetTemperature)
        return ATH_UNKNOWN;
    nvmlReturn_t status = nvml->nvmlDeviceGetTemperature(device, sensor, &value);
    return answered(status, value);
}

static int64_t power_of(const struct ath_gpu_sampler_nvml *nvml, nvmlDevice_t device,
                        unsigned int wants_limit)
{
    unsigned int value = 0;
    nvmlReturn_t (*ask)(nvmlDevice_t, unsigned int *) =
        wants_limit ? nvml->nvmlDeviceGetEnforcedPowerLimit : nvml->nvmlDeviceGetPowerUsage;
    if (!ask)
        return ATH_UNKNOWN;
    nvmlReturn_t status = ask(device, &value);
    return answered(status, value);
}

static int64_t clock_of(const struct ath_gpu_sampler_nvml *nvml, nvmlDevice_t device,
                        unsigned int type)
{
    unsigned int value = 0;
    if (!nvml->nvmlDeviceGetClockInfo)
        return ATH_UNKNOWN;
    nvmlReturn_t status = nvml->nvmlDeviceGetClockInfo(device, type, &value);
    return answered(status, value);
}

/* The name has "throttle" in drivers before 535. */
static int64_t reasons_of(const struct ath_gpu_sampler_nvml *nvml, nvmlDevice_t device,
                          unsigned int unused)
{
    unsigned long long value = 0;
    nvmlReturn_t (*ask)(nvmlDevice_t, unsigned long long *) =
        nvml->nvmlDeviceGetCurrentClocksEventReasons
            ? nvml->nvmlDeviceGetCurrentClocksEventReasons
            : nvml->nvmlDeviceGetCurrentClocksThrottleReasons;
    (void)unused;
    if (!ask)
        return ATH_UNKNOWN;
    nvmlReturn_t status = ask(device, &value);
    return answered(status, value);
}

/* Counts since the driver was loaded. */
static int64_t ecc_of(const struct ath_gpu_sampler_nvml *nvml, nvmlDevice_t device,
                      unsigned int type)
{
    unsigned long long value = 0;
    if (!nvml->nvmlDeviceGetTotalEccErrors)
        return ATH_UNKNOWN;
    nvmlReturn_t status = nvml->nvmlDeviceGetTotalEccErrors(device, type, 0, &value);
    return answered(status, value);
}

static int64_t rows_of(const struct ath_gpu_sampler_nvml *nvml, nvmlDevice_t device,
                       unsigned int unused)
{
    unsigned int corrected = 0, uncorrected = 0, is_pending, has_failed;
    (void)unused;
    if (!nvml->nvmlDeviceGetRemappedRows)
        return ATH_UNKNOWN;
    nvmlReturn_t status =
        nvml->nvmlDeviceGetRemappedRows(device, &corrected, &uncorrected, &is_pending, &has_failed);
    return answered(status, (unsigned long long)corrected + uncorrected);
}

/* NVML measures for 20 ms and answers in KB/s. */
static int64_t pcie_of(const struct ath_gpu_sampler_nvml *nvml, nvmlDevice_t device,
                       unsigned int direction)
{
    unsigned int value = 0;
    if (!nvml->nvmlDeviceGetPcieThroughput)
        return ATH_UNKNOWN;
    nvmlReturn_t status = nvml->nvmlDeviceGetPcieThroughput(device, direction, &value);
    return answered(status, 1000ull * value);
}

static int64_t nvlink_of(const struct ath_gpu_sampler_nvml *nvml, nvmlDevice_t device,
                         unsigned int field)
{
    nvmlFieldValue_t value = { .fieldId = field, .scopeId = ALL_LINKS };
    if (!nvml->nvmlDeviceGetFieldValues ||
        nvml->nvmlDeviceGetFieldValues(device, 1, &value) != NVML_SUCCESS ||
        value.value > INT64_MAX / 1024)
        return ATH_UNKNOWN;
    return answered(value.nvmlReturn, 1024ull * value.value);
}

static const struct {
    size_t figure;
    int64_t (*ask)(const struct ath_gpu_sampler_nvml *nvml, nvmlDevice_t device,
                   unsigned int argument);
    unsigned int argument;
} rows[] = {
    { ATH_DEVICE_FIGURE(memory_total_bytes), memory_of, false },
    { ATH_DEVICE_FIGURE(memory_free_bytes), memory_of, true },
    { ATH_DEVICE_FIGURE(busy_percent), busy_of, false },
    { ATH_DEVICE_FIGURE(memory_busy_percent), busy_of, true },
    { ATH_DEVICE_FIGURE(temperature_c), temperature_of, 0 },
    { ATH_DEVICE_FIGURE(power_mw), power_of, false },
    { ATH_DEVICE_FIGURE(power_limit_mw), power_of, true },
    { ATH_DEVICE_FIGURE(sm_clock_mhz), clock_of, CLOCK_SM },
    { ATH_DEVICE_FIGURE(memory_clock_mhz), clock_of, CLOCK_MEMORY },
    { ATH_DEVICE_FIGURE(throttle_reasons), reasons_of, 0 },
    { ATH_DEVICE_FIGURE(ecc_corrected), ecc_of, ECC_CORRECTED },
    { ATH_DEVICE_FIGURE(ecc_uncorrected), ecc_of, ECC_UNCORRECTED },
    { ATH_DEVICE_FIGURE(remapped_rows), rows_of, 0 },
    { ATH_DEVICE_FIGURE(pcie_received_bytes_s), pcie_of, PCIE_RECEIVED },
    { ATH_DEVICE_FIGURE(pcie_sent_bytes_s), pcie_of, PCIE_SENT },
    { ATH_DEVICE_FIGURE(nvlink_received_bytes), nvlink_of, FIELD_NVLINK_RECEIVED },
    { ATH_DEVICE_FIGURE(nvlink_sent_bytes), nvlink_of, FIELD_NVLINK_SENT },
};

void ath_gpu_sampler_ask(const struct ath_gpu_sampler *sampler, size_t number)
{
    struct ath_device_sample *sample = &sampler->samples->devices[number];
    nvmlDevice_t device = sampler->devices[number];
    for (size_t i = 0; i < ATH_COUNT(rows); i++)
        atomic_store(&sample->figures[rows[i].figure],
                     device ? rows[i].ask(&sampler->nvml, device, rows[i].argument) : ATH_UNKNOWN);
}
