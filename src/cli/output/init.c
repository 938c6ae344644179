/* A proposed document as text and as data. */
#include "config.h"

#include "cli/output/init.h"

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/clean.h"
#include "cli/output/json.h"

static json_t *entry_to_json(const struct ath_document_numa *entry)
{
    json_t *gpus = json_array();
    for (size_t i = 0; i < entry->gpus.count; i++)
        json_array_append_new(gpus, ath_json_text(entry->gpus.items[i]));
    return json_pack("{s:i, s:i, s:o, s:o}", "id", entry->id, "node", entry->node, "gpus", gpus,
                     "data_iface", ath_json_text(entry->data_iface));
}

static json_t *to_json(const void *data)
{
    const struct ath_init_report *report = data;
    json_t *entries = json_array();

    for (size_t i = 0; i < report->document->numa.count; i++)
        json_array_append_new(entries, entry_to_json(&report->document->numa.items[i]));
    return json_pack("{s:o, s:o, s:b, s:b, s:o, s:o, s:o}", "file", ath_json_text(report->file),
                     "made_folder", ath_json_text(report->made_folder), "is_dry_run",
                     report->is_dry_run, "is_saved", !report->is_dry_run, "profile",
                     ath_json_text(report->profile), "text", ath_json_lines(report->text), "numa",
                     entries);
}

static void print_entry(const struct ath_style *style, FILE *out,
                        const struct ath_document_numa *entry)
{
    ath_auto_free char *link = ath_clean(entry->data_iface, style->is_utf8);
    ATH_AUTO(ath_text) text = { 0 };

    ath_text_add(&text, _("node %d, "), entry->node);
    ath_text_add(&text, ngettext("%zu GPU", "%zu GPUs", entry->gpus.count), entry->gpus.count);
    if (link)
        ath_text_add(&text, _(", data over %s"), link);
    ath_text_add(&text, _(", port %d\n"), entry->control_port);
    fprintf(out, "  %sNUMA%d%s: %s", ath_style_on(style, ATH_ROLE_NAME), entry->id,
            ath_style_off(style, ATH_ROLE_NAME), text.data);
}

/* What discovery found odd, since the document was made from what it found. */
static void print_warnings(const struct ath_style *style, FILE *out,
                           const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->warning_count; i++) {
        ath_auto_free char *message = ath_clean(machine->warnings[i].message, style->is_utf8);
        fprintf(out, "%s%s%s%s\n", ath_style_on(style, ATH_ROLE_WARN), _("warning: "),
                ath_style_off(style, ATH_ROLE_WARN), message);
    }
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_init_report *report = data;
    ath_auto_free char *file = ath_clean(report->file, style->is_utf8);

    if (report->is_dry_run) {
        fputs(report->text, out);
        return;
    }
    if (report->made_folder) {
        ath_auto_free char *folder = ath_clean(report->made_folder, style->is_utf8);
        fprintf(out, _("made the folder '%s'\n"), folder);
    }
    fprintf(out, _("wrote '%s'\n"), file);
    for (size_t i = 0; i < report->document->numa.count; i++)
        print_entry(style, out, &report->document->numa.items[i]);
    print_warnings(style, out, report->machine);
    fprintf(out, "%s %s\n", _("Next:"), report->next);
}

const struct ath_view ath_init_view = { "aitherion.init/1", to_json, to_text, NULL, 0 };
