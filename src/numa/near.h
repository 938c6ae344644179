/* Which NUMA node a PCI function is at. Private to numa. */
#pragma once
#include "base/root.h"
#include "numa/machine.h"

/*
 * From what the kernel says, else from the CPUs that it calls local, else from the bridges above;
 * ATH_UNKNOWN where these do not lead to one node. The machine's nodes must be read already.
 *
 * said     the function's numa_node file, if it was read already, or ATH_UNKNOWN
 * place    of the function in the PCI tree, or NULL
 * not_node a node that is no answer: the GPU's own memory; ATH_UNKNOWN where there is none
 */
int ath_near_node(const struct ath_root *root, const struct ath_machine *machine,
                  const struct ath_pci *pci, int said, const char *place, int not_node);
