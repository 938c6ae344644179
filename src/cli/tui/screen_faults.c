/* A document that cannot be used: its faults, and how to repair it. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/tui/dialog.h"
#include "cli/tui/screens.h"
#include "config/edit.h"
#include "config/key.h"

bool ath_screens_is_faulty(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return ath_store_is_faulty(&tui->store);
}

/* Returns the file's text, or why it cannot be read. The caller frees it. */
static char *file_text(const struct ath_tui *tui)
{
    struct ath_err err = { 0 };
    char *text = NULL;
    size_t length;

    return ath_file_read(tui->store.path, ATH_YAML_BYTES_MAX, &text, &length, &err)
               ? ath_xstrdup(err.message)
               : text;
}

/* Returns a line of a text (from 1), "" behind its end. The caller frees it. */
static char *line_of(const char *text, int number)
{
    while (--number > 0 && *text) {
        text += strcspn(text, "\n");
        text += *text == '\n';
    }
    return ath_xasprintf("%.*s", (int)strcspn(text, "\n"), text);
}

/* Returns the columns of a line before a letter (from 1). */
static int columns_before(const char *line, int letter)
{
    size_t length = 0;
    while (line[length] && (ath_utf8_is_inside(line[length]) || --letter > 0))
        length++;
    ath_auto_free char *before = ath_xasprintf("%.*s", (int)length, line);
    return (int)ath_text_width(before);
}

/* Adds a line of the file and, below it, a mark at the fault. */
static void add_place(struct ath_text *out, const char *text, const struct ath_fault *fault)
{
    ath_auto_free char *line = line_of(text, fault->line);
    ath_text_add(out, "%4d | %s\n     | %*s^\n", fault->line, line,
                 columns_before(line, fault->column), "");
}

/* ---- the file with its faults ---- */

static char *make_file(struct ath_tui *tui, const struct ath_style *style)
{
    ath_auto_free char *text = file_text(tui);
    const struct ath_faults *faults = &tui->store.faults;
    struct ath_text out = { 0 };
    size_t fault = 0;

    const char *at = text;
    for (int number = 1; *at; number++) {
        size_t length = strcspn(at, "\n");
        ath_auto_free char *line = ath_xasprintf("%.*s", (int)length, at);
        at += length + (at[length] == '\n');
        ath_text_add(&out, "%4d  %s\n", number, line);
        for (; fault < faults->count && faults->items[fault].line <= number; fault++)
            ath_text_add(&out, "%s      %*s^ %s%s\n", ath_style_on(style, ATH_ROLE_BAD),
                         columns_before(line, faults->items[fault].column), "",
                         faults->items[fault].message, ath_style_off(style, ATH_ROLE_BAD));
    }
    return ath_text_take(&out);
}

static const struct ath_page page_file = { N_("The file with its faults"),
                                           "aitherion configure --show", make_file,
                                           .place = ATH_IN_PAGE };

/* ---- the menu ---- */

static void list_faults(const struct ath_tui *tui, struct ath_menu_list *out)
{
    for (size_t i = 0; i < tui->store.faults.count; i++) {
        const struct ath_fault *fault = &tui->store.faults.items[i];
        ath_auto_free char *index = ath_xasprintf("%zu", i);
        ath_auto_free char *place =
            ath_xasprintf(_("line %d, column %d"), fault->line, fault->column);
        ath_menu_list_add(out, index, place, fault->message);
    }
}

static bool show_fault(struct ath_tui *tui, const char *subject)
{
    const struct ath_fault *fault = &tui->store.faults.items[strtoul(subject, NULL, 10)];
    ath_auto_free char *text = file_text(tui);
    ath_auto_free char *title =
        ath_xasprintf(_("%s, line %d, column %d"), fault->file, fault->line, fault->column);
    ATH_AUTO(ath_text) words = { 0 };

    add_place(&words, text, fault);
    ath_text_add(&words, "\n%s", fault->message);
    ath_dialog_say(tui, title, words.data);
    return false;
}

static bool read_again(struct ath_tui *tui, const char *subject)
{
    struct ath_err err = { 0 };

    (void)subject;
    if (ath_store_read_document(&tui->store, &err))
        ath_tui_say_error(tui, &tui->store.document_err);
    else
        ath_tui_say(tui, ATH_ROLE_GOOD, _("read '%s' again"), tui->store.path);
    return false;
}

/* ---- other values ---- */

/* Returns the key whose value holds a fault; NULL if the fault is not one of a value. The caller
 * frees it. */
static char *key_of(const struct ath_document *document, const struct ath_fault *fault)
{
    return ath_key_at(&document->tree, fault->offset);
}

/* Returns whether each fault is in a value, which can be changed by its key. */
static bool can_repair(const struct ath_tui *tui, const char *subject)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) unused_faults = { 0 };
    const struct ath_faults *faults = &tui->store.faults;

    (void)subject;
    if (!faults->count || faults->left_out ||
        ath_document_load_faulty(tui->store.path, &document, &unused_faults, NULL))
        return false;
    for (size_t i = 0; i < faults->count; i++) {
        ath_auto_free char *key = key_of(&document, &faults->items[i]);
        if (!key)
            return false;
    }
    return true;
}

