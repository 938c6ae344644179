/* One function for each group of facts. */
#include "config.h"

#include "gpu/nvml_health.h"

#include <dlfcn.h>
#include <string.h>

#include "base/alloc.h"

/* Numbers of NVML's binary interface (NVML API Reference Guide,
 * docs.nvidia.com/deploy/nvml-api). */
enum {
    SUCCESS = 0,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    INSUFFICIENT_SIZE = 7,
    INSUFFICIENT_POWER = 8,
    TIMEOUT = 10,
    IRQ_ISSUE = 11,
    GPU_IS_LOST = 15,
    RESET_REQUIRED = 16,
    UNKNOWN_ERROR = 999,
    CORRECTED = 0, /* nvmlMemoryErrorType_t */
    UNCORRECTED = 1,
    VOLATILE = 0,  /* nvmlEccCounterType_t: since the driver was loaded */
    AGGREGATE = 1, /* in the GPU's life */
    CAUSES = 2,    /* nvmlPageRetirementCause_t */
    SENSOR_GPU = 0,
    THRESHOLD_SLOWDOWN = 1,
    FIELD_RECOVERY = 230, /* NVML_FI_DEV_GET_GPU_RECOVERY_ACTION */
    FASTEST = 0,          /* NVML_PSTATE_0 */
    LINKS_MAX = 36,
    LANES_MAX = 32,
    NAME_BYTES = 96,
};

/* nvmlFieldValue_t */
struct field {
    unsigned int field_id, scope_id;
    long long timestamp, latency_us;
    int value_type, status;
    union {
        unsigned int number;
        unsigned long long bytes;
    } value;
};

/* GPUs whose NVLinks all lead somewhere on their board. Cards get links only by a bridge. */
static const char *const wired[] = { "SXM", "HGX", "GB200", "GB300", "aitherion simulated" };

#define FUNCTION(name)                                                                             \
    {                                                                                              \
#name, offsetof(struct ath_gpu_nvml, name)                                                 \
    }

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
    FUNCTION(nvmlDeviceGetName),
    FUNCTION(nvmlDeviceGetRemappedRows),
    FUNCTION(nvmlDeviceGetRetiredPages),
    FUNCTION(nvmlDeviceGetRetiredPagesPendingStatus),
    FUNCTION(nvmlDeviceGetTotalEccErrors),
    FUNCTION(nvmlDeviceGetCurrentClocksEventReasons),
    FUNCTION(nvmlDeviceGetCurrentClocksThrottleReasons),
    FUNCTION(nvmlDeviceGetTemperature),
    FUNCTION(nvmlDeviceGetTemperatureThreshold),
    FUNCTION(nvmlDeviceGetPerformanceState),
    FUNCTION(nvmlDeviceGetCurrPcieLinkWidth),
    FUNCTION(nvmlDeviceGetMaxPcieLinkWidth),
    FUNCTION(nvmlDeviceGetCurrPcieLinkGeneration),
    FUNCTION(nvmlDeviceGetMaxPcieLinkGeneration),
    FUNCTION(nvmlDeviceGetNvLinkState),
    FUNCTION(nvmlDeviceGetFieldValues),
};

void ath_gpu_nvml_load(void *library, struct ath_gpu_nvml *out)
{
    for (size_t i = 0; i < ATH_COUNT(functions); i++) {
        void *function = dlsym(library, functions[i].name);
        memcpy((char *)out + functions[i].offset, &function, sizeof function);
    }
}

/* Returns a value, or what its absence means. */
static int64_t result(int status, unsigned long long value)
{
    if (status == NOT_SUPPORTED)
        return ATH_GPU_NO_FACT;
    return status == SUCCESS && value <= INT64_MAX ? (int64_t)value : ATH_UNKNOWN;
}

static int64_t ask_number(int (*function)(void *, unsigned int *), void *device)
{
    unsigned int value = 0;
    int status = function ? function(device, &value) : NOT_SUPPORTED;
    return function ? result(status, value) : ATH_UNKNOWN;
}

static void ask_recovery(const struct ath_gpu_nvml *nvml, void *device, struct ath_gpu_facts *facts)
{
    struct field field = { .field_id = FIELD_RECOVERY };

    if (!nvml->nvmlDeviceGetFieldValues ||
        nvml->nvmlDeviceGetFieldValues(device, 1, &field) != SUCCESS)
        return;
    facts->recovery = result(field.status, field.value.number);
}

