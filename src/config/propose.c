/*
 * Proposes a first document for a machine.
 *
 * On AC922 no network port is nearer to a GPU than NODE, and one ConnectX-5 shows two functions on
 * each socket (skiboot platforms/astbmc/witherspoon.c). So ports are chosen by NUMA node first, and
 * the card is near both nodes. The GPUs' memory nodes (252 to 255) must be among memory_nodes, or
 * CUDA does not start there. If no source says whose they are, every entry gets all of them.
 */
#include "config.h"

#include "config/propose.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "config/forms.h"
#include "config/profile.h"
#include "config/write.h"
#include "numa/pair.h"
#include "numa/usable.h"

enum { CONTROL_PORT = 50051, DATA_PORT = 5555 };

struct proposal {
    const struct ath_machine *machine;
    struct ath_document document;
    struct ath_text notes; /* "# ..." lines */
    const struct ath_nic **data_nics;
    size_t data_nic_count; /* by entry; NULL if the entry has no data port */
};

static void proposal_free(struct proposal *proposal)
{
    ath_document_free(&proposal->document);
    ath_text_free(&proposal->notes);
    free(proposal->data_nics);
}

/* Puts a name from the machine into a field only if it is a valid value: a capture may hold
 * anything. */
static void offer(char **field, enum ath_form form, const char *text)
{
    if (text && ath_form_fits(form, text)) {
        free(*field);
        *field = ath_xstrdup(text);
    }
}

static bool serves_cpu(const struct ath_numa_node *node)
{
    return ath_node_lack(node) == ATH_NODE_LACKS_NOTHING;
}

static size_t cpu_node_count(const struct ath_machine *machine)
{
    size_t count = 0;
    for (size_t i = 0; i < machine->node_count; i++)
        count += serves_cpu(&machine->nodes[i]);
    return count;
}

/* True if runtimes serve such GPUs. A GPU that cannot be used at the moment is proposed, with a
 * note. */
static bool serves_gpu(const struct ath_machine *machine, const struct ath_gpu *gpu)
{
    return ath_gpu_lack(machine, gpu) != ATH_GPU_LACKS_CUDA;
}

/* True if a runtime of the node serves the GPU. A machine with one CPU node has all GPUs there,
 * even if the firmware reports node -1. */
static bool is_gpu_of(const struct ath_machine *machine, const struct ath_gpu *gpu, int node)
{
    bool is_there =
        gpu->numa_node == node || (gpu->numa_node == ATH_UNKNOWN && cpu_node_count(machine) == 1);
    return is_there && serves_gpu(machine, gpu);
}

static bool has_gpus(const struct ath_machine *machine, int node)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (is_gpu_of(machine, &machine->gpus[i], node))
            return true;
    return false;
}

static bool any_node_has_gpus(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->node_count; i++)
        if (serves_cpu(&machine->nodes[i]) && has_gpus(machine, machine->nodes[i].id))
            return true;
    return false;
}

/* Returns the nearest node with memory, for a node whose CPUs have none; the node itself if no node
 * has memory. Nodes of unknown distance count as far. */
static int nearest_memory(const struct ath_machine *machine, const struct ath_numa_node *node)
{
    int best = node->id, best_distance = INT_MAX;
    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_numa_node *other = &machine->nodes[i];
        int distance = ath_machine_distance(machine, node->id, other->id);
        if (distance == ATH_UNKNOWN)
            distance = INT_MAX - 1;
        if (other != node && other->is_online && other->memory_total_bytes > 0 &&
            ath_node_has_memory(machine, other) && distance < best_distance) {
            best = other->id;
            best_distance = distance;
        }
    }
    return best;
}

static void add_memory(struct proposal *proposal, const struct ath_numa_node *node,
                       struct ath_document_numa *entry)
{
    int own = node->memory_total_bytes == 0 ? nearest_memory(proposal->machine, node) : node->id;
    ath_idset_add(&entry->memory_nodes, own, own);
    if (own != node->id)
        ath_text_add(&proposal->notes,
                     "# NUMA%d: NUMA node %d has no memory; its programs use that of node %d.\n",
                     entry->id, node->id, own);
}

/* Adds all nodes that may be the memory of the entry's GPUs, because CUDA does not start without
 * the right ones. */
