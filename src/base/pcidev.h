/*
 * PCI functions as sysfs has them, below sys/bus/pci/devices.
 *
 * Listing costs one small read for each function; other facts are read only for the functions that
 * matter. Unknown numbers are -1, unknown texts NULL.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/pci.h"
#include "base/root.h"

struct ath_pcidev {
    struct ath_pci address;
    int class; /* class and subclass, 0x0302; -1 if it cannot be read */
};

/* Lists all functions, sorted by address. Returns 0, or a negative errno with *out empty. The
 * caller frees *out. */
int ath_pcidev_list(const struct ath_root *root, struct ath_pcidev **out, size_t *out_count);

/* Returns the entry of a list from ath_pcidev_list(), or NULL if the address is not in it. */
const struct ath_pcidev *ath_pcidev_find(const struct ath_pcidev *list, size_t count,
                                         const struct ath_pci *address);

/* Returns a number of a function ("vendor", "numa_node", "sriov_numvfs"), or -1 if it does not
 * exist or is negative. */
int ath_pcidev_number(const struct ath_root *root, const struct ath_pci *address,
                      const char *attribute);

/* Returns a text of a function ("local_cpulist", "current_link_speed"), NULL if it has none; the
 * caller frees it. */
char *ath_pcidev_text(const struct ath_root *root, const struct ath_pci *address,
                      const char *attribute);

/* Returns the name of the function's driver ("mlx5_core"), NULL if it has none; the caller frees
 * it. */
char *ath_pcidev_driver(const struct ath_root *root, const struct ath_pci *address);

/* Returns the function's place in the PCI tree as ath_pci_class_between() takes it, or NULL if a
 * capture has plain folders instead of links. The caller frees it. */
char *ath_pcidev_place(const struct ath_root *root, const struct ath_pci *address);

/*
 * True for a virtual function (SR-IOV) whose physical function is on the PCI bus too; *out_parent
 * is that function. In a virtual machine the physical function is missing, and the virtual one
 * counts as an ordinary device. In a container it is present, because sysfs shows all PCI
 * functions, even if its network link and its RDMA device belong to another namespace.
 */
bool ath_pcidev_is_virtual(const struct ath_root *root, const struct ath_pci *address,
                           struct ath_pci *out_parent);
