/*
 * The CPUs of a node whose CPUs are all offline.
 *
 * Newer kernels leave offline CPUs out of a node's cpulist, and captures leave out the links from a
 * node to its CPUs (hwloc-gather-topology). Such a node looks like memory without CPUs. The PCI
 * functions at the node still tell which CPUs are near: local_cpus has offline CPUs on POWER
 * (drivers/pci/pci-sysfs.c shows cpumask_of_node()).
 */
#include "config.h"

#include "numa/offline_cpus.h"

#include "base/cleanup.h"
#include "numa/near.h"
#include "numa/usable.h"

#define CPUS "sys/devices/system/cpu"

/* The only node without CPUs is `only`; ATH_UNKNOWN if there are several. */
struct search {
    const struct ath_root *root;
    struct ath_machine *machine;
    const struct ath_pcidev *devices;
    size_t count;
    int only;
    struct ath_idset missing; /* CPUs that are offline and in no node */
};

static bool lacks_cpus(const struct ath_machine *machine, const struct ath_numa_node *node)
{
    return node->has_cpus_online && !node->cpus.range_count &&
           !ath_node_is_gpu_memory(machine, node->id);
}

/* Finds the CPUs that are present, but neither online nor in a node. */
static void find_missing(const struct ath_root *root, const struct ath_machine *machine,
                         struct ath_idset *out)
{
    ath_auto_free char *present = ath_root_read(root, CPUS "/present");
    ath_auto_free char *online = ath_root_read(root, CPUS "/online");
    ATH_AUTO(ath_idset) all = { 0 }, known = { 0 };

    if (!present || !online || ath_idset_parse_list(present, &all) ||
        ath_idset_parse_list(online, &known))
        return;
    for (size_t i = 0; i < machine->node_count; i++)
        for (size_t j = 0; j < machine->nodes[i].cpus.range_count; j++)
            ath_idset_add(&known, machine->nodes[i].cpus.ranges[j].first,
                          machine->nodes[i].cpus.ranges[j].last);
    ath_idset_subtract(&all, &known, out);
}

/* True if the function is at the node. A capture may lack numa_node; then only the single node
 * without CPUs counts. */
static bool is_at(const struct search *search, const struct ath_pcidev *device, int id)
{
    int said = ath_pcidev_number(search->root, &device->address, "numa_node");
    return said == id || (said == ATH_UNKNOWN && search->only == id);
}

/* Takes the local CPUs of a function at the node, if all of them are missing elsewhere. */
static bool take_local_cpus(const struct search *search, struct ath_numa_node *node)
{
    for (size_t i = 0; i < search->count; i++) {
        ATH_AUTO(ath_idset) cpus = { 0 }, others = { 0 };
        if (!is_at(search, &search->devices[i], node->id) ||
            !ath_near_cpus(search->root, &search->devices[i].address, &cpus) || !cpus.range_count)
            continue;
        ath_idset_subtract(&cpus, &search->missing, &others);
        if (others.range_count)
            continue;
        ath_idset_copy(&cpus, &node->cpus);
        return true;
    }
    return false;
}

/* True if a function names the node, and the missing CPUs are as many as those of another node.
 * With SMT off, other nodes lack CPUs too, so the numbers differ. */
static bool is_whole_socket(const struct search *search, const struct ath_numa_node *node)
{
    bool is_named = false, is_equal = false;

    for (size_t i = 0; !is_named && i < search->count; i++)
        is_named =
            ath_pcidev_number(search->root, &search->devices[i].address, "numa_node") == node->id;
    for (size_t i = 0; i < search->machine->node_count; i++)
        is_equal |=
            ath_idset_count(&search->machine->nodes[i].cpus) == ath_idset_count(&search->missing);
    return is_named && is_equal && !search->machine->is_smt_off;
}

static void search_free(struct search *search)
{
    ath_idset_free(&search->missing);
}

void ath_offline_cpus_read(const struct ath_root *root, struct ath_machine *machine,
                           const struct ath_pcidev *devices, size_t count)
{
    ATH_AUTO(search) search = { root, machine, devices, count, ATH_UNKNOWN, { 0 } };
    size_t without = 0;

    for (size_t i = 0; i < machine->node_count; i++)
        if (lacks_cpus(machine, &machine->nodes[i]))
            search.only = without++ ? ATH_UNKNOWN : machine->nodes[i].id;
    if (without)
        find_missing(root, machine, &search.missing);
    for (size_t i = 0; search.missing.range_count && i < machine->node_count; i++) {
        struct ath_numa_node *node = &machine->nodes[i];
        if (lacks_cpus(machine, node) && !take_local_cpus(&search, node) &&
            search.only == node->id && is_whole_socket(&search, node))
            ath_idset_copy(&search.missing, &node->cpus);
    }
}
