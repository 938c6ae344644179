/*
 * Compares a document with a machine.
 *
 * A source can only prove that something is missing if it lists such things. hwloc leaves the GPU
 * memory nodes of POWER out of its XML (HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES), NCCL's XML has CPU nodes
 * only, and either may come without PCI devices. The model knows links and RDMA devices that are
 * not ports (bonds, bridges, virtual functions, soft RoCE) by name alone. The live kernel is asked
 * for links that were made after the model was read.
 */
#include "config.h"

#include "config/check.h"

#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "numa/usable.h"
#include "roce/address.h"

struct check {
    const struct ath_document *document;
    const struct ath_machine *machine;
    struct ath_faults *faults;
    bool knows_pci;      /* the source lists PCI devices */
    bool knows_netdevs;  /* the source lists network ports */
    bool knows_rdma;     /* the source lists RDMA devices */
    bool knows_memories; /* the source lists NUMA nodes without CPUs too */
};

static struct check begin(const struct ath_document *document, const struct ath_machine *machine,
                          struct ath_faults *faults)
{
    bool is_live = machine->source == ATH_SOURCE_LIVE;
    struct check check = { .document = document,
                           .machine = machine,
                           .faults = faults,
                           .knows_pci = !machine->is_text &&
                                        (is_live || machine->gpu_count || machine->nic_count),
                           .knows_netdevs = is_live,
                           .knows_rdma = ath_machine_knows_rdma(machine),
                           .knows_memories = machine->source != ATH_SOURCE_XML };
    check.knows_netdevs |= machine->others.link_count > 0;
    for (size_t i = 0; i < machine->nic_count; i++)
        check.knows_netdevs |= machine->nics[i].netdev != NULL;
    return check;
}

static const struct ath_yaml *value_of(const struct ath_document_item *item, const char *key)
{
    return ath_yaml_get(item->source, key);
}

/* Returns the offset of a value in the file; if the file does not give the value, that of its
 * item. */
static size_t place_of(const struct ath_document_item *item, const char *key)
{
    const struct ath_yaml *value = value_of(item, key);
    return value ? value->begin : item->source->begin;
}

/* The same for the n-th entry of a list of texts, and for a number in a list of ids. */
static size_t place_of_entry(const struct ath_document_item *item, const char *key, size_t index)
{
    const struct ath_yaml *list = value_of(item, key);
    return list && index < list->child_count ? list->children[index].begin : place_of(item, key);
}

static size_t place_of_id(const struct ath_document_item *item, const char *key, int id)
{
    const struct ath_yaml *list = value_of(item, key);
    int value;
    for (size_t i = 0; list && i < list->child_count; i++)
        if (!ath_parse_int(list->children[i].text, 0, ATH_ID_MAX, &value) && value == id)
            return list->children[i].begin;
    return place_of(item, key);
}

static void check_node(const struct check *check, const struct ath_document_numa *numa)
{
    const struct ath_numa_node *node = ath_machine_node(check->machine, numa->node);
    size_t place = place_of(&numa->item, "node");

    if (!node) {
        ath_faults_add(check->faults, ATH_FAULT_NODE_MISSING, place,
                       _("this machine has no NUMA node %d"), numa->node);
        return;
    }
    switch (ath_node_lack(node)) {
    case ATH_NODE_LACKS_NOTHING:
        break;
    case ATH_NODE_LACKS_CPUS:
        ath_faults_add(check->faults, ATH_FAULT_NODE_KIND, place,
                       _("the NUMA node %d has no CPUs, so nothing can run on it"), numa->node);
        break;
    case ATH_NODE_LACKS_ONLINE:
        ath_faults_add(check->faults, ATH_FAULT_NODE_OFFLINE, place,
                       _("the NUMA node %d is offline"), numa->node);
        break;
    case ATH_NODE_LACKS_ONLINE_CPUS:
        ath_faults_add(check->faults, ATH_FAULT_NODE_CPUS, place,
                       _("all CPUs of the NUMA node %d are offline, so no runtime can run on it"),
                       numa->node);
        break;
    }
}

