/* The table of warnings, and the ones that follow from a whole machine. */
#include "config.h"

#include "numa/warning.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"

enum { TEXTS_MAX = 4 };

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

/* Puts texts in place of "{0}".."{3}"; one that was not given is "?". */
static char *expand(const char *format, const char *const *texts)
{
    struct ath_text text = { 0 };

    for (const char *at = format; *at;) {
        size_t plain = strcspn(at, "{");
        ath_text_add_bytes(&text, at, plain);
        at += plain;
        if (at[0] == '{' && at[1] >= '0' && at[1] < '0' + TEXTS_MAX && at[2] == '}') {
            const char *value = texts[at[1] - '0'];
            ath_text_add(&text, "%s", value ? value : "?");
            at += 3;
        } else if (*at) {
            ath_text_add_bytes(&text, at++, 1);
        }
    }
    return ath_text_take(&text);
}

static bool is_same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

/* Codes are the table's own words, so that their addresses tell them apart. */
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
    const char *texts[TEXTS_MAX] = { object };
    va_list args;

    va_start(args, object);
    for (int i = 1; i < TEXTS_MAX && (texts[i] = va_arg(args, const char *)); i++)
        ;
    va_end(args);
    if (is_there(machine, kinds[kind].word, object))
        return;

    struct ath_warning *warning =
        ath_push(&machine->warnings, &machine->warning_count, sizeof *warning);
    warning->code = kinds[kind].word;
    warning->object = ath_xstrdup(object);
    warning->message = expand(_(kinds[kind].message), texts);
    if (kinds[kind].hint)
        warning->hint = expand(_(kinds[kind].hint), texts);
}

void ath_warning_add_whole(struct ath_machine *machine, enum ath_warning_kind kind,
                           const char *name)
{
    ath_auto_free char *quoted =
        name ? ath_xasprintf("'%s'", name) : ath_xstrdup(_("this machine"));
    ath_warning_add(machine, kind, name, quoted, NULL);
}

static void check_node(struct ath_machine *machine, const struct ath_numa_node *node)
{
    ath_auto_free char *object = ath_xasprintf("node %d", node->id);
    ATH_AUTO(ath_idset) offline = { 0 };

    if (!node->has_cpus_online)
        return;
    ath_idset_subtract(&node->cpus, &node->cpus_online, &offline);
    if (!ath_idset_count(&offline))
        return;
    ath_auto_free char *cpus = ath_idset_format(&offline);
    ath_warning_add(machine, ATH_W_CPUS_OFFLINE, object, cpus, NULL);
}

static void check_gpu(struct ath_machine *machine, const struct ath_gpu *gpu, size_t cpu_nodes)
{
    char object[ATH_PCI_TEXT];
    ath_auto_free char *node = ath_xasprintf("%d", gpu->memory_node);

    ath_pci_format(&gpu->pci, object);
    if (gpu->numa_node == ATH_UNKNOWN && cpu_nodes > 1)
        ath_warning_add(machine, ATH_W_GPU_NODE_UNKNOWN, object, NULL);
    if (gpu->memory_node == ATH_UNKNOWN)
        return;
    if (gpu->memory_state == ATH_MEMORY_OFFLINE)
        ath_warning_add(machine, ATH_W_GPU_MEMORY_OFFLINE, object, node, NULL);
    else if (!ath_machine_node(machine, gpu->memory_node))
        ath_warning_add(machine, ATH_W_MEMORY_NODE_MISSING, object, node, NULL);
}

/* Mellanox cards from ConnectX-3 on can be switched to Ethernet; Connect-IB cannot. */
static bool can_do_ethernet(const struct ath_nic *nic)
{
    enum { CONNECTX_3 = 0x1003, CONNECT_IB = 0x1011, CONNECT_IB_VF = 0x1012 };
    return nic->vendor_id == ATH_VENDOR_MELLANOX && nic->device_id >= CONNECTX_3 &&
           nic->device_id != CONNECT_IB && nic->device_id != CONNECT_IB_VF;
}

/*
 * The number in LINK_TYPE_P1, _P2: the card's port, whichever of its functions mlxconfig is told to
 * use. Function .0 is the first port and .1 the second one (sriov-network-operator sets them so);
 * a function with two ports (ConnectX-3) numbers them itself. Where a virtual machine numbers
 * functions anew, only `mlxconfig query` can tell.
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
    if (ath_nic_lacks_gid(nic) && nic->netdev && nic->link == ATH_LINK_UP)
        ath_warning_add(machine, ATH_W_NO_USABLE_GID, nic->rdma_device, nic->netdev, NULL);
}

/* One subnet of one link; of a bond or bridge for all links that it is made of. */
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

/* Sorted by card and subnet, links of one card in one subnet follow each other. */
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
        check_node(machine, &machine->nodes[i]);
    }
    for (size_t i = 0; i < machine->gpu_count; i++)
        check_gpu(machine, &machine->gpus[i], cpu_nodes);
    for (size_t i = 0; i < machine->nic_count; i++)
        check_nic(machine, &machine->nics[i]);
    check_subnets(machine);
    if (!machine->gpu_count)
        ath_warning_add_whole(machine, ATH_W_NO_GPU, machine->hostname);
}
