/* The table of warnings, and the checks of a whole machine. */
#include "config.h"

#include "numa/warning.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "numa/usable.h"
#include "roce/lack.h"

static const struct {
    const char *word, *message, *hint;
} kinds[ATH_W_COUNT] = {
#define X(name, word, message, hint) [ATH_W_##name] = { word, message, hint },
    ATH_WARNING_TABLE(X)
#undef X
};

const char *ath_warning_word(enum ath_warning_kind kind)
{
    return kinds[kind].word;
}

const char *ath_warning_message(enum ath_warning_kind kind)
{
    return kinds[kind].message;
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Compares the codes by address, because all of them come from the table. */
static bool is_there(const struct ath_machine *machine, const char *code, const char *object)
{
    for (size_t i = 0; i < machine->warning_count; i++)
        if (machine->warnings[i].code == code && is_same(machine->warnings[i].object, object))
            return true;
    return false;
}

void ath_warning_add(struct ath_machine *machine, enum ath_warning_kind kind, const char *object,
                     ...)
{
    const char *texts[ATH_TEXTS_MAX] = { object };
    va_list args;

    va_start(args, object);
    for (int i = 1; i < ATH_TEXTS_MAX && (texts[i] = va_arg(args, const char *)); i++)
        ;
    va_end(args);
    if (is_there(machine, kinds[kind].word, object))
        return;

    struct ath_warning *warning =
        ath_push(&machine->warnings, &machine->warning_count, sizeof *warning);
    warning->code = kinds[kind].word;
    warning->object = ath_xstrdup(object);
    warning->message = ath_text_expand(_(kinds[kind].message), texts);
    if (kinds[kind].hint)
        warning->hint = ath_text_expand(_(kinds[kind].hint), texts);
}

void ath_warning_add_whole(struct ath_machine *machine, enum ath_warning_kind kind,
                           const char *name)
{
    ath_auto_free char *quoted =
        name ? ath_xasprintf("'%s'", name) : ath_xstrdup(_("this machine"));
    ath_warning_add(machine, kind, name, quoted, NULL);
}

static void check_cpus(struct ath_machine *machine, const struct ath_numa_node *node)
{
    ath_auto_free char *object = ath_xasprintf("node %d", node->id);
    ATH_AUTO(ath_idset) offline = { 0 };

    if (!node->has_cpus_online || ath_node_is_smt_limited(machine, node))
        return;
    ath_idset_subtract(&node->cpus, &node->cpus_online, &offline);
    if (!ath_idset_count(&offline))
        return;
    ath_auto_free char *cpus = ath_idset_format(&offline);
    ath_warning_add(machine, ATH_W_CPUS_OFFLINE, object, cpus, NULL);
}

/* Warns about a node with CPUs whose memory is missing. If no node has memory, the source does not
 * know the sizes. */
static void check_memory(struct ath_machine *machine, const struct ath_numa_node *node)
{
    ath_auto_free char *object = ath_xasprintf("node %d", node->id);
    bool is_empty = node->kind == ATH_NODE_CPU && node->is_online && !node->memory_total_bytes;

    for (size_t i = 0; is_empty && i < machine->node_count; i++)
        if (machine->nodes[i].memory_total_bytes > 0) {
            ath_warning_add(machine, ATH_W_NODE_WITHOUT_MEMORY, object, NULL);
            return;
        }
}

/* Returns the node before `end` that has the CPU, or NULL. */
static const struct ath_numa_node *first_with_cpu(const struct ath_machine *machine, size_t end,
                                                  int cpu)
{
    for (size_t i = 0; i < end; i++)
        if (ath_idset_has(&machine->nodes[i].cpus, cpu))
            return &machine->nodes[i];
    return NULL;
}

/* Warns about nodes with CPUs of an earlier node: numa=fake gives each made-up node all CPUs of the
 * real one (numa_add_cpu() of the kernel's mm/numa_emulation.c). */
static void check_shared_cpus(struct ath_machine *machine)
{
    ATH_AUTO(ath_idset) seen = { 0 };

    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_idset *cpus = &machine->nodes[i].cpus;
        ATH_AUTO(ath_idset) both = { 0 };
        ath_idset_intersect(cpus, &seen, &both);
        const struct ath_numa_node *other =
            first_with_cpu(machine, both.range_count ? i : 0, ath_idset_next(&both, -1));
        if (other) {
            ath_auto_free char *object = ath_xasprintf("node %d", machine->nodes[i].id);
            ath_auto_free char *ids = ath_idset_format(&both);
            ath_auto_free char *first = ath_xasprintf("%d", other->id);
            ath_warning_add(machine, ATH_W_CPUS_SHARED, object, ids, first, NULL);
        }
        for (size_t j = 0; j < cpus->range_count; j++)
            ath_idset_add(&seen, cpus->ranges[j].first, cpus->ranges[j].last);
    }
}

