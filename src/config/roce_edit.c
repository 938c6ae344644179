/* Finds cards and devices by name, and changes their entries in a document. */
#include "config.h"

#include "config/roce_edit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "config/edit.h"
#include "config/entry.h"
#include "config/forms.h"

/* ---- cards by name ---- */

bool ath_roce_card_has(const char *card, const struct ath_nic *nic)
{
    return nic->card && !strcmp(nic->card, card);
}

static bool is_called(const char *name, const char *wanted)
{
    return name && !strcmp(name, wanted);
}

/* True if name is the port's name in `roce list` and `roce test`: "mlx5_0:1". */
static bool is_port(const struct ath_nic *nic, const char *name)
{
    ath_auto_free char *port =
        nic->rdma_device ? ath_xasprintf("%s:%d", nic->rdma_device, nic->port) : NULL;
    return is_called(port, name);
}

/* Returns the port of a PCI function, an RDMA device or a network device. A function with two ports
 * gives the one with RDMA. */
static const struct ath_nic *find_port(const struct ath_machine *machine, const char *name)
{
    const struct ath_nic *found = NULL;
    struct ath_pci pci;
    bool is_pci = !ath_pci_parse(name, &pci);

    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        bool is_it = is_pci ? nic->has_pci && ath_pci_equals(&nic->pci, &pci)
                            : is_called(nic->rdma_device, name) || is_called(nic->netdev, name) ||
                                  is_port(nic, name);
        if (is_it && (!found || (!found->rdma_device && nic->rdma_device)))
            found = nic;
    }
    return found;
}

/* Returns the name nearest to a mistyped one, among cards, RDMA devices and links as the caller
 * wants. The result belongs to the machine. */
static const char *nearest(const struct ath_machine *machine, const char *name, bool wants_cards)
{
    ath_auto_free const char **names = NULL;
    size_t count = 0;

    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        if (!nic->rdma_device)
            continue;
        *(const char **)ath_push(&names, &count, sizeof *names) = nic->rdma_device;
        *(const char **)ath_push(&names, &count, sizeof *names) = nic->netdev;
        *(const char **)ath_push(&names, &count, sizeof *names) = wants_cards ? nic->card : NULL;
    }
    for (size_t i = 0; !wants_cards && i < machine->others.rdma_device_count; i++)
        *(const char **)ath_push(&names, &count, sizeof *names) = machine->others.rdma_devices[i];
    return ath_text_nearest(name, names, count);
}

/* message: "this machine has no ...", translated */
static int report_not_found(const struct ath_machine *machine, const char *message,
                            const char *name, bool wants_cards, struct ath_err *err)
{
    const char *meant = nearest(machine, name, wants_cards);

    if (meant)
        ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, _("%s '%s'; did you mean '%s'?"), message, name,
                    meant);
    else
        ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, "%s '%s'", message, name);
    return ath_err_hint(err, -ENOENT, "aitherion roce list");
}

static bool has_other_device(const struct ath_machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->others.rdma_device_count; i++)
        if (!strcmp(machine->others.rdma_devices[i], name))
            return true;
    return false;
}

static int report_no_card(const char *device, struct ath_err *err)
{
    ath_err_set(err, -EOPNOTSUPP, ATH_E_UNSUPPORTED,
                _("'%s' does not belong to a card (it is a virtual function, a subfunction or a "
                  "virtual link)"),
                device);
    return ath_err_hint(err, -EOPNOTSUPP, _("a container can use it: aitherion roce bind %s 0"),
                        device);
}

static int report_no_rdma(const struct ath_nic *nic, const char *name, struct ath_err *err)
{
    ath_err_set(err, -ENODEV, ATH_E_NO_RDMA, _("'%s'%s%s%s has no RDMA device"), name,
                nic->model ? " (" : "", nic->model ? nic->model : "", nic->model ? ")" : "");
    return ath_err_hint(err, -ENODEV,
                        _("aitherion roce list shows which cards have one; or load its driver "
                          "(Mellanox: modprobe mlx5_ib)"));
}

bool ath_roce_is_told(const struct ath_machine *machine)
{
    return machine->source != ATH_SOURCE_XML || ath_machine_knows_rdma(machine);
}

static bool has_rdma(const struct ath_machine *machine, const char *card)
{
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].rdma_device && ath_roce_card_has(card, &machine->nics[i]))
            return true;
    return !ath_roce_is_told(machine);
}

int ath_roce_card_find(const struct ath_machine *machine, const char *name,
                       struct ath_roce_card *out, struct ath_err *err)
{
    const struct ath_nic *nic = find_port(machine, name);

