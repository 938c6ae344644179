/* What NVIDIA's driver knows of its GPUs, by its management library (NVML). Live machines only. */
#pragma once
#include "numa/machine.h"

/*
 * Fills UUID, model, memory, driver version, PCIe link and NVLinks of the machine's NVIDIA GPUs,
 * which must be sorted. Without such GPUs the library is not even looked for; without the library,
 * or with a driver that gives no answer within timeout_ms, a warning says so.
 */
void ath_nvml_read(struct ath_machine *machine, int timeout_ms);
