/*
 * Finds GPUs by the CUDA driver API (docs.nvidia.com/cuda/cuda-driver-api), without a context. The
 * prototypes are ours, because Debian has no cuda.h.
 */
#include "config.h"

#include "runtime/devices.h"

#include <dlfcn.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/isolated.h"
#include "base/late.h"
#include "base/unknown.h"
#include "runtime/driver_library.h"

enum { TIMEOUT_MS = 60000 /* cuInit() of eight GPUs takes seconds */ };

struct cuda {
    int (*cuInit)(unsigned int);
    int (*cuDriverGetVersion)(int *);
    int (*cuDeviceGetCount)(int *);
    int (*cuDeviceGet)(int *, int);
    int (*cuDeviceGetName)(char *, int, int);
    int (*cuDeviceGetPCIBusId)(char *, int, int);
    int (*cuDeviceTotalMem_v2)(size_t *, int);
    int (*cuDeviceGetUuid)(unsigned char *, int);
    int (*cuGetErrorName)(int, const char **);
};

static const char *const cuda_names[] = { "cuInit",
                                          "cuDriverGetVersion",
                                          "cuDeviceGetCount",
                                          "cuDeviceGet",
                                          "cuDeviceGetName",
                                          "cuDeviceGetPCIBusId",
                                          "cuDeviceTotalMem_v2",
                                          "cuDeviceGetUuid",
                                          "cuGetErrorName",
                                          NULL };
ATH_LATE_NOTE(cuda_note, "libcuda.so.1", "suggested");

/* The child's answer, in memory that it shares with its parent. */
struct answer {
    bool is_simulated;
    int driver_version;
    char fault[256]; /* why there are no devices; empty if there are some */
    struct ath_device items[ATH_DEVICES_MAX];
    size_t count;
};

void ath_devices_add_problem(struct ath_devices *devices, bool is_fault, const char *code,
                             const char *object, const char *format, ...)
{
    if (devices->problem_count == ATH_COUNT(devices->problems))
        return;
    struct ath_problem *problem = &devices->problems[devices->problem_count++];
    *problem = (struct ath_problem){ .is_fault = is_fault, .code = code };
    snprintf(problem->object, sizeof problem->object, "%s", object);
    va_list args;
    va_start(args, format);
    vsnprintf(problem->message, sizeof problem->message, format, args);
    va_end(args);
}

/* Returns whether the status is 0. For any other status, writes the driver's name for the error
 * into the answer. */
static bool succeeded(const struct cuda *cuda, struct answer *answer, const char *call, int status)
{
    const char *word = NULL;
    if (status && (cuda->cuGetErrorName(status, &word) || !word))
        word = "unknown error";
    if (status)
        snprintf(answer->fault, sizeof answer->fault, "%s: %s (%d)", call, word, status);
    return !status;
}

/* Formats a UUID as NVIDIA does. */
static void format_uuid(const unsigned char bytes[16], char out[48])
{
    size_t length = (size_t)snprintf(out, 48, "GPU");
    for (size_t i = 0; i < 16; i++) {
        bool has_dash = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        length +=
            (size_t)snprintf(out + length, 48 - length, "%s%02x", has_dash ? "-" : "", bytes[i]);
    }
}

static void ask_device(const struct cuda *cuda, int device, struct ath_device *out)
{
    unsigned char uuid[16];
    size_t total;
    char pci[ATH_PCI_TEXT] = "";
    struct ath_pci address;

    *out = (struct ath_device){ .memory_total_bytes = ATH_UNKNOWN };
    if (cuda->cuDeviceGetName(out->name, sizeof out->name, device))
        snprintf(out->name, sizeof out->name, "GPU");
    if (!cuda->cuDeviceGetPCIBusId(pci, sizeof pci, device) && !ath_pci_parse(pci, &address))
        ath_pci_format(&address, out->pci);
    if (!cuda->cuDeviceGetUuid(uuid, device))
        format_uuid(uuid, out->uuid);
    if (!cuda->cuDeviceTotalMem_v2(&total, device))
        out->memory_total_bytes = (int64_t)total;
}

/* Asks the driver; runs in the child process. */
static int ask_driver(void *argument)
{
    struct answer *answer = argument;
    struct cuda cuda;
    struct ath_err err;
    int count = 0;
    ath_auto_free char *path = ath_driver_library_path(answer->is_simulated, "libcuda.so.1");
    void *library;

    setlocale(LC_MESSAGES, "C"); /* clients get English text */
    if (ath_driver_library_open(answer->is_simulated, "libcuda.so.1", &library, &err) ||
        ath_late_load(path, "libcuda1", cuda_names, &cuda, &err)) {
        snprintf(answer->fault, sizeof answer->fault, "%.250s", err.message);
        return 0;
    }
    if (cuda.cuDriverGetVersion(&answer->driver_version))
        answer->driver_version = 0;
    if (!succeeded(&cuda, answer, "cuInit", cuda.cuInit(0)) ||
        !succeeded(&cuda, answer, "cuDeviceGetCount", cuda.cuDeviceGetCount(&count)))
        return 0;
    for (int i = 0; i < count && answer->count < ATH_DEVICES_MAX; i++) {
        int device;
        if (succeeded(&cuda, answer, "cuDeviceGet", cuda.cuDeviceGet(&device, i)))
            ask_device(&cuda, device, &answer->items[answer->count++]);
    }
    return 0;
}

static bool is_wanted(const struct ath_device *device, const struct ath_pci *wanted, size_t count)
{
    struct ath_pci address;
    bool has_address = !ath_pci_parse(device->pci, &address);
    for (size_t i = 0; i < count; i++)
        if (has_address && ath_pci_equals(&address, &wanted[i]))
            return true;
    return !count;
}

static void name_missing(const struct ath_pci *wanted, size_t count, struct ath_devices *devices)
{
    for (size_t i = 0; i < count; i++) {
        char text[ATH_PCI_TEXT];
        size_t at = 0;
        ath_pci_format(&wanted[i], text);
        while (at < devices->count && strcmp(devices->items[at].pci, text) != 0)
            at++;
        if (at == devices->count)
            ath_devices_add_problem(devices, true, "gpu-missing", text,
                                    N_("the CUDA driver has no such device here"));
    }
}

void ath_devices_find(bool is_simulated, const struct ath_pci *wanted, size_t wanted_count,
                      struct ath_devices *out)
{
    struct answer *answer =
        mmap(NULL, sizeof *answer, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (answer == MAP_FAILED) {
        ath_devices_add_problem(out, true, "no-devices", "", N_("no memory to ask the driver"));
        return;
    }
    answer->is_simulated = is_simulated;
    int status = ath_run_isolated(ask_driver, answer, NULL, TIMEOUT_MS);
    if (status < 0)
        snprintf(answer->fault, sizeof answer->fault, "asking the CUDA driver: %s",
                 strerror(-status));
    for (size_t i = 0; i < answer->count && i < ATH_DEVICES_MAX; i++)
        if (is_wanted(&answer->items[i], wanted, wanted_count))
            out->items[out->count++] = answer->items[i];
    for (size_t i = 0; i < out->count; i++)
        out->items[i].is_simulated = is_simulated;
    out->driver_version = answer->driver_version > 0 ? (uint32_t)answer->driver_version : 0;
    name_missing(wanted, wanted_count, out);
    answer->fault[sizeof answer->fault - 1] = '\0';
    if (!out->count)
        ath_devices_add_problem(out, true, "no-devices", "", "%s",
                                *answer->fault ? answer->fault
                                               : N_("the CUDA driver has no device"));
    munmap(answer, sizeof *answer);
}
