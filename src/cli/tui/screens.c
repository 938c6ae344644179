/* The main menu, the pages, and what the screens share. */
#include "config.h"

#include "cli/tui/screens.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/ending.h"
#include "cli/output/document.h"
#include "cli/output/ending.h"
#include "cli/output/machine/machine.h"
#include "cli/tui/dialog.h"
#include "cli/tui/look.h"
#include "cli/tui/pane.h"
#include "config/edit.h"
#include "config/profile.h"
#include "container/docker/run_line.h"

enum { COMMAND_WORDS_MAX = 32, TOPOLOGY_MS = 5000, AT_ONCE_MS = 200, ASK_MS = 100 };

/* ---- shared ---- */

bool ath_screens_has_document(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return tui->store.has_document;
}

bool ath_screens_save(struct ath_tui *tui, const char *subject)
{
    (void)subject;
    ath_tui_save(tui);
    return false;
}

bool ath_screens_save_and_return(struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return ath_tui_save(tui);
}

char *ath_screens_warnings(const struct ath_tui *tui, const struct ath_yaml *item)
{
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_style style = ath_screen_style(tui->terminal);
    struct ath_text text = { 0 };

    ath_store_check(&tui->store, item, &faults);
    for (size_t i = 0; i < faults.count; i++)
        ath_text_add(&text, "%s%s\n", ath_style_glyph(&style, ATH_GLYPH_WARNING),
                     faults.items[i].message);
    return faults.count ? ath_text_take(&text) : NULL;
}

bool ath_screens_confirm(struct ath_tui *tui, const char *title, const char *text, const char *yes)
{
    ATH_AUTO(ath_choices) choices = { 0 };
    ath_choices_add(&choices, "", _("No, leave it"), NULL);
    ath_choices_add(&choices, "", yes, NULL);
    return ath_dialog_choose(tui, title, text && *text ? text : NULL, &choices, false) == 1;
}

bool ath_screens_remove(struct ath_tui *tui, const char *list, const char *subject)
{
    ath_auto_free char *key = ath_xasprintf("%s.%s", list, subject);
    struct ath_err err = { 0 };

    if (ath_document_remove(&tui->store.document, key, &err)) {
        ath_tui_say_error(tui, &err);
        return false;
    }
    ath_tui_say(tui, ATH_ROLE_GOOD, _("'%s' is removed from the document; not saved yet"), key);
    return true;
}

/* ---- asking ---- */

static void draw_nothing(struct ath_tui *tui, void *data)
{
    (void)tui;
    (void)data;
}

char *ath_screens_ask(struct ath_tui *tui, const char *message, char *(*make)(void *context),
                      void *context)
{
    struct ath_tui_frame frame = { .draw = draw_nothing };
    struct ath_look look = { 0 };
    struct ath_err err = { 0 };
    char *text = NULL;
    bool is_over = false, is_left = false;
    int key, fd = ath_look_begin(&look, make, context);

    if (fd < 0) {
        ath_err_system(&err, fd, "%s", message);
        ath_tui_say_error(tui, &err);
        return NULL;
    }
    ath_look_wait(&look, AT_ONCE_MS);
    is_over = ath_look_take(&look, &text);
    if (!is_over)
        ath_tui_say(tui, ATH_ROLE_PLAIN, _("%s q, Esc: do not wait"), message);
    ath_tui_push(tui, &frame);
    while (!is_over && !is_left) {
        is_left = ath_tui_key(tui, ATH_IN_PAGE, ASK_MS, &key) == ATH_ACTION_BACK;
        is_over = ath_look_take(&look, &text);
    }
    ath_tui_pop(tui);
    ath_tui_hush(tui);
    ath_look_end(&look);
    if (is_over && !text)
        ath_tui_say(tui, ATH_ROLE_BAD, _("a look at the machine failed"));
    if (is_left)
        free(ath_steal(&text));
    return text;
}

/* ---- running commands ---- */

bool ath_screens_can_run(const struct ath_tui *tui, const char *words)
{
    const struct ath_command *command = &ath_command_root;
    ath_auto_free char *copy = ath_xstrdup(words);
    char *rest = copy;

    for (char *word = strsep(&rest, " "); word && command; word = strsep(&rest, " "))
        command = ath_command_child(command, word);
    return command && command->run && tui->store.has_machine &&
           tui->store.machine.source == ATH_SOURCE_LIVE;
}

