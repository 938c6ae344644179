/* The results of `stop` and `clean`, or their plans in a dry run. */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "cli/output/ending.h"
#include "cli/output/fields.h"
#include "cli/output/status.h"
#include "cli/output/words.h"

/* Prints a line and frees text. */
static void print_line(const struct ath_style *style, FILE *out, enum ath_role role, char *text)
{
    ath_style_print(style, out, &(struct ath_paragraph){ .text = text, .role = role });
    free(text);
}

static void print_hint(const struct ath_style *style, FILE *out, const char *text)
{
    ath_auto_free char *hint = ath_style_hint(style, text);
    if (hint)
        ath_style_print(
            style, out,
            &(struct ath_paragraph){ .prefix = "  ", .text = hint, .role = ATH_ROLE_DIM });
}

/* ---- stop ---- */

#define AT(member) ATH_AT(struct ath_stop_result, member)
static const struct ath_field stopped_fields[] = {
    ATH_FIELD("id", AT(id)),
    ATH_FIELD("engine", AT(engine), .words = ath_words_engines),
    ATH_FIELD("was_running", AT(was_running)),
    ATH_FIELD("error", ATH_AT(struct ath_stop_result, err),
              .failed = ATH_FAILED(struct ath_stop_result, status), .fields = ath_error_fields),
    { .name = NULL },
};
#undef AT

static const void *find_results(const void *object)
{
    return ((const struct ath_stop_report *)object)->results;
}

static const void *find_stop_ends(const void *object)
{
    return ((const struct ath_stop_report *)object)->ends;
}

static const struct ath_field stop_fields[] = {
    ATH_FIELD("is_dry_run", ATH_AT(struct ath_stop_report, is_dry_run)),
    ATH_FIELD("nodes", ATH_AT_LIST(struct ath_stop_results, items, count), .fields = stopped_fields,
              .find = find_results),
    ATH_FIELD("missing", ATH_AT_LIST(struct ath_stop_report, missing, missing_count),
              .help = "given ids that have neither process nor container"),
    ATH_FIELD("ends", ATH_AT_LIST(struct ath_session_report, items, count), .help = ATH_ENDING_HELP,
              .fields = ath_ending_fields, .find = find_stop_ends),
    { .name = NULL },
};

static void print_stopped(const struct ath_style *style, FILE *out, bool is_dry_run,
                          const struct ath_stop_result *one)
{
    if (one->status) {
        print_line(style, out, ATH_ROLE_BAD,
                   ath_xasprintf("NUMA%d: %s", one->id, one->err.message));
        print_hint(style, out, one->err.hint);
        return;
    }
    const char *format = !one->was_running ? _("NUMA%d is not running (%s)")
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
        fprintf(out, "%s\n", _("nothing to do: no runtime found"));
    if (report->is_dry_run)
        ath_ending_print(style, out, report->ends);
}

const struct ath_view ath_stop_view = {
    .schema = "aitherion.stop/1",
    .title = "Output of `aitherion stop --json`",
    .fields = stop_fields,
    .to_text = stop_to_text,
};

/* ---- clean ---- */

ATH_FIELD_WORD(kind_word, enum ath_clean_kind, ath_clean_kind_word)

#define AT(member) ATH_AT(struct ath_clean_step, member)
static const struct ath_field step_fields[] = {
    ATH_FIELD("kind", AT(kind), .word = kind_word, .word_count = ATH_CLEAN_KIND_COUNT),
    ATH_FIELD("object", AT(object), .help = "name or path of the removed thing"),
    ATH_FIELD("numa", AT(id), .help = "id of the NUMA entry", .is_nullable = true),
    ATH_FIELD("text", AT(text)),
    ATH_FIELD("error", ATH_AT(struct ath_clean_step, err),
              .failed = ATH_FAILED(struct ath_clean_step, status), .fields = ath_error_fields),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_clean_left, member)
static const struct ath_field left_fields[] = {
    ATH_FIELD("numa", AT(id), .help = "id of the NUMA entry; null for a macvlan",
              .is_nullable = true),
    ATH_FIELD("document", AT(document),
              .help = "the other document; null if the run folder differs", .is_nullable = true),
    ATH_FIELD("text", AT(text)),
    ATH_FIELD("hint", AT(hint), .help = "command that removes it"),
    { .name = NULL },
};
#undef AT

static const void *find_steps(const void *object)
{
    return ((const struct ath_clean_report *)object)->steps;
}

static const void *find_clean_ends(const void *object)
{
    return ((const struct ath_clean_report *)object)->ends;
}

static const struct ath_field clean_fields[] = {
    ATH_FIELD("is_dry_run", ATH_AT(struct ath_clean_report, is_dry_run)),
    ATH_FIELD("steps", ATH_AT_LIST(struct ath_clean_steps, items, count),
              .help = "steps in their order", .fields = step_fields, .find = find_steps),
    ATH_FIELD("left", ATH_AT_LIST(struct ath_clean_steps, left, left_count),
              .help = "runtimes and macvlans that are kept, because they were made for another "
                      "existing document or with another run folder",
              .fields = left_fields, .find = find_steps),
    ATH_FIELD("images_left", ATH_AT(struct ath_clean_steps, images),
              .help = "images made by aitherion that are kept without --images",
              .find = find_steps),
    ATH_FIELD("ends", ATH_AT_LIST(struct ath_session_report, items, count), .help = ATH_ENDING_HELP,
              .fields = ath_ending_fields, .find = find_clean_ends),
    { .name = NULL },
};

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
            report->is_of_some ? _("nothing to do: these entries left nothing behind")
            : steps->left_count || steps->images.count
                ? _("nothing to do")
                : _("nothing to do: found nothing that aitherion made"));
}

static void clean_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_clean_report *report = data;
    const struct ath_clean_steps *steps = report->steps;

    if (steps->count)
        fprintf(out, "%s\n", report->is_dry_run ? _("Would do:") : _("Done:"));
    else
        print_nothing(out, report);
    for (size_t i = 0; i < steps->count; i++)
        print_step(style, out, &steps->items[i]);
    for (size_t i = 0; i < steps->left_count; i++) {
        const struct ath_clean_left *left = &steps->left[i];
        print_line(style, out, ATH_ROLE_WARN,
                   left->id == ATH_UNKNOWN
                       ? ath_xasprintf(_("kept: %s"), left->text)
                       : ath_xasprintf(_("NUMA%d is kept: %s"), left->id, left->text));
        print_hint(style, out, left->hint);
    }
    for (size_t i = 0; i < steps->images.count && !steps->count; i++) {
        print_line(style, out, ATH_ROLE_PLAIN,
                   ath_xasprintf(_("the image '%s' is kept"), steps->images.items[i]));
        print_hint(style, out, "aitherion clean --images");
    }
    if (report->is_dry_run)
        ath_ending_print(style, out, report->ends);
}

const struct ath_view ath_clean_view = {
    .schema = "aitherion.clean/1",
    .title = "Output of `aitherion clean --json`",
    .fields = clean_fields,
    .to_text = clean_to_text,
};
