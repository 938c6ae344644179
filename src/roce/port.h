/* A port while it is being read: the nic, and the keys that tie its parts together. Private to
 * roce. */
#pragma once
#include <stddef.h>

#include "roce/nic.h"

struct ath_port {
    struct ath_nic nic;
    int subfunction; /* N of mlx5_core.sf.N below the PCI function, or ATH_UNKNOWN */
    int dev_port; /* port number within the function, from 0, from the link's dev_port; ATH_UNKNOWN
                   */
    bool is_uplink;       /* the card's own port on its switch: phys_port_name is "p0" */
    char *sys_image_guid; /* of the RDMA device, the same for all functions of a card; or NULL */
};

struct ath_ports {
    struct ath_port *items;
    size_t count;
};

struct ath_port *ath_ports_add(struct ath_ports *ports);
void ath_ports_free(struct ath_ports *ports);

/* Sorts as ath_nic_compare() says. */
void ath_ports_sort(struct ath_ports *ports);

/* Returns the index of the first port of a PCI function among the first `count` ports, which must
 * be sorted, or count if there is none. The function's other ports follow. */
size_t ath_ports_find(const struct ath_ports *ports, size_t count, const struct ath_pci *pci);