static void ask_rows(const struct ath_gpu_nvml *nvml, void *device, struct ath_gpu_facts *facts)
{
    unsigned int corrected = 0, uncorrected = 0, is_pending = 0, has_failed = 0;

    if (!nvml->nvmlDeviceGetRemappedRows)
        return;
    int status =
        nvml->nvmlDeviceGetRemappedRows(device, &corrected, &uncorrected, &is_pending, &has_failed);
    facts->rows_remapped = result(status, uncorrected);
    facts->rows_pending = result(status, is_pending != 0);
    facts->rows_failed = result(status, has_failed != 0);
}

static int64_t ask_pages(const struct ath_gpu_nvml *nvml, void *device)
{
    int64_t sum = 0;

    for (unsigned int cause = 0; cause < CAUSES; cause++) {
        unsigned int count = 0;
        int status = nvml->nvmlDeviceGetRetiredPages(device, cause, &count, NULL);
        int64_t pages = result(status == INSUFFICIENT_SIZE ? SUCCESS : status, count);
        if (pages < 0)
            return pages;
        sum += pages;
    }
    return sum;
}

static int64_t ask_errors(const struct ath_gpu_nvml *nvml, void *device, unsigned int type,
                          unsigned int counter)
{
    unsigned long long count = 0;
    int status = nvml->nvmlDeviceGetTotalEccErrors(device, type, counter, &count);
    return result(status, count);
}

static void ask_memory(const struct ath_gpu_nvml *nvml, void *device, struct ath_gpu_facts *facts)
{
    ask_rows(nvml, device, facts);
    if (nvml->nvmlDeviceGetRetiredPages)
        facts->pages_retired = ask_pages(nvml, device);
    facts->pages_pending = ask_number(nvml->nvmlDeviceGetRetiredPagesPendingStatus, device);
    if (!nvml->nvmlDeviceGetTotalEccErrors)
        return;
    int64_t ever = ask_errors(nvml, device, UNCORRECTED, AGGREGATE);
    facts->ecc_uncorrected = ask_errors(nvml, device, UNCORRECTED, VOLATILE);
    facts->ecc_corrected = ask_errors(nvml, device, CORRECTED, VOLATILE);
    facts->ecc_uncorrected_before = ever;
    if (ever >= 0 && facts->ecc_uncorrected >= 0) /* the two do not count at the same moment */
        facts->ecc_uncorrected_before =
            ever > facts->ecc_uncorrected ? ever - facts->ecc_uncorrected : 0;
}

static void ask_clocks(const struct ath_gpu_nvml *nvml, void *device, struct ath_gpu_facts *facts)
{
    int (*const names[])(void *, unsigned long long *) = {
        nvml->nvmlDeviceGetCurrentClocksEventReasons, /* since 535 */
        nvml->nvmlDeviceGetCurrentClocksThrottleReasons,
    };

    for (size_t i = 0; i < ATH_COUNT(names) && facts->throttle_reasons < 0; i++) {
        unsigned long long reasons = 0;
        if (!names[i])
            continue;
        int status = names[i](device, &reasons);
        facts->throttle_reasons = result(status, reasons);
    }
}

static void ask_heat(const struct ath_gpu_nvml *nvml, void *device, struct ath_gpu_facts *facts)
{
    unsigned int degrees = 0;

    if (nvml->nvmlDeviceGetTemperature) {
        int status = nvml->nvmlDeviceGetTemperature(device, SENSOR_GPU, &degrees);
        facts->temperature_c = result(status, degrees);
    }
    if (nvml->nvmlDeviceGetTemperatureThreshold) {
        int status = nvml->nvmlDeviceGetTemperatureThreshold(device, THRESHOLD_SLOWDOWN, &degrees);
        facts->slowdown_c = result(status, degrees);
    }
}

static int64_t known_lanes(int64_t lanes)
{
    return lanes > 0 && lanes <= LANES_MAX ? lanes : ATH_UNKNOWN;
}