    if (!nic && has_other_device(machine, name))
        return report_no_card(name, err);
    if (!nic)
        return report_not_found(
            machine, _("this machine has no network card, RDMA device or network device"), name,
            true, err);
    if (!nic->card)
        return nic->rdma_device ? report_no_card(nic->rdma_device, err)
                                : report_no_rdma(nic, name, err);
    if (!has_rdma(machine, nic->card))
        return report_no_rdma(nic, name, err);
    *out = (struct ath_roce_card){ .pci = nic->card, .port = nic };
    return 0;
}

void ath_roce_card_nodes(const struct ath_machine *machine, const char *card, struct ath_idset *out)
{
    *out = (struct ath_idset){ 0 };
    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        if (ath_roce_card_has(card, nic) && nic->numa_node != ATH_UNKNOWN)
            ath_idset_add(out, nic->numa_node, nic->numa_node);
    }
}

void ath_roce_card_near(const struct ath_document *document, const struct ath_machine *machine,
                        const char *card, struct ath_idset *out)
{
    ATH_AUTO(ath_idset) nodes = { 0 };

    ath_roce_card_nodes(machine, card, &nodes);
    *out = (struct ath_idset){ 0 };
    for (size_t i = 0; i < document->numa.count; i++)
        if (ath_idset_has(&nodes, document->numa.items[i].node))
            ath_idset_add(out, document->numa.items[i].id, document->numa.items[i].id);
}

/* ---- cards of the document ---- */

struct ath_document_card *ath_roce_card_in(const struct ath_document *document,
                                           const struct ath_machine *machine, const char *card)
{
    struct ath_document_card *found = ath_document_card(document, card);
    char pci[ATH_PCI_TEXT];

    for (size_t i = 0; machine && i < machine->nic_count && !found; i++)
        if (machine->nics[i].has_pci && ath_roce_card_has(card, &machine->nics[i]))
            found = ath_document_card(document, ath_pci_format(&machine->nics[i].pci, pci));
    return found;
}

/* Returns the card's model if it is a valid text for the document, else NULL. */
static const char *model_of(const struct ath_machine *machine, const char *card)
{
    for (size_t i = 0; machine && i < machine->nic_count; i++) {
        const struct ath_nic *nic = &machine->nics[i];
        if (nic->model && ath_roce_card_has(card, nic))
            return ath_form_fits(ATH_FORM_LINE, nic->model) ? nic->model : NULL;
    }
    return NULL;
}

char *ath_roce_ids_value(const struct ath_idset *ids)
{
    ATH_AUTO(ath_text) text = { 0 };
    for (int id = ath_idset_next(ids, -1); id >= 0; id = ath_idset_next(ids, id))
        ath_text_add_part(&text, ", ", "%d", id);
    return ath_xasprintf("[%s]", text.data ? text.data : "");
}

static int append_card(struct ath_document *document, const char *card, const char *entries,
                       const char *description, struct ath_err *err)
{
    struct ath_change fields[3] = { { "pci", card } };
    size_t count = 1;

    if (description && *description)
        fields[count++] = (struct ath_change){ "description", description };
    fields[count++] = (struct ath_change){ "numa", entries };
    return ath_document_append(document, "roce.cards", fields, count, err);
}

static int change_card(struct ath_document *document, const struct ath_document_card *card,
                       const struct ath_idset *entries, const char *value, const char *description,
                       struct ath_err *err)
{
    ath_auto_free char *numa = ath_xasprintf("roce.cards.%s.numa", card->pci);
    ath_auto_free char *words = ath_xasprintf("roce.cards.%s.description", card->pci);
    const char *old = card->description ? card->description : "";
    struct ath_change changes[2];
    size_t count = 0;

    if (!ath_idset_equals(&card->numa, entries))
        changes[count++] = (struct ath_change){ numa, value };
    if (description && strcmp(description, old))
        changes[count++] = (struct ath_change){ words, *description ? description : "null" };
    return count ? ath_document_set_all(document, changes, count, err) : 0;
}

int ath_roce_card_add(struct ath_document *document, const struct ath_machine *machine,
                      const char *card, const struct ath_idset *entries, const char *description,
                      struct ath_err *err)
{
    const struct ath_document_card *present = ath_roce_card_in(document, machine, card);
    ath_auto_free char *value = ath_roce_ids_value(entries);

    if (present)
        return change_card(document, present, entries, value, description, err);
    return append_card(document, card, value, description ? description : model_of(machine, card),
                       err);
}

int ath_roce_card_remove(struct ath_document *document, const struct ath_machine *machine,
                         const char *card, struct ath_err *err)
{
    const struct ath_document_card *present;
    int status = 0;

    while (!status && (present = ath_roce_card_in(document, machine, card))) {
        ath_auto_free char *key = ath_xasprintf("roce.cards.%s", present->pci);
        status = ath_document_remove(document, key, err);
    }
    return status;
}

