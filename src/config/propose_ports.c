/*
 * Network ports of proposed entries.
 *
 * On AC922 no network port is nearer to a GPU than NODE, and one ConnectX-5 shows two functions on
 * each socket (skiboot platforms/astbmc/witherspoon.c). So ports are chosen by NUMA node first, and
 * the card is near both nodes.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "config/propose_internal.h"
#include "numa/pair.h"
#include "place/ports.h"

/* Returns the best PCI class between a port and the GPUs of a node; classes grow with distance. */
static int class_to_gpus(const struct ath_machine *machine, const struct ath_nic *nic, int node)
{
    int best = ATH_PCI_SYS + 1;
    for (size_t i = 0; i < machine->pair_count; i++) {
        const struct ath_pair *pair = &machine->pairs[i];
        if (&machine->nics[pair->nic] == nic && pair->class != ATH_PCI_UNKNOWN &&
            ath_proposal_is_gpu_of(machine, &machine->gpus[pair->gpu], node) &&
            (int)pair->class < best)
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

/* Compares two ports as data ports of a node (< 0: a is better). Among equally near ports the order
 * is: RDMA, a link, an address, speed. */
static int compare_use(const struct ath_machine *machine, const struct ath_nic *a,
                       const struct ath_nic *b, int node)
{
    const int64_t steps[][2] = {
        { !a->rdma_device, !b->rdma_device },
        { node_step(machine, a, node), node_step(machine, b, node) },
        { class_to_gpus(machine, a, node), class_to_gpus(machine, b, node) },
        { link_step(a), link_step(b) },
        { ath_nic_lacks_gid(a), ath_nic_lacks_gid(b) },
        { -a->speed_mbps, -b->speed_mbps },
    };
    for (size_t i = 0; i < ATH_COUNT(steps); i++)
        if (steps[i][0] != steps[i][1])
            return compare_numbers(steps[i][0], steps[i][1]);
    return 0;
}

/* The same; among ports of equal use the newer device of one vendor is better. For Mellanox it has
 * the larger id (pci.ids: 1015 ConnectX-4 Lx, 1019 ConnectX-5 Ex). */
static int compare_data(const struct ath_machine *machine, const struct ath_nic *a,
                        const struct ath_nic *b, int node)
{
    int order = compare_use(machine, a, b, node);

    if (order || a->vendor_id != b->vendor_id)
        return order; /* if equal, the order of the array decides, which is by PCI address */
    return compare_numbers(b->device_id, a->device_id);
}

/* Returns the link that carries a port's traffic: its bond or bridge, if it is part of one. */
static const char *link_of(const struct ath_nic *nic)
{
    return nic->master && ath_form_fits(ATH_FORM_INTERFACE, nic->master) ? nic->master
                                                                         : nic->netdev;
}

static bool has_link(const struct ath_nic *nic)
{
    return nic->netdev && ath_form_fits(ATH_FORM_INTERFACE, nic->netdev);
}

static const struct ath_nic *data_nic(const struct ath_machine *machine, int node)
{
    const struct ath_nic *best = NULL;
    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        bool is_usable = has_link(nic) || nic->rdma_device;
        if (is_usable && (!best || compare_data(machine, nic, best, node) < 0))
            best = nic;
    }
    return best;
}

/* Returns whether a port is as good for data as the best one of a node. Ports of unknown speed must
 * be RDMA ports of the same model. */
static bool is_as_good(const struct ath_machine *machine, const struct ath_nic *nic,
                       const struct ath_nic *best, int node)
{
    bool is_same_model = nic->vendor_id == best->vendor_id && nic->device_id == best->device_id;
    bool is_as_fast = nic->speed_mbps > 0 || (nic->rdma_device && is_same_model);

    return is_as_fast && has_link(nic) && nic->link != ATH_LINK_DOWN &&
           !compare_use(machine, nic, best, node) && !nic->subnet_count == !best->subnet_count;
}

static void add_data(struct proposal_ports *ports, const struct ath_nic *nic)
{
    *(const struct ath_nic **)ath_push(&ports->data, &ports->data_count, sizeof *ports->data) = nic;
}

/* Lists the best data port of a node, and all that are as good. */
static void list_data(const struct ath_machine *machine, int node, struct proposal_ports *out)
{
    const struct ath_nic *best = data_nic(machine, node);

    if (best)
        add_data(out, best);
    for (size_t i = 0; best && i < machine->nic_count; i++)
        if (&machine->nics[i] != best && is_as_good(machine, &machine->nics[i], best, node))
            add_data(out, &machine->nics[i]);
}

/* ---- RDMA devices ---- */

/* Returns the indexes of the GPUs of a node. The caller frees them. */
static size_t *gpus_of(const struct ath_machine *machine, int node, size_t *out_count)
{
    size_t *gpus = ath_xalloc(machine->gpu_count * sizeof *gpus);

    *out_count = 0;
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (ath_proposal_is_gpu_of(machine, &machine->gpus[i], node))
            gpus[(*out_count)++] = i;
    return gpus;
}

static bool has_device(const struct proposal_ports *ports, const struct ath_nic *nic)
{
    for (size_t i = 0; i < ports->rdma_count; i++)
        if (!strcmp(ports->rdma[i]->rdma_device, nic->rdma_device))
            return true;
    return false;
}

static void add_device(struct proposal_ports *ports, const struct ath_nic *nic)
{
    if (!nic->rdma_device || !ath_form_fits(ATH_FORM_RDMA_DEVICE, nic->rdma_device) ||
        has_device(ports, nic))
        return;
    *(const struct ath_nic **)ath_push(&ports->rdma, &ports->rdma_count, sizeof *ports->rdma) = nic;
}

/* Lists the ports that RDMA can use and that are nearest to one of the node's GPUs; all that RDMA
 * can use, if the node has no GPU. */
static void list_near(const struct ath_machine *machine, int node, struct proposal_ports *out)
{
    size_t count;
    ath_auto_free size_t *gpus = gpus_of(machine, node, &count);
    ATH_AUTO(ath_place_ports) ports = { 0 };

    ath_place_find_ports(machine, gpus, count, NULL, &ports);
    for (size_t i = 0; i < ports.count; i++)
        if (ports.items[i].is_for_rdma)
            add_device(out, ports.items[i].nic);
    for (size_t i = 0; !count && i < machine->nic_count; i++)
        if (ath_place_can_use_rdma(&machine->nics[i]))
            add_device(out, &machine->nics[i]);
}

/* Drops the ports that are farther from the node than others. */
static void drop_far(const struct ath_machine *machine, int node, struct proposal_ports *ports)
{
    int nearest = INT_MAX;
    size_t kept = 0;

    for (size_t i = 0; i < ports->rdma_count; i++)
        if (node_step(machine, ports->rdma[i], node) < nearest)
            nearest = node_step(machine, ports->rdma[i], node);
    for (size_t i = 0; i < ports->rdma_count; i++)
        if (node_step(machine, ports->rdma[i], node) == nearest)
            ports->rdma[kept++] = ports->rdma[i];
    ports->rdma_count = kept;
}

/* Sorts the few ports of a node as data ports are compared; equal ones keep their order. */
static void sort(const struct ath_machine *machine, int node, struct proposal_ports *ports)
{
    for (size_t i = 1; i < ports->rdma_count; i++) {
        const struct ath_nic *nic = ports->rdma[i];
        size_t at = i;
        for (; at && compare_data(machine, nic, ports->rdma[at - 1], node) < 0; at--)
            ports->rdma[at] = ports->rdma[at - 1];
        ports->rdma[at] = nic;
    }
}

/* Finds the ports of a node. The best data port is among the RDMA devices even if its link is
 * down. */
static struct proposal_ports find_ports(const struct ath_machine *machine, int node)
{
    struct proposal_ports ports = { 0 };

    list_data(machine, node, &ports);
    list_near(machine, node, &ports);
    drop_far(machine, node, &ports);
    if (ports.data_count)
        add_device(&ports, ports.data[0]);
    sort(machine, node, &ports);
    return ports;
}

/* ---- notes ---- */

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

static bool has_data(const struct proposal_ports *ports, const struct ath_nic *nic)
{
    for (size_t i = 0; i < ports->data_count; i++)
        if (ports->data[i] == nic)
            return true;
    return false;
}

/* Notes each GPU of an entry that has a nearer port than the entry's data ports. */
static void note_nearer_ports(struct proposal *proposal, const struct ath_document_numa *entry,
                              const struct proposal_ports *ports, const char *name)
{
    const struct ath_nic *nic = ports->data[0];
    const struct ath_machine *machine = proposal->machine;
    char text[ATH_PCI_TEXT];

    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_nic *nearer =
            ath_proposal_is_gpu_of(machine, &machine->gpus[i], entry->node)
                ? nearer_port(machine, i, nic)
                : NULL;
        if (nearer && !has_data(ports, nearer))
            ath_text_add(&proposal->notes, "# NUMA%d: the GPU %s is nearer to '%s' than to '%s'.\n",
                         entry->id, ath_pci_format(&machine->gpus[i].pci, text), name_of(nearer),
                         name);
    }
}

