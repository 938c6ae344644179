/* GPUs and other accelerators, as sysfs and /proc/driver/nvidia show them. */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/* Adds the machine's GPUs, and sorts it; its nodes must be read already. NVLinks stay unknown. */
void ath_gpus_read(const struct ath_root *root, struct ath_machine *machine);

/* PCIe generation of a link speed as sysfs writes it ("8.0 GT/s PCIe": 3), or ATH_UNKNOWN. */
int ath_pcie_generation(const char *speed);

/*
 * Whether a PCI function is a GPU or another accelerator, and no graphics inside of a processor.
 *
 * vendor_id   ATH_UNKNOWN where it cannot be read
 * class       base class and sub-class: 0x0302
 * has_beside  whether the same slot has a function of this vendor; only asked where it matters
 */
bool ath_gpu_is_one(int vendor_id, int class, const struct ath_pci *pci,
                    bool (*has_beside)(const void *context, int vendor_id), const void *context);
