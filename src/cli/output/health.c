/* Health as text, worst first, and as data. */
#include "config.h"

#include "cli/output/health.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/health_nodes.h"
#include "cli/output/json.h"
#include "cli/suggest.h"

/* The hint, whose commands work on the same document and machine; the caller frees it. NULL stays
 * NULL. */
static char *hint_of(const struct ath_health_output *output,
                     const struct ath_health_finding *finding)
{
    return ath_suggest_complete(output->globals, finding->hint);
}

/* ---- data ---- */

static json_t *finding_to_json(const struct ath_health_output *output,
                               const struct ath_health_finding *finding)
{
    ath_auto_free char *hint = hint_of(output, finding);
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "code", finding->check->code, "severity",
                     ath_health_status_word(finding->check->severity), "status",
                     ath_health_status_word(finding->status), "object",
                     ath_json_text(finding->object), "message", ath_json_text(finding->message),
                     "hint", ath_json_text(hint));
}

static json_t *to_json(const void *data)
{
    const struct ath_health_output *view = data;
    const struct ath_health_report *report = view->report;
    json_t *checks = json_array(), *counts = json_object();

    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(checks, finding_to_json(view, &report->findings[i]));
    for (int status = 0; status < ATH_HEALTH_STATUS_COUNT; status++)
        json_object_set_new(counts, ath_health_status_word((enum ath_health_status)status),
                            json_integer((json_int_t)report->counts[status]));
    return json_pack("{s:o, s:s, s:o, s:o, s:o}", "hostname",
                     ath_json_text(view->facts->machine->hostname), "source",
                     ath_source_word(view->facts->machine->source), "file",
                     ath_json_text(view->facts->document_path), "checks", checks, "counts", counts);
}

char *ath_health_to_line(const struct ath_health_output *view)
{
    json_t *fields = to_json(view);
    json_t *object = json_pack("{s:s}", "schema", ath_health_view.schema);
    json_object_update(object, fields);
    json_decref(fields);
    ath_auto_free char *text = json_dumps(object, JSON_COMPACT);
    json_decref(object);
    return ath_xasprintf("%s\n", text ? text : "");
}

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
                          const struct ath_health_output *output,
                          const struct ath_health_finding *finding, size_t columns)
{
    ath_auto_free char *mend = hint_of(output, finding);
    ath_auto_free char *text = words_of(finding);

    ath_style_print(style, out,
                    &(struct ath_paragraph){ .label = _(looks[finding->status].label),
                                             .label_role = looks[finding->status].role,
                                             .label_columns = columns,
                                             .text = text });
    if (!mend)
        return;
    ath_auto_free char *hint = ath_xasprintf(_("hint: %s"), mend);
    ath_style_print(
        style, out,
        &(struct ath_paragraph){
            .label = "", .label_columns = columns, .text = hint, .role = ATH_ROLE_DIM });
}

static void add_count(struct ath_text *text, char *part)
{
    ath_text_add_part(text, ", ", "%s", part);
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
        add_count(&text,
                  ath_xasprintf(ngettext("%zu could not be told", "%zu could not be told", unknown),
                                unknown));
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
        facts->document ? ath_xasprintf(_("%s; document '%s'"), _(sources[facts->machine->source]),
                                        facts->document_path)
                        : ath_xasprintf(_("%s; no document that can be used"),
                                        _(sources[facts->machine->source]));

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
    if (view->shows_nodes) { /* what is wrong stands below the fold then */
        print_counts(style, out, report);
        ath_health_nodes_print(style, out, view->facts);
    }
    fputc('\n', out);
    for (size_t i = 0; i < report->count; i++)
        if (view->shows_fine || report->findings[i].status != ATH_HEALTH_OK)
            print_finding(style, out, view, &report->findings[i], columns);
    if (!view->shows_nodes)
        print_counts(style, out, report);
}

const struct ath_view ath_health_view = {
    .schema = "aitherion.health/1",
    .to_json = to_json,
    .to_text = to_text,
};
