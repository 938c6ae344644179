/* RDMA devices, and the network link of each of their ports. Private to roce. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/root.h"
#include "roce/port.h"

struct ath_rdma_device {
    char *name;
    bool has_pci;
    struct ath_pci pci;
    int subfunction; /* N of mlx5_core.sf.N below the PCI function, or ATH_UNKNOWN */
    bool is_folded;  /* skipped by ath_rdma_read(): the function is folded into another */
};

struct ath_rdma_devices {
    struct ath_rdma_device *items;
    size_t count;
};

/* Finds the devices and their PCI functions, without their ports. Returns 0 (also if there are no
 * devices), or a negative errno. */
int ath_rdma_list(const struct ath_root *root, struct ath_rdma_devices *out);
void ath_rdma_devices_free(struct ath_rdma_devices *devices);

/* Ties every RDMA port to its link, and adds a port if no link matches. The ports must be sorted,
 * and are unsorted afterwards. */
void ath_rdma_read(const struct ath_root *root, const struct ath_rdma_devices *devices,
                   struct ath_ports *ports);
