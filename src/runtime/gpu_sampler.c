/* A table of NVML's questions with the figure that each of them answers. */
#include "config.h"

#include "runtime/gpu_sampler.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/late.h"
#include "base/root.h"
#include "base/unknown.h"
#include "gpu/nvml_health.h"
#include "gpu/xid.h"
#include "nvml/api/nvml_functions.h"
#include "proto/gpu-control.h"
#include "runtime/driver_library.h"
#include "runtime/event_log.h"
#include "runtime/gpu_log.h"

enum {
    TICK_MS = 1000,       /* between samples, and looks whether one is wanted */
    RARE_MS = 15000,      /* between samples if no client asks and no program has a session */
    ASKED_MS = 10000,     /* a client asks for so long after a question */
    HEALTH_MS = 10000,    /* between samples that compute the scores */
    EVENTS_AT_ONCE = 64,  /* taken with one sample */
    PROCESSES_MAX = 1024, /* of one device */
    GAP_US = 3000000,     /* the longest time that a sample of a process stands for */
};

/* Numbers of NVML's interface (NVML API Reference Guide, docs.nvidia.com/deploy/nvml-api). */
enum {
    CLOCK_SM = 1, /* nvmlClockType_t */
    CLOCK_MEMORY = 2,
    PCIE_SENT = 0, /* nvmlPcieUtilCounter_t */
    PCIE_RECEIVED = 1,
    ECC_CORRECTED = 0, /* nvmlMemoryErrorType_t */
    ECC_UNCORRECTED = 1,
    EVENT_XID = 8,           /* nvmlEventTypeXidCriticalError */
    FIELD_NVLINK_SENT = 138, /* NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, in KiB */
    FIELD_NVLINK_RECEIVED = 139,
};
#define ALL_LINKS UINT32_MAX /* the scope of those fields */

/* The host's own namespace of processes (PROC_PID_INIT_INO in the kernel's
 * include/linux/proc_ns.h). */
#define HOST_PID_NAMESPACE UINT32_C(0xEFFFFFFC)

/* An older driver lacks some of them: NULL. */
#define FUNCTIONS(F)                                                                               \
    F(nvmlInit_v2)                                                                                 \
    F(nvmlDeviceGetHandleByUUID)                                                                   \
    F(nvmlDeviceGetHandleByPciBusId_v2)                                                            \
    F(nvmlDeviceGetMemoryInfo)                                                                     \
    F(nvmlDeviceGetUtilizationRates)                                                               \
    F(nvmlDeviceGetTemperature)                                                                    \
    F(nvmlDeviceGetPowerUsage)                                                                     \
    F(nvmlDeviceGetEnforcedPowerLimit)                                                             \
    F(nvmlDeviceGetClockInfo)                                                                      \
    F(nvmlDeviceGetCurrentClocksEventReasons)                                                      \
    F(nvmlDeviceGetCurrentClocksThrottleReasons)                                                   \
    F(nvmlDeviceGetTotalEccErrors)                                                                 \
    F(nvmlDeviceGetRemappedRows)                                                                   \
    F(nvmlDeviceGetPcieThroughput)                                                                 \
    F(nvmlDeviceGetFieldValues)                                                                    \
    F(nvmlDeviceGetProcessUtilization)                                                             \
    F(nvmlEventSetCreate)                                                                          \
    F(nvmlDeviceRegisterEvents)                                                                    \
    F(nvmlEventSetWait)                                                                            \
    F(nvmlEventSetWait_v2)

struct nvml {
    FUNCTIONS(ATH_LATE_MEMBER)
};
static const char *const names[] = { FUNCTIONS(ATH_LATE_NAME) };

struct sampler {
    const struct ath_server *server;
    struct ath_session_board *board;
    struct ath_samples *samples;
    struct nvml nvml;
    struct ath_gpu_nvml health;
    struct ath_root root;                        /* "/"; fd -1: it cannot be opened */
    nvmlDevice_t devices[ATH_DEVICES_MAX];       /* NULL: NVML does not know the device */
    nvmlReturn_t lookups[ATH_DEVICES_MAX];       /* what NVML answered when it was looked for */
    nvmlEventSet_t events;                       /* NULL: there are none */
    bool knows_processes;                        /* NVML's process ids are those of the board */
    unsigned long long seen_us[ATH_DEVICES_MAX]; /* of the last sample of processes */
    int64_t busy_percent[ATH_SESSION_BOARD_MAX]; /* of each session, in this sample */
    struct ath_gpu_log logs[ATH_DEVICES_MAX];
    uint64_t judged_ms; /* when the scores were last computed; 0: never */
};