/* Returns a GPU of an entry, or NULL if the machine has no such GPU. */
static const struct ath_gpu *gpu_of(const struct check *check, const struct ath_document_numa *numa,
                                    size_t index)
{
    struct ath_pci pci;
    return ath_pci_parse(numa->gpus.items[index], &pci) ? NULL
                                                        : ath_machine_gpu(check->machine, &pci);
}

/* True if a node that the machine lacks may be the memory of one of the entry's GPUs: a GPU that is
 * gone, or whose driver has not made the node. Then the GPU's fault is reported, because the
 * document is right. */
static bool may_be_lost_memory(const struct check *check, const struct ath_document_numa *numa,
                               int id)
{
    for (size_t i = 0; i < numa->gpus.count; i++) {
        const struct ath_gpu *gpu = gpu_of(check, numa, i);
        if (gpu ? gpu->memory_node == id || ath_gpu_memory_is_unknown(check->machine, gpu)
                : ath_machine_has_gpu_nodes(check->machine))
            return true;
    }
    return false;
}

/* Memory of GPUs does not count: the kernel and programs need other memory. An entry without a node
 * to run on has another fault. */
static void check_has_memory(const struct check *check, const struct ath_document_numa *numa)
{
    const struct ath_numa_node *own = ath_machine_node(check->machine, numa->node);
    ATH_AUTO(ath_idset) all = { 0 };

    if (!own || own->kind != ATH_NODE_CPU)
        return;
    ath_idset_copy(&numa->memory_nodes, &all);
    ath_idset_add(&all, numa->node, numa->node);
    for (int id = -1; (id = ath_idset_next(&all, id)) >= 0;) {
        const struct ath_numa_node *node = ath_machine_node(check->machine, id);
        if (node && ath_node_has_memory(check->machine, node))
            return;
    }
    ath_auto_free char *ids = ath_idset_format(&all);
    ath_faults_add(
        check->faults, ATH_FAULT_NO_MEMORY, place_of(&numa->item, "memory_nodes"),
        ngettext("NUMA node %s has no memory except GPUs' memory: add a node with memory "
                 "to 'memory_nodes'",
                 "NUMA nodes %s have no memory except GPUs' memory: add a node with "
                 "memory to 'memory_nodes'",
                 ath_idset_count(&all)),
        ids);
}

static void check_memory(const struct check *check, const struct ath_document_numa *numa)
{
    const struct ath_idset *set = &numa->memory_nodes;
    for (int id = ath_idset_next(set, -1); id >= 0; id = ath_idset_next(set, id)) {
        const struct ath_numa_node *node = ath_machine_node(check->machine, id);
        if (id == numa->node)
            continue; /* reported already */
        if (!node && check->knows_memories && !may_be_lost_memory(check, numa, id))
            ath_faults_add(check->faults, ATH_FAULT_NODE_MISSING,
                           place_of_id(&numa->item, "memory_nodes", id),
                           _("this machine has no NUMA node %d"), id);
        else if (node && !node->is_online && !ath_node_is_gpu_memory(check->machine, id))
            ath_faults_add(check->faults, ATH_FAULT_NODE_OFFLINE,
                           place_of_id(&numa->item, "memory_nodes", id),
                           _("the memory of NUMA node %d is offline"), id);
    }
    check_has_memory(check, numa);
}

/* True if memory_nodes has as many nodes that may be the memory of GPUs as the entry has GPUs whose
 * node is not known. A topology file may leave such nodes out. */
static bool has_nodes_for_unknown(const struct check *check, const struct ath_document_numa *numa)
{
    size_t needed = 0, found = 0;

    for (size_t i = 0; i < numa->gpus.count; i++) {
        const struct ath_gpu *gpu = gpu_of(check, numa, i);
        needed += gpu && ath_gpu_memory_is_unknown(check->machine, gpu);
    }
    for (int id = -1; (id = ath_idset_next(&numa->memory_nodes, id)) >= 0;) {
        const struct ath_numa_node *node = ath_machine_node(check->machine, id);
        found += node ? node->memory_total_bytes && ath_node_has_no_owner(check->machine, node)
                      : !check->knows_memories;
    }
    return found >= needed;
}

