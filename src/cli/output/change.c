/* Changes of the document as text and as data. */
#include "config.h"

#include "cli/output/change.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/clean.h"
#include "cli/output/json.h"
#include "config/schema.h"

static const struct {
    const char *word;
    bool is_warning;
} notes[ATH_NOTE_COUNT] = {
#define X(name, word, is_warning) [ATH_NOTE_##name] = { word, is_warning },
    ATH_NOTE_TABLE(X)
#undef X
};

static void change_free(struct ath_applied_change *change)
{
    free(change->key);
    free(change->value);
    free(change->before);
    free(change->after);
}

void ath_change_report_free(struct ath_change_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->change_count; i++)
        change_free(&report->changes[i]);
    for (size_t i = 0; i < report->note_count; i++) {
        free(report->notes[i].object);
        free(report->notes[i].message);
        free(report->notes[i].hint);
    }
    free(report->changes);
    free(report->notes);
    ath_faults_free(&report->warnings);
    *report = (struct ath_change_report){ 0 };
}

static bool is_same(const struct ath_applied_change *change)
{
    const char *a = change->before, *b = change->after;
    return a && b ? !strcmp(a, b) : a == b;
}

void ath_change_drop_same(struct ath_change_report *report, bool is_document_changed)
{
    size_t kept = 0, differing = 0;

    for (size_t i = 0; i < report->change_count; i++)
        differing += !is_same(&report->changes[i]);
    if (is_document_changed && !differing)
        return;
    for (size_t i = 0; i < report->change_count; i++)
        if (is_same(&report->changes[i]))
            change_free(&report->changes[i]);
        else
            report->changes[kept++] = report->changes[i];
    report->change_count = kept;
}

struct ath_note *ath_change_note(struct ath_change_report *report, enum ath_note_code code,
                                 const char *object, const char *format, ...)
{
    struct ath_note *note = ath_push(&report->notes, &report->note_count, sizeof *note);
    va_list args;

    va_start(args, format);
    if (vasprintf(&note->message, format, args) < 0)
        abort();
    va_end(args);
    note->code = code;
    note->object = ath_xstrdup(object);
    return note;
}

json_t *ath_faults_to_json(const struct ath_faults *faults)
{
    json_t *list = json_array();
    for (size_t i = 0; i < faults->count; i++) {
        const struct ath_fault *fault = &faults->items[i];
        json_array_append_new(list, json_pack("{s:o, s:i, s:i, s:s, s:o}", "file",
                                              ath_json_text(fault->file), "line", fault->line,
                                              "column", fault->column, "code", fault->code,
                                              "message", ath_json_text(fault->message)));
    }
    return list;
}

void ath_faults_to_text(const struct ath_style *style, FILE *out, const char *prefix,
                        const struct ath_faults *faults)
{
    for (size_t i = 0; i < faults->count; i++) {
        const struct ath_fault *fault = &faults->items[i];
        ath_auto_free char *message = ath_clean(fault->message, style->is_utf8);
        ath_auto_free char *file = ath_clean(fault->file, style->is_utf8);
        fprintf(out, "%s%s:%d:%d: %s\n", prefix, file, fault->line, fault->column, message);
    }
    if (faults->left_out)
        fprintf(out, _("%sand %zu more\n"), prefix, faults->left_out);
}

static json_t *notes_to_json(const struct ath_change_report *report)
{
    json_t *list = json_array();
    for (size_t i = 0; i < report->note_count; i++) {
        const struct ath_note *note = &report->notes[i];
        json_array_append_new(
            list,
            json_pack("{s:s, s:b, s:o, s:o, s:o}", "code", notes[note->code].word, "is_warning",
                      notes[note->code].is_warning, "object", ath_json_text(note->object),
                      "message", ath_json_text(note->message), "hint", ath_json_text(note->hint)));
    }
    return list;
}

/* The key's row: behind the name of an entry, which may hold dots itself. NULL for a mapping. */
static const struct ath_schema *schema_of(const char *key)
{
    const struct ath_schema *schema = ath_schema_root();
    const char *last = strrchr(key, '.');
    ath_auto_free char *copy = ath_xstrdup(key);
    char *rest = copy;

    while (schema && rest && schema->kind != ATH_VALUE_ITEMS)
        schema = ath_schema_find(schema, strsep(&rest, "."));
    if (schema && schema->kind == ATH_VALUE_ITEMS)
        return last ? ath_schema_find(schema, last + 1) : NULL;
    return schema;
}

