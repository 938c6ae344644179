/* RDMA cards as data. */
#include "config.h"

#include "cli/output/roce_list.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/output/json.h"
#include "config/roce_edit.h"
#include "numa/warning.h"
#include "roce/lack.h"

/* ---- what is shown ---- */

bool ath_roce_list_is_same_card(const struct ath_nic *a, const struct ath_nic *b)
{
    return a == b || (a->card && b->card && !strcmp(a->card, b->card));
}

bool ath_roce_list_shows(const struct ath_roce_list *list, const struct ath_nic *nic)
{
    return nic->rdma_device || !ath_roce_is_told(list->machine);
}

static bool is_first(const struct ath_roce_list *list, size_t index)
{
    const struct ath_nic *nics = list->machine->nics;
    for (size_t i = 0; i < index; i++)
        if (ath_roce_list_shows(list, &nics[i]) &&
            ath_roce_list_is_same_card(&nics[i], &nics[index]))
            return false;
    return true;
}

void ath_roce_list_cards(const struct ath_roce_list *list, size_t **out, size_t *out_count)
{
    *out = NULL;
    *out_count = 0;
    for (size_t i = 0; i < list->machine->nic_count; i++)
        if (ath_roce_list_shows(list, &list->machine->nics[i]) && is_first(list, i))
            *(size_t *)ath_push(out, out_count, sizeof **out) = i;
}

void ath_roce_list_bound(const struct ath_roce_list *list, const char *device,
                         struct ath_idset *out)
{
    *out = (struct ath_idset){ 0 };
    for (size_t i = 0; device && list->document && i < list->document->numa.count; i++) {
        const struct ath_document_numa *entry = &list->document->numa.items[i];
        if (ath_roce_is_bound(entry, device))
            ath_idset_add(out, entry->id, entry->id);
    }
}

const struct ath_document_card *ath_roce_list_use(const struct ath_roce_list *list,
                                                  const struct ath_nic *nic)
{
    return list->document && nic->card ? ath_roce_card_in(list->document, list->machine, nic->card)
                                       : NULL;
}

bool ath_roce_list_carries(const struct ath_nic *nic, const struct ath_document_macvlan *macvlan)
{
    return (nic->netdev && !strcmp(macvlan->parent, nic->netdev)) ||
           (nic->master && !strcmp(macvlan->parent, nic->master));
}

bool ath_roce_list_lacks_card(const struct ath_roce_list *list,
                              const struct ath_document_card *card)
{
    struct ath_pci pci;
    if (ath_pci_parse(card->pci, &pci) ||
        (list->machine->source == ATH_SOURCE_XML && !list->machine->nic_count))
        return false;
    for (size_t i = 0; i < list->machine->nic_count; i++)
        if (list->machine->nics[i].has_pci && ath_pci_equals(&list->machine->nics[i].pci, &pci))
            return false;
    return true;
}

bool ath_roce_list_lacks_device(const struct ath_roce_list *list, const char *device)
{
    const struct ath_nic_others *others = &list->machine->others;
    if (!ath_roce_is_told(list->machine))
        return false;
    for (size_t i = 0; i < others->rdma_device_count; i++)
        if (!strcmp(others->rdma_devices[i], device))
            return false;
    return !ath_machine_nic_by_rdma(list->machine, device);
}

bool ath_roce_list_is_warning(const struct ath_warning *warning)
{
    static const enum ath_warning_kind kinds[] = { ATH_W_INFINIBAND_MODE, ATH_W_NO_USABLE_GID,
                                                   ATH_W_SAME_SUBNET };
    for (size_t i = 0; i < ATH_COUNT(kinds); i++)
        if (!strcmp(warning->code, ath_warning_word(kinds[i])))
            return true;
    return false;
}

/* ---- JSON ---- */

static json_t *ids_to_json(const struct ath_idset *ids)
{
    json_t *list = json_array();
    for (int id = ath_idset_next(ids, -1); id >= 0; id = ath_idset_next(ids, id))
        json_array_append_new(list, json_integer(id));
    return list;
}

