/*
 * From a machine to a first document.
 *
 * On AC922 no network port is nearer to a GPU than NODE, and one ConnectX-5 shows two functions on
 * each socket (skiboot platforms/astbmc/witherspoon.c): ports are taken by NUMA node first, and the
 * card is near both. The GPUs' memory nodes (252 to 255) must be among memory_nodes, or CUDA does
 * not start there.
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

enum { CONTROL_PORT = 50051, DATA_PORT = 5555 };

struct proposal {
    const struct ath_machine *machine;
    struct ath_document document;
    struct ath_text notes; /* "# ..." lines */
    const struct ath_nic **data_nics;
    size_t data_nic_count; /* by entry; NULL where none */
};

static void proposal_free(struct proposal *proposal)
{
    ath_document_free(&proposal->document);
    ath_text_free(&proposal->notes);
    free(proposal->data_nics);
}

/* A name from the machine goes into the document only if the document may say it: a capture may
 * hold anything. */
static void offer(char **field, enum ath_form form, const char *text)
{
    if (text && ath_form_fits(form, text)) {
        free(*field);
        *field = ath_xstrdup(text);
    }
}

static bool serves_cpu(const struct ath_numa_node *node)
{
    return node->kind == ATH_NODE_CPU && node->is_online;
}

static size_t cpu_node_count(const struct ath_machine *machine)
{
    size_t count = 0;
    for (size_t i = 0; i < machine->node_count; i++)
        count += serves_cpu(&machine->nodes[i]);
    return count;
}

/* A machine with one CPU node has its GPUs there, even where the firmware says -1. */
static bool is_gpu_of(const struct ath_machine *machine, const struct ath_gpu *gpu, int node)
{
    return gpu->numa_node == node ||
           (gpu->numa_node == ATH_UNKNOWN && cpu_node_count(machine) == 1);
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

/* The nearest node that has memory of its own, for CPUs without any. */
static int nearest_memory(const struct ath_machine *machine, const struct ath_numa_node *node)
{
    int best = node->id, best_distance = INT_MAX;
    for (size_t i = 0; i < node->distance_count; i++) {
        const struct ath_numa_node *other = ath_machine_node(machine, node->distances[i].node);
        if (other && other->kind != ATH_NODE_GPU && other->memory_total_bytes > 0 &&
            node->distances[i].value < best_distance) {
            best = other->id;
            best_distance = node->distances[i].value;
        }
    }
    return best;
}

static void add_memory(const struct ath_machine *machine, const struct ath_numa_node *node,
                       struct ath_document_numa *entry)
{
    int own = node->memory_total_bytes == 0 ? nearest_memory(machine, node) : node->id;
    ath_idset_add(&entry->memory_nodes, own, own);
}

static void add_gpus(const struct ath_machine *machine, struct ath_document_numa *entry)
{
    char text[ATH_PCI_TEXT];
    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_gpu *gpu = &machine->gpus[i];
        if (!is_gpu_of(machine, gpu, entry->node))
            continue;
        ath_texts_add(&entry->gpus, ath_pci_format(&gpu->pci, text));
        if (gpu->memory_node != ATH_UNKNOWN)
            ath_idset_add(&entry->memory_nodes, gpu->memory_node, gpu->memory_node);
    }
}

/* The best PCI class between a port and the GPUs of a node; classes grow with distance. */
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

static int node_step(const struct ath_nic *nic, int node)
{
    return nic->numa_node == node ? 0 : nic->numa_node == ATH_UNKNOWN ? 1 : 2;
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
 * Which of two ports is the better data port of a node (< 0: a). Among equally near ones: RDMA, a
 * link, an address, speed; then the newer device of one vendor, which with Mellanox is the one with
 * the larger id (pci.ids: 1015 ConnectX-4 Lx, 1019 ConnectX-5 Ex).
 */
static int compare_data(const struct ath_machine *machine, const struct ath_nic *a,
                        const struct ath_nic *b, int node)
{
    const int64_t steps[][2] = {
        { !a->rdma_device, !b->rdma_device },
        { node_step(a, node), node_step(b, node) },
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
    return 0; /* the array's order, by PCI address, decides */
}

/* The name under which a port's traffic goes: that of its bond or bridge, where it is part of one.
 */
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

/* The management port is the one with an address, a link and the least speed: 1G beside 200G. */
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

static void note_data_nic(struct proposal *proposal, const struct ath_document_numa *entry,
                          const struct ath_nic *nic)
{
    const char *name = entry->data_iface ? entry->data_iface : nic->rdma_device;
    if (nic->numa_node != ATH_UNKNOWN && nic->numa_node != entry->node)
        ath_text_add(&proposal->notes,
                     "# NUMA%d: '%s' is on another NUMA node (%d); none is nearer.\n", entry->id,
                     name, nic->numa_node);
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
    add_memory(proposal->machine, node, entry);
    add_gpus(proposal->machine, entry);
    add_data_nic(proposal, entry);
}

/* A runtime serves GPUs; a node without any has nothing to serve. */
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
    }
    if (!needs_gpus)
        ath_text_add(&proposal->notes, "# No GPU was seen; every NUMA node with CPUs is here.\n");
}

static void note_homeless_gpus(struct proposal *proposal)
{
    const struct ath_machine *machine = proposal->machine;
    char text[ATH_PCI_TEXT];

    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_gpu *gpu = &machine->gpus[i];
        const struct ath_numa_node *node =
            gpu->numa_node == ATH_UNKNOWN ? NULL : ath_machine_node(machine, gpu->numa_node);
        if ((node && serves_cpu(node)) || cpu_node_count(machine) == 1)
            continue;
        ath_text_add(&proposal->notes,
                     "# Left out: the GPU %s; its NUMA node %s. Add it to the gpus of one.\n",
                     ath_pci_format(&gpu->pci, text),
                     gpu->numa_node == ATH_UNKNOWN ? "is not known" : "has no CPUs");
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

/* "ConnectX-5 Ex (mlx5_0, mlx5_1)". */
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

/* A card is for the entries near one of its functions, and for those that use it from afar. */
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

/* What is written must load; a machine that makes it fail is a fault of ours. */
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
    note_homeless_gpus(&proposal);
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
    return propose_from(machine, out, err);
}