/* Warns about nodes with memory of GPUs that the source does not show. If it shows a GPU whose
 * memory node is unknown, the nodes may be its own, and that GPU's warning names them. */
static void check_owners(struct ath_machine *machine)
{
    ATH_AUTO(ath_idset) nodes = { 0 };

    for (size_t i = 0; i < machine->gpu_count; i++)
        if (ath_gpu_memory_is_unknown(machine, &machine->gpus[i]))
            return;
    ath_nodes_without_owner(machine, &nodes);
    if (!nodes.range_count)
        return;
    ath_auto_free char *ids = ath_idset_format(&nodes);
    ath_auto_free char *object =
        ath_xasprintf(ath_idset_count(&nodes) == 1 ? "node %s" : "nodes %s", ids);
    ath_warning_add(machine, ATH_W_MEMORY_OWNER_UNKNOWN, object, NULL);
}

/* Returns what gives the GPU to NVIDIA's driver. Another driver keeps the GPU until it is unbound,
 * and driver_override has precedence over what the drivers want. */
static char *driver_remedy(const struct ath_gpu *gpu, const char *pci)
{
    return gpu->driver
               ? ath_xasprintf(_("unless a virtual machine has the GPU: cd "
                                 "/sys/bus/pci/devices/%s; echo nvidia > driver_override; echo %s "
                                 "> driver/unbind; modprobe nvidia; echo %s > "
                                 "/sys/bus/pci/drivers_probe"),
                               pci, pci, pci)
               : ath_xstrdup("modprobe nvidia");
}

static void check_gpu_driver(struct ath_machine *machine, const struct ath_gpu *gpu,
                             const char *pci)
{
    ath_auto_free char *driver = gpu->driver ? ath_xasprintf(_("its driver is '%s'"), gpu->driver)
                                             : ath_xstrdup(_("it has no driver"));
    ath_auto_free char *remedy = driver_remedy(gpu, pci);
    ath_warning_add(machine, ATH_W_GPU_DRIVER, pci, driver, remedy, NULL);
}

static void check_gpu(struct ath_machine *machine, const struct ath_gpu *gpu, size_t cpu_nodes)
{
    static const enum ath_warning_kind kinds_of_lack[] = {
        [ATH_GPU_LACKS_NOTHING] = ATH_W_COUNT,
        [ATH_GPU_LACKS_CUDA] = ATH_W_COUNT, /* other vendors' GPUs are shown, and not served */
        [ATH_GPU_LACKS_DRIVER] = ATH_W_GPU_DRIVER,
        [ATH_GPU_LACKS_ANSWER] = ATH_W_GPU_LOST,
        [ATH_GPU_LACKS_MEMORY_OWNER] = ATH_W_GPU_MEMORY_UNKNOWN,
        [ATH_GPU_LACKS_MEMORY_ONLINE] = ATH_W_GPU_MEMORY_OFFLINE,
        [ATH_GPU_LACKS_MEMORY_NODE] = ATH_W_MEMORY_NODE_MISSING,
    };
    enum ath_warning_kind kind = kinds_of_lack[ath_gpu_lack(machine, gpu)];
    ath_auto_free char *node = ath_xasprintf("%d", gpu->memory_node);
    char object[ATH_PCI_TEXT];

    ath_pci_format(&gpu->pci, object);
    if (gpu->numa_node == ATH_UNKNOWN && cpu_nodes > 1)
        ath_warning_add(machine, ATH_W_GPU_NODE_UNKNOWN, object, NULL);
    if (kind == ATH_W_GPU_DRIVER)
        check_gpu_driver(machine, gpu, object);
    else if (kind != ATH_W_COUNT)
        ath_warning_add(machine, kind, object, node, NULL);
}

