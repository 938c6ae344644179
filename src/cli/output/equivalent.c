/* The number of GPUs that a request needs: of this machine, and of each model of the table. */
#include "config.h"

#include "cli/output/equivalent.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/fields.h"
#include "cli/output/gpu_figures.h"
#include "cli/output/table.h"
#include "cli/output/words.h"

/* ---- the table's models ---- */

struct choice {
    const struct ath_gpu_model *model;
    struct ath_equivalent equivalent;
};

/* Models that fit come first, by their number of GPUs, then by their place in the table. */
static int compare_choices(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;

    if (x->equivalent.state != y->equivalent.state)
        return x->equivalent.state < y->equivalent.state ? -1 : 1;
    if (x->equivalent.count != y->equivalent.count)
        return x->equivalent.count < y->equivalent.count ? -1 : 1;
    return (x->model > y->model) - (x->model < y->model);
}

/* Returns a choice for each model of the table. The caller frees the list. */
static struct choice *list_choices(const struct ath_needs *needs)
{
    struct choice *list = ath_xalloc(ath_gpu_model_count * sizeof *list);

    for (size_t i = 0; i < ath_gpu_model_count; i++)
        list[i] = (struct choice){ &ath_gpu_models[i],
                                   ath_equivalent_of(needs, ath_gpu_models[i].figures) };
    qsort(list, ath_gpu_model_count, sizeof *list, compare_choices);
    return list;
}

/* ---- JSON ---- */

ATH_FIELD_WORD(figure_word, enum ath_gpu_figure, ath_gpu_figure_word)
ATH_FIELD_WORD(state_word, enum ath_equivalent_state, ath_equivalent_state_word)

static const struct ath_field need_fields[] = {
    ATH_FIELD("figure", ATH_AT(struct ath_need, figure), .word = figure_word,
              .word_count = ATH_GPU_FIGURE_COUNT),
    ATH_FIELD("amount", ATH_AT(struct ath_need, amount),
              .help = "in bytes, bytes per second, or for fp64 to fp4 10^9 operations per second",
              .rules = ATH_AT_LEAST_1),
    { .name = NULL },
};

#define EQUIVALENT_FIELDS(type)                                                                    \
    ATH_FIELD("state", ATH_AT(type, equivalent.state),                                             \
              .help = "unknown: the table lacks a figure; never: the GPU has none of it",          \
              .word = state_word, .word_count = ATH_EQUIVALENT_STATE_COUNT),                       \
        ATH_FIELD("needed", ATH_AT(type, equivalent.count),                                        \
                  .help = "number of GPUs that satisfy the whole request; null unless the state "  \
                          "is fits",                                                               \
                  .is_nullable = true, .rules = ATH_AT_LEAST_1),                                   \
        ATH_FIELD("decides", ATH_AT(type, equivalent.decides),                                     \
                  .help = "the figure that needs most GPUs, is not known, or is missing",          \
                  .word = figure_word, .word_count = ATH_GPU_FIGURE_COUNT)

static const void *find_model(const void *object)
{
    return ((const struct choice *)object)->model;
}

static const struct ath_field choice_fields[] = {
    ATH_FIELD("model", ATH_AT(struct ath_gpu_model, name), .find = find_model),
    EQUIVALENT_FIELDS(struct choice),
    { .name = NULL },
};

/* A kind of GPU of the machine. */
struct shown_kind {
    const struct ath_gpu *first;
    const struct ath_equivalent_kind *kind;
    struct ath_equivalent equivalent;
    bool is_enough;
};

static bool is_enough(const struct ath_equivalent_kind *kind)
{
    return kind->equivalent.state == ATH_EQUIVALENT_FITS &&
           (uint64_t)kind->equivalent.count <= kind->count;
}

static json_t *make_gpus(const void *object)
{
    const struct ath_equivalent_kind *kind = ((const struct shown_kind *)object)->kind;
    json_t *list = json_array();
    for (size_t i = 0; i < kind->count; i++)
        json_array_append_new(list, json_integer((json_int_t)kind->gpus[i]));
    return list;
}

static const void *find_kind_model(const void *object)
{
    return ((const struct shown_kind *)object)->kind->model;
}

static const void *find_first(const void *object)
{
    return ((const struct shown_kind *)object)->first;
}

