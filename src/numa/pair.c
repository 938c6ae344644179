/*
 * Ranking ports by their distance to a GPU.
 *
 * The NUMA node comes first: on AC922, GPUs and the shared ConnectX-5 are below different host
 * bridges, so that NODE is the nearest class (`nvidia-smi topo -m` there). If a capture has no
 * nodes, a shared switch or host bridge says as much as a shared node. Among other nodes, the
 * firmware's distance decides.
 */
#include "config.h"

#include "numa/pair.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"

/* The facts that tell where a device is. */
struct spot {
    const struct ath_pci *pci; /* NULL: not known */
    const char *place;
    int node;
    const struct ath_pci_row *row;
};

static struct spot spot_of_gpu(const struct ath_gpu *gpu)
{
    return (struct spot){ &gpu->pci, gpu->place, gpu->numa_node, &gpu->classes };
}

static struct spot spot_of_nic(const struct ath_nic *nic)
{
    return (struct spot){ nic->has_pci ? &nic->pci : NULL, nic->place, nic->numa_node,
                          &nic->classes };
}

/* Functions of one slot share the card's link, whatever the source says about bridges: a file of
 * NCCL leaves out root ports. A class that the source itself gives is taken as it is. */
static enum ath_pci_class class_between(const struct spot a, const struct spot b)
{
    bool has_rows = a.row->classes && b.row->classes;
    enum ath_pci_class given =
        has_rows ? (enum ath_pci_class)a.row->classes[b.row->column] : ATH_PCI_UNKNOWN;

    if (given != ATH_PCI_UNKNOWN)
        return given;
    if (a.pci && b.pci && ath_pci_same_slot(a.pci, b.pci))
        return ATH_PCI_PIX;
    return ath_pci_class_between(a.place, a.node, b.place, b.node);
}

enum ath_pci_class ath_class_of_nics(const struct ath_nic *a, const struct ath_nic *b)
{
    return a == b ? ATH_PCI_SAME : class_between(spot_of_nic(a), spot_of_nic(b));
}

enum ath_pci_class ath_class_of_gpus(const struct ath_gpu *a, const struct ath_gpu *b)
{
    if (ath_pci_equals(&a->pci, &b->pci))
        return ATH_PCI_SAME;
    return class_between(spot_of_gpu(a), spot_of_gpu(b));
}

enum ath_pci_class ath_class_of_pair(const struct ath_gpu *gpu, const struct ath_nic *nic)
{
    return class_between(spot_of_gpu(gpu), spot_of_nic(nic));
}

/* Buffers for the ranking of one GPU. They are reused for the next GPU, so that thousands of GPUs
 * and ports stay fast. */
struct ranking {
    size_t *nodes;   /* for each port: index of its node, or node_count */
    int *distances;  /* for each node index: distance from the GPU's node */
    uint64_t *order; /* sort keys: nearness, unfitness, slowness, port; the first counts most */
};

static void ranking_free(struct ranking *ranking)
{
    free(ranking->nodes);
    free(ranking->distances);
    free(ranking->order);
}

static struct ranking ranking_of(const struct ath_machine *machine)
{
    struct ranking ranking = {
        ath_xalloc(machine->nic_count * sizeof *ranking.nodes),
        ath_xalloc((machine->node_count + 1) * sizeof *ranking.distances),
        ath_xalloc(machine->nic_count * sizeof *ranking.order),
    };
    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_numa_node *node = ath_machine_node(machine, machine->nics[i].numa_node);
        ranking.nodes[i] = node ? (size_t)(node - machine->nodes) : machine->node_count;
    }
    return ranking;
}

/* The last entry stays unknown: it belongs to ports whose node is unknown. */
static void fill_distances(const struct ath_machine *machine, int from, struct ranking *ranking)
{
    const struct ath_numa_node *node = ath_machine_node(machine, from);

    for (size_t i = 0; i <= machine->node_count; i++)
        ranking->distances[i] = ATH_UNKNOWN;
    for (size_t i = 0, at = 0; node && i < node->distance_count; i++) {
        while (at < machine->node_count && machine->nodes[at].id < node->distances[i].node)
            at++;
        if (at < machine->node_count && machine->nodes[at].id == node->distances[i].node)
            ranking->distances[at] = node->distances[i].value;
    }
}

static bool is_same_node(const struct ath_gpu *gpu, const struct ath_nic *nic)
{
    return gpu->numa_node != ATH_UNKNOWN && gpu->numa_node == nic->numa_node;
}

