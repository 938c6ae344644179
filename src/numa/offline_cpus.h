/* The CPUs of nodes whose CPUs are all offline. Private to numa. */
#pragma once
#include <stddef.h>

#include "base/pcidev.h"
#include "base/root.h"
#include "numa/machine.h"

/*
 * Finds the CPUs of each node that lists none, from the PCI functions at that node. The machine's
 * nodes and the memory nodes of its GPUs must be read before.
 *
 * devices  all PCI functions, from ath_pcidev_list()
 */
void ath_offline_cpus_read(const struct ath_root *root, struct ath_machine *machine,
                           const struct ath_pcidev *devices, size_t count);
