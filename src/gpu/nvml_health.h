/*
 * Asks NVML for the facts of a GPU's health score.
 *
 * The functions only read. Each call of NVML takes less than a millisecond if the driver works. If
 * the driver hangs, these functions hang too, so the command line tool calls them in a child
 * process.
 */
#pragma once
#include <stdbool.h>

#include "base/pci.h"
#include "base/root.h"
#include "gpu/health.h"

/* The functions of NVML. A function that an older driver lacks is NULL. */
struct ath_gpu_nvml {
    int (*nvmlDeviceGetName)(void *, char *, unsigned int);
    int (*nvmlDeviceGetRemappedRows)(void *, unsigned int *, unsigned int *, unsigned int *,
                                     unsigned int *);
    int (*nvmlDeviceGetRetiredPages)(void *, unsigned int, unsigned int *, unsigned long long *);
    int (*nvmlDeviceGetRetiredPagesPendingStatus)(void *, unsigned int *);
    int (*nvmlDeviceGetTotalEccErrors)(void *, unsigned int, unsigned int, unsigned long long *);
    int (*nvmlDeviceGetCurrentClocksEventReasons)(void *, unsigned long long *);
    int (*nvmlDeviceGetCurrentClocksThrottleReasons)(void *, unsigned long long *);
    int (*nvmlDeviceGetTemperature)(void *, unsigned int, unsigned int *);
    int (*nvmlDeviceGetTemperatureThreshold)(void *, unsigned int, unsigned int *);
    int (*nvmlDeviceGetPerformanceState)(void *, unsigned int *);
    int (*nvmlDeviceGetCurrPcieLinkWidth)(void *, unsigned int *);
    int (*nvmlDeviceGetMaxPcieLinkWidth)(void *, unsigned int *);
    int (*nvmlDeviceGetCurrPcieLinkGeneration)(void *, unsigned int *);
    int (*nvmlDeviceGetMaxPcieLinkGeneration)(void *, unsigned int *);
    int (*nvmlDeviceGetNvLinkState)(void *, unsigned int, unsigned int *);
    int (*nvmlDeviceGetFieldValues)(void *, int, void *);
};

/* Finds the functions in a library that dlopen() opened. The library must stay open. */
void ath_gpu_nvml_load(void *library, struct ath_gpu_nvml *out);

/* Returns whether an error of NVML means that the driver runs the GPU and no longer reaches it. A
 * GPU that is not found, or that this process may not use, may be in order. */
bool ath_gpu_nvml_is_silent(int status);

/* Asks for all facts of a device (nvmlDevice_t), except Xids and facts that *facts has already. The
 * driver's state is set only if the GPU is lost. Facts that NVML does not tell stay
 * unknown. */
void ath_gpu_nvml_ask(const struct ath_gpu_nvml *nvml, void *device, struct ath_gpu_facts *facts);

/*
 * Reads the width of the PCIe link from sysfs, if sysfs shows the slot: NVML does not know that the
 * slots of an AC922 have two lanes. Call it before ath_gpu_nvml_ask(), which asks NVML where sysfs
 * does not say.
 */
void ath_gpu_pcie_read(const struct ath_root *root, const struct ath_pci *pci,
                       struct ath_gpu_facts *facts);