/* ---- the questions ---- */

/* A value, or unknown if NVML refused or the value cannot be. */
static int64_t answered(nvmlReturn_t status, unsigned long long value)
{
    return status == NVML_SUCCESS && value <= INT64_MAX ? (int64_t)value : ATH_UNKNOWN;
}

static int64_t memory_of(const struct nvml *nvml, nvmlDevice_t device, unsigned int wants_free)
{
    nvmlMemory_t memory = { 0 };
    if (!nvml->nvmlDeviceGetMemoryInfo)
        return ATH_UNKNOWN;
    nvmlReturn_t status = nvml->nvmlDeviceGetMemoryInfo(device, &memory);
    return answered(status, wants_free ? memory.free : memory.total);
}

static int64_t busy_of(const struct nvml *nvml, nvmlDevice_t device, unsigned int wants_memory)
{
    nvmlUtilization_t rates = { 0 };
    if (!nvml->nvmlDeviceGetUtilizationRates)
        return ATH_UNKNOWN;
    nvmlReturn_t status = nvml->nvmlDeviceGetUtilizationRates(device, &rates);
    return answered(status, wants_memory ? rates.memory : rates.gpu);
}

static int64_t temperature_of(const struct nvml *nvml, nvmlDevice_t device, unsigned int sensor)
{
    unsigned int value = 0;
    if (!nvml->nvmlDeviceGetTemperature)
        return ATH_UNKNOWN;
    nvmlReturn_t status = nvml->nvmlDeviceGetTemperature(device, sensor, &value);
    return answered(status, value);
}

static int64_t power_of(const struct nvml *nvml, nvmlDevice_t device, unsigned int wants_limit)
{
    unsigned int value = 0;
    nvmlReturn_t (*ask)(nvmlDevice_t, unsigned int *) =
        wants_limit ? nvml->nvmlDeviceGetEnforcedPowerLimit : nvml->nvmlDeviceGetPowerUsage;
    if (!ask)
        return ATH_UNKNOWN;
    nvmlReturn_t status = ask(device, &value);
    return answered(status, value);
}

static int64_t clock_of(const struct nvml *nvml, nvmlDevice_t device, unsigned int type)
{
    unsigned int value = 0;
    if (!nvml->nvmlDeviceGetClockInfo)
        return ATH_UNKNOWN;
    nvmlReturn_t status = nvml->nvmlDeviceGetClockInfo(device, type, &value);
    return answered(status, value);
}

/* The name has "throttle" in drivers before 535. */
static int64_t reasons_of(const struct nvml *nvml, nvmlDevice_t device, unsigned int unused)
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
static int64_t ecc_of(const struct nvml *nvml, nvmlDevice_t device, unsigned int type)
{
    unsigned long long value = 0;
    if (!nvml->nvmlDeviceGetTotalEccErrors)
        return ATH_UNKNOWN;
    nvmlReturn_t status = nvml->nvmlDeviceGetTotalEccErrors(device, type, 0, &value);
    return answered(status, value);
}

static int64_t rows_of(const struct nvml *nvml, nvmlDevice_t device, unsigned int unused)
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
static int64_t pcie_of(const struct nvml *nvml, nvmlDevice_t device, unsigned int direction)
{
    unsigned int value = 0;
    if (!nvml->nvmlDeviceGetPcieThroughput)
        return ATH_UNKNOWN;
    nvmlReturn_t status = nvml->nvmlDeviceGetPcieThroughput(device, direction, &value);
    return answered(status, 1000ull * value);
}

static int64_t nvlink_of(const struct nvml *nvml, nvmlDevice_t device, unsigned int field)
{
    nvmlFieldValue_t value = { .fieldId = field, .scopeId = ALL_LINKS };
    if (!nvml->nvmlDeviceGetFieldValues ||
        nvml->nvmlDeviceGetFieldValues(device, 1, &value) != NVML_SUCCESS ||
        value.value > INT64_MAX / 1024)
        return ATH_UNKNOWN;
    return answered(value.nvmlReturn, 1024ull * value.value);
}

