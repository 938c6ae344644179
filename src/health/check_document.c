/* Checks of the document: on its own, and against the machine by config/check.c. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "config/check.h"
#include "health/check.h"

bool ath_health_check_document(struct ath_health *health)
{
    const struct ath_health_facts *facts = health->facts;
    const struct ath_err *err = &facts->document_err;
    struct ath_health_finding *finding = NULL;

    if (facts->document || facts->document_faults)
        return true;
    if (err->code == ATH_E_DOCUMENT_MISSING)
        finding =
            ath_health_wrong(health, facts->document_path,
                             _("there is no topology document '%s', so nothing is configured"),
                             facts->document_path);
    else
        finding = ath_health_unsure(health, facts->document_path, "%s", err->message);
    if (*err->hint)
        ath_health_hint(finding, "%s", err->hint);
    return true;
}

/* Returns the place of a fault, "topology.yaml:12:3"; the caller frees it. */
static char *place_of(const struct ath_fault *fault)
{
    return ath_xasprintf("%s:%d:%d", fault->file, fault->line, fault->column);
}

bool ath_health_check_document_faults(struct ath_health *health)
{
    const struct ath_faults *faults = health->facts->document_faults;

    for (size_t i = 0; faults && i < faults->count; i++) {
        const struct ath_fault *fault = &faults->items[i];
        ath_auto_free char *place = place_of(fault);
        ath_health_hint(ath_health_wrong(health, place, "%s", fault->message),
                        _("fix it at %s; all keys: man aitherion-topology.yaml"), place);
    }
    return faults || health->facts->document;
}

/* True if the document has entries of a kind. The next functions tell whether the machine's source
 * lists such things: config/check.c reports nothing as missing that the source cannot know. */
static bool has_entries(const struct ath_document *document)
{
    return document->numa.count > 0;
}

static bool has_gpus(const struct ath_document *document)
{
    for (size_t i = 0; i < document->numa.count; i++)
        if (document->numa.items[i].gpus.count)
            return true;
    return false;
}

static bool has_identities(const struct ath_document *document)
{
    return document->identities.count > 0;
}

static bool has_cards(const struct ath_document *document)
{
    return document->roce.cards.count > 0;
}

static bool has_macvlans(const struct ath_document *document)
{
    return document->roce.macvlans.count > 0;
}

static bool knows_nodes(const struct ath_machine *machine)
{
    return machine->node_count > 0;
}

static bool knows_gpus(const struct ath_machine *machine)
{
    return !machine->is_text &&
           (machine->source == ATH_SOURCE_LIVE || machine->gpu_count || machine->nic_count);
}

static bool knows_cards(const struct ath_machine *machine)
{
    return !machine->is_text && (machine->source == ATH_SOURCE_LIVE || machine->nic_count);
}

/* For each check the hint of its fault, with the entry's id in it. The check's code is the
 * fault's. */
