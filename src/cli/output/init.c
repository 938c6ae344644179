/* A proposed document, as text and as JSON. */
#include "config.h"

#include "cli/output/init.h"

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/fields.h"

#define AT(member) ATH_AT(struct ath_document_numa, member)
static const struct ath_field entry_fields[] = {
    ATH_FIELD("id", AT(id), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("node", AT(node), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("gpus", AT(gpus)),
    ATH_FIELD("data_iface", AT(data_iface), .help = "the nearest first"),
    ATH_FIELD("rdma_devices", AT(rdma_devices), .help = "the nearest first"),
    { .name = NULL },
};
#undef AT

static json_t *make_is_saved(const void *object)
{
    return json_boolean(!((const struct ath_init_report *)object)->is_dry_run);
}

static const void *find_document(const void *object)
{
    return ((const struct ath_init_report *)object)->document;
}

#define AT(member) ATH_AT(struct ath_init_report, member)
static const struct ath_field fields[] = {
    ATH_FIELD("file", AT(file)),
    ATH_FIELD("made_folder", AT(made_folder),
              .help =
                  "topmost folder that was created for the file; null for none, and with --dry-run",
              .is_nullable = true),
    ATH_FIELD("is_dry_run", AT(is_dry_run)),
    ATH_FIELD("is_saved", ATH_OF(ATH_FIELD_BOOL), .make = make_is_saved),
    ATH_FIELD("profile", AT(profile),
              .help =
                  "shipped profile that the document was copied from; null if it was made from the "
                  "machine",
              .is_nullable = true),
    ATH_FIELD("machine_faults", AT(fault_count),
              .help = "how many values of a profile's document do not fit this machine; 0 if the "
                      "document was made from the machine"),
    ATH_FIELD("text", ATH_AT_AS(ATH_FIELD_LINES, struct ath_init_report, text),
              .help = "the proposed document"),
    ATH_FIELD("numa", ATH_AT_LIST(struct ath_document, numa.items, numa.count),
              .help = "NUMA entries of the document", .fields = entry_fields,
              .find = find_document),
    { .name = NULL },
};
#undef AT

static void print_entry(const struct ath_style *style, FILE *out,
                        const struct ath_document_numa *entry)
{
    ATH_AUTO(ath_text) text = { 0 };

    ath_text_add(&text, _("node %d, "), entry->node);
    ath_text_add(&text, ngettext("%zu GPU", "%zu GPUs", entry->gpus.count), entry->gpus.count);
    for (size_t i = 0; i < entry->data_iface.count; i++) {
        ath_auto_free char *link = ath_clean(entry->data_iface.items[i], style->is_utf8);
        ath_text_add(&text,
                     i                             ? ", %s"
                     : entry->data_iface.count > 1 ? _(", data interfaces %s")
                                                   : _(", data interface %s"),
                     link);
    }
    for (size_t i = 0; i < entry->rdma_devices.count; i++) {
        ath_auto_free char *device = ath_clean(entry->rdma_devices.items[i], style->is_utf8);
        ath_text_add(&text, i ? ", %s" : _(", RDMA %s"), device);
    }
    ath_text_add(&text, _(", port %d\n"), entry->control_port);
    fprintf(out, "  %sNUMA%d%s: %s", ath_style_on(style, ATH_ROLE_NAME), entry->id,
            ath_style_off(style, ATH_ROLE_NAME), text.data);
}

/* Warnings of discovery: the document was made from its results. */
static void print_warnings(const struct ath_style *style, FILE *out,
                           const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->warning_count; i++) {
        ath_auto_free char *message = ath_clean(machine->warnings[i].message, style->is_utf8);
        fprintf(out, "%s%s%s%s\n", ath_style_on(style, ATH_ROLE_WARN), _("warning: "),
                ath_style_off(style, ATH_ROLE_WARN), message);
    }
}

/* A profile is for a kind of machine, and may be for another machine than this one. */
static void print_misfit(const struct ath_style *style, FILE *out, size_t count)
{
    if (!count)
        return;
    ath_auto_free char *text = ath_xasprintf(
        ngettext("the document does not fit this machine (%zu fault): aitherion health",
                 "the document does not fit this machine (%zu faults): aitherion "
                 "health",
                 count),
        count);
    ath_auto_free char *whole = ath_style_suggest(style, text);
    fprintf(out, "%s%s%s%s\n", ath_style_on(style, ATH_ROLE_WARN), _("warning: "),
            ath_style_off(style, ATH_ROLE_WARN), whole);
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
    print_misfit(style, out, report->fault_count);
    fprintf(out, "%s %s\n", _("Next:"), report->next);
}

const struct ath_view ath_init_view = {
    .schema = "aitherion.init/1",
    .title = "Output of `aitherion init --json`",
    .fields = fields,
    .to_text = to_text,
};
