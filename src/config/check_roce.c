/* Checks the network cards and the macvlans of a document. */
#include "config.h"

#include <string.h>

#include "base/i18n.h"
#include "config/check_internal.h"
#include "roce/address.h"

static bool has_card(const struct ath_machine *machine, const struct ath_pci *pci)
{
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].has_pci && ath_pci_equals(&machine->nics[i].pci, pci))
            return true;
    return false;
}

void ath_check_card(const struct ath_check *check, const struct ath_document_card *card)
{
    struct ath_pci pci;
    bool knows_cards = check->machine->nic_count || check->machine->source == ATH_SOURCE_LIVE;

    if (knows_cards && !ath_pci_parse(card->pci, &pci) && !has_card(check->machine, &pci))
        ath_faults_add(check->faults, ATH_FAULT_CARD_MISSING, ath_check_place(&card->item, "pci"),
                       _("this machine has no network card %s"), card->pci);
}

static bool is_same_host(const char *a, const char *b)
{
    struct ath_address left, right;
    return a && b && !ath_address_parse(a, &left, NULL) && !ath_address_parse(b, &right, NULL) &&
           ath_address_is_same_host(&left, &right);
}

/* Returns the first macvlan of the document before `end` that has the address, either itself or as
 * the address of its link on the host; NULL if none has it. */
static const struct ath_document_macvlan *holder_of(const struct ath_document *document,
                                                    const char *address, size_t end)
{
    for (size_t i = 0; i < end; i++) {
        const struct ath_document_macvlan *macvlan = &document->roce.macvlans.items[i];
        if (is_same_host(address, macvlan->address) ||
            (macvlan->has_host_link && is_same_host(address, macvlan->host_address)))
            return macvlan;
    }
    return NULL;
}

static void check_address(const struct ath_check *check, size_t index, const char *key,
                          const char *address)
{
    const struct ath_document_macvlan *macvlan = &check->document->roce.macvlans.items[index];
    const struct ath_document_macvlan *other = holder_of(check->document, address, index);
    struct ath_address parsed;
    const char *unfit =
        address && !ath_address_parse(address, &parsed, NULL) ? ath_address_unfit(&parsed) : NULL;
    if (unfit)
        ath_faults_add(check->faults, ATH_FAULT_ADDRESS_UNFIT, ath_check_place(&macvlan->item, key),
                       _("no link can have the address '%s': %s"), address, unfit);
    if (other)
        ath_faults_add(check->faults, ATH_FAULT_ADDRESS_TWICE, ath_check_place(&macvlan->item, key),
                       _("the address '%s' is in use: the macvlan '%s' has it"), address,
                       other->name);
}

static void check_host_link(const struct ath_check *check,
                            const struct ath_document_macvlan *macvlan)
{
    if (!macvlan->has_host_link)
        return;
    size_t place = ath_check_place(&macvlan->item, "host_link");
    if (macvlan->mode != ATH_MACVLAN_BRIDGE)
        ath_faults_add(check->faults, ATH_FAULT_HOST_LINK, place,
                       _("a link on the host reaches '%s' in mode bridge only, not %s"),
                       macvlan->name, ath_macvlan_mode_word(macvlan->mode));
    if (!macvlan->address)
        ath_faults_add(check->faults, ATH_FAULT_HOST_LINK, place,
                       _("a link on the host needs an address of '%s'"), macvlan->name);
    else if (is_same_host(macvlan->address, macvlan->host_address))
        ath_faults_add(check->faults, ATH_FAULT_ADDRESS_TWICE,
                       ath_check_place(&macvlan->item, "host_address"),
                       _("'%s' and its link on the host cannot both have '%s'"), macvlan->name,
                       macvlan->address);
    else if (strchr(macvlan->address, ':') && !macvlan->host_address)
        ath_faults_add(check->faults, ATH_FAULT_HOST_LINK, place,
                       _("for IPv6 the link of '%s' on the host needs its own address"),
                       macvlan->name);
}

void ath_check_macvlans_alone(const struct ath_check *check)
{
    for (size_t i = 0; i < check->document->roce.macvlans.count; i++) {
        const struct ath_document_macvlan *macvlan = &check->document->roce.macvlans.items[i];
        check_address(check, i, "address", macvlan->address);
        if (macvlan->has_host_link)
            check_address(check, i, "host_address", macvlan->host_address);
        check_host_link(check, macvlan);
    }
}

/* Checks a macvlan against its parent. The kernel refuses a macvlan on InfiniBand, and an MTU above
 * that of the parent (macvlan_change_mtu() in drivers/net/macvlan.c). */
void ath_check_macvlan(const struct ath_check *check, const struct ath_document_macvlan *macvlan)
{
    const struct ath_nic *parent = ath_machine_nic_by_netdev(check->machine, macvlan->parent);

    ath_check_link(check, ath_check_place(&macvlan->item, "parent"), macvlan->parent);
    if (parent && parent->link_layer == ATH_LAYER_INFINIBAND)
        ath_faults_add(check->faults, ATH_FAULT_LINK_INFINIBAND,
                       ath_check_place(&macvlan->item, "parent"),
                       _("'%s' is in InfiniBand mode and cannot carry a macvlan"), macvlan->parent);
    if (parent && parent->mtu > 0 && macvlan->mtu > parent->mtu)
        ath_faults_add(check->faults, ATH_FAULT_MTU_ABOVE, ath_check_place(&macvlan->item, "mtu"),
                       _("the MTU %d is larger than that of '%s', %d"), macvlan->mtu,
                       macvlan->parent, parent->mtu);
}
