/* RDMA cards, and which container gets which device. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/words.h"
#include "cli/tui/dialog.h"
#include "cli/tui/field.h"
#include "cli/tui/screens.h"
#include "config/edit.h"
#include "config/entry.h"
#include "config/forms.h"
#include "config/roce_edit.h"

/* ---- cards ---- */

/* A card is named by the PCI address of its lowest function. */
static bool is_of(const struct ath_nic *nic, const char *card)
{
    return nic->card && !strcmp(nic->card, card);
}

static const struct ath_nic *first_of(const struct ath_tui *tui, const char *card)
{
    for (size_t i = 0; i < tui->store.machine.nic_count; i++)
        if (is_of(&tui->store.machine.nics[i], card))
            return &tui->store.machine.nics[i];
    return NULL;
}

static char *name_of(const struct ath_tui *tui, const char *card)
{
    const struct ath_nic *nic = first_of(tui, card);
    return nic ? ath_words_device(nic->vendor_id, nic->device_id, nic->model)
               : ath_xstrdup(_("(not found in this machine)"));
}

/* Lists the machine's cards with RDMA devices, then other cards of the document. */
static void offer_cards(const struct ath_tui *tui, struct ath_choices *out)
{
    for (size_t i = 0; i < tui->store.machine.nic_count; i++) {
        const struct ath_nic *nic = &tui->store.machine.nics[i];
        if (!nic->rdma_device || !nic->card || ath_choices_find(out, nic->card))
            continue;
        ath_auto_free char *name = name_of(tui, nic->card);
        ath_choices_add(out, nic->card, NULL, name);
    }
    for (size_t i = 0; i < tui->store.document.roce.cards.count; i++) {
        const struct ath_document_card *card = &tui->store.document.roce.cards.items[i];
        ath_auto_free char *name = name_of(tui, card->pci);
        if (!ath_choices_find(out, card->pci))
            ath_choices_add(out, card->pci, NULL, name);
    }
}

static char *use_of(const struct ath_tui *tui, const char *pci)
{
    const struct ath_document_card *card = ath_document_card(&tui->store.document, pci);
    if (!card)
        return ath_xstrdup(_("not in the document"));
    ath_auto_free char *ids = ath_idset_format(&card->numa);
    return *ids ? ath_xasprintf(_("in use by NUMA %s"), ids) : ath_xstrdup(_("in the document"));
}

static void list_cards(const struct ath_tui *tui, struct ath_menu_list *out)
{
    ATH_AUTO(ath_choices) cards = { 0 };
    offer_cards(tui, &cards);
    for (size_t i = 0; i < cards.count; i++) {
        ath_auto_free char *use = use_of(tui, cards.items[i].value);
        const char *name = cards.items[i].detail ? cards.items[i].detail : "";
        ath_auto_free char *label = ath_xasprintf("%s  %s", cards.items[i].value, name);
        ath_menu_list_add(out, cards.items[i].value, label, use);
    }
}

/* Asks for the NUMA entries of a card. Entries near the card are ticked. */
static char *ask_entries(struct ath_tui *tui, const char *pci)
{
    ATH_AUTO(ath_idset) near = { 0 };
    ath_roce_card_near(&tui->store.document, &tui->store.machine, pci, &near);
    ath_auto_free char *value = ath_roce_ids_value(&near);
    return ath_field_ask(tui, "roce.cards", "numa", value);
}

static bool add_this(struct ath_tui *tui, const char *pci)
{
    ath_auto_free char *entries = ask_entries(tui, pci);
    ATH_AUTO(ath_idset) ids = { 0 };
    struct ath_err err = { 0 };

    if (!entries)
        return false;
    if (ath_entries_parse(&tui->store.document, entries, &ids, &err) ||
        ath_roce_card_add(&tui->store.document, &tui->store.machine, pci, &ids, NULL, &err))
        ath_tui_say_error(tui, &err);
    else
        ath_tui_say(tui, ATH_ROLE_GOOD, _("card '%s' is in the document; not saved yet"), pci);
    return false;
}

static bool accept_pci(struct ath_tui *tui, const char *text, void *data, char **out_reason)
{
    (void)tui;
    (void)data;
    if (ath_form_fits(ATH_FORM_PCI, text))
        return true;
    *out_reason = ath_xasprintf(_("it must be %s"), _(ath_form_allowed(ATH_FORM_PCI)));
    return false;
}

static bool add_card(struct ath_tui *tui, const char *subject)
{
    ATH_AUTO(ath_choices) all = { 0 }, others = { 0 };
    ath_auto_free char *typed = NULL;

    (void)subject;
    offer_cards(tui, &all);
    for (size_t i = 0; i < all.count; i++)
        if (!ath_document_card(&tui->store.document, all.items[i].value))
            ath_choices_add(&others, all.items[i].value, NULL, all.items[i].detail);
    ath_choices_add(&others, "", _("type another one"), NULL);
    int chosen = ath_dialog_choose(tui, _("Add a RoCE port"),
                                   _("Cards for RoCE or InfiniBand that are not in the document:"),
                                   &others, false);
    if (chosen < 0)
        return false;
    if (!*others.items[chosen].value) {
        typed = ath_dialog_input(tui, _("Add a RoCE port"),
                                 _("PCI address of the card (of its lowest function)"), "",
                                 accept_pci, NULL);
        return typed ? add_this(tui, typed) : false;
    }
    return add_this(tui, others.items[chosen].value);
}

