/* Scores with their deductions, and what is unknown. */
#include "config.h"

#include "cli/output/gpu_health.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"

/* ---- data ---- */

struct shown_deduction {
    const char *code;
    int points;
    char *message, *hint;
};

#define AT(member) ATH_AT(struct shown_deduction, member)
static const struct ath_field deduction_fields[] = {
    ATH_FIELD("code", AT(code), .help = "stable code word",
              .rules = "{\"pattern\": \"^[a-z][a-z0-9-]*$\"}"),
    ATH_FIELD("points", AT(points), .help = "points that it takes from the score",
              .rules = ATH_AT_LEAST_1),
    ATH_FIELD("message", AT(message), .help = "what is wrong, a sentence for users (translated)"),
    ATH_FIELD("hint", AT(hint), .help = "what to do (translated)"),
    { .name = NULL },
};
#undef AT

static json_t *make_deductions(const void *object)
{
    const struct ath_gpu *gpu = object;
    json_t *list = json_array();
    char name[ATH_PCI_TEXT];

    ath_pci_format(&gpu->pci, name);
    for (size_t i = 0; i < gpu->health.deduction_count; i++) {
        enum ath_gpu_deduction deduction = gpu->health.deductions[i];
        struct shown_deduction shown = {
            .code = ath_gpu_deduction_code(deduction),
            .points = ath_gpu_deduction_points(deduction),
            .message = ath_gpu_deduction_message(deduction, &gpu->facts, name),
            .hint = ath_gpu_deduction_hint(deduction, &gpu->facts, name),
        };
        json_array_append_new(list, ath_fields_to_json(deduction_fields, &shown));
        free(shown.message);
        free(shown.hint);
    }
    return list;
}

static json_t *make_unknown(const void *object)
{
    const struct ath_gpu *gpu = object;
    json_t *list = json_array();
    size_t place = 0;

    for (const char *name; (name = ath_gpu_next_unknown(&gpu->facts, &place));)
        json_array_append_new(list, json_string(name));
    return list;
}

const struct ath_field ath_gpu_health_fields[] = {
    ATH_FIELD("score", ATH_AT(struct ath_gpu, health.score),
              .help = "100 less the points of all deductions, at least 0; null if the driver tells "
                      "nothing about the GPU and nothing is deducted",
              .is_nullable = true, .rules = "{\"minimum\": 0, \"maximum\": 100}"),
    ATH_FIELD("deductions", ATH_LIST_OF(ATH_FIELD_OBJECT), .help = "reasons for a lower score",
              .fields = deduction_fields, .make = make_deductions),
    ATH_FIELD("unknown", ATH_LIST_OF(ATH_FIELD_TEXT),
              .help = "groups of facts that are not known, and so take no points",
              .make = make_unknown),
    { .name = NULL },
};

/* ---- words ---- */

static void add_deductions(struct ath_text *text, const struct ath_gpu *gpu)
{
    char name[ATH_PCI_TEXT];

    ath_pci_format(&gpu->pci, name);
    for (size_t i = 0; i < gpu->health.deduction_count; i++) {
        enum ath_gpu_deduction deduction = gpu->health.deductions[i];
        ath_auto_free char *message = ath_gpu_deduction_message(deduction, &gpu->facts, name);
        ath_text_add(text, _("%s %s (%d points)"), i ? ";" : ":", message,
                     ath_gpu_deduction_points(deduction));
    }
}

char *ath_gpu_health_words(const struct ath_gpu *gpu)
{
    struct ath_text text = { 0 };
    ATH_AUTO(ath_text) unknown = { 0 };
    size_t place = 0;

    if (gpu->health.score < 0)
        return ath_xstrdup(_("not known"));
    ath_text_add(&text, _("%d of 100"), gpu->health.score);
    add_deductions(&text, gpu);
    for (const char *name; (name = ath_gpu_next_unknown(&gpu->facts, &place));)
        ath_text_add_part(&unknown, _(", "), "%s", name);
    if (unknown.length)
        ath_text_add_part(&text, "; ", _("not known: %s"), unknown.data);
    return ath_text_take(&text);
}