/* ---- devices ---- */

const char *ath_roce_device_find(const struct ath_machine *machine, const char *name,
                                 struct ath_err *err)
{
    const struct ath_nic *nic = ath_machine_nic_by_rdma(machine, name);

    for (size_t i = 0; !nic && i < machine->others.rdma_device_count; i++)
        if (!strcmp(machine->others.rdma_devices[i], name))
            return machine->others.rdma_devices[i];
    if (!nic)
        nic = find_port(machine, name);
    if (nic && nic->rdma_device)
        return nic->rdma_device;
    if (!ath_roce_is_told(machine))
        return name;
    if (nic)
        report_no_rdma(nic, name, err);
    else
        report_not_found(machine, _("this machine has no RDMA device"), name, false, err);
    return NULL;
}

bool ath_roce_is_bound(const struct ath_document_numa *entry, const char *device)
{
    return ath_texts_has(&entry->rdma_devices, device);
}

/* Adds a device to a value, whose names are separated by commas. */
static int add_device(struct ath_text *value, const char *device, struct ath_err *err)
{
    if (strpbrk(device, ",[]\"'"))
        return ath_err_set(err, -EOPNOTSUPP, ATH_E_UNSUPPORTED,
                           _("the name of the RDMA device '%s' cannot be written into a list"),
                           device);
    ath_text_add_part(value, ", ", "%s", device);
    return 0;
}

char *ath_roce_bound_value(const struct ath_document_numa *entry, const char *device, bool is_bound,
                           struct ath_err *err)
{
    ATH_AUTO(ath_text) value = { 0 };
    int status = 0;

    for (size_t i = 0; i < entry->rdma_devices.count && !status; i++)
        if (strcmp(entry->rdma_devices.items[i], device))
            status = add_device(&value, entry->rdma_devices.items[i], err);
    if (is_bound && !status)
        status = add_device(&value, device, err);
    return status ? NULL : ath_xasprintf("[%s]", value.data ? value.data : "");
}

int ath_roce_bind(struct ath_document *document, int id, const char *device, bool is_bound,
                  struct ath_err *err)
{
    const struct ath_document_numa *entry = ath_document_numa(document, id);
    ath_auto_free char *key = ath_xasprintf("numa.%d.rdma_devices", id);

    if (entry && ath_roce_is_bound(entry, device) == is_bound)
        return 0;
    ath_auto_free char *value =
        entry ? ath_roce_bound_value(entry, device, is_bound, err) : ath_xstrdup("[]");
    return value ? ath_document_set(document, key, value, err) : -EOPNOTSUPP;
}

/* Returns the distance of a port from a node: less is nearer; INT_MAX if it is not known. */
static int distance_to(const struct ath_machine *machine, const struct ath_nic *nic, int node)
{
    if (nic->numa_node == ATH_UNKNOWN)
        return INT_MAX;
    if (nic->numa_node == node)
        return 0;
    int distance = ath_machine_distance(machine, node, nic->numa_node);
    return distance == ATH_UNKNOWN ? INT_MAX - 1 : distance;
}

void ath_roce_nearer(const struct ath_machine *machine, const char *device, int node,
                     struct ath_texts *out)
{
    const struct ath_nic *own = ath_machine_nic_by_rdma(machine, device);
    int best = own ? distance_to(machine, own, node) : INT_MAX;
    int limit = best;

    *out = (struct ath_texts){ 0 };
    if (best == INT_MAX)
        return;
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].rdma_device && distance_to(machine, &machine->nics[i], node) < best)
            best = distance_to(machine, &machine->nics[i], node);
    for (size_t i = 0; best < limit && i < machine->nic_count; i++)
        if (machine->nics[i].rdma_device && distance_to(machine, &machine->nics[i], node) == best)
            ath_texts_add(out, machine->nics[i].rdma_device);
}

char *ath_roce_far_text(const struct ath_machine *machine, const struct ath_document_numa *entry,
                        const char *device)
{
    const struct ath_nic *own = ath_machine_nic_by_rdma(machine, device);
    ATH_AUTO(ath_texts) nearer = { 0 };
    ATH_AUTO(ath_text) names = { 0 };

    ath_roce_nearer(machine, device, entry->node, &nearer);
    for (size_t i = 0; i < nearer.count; i++)
        ath_text_add_part(&names, ", ", "%s", nearer.items[i]);
    if (!own || !nearer.count)
        return NULL;
    return ath_xasprintf(_("'%s' is at NUMA node %d, NUMA%d at node %d: it works, but slower; "
                           "nearer: %s"),
                         device, own->numa_node, entry->id, entry->node, names.data);
}