/* An idle GPU lowers the generation of its link, never the width. */
static void ask_pcie(const struct ath_gpu_nvml *nvml, void *device, struct ath_gpu_facts *facts)
{
    int64_t before = ask_number(nvml->nvmlDeviceGetPerformanceState, device);
    int64_t gen = ask_number(nvml->nvmlDeviceGetCurrPcieLinkGeneration, device);
    int64_t after = ask_number(nvml->nvmlDeviceGetPerformanceState, device);
    bool is_fast = before == FASTEST && after == FASTEST;

    facts->pcie_gen = is_fast ? gen : before < 0 || after < 0 ? ATH_UNKNOWN : ATH_GPU_NO_FACT;
    facts->pcie_gen_max = ask_number(nvml->nvmlDeviceGetMaxPcieLinkGeneration, device);
    if (facts->pcie_width >= 0 && facts->pcie_width_max >= 0)
        return;
    facts->pcie_width = known_lanes(ask_number(nvml->nvmlDeviceGetCurrPcieLinkWidth, device));
    facts->pcie_width_max = known_lanes(ask_number(nvml->nvmlDeviceGetMaxPcieLinkWidth, device));
}

static bool is_wired(const struct ath_gpu_nvml *nvml, void *device)
{
    char name[NAME_BYTES] = "";

    if (!nvml->nvmlDeviceGetName || nvml->nvmlDeviceGetName(device, name, sizeof name) != SUCCESS)
        return false;
    for (size_t i = 0; i < ATH_COUNT(wired); i++)
        if (strstr(name, wired[i]))
            return true;
    return false;
}

/* A GPU none of whose links works may be one of a virtual machine without NVSwitches. */
static void ask_links(const struct ath_gpu_nvml *nvml, void *device, struct ath_gpu_facts *facts)
{
    int64_t working = 0, all = 0;

    for (unsigned int link = 0; nvml->nvmlDeviceGetNvLinkState && link < LINKS_MAX; link++) {
        unsigned int is_active = 0;
        int status = nvml->nvmlDeviceGetNvLinkState(device, link, &is_active);
        if (status == INVALID_ARGUMENT || (!link && status == NOT_SUPPORTED))
            break;
        if (!link && status != SUCCESS)
            return;
        all += status == SUCCESS;
        working += status == SUCCESS && is_active;
    }
    if (!nvml->nvmlDeviceGetNvLinkState)
        return;
    facts->nvlinks = all ? working : ATH_GPU_NO_FACT;
    facts->nvlinks_max = working && is_wired(nvml, device) ? all : ATH_GPU_NO_FACT;
}

bool ath_gpu_nvml_is_silent(int status)
{
    static const int silent[] = { INSUFFICIENT_POWER, TIMEOUT,        IRQ_ISSUE,
                                  GPU_IS_LOST,        RESET_REQUIRED, UNKNOWN_ERROR };
    for (size_t i = 0; i < ATH_COUNT(silent); i++)
        if (status == silent[i])
            return true;
    return false;
}

/* A GPU that is lost after its handle was opened fails each question. */
static bool is_lost(const struct ath_gpu_nvml *nvml, void *device)
{
    unsigned int state = 0;
    return nvml->nvmlDeviceGetPerformanceState &&
           nvml->nvmlDeviceGetPerformanceState(device, &state) == GPU_IS_LOST;
}

void ath_gpu_nvml_ask(const struct ath_gpu_nvml *nvml, void *device, struct ath_gpu_facts *facts)
{
    if (is_lost(nvml, device)) {
        facts->driver = ATH_GPU_DRIVER_SILENT;
        return;
    }
    ask_recovery(nvml, device, facts);
    ask_memory(nvml, device, facts);
    ask_clocks(nvml, device, facts);
    ask_heat(nvml, device, facts);
    ask_pcie(nvml, device, facts);
    ask_links(nvml, device, facts);
    facts->has_answers = facts->ecc_uncorrected >= 0 || facts->throttle_reasons >= 0 ||
                         facts->temperature_c >= 0 || facts->nvlinks >= 0;
}

void ath_gpu_pcie_read(const struct ath_root *root, const struct ath_pci *pci,
                       struct ath_gpu_facts *facts)
{
    static const char format[] = "sys/bus/pci/devices/%s/%s";
    char address[ATH_PCI_TEXT];

    ath_pci_format(pci, address);
    int64_t width = ath_root_read_number(root, ATH_UNKNOWN, format, address, "current_link_width");
    int64_t own = ath_root_read_number(root, ATH_UNKNOWN, format, address, "max_link_width");
    int64_t slot = ath_root_read_number(root, ATH_UNKNOWN, format, address, "../max_link_width");
    if (known_lanes(width) < 0 || known_lanes(own) < 0 || known_lanes(slot) < 0)
        return;
    facts->pcie_width = width;
    facts->pcie_width_max = own < slot ? own : slot;
}
