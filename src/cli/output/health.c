/* Health as text, worst first, and as JSON. */
#include "config.h"

#include "cli/output/health.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/fields.h"
#include "cli/output/health_nodes.h"

/* ---- data ---- */

ATH_FIELD_WORD(status_word, enum ath_health_status, ath_health_status_word)
ATH_FIELD_WORD(source_word, enum ath_source, ath_source_word)

/* No check has the severity "ok". */
static const char *severity_word(int severity)
{
    return severity == ATH_HEALTH_OK ? NULL : status_word(severity);
}

static const void *find_check(const void *object)
{
    return ((const struct ath_health_finding *)object)->check;
}

#define AT(member) ATH_AT(struct ath_health_finding, member)
static const struct ath_field finding_fields[] = {
    ATH_FIELD("code", ATH_AT(struct ath_health_check, code),
              .help = "stable code word of the check; several findings may have the same code",
              .rules = "{\"pattern\": \"^[a-z][a-z0-9-]*$\"}", .find = find_check),
    ATH_FIELD("severity", ATH_AT(struct ath_health_check, severity),
              .help = "worst status that a finding of this check can have", .word = severity_word,
              .word_count = ATH_HEALTH_STATUS_COUNT, .find = find_check),
    ATH_FIELD("status", AT(status),
              .help = "result of the check; unknown: the check could not decide, and the message "
                      "says why",
              .word = status_word, .word_count = ATH_HEALTH_STATUS_COUNT),
    ATH_FIELD("object", AT(object),
              .help = "subject: a link, a device, a place in the document; null for the whole "
                      "machine",
              .is_nullable = true),
    ATH_FIELD("message", AT(message),
              .help = "cause of the fault or warning; if status is ok, the fact that was checked"),
    ATH_FIELD("hint", AT(hint), .help = "how to fix it; null if there is no hint",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_health_report, member)
static const struct ath_field count_fields[] = {
    ATH_FIELD("ok", AT(counts[ATH_HEALTH_OK]), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("warning", AT(counts[ATH_HEALTH_WARNING]), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("unknown", AT(counts[ATH_HEALTH_UNKNOWN]), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("fault", AT(counts[ATH_HEALTH_FAULT]), .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

static const void *find_facts(const void *object)
{
    return ((const struct ath_health_output *)object)->facts;
}

static const void *find_machine(const void *object)
{
    return ((const struct ath_health_output *)object)->facts->machine;
}

static const void *find_report(const void *object)
{
    return ((const struct ath_health_output *)object)->report;
}

static const struct ath_field fields[] = {
    ATH_FIELD("hostname", ATH_AT(struct ath_machine, hostname),
              .help = "null if the source does not have the host name", .is_nullable = true,
              .find = find_machine),
    ATH_FIELD("source", ATH_AT(struct ath_machine, source),
              .help = "live: this machine, now; root: a captured root; xml: a topology file",
              .word = source_word, .word_count = ATH_SOURCE_XML + 1, .find = find_machine),
    ATH_FIELD("file", ATH_AT(struct ath_health_facts, document_path),
              .help = "path of the document, even if there is none", .find = find_facts),
    ATH_FIELD("checks", ATH_AT_LIST(struct ath_health_report, findings, count),
              .help = "findings, worst first; a check with nothing to look at has no finding",
              .fields = finding_fields, .find = find_report),
    ATH_FIELD("counts", ATH_OF(ATH_FIELD_OBJECT),
              .help = "number of findings in checks[] by status", .fields = count_fields,
              .find = find_report),
    { .name = NULL },
};

/* ---- text ---- */

static const struct {
    const char *label;
    enum ath_role role;
} looks[ATH_HEALTH_STATUS_COUNT] = {
    [ATH_HEALTH_OK] = { N_("fine"), ATH_ROLE_GOOD },
    [ATH_HEALTH_WARNING] = { N_("warning"), ATH_ROLE_WARN },
    [ATH_HEALTH_UNKNOWN] = { N_("unknown"), ATH_ROLE_WARN },
    [ATH_HEALTH_FAULT] = { N_("fault"), ATH_ROLE_BAD },
};

static size_t label_columns(const struct ath_style *style)
{
    size_t columns = 0;
    for (int i = 0; i < ATH_HEALTH_STATUS_COUNT; i++) {
        size_t width = ath_style_width(style, _(looks[i].label));
        columns = width > columns ? width : columns;
    }
    return columns;
}

/* Most messages name the object themselves. */
static char *words_of(const struct ath_health_finding *finding)
{
    if (!finding->object || strstr(finding->message, finding->object))
        return ath_xstrdup(finding->message);
    return ath_xasprintf("%s: %s", finding->object, finding->message);
}

static void print_finding(const struct ath_style *style, FILE *out,
                          const struct ath_health_finding *finding, size_t columns)
{
    ath_auto_free char *text = words_of(finding);

    ath_style_print(style, out,
                    &(struct ath_paragraph){ .label = _(looks[finding->status].label),
                                             .label_role = looks[finding->status].role,
                                             .label_columns = columns,
                                             .text = text });
    ath_auto_free char *hint = ath_style_hint(style, finding->hint);
    if (hint)
        ath_style_print(
            style, out,
            &(struct ath_paragraph){
                .label = "", .label_columns = columns, .text = hint, .role = ATH_ROLE_DIM });
}

static void add_count(struct ath_text *text, char *part)
{
    ath_text_add_part(text, _(", "), "%s", part);
    free(part);
}

static char *counts_text(const size_t counts[ATH_HEALTH_STATUS_COUNT])
{
    struct ath_text text = { 0 };
    size_t faults = counts[ATH_HEALTH_FAULT], unknown = counts[ATH_HEALTH_UNKNOWN],
           warnings = counts[ATH_HEALTH_WARNING], fine = counts[ATH_HEALTH_OK];

    if (faults)
        add_count(&text, ath_xasprintf(ngettext("%zu fault", "%zu faults", faults), faults));
    if (unknown)
        add_count(&text, ath_xasprintf(ngettext("%zu unknown", "%zu unknown", unknown), unknown));
    if (warnings)
        add_count(&text,
                  ath_xasprintf(ngettext("%zu warning", "%zu warnings", warnings), warnings));
    add_count(&text,
              ath_xasprintf(ngettext("%zu check is fine", "%zu checks are fine", fine), fine));
    return ath_text_take(&text);
}

static enum ath_role counts_role(const struct ath_health_report *report)
{
    for (int status = ATH_HEALTH_STATUS_COUNT - 1; status > 0; status--)
        if (report->counts[status])
            return looks[status].role;
    return ATH_ROLE_GOOD;
}

static void print_head(const struct ath_style *style, FILE *out,
                       const struct ath_health_facts *facts)
{
    static const char *const sources[] = { [ATH_SOURCE_LIVE] = N_("this machine, now"),
                                           [ATH_SOURCE_ROOT] = N_("read from a captured root"),
                                           [ATH_SOURCE_XML] = N_("read from a topology file") };
    const char *host = facts->machine->hostname;
    ath_auto_free char *text =
        facts->document
            ? ath_xasprintf(_("%s; document '%s'"), _(sources[facts->machine->source]),
                            facts->document_path)
            : ath_xasprintf(_("%s; no usable document"), _(sources[facts->machine->source]));

    host = host ? host : _("machine");
    ath_style_print(style, out,
                    &(struct ath_paragraph){ .label = host,
                                             .label_role = ATH_ROLE_HEADING,
                                             .label_columns = ath_style_width(style, host),
                                             .text = text });
}

static void print_counts(const struct ath_style *style, FILE *out,
                         const struct ath_health_report *report)
{
    ath_auto_free char *text = counts_text(report->counts);
    ath_style_print(style, out,
                    &(struct ath_paragraph){ .text = text, .role = counts_role(report) });
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_health_output *view = data;
    const struct ath_health_report *report = view->report;
    size_t columns = label_columns(style);

    print_head(style, out, view->facts);
    if (view->shows_nodes) { /* the findings may be below the end of the screen */
        print_counts(style, out, report);
        ath_health_nodes_print(style, out, view->facts);
    }
    fputc('\n', out);
    for (size_t i = 0; i < report->count; i++)
        if (view->shows_fine || report->findings[i].status != ATH_HEALTH_OK)
            print_finding(style, out, &report->findings[i], columns);
    if (!view->shows_nodes)
        print_counts(style, out, report);
}

const struct ath_view ath_health_view = {
    .schema = "aitherion.health/1",
    .title = "Output of `aitherion health --json`",
    .fields = fields,
    .to_text = to_text,
};
