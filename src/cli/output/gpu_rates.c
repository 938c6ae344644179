/* Exchange rates: one GPU of each model of the table in GPUs of another model. */
#include "config.h"

#include "cli/output/gpu_rates.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/fields.h"
#include "cli/output/table.h"

/* ---- JSON ---- */

static json_t *rate_to_json(int64_t thousandths)
{
    return thousandths < 0 ? json_null() : json_real((double)thousandths / 1e3);
}

struct row {
    const struct ath_gpu_model *model, *base;
};

static const void *find_model(const void *object)
{
    return ((const struct row *)object)->model;
}

#define MAKER(name, rate)                                                                          \
    static json_t *name(const void *object)                                                        \
    {                                                                                              \
        const struct row *row = object;                                                            \
        return rate_to_json(ath_gpu_rate_thousandths(row->model, row->base, rate));                \
    }
MAKER(make_compute, ATH_RATE_COMPUTE)
MAKER(make_memory, ATH_RATE_MEMORY)
MAKER(make_memory_bandwidth, ATH_RATE_MEMORY_BANDWIDTH)
MAKER(make_links, ATH_RATE_LINKS)
MAKER(make_overall, ATH_RATE_OVERALL)
#undef MAKER

#define RATE(name, maker, text)                                                                    \
    ATH_FIELD(name, ATH_OF(ATH_FIELD_DOUBLE), .help = text, .is_nullable = true,                   \
              .rules = ATH_AT_LEAST_0, .make = maker)
static const struct ath_field rate_fields[] = {
    ATH_FIELD("model", ATH_AT(struct ath_gpu_model, name), .find = find_model),
    ATH_FIELD("source", ATH_AT(struct ath_gpu_model, source),
              .help = "the document that has the model's figures; null if none is known",
              .is_nullable = true, .find = find_model),
    RATE("compute", make_compute, "by dense FP16 throughput"),
    RATE("memory", make_memory, "by the size of the memory"),
    RATE("memory_bandwidth", make_memory_bandwidth, "by the bandwidth of the memory"),
    RATE("links", make_links,
         "by the bandwidth of all NVLinks; 0 if the model has none, null if the base has none"),
    RATE("overall", make_overall,
         "a judgement that the project began with, for six kinds of GPU; not computed"),
    { .name = NULL },
};
#undef RATE

static json_t *make_base(const void *object)
{
    return json_string(((const struct ath_rates_report *)object)->base->name);
}

static json_t *make_rates(const void *object)
{
    const struct ath_rates_report *report = object;
    json_t *list = json_array();

    for (size_t i = 0; i < ath_gpu_model_count; i++) {
        const struct row row = { &ath_gpu_models[i], report->base };
        json_array_append_new(list, ath_fields_to_json(rate_fields, &row));
    }
    return list;
}

static const struct ath_field fields[] = {
    ATH_FIELD("base", ATH_OF(ATH_FIELD_TEXT), .help = "the model whose rates are 1",
              .make = make_base),
    ATH_FIELD("rates", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "one GPU of each model in GPUs of the base; null if a figure is not known",
              .fields = rate_fields, .make = make_rates),
    { .name = NULL },
};

/* ---- text ---- */

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    static const char *const titles[] = { N_("Model"),     N_("Compute"), N_("Memory"),
                                          N_("Bandwidth"), N_("NVLink"),  N_("Overall") };
    const struct ath_rates_report *report = data;
    ATH_AUTO(ath_table) table = { .titles = titles, .column_count = ATH_COUNT(titles) };
    ath_auto_free char *about =
        ath_xasprintf(_("One GPU of each model in GPUs of the %s. Compute is dense FP16, bandwidth "
                        "that of the memory. Overall is a judgement, not computed."),
                      report->base->name);

    for (size_t i = 0; i < ath_gpu_model_count; i++) {
        const struct ath_gpu_model *model = &ath_gpu_models[i];
        struct ath_table_cell *cells = ath_table_add_row(&table);
        cells[0] = (struct ath_table_cell){ ath_xstrdup(model->name), ATH_ROLE_NAME };
        for (int rate = 0; rate < ATH_RATE_COUNT; rate++) {
            int64_t value = ath_gpu_rate_thousandths(model, report->base, (enum ath_gpu_rate)rate);
            if (value >= 0)
                cells[1 + rate].text =
                    value ? ath_xasprintf("%.3f", (double)value / 1e3) : ath_xstrdup("0");
        }
    }
    ath_style_print(style, out, &(struct ath_paragraph){ .text = about });
    fputc('\n', out);
    ath_table_print(&table, style, out);
}

const struct ath_view ath_rates_view = {
    .schema = "aitherion.fingerprint-rates/1",
    .title = "Output of `aitherion fingerprint --rates --json`",
    .fields = fields,
    .to_text = to_text,
};
