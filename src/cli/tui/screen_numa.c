/* NUMA entries: their menu, and the screen of one entry. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/tui/dialog.h"
#include "cli/tui/field.h"
#include "cli/tui/screens.h"

static const struct ath_document_numa *entry_of(const struct ath_tui *tui, const char *subject)
{
    int id;
    return ath_parse_int(subject, 0, ATH_ID_MAX, &id) ? NULL
                                                      : ath_document_numa(&tui->store.document, id);
}

static bool exists(const struct ath_tui *tui, const char *subject)
{
    return entry_of(tui, subject) != NULL;
}

static char *warnings(const struct ath_tui *tui, const char *subject)
{
    const struct ath_document_numa *entry = entry_of(tui, subject);
    return entry ? ath_screens_warnings(tui, entry->item.source) : NULL;
}

static bool remove_this(struct ath_tui *tui, const char *subject)
{
    ath_auto_free char *title = ath_tui_fill(_("Remove NUMA{0}?"), subject);
    return ath_screens_confirm(tui, title, NULL, _("Yes, remove it from the document")) &&
           ath_screens_remove(tui, "numa", subject);
}

static const struct ath_menu_row entry_rows[] = {
    { .label = N_("Change memory percentage"), .fields = { "memory_percent" } },
    { .label = N_("Change VRAM fraction"), .fields = { "vram_fraction" } },
    { .label = N_("Change network interfaces"),
      .help = N_("the control interface, then those of large copies"),
      .fields = { "control_iface", "data_iface" } },
    { .label = N_("Change GPUs"), .fields = { "gpus" } },
    { .label = N_("Change RDMA devices"), .fields = { "rdma_devices" } },
    { .label = N_("Change ports"),
      .help = N_("the control port, then that of large copies, then that of the metrics"),
      .fields = { "control_port", "data_port", "metrics" } },
    { .label = N_("Change NUMA nodes"),
      .help = N_("the node whose CPUs it runs on, then the nodes whose memory it may use"),
      .fields = { "node", "memory_nodes" } },
    { .label = N_("Remove this entry"),
      .help = N_("removes it from the document; an entry that a macvlan or a card names cannot be "
                 "removed"),
      .act = remove_this },
    { .label = N_("Save and return"),
      .help = N_("write the document; nothing is written before"),
      .act = ath_screens_save_and_return },
    { .label = NULL },
};

const struct ath_menu ath_menu_entry = {
    .title = N_("Configure NUMA{0}"),
    .list = "numa",
    .rows = entry_rows,
    .about = warnings,
    .exists = exists,
    .below = &ath_page_topology,
};

/* ---- the menu of entries ---- */

static void list_entries(const struct ath_tui *tui, struct ath_menu_list *out)
{
    for (size_t i = 0; i < tui->store.document.numa.count; i++) {
        const struct ath_document_numa *entry = &tui->store.document.numa.items[i];
        ath_auto_free char *id = ath_xasprintf("%d", entry->id);
        ath_auto_free char *label = ath_tui_fill(_("Configure NUMA{0}"), id);
        ath_auto_free char *percent = ath_number_text(entry->memory_percent);
        ath_auto_free char *fraction = ath_number_text(entry->vram_fraction);
        ath_auto_free char *detail =
            ath_xasprintf(ngettext("node %d, %s %% memory, %s VRAM, %zu GPU",
                                   "node %d, %s %% memory, %s VRAM, %zu GPUs", entry->gpus.count),
                          entry->node, percent, fraction, entry->gpus.count);
        ath_menu_list_add(out, id, label, detail);
    }
}

static bool add_entry(struct ath_tui *tui, const char *subject)
{
    struct ath_err err = { 0 };
    int node, id;
    ath_auto_free char *chosen = ath_field_ask(tui, "numa", "node", NULL);

    (void)subject;
    if (!chosen || ath_parse_int(chosen, 0, ATH_ID_MAX, &node))
        return false;
    if (ath_store_add_numa(&tui->store, node, &id, &err)) {
        ath_tui_say_error(tui, &err);
        return false;
    }
    ath_auto_free char *text = ath_xasprintf("%d", id);
    ath_tui_say(tui, ATH_ROLE_GOOD, _("NUMA%d is added; not saved yet"), id);
    ath_menu_show(tui, &ath_menu_entry, text);
    return false;
}

static const struct ath_menu_row numa_rows[] = {
    { .list = list_entries,
      .help = N_("memory, VRAM, interfaces, GPUs and ports of this entry"),
      .command = "aitherion configure {0}",
      .opens = &ath_menu_entry },
    { .label = N_("Start the containers with the start command"),
      .help = N_("saves, then starts the runtime of each entry"),
      .command = "aitherion start",
      .is_shown = ath_screens_can_start,
      .act = ath_screens_start },
    { .label = N_("RoCE card management"),
      .help = N_("RDMA cards, macvlan links, and which container gets which device"),
      .opens = &ath_menu_roce },
    { .label = N_("Add an entry"),
      .help = N_("for a NUMA node of this machine, as 'aitherion init' makes it"),
      .act = add_entry },
    { .label = N_("Turns on a GPU"),
      .help = N_("programs take turns from the first share or priority (auto), always, or never "
                 "(free)"),
      .fields = { "sharing" } },
    { .label = N_("Level of the logs"),
      .help = N_("debug for hunting a fault; a change restarts the runtimes at the next start"),
      .fields = { "log_level" } },
    { .label = N_("Large copies by UDP"),
      .help = N_("worth it on a network that loses packets; programs ask for it, too"),
      .fields = { "udp" } },
    { .label = N_("Save"),
      .help = N_("write the document; nothing is written before"),
      .act = ath_screens_save },
    { .label = N_("Back to the main menu"), .is_return = true },
    { .label = NULL },
};

const struct ath_menu ath_menu_numa = {
    .title = N_("NUMA configuration menu"),
    .list = "",
    .rows = numa_rows,
    .below = &ath_page_topology,
};
