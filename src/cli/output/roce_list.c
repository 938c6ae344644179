/* RDMA cards as JSON, and the selection of cards for JSON and text. */
#include "config.h"

#include "cli/output/roce_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/output/fields.h"
#include "config/roce_edit.h"
#include "roce/lack.h"

/* ---- what is shown ---- */

bool ath_roce_list_shows(const struct ath_roce_list *list, const struct ath_nic *nic)
{
    return nic->rdma_device || !ath_roce_is_told(list->machine);
}

static bool is_first(const struct ath_roce_list *list, size_t index)
{
    const struct ath_nic *nics = list->machine->nics;
    for (size_t i = 0; i < index; i++)
        if (ath_roce_list_shows(list, &nics[i]) && ath_nic_is_same_card(&nics[i], &nics[index]))
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

static const char *const warning_codes[] = { "infiniband-mode", "no-usable-gid", "same-subnet",
                                             NULL };

bool ath_roce_list_is_warning(const struct ath_warning *warning)
{
    for (const char *const *code = warning_codes; *code; code++)
        if (!strcmp(warning->code, *code))
            return true;
    return false;
}

/* ---- ports ---- */

ATH_FIELD_WORD(gid_type_word, enum ath_gid_type, ath_gid_type_word)

#define AT(member) ATH_AT(struct ath_gid, member)
const struct ath_field ath_gid_fields[] = {
    ATH_FIELD("index", AT(index),
              .help = "index in the port's table; tables have gaps, and an index has no meaning "
                      "for other ports",
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("gid", AT(address),
              .help = "GID as the kernel prints it: eight groups of four digits"),
    ATH_FIELD("type", AT(type), .help = "protocol that uses the GID", .word = gid_type_word,
              .word_count = ATH_GID_TYPE_COUNT),
    ATH_FIELD("netdev", AT(netdev),
              .help = "link that the GID belongs to (for a macvlan's address the macvlan, even if "
                      "it is in a container); null for InfiniBand",
              .is_nullable = true),
    ATH_FIELD("usable", AT(is_usable),
              .help = "whether the GID is not all zero and its link is in this namespace"),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_document_macvlan, member)
static const struct ath_field macvlan_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("mode", AT(mode), .word = ath_macvlan_mode_word,
              .word_count = ATH_MACVLAN_MODE_COUNT),
    ATH_FIELD("address", AT(address), .is_nullable = true),
    ATH_FIELD("mtu", AT(mtu), .help = "null for the parent's MTU", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("numa", AT(numa), .help = "id of the NUMA entry whose container gets the macvlan",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

struct shown_port {
    const struct ath_roce_list *list;
    struct ath_nic nic;
    int readiness; /* enum ath_rdma_readiness or ATH_UNKNOWN */
    enum ath_lack lack;
    const char *lack_text;
    char *lack_mend;
    struct ath_idset bound_to;
};

ATH_FIELD_WORD(lack_word, enum ath_lack, ath_lack_word)
ATH_FIELD_WORD(link_layer_word, enum ath_link_layer, ath_link_layer_word)
ATH_FIELD_WORD(link_state_word, enum ath_link_state, ath_link_state_word)

static const char *readiness_word(int value)
{
    return value == ATH_UNKNOWN ? NULL : ath_rdma_readiness_word((enum ath_rdma_readiness)value);
}

static json_t *make_macvlans(const void *object)
{
    const struct shown_port *port = object;
    const struct ath_document *document = port->list->document;
    json_t *all = json_array();
    for (size_t i = 0; document && i < document->roce.macvlans.count; i++)
        if (ath_roce_list_carries(&port->nic, &document->roce.macvlans.items[i]))
            json_array_append_new(
                all, ath_fields_to_json(macvlan_fields, &document->roce.macvlans.items[i]));
    return all;
}

#define AT(member) ATH_AT(struct shown_port, member)
static const struct ath_field port_fields[] = {
    ATH_FIELD("pci", AT(nic.pci), .known = ATH_KNOWN(struct shown_port, nic.has_pci)),
    ATH_FIELD("rdma_device", AT(nic.rdma_device),
              .help = "name of the RDMA device; null if a topology file lists none",
              .is_nullable = true),
    ATH_FIELD("port", AT(nic.port), .help = "port number of the RDMA device, from 1",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("netdev", AT(nic.netdev), .help = "network link of the port", .is_nullable = true),
    ATH_FIELD("master", AT(nic.master), .help = "bond or bridge that the link belongs to",
              .is_nullable = true),
    ATH_FIELD("link_layer", AT(nic.link_layer), .is_nullable = true, .word = link_layer_word,
              .word_count = ATH_LINK_LAYER_COUNT),
    ATH_FIELD("link", AT(nic.link), .is_nullable = true, .word = link_state_word,
              .word_count = ATH_LINK_STATE_COUNT),
    ATH_FIELD("speed_mbps", AT(nic.speed_mbps), .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("mtu", AT(nic.mtu), .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("numa_node", AT(nic.numa_node), .help = "the kernel's NUMA node", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("readiness", AT(readiness),
              .help = "whether connections can be made; null for a capture", .is_nullable = true,
              .word = readiness_word, .word_count = ATH_RDMA_READINESS_COUNT),
    ATH_FIELD("gids", ATH_AT_LIST(struct shown_port, nic.gids, nic.gid_count),
              .help = "used entries of the GID table", .fields = ath_gid_fields),
    ATH_FIELD("best_gid_index", AT(nic.best_gid_index),
              .help = "index of the GID to use, chosen by link, type and address; null if there is "
                      "none, as gid_lack says",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("gid_lack", AT(lack),
              .help = "why there is no GID to use, or only a poor one (link-local); null if there "
                      "is a good one",
              .is_nullable = true, .word = lack_word, .word_count = ATH_LACK_COUNT),
    ATH_FIELD("gid_lack_message", AT(lack_text), .is_nullable = true),
    ATH_FIELD("gid_lack_hint", AT(lack_mend), .help = "how to fix gid_lack", .is_nullable = true),
    ATH_FIELD("bound_to", AT(bound_to),
              .help = "ids of the NUMA entries whose containers get the RDMA device"),
    ATH_FIELD("macvlans", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "macvlans of the document on this link", .fields = macvlan_fields,
              .make = make_macvlans),
    { .name = NULL },
};
#undef AT

static json_t *port_to_json(const struct ath_roce_list *list, const struct ath_nic *nic)
{
    struct shown_port port = { .list = list, .nic = *nic };

    port.readiness = list->readiness ? list->readiness[nic - list->machine->nics] : ATH_UNKNOWN;
    port.lack = nic->rdma_device ? ath_nic_lack(nic) : ATH_LACK_UNKNOWN;
    port.lack_text = ath_lack_text(port.lack);
    port.lack_mend = ath_lack_mend(port.lack, nic);
    ath_roce_list_bound(list, nic->rdma_device, &port.bound_to);
    json_t *made = ath_fields_to_json(port_fields, &port);
    free(port.lack_mend);
    ath_idset_free(&port.bound_to);
    return made;
}

/* ---- cards ---- */

struct shown_card {
    const struct ath_roce_list *list;
    const struct ath_nic *first; /* its first port */
    struct ath_idset nodes;
    bool is_in_document;
    struct ath_document_card entry; /* zeroed if the document does not have the card */
};

static const void *find_first(const void *object)
{
    return ((const struct shown_card *)object)->first;
}

static bool has_port(const struct shown_card *card, const struct ath_nic *nic)
{
    return ath_roce_list_shows(card->list, nic) && ath_nic_is_same_card(nic, card->first);
}

static json_t *make_ports(const void *object)
{
    const struct shown_card *card = object;
    const struct ath_machine *machine = card->list->machine;
    json_t *all = json_array();
    for (size_t i = 0; i < machine->nic_count; i++)
        if (has_port(card, &machine->nics[i]))
            json_array_append_new(all, port_to_json(card->list, &machine->nics[i]));
    return all;
}

#define CARD_USED_BY_HELP "ids of the NUMA entries that use the card"

#define AT(member) ATH_AT(struct shown_card, member)
static const struct ath_field card_fields[] = {
    ATH_FIELD("pci", ATH_AT(struct ath_nic, card),
              .help = "PCI address of the card's lowest function, which identifies the card",
              .is_nullable = true, .find = find_first),
    ATH_FIELD("model", ATH_AT(struct ath_nic, model), .is_nullable = true, .find = find_first),
    ATH_FIELD("numa_nodes", AT(nodes), .help = "the kernel's NUMA nodes of the card's functions"),
    ATH_FIELD("is_in_document", AT(is_in_document),
              .help = "whether the document has the card (`aitherion roce add`)"),
    ATH_FIELD("description", AT(entry.description),
              .help = "description of the card in the document", .is_nullable = true),
    ATH_FIELD("used_by", AT(entry.numa), .help = CARD_USED_BY_HELP),
    ATH_FIELD("ports", ATH_LIST_OF(ATH_FIELD_OBJECT), .help = "ports by PCI address",
              .fields = port_fields, .make = make_ports),
    { .name = NULL },
};
#undef AT

static json_t *card_to_json(const struct ath_roce_list *list, const struct ath_nic *first)
{
    const struct ath_document_card *entry = ath_roce_list_use(list, first);
    struct shown_card card = { .list = list, .first = first, .is_in_document = entry != NULL };

    if (entry)
        card.entry = *entry;
    for (size_t i = 0; i < list->machine->nic_count; i++) {
        const struct ath_nic *nic = &list->machine->nics[i];
        if (has_port(&card, nic))
            ath_idset_add(&card.nodes, nic->numa_node, nic->numa_node);
    }
    json_t *made = ath_fields_to_json(card_fields, &card);
    ath_idset_free(&card.nodes);
    return made;
}

static json_t *make_cards(const void *object)
{
    const struct ath_roce_list *list = object;
    ath_auto_free size_t *firsts = NULL;
    size_t count;
    json_t *all = json_array();

    ath_roce_list_cards(list, &firsts, &count);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(all, card_to_json(list, &list->machine->nics[firsts[i]]));
    return all;
}

/* ---- what has no port here ---- */

#define AT(member) ATH_AT(struct ath_document_card, member)
static const struct ath_field missing_card_fields[] = {
    ATH_FIELD("pci", AT(pci)),
    ATH_FIELD("description", AT(description), .is_nullable = true),
    ATH_FIELD("used_by", AT(numa), .help = CARD_USED_BY_HELP),
    { .name = NULL },
};
#undef AT

static json_t *make_missing_cards(const void *object)
{
    const struct ath_roce_list *list = object;
    json_t *all = json_array();
    for (size_t i = 0; list->document && i < list->document->roce.cards.count; i++) {
        const struct ath_document_card *card = &list->document->roce.cards.items[i];
        if (ath_roce_list_lacks_card(list, card))
            json_array_append_new(all, ath_fields_to_json(missing_card_fields, card));
    }
    return all;
}

struct shown_device {
    const char *name;
    int entry;                 /* id of the entry that has the device */
    struct ath_idset bound_to; /* ids of all such entries */
};

#define AT(member) ATH_AT(struct shown_device, member)
static const struct ath_field other_device_fields[] = {
    ATH_FIELD("rdma_device", AT(name)),
    ATH_FIELD("bound_to", AT(bound_to), .help = "ids of NUMA entries"),
    { .name = NULL },
};

static const struct ath_field missing_device_fields[] = {
    ATH_FIELD("rdma_device", AT(name)),
    ATH_FIELD("bound_to", AT(entry), .help = "id of a NUMA entry", .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

static json_t *make_other_devices(const void *object)
{
    const struct ath_roce_list *list = object;
    const struct ath_nic_others *others = &list->machine->others;
    json_t *all = json_array();
    for (size_t i = 0; i < others->rdma_device_count; i++) {
        struct shown_device device = { .name = others->rdma_devices[i] };
        ath_roce_list_bound(list, device.name, &device.bound_to);
        json_array_append_new(all, ath_fields_to_json(other_device_fields, &device));
        ath_idset_free(&device.bound_to);
    }
    return all;
}

static json_t *make_missing_devices(const void *object)
{
    const struct ath_roce_list *list = object;
    json_t *all = json_array();
    for (size_t i = 0; list->document && i < list->document->numa.count; i++) {
        const struct ath_document_numa *entry = &list->document->numa.items[i];
        for (size_t k = 0; k < entry->rdma_devices.count; k++) {
            const struct shown_device device = { .name = entry->rdma_devices.items[k],
                                                 .entry = entry->id };
            if (ath_roce_list_lacks_device(list, device.name))
                json_array_append_new(all, ath_fields_to_json(missing_device_fields, &device));
        }
    }
    return all;
}

/* ---- the whole ---- */

#define AT(member) ATH_AT(struct ath_warning, member)
static const struct ath_field warning_fields[] = {
    ATH_FIELD("code", AT(code), .words = warning_codes),
    ATH_FIELD("object", AT(object), .is_nullable = true),
    ATH_FIELD("message", AT(message)),
    ATH_FIELD("hint", AT(hint), .is_nullable = true),
    { .name = NULL },
};
#undef AT

static json_t *make_warnings(const void *object)
{
    const struct ath_machine *machine = ((const struct ath_roce_list *)object)->machine;
    json_t *all = json_array();
    for (size_t i = 0; i < machine->warning_count; i++)
        if (ath_roce_list_is_warning(&machine->warnings[i]))
            json_array_append_new(all, ath_fields_to_json(warning_fields, &machine->warnings[i]));
    return all;
}

ATH_FIELD_WORD(netns_mode_word, enum ath_rdma_netns_mode, ath_rdma_netns_mode_word)
ATH_FIELD_WORD(source_word, enum ath_source, ath_source_word)

static const void *find_machine(const void *object)
{
    return ((const struct ath_roce_list *)object)->machine;
}

/* Finds the list itself, or nothing without a document. */
static const void *find_with_document(const void *object)
{
    return ((const struct ath_roce_list *)object)->document ? object : NULL;
}

#define AT(member) ATH_AT(struct ath_roce_list, member)
static const struct ath_field list_fields[] = {
    ATH_FIELD("hostname", ATH_AT(struct ath_machine, hostname), .is_nullable = true,
              .find = find_machine),
    ATH_FIELD("source", ATH_AT(struct ath_machine, source), .word = source_word,
              .word_count = ATH_SOURCE_COUNT, .find = find_machine),
    ATH_FIELD("file", AT(file), .help = "path of the topology document; null if there is none yet",
              .is_nullable = true, .find = find_with_document),
    ATH_FIELD("netns_mode", AT(netns_mode),
              .help = "shared: every network namespace sees every RDMA device; exclusive: each "
                      "device belongs to one namespace; null for a capture",
              .is_nullable = true, .word = netns_mode_word,
              .word_count = ATH_RDMA_NETNS_MODE_COUNT),
    ATH_FIELD("cards", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "cards with RDMA devices; all network cards if a topology file lists no "
                      "RDMA devices",
              .fields = card_fields, .make = make_cards),
    ATH_FIELD("other_devices", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "RDMA devices without a card port: of virtual functions, of subfunctions, of "
                      "links without hardware",
              .fields = other_device_fields, .make = make_other_devices),
    ATH_FIELD("missing_cards", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "cards of the document that this machine lacks",
              .fields = missing_card_fields, .make = make_missing_cards),
    ATH_FIELD("missing_devices", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "RDMA devices of the document that this machine lacks",
              .fields = missing_device_fields, .make = make_missing_devices),
    ATH_FIELD("warnings", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "warnings of `aitherion discover` about these ports",
              .fields = warning_fields, .make = make_warnings),
    { .name = NULL },
};
#undef AT

const struct ath_view ath_roce_list_view = {
    .schema = "aitherion.roce-list/1",
    .title = "Output of `aitherion roce list --json`",
    .about = "A value that is not known is null, never guessed. Keys may be added without a new "
             "schema number.",
    .fields = list_fields,
    .to_text = ath_roce_list_to_text,
};