/* Reports why CUDA cannot use a GPU. `start` waits for memory that is offline. */
static void check_gpu_usable(const struct check *check, const struct ath_document_numa *numa,
                             size_t index, const struct ath_gpu *gpu)
{
    const char *pci = numa->gpus.items[index];
    size_t place = place_of_entry(&numa->item, "gpus", index);

    switch (ath_gpu_lack(check->machine, gpu)) {
    case ATH_GPU_LACKS_NOTHING:
    case ATH_GPU_LACKS_MEMORY_ONLINE:
        break;
    case ATH_GPU_LACKS_CUDA:
        ath_faults_add(check->faults, ATH_FAULT_GPU_VENDOR, place,
                       _("the GPU %s is not from NVIDIA, and runtimes serve CUDA"), pci);
        break;
    case ATH_GPU_LACKS_DRIVER:
        ath_faults_add(check->faults, ATH_FAULT_GPU_DRIVER, place,
                       _("NVIDIA's driver does not run the GPU %s, so CUDA cannot use it"), pci);
        break;
    case ATH_GPU_LACKS_ANSWER:
        ath_faults_add(check->faults, ATH_FAULT_GPU_LOST, place,
                       _("NVIDIA's driver no longer reaches the GPU %s, so CUDA cannot use it"),
                       pci);
        break;
    case ATH_GPU_LACKS_MEMORY_OWNER:
        if (!has_nodes_for_unknown(check, numa))
            ath_faults_add(check->faults, ATH_FAULT_GPU_MEMORY_UNKNOWN, place,
                           _("the NUMA node of the memory of GPU %s is not known, and CUDA would "
                             "not start without that node in 'memory_nodes'"),
                           pci);
        break;
    case ATH_GPU_LACKS_MEMORY_NODE:
        ath_faults_add(check->faults, ATH_FAULT_GPU_MEMORY_GONE, place,
                       _("the GPU %s names NUMA node %d as its memory, but that node does not "
                         "exist"),
                       pci, gpu->memory_node);
        break;
    }
}

static void check_gpu_place(const struct check *check, const struct ath_document_numa *numa,
                            size_t index, const struct ath_gpu *gpu)
{
    const char *pci = numa->gpus.items[index];
    size_t place = place_of_entry(&numa->item, "gpus", index);

    if (gpu->numa_node != ATH_UNKNOWN && gpu->numa_node != numa->node)
        ath_faults_add(check->faults, ATH_FAULT_GPU_NODE, place,
                       _("the GPU %s belongs to NUMA node %d, not %d"), pci, gpu->numa_node,
                       numa->node);
    if (gpu->memory_node != ATH_UNKNOWN && !ath_idset_has(&numa->memory_nodes, gpu->memory_node) &&
        ath_gpu_lack(check->machine, gpu) != ATH_GPU_LACKS_MEMORY_NODE)
        ath_faults_add(check->faults, ATH_FAULT_GPU_MEMORY, place,
                       _("the memory of GPU %s is NUMA node %d, which is not in 'memory_nodes'; "
                         "CUDA would not start"),
                       pci, gpu->memory_node);
}

static void check_gpus(const struct check *check, const struct ath_document_numa *numa)
{
    for (size_t i = 0; i < numa->gpus.count; i++) {
        const struct ath_gpu *gpu = gpu_of(check, numa, i);
        if (gpu) {
            check_gpu_place(check, numa, i, gpu);
            check_gpu_usable(check, numa, i, gpu);
        } else if (check->knows_pci)
            ath_faults_add(check->faults, ATH_FAULT_GPU_MISSING,
                           place_of_entry(&numa->item, "gpus", i), _("this machine has no GPU %s"),
                           numa->gpus.items[i]);
    }
}

