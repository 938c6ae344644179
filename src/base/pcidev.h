/*
 * PCI functions as sysfs has them, below sys/bus/pci/devices.
 *
 * A list costs one small read a function; everything else is read for the functions that matter.
 * Unknown numbers are -1, unknown texts NULL.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/pci.h"
#include "base/root.h"

struct ath_pcidev {
    struct ath_pci address;
    int class; /* class and subclass, 0x0302; -1 where it cannot be read */
};

/* All functions, sorted by address. Returns 0 or a negative errno (*out empty then); the caller
 * frees *out. */
int ath_pcidev_list(const struct ath_root *root, struct ath_pcidev **out, size_t *out_count);

/* In a list from above; NULL where the address is not in it. */
const struct ath_pcidev *ath_pcidev_find(const struct ath_pcidev *list, size_t count,
                                         const struct ath_pci *address);

/* A number of a function: "vendor", "numa_node", "sriov_numvfs"...; -1 where there is none (or it
 * is negative). */
int ath_pcidev_number(const struct ath_root *root, const struct ath_pci *address,
                      const char *attribute);

/* A text of a function: "local_cpulist", "current_link_speed"...; the caller frees it. */
char *ath_pcidev_text(const struct ath_root *root, const struct ath_pci *address,
                      const char *attribute);

/* The name of the function's driver ("mlx5_core"); the caller frees it. */
char *ath_pcidev_driver(const struct ath_root *root, const struct ath_pci *address);

/* Where it is in the PCI tree, as ath_pci_class_between() takes it; NULL where a capture has plain
 * folders in place of links. The caller frees it. */
char *ath_pcidev_place(const struct ath_root *root, const struct ath_pci *address);

/*
 * True for a virtual function (SR-IOV) whose physical function, *out_parent, is on the PCI bus too.
 * In a virtual machine it is not: there the virtual function stands for itself. In a container it
 * is, though its link and its RDMA device may be somebody else's: sysfs shows all PCI functions.
 */
bool ath_pcidev_is_virtual(const struct ath_root *root, const struct ath_pci *address,
                           struct ath_pci *out_parent);