static void add_gids(struct ath_text *text, const struct ath_nic *nic, bool is_best_only)
{
    for (size_t i = 0; i < nic->gid_count; i++) {
        const struct ath_gid *gid = &nic->gids[i];
        ath_auto_free char *address = ath_words_gid(gid);
        bool is_best = gid->index == nic->best_gid_index;
        if (is_best || !is_best_only)
            ath_text_add(text, "    GID %-3d %s  %s  %s%s\n", gid->index,
                         ath_gid_type_word(gid->type), address, gid->netdev,
                         is_best ? _("  <- use this") : "");
    }
}

static void add_port(struct ath_text *text, const struct ath_nic *nic)
{
    const char *layer = ath_link_layer_word(nic->link_layer);
    ath_auto_free char *speed =
        nic->speed_mbps > 0 ? ath_words_speed(nic->speed_mbps) : ath_xstrdup("?");
    ath_auto_free char *node =
        nic->numa_node == ATH_UNKNOWN ? ath_xstrdup("?") : ath_xasprintf("%d", nic->numa_node);
    ath_auto_free char *device =
        nic->rdma_device ? ath_xasprintf("%s:%d", nic->rdma_device, nic->port) : ath_xstrdup("-");
    const char *state = nic->link == ATH_LINK_UP     ? _("up")
                        : nic->link == ATH_LINK_DOWN ? _("down")
                                                     : "?";
    char pci[ATH_PCI_TEXT] = "-";

    if (nic->has_pci)
        ath_pci_format(&nic->pci, pci);
    ath_text_add(text, _("%s  %s  %s  %s, %s, %s, NUMA node %s\n"), pci, device,
                 nic->netdev ? nic->netdev : "-", layer ? layer : "?", state, speed, node);
}

static char *ports_of(const struct ath_tui *tui, const char *pci, bool is_best_only)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < tui->store.machine.nic_count; i++)
        if (is_of(&tui->store.machine.nics[i], pci)) {
            add_port(&text, &tui->store.machine.nics[i]);
            add_gids(&text, &tui->store.machine.nics[i], is_best_only);
        }
    return ath_text_take(&text);
}

/* Shows all GIDs if there is room, else the recommended one of each port. */
static char *about_card(const struct ath_tui *tui, const char *pci)
{
    enum { ROWS_ABOVE = 6 };
    const struct ath_document_card *card = ath_document_card(&tui->store.document, pci);
    ath_auto_free char *warnings = card ? ath_screens_warnings(tui, card->item.source) : NULL;
    ath_auto_free char *all = ports_of(tui, pci, false), *best = ports_of(tui, pci, true);
    int rows = ath_tui_text_rows(all, ath_screen_columns(tui->terminal));
    bool fits = rows <= ath_tui_body_rows(tui) - ROWS_ABOVE;

    return ath_xasprintf("%s%s", warnings ? warnings : "", fits ? all : best);
}

static bool is_in_document(const struct ath_tui *tui, const char *pci)
{
    return ath_document_card(&tui->store.document, pci) != NULL;
}

static bool is_not_in_document(const struct ath_tui *tui, const char *pci)
{
    return !is_in_document(tui, pci);
}

static bool remove_card(struct ath_tui *tui, const char *pci)
{
    ath_auto_free char *title = ath_tui_fill(_("Remove card {0}?"), pci);
    struct ath_err err = { 0 };

    if (!ath_screens_confirm(tui, title, NULL, _("Yes, remove it from the document")))
        return false;
    if (ath_roce_card_remove(&tui->store.document, &tui->store.machine, pci, &err))
        ath_tui_say_error(tui, &err);
    else
        ath_tui_say(tui, ATH_ROLE_GOOD, _("'%s' is removed from the document; not saved yet"), pci);
    return false;
}

static const struct ath_menu_row card_rows[] = {
    { .label = N_("Add to the document"),
      .help = N_("put the card to use, and choose its NUMA entries"),
      .command = "aitherion roce add {0}",
      .is_shown = is_not_in_document,
      .act = add_this },
    { .label = N_("NUMA entries that use it"), .fields = { "numa" }, .is_shown = is_in_document },
    { .label = N_("Description"), .fields = { "description" }, .is_shown = is_in_document },
    { .label = N_("Remove from the document"),
      .help = N_("the card itself is left alone"),
      .command = "aitherion roce remove {0}",
      .is_shown = is_in_document,
      .act = remove_card },
    { .label = N_("Return"), .is_return = true },
    { .label = NULL },
};

const struct ath_menu ath_menu_card = {
    .title = N_("RDMA card {0}"),
    .list = "roce.cards",
    .rows = card_rows,
    .about = about_card,
};