#define FIGURE(field) (offsetof(struct ath_device_figures, field) / sizeof(int64_t))

static const struct {
    size_t figure;
    int64_t (*ask)(const struct nvml *nvml, nvmlDevice_t device, unsigned int argument);
    unsigned int argument;
} rows[] = {
    { FIGURE(memory_total_bytes), memory_of, false },
    { FIGURE(memory_free_bytes), memory_of, true },
    { FIGURE(busy_percent), busy_of, false },
    { FIGURE(memory_busy_percent), busy_of, true },
    { FIGURE(temperature_c), temperature_of, 0 },
    { FIGURE(power_mw), power_of, false },
    { FIGURE(power_limit_mw), power_of, true },
    { FIGURE(sm_clock_mhz), clock_of, CLOCK_SM },
    { FIGURE(memory_clock_mhz), clock_of, CLOCK_MEMORY },
    { FIGURE(throttle_reasons), reasons_of, 0 },
    { FIGURE(ecc_corrected), ecc_of, ECC_CORRECTED },
    { FIGURE(ecc_uncorrected), ecc_of, ECC_UNCORRECTED },
    { FIGURE(remapped_rows), rows_of, 0 },
    { FIGURE(pcie_received_bytes_s), pcie_of, PCIE_RECEIVED },
    { FIGURE(pcie_sent_bytes_s), pcie_of, PCIE_SENT },
    { FIGURE(nvlink_received_bytes), nvlink_of, FIELD_NVLINK_RECEIVED },
    { FIGURE(nvlink_sent_bytes), nvlink_of, FIELD_NVLINK_SENT },
};

static void beat(const struct sampler *sampler)
{
    atomic_store(&sampler->samples->beat_ms, ath_now_ms());
}

static void sample_device(const struct sampler *sampler, size_t number)
{
    struct ath_device_sample *sample = &sampler->samples->devices[number];
    nvmlDevice_t device = sampler->devices[number];
    for (size_t i = 0; i < ATH_COUNT(rows); i++)
        atomic_store(&sample->figures[rows[i].figure],
                     device ? rows[i].ask(&sampler->nvml, device, rows[i].argument) : ATH_UNKNOWN);
}

/* ---- events and health ---- */

static int number_of(const struct sampler *sampler, nvmlDevice_t device)
{
    for (size_t i = 0; i < sampler->server->devices.count; i++)
        if (sampler->devices[i] && sampler->devices[i] == device)
            return (int)i;
    return -1;
}

static void note_xid(const struct sampler *sampler, const nvmlEventData_t *event)
{
    int number = number_of(sampler, event->device);
    if (number < 0 || event->eventType != EVENT_XID)
        return;
    struct ath_device_sample *sample = &sampler->samples->devices[number];
    if (ath_xid_kind((int64_t)event->eventData) != ATH_XID_APPLICATION)
        atomic_store(&sample->figures[FIGURE(xids)],
                     atomic_load(&sample->figures[FIGURE(xids)]) + 1);
    atomic_store(&sample->figures[FIGURE(last_xid)], (int64_t)event->eventData);
    ath_xid_count(&sample->xids, (int64_t)event->eventData);
    ath_gpu_log_xid(&sampler->server->devices.items[number], (size_t)number,
                    (int64_t)event->eventData);
}

static void take_events(const struct sampler *sampler)
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

/* Counts begin at 0 with the first sampler, and go on with the next one. */
static void begin_events(struct sampler *sampler)
{
    const struct nvml *nvml = &sampler->nvml;
    if (!nvml->nvmlEventSetCreate || !nvml->nvmlDeviceRegisterEvents ||
        nvml->nvmlEventSetCreate(&sampler->events) != NVML_SUCCESS)
        return;
    for (size_t i = 0; i < sampler->server->devices.count; i++) {
        struct ath_device_sample *sample = &sampler->samples->devices[i];
        if (!sampler->devices[i] || nvml->nvmlDeviceRegisterEvents(sampler->devices[i], EVENT_XID,
                                                                   sampler->events) != NVML_SUCCESS)
            continue;
        if (atomic_load(&sample->figures[FIGURE(xids)]) < 0)
            atomic_store(&sample->figures[FIGURE(xids)], 0);
        ath_xid_none(&sample->xids);
    }
}

