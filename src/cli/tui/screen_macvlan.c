/* Macvlans: the list, and one of them. */
#include "config.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/roce_macvlan.h"
#include "cli/tui/dialog.h"
#include "cli/tui/field.h"
#include "cli/tui/screens.h"
#include "config/edit.h"
#include "config/roce_edit.h"

static bool macvlan_exists(const struct ath_tui *tui, const char *name)
{
    return ath_document_macvlan(&tui->store.document, name) != NULL;
}

static char *about_macvlan(const struct ath_tui *tui, const char *name)
{
    const struct ath_document_macvlan *macvlan = ath_document_macvlan(&tui->store.document, name);
    return macvlan ? ath_screens_warnings(tui, macvlan->item.source) : NULL;
}

static bool remove_macvlan(struct ath_tui *tui, const char *name)
{
    ath_auto_free char *title = ath_tui_fill(_("Remove macvlan {0}?"), name);
    return ath_screens_confirm(tui, title, NULL, _("Yes, remove it from the document")) &&
           ath_screens_remove(tui, "roce.macvlans", name);
}

static bool can_make(const struct ath_tui *tui, const char *name)
{
    (void)name;
    return ath_screens_can_run(tui, "roce macvlan");
}

static bool make_macvlan(struct ath_tui *tui, const char *name)
{
    ath_screens_run(tui, (const char *const[]){ "roce", "macvlan", name, NULL });
    return false;
}

static bool delete_macvlan(struct ath_tui *tui, const char *name)
{
    ath_screens_run(tui, (const char *const[]){ "roce", "macvlan", name, "--delete", NULL });
    return false;
}

static const struct ath_menu_row macvlan_rows[] = {
    { .label = N_("Parent interface"), .fields = { "parent" } },
    { .label = N_("Mode"), .fields = { "mode" } },
    { .label = N_("Address"), .fields = { "address" } },
    { .label = N_("MTU"), .fields = { "mtu" } },
    { .label = N_("NUMA entry whose container gets it"), .fields = { "numa" } },
    { .label = N_("Second link on the host, and its address"),
      .fields = { "host_link", "host_address" } },
    { .label = N_("Make the interface and its network namespace now"),
      .help = N_("saves first; needs root"),
      .command = "aitherion roce macvlan {0}",
      .is_shown = can_make,
      .act = make_macvlan },
    { .label = N_("Remove the interface, its namespace and this entry now"),
      .help = N_("saves first; needs root"),
      .command = "aitherion roce macvlan {0} --delete",
      .is_shown = can_make,
      .act = delete_macvlan },
    { .label = N_("Remove from the document"),
      .help = N_("a link that exists already is left alone"),
      .command = "aitherion roce macvlan {0} --delete --record",
      .act = remove_macvlan },
    { .label = N_("Save and return"),
      .help = N_("write the document; nothing is written before"),
      .act = ath_screens_save_and_return },
    { .label = NULL },
};

const struct ath_menu ath_menu_macvlan = {
    .title = N_("Configure macvlan {0}"),
    .list = "roce.macvlans",
    .rows = macvlan_rows,
    .about = about_macvlan,
    .exists = macvlan_exists,
};

/* Returns ", " and the link's state in the kernel; "" if the state is unknown. */
static char *kernel_state(const struct ath_netstate *present, const char *name)
{
    if (!present->count)
        return ath_xstrdup("");
    return ath_xasprintf("%s%s", _(", "),
                         ath_roce_macvlan_state_text(ath_macvlan_state(name, present, NULL, NULL)));
}

static void read_kernel(const struct ath_tui *tui, struct ath_netstate *out)
{
    bool is_live = tui->store.has_machine && tui->store.machine.source == ATH_SOURCE_LIVE;

    if (is_live && tui->store.document.roce.macvlans.count)
        ath_netstate_look(out, NULL);
}

static void list_macvlans(const struct ath_tui *tui, struct ath_menu_list *out)
{
    ATH_AUTO(ath_netstate) present = { 0 };

    read_kernel(tui, &present);
    for (size_t i = 0; i < tui->store.document.roce.macvlans.count; i++) {
        const struct ath_document_macvlan *macvlan = &tui->store.document.roce.macvlans.items[i];
        ath_auto_free char *state = kernel_state(&present, macvlan->name);
        ath_auto_free char *detail =
            ath_xasprintf(_("on %s, %s%s"), macvlan->parent,
                          macvlan->address ? macvlan->address : _("no address"), state);
        ath_menu_list_add(out, macvlan->name, macvlan->name, detail);
    }
}

static char *free_name(const struct ath_tui *tui)
{
    for (int number = 0;; number++) {
        ath_auto_free char *name = ath_xasprintf("macvlan%d", number);
        if (!ath_document_macvlan(&tui->store.document, name))
            return ath_steal(&name);
    }
}

static bool add_macvlan(struct ath_tui *tui, const char *subject)
{
    ath_auto_free char *offered = free_name(tui);
    ath_auto_free char *name = ath_field_ask(tui, "roce.macvlans", "name", offered);
    ath_auto_free char *parent = name ? ath_field_ask(tui, "roce.macvlans", "parent", NULL) : NULL;
    struct ath_err err = { 0 };

    (void)subject;
    if (!parent)
        return false;
    const struct ath_change fields[] = { { "name", name },
                                         { "parent", parent },
                                         { "mode", "bridge" } };
    if (ath_document_append(&tui->store.document, "roce.macvlans", fields, ATH_COUNT(fields),
                            &err)) {
        ath_tui_say_error(tui, &err);
        return false;
    }
    ath_tui_say(tui, ATH_ROLE_GOOD, _("'%s' is in the document; not saved yet"), name);
    ath_menu_show(tui, &ath_menu_macvlan, name);
    return false;
}

static const struct ath_menu_row macvlans_rows[] = {
    { .list = list_macvlans,
      .help = N_("parent, mode, address, MTU, and which container gets it"),
      .opens = &ath_menu_macvlan },
    { .label = N_("Add a macvlan"),
      .help = N_("a network link for a container, on top of an Ethernet interface"),
      .act = add_macvlan },
    { .label = N_("Return"), .is_return = true },
    { .label = NULL },
};

const struct ath_menu ath_menu_macvlans = {
    .title = N_("Configure macvlan"),
    .rows = macvlans_rows,
};
