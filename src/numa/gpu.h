/* GPUs and other accelerators, as sysfs and /proc/driver/nvidia show them. */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/* Adds the machine's GPUs, and sorts it; its nodes must be read already. NVLinks stay unknown. */
void ath_gpus_read(const struct ath_root *root, struct ath_machine *machine);

/* PCIe generation of a link speed as sysfs writes it ("8.0 GT/s PCIe": 3), or ATH_UNKNOWN. */
int ath_pcie_generation(const char *speed);

/* True where the table of GPUs and accelerators has this vendor with this PCI class (0x0302: base
 * class and sub-class); graphics inside of a processor pass too. */
bool ath_gpu_is_accelerator(int vendor_id, int class);