static bool accept(struct ath_tui *tui, const char *text, void *data, char **out_reason)
{
    const struct ath_schema *schema = data;

    (void)tui;
    if (ath_value_is_list(schema->kind) || !ath_schema_check(schema, text))
        return true;
    ath_auto_free char *allowed = ath_schema_allowed(schema);
    *out_reason = ath_xasprintf(_("it must be %s"), allowed);
    return false;
}

/* Asks for the value of a key. Returns NULL if the user goes back. The caller frees it. */
static char *ask_value(struct ath_tui *tui, const struct ath_document *document, const char *key,
                       const char *message)
{
    ath_auto_free char *before = NULL;
    struct ath_key place;

    if (ath_key_find(&document->tree, NULL, key, &place, NULL) ||
        ath_document_get(document, key, &before, NULL))
        return NULL;
    return ath_dialog_input(tui, key, message, before, accept, (void *)place.schema);
}

/* Asks for all values, then changes them together: the document must be whole afterwards. */
static int repair_values(struct ath_tui *tui, struct ath_document *document, struct ath_err *err)
{
    const struct ath_faults *faults = &tui->store.faults;
    ATH_AUTO(ath_texts) keys = { 0 }, values = { 0 };
    ath_auto_free struct ath_change *changes = ath_xalloc(faults->count * sizeof *changes);

    for (size_t i = 0; i < faults->count; i++) {
        ath_auto_free char *key = key_of(document, &faults->items[i]);
        if (!key || (keys.count && !strcmp(keys.items[keys.count - 1], key)))
            continue; /* the same list */
        ath_auto_free char *value = ask_value(tui, document, key, faults->items[i].message);
        if (!value)
            return ath_err_set(err, -EINTR, ATH_E_INTERRUPTED, _("nothing is changed"));
        ath_texts_add(&keys, key);
        ath_texts_add(&values, value);
    }
    for (size_t i = 0; i < keys.count; i++)
        changes[i] = (struct ath_change){ .key = keys.items[i], .value = values.items[i] };
    return ath_document_set_all(document, changes, keys.count, err);
}

static bool repair(struct ath_tui *tui, const char *subject)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) unused_faults = { 0 };
    struct ath_err err = { 0 };

    (void)subject;
    int status = ath_document_load_faulty(tui->store.path, &document, &unused_faults, &err);
    if (!status)
        status = repair_values(tui, &document, &err);
    if (status) {
        ath_tui_say_error(tui, &err);
        return false;
    }
    ath_store_take_document(&tui->store, &document);
    ath_tui_say(tui, ATH_ROLE_GOOD,
                _("the document is repaired, in memory only: look at it, then "
                  "save"));
    return true;
}

/* ---- the editor ---- */

/* The shell splits an editor with options ("emacs -nw") into words. */
static bool edit(struct ath_tui *tui, const char *subject)
{
    const char *const argv[] = { "/bin/sh",       "-c", "${VISUAL:-${EDITOR:-vi}} \"$1\"", "sh",
                                 tui->store.path, NULL };
    int status;

    if (tui->store.cli->globals.is_dry_run) {
        ath_tui_say(tui, ATH_ROLE_WARN, _("'%s' is unchanged (--dry-run)"), tui->store.path);
        return false;
    }
    status = ath_screen_run(tui->terminal, argv);
    if (!status)
        return read_again(tui, subject);
    ath_tui_say(tui, ATH_ROLE_BAD, _("the editor ended with exit code %d"), status);
    return false;
}

static char *editor(const struct ath_tui *tui, const char *subject)
{
    static const char *const names[] = { "VISUAL", "EDITOR" };

    (void)tui;
    (void)subject;
    for (size_t i = 0; i < ATH_COUNT(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return ath_xstrdup(value);
    }
    return ath_xstrdup("vi");
}

static char *why(const struct ath_tui *tui, const char *subject)
{
    const struct ath_err *err = &tui->store.document_err;
    (void)subject;
    return ath_xasprintf("%s\n%s", err->message, err->hint);
}

static bool has_faults(const struct ath_tui *tui, const char *subject)
{
    (void)subject;
    return tui->store.faults.count > 0;
}

static const struct ath_menu_row fault_rows[] = {
    { .list = list_faults,
      .help = N_("show the line of the file"),
      .command = "aitherion configure --show",
      .act = show_fault },
    { .label = N_("Show the file"),
      .help = N_("the whole file with its faults"),
      .is_shown = has_faults,
      .shows = &page_file },
    { .label = N_("Type other values"),
      .help = N_("asks for the value of each fault; in memory until you save it"),
      .command = "aitherion configure --set KEY=VALUE",
      .is_shown = can_repair,
      .act = repair },
    { .label = N_("Edit the file"),
      .help = N_("with the editor of $VISUAL or $EDITOR; the file is read again afterwards"),
      .value = editor,
      .act = edit },
    { .label = N_("Read the file again"),
      .help = N_("after it was repaired elsewhere"),
      .act = read_again },
    { .label = N_("To the main menu"),
      .help = N_("the document stays as it is; topology, status and clean work without one"),
      .is_return = true },
    { .label = NULL },
};

const struct ath_menu ath_menu_faults = {
    .title = N_("The document cannot be used"),
    .rows = fault_rows,
    .about = why,
    .exists = ath_screens_is_faulty,
};
