/* The output of `aitherion metrics`: the page as Prometheus reads it, or the table of metrics. */
#include "config.h"

#include "cli/output/metrics.h"

#include "base/text.h"
#include "cli/output/fields.h"
#include "watch/metric.h"

/* ---- the page ---- */

static const struct ath_field page_fields[] = {
    ATH_FIELD("page", ATH_AT_AS(ATH_FIELD_LINES, struct ath_metrics_page, text),
              .help = "the page in Prometheus' text format 0.0.4"),
    { .name = NULL },
};

static void page_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_metrics_page *page = data;
    (void)style;
    fputs(page->text, out);
}

const struct ath_view ath_metrics_page_view = {
    .schema = "aitherion.metrics-page/1",
    .title = "Output of `aitherion metrics --json`",
    .fields = page_fields,
    .to_text = page_to_text,
};

/* ---- the table ---- */

static json_t *list_of_labels(enum ath_metric_scope scope)
{
    json_t *list = json_array();
    if (!ath_metric_is_of_host(scope)) {
        json_array_append_new(list, json_string("server"));
        json_array_append_new(list, json_string("node"));
    }
    const char *rest = ath_metric_labels[scope], *part;
    size_t length;
    while ((part = ath_text_next_part(&rest, &length)))
        if (length)
            json_array_append_new(list, json_stringn(part, length));
    return list;
}

static json_t *make_metrics(const void *object)
{
    json_t *list = json_array();
    (void)object;
    for (size_t i = 0; i < ath_metric_count; i++) {
        const struct ath_metric *metric = &ath_metrics[i];
        json_array_append_new(list, json_pack("{s:s+, s:s, s:s, s:s, s:o}", "name", metric->name,
                                              ath_metric_ending(metric), "type",
                                              ath_metric_type_word(metric->type), "unit",
                                              metric->unit, "help", metric->help, "labels",
                                              list_of_labels(metric->scope)));
    }
    return list;
}

static const struct ath_field metric_fields[] = {
    ATH_FIELD("name", ATH_OF(ATH_FIELD_TEXT), .help = "as it stands in queries"),
    ATH_FIELD("type", ATH_OF(ATH_FIELD_TEXT),
              .rules = "{\"enum\": [\"gauge\", \"counter\", \"histogram\"]}"),
    ATH_FIELD("unit", ATH_OF(ATH_FIELD_TEXT), .help = "a base unit; empty for a plain number"),
    ATH_FIELD("help", ATH_OF(ATH_FIELD_TEXT)),
    ATH_FIELD("labels", ATH_LIST_OF(ATH_FIELD_TEXT),
              .help = "server on a page of several runtimes, node for one of a document"),
    { .name = NULL },
};

static const struct ath_field table_fields[] = {
    ATH_FIELD("metrics", ATH_LIST_OF(ATH_FIELD_OBJECT), .fields = metric_fields,
              .make = make_metrics),
    { .name = NULL },
};

static void table_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    (void)style;
    (void)data;
    for (size_t i = 0; i < ath_metric_count; i++)
        fprintf(out, "%s%s (%s)\n    %s\n", ath_metrics[i].name, ath_metric_ending(&ath_metrics[i]),
                ath_metric_type_word(ath_metrics[i].type), ath_metrics[i].help);
}

const struct ath_view ath_metrics_table_view = {
    .schema = "aitherion.metrics/1",
    .title = "Output of `aitherion metrics --table --json`",
    .fields = table_fields,
    .to_text = table_to_text,
};
