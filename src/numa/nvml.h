/* Facts about NVIDIA GPUs from the driver's management library (NVML): of this machine, or of a
 * server whose NVML another library reaches. */
#pragma once
#include "numa/machine.h"

/*
 * Fills UUID, model, memory, driver version, PCIe link and NVLinks of the machine's NVIDIA GPUs,
 * which must be sorted. A GPU without a place in the PCI tree gets one that has the right distances
 * to the others, and its NUMA node. Without NVIDIA's GPUs, the library is not loaded. If the
 * library is missing, or the driver does not answer within timeout_ms, a warning is added.
 *
 * library  NULL: the driver's
 */
void ath_nvml_read(struct ath_machine *machine, const char *library, int timeout_ms);
