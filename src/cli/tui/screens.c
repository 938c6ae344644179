/* Functions that the screens share, and pages. */
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