/* Adds the words of the command to its own arguments, and returns them as the user would type them.
 * The caller frees it. */
static char *add_words(const char *const *words, const char **argv, size_t *count)
{
    struct ath_text line = { 0 };

    for (; *words && *count < COMMAND_WORDS_MAX - 1; words++) {
        ath_text_add(&line, "%s", line.length ? " " : "");
        ath_shell_quote(&line, *words);
        argv[(*count)++] = *words;
    }
    return ath_text_take(&line);
}

void ath_screens_run(struct ath_tui *tui, const char *const *words)
{
    const char *argv[COMMAND_WORDS_MAX] = { "/proc/self/exe" };
    size_t count = 1;
    struct ath_err err = { 0 };

    if (ath_store_is_changed(&tui->store) && !ath_tui_save(tui))
        return; /* the command reads the file */
    if (tui->store.has_document || ath_store_is_faulty(&tui->store)) {
        argv[count++] = "-c";
        argv[count++] = tui->store.path;
    }
    if (tui->store.cli->globals.is_dry_run)
        argv[count++] = "--dry-run";
    ath_auto_free char *line = add_words(words, argv, &count);
    ath_auto_free char *command = ath_xasprintf("aitherion %s", line);
    ath_pane_run(tui, &(struct ath_pane){ .title = line, .command = command, .argv = argv });
    /* the command may have changed the file */
    if (!ath_store_is_changed(&tui->store) && ath_store_read_document(&tui->store, &err) &&
        err.code != ATH_E_DOCUMENT_MISSING)
        ath_tui_say_error(tui, &err);
}

/* ---- pages ---- */

char *ath_screens_text(const struct ath_view *view, const void *data, const struct ath_style *style)
{
    struct ath_err err = { 0 };
    char *text = NULL;
    size_t length = 0;
    if (ath_output_make(view, data, ATH_FORMAT_TEXT, style, &text, &length, &err))
        return ath_xstrdup(err.message);
    return text;
}

static char *make_topology(struct ath_tui *tui, const struct ath_style *style)
{
    if (!tui->store.has_machine)
        return ath_xasprintf("%s\n%s", tui->store.machine_err.message, tui->store.machine_err.hint);
    return ath_screens_text(&ath_machine_view, &tui->store.machine, style);
}

static char *make_document(struct ath_tui *tui, const struct ath_style *style)
{
    ATH_AUTO(ath_faults) warnings = { 0 };
    const struct ath_document_report report = { &tui->store.document, &warnings };
    ath_store_check(&tui->store, NULL, &warnings);
    return ath_screens_text(&ath_document_view, &report, style);
}

const struct ath_page ath_page_topology = { N_("Topology of this machine"), "aitherion discover",
                                            make_topology, .refresh_ms = TOPOLOGY_MS,
                                            .place = ATH_IN_PAGE };
const struct ath_page ath_page_document = { N_("The whole document"), "aitherion configure --show",
                                            make_document, .place = ATH_IN_PAGE };

/* ---- the main menu ---- */

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
    struct ath_texts profiles __attribute__((cleanup(ath_texts_free))) = { 0 };
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

/* ---- runtimes ---- */

bool ath_screens_can_start(const struct ath_tui *tui, const char *subject)
{
    return ath_screens_has_document(tui, subject) && ath_screens_can_run(tui, "start");
}

bool ath_screens_can_change_machine(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return ath_screens_can_run(tui, "clean");
}

/* Asks whether to simulate GPUs, if the machine has none. Returns 1 for yes, 0 for no, and a
 * negative number to cancel. */
static int choose_sim(struct ath_tui *tui)
{
    ATH_AUTO(ath_choices) choices = { 0 };

    if (tui->store.machine.gpu_count || tui->store.document.engine.is_sim)
        return 0;
    ath_choices_add(&choices, "", _("Without GPUs"), NULL);
    ath_choices_add(&choices, "", _("With simulated GPUs, to try things out"), NULL);
    return ath_dialog_choose(tui, _("Start"), _("This machine has no GPU."), &choices, false);
}

bool ath_screens_start(struct ath_tui *tui, const char *subject)
{
    int is_sim = choose_sim(tui);

    (void)subject;
    if (is_sim >= 0)
        ath_screens_run(tui, (const char *const[]){ "start", is_sim ? "--sim" : NULL, NULL });
    return false;
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