static bool has_name(char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* True for a link of the machine, a macvlan that the document makes, and any link of the live
 * kernel. */
static bool may_exist(const struct check *check, const char *link)
{
    const struct ath_nic_others *others = &check->machine->others;

    return !check->knows_netdevs || ath_machine_nic_by_netdev(check->machine, link) ||
           has_name(others->links, others->link_count, link) ||
           ath_document_macvlan(check->document, link) ||
           (check->machine->source == ATH_SOURCE_LIVE && if_nametoindex(link));
}

static void check_link(const struct check *check, const struct ath_document_item *item,
                       const char *key, const char *link)
{
    if (link && !may_exist(check, link))
        ath_faults_add(check->faults, ATH_FAULT_LINK_MISSING, place_of(item, key),
                       _("no network port of this machine is called '%s'"), link);
}

/* Refuses lo: a runtime can be controlled over it, but its data comes from other hosts. Linux gives
 * the name to the loopback interface only (drivers/net/loopback.c). */
static void check_data_link(const struct check *check, const struct ath_document_numa *numa)
{
    if (!numa->data_iface || strcmp(numa->data_iface, "lo") != 0)
        check_link(check, &numa->item, "data_iface", numa->data_iface);
    else
        ath_faults_add(
            check->faults, ATH_FAULT_LINK_LOOPBACK, place_of(&numa->item, "data_iface"),
            _("'%s' is the loopback interface, over which other hosts cannot be reached"),
            numa->data_iface);
}

static bool may_be_rdma_device(const struct check *check, const char *name)
{
    const struct ath_nic_others *others = &check->machine->others;

    return !check->knows_rdma || ath_machine_nic_by_rdma(check->machine, name) ||
           has_name(others->rdma_devices, others->rdma_device_count, name);
}

static void check_rdma(const struct check *check, const struct ath_document_numa *numa)
{
    for (size_t i = 0; i < numa->rdma_devices.count; i++)
        if (!may_be_rdma_device(check, numa->rdma_devices.items[i]))
            ath_faults_add(check->faults, ATH_FAULT_RDMA_MISSING,
                           place_of_entry(&numa->item, "rdma_devices", i),
                           _("this machine has no RDMA device '%s'"), numa->rdma_devices.items[i]);
}

static bool has_card(const struct ath_machine *machine, const struct ath_pci *pci)
{
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].has_pci && ath_pci_equals(&machine->nics[i].pci, pci))
            return true;
    return false;
}

static void check_card(const struct check *check, const struct ath_document_card *card)
{
    struct ath_pci pci;
    bool knows_cards = check->machine->nic_count || check->machine->source == ATH_SOURCE_LIVE;

    if (knows_cards && !ath_pci_parse(card->pci, &pci) && !has_card(check->machine, &pci))
        ath_faults_add(check->faults, ATH_FAULT_CARD_MISSING, place_of(&card->item, "pci"),
                       _("this machine has no network card %s"), card->pci);
}

/* Returns the sum of the shares of a GPU's memory that all entries promise: 1 is the whole
 * memory. */
static double promised_of(const struct ath_document *document, const char *gpu)
{
    double sum = 0;

    for (size_t i = 0; i < document->numa.count; i++)
        if (has_name(document->numa.items[i].gpus.items, document->numa.items[i].gpus.count, gpu))
            sum += document->numa.items[i].vram_fraction;
    return sum;
}

/* Entries may share a GPU, but must not promise more memory than it has. The fault is reported at
 * every entry of the GPU except the first. */
