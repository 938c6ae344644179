/* Facts about NVIDIA GPUs from the driver's management library (NVML). Live machines only. */
#pragma once
#include "numa/machine.h"

/*
 * Fills UUID, model, memory, driver version, PCIe link and NVLinks of the machine's NVIDIA GPUs,
 * which must be sorted. Without such GPUs, the library is not loaded. If the library is missing, or
 * the driver does not answer within timeout_ms, a warning is added.
 */
void ath_nvml_read(struct ath_machine *machine, int timeout_ms);