/* Looks for a device's handle, and keeps NVML's answer. */
static void find_device(struct sampler *sampler, size_t number)
{
    const struct ath_device *device = &sampler->server->devices.items[number];
    const struct nvml *nvml = &sampler->nvml;
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

static int64_t driver_of(const struct sampler *sampler, size_t number)
{
    if (ath_gpu_nvml_is_silent((int)sampler->lookups[number]))
        return ATH_GPU_DRIVER_SILENT;
    return sampler->devices[number] ? ATH_GPU_DRIVER_RUNS : ATH_UNKNOWN;
}

static void judge_health(struct sampler *sampler, size_t number)
{
    if (!sampler->devices[number])
        find_device(sampler, number);
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
    atomic_store(&sample->figures[FIGURE(health_score)], health.score);
    ath_gpu_log_score(&sampler->logs[number], &sampler->server->devices.items[number], number,
                      &health, ath_now_ms());
}

/* ---- sessions ---- */

/* What NVML writes for each process (nvmlProcessUtilizationSample_t). */
struct process_sample {
    unsigned int pid;
    unsigned long long time_us; /* since 1970 */
    unsigned int busy_percent, memory_percent, encoder_percent, decoder_percent;
};
_Static_assert(sizeof(struct process_sample) == sizeof(nvmlProcessUtilizationSample_t),
               "the layout of NVML's samples");

static unsigned long long real_time_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
}

/* The session at a slot that NVML tells about; NULL if it is another's process. */
static struct ath_session_sample *session_of(const struct sampler *sampler, unsigned int pid)
{
    for (size_t i = 0; pid && i < ATH_SESSION_BOARD_MAX; i++)
        if (atomic_load(&sampler->board->known[i].id) &&
            (unsigned int)atomic_load(&sampler->board->known[i].process) == pid)
            return &sampler->samples->sessions[i];
    return NULL;
}

static void add_time(struct sampler *sampler, struct ath_session_sample *session,
                     const struct process_sample *sample, unsigned long long since_us)
{
    unsigned long long span_us = sample->time_us > since_us ? sample->time_us - since_us : 0;
    int64_t busy = sample->busy_percent <= 100 ? sample->busy_percent : 100;
    if (span_us > GAP_US)
        span_us = GAP_US;
    atomic_store(&session->gpu_time_us,
                 atomic_load(&session->gpu_time_us) + (int64_t)span_us * busy / 100);
    int64_t *most = &sampler->busy_percent[session - sampler->samples->sessions];
    if (busy > *most)
        *most = busy;
}

/* NVML has one sample for each process that used the GPU lately. */
static void sample_processes(struct sampler *sampler, size_t number)
{
    static struct process_sample found[PROCESSES_MAX];
    unsigned int count = PROCESSES_MAX;
    unsigned long long since_us = sampler->seen_us[number];
    nvmlReturn_t status = sampler->nvml.nvmlDeviceGetProcessUtilization(
        sampler->devices[number], (nvmlProcessUtilizationSample_t *)found, &count, since_us);
    for (unsigned int i = 0; status == NVML_SUCCESS && i < count && i < PROCESSES_MAX; i++) {
        struct ath_session_sample *session = session_of(sampler, found[i].pid);
        if (session)
            add_time(sampler, session, &found[i], since_us);
        if (found[i].time_us > sampler->seen_us[number])
            sampler->seen_us[number] = found[i].time_us;
    }
    if (status != NVML_SUCCESS || !count)
        sampler->seen_us[number] = real_time_us();
}

/* Begins at 0 for the sessions that have come, and forgets those that have gone. */
static void begin_sessions(struct sampler *sampler)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++) {
        struct ath_session_sample *session = &sampler->samples->sessions[i];
        uint64_t id = atomic_load(&sampler->board->known[i].id);
        if (atomic_load(&session->id) != id) {
            atomic_store(&session->id, 0); /* no reader takes the old numbers for the new session */
            atomic_store(&session->gpu_time_us, 0);
            atomic_store(&session->busy_percent, 0);
        }
        atomic_store(&session->id, id);
        sampler->busy_percent[i] = 0;
    }
}

/* Tells at once how busy the sessions were, when all devices have been asked: a reader never sees
 * a busy session idle. */
static void end_sessions(const struct sampler *sampler)
{
    for (size_t i = 0; i < ATH_SESSION_BOARD_MAX; i++)
        atomic_store(&sampler->samples->sessions[i].busy_percent, sampler->busy_percent[i]);
}

