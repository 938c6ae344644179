/* Refuses values that do not fit the machine, with a hint made of what the machine has. */
#include "config.h"

#include "cli/commands/configure_misfit.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "config/check.h"
#include "config/key.h"

/*
 * Returns "aitherion configure 0 --set data_iface=X", which skips the check. The caller frees it.
 */
static char *lenient_command(const struct ath_cli *cli, const struct ath_change_report *report)
{
    ATH_AUTO(ath_text) words = { 0 };

    ath_text_add(&words, "configure");
    for (size_t i = 0; i < report->change_count; i++) {
        const struct ath_applied_change *change = &report->changes[i];
        bool needs_quotes = strpbrk(change->value, " []{}()*?;&|<>$`\"'\\~#!") || !*change->value;
        ath_text_add(&words, " --set %s=%s%s%s", change->key, needs_quotes ? "'" : "",
                     change->value, needs_quotes ? "'" : "");
    }
    return ath_cli_suggest(cli, words.data);
}

/* The facts for a hint about a wrong value. */
struct misfit {
    const struct ath_machine *machine;
    const struct ath_document *document;
    const struct ath_document_numa *entry;
    const char *value; /* as given */
};

static void add_name(struct ath_texts *names, const char *name)
{
    if (name && !ath_texts_has(names, name))
        ath_texts_add(names, name);
}

static void add_link(struct ath_texts *names, const char *link)
{
    if (strcmp(link, "lo") != 0)
        add_name(names, link);
}

/* Adds the kernel's links, most of which are no ports of cards: veth, bridge, bond. */
static void add_live_links(struct ath_texts *names)
{
    struct if_nameindex *links = if_nameindex();

    for (size_t i = 0; links && links[i].if_name; i++)
        add_link(names, links[i].if_name);
    if (links)
        if_freenameindex(links);
}

static void collect_links(const struct misfit *misfit, struct ath_texts *out)
{
    for (size_t i = 0; i < misfit->machine->nic_count; i++)
        add_name(out, misfit->machine->nics[i].netdev);
    for (size_t i = 0; i < misfit->machine->others.link_count; i++)
        add_link(out, misfit->machine->others.links[i]);
    if (misfit->machine->source == ATH_SOURCE_LIVE)
        add_live_links(out);
    for (size_t i = 0; i < misfit->document->roce.macvlans.count; i++)
        add_name(out, misfit->document->roce.macvlans.items[i].name);
}

static void collect_rdma_devices(const struct misfit *misfit, struct ath_texts *out)
{
    for (size_t i = 0; i < misfit->machine->nic_count; i++)
        add_name(out, misfit->machine->nics[i].rdma_device);
    for (size_t i = 0; i < misfit->machine->others.rdma_device_count; i++)
        add_name(out, misfit->machine->others.rdma_devices[i]);
}

/* Collects the GPUs of the entry's node. */
static void collect_gpus(const struct misfit *misfit, struct ath_texts *out)
{
    char pci[ATH_PCI_TEXT];
    for (size_t i = 0; i < misfit->machine->gpu_count && !misfit->machine->is_text; i++)
        if (misfit->machine->gpus[i].numa_node == misfit->entry->node)
            add_name(out, ath_pci_format(&misfit->machine->gpus[i].pci, pci));
}

/* Returns a hint: the name most like the one given, else all names. The caller frees it. */
static char *hint_name(const struct misfit *misfit,
                       void (*collect)(const struct misfit *, struct ath_texts *))
{
    ATH_AUTO(ath_texts) names = { 0 };
    collect(misfit, &names);
    const char *nearest =
        ath_text_nearest(misfit->value, (const char *const *)names.items, names.count);
    if (nearest)
        return ath_xasprintf(_("did you mean '%s'?"), nearest);
    ath_auto_free char *list = ath_texts_join(&names);
    return names.count ? ath_xasprintf(_("this machine has %s"), list)
                       : ath_xstrdup(_("this machine has none"));
}

static char *hint_link(const struct misfit *misfit)
{
    return hint_name(misfit, collect_links);
}

static char *hint_rdma_device(const struct misfit *misfit)
{
    return hint_name(misfit, collect_rdma_devices);
}