static void check_gpus_shared(const struct check *check)
{
    const struct ath_document *document = check->document;

    for (size_t i = 0; i < document->numa.count; i++)
        for (size_t g = 0; g < document->numa.items[i].gpus.count; g++) {
            const struct ath_document_numa *numa = &document->numa.items[i];
            const struct ath_document_numa *other = numa;
            double sum = promised_of(document, numa->gpus.items[g]);

            if (sum <= 1 + 1e-9) /* 0.7 + 0.2 + 0.1 is slightly more than 1 */
                continue;
            while (other-- > document->numa.items)
                if (has_name(other->gpus.items, other->gpus.count, numa->gpus.items[g]))
                    ath_faults_add(check->faults, ATH_FAULT_GPU_TWICE,
                                   place_of_entry(&numa->item, "gpus", g),
                                   _("NUMA entry %d shares the GPU %s with others, and the "
                                     "vram_fraction values add up to %g; the whole memory is 1"),
                                   other->id, numa->gpus.items[g], sum);
        }
}

static bool is_same_host(const char *a, const char *b)
{
    struct ath_address left, right;
    return a && b && !ath_address_parse(a, &left, NULL) && !ath_address_parse(b, &right, NULL) &&
           ath_address_is_same_host(&left, &right);
}

/* Returns the first macvlan of the document before `end` that has the address, either itself or as
 * the address of its link on the host; NULL if none has it. */
static const struct ath_document_macvlan *holder_of(const struct ath_document *document,
                                                    const char *address, size_t end)
{
    for (size_t i = 0; i < end; i++) {
        const struct ath_document_macvlan *macvlan = &document->roce.macvlans.items[i];
        if (is_same_host(address, macvlan->address) ||
            (macvlan->has_host_link && is_same_host(address, macvlan->host_address)))
            return macvlan;
    }
    return NULL;
}

static void check_address(const struct check *check, size_t index, const char *key,
                          const char *address)
{
    const struct ath_document_macvlan *macvlan = &check->document->roce.macvlans.items[index];
    const struct ath_document_macvlan *other = holder_of(check->document, address, index);
    struct ath_address parsed;
    const char *unfit =
        address && !ath_address_parse(address, &parsed, NULL) ? ath_address_unfit(&parsed) : NULL;
    if (unfit)
        ath_faults_add(check->faults, ATH_FAULT_ADDRESS_UNFIT, place_of(&macvlan->item, key),
                       _("no link can have the address '%s': %s"), address, unfit);
    if (other)
        ath_faults_add(check->faults, ATH_FAULT_ADDRESS_TWICE, place_of(&macvlan->item, key),
                       _("the address '%s' is in use: the macvlan '%s' has it"), address,
                       other->name);
}

static void check_host_link(const struct check *check, const struct ath_document_macvlan *macvlan)
{
    if (!macvlan->has_host_link)
        return;
    size_t place = place_of(&macvlan->item, "host_link");
    if (macvlan->mode != ATH_MACVLAN_BRIDGE)
        ath_faults_add(check->faults, ATH_FAULT_HOST_LINK, place,
                       _("a link on the host reaches '%s' in mode bridge only, not %s"),
                       macvlan->name, ath_macvlan_mode_word(macvlan->mode));
    if (!macvlan->address)
        ath_faults_add(check->faults, ATH_FAULT_HOST_LINK, place,
                       _("a link on the host needs an address of '%s'"), macvlan->name);
    else if (is_same_host(macvlan->address, macvlan->host_address))
        ath_faults_add(check->faults, ATH_FAULT_ADDRESS_TWICE,
                       place_of(&macvlan->item, "host_address"),
                       _("'%s' and its link on the host cannot both have '%s'"), macvlan->name,
                       macvlan->address);
    else if (strchr(macvlan->address, ':') && !macvlan->host_address)
        ath_faults_add(check->faults, ATH_FAULT_HOST_LINK, place,
                       _("for IPv6 the link of '%s' on the host needs its own address"),
                       macvlan->name);
}

/* Checks macvlans for faults that do not depend on the machine. */
static void check_macvlans_alone(const struct check *check)
{
    for (size_t i = 0; i < check->document->roce.macvlans.count; i++) {
        const struct ath_document_macvlan *macvlan = &check->document->roce.macvlans.items[i];
        check_address(check, i, "address", macvlan->address);
        if (macvlan->has_host_link)
            check_address(check, i, "host_address", macvlan->host_address);
        check_host_link(check, macvlan);
    }
}