/* ---- when ---- */

static bool is_asked(uint64_t asked_ms, uint64_t now_ms)
{
    return asked_ms && asked_ms <= now_ms && now_ms - asked_ms < ASKED_MS;
}

/* Whether a program has a session, or a client asks for figures. */
static bool is_wanted(const struct sampler *sampler, uint64_t now_ms)
{
    const struct ath_session_board *board = sampler->board;
    bool is_wanted = is_asked(atomic_load(&board->asked_ms), now_ms);
    for (size_t i = 0; !is_wanted && i < ATH_SESSION_BOARD_MAX; i++)
        is_wanted = atomic_load(&board->known[i].id) &&
                    (atomic_load(&board->known[i].purpose) == ATH_GPU_PURPOSE_CUDA ||
                     is_asked(atomic_load(&board->slots[i].entry.asked_ms), now_ms));
    return is_wanted;
}

static void sample(struct sampler *sampler, uint64_t now_ms)
{
    bool judges = !sampler->judged_ms || now_ms - sampler->judged_ms >= HEALTH_MS;
    if (judges)
        sampler->judged_ms = now_ms;
    take_events(sampler);
    if (sampler->knows_processes)
        begin_sessions(sampler);
    for (size_t i = 0; i < sampler->server->devices.count; i++) {
        sample_device(sampler, i);
        if (sampler->devices[i] && sampler->knows_processes)
            sample_processes(sampler, i);
        if (judges)
            judge_health(sampler, i);
        beat(sampler);
    }
    if (sampler->knows_processes)
        end_sessions(sampler);
    atomic_store(&sampler->samples->sampled_ms, ath_now_ms());
}

/* ---- the beginning ---- */

/* In a container NVML tells the process ids of the host, which no process here knows. */
static bool knows_processes(const struct sampler *sampler)
{
    struct stat own;
    return sampler->nvml.nvmlDeviceGetProcessUtilization &&
           (sampler->server->is_simulated ||
            (!stat("/proc/self/ns/pid", &own) && own.st_ino == HOST_PID_NAMESPACE));
}

static void load(struct sampler *sampler)
{
    void *library;
    struct ath_err err;
    if (ath_driver_library_open(sampler->server->is_simulated, "libnvidia-ml.so.1", &library,
                                &err)) {
        ath_event_log(ATH_EVENT_WARNING, "no-nvml", "message", err.message, NULL);
        _exit(ATH_SAMPLER_NO_LIBRARY);
    }
    for (size_t i = 0; i < ATH_COUNT(names); i++) {
        void *function = dlsym(library, names[i]);
        memcpy((char *)&sampler->nvml + i * sizeof function, &function, sizeof function);
    }
    ath_gpu_nvml_load(library, &sampler->health);
    if (!sampler->nvml.nvmlInit_v2)
        _exit(ATH_SAMPLER_NO_LIBRARY);
    nvmlReturn_t status = sampler->nvml.nvmlInit_v2();
    if (status == NVML_SUCCESS)
        return;
    ath_auto_free char *number = ath_xasprintf("%d", (int)status);
    ath_event_log(ATH_EVENT_WARNING, "no-nvml", "message", "nvmlInit_v2() failed", "error", number,
                  NULL);
    _exit(ATH_SAMPLER_NO_DRIVER);
}

void ath_gpu_sampler_run(const struct ath_server *server)
{
    static struct sampler sampler; /* of this process */
    struct ath_err err;
    sampler = (struct sampler){ .server = server,
                                .board = server->board,
                                .samples = &server->board->samples };
    if (ath_root_open("/", &sampler.root, &err))
        sampler.root.fd = -1;
    load(&sampler);
    for (size_t i = 0; i < server->devices.count; i++) {
        find_device(&sampler, i);
        sampler.seen_us[i] = real_time_us();
    }
    sampler.knows_processes = knows_processes(&sampler);
    begin_events(&sampler);
    for (uint64_t last_ms = 0;;) {
        uint64_t now_ms = ath_now_ms();
        beat(&sampler);
        if (!last_ms || now_ms - last_ms >= RARE_MS || is_wanted(&sampler, now_ms)) {
            sample(&sampler, now_ms);
            last_ms = now_ms;
        }
        nanosleep(&(struct timespec){ .tv_sec = TICK_MS / 1000 }, NULL);
    }
}