/* The links of a GPU to GPUs and switches. */
struct reach {
    int links; /* a link whose number is not known counts once */
    int peers;
    bool is_switched, is_counted, has_cpu;
};

static struct reach reach_of(const struct ath_gpu *gpu)
{
    struct reach reach = { .is_counted = true };

    for (size_t i = 0; i < gpu->nvlink_count; i++) {
        const struct ath_nvlink *link = &gpu->nvlinks[i];
        reach.is_switched |= link->kind == ATH_PEER_SWITCH || link->is_through_switch;
        reach.has_cpu |= link->kind == ATH_PEER_CPU;
        if (link->kind == ATH_PEER_CPU || link->is_through_switch)
            continue; /* the links to the switches are listed as well */
        reach.peers += link->kind == ATH_PEER_GPU;
        reach.is_counted &= link->count >= 0;
        reach.links += link->count >= 0 ? link->count : 1;
    }
    return reach;
}

/* True for GPUs that are wired on a board. Cards with a bridge between two of them may lack it. */
static bool is_wired(const struct reach *reach)
{
    return reach->links && (reach->is_switched || reach->has_cpu || reach->peers > 1);
}

static bool is_same_kind(const struct ath_gpu *a, const struct ath_gpu *b)
{
    return a->vendor_id == b->vendor_id && a->device_id == b->device_id;
}

/*
 * Warns of a GPU without NVLinks if another of its kind has them, and of a GPU with fewer links to
 * switches than another. Directly wired GPUs may differ in their numbers.
 */
static void check_gpu_links(struct ath_machine *machine, size_t index, const struct reach *reaches)
{
    struct ath_gpu *gpu = &machine->gpus[index];
    struct reach own = reaches[index], most = { 0 };
    char object[ATH_PCI_TEXT];

    if (!gpu->has_nvlinks || gpu->vendor_id != ATH_VENDOR_NVIDIA)
        return;
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (is_same_kind(gpu, &machine->gpus[i]) && is_wired(&reaches[i]) &&
            reaches[i].links > most.links)
            most = reaches[i];
    if (own.links >= most.links || (own.links && !(most.is_switched && most.is_counted)))
        return;
    if (gpu->facts.nvlinks_max < 0) {
        gpu->facts.nvlinks = own.links;
        gpu->facts.nvlinks_max = most.links;
    }
    ath_auto_free char *links = ath_xasprintf("%d", own.links);
    ath_auto_free char *others =
        most.is_counted ? ath_xasprintf("%d", most.links) : ath_xstrdup(_("some"));
    ath_warning_add(machine, ATH_W_GPU_LINKS_LOST, ath_pci_format(&gpu->pci, object), links, others,
                    NULL);
}

static void check_links(struct ath_machine *machine)
{
    ath_auto_free struct reach *reaches = ath_xalloc(machine->gpu_count * sizeof *reaches);

    for (size_t i = 0; i < machine->gpu_count; i++)
        reaches[i] = reach_of(&machine->gpus[i]);
    for (size_t i = 0; i < machine->gpu_count; i++)
        check_gpu_links(machine, i, reaches);
}

/* Mellanox cards from ConnectX-3 on can be switched to Ethernet; Connect-IB cannot. */
static bool can_do_ethernet(const struct ath_nic *nic)
{
    enum { CONNECTX_3 = 0x1003, CONNECT_IB = 0x1011, CONNECT_IB_VF = 0x1012 };
    return nic->vendor_id == ATH_VENDOR_MELLANOX && nic->device_id >= CONNECTX_3 &&
           nic->device_id != CONNECT_IB && nic->device_id != CONNECT_IB_VF;
}