static const struct ath_field kind_fields[] = {
    ATH_FIELD("model", ATH_AT(struct ath_gpu, model), .help = "product name", .is_nullable = true,
              .find = find_first),
    ATH_FIELD("table_model", ATH_AT(struct ath_gpu_model, name),
              .help = "its row in the table of models; null if the table lacks it",
              .is_nullable = true, .find = find_kind_model),
    ATH_FIELD("gpus", ATH_LIST_OF(ATH_FIELD_INT),
              .help = "numbers of the machine's GPUs of this kind that programs can use",
              .make = make_gpus),
    EQUIVALENT_FIELDS(struct shown_kind),
    ATH_FIELD("is_enough", ATH_AT(struct shown_kind, is_enough),
              .help = "these GPUs satisfy the request"),
    { .name = NULL },
};

static json_t *make_needs(const void *object)
{
    const struct ath_needs *needs = ((const struct ath_equivalent_report *)object)->needs;
    json_t *list = json_array();
    for (size_t i = 0; i < needs->count; i++)
        json_array_append_new(list, ath_fields_to_json(need_fields, &needs->items[i]));
    return list;
}

static json_t *make_here(const void *object)
{
    const struct ath_equivalent_report *report = object;
    json_t *list = json_array();

    for (size_t i = 0; i < report->here->count; i++) {
        const struct ath_equivalent_kind *kind = &report->here->kinds[i];
        const struct shown_kind shown = { &report->machine->gpus[kind->gpus[0]], kind,
                                          kind->equivalent, is_enough(kind) };
        json_array_append_new(list, ath_fields_to_json(kind_fields, &shown));
    }
    return list;
}

static json_t *make_choices(const void *object)
{
    const struct ath_equivalent_report *report = object;
    ath_auto_free struct choice *choices = list_choices(report->needs);
    json_t *list = json_array();

    for (size_t i = 0; i < ath_gpu_model_count; i++)
        json_array_append_new(list, ath_fields_to_json(choice_fields, &choices[i]));
    return list;
}

static const struct ath_field fields[] = {
    ATH_FIELD("request", ATH_LIST_OF(ATH_FIELD_OBJECT), .help = "all of them must hold",
              .fields = need_fields, .make = make_needs),
    ATH_FIELD("machine", ATH_LIST_OF(ATH_FIELD_OBJECT), .help = "the kinds of GPUs of this machine",
              .fields = kind_fields, .make = make_here),
    ATH_FIELD("models", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "all models of the table: by the number of GPUs, then those that are not "
                      "known, then those that never fit",
              .fields = choice_fields, .make = make_choices),
    { .name = NULL },
};

/* ---- text ---- */

enum { LABEL_COLUMNS = 12 };

static void print_request(const struct ath_style *style, FILE *out, const struct ath_needs *needs)
{
    ATH_AUTO(ath_text) text = { 0 };

    for (size_t i = 0; i < needs->count; i++) {
        const struct ath_need *need = &needs->items[i];
        ath_auto_free char *amount = ath_gpu_figure_amount(need->figure, need->amount);
        ath_text_add_part(&text, _(", "), _("%s of %s"), amount,
                          ath_gpu_figure_title(need->figure));
    }
    ath_style_print_row(style, out, LABEL_COLUMNS, _("Request"), text.data);
}

/* "aitherion place 3", with --free if the machine has GPUs of other kinds. The caller frees it. */
static char *place_command(const struct ath_style *style,
                           const struct ath_equivalent_report *report,
                           const struct ath_equivalent_kind *kind)
{
    ATH_AUTO(ath_text) free_gpus = { 0 };
    ATH_AUTO(ath_text) command = { 0 };

    for (size_t i = 0; i < kind->count; i++)
        ath_text_add_part(&free_gpus, ",", "%zu", kind->gpus[i]);
    ath_text_add(&command, "aitherion place %" PRId64, kind->equivalent.count);
    if (report->here->count > 1)
        ath_text_add(&command, " --free %s", free_gpus.data);
    return ath_style_suggest(style, command.data);
}