static json_t *bound_to_json(const struct ath_roce_list *list, const char *device)
{
    ATH_AUTO(ath_idset) ids = { 0 };
    ath_roce_list_bound(list, device, &ids);
    return ids_to_json(&ids);
}

static json_t *pci_to_json(const struct ath_nic *nic)
{
    char text[ATH_PCI_TEXT];
    return nic->has_pci ? json_string(ath_pci_format(&nic->pci, text)) : json_null();
}

static json_t *gids_to_json(const struct ath_nic *nic)
{
    json_t *all = json_array();
    for (size_t i = 0; i < nic->gid_count; i++) {
        const struct ath_gid *gid = &nic->gids[i];
        json_array_append_new(all, json_pack("{s:i, s:o, s:s, s:o, s:b}", "index", gid->index,
                                             "gid", ath_json_text(gid->address), "type",
                                             ath_gid_type_word(gid->type), "netdev",
                                             ath_json_text(*gid->netdev ? gid->netdev : NULL),
                                             "usable", gid->is_usable));
    }
    return all;
}

static json_t *macvlans_to_json(const struct ath_roce_list *list, const struct ath_nic *nic)
{
    json_t *all = json_array();
    for (size_t i = 0; list->document && i < list->document->roce.macvlans.count; i++) {
        const struct ath_document_macvlan *macvlan = &list->document->roce.macvlans.items[i];
        if (ath_roce_list_carries(nic, macvlan))
            json_array_append_new(all, json_pack("{s:o, s:s, s:o, s:o, s:o}", "name",
                                                 ath_json_text(macvlan->name), "mode",
                                                 ath_macvlan_mode_word(macvlan->mode), "address",
                                                 ath_json_text(macvlan->address), "mtu",
                                                 ath_json_number(macvlan->mtu), "numa",
                                                 ath_json_number(macvlan->numa)));
    }
    return all;
}

static json_t *readiness_to_json(const struct ath_roce_list *list, const struct ath_nic *nic)
{
    int readiness = list->readiness ? list->readiness[nic - list->machine->nics] : ATH_UNKNOWN;
    return readiness == ATH_UNKNOWN
               ? json_null()
               : json_string(ath_rdma_readiness_word((enum ath_rdma_readiness)readiness));
}

static json_t *port_to_json(const struct ath_roce_list *list, const struct ath_nic *nic)
{
    enum ath_lack lack = nic->rdma_device ? ath_nic_lack(nic) : ATH_LACK_UNKNOWN;
    ath_auto_free char *mend = ath_lack_mend(lack, nic);
    json_t *port = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pci", pci_to_json(nic),
        "rdma_device", ath_json_text(nic->rdma_device), "port", ath_json_number(nic->port),
        "netdev", ath_json_text(nic->netdev), "master", ath_json_text(nic->master), "link_layer",
        ath_json_text(ath_link_layer_word(nic->link_layer)), "link",
        ath_json_text(ath_link_state_word(nic->link)), "speed_mbps",
        ath_json_number(nic->speed_mbps), "mtu", ath_json_number(nic->mtu), "numa_node",
        ath_json_number(nic->numa_node), "readiness", readiness_to_json(list, nic));
    json_t *rest = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "gids", gids_to_json(nic),
                             "best_gid_index", ath_json_number(nic->best_gid_index), "gid_lack",
                             ath_json_text(ath_lack_word(lack)), "gid_lack_message",
                             ath_json_text(ath_lack_text(lack)), "gid_lack_hint",
                             ath_json_text(mend), "bound_to", bound_to_json(list, nic->rdma_device),
                             "macvlans", macvlans_to_json(list, nic));

    json_object_update(port, rest);
    json_decref(rest);
    return port;
}

