/* Proposes a first document for a machine: its entries, and the parts of propose_internal.h. */
#include "config.h"

#include "config/propose.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "config/profile.h"
#include "config/propose_internal.h"
#include "config/write.h"
#include "numa/usable.h"

enum { CONTROL_PORT = 50051, DATA_PORT = 5555 };

static void proposal_free(struct proposal *proposal)
{
    ath_document_free(&proposal->document);
    ath_text_free(&proposal->notes);
    for (size_t i = 0; i < proposal->port_count; i++) {
        free(proposal->ports[i].data);
        free(proposal->ports[i].rdma);
    }
    free(proposal->ports);
}

void ath_proposal_offer(char **field, enum ath_form form, const char *text)
{
    if (text && ath_form_fits(form, text)) {
        free(*field);
        *field = ath_xstrdup(text);
    }
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
    ath_proposal_add_memory(proposal, node, entry);
    ath_proposal_add_gpus(proposal, entry);
    ath_proposal_add_ports(proposal, entry);
}

/* Adds the entries. A node without GPUs gets none, because a runtime serves GPUs. */
static void add_entries(struct proposal *proposal)
{
    const struct ath_machine *machine = proposal->machine;
    bool needs_gpus = ath_proposal_any_node_has_gpus(machine);

    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_numa_node *node = &machine->nodes[i];
        if (ath_proposal_serves_cpu(node) &&
            (!needs_gpus || ath_proposal_has_gpus(machine, node->id)))
            add_entry(proposal, node);
        else if (ath_proposal_serves_cpu(node))
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
    ATH_AUTO(proposal) proposal = { .machine = machine };

    ath_schema_defaults(ath_schema_root(), &proposal.document);
    ath_proposal_offer(&proposal.document.node.name, ATH_FORM_NAME, machine->hostname);
    ath_proposal_offer(&proposal.document.node.profile, ATH_FORM_NAME, machine->profile);
    add_entries(&proposal);
    ath_proposal_note_no_rdma(&proposal);
    ath_proposal_note_left_out(&proposal);
    note_shared_cpus(&proposal);
    ath_proposal_add_control(&proposal);
    ath_proposal_add_cards(&proposal);

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