static char *hint_gpu(const struct misfit *misfit)
{
    ATH_AUTO(ath_texts) gpus = { 0 };
    collect_gpus(misfit, &gpus);
    ath_auto_free char *list = ath_texts_join(&gpus);
    return gpus.count ? ath_xasprintf(_("NUMA node %d has the GPUs %s"), misfit->entry->node, list)
                      : ath_xasprintf(_("NUMA node %d has no GPU"), misfit->entry->node);
}

/* Returns a hint that adds the memory nodes of the entry's GPUs to those that it has. The caller
 * frees it. */
static char *hint_memory(const struct misfit *misfit)
{
    ATH_AUTO(ath_idset) nodes = { 0 };
    ATH_AUTO(ath_text) list = { 0 };
    struct ath_pci pci;

    for (size_t i = 0; i < misfit->entry->gpus.count; i++) {
        const struct ath_gpu *gpu = ath_pci_parse(misfit->entry->gpus.items[i], &pci)
                                        ? NULL
                                        : ath_machine_gpu(misfit->machine, &pci);
        if (gpu && gpu->memory_node != ATH_UNKNOWN)
            ath_idset_add(&nodes, gpu->memory_node, gpu->memory_node);
    }
    const struct ath_idset *own = &misfit->entry->memory_nodes;
    for (int id = ath_idset_next(own, -1); id >= 0; id = ath_idset_next(own, id))
        ath_idset_add(&nodes, id, id);
    for (int id = ath_idset_next(&nodes, -1); id >= 0; id = ath_idset_next(&nodes, id))
        ath_text_add_part(&list, ",", "%d", id);
    return ath_xasprintf(_("add --set memory_nodes=%s"), list.data ? list.data : "");
}

static const struct {
    enum ath_fault_code code;
    char *(*make)(const struct misfit *misfit); /* the caller frees the hint */
} hints[] = {
    { ATH_FAULT_LINK_MISSING, hint_link },  { ATH_FAULT_RDMA_MISSING, hint_rdma_device },
    { ATH_FAULT_LINK_LOOPBACK, hint_link }, { ATH_FAULT_GPU_MISSING, hint_gpu },
    { ATH_FAULT_GPU_NODE, hint_gpu },       { ATH_FAULT_GPU_MEMORY, hint_memory },
};

static char *hint_for(const struct ath_fault *fault, const struct misfit *misfit)
{
    for (size_t i = 0; i < ATH_COUNT(hints); i++)
        if (!strcmp(fault->code, ath_fault_word(hints[i].code)))
            return hints[i].make(misfit);
    return ath_xstrdup(fault->message);
}

/* Returns the value of a key in a document's tree, or NULL. */
static const struct ath_yaml *value_at(const struct ath_document *document, const char *path)
{
    struct ath_key key;
    return ath_key_find(&document->tree, NULL, path, &key, NULL) ? NULL : key.value;
}

int ath_configure_refuse_misfits(struct ath_cli *cli, const struct ath_document *before,
                                 const struct ath_document *after,
                                 const struct ath_machine *machine,
                                 const struct ath_change_report *report, size_t flags,
                                 struct ath_err *err)
{
    ATH_AUTO(ath_faults) old = { 0 };
    ATH_AUTO(ath_faults) all = { 0 };
    ath_auto_free char *hint = NULL;

    ath_document_check_machine(before, machine, &old);
    ath_document_check_machine(after, machine, &all);
    for (size_t i = 0; i < flags; i++) {
        const char *key = report->changes[i].key;
        ath_faults_take_new(&old, value_at(before, key), &all, value_at(after, key), &cli->faults);
        if (hint || !cli->faults.count)
            continue;
        const struct misfit misfit = {
            .machine = machine,
            .document = after,
            .entry = ath_document_numa(after, (int)strtol(cli->arguments[0], NULL, 10)),
            .value = report->changes[i].value,
        };
        hint = hint_for(&cli->faults.items[0], &misfit);
    }
    if (!cli->faults.count)
        return 0;
    ath_auto_free char *anyway = lenient_command(cli, report);
    ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                _("cannot change NUMA entry %s: the value does not fit this machine"),
                cli->arguments[0]);
    return ath_err_hint(err, -EINVAL, _("%s (or set it anyway: %s)"), hint, anyway);
}
