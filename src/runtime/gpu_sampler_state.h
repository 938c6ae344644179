/*
 * The sampler: its state, and what gpu_sampler.c, gpu_sampler_figures.c, gpu_sampler_health.c and
 * gpu_sampler_sessions.c share. Private to them. One thread.
 */
#pragma once
#include <stddef.h>

#include "base/late.h"
#include "base/root.h"
#include "gpu/nvml_health.h"
#include "nvml/api/nvml_functions.h"
#include "runtime/gpu_log.h"
#include "runtime/gpu_sampler.h"

/* NVML's functions; NULL if an older driver lacks a function. */
#define ATH_GPU_SAMPLER_FUNCTIONS(F)                                                               \
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

struct ath_gpu_sampler_nvml {
    ATH_GPU_SAMPLER_FUNCTIONS(ATH_LATE_MEMBER)
};

struct ath_gpu_sampler {
    const struct ath_server *server;
    struct ath_session_board *board;
    struct ath_samples *samples;
    struct ath_gpu_sampler_nvml nvml;
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

/* The index of a member of struct ath_device_figures in a sample. */
#define ATH_DEVICE_FIGURE(field) (offsetof(struct ath_device_figures, field) / sizeof(int64_t))

/* ---- gpu_sampler_figures.c ---- */

/* Asks NVML for the figures of a device. */
void ath_gpu_sampler_ask(const struct ath_gpu_sampler *sampler, size_t number);

/* ---- gpu_sampler_health.c ---- */

/* Registers for Xid errors of the devices. Counts begin at 0 with the first sampler, and go on with
 * the next one. */
void ath_gpu_sampler_begin_events(struct ath_gpu_sampler *sampler);

/* Counts and logs the Xid errors that came. */
void ath_gpu_sampler_take_events(const struct ath_gpu_sampler *sampler);

/* Looks for a device's handle, and keeps NVML's answer. */
void ath_gpu_sampler_find_device(struct ath_gpu_sampler *sampler, size_t number);

/* Computes the health score of a device. */
void ath_gpu_sampler_judge_health(struct ath_gpu_sampler *sampler, size_t number);

/* ---- gpu_sampler_sessions.c ---- */

/* Chooses whether processes are sampled, and from when on. */
void ath_gpu_sampler_init_sessions(struct ath_gpu_sampler *sampler);

/* Begins at 0 for the sessions that have come, and forgets those that have gone. */
void ath_gpu_sampler_begin_sessions(struct ath_gpu_sampler *sampler);

/* Adds what the sessions used of a device since its last sample. */
void ath_gpu_sampler_sample_processes(struct ath_gpu_sampler *sampler, size_t number);

/* Tells at once how busy the sessions were, when all devices have been asked: a reader never sees
 * a busy session idle. */
void ath_gpu_sampler_end_sessions(const struct ath_gpu_sampler *sampler);
