/* RDMA devices and which network link each of their ports belongs to. Private to roce. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/root.h"
#include "roce/port.h"

struct ath_rdma_device {
    char *name;
    bool has_pci;
    struct ath_pci pci;
    int subfunction; /* mlx5_core.sf.N of that PCI function, or ATH_UNKNOWN */
    bool is_folded;  /* not to be read: its function is part of another */
};

struct ath_rdma_devices {
    struct ath_rdma_device *items;
    size_t count;
};

/* Finds the devices, and where they belong, without their ports. Returns 0 (also without such
 * devices), or a negative errno. */
int ath_rdma_list(const struct ath_root *root, struct ath_rdma_devices *out);
void ath_rdma_devices_free(struct ath_rdma_devices *devices);

/* Ties every port of every device to its link, and adds a port for those that have none. ports must
 * be sorted and are unsorted afterwards. */
void ath_rdma_read(const struct ath_root *root, const struct ath_rdma_devices *devices,
                   struct ath_ports *ports);
