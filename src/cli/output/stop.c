/* What was stopped and what was cleaned, or would be. */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "cli/output/json.h"
#include "cli/output/status.h"

static json_t *error_to_json(int status, const struct ath_err *err)
{
    if (!status)
        return json_null();
    return json_pack("{s:s, s:o, s:o}", "code", ath_error_word(err->code), "message",
                     ath_json_text(err->message), "hint",
                     ath_json_text(*err->hint ? err->hint : NULL));
}

/* text is taken over. */
static void print_line(const struct ath_style *style, FILE *out, enum ath_role role, char *text)
{
    ath_style_print(style, out, &(struct ath_paragraph){ .text = text, .role = role });
    free(text);
}

static void print_hint(const struct ath_style *style, FILE *out, const char *text)
{
    if (!*text)
        return;
    ath_auto_free char *hint = ath_xasprintf(_("hint: %s"), text);
    ath_style_print(style, out,
                    &(struct ath_paragraph){ .prefix = "  ", .text = hint, .role = ATH_ROLE_DIM });
}

/* ---- stop ---- */

static json_t *stop_to_json(const void *data)
{
    const struct ath_stop_report *report = data;
    json_t *nodes = json_array(), *missing = json_array();

    for (size_t i = 0; i < report->results->count; i++) {
        const struct ath_stop_result *one = &report->results->items[i];
        json_array_append_new(nodes, json_pack("{s:i, s:s, s:b, s:o}", "id", one->id, "engine",
                                               one->engine, "was_running", one->was_running,
                                               "error", error_to_json(one->status, &one->err)));
    }
    for (size_t i = 0; i < report->missing_count; i++)
        json_array_append_new(missing, json_integer(report->missing[i]));
    return json_pack("{s:b, s:o, s:o}", "is_dry_run", report->is_dry_run, "nodes", nodes, "missing",
                     missing);
}

static void print_stopped(const struct ath_style *style, FILE *out, bool is_dry_run,
                          const struct ath_stop_result *one)
{
    if (one->status) {
        print_line(style, out, ATH_ROLE_BAD,
                   ath_xasprintf("NUMA%d: %s", one->id, one->err.message));
        print_hint(style, out, one->err.hint);
        return;
    }
    const char *format = !one->was_running ? _("NUMA%d does not run (%s)")
                         : is_dry_run      ? _("would stop NUMA%d (%s)")
                                           : _("stopped NUMA%d (%s)");
    print_line(style, out, ATH_ROLE_PLAIN, ath_xasprintf(format, one->id, one->engine));
}

static void stop_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_stop_report *report = data;

    for (size_t i = 0; i < report->results->count; i++)
        print_stopped(style, out, report->is_dry_run, &report->results->items[i]);
    for (size_t i = 0; i < report->missing_count; i++)
        print_line(style, out, ATH_ROLE_PLAIN,
                   ath_xasprintf(_("NUMA%d: there is nothing to stop"), report->missing[i]));
    if (!report->results->count && !report->missing_count)
        fprintf(out, "%s\n", _("nothing to do: nothing of aitherion's is there"));
}

const struct ath_view ath_stop_view = { "aitherion.stop/1", stop_to_json, stop_to_text, NULL, 0 };

/* ---- clean ---- */

static json_t *left_to_json(const struct ath_clean_steps *steps)
{
    json_t *left = json_array();

    for (size_t i = 0; i < steps->left_count; i++) {
        const struct ath_clean_left *one = &steps->left[i];
        json_array_append_new(left, json_pack("{s:i, s:o, s:o, s:o}", "numa", one->id, "document",
                                              ath_json_text(one->document), "text",
                                              ath_json_text(one->text), "hint",
                                              ath_json_text(one->hint)));
    }
    return left;
}

static json_t *clean_to_json(const void *data)
{
    const struct ath_clean_report *report = data;
    json_t *steps = json_array();

    for (size_t i = 0; i < report->steps->count; i++) {
        const struct ath_clean_step *step = &report->steps->items[i];
        json_array_append_new(
            steps, json_pack("{s:s, s:o, s:o, s:o, s:o}", "kind", ath_clean_kind_word(step->kind),
                             "object", ath_json_text(step->object), "numa",
                             ath_json_number(step->id), "text", ath_json_text(step->text), "error",
                             error_to_json(step->status, &step->err)));
    }
    return json_pack("{s:b, s:o, s:o, s:o}", "is_dry_run", report->is_dry_run, "steps", steps,
                     "left", left_to_json(report->steps), "images_left",
                     ath_json_texts(&report->steps->images));
}

static void print_step(const struct ath_style *style, FILE *out, const struct ath_clean_step *step)
{
    if (!step->status) {
        print_line(style, out, ATH_ROLE_PLAIN, ath_xasprintf("  %s", step->text));
        return;
    }
    print_line(style, out, ATH_ROLE_BAD, ath_xasprintf("  %s", step->err.message));
    print_hint(style, out, step->err.hint);
}

static void print_nothing(FILE *out, const struct ath_clean_report *report)
{
    const struct ath_clean_steps *steps = report->steps;
    fprintf(out, "%s\n",
            report->is_of_some ? _("nothing to do: nothing of these entries is there")
            : steps->left_count || steps->images.count
                ? _("nothing to do")
                : _("nothing to do: nothing of aitherion's is there"));
}

static void clean_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_clean_report *report = data;
    const struct ath_clean_steps *steps = report->steps;

    if (steps->count)
        fprintf(out, "%s\n", report->is_dry_run ? _("To be done:") : _("Done:"));
    else
        print_nothing(out, report);
    for (size_t i = 0; i < steps->count; i++)
        print_step(style, out, &steps->items[i]);
    for (size_t i = 0; i < steps->left_count; i++) {
        print_line(style, out, ATH_ROLE_WARN,
                   ath_xasprintf(_("NUMA%d stays: %s"), steps->left[i].id, steps->left[i].text));
        print_hint(style, out, steps->left[i].hint);
    }
    for (size_t i = 0; i < steps->images.count && !steps->count; i++) {
        print_line(style, out, ATH_ROLE_PLAIN,
                   ath_xasprintf(_("the image '%s' stays"), steps->images.items[i]));
        print_hint(style, out, "aitherion clean --images");
    }
}

const struct ath_view ath_clean_view = { "aitherion.clean/1", clean_to_json, clean_to_text, NULL,
                                         0 };
