/* RDMA cards of a proposed document. */
#include "config.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "config/propose_internal.h"

/* Returns "ConnectX-5 Ex (mlx5_0, mlx5_1)"; the caller frees it. */
static char *describe(const struct ath_machine *machine, const struct ath_nic *first)
{
    struct ath_text text = { 0 };
    const char *between = " (";

    ath_text_add(&text, "%s", first->model ? first->model : "RDMA card");
    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        if (!nic->rdma_device || !ath_nic_is_same_card(nic, first))
            continue;
        ath_text_add(&text, "%s%s", between, nic->rdma_device);
        between = ", ";
    }
    ath_text_add(&text, ")");
    return ath_text_take(&text);
}

/* Returns whether one of an entry's data interfaces or one of its RDMA devices is on the card. */
static bool uses(const struct proposal_ports *ports, const struct ath_nic *first)
{
    bool is_user = false;
    for (size_t i = 0; i < ports->data_count; i++)
        is_user = is_user || ath_nic_is_same_card(ports->data[i], first);
    for (size_t i = 0; i < ports->rdma_count; i++)
        is_user = is_user || ath_nic_is_same_card(ports->rdma[i], first);
    return is_user;
}

/* Adds the entries that use a card: those near one of its functions, and those that use it from
 * another node. */
static void add_users(const struct proposal *proposal, const struct ath_nic *first,
                      struct ath_document_card *card)
{
    const struct ath_machine *machine = proposal->machine;
    for (size_t e = 0; e < proposal->document.numa.count; e++) {
        const struct ath_document_numa *entry = &proposal->document.numa.items[e];
        bool is_user = uses(&proposal->ports[e], first);
        for (size_t i = 0; i < machine->nic_count; i++)
            is_user |= ath_nic_is_same_card(&machine->nics[i], first) &&
                       machine->nics[i].numa_node == entry->node;
        if (is_user)
            ath_idset_add(&card->numa, entry->id, entry->id);
    }
}

static bool is_listed(const struct proposal *proposal, size_t nic)
{
    for (size_t i = 0; i < nic; i++)
        if (proposal->machine->nics[i].rdma_device && proposal->machine->nics[i].has_pci &&
            ath_nic_is_same_card(&proposal->machine->nics[i], &proposal->machine->nics[nic]))
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
    ath_proposal_offer(&card->pci, ATH_FORM_PCI, pci);
    ath_proposal_offer(&card->description, ATH_FORM_LINE, description);
    add_users(proposal, nic, card);
}

void ath_proposal_add_cards(struct proposal *proposal)
{
    for (size_t i = 0; i < proposal->machine->nic_count; i++) {
        const struct ath_nic *nic = &proposal->machine->nics[i];
        if (nic->rdma_device && nic->has_pci && !is_listed(proposal, i))
            add_card(proposal, nic);
    }
}