/* Lower is nearer: the number of the class, then the same node, then a distance, then unknown. */
static unsigned int nearness_of(const struct ath_gpu *gpu, const struct ath_nic *nic, int distance)
{
    enum { SAME_NODE = 100, OTHER_NODE = 1000, OTHER_FAR = 9999, UNKNOWN = 10000 };
    enum ath_pci_class class = ath_class_of_pair(gpu, nic);

    if (class == ATH_PCI_SYS)
        return distance == ATH_UNKNOWN ? OTHER_FAR : OTHER_NODE + (unsigned int)distance;
    if (class != ATH_PCI_UNKNOWN)
        return class;
    return is_same_node(gpu, nic) ? SAME_NODE : UNKNOWN;
}

unsigned int ath_pair_nearness(const struct ath_machine *machine, const struct ath_gpu *gpu,
                               const struct ath_nic *nic)
{
    return nearness_of(gpu, nic, ath_machine_distance(machine, gpu->numa_node, nic->numa_node));
}

/* Lower is better: usable RDMA, then a link that is up, then an unknown state, then down. */
static unsigned int unfitness_of(const struct ath_nic *nic)
{
    if (nic->link == ATH_LINK_UP)
        return nic->rdma_device && !ath_nic_lacks_gid(nic) ? 0 : 1;
    return nic->link == ATH_LINK_UNKNOWN ? 2 : 3;
}

/* Lower is faster. In steps of 100 Mb/s, to fit into 16 bits. */
static unsigned int slowness_of(const struct ath_nic *nic)
{
    int64_t steps = nic->speed_mbps == ATH_UNKNOWN ? 0 : nic->speed_mbps / 100;
    return (unsigned int)(UINT16_MAX - (steps < UINT16_MAX ? steps : UINT16_MAX));
}

static int compare_orders(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void rank_gpu(struct ath_machine *machine, size_t gpu_index, struct ranking *ranking)
{
    enum { NEARNESS_SHIFT = 50, UNFITNESS_SHIFT = 48, SLOWNESS_SHIFT = 32 };
    const struct ath_gpu *gpu = &machine->gpus[gpu_index];
    struct ath_pair *pairs = &machine->pairs[gpu_index * machine->nic_count];
    int rank = 0;

    fill_distances(machine, gpu->numa_node, ranking);
    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        int distance = ranking->distances[ranking->nodes[i]];
        ranking->order[i] = (uint64_t)nearness_of(gpu, nic, distance) << NEARNESS_SHIFT |
                            (uint64_t)unfitness_of(nic) << UNFITNESS_SHIFT |
                            (uint64_t)slowness_of(nic) << SLOWNESS_SHIFT | i;
    }
    qsort(ranking->order, machine->nic_count, sizeof *ranking->order, compare_orders);
    for (size_t i = 0; i < machine->nic_count; i++) {
        const uint64_t *order = &ranking->order[i];
        size_t index = *order & UINT32_MAX;
        if (!i || order[0] >> NEARNESS_SHIFT != order[-1] >> NEARNESS_SHIFT)
            rank++;
        pairs[i] = (struct ath_pair){
            .gpu = gpu_index,
            .nic = index,
            .class = ath_class_of_pair(gpu, &machine->nics[index]),
            .is_same_node = is_same_node(gpu, &machine->nics[index]),
            .rank = rank,
        };
    }
}

void ath_pairs_rank(struct ath_machine *machine)
{
    free(machine->pairs);
    machine->pairs = NULL;
    machine->pair_count = machine->gpu_count * machine->nic_count;
    if (!machine->pair_count)
        return;
    ATH_AUTO(ranking) ranking = ranking_of(machine);
    machine->pairs = ath_xalloc(machine->pair_count * sizeof *machine->pairs);
    for (size_t i = 0; i < machine->gpu_count; i++)
        rank_gpu(machine, i, &ranking);
}

const struct ath_pair *ath_pairs_of_gpu(const struct ath_machine *machine, size_t gpu,
                                        size_t *out_count)
{
    bool has_pairs = gpu < machine->gpu_count && machine->pair_count;
    *out_count = has_pairs ? machine->nic_count : 0;
    return has_pairs ? &machine->pairs[gpu * machine->nic_count] : NULL;
}

const char *ath_pair_reason(const struct ath_pair *pair)
{
    static const char *const reasons[] = {
        [ATH_PCI_UNKNOWN] = N_("not known: the NUMA node or the place in the PCI tree is missing"),
        [ATH_PCI_SAME] = N_("the same PCI function"),
        [ATH_PCI_PIX] = N_("behind the same PCIe switch"),
        [ATH_PCI_PXB] = N_("below the same PCIe host bridge, through several switches"),
        [ATH_PCI_PHB] = N_("through the same PCIe host bridge"),
        [ATH_PCI_NODE] = N_("same NUMA node, through two PCIe host bridges"),
        [ATH_PCI_SYS] = N_("on another NUMA node"),
    };
    if (pair->class == ATH_PCI_UNKNOWN && pair->is_same_node)
        return _("same NUMA node; the PCIe path is not known");
    return _(reasons[pair->class]);
}
