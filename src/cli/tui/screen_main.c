/* The main menu, and the first document. */
#include "config.h"

#include "cli/tui/screens.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/ending.h"
#include "cli/output/ending.h"
#include "cli/tui/dialog.h"
#include "config/profile.h"

static bool has_none(const struct ath_tui *tui, const char *subject)
{
    return !ath_screens_has_document(tui, subject) && !ath_screens_is_faulty(tui, subject);
}

static bool propose(struct ath_tui *tui, const char *profile)
{
    struct ath_err err = { 0 };
    if (ath_store_propose(&tui->store, profile, &err)) {
        ath_tui_say_error(tui, &err);
        return false;
    }
    ath_tui_say(tui, ATH_ROLE_GOOD,
                _("a first document was made, in memory only: look at it, then save"));
    return true;
}

static bool make_first(struct ath_tui *tui, const char *subject)
{
    ATH_AUTO(ath_choices) choices = { 0 };
    ATH_AUTO(ath_texts) profiles = { 0 };
    ath_auto_free char *text =
        ath_xasprintf(_("There is no topology document '%s' yet."), tui->store.path);

    (void)subject;
    ath_profile_list(NULL, &profiles);
    if (tui->store.has_machine)
        ath_choices_add(&choices, "", _("Make one from this machine"), NULL);
    for (size_t i = 0; i < profiles.count; i++) {
        ath_auto_free char *label =
            ath_tui_fill(_("Use the shipped one for {0}"), profiles.items[i]);
        ath_choices_add(&choices, profiles.items[i], label, NULL);
    }
    ath_choices_add(&choices, "", _("Not now"), NULL);
    int chosen = ath_dialog_choose(tui, _("A first document"), text, &choices, false);
    if (chosen < 0 || chosen + 1 == (int)choices.count)
        return false;
    const char *profile = choices.items[chosen].value;
    propose(tui, *profile ? profile : NULL);
    return false;
}

static char *document_path(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return ath_xstrdup(tui->store.path);
}

static char *fault_count(const struct ath_tui *tui, const char *subject)
{
    const struct ath_faults *faults = &tui->store.faults;
    size_t count = faults->count + faults->left_out;
    (void)subject;
    return count ? ath_xasprintf(ngettext("%zu fault", "%zu faults", count), count)
                 : ath_xstrdup(tui->store.document_err.message);
}

static char *entry_count(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    size_t count = tui->store.document.numa.count;
    return ath_xasprintf(ngettext("%zu entry", "%zu entries", count), count);
}

static char *machine_line(const struct ath_tui *tui, const char *subject)
{
    const struct ath_machine *machine = &tui->store.machine;
    (void)subject;
    if (!tui->store.has_machine)
        return ath_xstrdup(tui->store.machine_err.message);
    const char *model = machine->model ? machine->model : machine->arch ? machine->arch : "";
    ath_auto_free char *gpus =
        ath_xasprintf(ngettext("%zu GPU", "%zu GPUs", machine->gpu_count), machine->gpu_count);
    ath_auto_free char *ports = ath_xasprintf(
        ngettext("%zu network port", "%zu network ports", machine->nic_count), machine->nic_count);
    return ath_xasprintf(_("%s, %s, %s"), model, gpus, ports);
}

static char *card_counts(const struct ath_tui *tui, const char *subject)
{
    size_t cards = tui->store.document.roce.cards.count;
    size_t macvlans = tui->store.document.roce.macvlans.count;
    ath_auto_free char *left = ath_xasprintf(ngettext("%zu card", "%zu cards", cards), cards);
    ath_auto_free char *right =
        ath_xasprintf(ngettext("%zu macvlan", "%zu macvlans", macvlans), macvlans);
    (void)subject;
    return ath_xasprintf("%s%s%s", left, _(", "), right);
}

static char *all_warnings(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return ath_screens_warnings(tui, NULL);
}

/* In a child: returns the programs that end with the runtimes; "" if there are none. */
static char *ending_words(void *context)
{
    const struct ath_tui *tui = context;
    ATH_AUTO(ath_ending) ending = { 0 };
    struct ath_err err;

    if (ath_ending_find(tui->store.cli, NULL, &ending, &err))
        return ath_xstrdup(err.message);
    if (!ending.report.count)
        return ath_xstrdup("");
    ath_auto_free char *words = ath_ending_words(&ending.report);
    return ath_xasprintf("%s %s", _("Running programs that would end:"), words);
}

/* The question names the programs, so the command does not ask again. */
static bool stop_all(struct ath_tui *tui, const char *subject)
{
    ath_auto_free char *words = ath_screens_ask(
        tui, _("asking the runtimes which programs use them ..."), ending_words, tui);

    (void)subject;
    if (words && ath_screens_confirm(tui, _("Stop the runtimes of all entries?"), words,
                                     _("Yes, stop them")))
        ath_screens_run(tui, (const char *const[]){ "stop", "--yes", NULL });
    return false;
}

/* The command shows what it will remove, and asks. */
static bool clean_all(struct ath_tui *tui, const char *subject)
{
    (void)subject;
    ath_screens_run(tui, (const char *const[]){ "clean", NULL });
    return false;
}