/* How many of the machine's GPUs of a kind are needed. The caller frees it. */
static char *kind_words(const struct ath_style *style, const struct ath_equivalent_report *report,
                        const struct ath_equivalent_kind *kind)
{
    const struct ath_equivalent *equivalent = &kind->equivalent;
    const char *title = ath_gpu_figure_title(equivalent->decides);

    if (equivalent->state == ATH_EQUIVALENT_UNKNOWN)
        return ath_xasprintf(_("%s is not known"), title);
    if (equivalent->state == ATH_EQUIVALENT_NEVER)
        return ath_xasprintf(_("never: the GPU has no %s"), title);
    if (!is_enough(kind))
        return ath_xasprintf(_("%zu needed of %zu (%s decides): too few"),
                             (size_t)equivalent->count, kind->count, title);
    ath_auto_free char *command = place_command(style, report, kind);
    return ath_xasprintf(_("%zu needed of %zu (%s decides): %s"), (size_t)equivalent->count,
                         kind->count, title, command);
}

static void print_here(const struct ath_style *style, FILE *out,
                       const struct ath_equivalent_report *report)
{
    for (size_t i = 0; i < report->here->count; i++) {
        const struct ath_equivalent_kind *kind = &report->here->kinds[i];
        const struct ath_gpu *gpu = &report->machine->gpus[kind->gpus[0]];
        ath_auto_free char *device = ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model);
        ath_auto_free char *words = kind_words(style, report, kind);
        ath_auto_free char *text =
            ath_xasprintf("%s: %s", *device ? device : _("unknown model"), words);
        ath_style_print_row(style, out, LABEL_COLUMNS, i ? "" : _("This machine"), text);
    }
    if (!report->here->count)
        ath_style_print_row(style, out, LABEL_COLUMNS, _("This machine"),
                            _("no GPU that programs can use"));
}

/* Adds "BF16: T4, V100 ...": the models that one figure leaves out of the table of the text. */
static void add_left_out(struct ath_text *text, const struct choice *choices,
                         enum ath_equivalent_state state, enum ath_gpu_figure figure)
{
    ATH_AUTO(ath_text) names = { 0 };

    for (size_t i = 0; i < ath_gpu_model_count; i++)
        if (choices[i].equivalent.state == state && choices[i].equivalent.decides == figure)
            ath_text_add_part(&names, _(", "), "%s", choices[i].model->name);
    if (names.length)
        ath_text_add_part(text, "; ", "%s: %s", ath_gpu_figure_title(figure), names.data);
}

static void print_left_out(const struct ath_style *style, FILE *out, const struct choice *choices,
                           enum ath_equivalent_state state, const char *label)
{
    ATH_AUTO(ath_text) text = { 0 };

    for (int i = 0; i < ATH_GPU_FIGURE_COUNT; i++)
        add_left_out(&text, choices, state, (enum ath_gpu_figure)i);
    if (text.length)
        ath_style_print_row(style, out, LABEL_COLUMNS, label, text.data);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    static const char *const titles[] = { N_("Model"), N_("GPUs"), N_("Decided by") };
    const struct ath_equivalent_report *report = data;
    ath_auto_free struct choice *choices = list_choices(report->needs);
    ATH_AUTO(ath_table) table = { .titles = titles, .column_count = ATH_COUNT(titles) };

    print_request(style, out, report->needs);
    print_here(style, out, report);
    for (size_t i = 0; i < ath_gpu_model_count; i++) {
        const struct ath_equivalent *equivalent = &choices[i].equivalent;
        if (equivalent->state != ATH_EQUIVALENT_FITS)
            continue;
        struct ath_table_cell *cells = ath_table_add_row(&table);
        cells[0] = (struct ath_table_cell){ ath_xstrdup(choices[i].model->name), ATH_ROLE_NAME };
        cells[1].text = ath_xasprintf("%" PRId64, equivalent->count);
        cells[2].text = ath_xstrdup(ath_gpu_figure_title(equivalent->decides));
    }
    fputc('\n', out);
    if (table.row_count) {
        ath_table_print(&table, style, out);
        fputc('\n', out);
    }
    print_left_out(style, out, choices, ATH_EQUIVALENT_UNKNOWN, _("Not known"));
    print_left_out(style, out, choices, ATH_EQUIVALENT_NEVER, _("Has none"));
}

const struct ath_view ath_equivalent_view = {
    .schema = "aitherion.fingerprint-equivalent/1",
    .title = "Output of `aitherion fingerprint --equivalent --json`",
    .fields = fields,
    .to_text = to_text,
};
