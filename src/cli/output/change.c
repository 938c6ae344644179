/* Changes of the document as text and as data. */
#include "config.h"

#include "cli/output/change.h"

#include <stdarg.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/clean.h"
#include "cli/output/json.h"

static const struct {
    const char *word;
    bool is_warning;
} notes[ATH_NOTE_COUNT] = {
#define X(name, word, is_warning) [ATH_NOTE_##name] = { word, is_warning },
    ATH_NOTE_TABLE(X)
#undef X
};

void ath_change_report_free(struct ath_change_report *report)
{
    if (!report)
        return;
    for (size_t i = 0; i < report->change_count; i++) {
        free(report->changes[i].key);
        free(report->changes[i].value);
        free(report->changes[i].before);
        free(report->changes[i].after);
    }
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

static json_t *to_json(const void *data)
{
    const struct ath_change_report *report = data;
    json_t *changes = json_array();

    for (size_t i = 0; i < report->change_count; i++) {
        const struct ath_applied_change *change = &report->changes[i];
        json_array_append_new(
            changes, json_pack("{s:o, s:o, s:o}", "key", ath_json_text(change->key), "old",
                               ath_json_text(change->before), "new", ath_json_text(change->after)));
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

static void print_notes(const struct ath_style *style, FILE *out,
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

    print_notes(style, out, report, false);
    for (size_t i = 0; i < report->change_count; i++)
        print_change(style, out, &report->changes[i]);
    if (report->is_dry_run)
        fprintf(out, _("'%s' stays as it is (--dry-run)\n"), file);
    else if (report->is_saved)
        fprintf(out, _("saved '%s'\n"), file);
    else
        fprintf(out, _("'%s' says so already\n"), file);
    print_notes(style, out, report, true);
    ath_faults_to_text(style, out, _("warning: "), &report->warnings);
    if (report->older_warning_count)
        fprintf(out,
                ngettext("%zu more thing does not fit this machine: aitherion configure --show\n",
                         "%zu more things do not fit this machine: aitherion configure --show\n",
                         report->older_warning_count),
                report->older_warning_count);
}

const struct ath_view ath_change_view = { "aitherion.change/1", to_json, to_text, NULL, 0 };
