/*
 * The NUMA node of a PCI function.
 *
 * numa_node is -1 if the firmware does not say, and missing in some captures. local_cpus exists on
 * every kernel (drivers/pci/pci-sysfs.c), and lists all CPUs if the node is unknown.
 */
#include "config.h"

#include "numa/near.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/pcidev.h"

static bool has_all(const struct ath_idset *all, const struct ath_idset *some)
{
    ATH_AUTO(ath_idset) lacking = { 0 };
    ath_idset_subtract(some, all, &lacking);
    return !lacking.range_count;
}

/* Returns the only node that has all these CPUs, or ATH_UNKNOWN. */
static int node_of_cpus(const struct ath_machine *machine, const struct ath_idset *cpus)
{
    int node = ATH_UNKNOWN, first = ath_idset_next(cpus, -1);

    for (size_t i = 0; first >= 0 && i < machine->node_count; i++)
        if (ath_idset_has(&machine->nodes[i].cpus, first) &&
            has_all(&machine->nodes[i].cpus, cpus)) {
            if (node != ATH_UNKNOWN)
                return ATH_UNKNOWN;
            node = machine->nodes[i].id;
        }
    return node;
}

bool ath_near_cpus(const struct ath_root *root, const struct ath_pci *pci, struct ath_idset *out)
{
    ath_auto_free char *list = ath_pcidev_text(root, pci, "local_cpulist");
    if (list && !ath_idset_parse_list(list, out))
        return true;
    ath_auto_free char *mask = ath_pcidev_text(root, pci, "local_cpus");
    return mask && !ath_idset_parse_mask(mask, out);
}

static int node_of_local_cpus(const struct ath_root *root, const struct ath_machine *machine,
                              const struct ath_pci *pci)
{
    ATH_AUTO(ath_idset) cpus = { 0 };
    return ath_near_cpus(root, pci, &cpus) ? node_of_cpus(machine, &cpus) : ATH_UNKNOWN;
}

/* Returns the node of the nearest bridge above whose node is known, or ATH_UNKNOWN. */
static int node_of_bridges(const struct ath_root *root, const struct ath_machine *machine,
                           const char *place)
{
    ath_auto_free char *path = ath_xstrdup(place);

    for (char *slash; (slash = strrchr(path, '/')); *slash = '\0') {
        struct ath_pci bridge;
        if (ath_pci_parse(slash + 1, &bridge))
            continue;
        int node = ath_pcidev_number(root, &bridge, "numa_node");
        if (ath_machine_find_node(machine, node))
            return node;
    }
    return ATH_UNKNOWN;
}

int ath_near_node(const struct ath_root *root, const struct ath_machine *machine,
                  const struct ath_pci *pci, int said, const char *place, int not_node)
{
    if (said != ATH_UNKNOWN && said != not_node && ath_machine_find_node(machine, said))
        return said;
    int node = node_of_local_cpus(root, machine, pci);
    if (node == ATH_UNKNOWN && place)
        node = node_of_bridges(root, machine, place);
    return node;
}