/* Returns "mlx5_0, mlx5_1": the ports of an entry that are nearest to one of its GPUs. The caller
 * frees it. */
static char *nearest_words(const struct ath_machine *machine, const struct proposal_ports *ports,
                           size_t gpu)
{
    ATH_AUTO(ath_place_ports) own = { 0 };
    struct ath_text words = { 0 };

    ath_place_find_ports(machine, &gpu, 1, NULL, &own);
    for (size_t i = 0; i < ports->rdma_count; i++)
        for (size_t j = 0; j < own.count; j++)
            if (own.items[j].is_for_rdma && own.items[j].nic == ports->rdma[i])
                ath_text_add_part(&words, ", ", "%s", ports->rdma[i]->rdma_device);
    return words.data ? ath_text_take(&words) : ath_xstrdup("");
}

/* Notes for each GPU of an entry which of the RDMA devices are nearest to it, unless these are all
 * devices for all GPUs. */
static void note_nearest(struct proposal *proposal, const struct ath_document_numa *entry,
                         const struct proposal_ports *ports)
{
    const struct ath_machine *machine = proposal->machine;
    ATH_AUTO(ath_text) lines = { 0 };
    ath_auto_free char *first = NULL;
    size_t count;
    ath_auto_free size_t *gpus = gpus_of(machine, entry->node, &count);
    bool do_differ = false;

    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *words = nearest_words(machine, ports, gpus[i]);
        char pci[ATH_PCI_TEXT];
        do_differ = do_differ || (first && strcmp(first, words) != 0);
        if (*words)
            ath_text_add(&lines, "# NUMA%d: nearest to the GPU %s: %s.\n", entry->id,
                         ath_pci_format(&machine->gpus[gpus[i]].pci, pci), words);
        if (!first)
            first = ath_steal(&words);
    }
    if (do_differ && lines.data)
        ath_text_add(&proposal->notes, "%s", lines.data);
}