/*
 * Returns N of LINK_TYPE_PN: the port of the card, whichever of its functions mlxconfig gets.
 * Function .0 is the first port, .1 the second one (sriov-network-operator uses the same rule). A
 * function with two ports (ConnectX-3) numbers them itself. If a virtual machine renumbers
 * functions, only `mlxconfig query` shows the port.
 */
static int card_port(const struct ath_nic *nic)
{
    if (nic->port > 1 || !nic->has_pci || nic->pci.function > 1)
        return nic->port > 0 ? nic->port : 1;
    return nic->pci.function + 1;
}

static void check_nic(struct ath_machine *machine, const struct ath_nic *nic)
{
    char address[ATH_PCI_TEXT] = "?";
    if (nic->has_pci)
        ath_pci_format(&nic->pci, address);
    const char *object = nic->netdev ? nic->netdev : nic->rdma_device ? nic->rdma_device : address;
    ath_auto_free char *port = ath_xasprintf("%d", card_port(nic));

    if (nic->link_layer == ATH_LAYER_INFINIBAND && can_do_ethernet(nic))
        ath_warning_add(machine, ATH_W_INFINIBAND_MODE, object, address, port, NULL);
    if (ath_nic_lacks_gid(nic) && nic->netdev && nic->link == ATH_LINK_UP) {
        enum ath_lack lack = ath_nic_lack(nic);
        ath_auto_free char *remedy = ath_lack_mend(lack, nic);
        ath_warning_add(machine, ATH_W_NO_USABLE_GID, nic->rdma_device, ath_lack_text(lack), remedy,
                        NULL);
    }
}

/* One subnet of one link. For parts of a bond or bridge, `link` is the bond or bridge. */
struct place {
    const char *card, *subnet, *link;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    int order = strcmp(x->card, y->card);
    if (!order)
        order = strcmp(x->subnet, y->subnet);
    return order ? order : strverscmp(x->link, y->link);
}

/* After sorting, links of one card in one subnet follow each other. */
static void check_subnets(struct ath_machine *machine)
{
    ath_auto_free struct place *places = NULL;
    size_t count = 0;

    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        for (size_t j = 0; nic->card && nic->netdev && j < nic->subnet_count; j++)
            *(struct place *)ath_push(&places, &count, sizeof *places) =
                (struct place){ nic->card, nic->subnets[j],
                                nic->master ? nic->master : nic->netdev };
    }
    if (count)
        qsort(places, count, sizeof *places, compare_places);
    for (size_t i = 1; i < count; i++)
        if (!strcmp(places[i].card, places[i - 1].card) &&
            !strcmp(places[i].subnet, places[i - 1].subnet) &&
            strcmp(places[i].link, places[i - 1].link))
            ath_warning_add(machine, ATH_W_SAME_SUBNET, places[i - 1].link, places[i].link,
                            places[i].subnet, NULL);
}

void ath_warnings_check(struct ath_machine *machine)
{
    size_t cpu_nodes = 0;

    for (size_t i = 0; i < machine->node_count; i++) {
        cpu_nodes += machine->nodes[i].kind == ATH_NODE_CPU;
        check_memory(machine, &machine->nodes[i]);
        check_cpus(machine, &machine->nodes[i]);
    }
    check_shared_cpus(machine);
    check_owners(machine);
    for (size_t i = 0; i < machine->gpu_count; i++)
        check_gpu(machine, &machine->gpus[i], cpu_nodes);
    check_links(machine);
    for (size_t i = 0; i < machine->nic_count; i++)
        check_nic(machine, &machine->nics[i]);
    check_subnets(machine);
    if (machine->lacks_pci)
        ath_warning_add_whole(machine, ATH_W_NO_PCI, machine->hostname);
    else if (!machine->gpu_count)
        ath_warning_add_whole(machine, ATH_W_NO_GPU, machine->hostname);
}
