/* Notes that several commands about RDMA cards print. */
#include "config.h"

#include "cli/commands/roce_notes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"

/* Two spellings of the same PCI address are the same name. */
static bool is_same_name(const char *a, const char *b)
{
    struct ath_pci x, y;
    bool is_pci = !ath_pci_parse(a, &x) && !ath_pci_parse(b, &y);
    return is_pci ? ath_pci_equals(&x, &y) : !strcmp(a, b);
}

void ath_roce_note_card(struct ath_change_report *report, const char *name, const char *card)
{
    if (!is_same_name(name, card))
        ath_change_note(report, ATH_NOTE_CARD_NAMED, card,
                        _("'%s' is on the card '%s': cards are named by their lowest function"),
                        name, card);
}

void ath_roce_note_device(struct ath_change_report *report, const char *name, const char *device)
{
    if (strcmp(name, device))
        ath_change_note(report, ATH_NOTE_DEVICE_NAMED, device, _("the RDMA device of '%s' is '%s'"),
                        name, device);
}

/* Returns the hint of the machine's own warning about InfiniBand mode, which is about a link or a
 * device; or NULL. */
static const char *mend_of(const struct ath_machine *machine, const struct ath_nic *nic)
{
    const char *object = nic->netdev ? nic->netdev : nic->rdma_device;

    for (size_t i = 0; i < machine->warning_count; i++)
        if (!strcmp(machine->warnings[i].code, "infiniband-mode") && machine->warnings[i].object &&
            !strcmp(machine->warnings[i].object, object))
            return machine->warnings[i].hint;
    return NULL;
}

static void note_mode(struct ath_change_report *report, const struct ath_machine *machine,
                      const struct ath_nic *nic)
{
    if (nic->link_layer != ATH_LAYER_INFINIBAND || !nic->rdma_device)
        return;
    struct ath_note *note =
        ath_change_note(report, ATH_NOTE_INFINIBAND_MODE, nic->rdma_device,
                        _("port %d of '%s' is in InfiniBand mode: RDMA works over an InfiniBand "
                          "network, but it can carry neither RoCE nor a macvlan"),
                        nic->port, nic->rdma_device);
    note->hint = ath_xstrdup(mend_of(machine, nic));
}

void ath_roce_note_card_mode(struct ath_change_report *report, const struct ath_machine *machine,
                             const char *card)
{
    for (size_t i = 0; i < machine->nic_count; i++)
        if (ath_roce_card_has(card, &machine->nics[i]))
            note_mode(report, machine, &machine->nics[i]);
}

void ath_roce_note_device_mode(struct ath_change_report *report, const struct ath_machine *machine,
                               const char *device)
{
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].rdma_device && !strcmp(machine->nics[i].rdma_device, device))
            note_mode(report, machine, &machine->nics[i]);
}