/* Checks a macvlan against its parent. The kernel refuses a macvlan on InfiniBand, and an MTU above
 * that of the parent (macvlan_change_mtu() in drivers/net/macvlan.c). */
static void check_macvlan(const struct check *check, const struct ath_document_macvlan *macvlan)
{
    const struct ath_nic *parent = ath_machine_nic_by_netdev(check->machine, macvlan->parent);

    check_link(check, &macvlan->item, "parent", macvlan->parent);
    if (parent && parent->link_layer == ATH_LAYER_INFINIBAND)
        ath_faults_add(check->faults, ATH_FAULT_LINK_INFINIBAND, place_of(&macvlan->item, "parent"),
                       _("'%s' is in InfiniBand mode and cannot carry a macvlan"), macvlan->parent);
    if (parent && parent->mtu > 0 && macvlan->mtu > parent->mtu)
        ath_faults_add(check->faults, ATH_FAULT_MTU_ABOVE, place_of(&macvlan->item, "mtu"),
                       _("the MTU %d is larger than that of '%s', %d"), macvlan->mtu,
                       macvlan->parent, parent->mtu);
}

static void check_numa(const struct check *check, const struct ath_document_numa *numa)
{
    check_node(check, numa);
    check_memory(check, numa);
    check_gpus(check, numa);
    check_link(check, &numa->item, "control_iface", numa->control_iface);
    check_data_link(check, numa);
    check_rdma(check, numa);
}

static void place_all(const struct check *check)
{
    const char *path = check->document->path;
    ath_faults_place(check->faults, path ? path : "topology.yaml", check->document->text,
                     check->document->length);
}

size_t ath_document_check_alone(const struct ath_document *document, struct ath_faults *faults)
{
    const struct check check = { .document = document, .faults = faults };
    size_t before = faults->count;

    check_gpus_shared(&check);
    check_macvlans_alone(&check);
    place_all(&check);
    return faults->count - before;
}

size_t ath_document_check_machine(const struct ath_document *document,
                                  const struct ath_machine *machine, struct ath_faults *faults)
{
    struct check check = begin(document, machine, faults);
    size_t before = faults->count;

    for (size_t i = 0; i < document->numa.count; i++)
        check_numa(&check, &document->numa.items[i]);
    for (size_t i = 0; i < document->roce.cards.count; i++)
        check_card(&check, &document->roce.cards.items[i]);
    for (size_t i = 0; i < document->roce.macvlans.count; i++)
        check_macvlan(&check, &document->roce.macvlans.items[i]);
    place_all(&check);
    return faults->count - before;
}

size_t ath_document_check(const struct ath_document *document, const struct ath_machine *machine,
                          struct ath_faults *faults)
{
    return ath_document_check_alone(document, faults) +
           ath_document_check_machine(document, machine, faults);
}

/* ---- faults that a change has added ---- */

static bool is_within(const struct ath_fault *fault, const struct ath_yaml *part)
{
    return part && fault->offset >= part->begin && fault->offset < part->end;
}

static bool has_fault(const struct ath_faults *faults, const struct ath_yaml *part,
                      const struct ath_fault *wanted)
{
    for (size_t i = 0; i < faults->count; i++)
        if (is_within(&faults->items[i], part) && !strcmp(faults->items[i].code, wanted->code) &&
            !strcmp(faults->items[i].message, wanted->message))
            return true;
    return false;
}

void ath_faults_take_new(const struct ath_faults *old, const struct ath_yaml *old_part,
                         struct ath_faults *all, const struct ath_yaml *part,
                         struct ath_faults *out)
{
    size_t kept = 0;
    for (size_t i = 0; i < all->count; i++) {
        bool is_new = is_within(&all->items[i], part) && !has_fault(old, old_part, &all->items[i]);
        struct ath_fault *to =
            is_new ? ath_push(&out->items, &out->count, sizeof *to) : &all->items[kept++];
        *to = all->items[i];
    }
    all->count = kept;
}
