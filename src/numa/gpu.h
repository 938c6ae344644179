/* GPUs and other accelerators, from sysfs and /proc/driver/nvidia. */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/* Adds the machine's GPUs, and sorts the machine. Its nodes must be read before. NVLinks stay
 * unknown. */
void ath_gpus_read(const struct ath_root *root, struct ath_machine *machine);

/* Returns the PCIe generation for a link speed from sysfs ("8.0 GT/s PCIe": 3), or ATH_UNKNOWN. */
int ath_pcie_generation(const char *speed);

/*
 * True if a PCI function is a GPU or another accelerator, except graphics inside a processor
 * and displays that cannot compute.
 *
 * vendor_id   ATH_UNKNOWN if it cannot be read, as device_id
 * class       base class and sub-class: 0x0302
 * has_beside  returns true if the same slot has a function of this vendor; called only if needed
 */
bool ath_gpu_is_one(int vendor_id, int device_id, int class, const struct ath_pci *pci,
                    bool (*has_beside)(const void *context, int vendor_id), const void *context);