static void add_nodes_without_owner(struct proposal *proposal, struct ath_document_numa *entry)
{
    ATH_AUTO(ath_idset) nodes = { 0 };

    ath_nodes_without_owner(proposal->machine, &nodes);
    for (int id = -1; (id = ath_idset_next(&nodes, id)) >= 0;)
        ath_idset_add(&entry->memory_nodes, id, id);
    ath_auto_free char *ids = ath_idset_format(&nodes);
    if (*ids)
        ath_text_add(&proposal->notes,
                     "# NUMA%d: the NUMA nodes of its GPUs' memory are not known, so "
                     "memory_nodes has all that may be it: %s.\n# Keep those of its GPUs: cat "
                     "/proc/driver/nvidia/gpus/*/numa_status\n",
                     entry->id, ids);
    else
        ath_text_add(&proposal->notes,
                     "# NUMA%d: the NUMA nodes of its GPUs' memory are not known, and CUDA does "
                     "not start without them.\n# Load NVIDIA's driver, then: aitherion init "
                     "--force\n",
                     entry->id);
}

static void add_gpus(struct proposal *proposal, struct ath_document_numa *entry)
{
    const struct ath_machine *machine = proposal->machine;
    bool is_memory_unknown = false;
    char text[ATH_PCI_TEXT];

    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_gpu *gpu = &machine->gpus[i];
        if (!is_gpu_of(machine, gpu, entry->node))
            continue;
        ath_texts_add(&entry->gpus, ath_pci_format(&gpu->pci, text));
        enum ath_gpu_lack lack = ath_gpu_lack(machine, gpu);
        if (lack == ATH_GPU_LACKS_MEMORY_NODE)
            ath_text_add(&proposal->notes,
                         "# NUMA%d: the GPU %s names NUMA node %d as its memory, but that node "
                         "does not exist.\n",
                         entry->id, text, gpu->memory_node);
        if (lack == ATH_GPU_LACKS_DRIVER || lack == ATH_GPU_LACKS_ANSWER)
            ath_text_add(&proposal->notes, "# NUMA%d: NVIDIA's driver does not %s the GPU %s.\n",
                         entry->id, lack == ATH_GPU_LACKS_DRIVER ? "run" : "reach", text);
        is_memory_unknown |= ath_gpu_memory_is_unknown(machine, gpu);
        if (gpu->memory_node != ATH_UNKNOWN)
            ath_idset_add(&entry->memory_nodes, gpu->memory_node, gpu->memory_node);
    }
    if (is_memory_unknown)
        add_nodes_without_owner(proposal, entry);
}

/* Returns the best PCI class between a port and the GPUs of a node; classes grow with distance. */
static int class_to_gpus(const struct ath_machine *machine, const struct ath_nic *nic, int node)
{
    int best = ATH_PCI_SYS + 1;
    for (size_t i = 0; i < machine->pair_count; i++) {
        const struct ath_pair *pair = &machine->pairs[i];
        if (&machine->nics[pair->nic] == nic && pair->class != ATH_PCI_UNKNOWN &&
            is_gpu_of(machine, &machine->gpus[pair->gpu], node) && (int)pair->class < best)
            best = (int)pair->class;
    }
    return best;
}

/* Returns how far a port is from a node: 0 on the node, 1 if the port's node is not known, then the
 * firmware's distance. On machines that split a socket (SNC, NPS), a port of the same socket is
 * nearer than one of the other socket. */
static int node_step(const struct ath_machine *machine, const struct ath_nic *nic, int node)
{
    if (nic->numa_node == node || nic->numa_node == ATH_UNKNOWN)
        return nic->numa_node == node ? 0 : 1;
    int distance = ath_machine_distance(machine, node, nic->numa_node);
    return distance == ATH_UNKNOWN ? INT_MAX : distance;
}

static int link_step(const struct ath_nic *nic)
{
    return nic->link == ATH_LINK_UP ? 0 : nic->link == ATH_LINK_UNKNOWN ? 1 : 2;
}