static const struct fault_row {
    enum ath_fault_code fault;
    bool (*has)(const struct ath_document *document);
    bool (*knows)(const struct ath_machine *machine);
    bool is_detail; /* if the source cannot know it, another check says so */
    const char *hint;
} rows[] = {
    { ATH_FAULT_NODE_MISSING, has_entries, knows_nodes, false,
      N_("aitherion discover shows the nodes; aitherion configure %s --set node=NODE --set "
         "memory_nodes=NODES") },
    { ATH_FAULT_NODE_KIND, has_entries, knows_nodes, false,
      N_("aitherion discover shows the nodes with CPUs; aitherion configure %s --set node=NODE") },
    { ATH_FAULT_NODE_CPUS, has_entries, knows_nodes, false,
      N_("chcpu --enable CPUS, or on POWER: ppc64_cpu --cores-on=all; or another node: aitherion "
         "configure %s --set node=NODE") },
    { ATH_FAULT_NO_MEMORY, has_entries, knows_nodes, false,
      N_("aitherion discover shows the nodes with memory; aitherion configure %s --set "
         "memory_nodes=NODES") },
    { ATH_FAULT_LINK_LOOPBACK, has_entries, knows_nodes, false,
      N_("aitherion configure %s --data-iface IF") },
    { ATH_FAULT_GPU_MISSING, has_gpus, knows_gpus, false,
      N_("lspci -nn shows whether the card is seen; aitherion configure %s --gpus GPUS") },
    { ATH_FAULT_GPU_VENDOR, has_gpus, knows_gpus, true,
      N_("aitherion discover shows the GPUs; aitherion configure %s --gpus GPUS") },
    { ATH_FAULT_GPU_NODE, has_gpus, knows_gpus, true,
      N_("aitherion discover shows whose GPU it is; aitherion configure %s --gpus GPUS") },
    { ATH_FAULT_GPU_MEMORY, has_gpus, knows_gpus, true,
      N_("aitherion configure %s --set memory_nodes=NODES") },
    { ATH_FAULT_GPU_TWICE, has_gpus, knows_nodes, false, N_("aitherion configure %s --gpus GPUS") },
    { ATH_FAULT_SHARES_SUM, has_identities, knows_nodes, false,
      N_("aitherion configure --set identities.NAME.share=P") },
    { ATH_FAULT_CARD_MISSING, has_cards, knows_cards, false,
      N_("aitherion roce list shows the cards; aitherion roce remove PCI takes it out of the "
         "document") },
    { ATH_FAULT_ADDRESS_UNFIT, has_macvlans, knows_nodes, false,
      N_("aitherion roce macvlan NAME --address ADDRESS/PREFIX") },
    { ATH_FAULT_ADDRESS_TWICE, has_macvlans, knows_nodes, false,
      N_("aitherion roce macvlan NAME --address ADDRESS/PREFIX") },
    { ATH_FAULT_HOST_LINK, has_macvlans, knows_nodes, false,
      N_("aitherion configure --set roce.macvlans.NAME.host_link=false") },
};

static const struct fault_row *row_of(const char *code)
{
    for (size_t i = 0; i < ATH_COUNT(rows); i++)
        if (!strcmp(ath_fault_word(rows[i].fault), code))
            return &rows[i];
    return NULL;
}

/* Returns the id of the entry in which a fault lies; the caller frees it. */
static char *entry_at(const struct ath_document *document, size_t offset)
{
    for (size_t i = 0; i < document->numa.count; i++) {
        const struct ath_yaml *source = document->numa.items[i].item.source;
        if (source && offset >= source->begin && offset < source->end)
            return ath_xasprintf("%d", document->numa.items[i].id);
    }
    return ath_xstrdup("ID");
}

static void add_fault(struct ath_health *health, const struct fault_row *row,
                      const struct ath_fault *fault)
{
    ath_auto_free char *place = place_of(fault);
    ath_auto_free char *entry = entry_at(health->facts->document, fault->offset);
    ath_health_hint(ath_health_wrong(health, place, "%s", fault->message), _(row->hint), entry);
}

bool ath_health_check_from_fault(struct ath_health *health)
{
    const struct ath_health_facts *facts = health->facts;
    const struct fault_row *row = row_of(health->check->code);
    ATH_AUTO(ath_faults) faults = { 0 };

    if (!facts->document || !row->has(facts->document))
        return false;
    if (!row->knows(facts->machine) && row->is_detail)
        return false;
    if (!row->knows(facts->machine)) {
        ath_health_unsure(health, NULL,
                          _("could not tell whether %s: the capture does not show it"),
                          _(health->check->title));
        return true;
    }
    ath_document_check(facts->document, facts->machine, &faults);
    for (size_t i = 0; i < faults.count; i++)
        if (!strcmp(faults.items[i].code, health->check->code))
            add_fault(health, row, &faults.items[i]);
    return true;
}
