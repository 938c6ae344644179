/*
 * Virtual functions and cards, from PCI ids and GUIDs.
 *
 * A topology XML has no `physfn` link as sysfs has, so a virtual function is known by its PCI id
 * (those that the Linux drivers mlx4, mlx5, igbvf, ixgbevf, iavf, bnxt, bnx2x, enic, cxgb4vf, qede,
 * sfc and hinic call VF; also in pci.ids), next to a physical function of the same maker on the
 * same bus: SR-IOV puts the first ones there (PCI Express, 9.2.1.2). Without such a neighbour it is
 * a card of its own: that is how a virtual machine sees the function that it was given.
 */
#include "config.h"

#include "numa/xml_nics.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

enum { FUNCTIONS_MAX = 1 << 14 }; /* 64 physical functions with 256 virtual ones each */

static const struct {
    int vendor;
    int first, last; /* device ids */
} virtual_ids[] = {
    { 0x1077, 0x1664, 0x1664 }, { 0x1077, 0x8090, 0x8090 }, { 0x1077, 0x8430, 0x8430 },
    { 0x1077, 0x8440, 0x8440 }, { 0x1137, 0x0071, 0x0071 }, { 0x1137, 0x00cf, 0x00cf },
    { 0x1137, 0x02b7, 0x02b7 }, { 0x1425, 0x4800, 0x48ff }, { 0x1425, 0x5800, 0x58ff },
    { 0x1425, 0x6800, 0x68ff }, { 0x14e4, 0x1606, 0x1609 }, { 0x14e4, 0x163f, 0x163f },
    { 0x14e4, 0x166f, 0x166f }, { 0x14e4, 0x16a9, 0x16a9 }, { 0x14e4, 0x16ad, 0x16ad },
    { 0x14e4, 0x16af, 0x16af }, { 0x14e4, 0x16bd, 0x16bd }, { 0x14e4, 0x16c1, 0x16c5 },
    { 0x14e4, 0x16cb, 0x16cb }, { 0x14e4, 0x16d3, 0x16d3 }, { 0x14e4, 0x16dc, 0x16dc },
    { 0x14e4, 0x16e1, 0x16e1 }, { 0x14e4, 0x16e5, 0x16e6 }, { 0x14e4, 0x1806, 0x1809 },
    { 0x14e4, 0x1819, 0x1819 }, { 0x14e4, 0xd800, 0xd800 }, { 0x15b3, 0x1002, 0x1002 },
    { 0x15b3, 0x1004, 0x1004 }, { 0x15b3, 0x1012, 0x1012 }, { 0x15b3, 0x1014, 0x1014 },
    { 0x15b3, 0x1016, 0x1016 }, { 0x15b3, 0x1018, 0x1018 }, { 0x15b3, 0x101a, 0x101a },
    { 0x15b3, 0x101c, 0x101c }, { 0x15b3, 0x101e, 0x101e }, { 0x15b3, 0xa2d3, 0xa2d3 },
    { 0x1924, 0x1803, 0x1803 }, { 0x1924, 0x1813, 0x1813 }, { 0x1924, 0x1903, 0x1903 },
    { 0x1924, 0x1923, 0x1923 }, { 0x1924, 0x1a03, 0x1a03 }, { 0x1924, 0x1b03, 0x1b03 },
    { 0x19e5, 0x375e, 0x375e }, { 0x19e5, 0x379e, 0x379e }, { 0x19e5, 0xa22e, 0xa22f },
    { 0x8086, 0x10ca, 0x10ca }, { 0x8086, 0x10ed, 0x10ed }, { 0x8086, 0x1515, 0x1515 },
    { 0x8086, 0x1520, 0x1520 }, { 0x8086, 0x152d, 0x1530 }, { 0x8086, 0x154c, 0x154c },
    { 0x8086, 0x1564, 0x1565 }, { 0x8086, 0x1571, 0x1571 }, { 0x8086, 0x15a5, 0x15a5 },
    { 0x8086, 0x15a8, 0x15a9 }, { 0x8086, 0x15b4, 0x15b4 }, { 0x8086, 0x15c5, 0x15c5 },
    { 0x8086, 0x1889, 0x1889 }, { 0x8086, 0x37cd, 0x37cd },
};

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

static bool is_virtual_id(int vendor, int device)
{
    for (size_t i = 0; i < ATH_COUNT(virtual_ids); i++)
        if (virtual_ids[i].vendor == vendor && virtual_ids[i].first <= device &&
            device <= virtual_ids[i].last)
            return true;
    return false;
}

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

/*
 * True where `physical` may be the function that `nic` is a virtual one of. The maker is taken from
 * the physical one, so that a wrong vendor id (there is a capture with one) does not make a card.
 */
static bool may_belong_to(const struct ath_nic *nic, const struct ath_nic *physical)
{
    return nic->has_pci && physical->has_pci && nic->pci.domain == physical->pci.domain &&
           nic->pci.bus == physical->pci.bus && is_same_text(nic->place, physical->place) &&
           is_virtual_id(physical->vendor_id, nic->device_id) &&
           !is_virtual_id(physical->vendor_id, physical->device_id);
}

/* Counts one virtual function; false where there is no physical one. */
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

/* Takes the marked ports out. */
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
        return; /* ath_topology_parse() refuses it; here it would only take long */

    ath_auto_free bool *marked = ath_xalloc(machine->nic_count * sizeof *marked);

    for (size_t i = 0; i < machine->nic_count; i++)
        machine->nics[i].vfs = 0;
    for (size_t i = 0; i < machine->nic_count; i++)
        marked[i] = count_at_physical(machine, &machine->nics[i]);
    drop(machine, guids, marked);
}

/* Sorted by GUID or by slot, the ports of one card are neighbours. */
struct port {
    size_t nic, card; /* indexes; card: of the port that speaks for the card */
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
 * One card is all functions of a slot, and all that share a system image GUID: a ConnectX-5 of an
 * AC922 shows as two functions in each of two PCI domains, one per socket.
 */
void ath_xml_nics_name_cards(struct ath_machine *machine, const struct ath_xml_guids *guids)
{
    ath_auto_free struct port *ports = ath_xalloc(machine->nic_count * sizeof *ports);
    size_t count = 0;

    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].has_pci)
            ports[count++] =
                (struct port){ .guid = guids->items[i], .nic = i, .pci = machine->nics[i].pci };
    /* Functions of a slot without a GUID take that of their neighbours. */
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