static int compare_numbers(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/*
 * Compares two ports as data ports of a node (< 0: a is better). Among equally near ports the order
 * is: RDMA, a link, an address, speed, then the newer device of one vendor. For Mellanox the newer
 * device has the larger id (pci.ids: 1015 ConnectX-4 Lx, 1019 ConnectX-5 Ex).
 */
static int compare_data(const struct ath_machine *machine, const struct ath_nic *a,
                        const struct ath_nic *b, int node)
{
    const int64_t steps[][2] = {
        { !a->rdma_device, !b->rdma_device },
        { node_step(machine, a, node), node_step(machine, b, node) },
        { class_to_gpus(machine, a, node), class_to_gpus(machine, b, node) },
        { link_step(a), link_step(b) },
        { ath_nic_lacks_gid(a), ath_nic_lacks_gid(b) },
        { -a->speed_mbps, -b->speed_mbps },
        { a->vendor_id == b->vendor_id ? -a->device_id : 0,
          a->vendor_id == b->vendor_id ? -b->device_id : 0 },
    };
    for (size_t i = 0; i < ATH_COUNT(steps); i++)
        if (steps[i][0] != steps[i][1])
            return compare_numbers(steps[i][0], steps[i][1]);
    return 0; /* the order of the array decides, which is by PCI address */
}

/* Returns the link that carries a port's traffic: its bond or bridge, if it is part of one. */
static const char *link_of(const struct ath_nic *nic)
{
    return nic->master && ath_form_fits(ATH_FORM_INTERFACE, nic->master) ? nic->master
                                                                         : nic->netdev;
}

static const struct ath_nic *data_nic(const struct ath_machine *machine, int node)
{
    const struct ath_nic *best = NULL;
    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        bool is_usable =
            (nic->netdev && ath_form_fits(ATH_FORM_INTERFACE, nic->netdev)) || nic->rdma_device;
        if (is_usable && (!best || compare_data(machine, nic, best, node) < 0))
            best = nic;
    }
    return best;
}

static bool is_same_card(const struct ath_nic *a, const struct ath_nic *b)
{
    return a == b || (a->card && b->card && !strcmp(a->card, b->card));
}

static bool is_same_bond(const struct ath_nic *a, const struct ath_nic *b)
{
    return a->master && b->master && !strcmp(a->master, b->master);
}

static bool is_for_data(const struct proposal *proposal, const struct ath_nic *nic)
{
    for (size_t i = 0; i < proposal->data_nic_count; i++) {
        const struct ath_nic *data = proposal->data_nics[i];
        if (data && (is_same_card(data, nic) || is_same_bond(data, nic)))
            return true;
    }
    return false;
}

/* Compares two ports as management ports: an address and a link count first, then low speed (1G
 * beats 200G). */
static int compare_control(const struct ath_nic *a, const struct ath_nic *b)
{
    const int64_t steps[][2] = {
        { link_step(a), link_step(b) },
        { !a->subnet_count, !b->subnet_count },
        { a->rdma_device != NULL, b->rdma_device != NULL },
        { a->speed_mbps < 0 ? INT64_MAX : a->speed_mbps,
          b->speed_mbps < 0 ? INT64_MAX : b->speed_mbps },
    };
    for (size_t i = 0; i < ATH_COUNT(steps); i++)
        if (steps[i][0] != steps[i][1])
            return compare_numbers(steps[i][0], steps[i][1]);
    return 0;
}

static const struct ath_nic *control_nic(const struct proposal *proposal)
{
    const struct ath_machine *machine = proposal->machine;
    const struct ath_nic *best = NULL;

    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        bool is_candidate = nic->netdev && ath_form_fits(ATH_FORM_INTERFACE, nic->netdev) &&
                            nic->link_layer != ATH_LAYER_INFINIBAND && nic->link != ATH_LINK_DOWN &&
                            !is_for_data(proposal, nic);
        if (is_candidate && (!best || compare_control(nic, best) < 0))
            best = nic;
    }
    return best;
}

/* Returns the name of a port as a document may have it, or NULL. */
static const char *name_of(const struct ath_nic *nic)
{
    if (nic->netdev && ath_form_fits(ATH_FORM_INTERFACE, nic->netdev))
        return nic->netdev;
    return nic->rdma_device && ath_form_fits(ATH_FORM_RDMA_DEVICE, nic->rdma_device)
               ? nic->rdma_device
               : NULL;
}

/* Returns the rank of a port for a GPU, or INT_MAX. */
static int rank_of(const struct ath_machine *machine, const struct ath_pair *pairs, size_t count,
                   const struct ath_nic *nic)
{
    for (size_t i = 0; i < count; i++)
        if (&machine->nics[pairs[i].nic] == nic)
            return pairs[i].rank;
    return INT_MAX;
}

