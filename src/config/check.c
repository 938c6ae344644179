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
#include <string.h>

#include "base/i18n.h"
#include "config/check_internal.h"

static struct ath_check begin(const struct ath_document *document,
                              const struct ath_machine *machine, struct ath_faults *faults)
{
    bool is_live = machine->source == ATH_SOURCE_LIVE;
    struct ath_check check = { .document = document,
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

size_t ath_check_place(const struct ath_document_item *item, const char *key)
{
    const struct ath_yaml *value = value_of(item, key);
    return value ? value->begin : item->source->begin;
}

size_t ath_check_place_of_entry(const struct ath_document_item *item, const char *key, size_t index)
{
    const struct ath_yaml *list = value_of(item, key);
    return list && index < list->child_count ? list->children[index].begin
                                             : ath_check_place(item, key);
}

size_t ath_check_place_of_id(const struct ath_document_item *item, const char *key, int id)
{
    const struct ath_yaml *list = value_of(item, key);
    int value;
    for (size_t i = 0; list && i < list->child_count; i++)
        if (!ath_parse_int(list->children[i].text, 0, ATH_ID_MAX, &value) && value == id)
            return list->children[i].begin;
    return ath_check_place(item, key);
}

/* ---- ports and RDMA devices ---- */

bool ath_check_has_name(char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}

/* True for a link of the machine, a macvlan that the document makes, and any link of the live
 * kernel. */
static bool may_exist(const struct ath_check *check, const char *link)
{
    const struct ath_nic_others *others = &check->machine->others;

    return !check->knows_netdevs || ath_machine_nic_by_netdev(check->machine, link) ||
           ath_check_has_name(others->links, others->link_count, link) ||
           ath_document_macvlan(check->document, link) ||
           (check->machine->source == ATH_SOURCE_LIVE && if_nametoindex(link));
}

void ath_check_link(const struct ath_check *check, size_t place, const char *link)
{
    if (link && !may_exist(check, link))
        ath_faults_add(check->faults, ATH_FAULT_LINK_MISSING, place,
                       _("no network port of this machine is called '%s'"), link);
}

/* Refuses lo: a runtime can be controlled over it, but its data comes from other hosts. Linux gives
 * the name to the loopback interface only (drivers/net/loopback.c). */
static void check_data_links(const struct ath_check *check, const struct ath_document_numa *numa)
{
    for (size_t i = 0; i < numa->data_iface.count; i++) {
        const char *link = numa->data_iface.items[i];
        size_t place = ath_check_place_of_entry(&numa->item, "data_iface", i);
        if (!strcmp(link, "lo"))
            ath_faults_add(
                check->faults, ATH_FAULT_LINK_LOOPBACK, place,
                _("'%s' is the loopback interface, over which other hosts cannot be reached"),
                link);
        else
            ath_check_link(check, place, link);
    }
}

static bool may_be_rdma_device(const struct ath_check *check, const char *name)
{
    const struct ath_nic_others *others = &check->machine->others;

    return !check->knows_rdma || ath_machine_nic_by_rdma(check->machine, name) ||
           ath_check_has_name(others->rdma_devices, others->rdma_device_count, name);
}

static void check_rdma(const struct ath_check *check, const struct ath_document_numa *numa)
{
    for (size_t i = 0; i < numa->rdma_devices.count; i++)
        if (!may_be_rdma_device(check, numa->rdma_devices.items[i]))
            ath_faults_add(check->faults, ATH_FAULT_RDMA_MISSING,
                           ath_check_place_of_entry(&numa->item, "rdma_devices", i),
                           _("this machine has no RDMA device '%s'"), numa->rdma_devices.items[i]);
}

/* ---- the whole document ---- */

static void check_numa(const struct ath_check *check, const struct ath_document_numa *numa)
{
    ath_check_node(check, numa);
    ath_check_memory(check, numa);
    ath_check_gpus(check, numa);
    ath_check_link(check, ath_check_place(&numa->item, "control_iface"), numa->control_iface);
    check_data_links(check, numa);
    check_rdma(check, numa);
}

static void place_all(const struct ath_check *check)
{
    const char *path = check->document->path;
    ath_faults_place(check->faults, path ? path : "topology.yaml", check->document->text,
                     check->document->length);
}

size_t ath_document_check_alone(const struct ath_document *document, struct ath_faults *faults)
{
    const struct ath_check check = { .document = document, .faults = faults };
    size_t before = faults->count;

    ath_check_gpus_shared(&check);
    ath_check_macvlans_alone(&check);
    place_all(&check);
    return faults->count - before;
}

size_t ath_document_check_doubts(const struct ath_document *document, struct ath_faults *faults)
{
    const struct ath_check check = { .document = document, .faults = faults };
    size_t before = faults->count;

    ath_check_shares(&check);
    place_all(&check);
    return faults->count - before;
}

size_t ath_document_check_machine(const struct ath_document *document,
                                  const struct ath_machine *machine, struct ath_faults *faults)
{
    struct ath_check check = begin(document, machine, faults);
    size_t before = faults->count;

    for (size_t i = 0; i < document->numa.count; i++)
        check_numa(&check, &document->numa.items[i]);
    for (size_t i = 0; i < document->roce.cards.count; i++)
        ath_check_card(&check, &document->roce.cards.items[i]);
    for (size_t i = 0; i < document->roce.macvlans.count; i++)
        ath_check_macvlan(&check, &document->roce.macvlans.items[i]);
    place_all(&check);
    return faults->count - before;
}

size_t ath_document_check(const struct ath_document *document, const struct ath_machine *machine,
                          struct ath_faults *faults)
{
    return ath_document_check_alone(document, faults) +
           ath_document_check_doubts(document, faults) +
           ath_document_check_machine(document, machine, faults);
}
