/* Finds the NUMA node of a PCI function. Private to numa. */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/*
 * Returns the node from the kernel's numa_node file, else from the function's local CPUs, else from
 * the bridges above; ATH_UNKNOWN if these do not lead to one node. The machine's nodes must be read
 * before.
 *
 * said     the value of the function's numa_node file, or ATH_UNKNOWN
 * place    the function's place in the PCI tree, or NULL
 * not_node a node that cannot be the answer: the GPU's own memory; ATH_UNKNOWN for none
 */
int ath_near_node(const struct ath_root *root, const struct ath_machine *machine,
                  const struct ath_pci *pci, int said, const char *place, int not_node);

/* Reads the CPUs near a PCI function. Returns false, with *out untouched, if sysfs does not tell
 * them. The caller frees *out. */
bool ath_near_cpus(const struct ath_root *root, const struct ath_pci *pci, struct ath_idset *out);