/* Returns the nearest port of a GPU that is as good for data as the entry's: with RDMA if that port
 * has RDMA, and not down. NULL if no such port is nearer than the entry's. */
static const struct ath_nic *nearer_port(const struct ath_machine *machine, size_t gpu,
                                         const struct ath_nic *nic)
{
    size_t count;
    const struct ath_pair *pairs = ath_pairs_of_gpu(machine, gpu, &count);
    int rank = rank_of(machine, pairs, count, nic);

    for (size_t i = 0; i < count && pairs[i].rank < rank; i++) {
        const struct ath_nic *other = &machine->nics[pairs[i].nic];
        if (pairs[i].class != ATH_PCI_UNKNOWN && !other->rdma_device == !nic->rdma_device &&
            name_of(other) && link_step(other) <= link_step(nic))
            return other;
    }
    return NULL;
}

/* An entry has one data port. Notes each of its GPUs that has a nearer one. */
static void note_nearer_ports(struct proposal *proposal, const struct ath_document_numa *entry,
                              const struct ath_nic *nic, const char *name)
{
    const struct ath_machine *machine = proposal->machine;
    char text[ATH_PCI_TEXT];

    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_nic *nearer = is_gpu_of(machine, &machine->gpus[i], entry->node)
                                           ? nearer_port(machine, i, nic)
                                           : NULL;
        if (nearer)
            ath_text_add(&proposal->notes, "# NUMA%d: the GPU %s is nearer to '%s' than to '%s'.\n",
                         entry->id, ath_pci_format(&machine->gpus[i].pci, text), name_of(nearer),
                         name);
    }
}

static void note_data_nic(struct proposal *proposal, const struct ath_document_numa *entry,
                          const struct ath_nic *nic)
{
    const char *name = entry->data_iface ? entry->data_iface : nic->rdma_device;
    if (nic->numa_node != ATH_UNKNOWN && nic->numa_node != entry->node)
        ath_text_add(&proposal->notes,
                     "# NUMA%d: '%s' is on another NUMA node (%d); there is no nearer %s.\n",
                     entry->id, name, nic->numa_node, nic->rdma_device ? "RDMA port" : "port");
    note_nearer_ports(proposal, entry, nic, name);
    if (nic->link == ATH_LINK_DOWN)
        ath_text_add(&proposal->notes, "# NUMA%d: the link of '%s' was down.\n", entry->id, name);
}

static void add_data_nic(struct proposal *proposal, struct ath_document_numa *entry)
{
    const struct ath_nic *nic = data_nic(proposal->machine, entry->node);
    const struct ath_nic **slot =
        ath_push(&proposal->data_nics, &proposal->data_nic_count, sizeof *slot);

    *slot = nic;
    if (!nic)
        return;
    offer(&entry->data_iface, ATH_FORM_INTERFACE, link_of(nic));
    if (nic->rdma_device && ath_form_fits(ATH_FORM_RDMA_DEVICE, nic->rdma_device))
        ath_texts_add(&entry->rdma_devices, nic->rdma_device);
    if (entry->data_iface || entry->rdma_devices.count)
        note_data_nic(proposal, entry, nic);
}

static void add_entry(struct proposal *proposal, const struct ath_numa_node *node)
{
    int id = (int)proposal->document.numa.count;
    struct ath_document_numa *entry =
        ath_schema_add_item(ath_schema_find(ath_schema_root(), "numa"), &proposal->document);

    entry->id = id;
    entry->node = node->id;
    entry->control_port = CONTROL_PORT + id;
    entry->data_port = DATA_PORT + id;
    add_memory(proposal, node, entry);
    add_gpus(proposal, entry);
    add_data_nic(proposal, entry);
}

/* Adds the entries. A node without GPUs gets none, because a runtime serves GPUs. */
static void add_entries(struct proposal *proposal)
{
    const struct ath_machine *machine = proposal->machine;
    bool needs_gpus = any_node_has_gpus(machine);

    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_numa_node *node = &machine->nodes[i];
        if (serves_cpu(node) && (!needs_gpus || has_gpus(machine, node->id)))
            add_entry(proposal, node);
        else if (serves_cpu(node))
            ath_text_add(&proposal->notes, "# Left out: NUMA node %d has no GPU to serve.\n",
                         node->id);
        else if (ath_node_lack(node) == ATH_NODE_LACKS_ONLINE_CPUS)
            ath_text_add(&proposal->notes,
                         "# Left out: NUMA node %d, because all its CPUs are offline.\n", node->id);
    }
    if (!needs_gpus)
        ath_text_add(&proposal->notes,
                     machine->gpu_count
                         ? "# No entry has a GPU, so every NUMA node with CPUs is listed here.\n"
                         : "# No GPU was found; every NUMA node with CPUs is listed here.\n");
}

