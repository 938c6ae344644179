/* The growing list of ports. */
#include "config.h"

#include "roce/port.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct ath_port *ath_ports_add(struct ath_ports *ports)
{
    struct ath_port *port = ath_push(&ports->items, &ports->count, sizeof *port);
    ath_nic_init(&port->nic);
    port->subfunction = ATH_UNKNOWN;
    port->dev_port = ATH_UNKNOWN;
    return port;
}

void ath_ports_free(struct ath_ports *ports)
{
    if (!ports)
        return;
    for (size_t i = 0; i < ports->count; i++) {
        ath_nic_free(&ports->items[i].nic);
        free(ports->items[i].sys_image_guid);
    }
    free(ports->items);
    *ports = (struct ath_ports){ 0 };
}

static int compare_ports(const void *a, const void *b)
{
    const struct ath_port *x = a, *y = b;
    return ath_nic_compare(&x->nic, &y->nic);
}

void ath_ports_sort(struct ath_ports *ports)
{
    if (ports->count)
        qsort(ports->items, ports->count, sizeof *ports->items, compare_ports);
}

size_t ath_ports_find(const struct ath_ports *ports, size_t count, const struct ath_pci *pci)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct ath_nic *nic = &ports->items[middle].nic;
        if (nic->has_pci && ath_pci_compare(&nic->pci, pci) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct ath_nic *nic = low < count ? &ports->items[low].nic : NULL;
    return nic && nic->has_pci && ath_pci_equals(&nic->pci, pci) ? low : count;
}