static const struct ath_menu_row main_rows[] = {
    { .label = N_("Topology of this machine"),
      .help = N_("which CPUs, memory, GPUs and network cards belong together"),
      .value = machine_line,
      .shows = &ath_page_topology },
    { .label = N_("The document cannot be used"),
      .help = N_("its faults, and how to repair it"),
      .command = "aitherion configure --show",
      .value = fault_count,
      .is_shown = ath_screens_is_faulty,
      .opens = &ath_menu_faults },
    { .label = N_("NUMA configuration"),
      .help = N_("what each NUMA node serves"),
      .command = "aitherion configure",
      .value = entry_count,
      .is_shown = ath_screens_has_document,
      .opens = &ath_menu_numa },
    { .label = N_("RoCE card management"),
      .help = N_("RDMA cards, macvlan links, and which container gets which device"),
      .value = card_counts,
      .is_shown = ath_screens_has_document,
      .opens = &ath_menu_roce },
    { .label = N_("The whole document"),
      .help = N_("the whole document, and what does not fit this machine"),
      .value = document_path,
      .is_shown = ath_screens_has_document,
      .shows = &ath_page_document },
    { .label = N_("Status and health"),
      .help = N_("the state of each NUMA node, what is wrong, and how to fix it"),
      .shows = &ath_page_status },
    { .label = N_("Start"),
      .help = N_("start the runtime of each entry; runtimes that run correctly are left alone"),
      .command = "aitherion start",
      .is_shown = ath_screens_can_start,
      .act = ath_screens_start },
    { .label = N_("Stop"),
      .help = N_("stop the runtimes; logs and settings stay"),
      .command = "aitherion stop",
      .is_shown = ath_screens_can_start,
      .act = stop_all },
    { .label = N_("Clean"),
      .help = N_("remove all that aitherion made on this machine, and nothing else"),
      .command = "aitherion clean",
      .is_shown = ath_screens_can_change_machine,
      .act = clean_all },
    { .label = N_("Run a program"),
      .help = N_("run a CUDA program with the GPUs of the runtimes that run here"),
      .command = "aitherion run",
      .is_shown = ath_screens_can_run_program,
      .act = ath_screens_run_program },
    { .label = N_("Access and encryption"),
      .help = N_("which connections are encrypted, and who may use how much"),
      .command = "aitherion configure",
      .is_shown = ath_screens_has_document,
      .opens = &ath_menu_access },
    { .label = N_("Shared key"),
      .help = N_("the key that programs and runtimes prove to each other"),
      .command = "aitherion key",
      .is_shown = ath_screens_can_change_machine,
      .opens = &ath_menu_key },
    { .label = N_("Image of the runtime"),
      .help = N_("what Docker's containers are made from"),
      .command = "aitherion image",
      .is_shown = ath_screens_can_change_machine,
      .opens = &ath_menu_image },
    { .label = N_("Best GPUs for a job"),
      .help = N_("which GPUs a job should have, with CPUs, memory and network ports"),
      .command = "aitherion place K",
      .is_shown = ath_screens_has_gpus,
      .opens = &ath_menu_place },
    { .label = N_("Make a first document"),
      .help = N_("from this machine or a shipped one; in memory until you save it"),
      .command = "aitherion init",
      .is_shown = has_none,
      .act = make_first },
    { .label = N_("Save"),
      .help = N_("write the document; nothing is written before"),
      .is_shown = ath_screens_has_document,
      .act = ath_screens_save },
    { .label = N_("Quit"), .help = N_("asks about unsaved changes"), .is_return = true },
    { .label = NULL },
};

const struct ath_menu ath_menu_main = {
    .title = N_("Main menu"),
    .rows = main_rows,
    .about = all_warnings,
    .below = &ath_page_topology,
};

/* Opens the screens that `configure N` begins with. */
static void open_entry(struct ath_tui *tui, const char *entry)
{
    if (!tui->store.has_document)
        return;
    if (*entry && !ath_menu_entry.exists(tui, entry))
        ath_tui_say(tui, ATH_ROLE_BAD, _("there is no entry NUMA%s"), entry);
    else if (*entry)
        ath_menu_show(tui, &ath_menu_entry, entry);
    ath_menu_show(tui, &ath_menu_numa, "");
}

static void draw_background(struct ath_tui *tui, void *data)
{
    (void)data;
    ath_tui_draw_around(tui, _(ath_menu_main.title), NULL, NULL, ATH_IN_DIALOG);
}

static void offer_first(struct ath_tui *tui)
{
    struct ath_tui_frame frame = { .draw = draw_background, .is_full = true };
    ath_tui_push(tui, &frame);
    make_first(tui, "");
    ath_tui_pop(tui);
}

void ath_screens_main(struct ath_tui *tui, const char *entry)
{
    if (ath_store_is_faulty(&tui->store))
        ath_menu_show(tui, &ath_menu_faults, "");
    else if (!tui->store.has_document)
        offer_first(tui);
    if (entry && !tui->is_over)
        open_entry(tui, entry);
    do
        ath_menu_show(tui, &ath_menu_main, "");
    while (!ath_tui_may_leave(tui));
}