/* Notes each GPU that no entry has, with the reason. */
static void note_left_out_gpus(struct proposal *proposal)
{
    const struct ath_machine *machine = proposal->machine;
    char text[ATH_PCI_TEXT];

    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_gpu *gpu = &machine->gpus[i];
        const struct ath_numa_node *node =
            gpu->numa_node == ATH_UNKNOWN ? NULL : ath_machine_node(machine, gpu->numa_node);
        ath_pci_format(&gpu->pci, text);
        if (!serves_gpu(machine, gpu))
            ath_text_add(
                &proposal->notes,
                "# Left out: the GPU %s; it is not from NVIDIA, and runtimes serve CUDA.\n", text);
        else if (!(node && serves_cpu(node)) &&
                 !(gpu->numa_node == ATH_UNKNOWN && cpu_node_count(machine) == 1))
            ath_text_add(
                &proposal->notes,
                "# Left out: the GPU %s; its NUMA node %s. Add it to the gpus of an entry.\n", text,
                gpu->numa_node == ATH_UNKNOWN ? "is not known" : "has no CPUs online");
    }
}

/* Notes memory of GPUs that the source does not show. */
static void note_memory_without_owner(struct proposal *proposal)
{
    const struct ath_machine *machine = proposal->machine;
    ATH_AUTO(ath_idset) nodes = { 0 };

    for (size_t i = 0; i < machine->gpu_count; i++)
        if (ath_gpu_memory_is_unknown(machine, &machine->gpus[i]))
            return; /* the entries have these nodes */
    ath_nodes_without_owner(machine, &nodes);
    ath_auto_free char *ids = ath_idset_format(&nodes);
    if (*ids)
        ath_text_add(&proposal->notes,
                     "# Left out: NUMA %s %s, memory of GPUs that are not known here. An entry "
                     "with such a\n# GPU needs its node in memory_nodes, or CUDA does not start.\n",
                     ath_idset_count(&nodes) == 1 ? "node" : "nodes", ids);
}

/* Notes each entry whose CPUs are those of an earlier entry too. */
static void note_shared_cpus(struct proposal *proposal)
{
    for (size_t i = 0; i < proposal->document.numa.count; i++)
        for (size_t j = 0; j < i; j++) {
            const struct ath_document_numa *entries = proposal->document.numa.items;
            ATH_AUTO(ath_idset) both = { 0 };
            ath_idset_intersect(&ath_machine_node(proposal->machine, entries[i].node)->cpus,
                                &ath_machine_node(proposal->machine, entries[j].node)->cpus, &both);
            if (!both.range_count)
                continue;
            ath_auto_free char *ids = ath_idset_format(&both);
            ath_text_add(&proposal->notes, "# NUMA%d: it shares CPUs %s with NUMA%d.\n",
                         entries[i].id, ids, entries[j].id);
            break;
        }
}

static void add_control(struct proposal *proposal)
{
    const struct ath_nic *nic = control_nic(proposal);
    for (size_t i = 0; i < proposal->document.numa.count; i++) {
        struct ath_document_numa *entry = &proposal->document.numa.items[i];
        offer(&entry->control_iface, ATH_FORM_INTERFACE, nic ? link_of(nic) : entry->data_iface);
    }
}

/* Returns "ConnectX-5 Ex (mlx5_0, mlx5_1)"; the caller frees it. */
static char *describe(const struct ath_machine *machine, const struct ath_nic *first)
{
    struct ath_text text = { 0 };
    const char *between = " (";

    ath_text_add(&text, "%s", first->model ? first->model : "RDMA card");
    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        if (!nic->rdma_device || !is_same_card(nic, first))
            continue;
        ath_text_add(&text, "%s%s", between, nic->rdma_device);
        between = ", ";
    }
    ath_text_add(&text, ")");
    return ath_text_take(&text);
}

/* Adds the entries that use a card: those near one of its functions, and those that use it from
 * another node. */