/* ---- binding ---- */

/* Returns false if the change was refused, and shows the reason. */
static bool bind_to(struct ath_tui *tui, const struct ath_document_numa *entry, const char *device,
                    bool is_bound)
{
    struct ath_err err = { 0 };
    ath_auto_free char *key = ath_xasprintf("numa.%d.rdma_devices", entry->id);
    ath_auto_free char *far =
        is_bound ? ath_roce_far_text(&tui->store.machine, entry, device) : NULL;
    ath_auto_free char *value = ath_roce_bound_value(entry, device, is_bound, &err);

    if (!value) {
        ath_tui_say_error(tui, &err);
        return false;
    }
    bool is_set = ath_field_set(tui, key, value, NULL);
    if (is_set && far)
        ath_tui_say(tui, ATH_ROLE_WARN, _("changed, but: %s"), far);
    return is_set;
}

static void bind_device(struct ath_tui *tui, const char *device, const struct ath_choices *entries)
{
    for (size_t i = 0; i < entries->count; i++) {
        const struct ath_document_numa *entry = &tui->store.document.numa.items[i];
        if (entries->items[i].is_on != ath_roce_is_bound(entry, device) &&
            !bind_to(tui, entry, device, entries->items[i].is_on))
            return;
    }
}

static bool bind(struct ath_tui *tui, const char *subject)
{
    ATH_AUTO(ath_choices) devices = { 0 }, entries = { 0 };

    (void)subject;
    ath_field_offers(tui, "numa", "rdma_devices", NULL, &devices);
    if (!devices.count) {
        ath_tui_say(tui, ATH_ROLE_WARN, _("no RDMA device was found in this machine"));
        return false;
    }
    int chosen =
        ath_dialog_choose(tui, _("Bind to a container"), _("Which RDMA device?"), &devices, false);
    if (chosen < 0)
        return false;
    ath_field_offers(tui, "roce.cards", "numa", NULL, &entries);
    for (size_t i = 0; i < entries.count; i++)
        entries.items[i].is_on =
            ath_roce_is_bound(&tui->store.document.numa.items[i], devices.items[chosen].value);
    ath_auto_free char *text =
        ath_tui_fill(_("Which container gets {0}?"), devices.items[chosen].value);
    if (!ath_dialog_choose(tui, _("Bind to a container"), text, &entries, true))
        bind_device(tui, devices.items[chosen].value, &entries);
    return false;
}

/* ---- the test ---- */

static bool can_test(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return ath_screens_can_run(tui, "roce test");
}

static bool test(struct ath_tui *tui, const char *subject)
{
    ATH_AUTO(ath_choices) devices = { 0 };

    (void)subject;
    ath_field_offers(tui, "numa", "rdma_devices", NULL, &devices);
    if (!devices.count) {
        ath_tui_say(tui, ATH_ROLE_WARN, _("no RDMA device was found in this machine"));
        return false;
    }
    int from = ath_dialog_choose(tui, _("Test RDMA performance"), _("From which RDMA device?"),
                                 &devices, false);
    int to = from < 0 ? from
                      : ath_dialog_choose(tui, _("Test RDMA performance"),
                                          _("To which RDMA device?"), &devices, false);
    if (to < 0)
        return false;
    const char *const words[] = { "roce",
                                  "test",
                                  "--device",
                                  devices.items[from].value,
                                  "--peer-device",
                                  devices.items[to].value,
                                  NULL };
    ath_screens_run(tui, words);
    return false;
}

/* ---- the RoCE menu ---- */

static char *macvlan_count(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    size_t count = tui->store.document.roce.macvlans.count;
    return ath_xasprintf(ngettext("%zu macvlan", "%zu macvlans", count), count);
}

static const struct ath_menu_row roce_rows[] = {
    { .label = N_("Add a RoCE port"),
      .help = N_("put a card for RoCE or InfiniBand to use, and choose its NUMA entries"),
      .command = "aitherion roce add CARD --numa 0,1",
      .act = add_card },
    { .label = N_("Configure macvlan"),
      .help = N_("a network link for a container, made with its own network namespace"),
      .value = macvlan_count,
      .opens = &ath_menu_macvlans },
    { .label = N_("Bind to a container"),
      .help = N_("which container gets which RDMA device"),
      .command = "aitherion roce bind DEVICE CONTAINER",
      .act = bind },
    { .label = N_("Test RDMA performance"),
      .help = N_("bandwidth and latency between two devices"),
      .command = "aitherion roce test",
      .is_shown = can_test,
      .act = test },
    { .list = list_cards,
      .help = N_("ports, addresses (GIDs), and which NUMA entries use the card"),
      .command = "aitherion roce list",
      .opens = &ath_menu_card },
    { .label = N_("Save"),
      .help = N_("write the document; nothing is written before"),
      .act = ath_screens_save },
    { .label = N_("Return to the menu above"), .is_return = true },
    { .label = NULL },
};

const struct ath_menu ath_menu_roce = {
    .title = N_("RoCE card management"),
    .rows = roce_rows,
    .below = &ath_page_topology,
};