static json_t *card_to_json(const struct ath_roce_list *list, const struct ath_nic *first)
{
    const struct ath_document_card *use = ath_roce_list_use(list, first);
    const struct ath_idset nobody = { 0 };
    ATH_AUTO(ath_idset) nodes = { 0 };
    json_t *ports = json_array();

    for (size_t i = 0; i < list->machine->nic_count; i++) {
        const struct ath_nic *nic = &list->machine->nics[i];
        if (!ath_roce_list_shows(list, nic) || !ath_roce_list_is_same_card(nic, first))
            continue;
        json_array_append_new(ports, port_to_json(list, nic));
        if (nic->numa_node != ATH_UNKNOWN)
            ath_idset_add(&nodes, nic->numa_node, nic->numa_node);
    }
    return json_pack("{s:o, s:o, s:o, s:b, s:o, s:o, s:o}", "pci", ath_json_text(first->card),
                     "model", ath_json_text(first->model), "numa_nodes", ids_to_json(&nodes),
                     "is_in_document", use != NULL, "description",
                     ath_json_text(use ? use->description : NULL), "used_by",
                     ids_to_json(use ? &use->numa : &nobody), "ports", ports);
}

static json_t *others_to_json(const struct ath_roce_list *list)
{
    const struct ath_nic_others *others = &list->machine->others;
    json_t *all = json_array();
    for (size_t i = 0; i < others->rdma_device_count; i++)
        json_array_append_new(all, json_pack("{s:o, s:o}", "rdma_device",
                                             ath_json_text(others->rdma_devices[i]), "bound_to",
                                             bound_to_json(list, others->rdma_devices[i])));
    return all;
}

static json_t *missing_cards(const struct ath_roce_list *list)
{
    json_t *all = json_array();
    for (size_t i = 0; list->document && i < list->document->roce.cards.count; i++) {
        const struct ath_document_card *card = &list->document->roce.cards.items[i];
        if (ath_roce_list_lacks_card(list, card))
            json_array_append_new(all, json_pack("{s:o, s:o, s:o}", "pci", ath_json_text(card->pci),
                                                 "description", ath_json_text(card->description),
                                                 "used_by", ids_to_json(&card->numa)));
    }
    return all;
}

static json_t *missing_devices(const struct ath_roce_list *list)
{
    json_t *all = json_array();
    for (size_t i = 0; list->document && i < list->document->numa.count; i++) {
        const struct ath_document_numa *entry = &list->document->numa.items[i];
        for (size_t k = 0; k < entry->rdma_devices.count; k++)
            if (ath_roce_list_lacks_device(list, entry->rdma_devices.items[k]))
                json_array_append_new(all, json_pack("{s:o, s:i}", "rdma_device",
                                                     ath_json_text(entry->rdma_devices.items[k]),
                                                     "bound_to", entry->id));
    }
    return all;
}

static json_t *warnings_to_json(const struct ath_machine *machine)
{
    json_t *all = json_array();
    for (size_t i = 0; i < machine->warning_count; i++) {
        const struct ath_warning *warning = &machine->warnings[i];
        if (ath_roce_list_is_warning(warning))
            json_array_append_new(all, json_pack("{s:s, s:o, s:o, s:o}", "code", warning->code,
                                                 "object", ath_json_text(warning->object),
                                                 "message", ath_json_text(warning->message), "hint",
                                                 ath_json_text(warning->hint)));
    }
    return all;
}

json_t *ath_roce_list_to_json(const void *data)
{
    const struct ath_roce_list *list = data;
    ath_auto_free size_t *firsts = NULL;
    size_t count;
    json_t *cards = json_array();

    ath_roce_list_cards(list, &firsts, &count);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(cards, card_to_json(list, &list->machine->nics[firsts[i]]));
    return json_pack(
        "{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "hostname",
        ath_json_text(list->machine->hostname), "source", ath_source_word(list->machine->source),
        "file", ath_json_text(list->document ? list->file : NULL), "netns_mode",
        ath_json_text(ath_rdma_netns_mode_word(list->netns_mode)), "cards", cards, "other_devices",
        others_to_json(list), "missing_cards", missing_cards(list), "missing_devices",
        missing_devices(list), "warnings", warnings_to_json(list->machine));
}

const struct ath_view ath_roce_list_view = { "aitherion.roce-list/1", ath_roce_list_to_json,
                                             ath_roce_list_to_text, NULL, 0 };
