/* Changes of the document, as text and as JSON. */
#include "config.h"

#include "cli/output/change.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/fields.h"
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

#define AT(member) ATH_AT(struct ath_fault, member)
const struct ath_field ath_fault_fields[] = {
    ATH_FIELD("file", AT(file), .help = "path of the document"),
    ATH_FIELD("line", AT(line), .help = "line number, from 1; 0 if the fault has no line",
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("column", AT(column),
              .help = "column in characters, from 1; 0 if the fault has no column",
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("code", AT(code), .help = "stable code word of the fault"),
    ATH_FIELD("message", AT(message), .help = "what is wrong, for users (translated)"),
    { .name = NULL },
};
#undef AT

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

static const char *note_word(int code)
{
    return notes[code].word;
}

static json_t *make_is_warning(const void *object)
{
    const struct ath_note *note = object;
    return json_boolean(notes[note->code].is_warning);
}

#define AT(member) ATH_AT(struct ath_note, member)
static const struct ath_field note_fields[] = {
    ATH_FIELD("code", AT(code), .word = note_word, .word_count = ATH_NOTE_COUNT),
    ATH_FIELD("is_warning", ATH_OF(ATH_FIELD_BOOL), .make = make_is_warning),
    ATH_FIELD("object", AT(object), .help = "subject of the note: a PCI address, an RDMA device",
              .is_nullable = true),
    ATH_FIELD("message", AT(message)),
    ATH_FIELD("hint", AT(hint), .help = "how to fix it; null if there is no hint",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT

/* The key's row in the schema; NULL for a mapping. Names of entries may contain dots: skip them. */
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

/* One value, or one item of a list. The text has quotes if YAML needs them. */
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

/* The value as `configure --show --json` prints it. */
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

static json_t *make_old(const void *object)
{
    const struct ath_applied_change *change = object;
    return value_to_json(change->key, change->before);
}

static json_t *make_new(const void *object)
{
    const struct ath_applied_change *change = object;
    return value_to_json(change->key, change->after);
}

#define ANY_VALUE "{\"type\": [\"string\", \"number\", \"boolean\", \"array\", \"null\"]}"
#define AT(member) ATH_AT(struct ath_applied_change, member)
static const struct ath_field change_fields[] = {
    ATH_FIELD("key", AT(key)),
    ATH_FIELD("old", ATH_OF(ATH_FIELD_OBJECT),
              .help = "old value, as in `configure --show --json`; null if the key was not set",
              .rules = ANY_VALUE, .make = make_old),
    ATH_FIELD("new", ATH_OF(ATH_FIELD_OBJECT),
              .help = "new value, as in `configure --show --json`; null if the key was removed",
              .rules = ANY_VALUE, .make = make_new),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_change_report, member)
const struct ath_field ath_change_fields[] = {
    ATH_FIELD("file", AT(file)),
    ATH_FIELD("is_dry_run", AT(is_dry_run)),
    ATH_FIELD("is_saved", AT(is_saved),
              .help = "whether the file was written; false if nothing changed, and with --dry-run"),
    ATH_FIELD("changes", ATH_AT_LIST(struct ath_change_report, changes, change_count),
              .fields = change_fields),
    ATH_FIELD("notes", ATH_AT_LIST(struct ath_change_report, notes, note_count),
              .help =
                  "notes for the user about the change; `roce add`, `remove` and `bind` make them",
              .fields = note_fields),
    ATH_FIELD("warnings", ATH_AT_LIST(struct ath_change_report, warnings.items, warnings.count),
              .help = "faults on this machine that the change caused", .fields = ath_fault_fields),
    ATH_FIELD("older_warning_count", AT(older_warning_count),
              .help = "number of faults that were there before the change",
              .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

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
    ath_auto_free char *hint = ath_style_hint(style, note->hint);

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
        fprintf(out, _("'%s' was not changed (--dry-run)\n"), file);
    else if (report->is_saved)
        fprintf(out, _("saved '%s'\n"), file);
    else
        fprintf(out, _("'%s' needs no change\n"), file);
    ath_change_notes_to_text(style, out, report, true);
    ath_faults_to_text(style, out, _("warning: "), &report->warnings);
    if (report->older_warning_count) {
        ath_auto_free char *show = ath_style_suggest(style, "aitherion configure --show");
        fprintf(out,
                ngettext("%zu earlier warning about this machine: %s\n",
                         "%zu earlier warnings about this machine: %s\n",
                         report->older_warning_count),
                report->older_warning_count, show);
    }
}

const struct ath_view ath_change_view = {
    .schema = "aitherion.change/1",
    .title = "Output of commands that change the document, with --json",
    .fields = ath_change_fields,
    .to_text = to_text,
};