static void add_users(const struct proposal *proposal, const struct ath_nic *first,
                      struct ath_document_card *card)
{
    const struct ath_machine *machine = proposal->machine;
    for (size_t e = 0; e < proposal->document.numa.count; e++) {
        const struct ath_document_numa *entry = &proposal->document.numa.items[e];
        const struct ath_nic *used = proposal->data_nics[e];
        bool is_user = used && is_same_card(used, first);
        for (size_t i = 0; i < machine->nic_count; i++)
            is_user |=
                is_same_card(&machine->nics[i], first) && machine->nics[i].numa_node == entry->node;
        if (is_user)
            ath_idset_add(&card->numa, entry->id, entry->id);
    }
}

static bool is_listed(const struct proposal *proposal, size_t nic)
{
    for (size_t i = 0; i < nic; i++)
        if (proposal->machine->nics[i].rdma_device && proposal->machine->nics[i].has_pci &&
            is_same_card(&proposal->machine->nics[i], &proposal->machine->nics[nic]))
            return true;
    return false;
}

static void add_card(struct proposal *proposal, const struct ath_nic *nic)
{
    const struct ath_schema *roce = ath_schema_find(ath_schema_root(), "roce");
    char text[ATH_PCI_TEXT];
    ath_auto_free char *description = describe(proposal->machine, nic);
    const char *pci = ath_pci_format(&nic->pci, text);

    if (nic->card && ath_form_fits(ATH_FORM_PCI, nic->card))
        pci = nic->card;
    if (ath_document_card(&proposal->document, pci))
        return;
    struct ath_document_card *card =
        ath_schema_add_item(ath_schema_find(roce, "cards"), &proposal->document.roce);
    offer(&card->pci, ATH_FORM_PCI, pci);
    offer(&card->description, ATH_FORM_LINE, description);
    add_users(proposal, nic, card);
}

static void add_cards(struct proposal *proposal)
{
    for (size_t i = 0; i < proposal->machine->nic_count; i++) {
        const struct ath_nic *nic = &proposal->machine->nics[i];
        if (nic->rdma_device && nic->has_pci && !is_listed(proposal, i))
            add_card(proposal, nic);
    }
}

static char *preamble(const struct proposal *proposal)
{
    return ath_xasprintf(
        "# aitherion topology document: what each NUMA node of this machine serves, and over "
        "which\n"
        "# links. Written by 'aitherion init'; made to be edited, or changed with\n"
        "# 'aitherion configure --set KEY=VALUE'. All keys: man aitherion-topology.yaml\n%s",
        proposal->notes.data ? proposal->notes.data : "");
}

/* Refuses a proposed text that does not load, which would be a bug of ours on any machine. */
static int check_text(const char *text, struct ath_err *err)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };

    if (!ath_document_parse(text, strlen(text), "proposal", &document, &faults, err))
        return 0;
    return ath_err_set(err, -EINVAL, ATH_E_INTERNAL, _("the proposed document has a fault: %s"),
                       faults.count ? faults.items[0].message : "?");
}

static int propose_from(const struct ath_machine *machine, char **out, struct ath_err *err)
{
    __attribute__((cleanup(proposal_free))) struct proposal proposal = { .machine = machine };

    ath_schema_defaults(ath_schema_root(), &proposal.document);
    offer(&proposal.document.node.name, ATH_FORM_NAME, machine->hostname);
    offer(&proposal.document.node.profile, ATH_FORM_NAME, machine->profile);
    add_entries(&proposal);
    note_left_out_gpus(&proposal);
    note_memory_without_owner(&proposal);
    note_shared_cpus(&proposal);
    add_control(&proposal);
    add_cards(&proposal);

    ath_auto_free char *top = preamble(&proposal);
    ath_auto_free char *text = ath_document_write(&proposal.document, top);
    int status = check_text(text, err);
    if (!status)
        *out = ath_steal(&text);
    return status;
}

int ath_document_propose(const struct ath_machine *machine, const char *profile, char **out,
                         struct ath_err *err)
{
    if (profile && strcmp(profile, "auto"))
        return ath_profile_read(NULL, profile, out, err);
    if (machine->is_text) {
        ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                    _("the text of `nvidia-smi topo -m` has no PCI addresses, by which a document "
                      "names GPUs"));
        return ath_err_hint(err, -EINVAL,
                            _("an XML has them; on that machine: lstopo "
                              "machine.xml"));
    }
    return propose_from(machine, out, err);
}
