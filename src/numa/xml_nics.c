/*
 * Virtual functions and cards, from PCI ids and GUIDs.
 *
 * A topology XML has no `physfn` link as sysfs has. So a function counts as virtual if it has the
 * PCI id of one (base/pci_virtual.h), and if a physical function of the same vendor is on the same
 * bus, where SR-IOV puts the first virtual functions (PCI Express,
 * 9.2.1.2). Without such a neighbour it counts as a card: this is how a virtual machine sees its
 * function.
 */
#include "config.h"

#include "numa/xml_nics.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/pci_virtual.h"

enum { FUNCTIONS_MAX = 1 << 14 }; /* 64 physical functions with 256 virtual functions each */

void ath_xml_guids_free(struct ath_xml_guids *guids)
{
    if (!guids)
        return;
    free(guids->items);
    *guids = (struct ath_xml_guids){ 0 };
}

struct ath_nic *ath_xml_add_nic(struct ath_machine *machine, struct ath_xml_guids *guids,
                                uint64_t guid)
{
    *(uint64_t *)ath_push(&guids->items, &guids->count, sizeof guid) = guid;
    return ath_machine_add_nic(machine);
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/*
 * True if `physical` may be the physical function of `nic`. The vendor is taken from the physical
 * function, so that a wrong vendor id (one capture has one) does not make a card.
 */
static bool may_belong_to(const struct ath_nic *nic, const struct ath_nic *physical)
{
    return nic->has_pci && physical->has_pci && nic->pci.domain == physical->pci.domain &&
           nic->pci.bus == physical->pci.bus && is_same_text(nic->place, physical->place) &&
           ath_pci_is_virtual_id(physical->vendor_id, nic->device_id) &&
           !ath_pci_is_virtual_id(physical->vendor_id, physical->device_id);
}

/* Counts one virtual function at its physical function. Returns false if there is none. */
static bool count_at_physical(struct ath_machine *machine, const struct ath_nic *nic)
{
    const struct ath_nic *first = NULL;
    bool is_certain = true;

    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *other = &machine->nics[i];
        if (!may_belong_to(nic, other))
            continue;
        is_certain &= !first || ath_pci_equals(&first->pci, &other->pci);
        first = first ? first : other;
    }
    for (size_t i = 0; first && i < machine->nic_count; i++) {
        struct ath_nic *other = &machine->nics[i];
        if (may_belong_to(nic, other))
            other->vfs = is_certain && other->vfs >= 0 ? other->vfs + 1 : ATH_UNKNOWN;
    }
    return first != NULL;
}

/* Removes the marked ports. */
static void drop(struct ath_machine *machine, struct ath_xml_guids *guids, const bool *marked)
{
    size_t kept = 0;

    for (size_t i = 0; i < machine->nic_count; i++) {
        if (marked[i]) {
            ath_nic_others_add(&machine->others, &machine->nics[i]);
            ath_nic_free(&machine->nics[i]);
            continue;
        }
        machine->nics[kept] = machine->nics[i];
        guids->items[kept++] = guids->items[i];
    }
    machine->nic_count = guids->count = kept;
}

void ath_xml_nics_fold(struct ath_machine *machine, struct ath_xml_guids *guids)
{
    if (machine->nic_count > FUNCTIONS_MAX)
        return; /* ath_topology_parse() refuses it later; here it would only take long */

    ath_auto_free bool *marked = ath_xalloc(machine->nic_count * sizeof *marked);

    for (size_t i = 0; i < machine->nic_count; i++)
        machine->nics[i].vfs = 0;
    for (size_t i = 0; i < machine->nic_count; i++)
        marked[i] = count_at_physical(machine, &machine->nics[i]);
    drop(machine, guids, marked);
}

/* After sorting by GUID or by slot, the ports of one card follow each other. */
struct port {
    size_t nic, card; /* indexes; card: the port that represents the card */
    uint64_t guid;
    struct ath_pci pci;
};

static int compare_guids(const void *a, const void *b)
{
    const struct port *x = a, *y = b;
    return x->guid != y->guid ? (x->guid < y->guid ? -1 : 1) : ath_pci_compare(&x->pci, &y->pci);
}

static int compare_places(const void *a, const void *b)
{
    return ath_pci_compare(&((const struct port *)a)->pci, &((const struct port *)b)->pci);
}

/*
 * All functions of a slot are one card, and so are all functions that share a system image GUID: a
 * ConnectX-5 of an AC922 appears as two functions in each of two PCI domains, one domain per
 * socket.
 */
void ath_xml_nics_name_cards(struct ath_machine *machine, const struct ath_xml_guids *guids)
{
    ath_auto_free struct port *ports = ath_xalloc(machine->nic_count * sizeof *ports);
    size_t count = 0;

    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].has_pci)
            ports[count++] =
                (struct port){ .guid = guids->items[i], .nic = i, .pci = machine->nics[i].pci };
    /* Functions without a GUID get that of another function in the same slot. */
    qsort(ports, count, sizeof *ports, compare_places);
    for (size_t first = 0, i = 1; i <= count; i++) {
        if (i < count && ath_pci_same_slot(&ports[first].pci, &ports[i].pci))
            continue;
        uint64_t guid = 0;
        for (size_t j = first; j < i; j++)
            guid = guid ? guid : ports[j].guid;
        for (size_t j = first; j < i; j++) {
            ports[j].guid = guid;
            ports[j].card = ports[first].nic;
        }
        first = i;
    }
    qsort(ports, count, sizeof *ports, compare_guids);
    for (size_t i = 0; i < count; i++) {
        if (i && ports[i].guid && ports[i].guid == ports[i - 1].guid)
            ports[i].card = ports[i - 1].card;
        char text[ATH_PCI_TEXT];
        machine->nics[ports[i].nic].card =
            ath_xstrdup(ath_pci_format(&machine->nics[ports[i].card].pci, text));
    }
}