/* One value, or one of a list; a text in quotes where YAML needs them. */
static json_t *scalar_to_json(enum ath_value_kind kind, const char *text, size_t length)
{
    bool is_quoted = length > 1 && *text == '"' && text[length - 1] == '"';
    ath_auto_free char *value = is_quoted ? ath_xasprintf("%.*s", (int)length - 2, text + 1)
                                          : ath_xasprintf("%.*s", (int)length, text);
    double number;
    int id;

    if (kind == ATH_VALUE_BOOLEAN)
        return json_boolean(!strcmp(value, "true"));
    if ((kind == ATH_VALUE_INTEGER || kind == ATH_VALUE_IDS || kind == ATH_VALUE_NUMBER) &&
        !ath_parse_int(value, INT_MIN, INT_MAX, &id))
        return json_integer(id);
    if (kind == ATH_VALUE_NUMBER && !ath_parse_double(value, &number))
        return json_real(number);
    return ath_json_text(value);
}

static json_t *list_to_json(enum ath_value_kind kind, const char *text)
{
    json_t *list = json_array();
    for (const char *at = text + strspn(text, "[ "); *at && *at != ']'; at += strspn(at, ", ")) {
        size_t length = strcspn(at, ",]");
        json_array_append_new(list, scalar_to_json(kind, at, length));
        at += length;
    }
    return list;
}

/* As `configure --show --json` has it. */
static json_t *value_to_json(const char *key, const char *text)
{
    const struct ath_schema *schema = schema_of(key);

    if (!text || !schema)
        return ath_json_text(text);
    if (ath_value_is_list(schema->kind))
        return list_to_json(schema->kind, text);
    return ath_value_is_text(schema->kind) ? ath_json_text(text)
                                           : scalar_to_json(schema->kind, text, strlen(text));
}

static json_t *to_json(const void *data)
{
    const struct ath_change_report *report = data;
    json_t *changes = json_array();

    for (size_t i = 0; i < report->change_count; i++) {
        const struct ath_applied_change *change = &report->changes[i];
        json_array_append_new(changes,
                              json_pack("{s:o, s:o, s:o}", "key", ath_json_text(change->key), "old",
                                        value_to_json(change->key, change->before), "new",
                                        value_to_json(change->key, change->after)));
    }
    return json_pack("{s:o, s:b, s:b, s:o, s:o, s:o, s:I}", "file", ath_json_text(report->file),
                     "is_dry_run", report->is_dry_run, "is_saved", report->is_saved, "changes",
                     changes, "notes", notes_to_json(report), "warnings",
                     ath_faults_to_json(&report->warnings), "older_warning_count",
                     (json_int_t)report->older_warning_count);
}

static void print_change(const struct ath_style *style, FILE *out,
                         const struct ath_applied_change *change)
{
    ath_auto_free char *key = ath_clean(change->key, style->is_utf8);
    ath_auto_free char *before = ath_clean(change->before, style->is_utf8);
    ath_auto_free char *after = ath_clean(change->after, style->is_utf8);
    fprintf(out, "%s%s%s: %s -> %s\n", ath_style_on(style, ATH_ROLE_NAME), key,
            ath_style_off(style, ATH_ROLE_NAME), before ? before : _("(none)"),
            after ? after : _("(none)"));
}

static void print_note(const struct ath_style *style, FILE *out, const struct ath_note *note)
{
    const char *warning = notes[note->code].is_warning ? _("warning: ") : "";
    ath_auto_free char *text = ath_xasprintf("%s%s", warning, note->message);
    ath_auto_free char *hint = note->hint ? ath_xasprintf(_("hint: %s"), note->hint) : NULL;

    ath_style_print(style, out, &(struct ath_paragraph){ .text = text });
    if (hint)
        ath_style_print(style, out, &(struct ath_paragraph){ .prefix = "  ", .text = hint });
}

void ath_change_notes_to_text(const struct ath_style *style, FILE *out,
                              const struct ath_change_report *report, bool is_warning)
{
    for (size_t i = 0; i < report->note_count; i++)
        if (notes[report->notes[i].code].is_warning == is_warning)
            print_note(style, out, &report->notes[i]);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_change_report *report = data;
    ath_auto_free char *file = ath_clean(report->file, style->is_utf8);

    ath_change_notes_to_text(style, out, report, false);
    for (size_t i = 0; i < report->change_count; i++)
        print_change(style, out, &report->changes[i]);
    if (report->is_dry_run)
        fprintf(out, _("'%s' stays as it is (--dry-run)\n"), file);
    else if (report->is_saved)
        fprintf(out, _("saved '%s'\n"), file);
    else
        fprintf(out, _("'%s' says so already\n"), file);
    ath_change_notes_to_text(style, out, report, true);
    ath_faults_to_text(style, out, _("warning: "), &report->warnings);
    if (report->older_warning_count)
        fprintf(out,
                ngettext("%zu more thing does not fit this machine: aitherion configure --show\n",
                         "%zu more things do not fit this machine: aitherion configure --show\n",
                         report->older_warning_count),
                report->older_warning_count);
}

const struct ath_view ath_change_view = { "aitherion.change/1", to_json, to_text, NULL, 0 };
