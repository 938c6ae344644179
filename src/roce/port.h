/* Ports while they are being read: a nic, and what ties the parts of it together. Private to roce.
 */
#pragma once
#include <stddef.h>

#include "roce/nic.h"

struct ath_port {
    struct ath_nic nic;
    int subfunction;      /* mlx5_core.sf.N of the PCI function, or ATH_UNKNOWN */
    int dev_port;         /* of the function, from 0, as the netdev says; ATH_UNKNOWN */
    bool is_uplink;       /* the card's own port on its switch: phys_port_name says "p0" */
    char *sys_image_guid; /* of the RDMA device: one for all functions of a card; or NULL */
};

struct ath_ports {
    struct ath_port *items;
    size_t count;
};

struct ath_port *ath_ports_add(struct ath_ports *ports);
void ath_ports_free(struct ath_ports *ports);

/* Sorts by PCI address (ports without one last), then port number, then name. */
void ath_ports_sort(struct ath_ports *ports);

/* The first port of a PCI function among the first `count` ports, which are sorted, or count; the
 * function's others follow it. */
size_t ath_ports_find(const struct ath_ports *ports, size_t count, const struct ath_pci *pci);