static void note_data_nic(struct proposal *proposal, const struct ath_document_numa *entry,
                          const struct proposal_ports *ports)
{
    const struct ath_nic *nic = ports->data[0];
    const char *name = has_link(nic) ? link_of(nic) : nic->rdma_device;
    if (nic->numa_node != ATH_UNKNOWN && nic->numa_node != entry->node)
        ath_text_add(&proposal->notes,
                     "# NUMA%d: '%s' is on another NUMA node (%d); there is no nearer %s.\n",
                     entry->id, name, nic->numa_node, nic->rdma_device ? "RDMA port" : "port");
    if (!nic->rdma_device)
        note_nearer_ports(proposal, entry, ports, name);
    if (nic->link == ATH_LINK_DOWN)
        ath_text_add(&proposal->notes, "# NUMA%d: the link of '%s' was down.\n", entry->id, name);
}

void ath_proposal_note_no_rdma(struct proposal *proposal)
{
    for (size_t i = 0; i < proposal->port_count; i++)
        if (proposal->ports[i].rdma_count)
            return;
    if (proposal->port_count)
        ath_text_add(&proposal->notes, "# No RDMA port was found, so no entry has RDMA devices.\n");
}

/* Adds the links of the data ports; several ports may be parts of one bond. */
static void add_data_links(const struct proposal_ports *ports, struct ath_document_numa *entry)
{
    for (size_t i = 0; i < ports->data_count; i++) {
        const char *link = link_of(ports->data[i]);
        if (entry->data_iface.count < ATH_DATA_INTERFACES_MAX && link &&
            ath_form_fits(ATH_FORM_INTERFACE, link) && !ath_texts_has(&entry->data_iface, link))
            ath_texts_add(&entry->data_iface, link);
    }
}

void ath_proposal_add_ports(struct proposal *proposal, struct ath_document_numa *entry)
{
    struct proposal_ports *ports = ath_push(&proposal->ports, &proposal->port_count, sizeof *ports);

    *ports = find_ports(proposal->machine, entry->node);
    if (!ports->data_count)
        return;
    add_data_links(ports, entry);
    for (size_t i = 0; i < ports->rdma_count; i++)
        ath_texts_add(&entry->rdma_devices, ports->rdma[i]->rdma_device);
    if (entry->data_iface.count || entry->rdma_devices.count)
        note_data_nic(proposal, entry, ports);
    note_nearest(proposal, entry, ports);
}

/* ---- the control interface ---- */

static bool is_same_bond(const struct ath_nic *a, const struct ath_nic *b)
{
    return a->master && b->master && !strcmp(a->master, b->master);
}

static bool is_one_of(const struct proposal_ports *ports, const struct ath_nic *nic)
{
    for (size_t i = 0; i < ports->data_count; i++)
        if (ath_nic_is_same_card(ports->data[i], nic) || is_same_bond(ports->data[i], nic))
            return true;
    return false;
}

static bool is_for_data(const struct proposal *proposal, const struct ath_nic *nic)
{
    for (size_t i = 0; i < proposal->port_count; i++)
        if (is_one_of(&proposal->ports[i], nic))
            return true;
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

void ath_proposal_add_control(struct proposal *proposal)
{
    const struct ath_nic *nic = control_nic(proposal);
    for (size_t i = 0; i < proposal->document.numa.count; i++) {
        struct ath_document_numa *entry = &proposal->document.numa.items[i];
        ath_proposal_offer(&entry->control_iface, ATH_FORM_INTERFACE,
                           nic                       ? link_of(nic)
                           : entry->data_iface.count ? entry->data_iface.items[0]
                                                     : NULL);
    }
}
