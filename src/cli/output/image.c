/* The runtime's image as text and as data. */
#include "config.h"

#include "cli/output/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "cli/output/clean.h"
#include "cli/output/json.h"
#include "cli/output/words.h"

enum { SHORT_ID = 12 };

void ath_image_report_free(struct ath_image_report *report)
{
    if (report)
        free(report->docker);
}

/* The digits of an id that people compare: 12, as Docker shows them. */
static char *short_id(const char *id)
{
    if (id && ath_starts_with(id, "sha256:"))
        id += strlen("sha256:");
    return ath_xasprintf("%.*s", SHORT_ID, id ? id : "?");
}

/* Libraries are small: below one MiB in KiB. The caller frees it. */
static char *size_words(int64_t bytes)
{
    return bytes < 1 << 20 ? ath_xasprintf("%.1f KiB", (double)bytes / 1024)
                           : ath_words_size(bytes);
}

/* ---- build ---- */

static const char *const outcomes[] = {
    [ATH_IMAGE_LOADED] = "loaded",
    [ATH_IMAGE_CURRENT] = "current",
    [ATH_IMAGE_SAVED] = "saved",
};

static json_t *files_to_json(const struct ath_image *image)
{
    json_t *list = json_array();
    for (size_t i = 0; i < image->file_count; i++) {
        const struct ath_image_file *file = &image->files[i];
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o}", "path", ath_json_text(file->path), "source",
                            ath_json_text(file->source), "needed_by", ath_json_text(file->needer),
                            "size_bytes", ath_json_number(file->size_bytes)));
    }
    return list;
}

static json_t *build_to_json(const void *data)
{
    const struct ath_image_report *report = data;
    const struct ath_image *image = report->image;

    return json_pack("{s:o, s:b, s:s, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:o, s:o, s:o}", "image",
                     ath_json_text(image->tag), "is_dry_run", report->is_dry_run, "outcome",
                     outcomes[report->outcome], "docker", ath_json_text(report->docker), "file",
                     ath_json_text(report->file), "id", ath_json_text(image->id), "build_id",
                     ath_json_text(image->build_id), "version", image->version, "architecture",
                     image->architecture, "size_bytes", ath_json_number(image->content_bytes),
                     "archive_bytes", ath_json_number(image->archive_bytes), "files",
                     files_to_json(image), "from_host", ath_json_texts(&image->from_host));
}

static void print_outcome(const struct ath_style *style, FILE *out,
                          const struct ath_image_report *report)
{
    ath_auto_free char *place =
        ath_clean(report->file ? report->file : report->docker, style->is_utf8);
    static const char *const done[] = {
        [ATH_IMAGE_LOADED] = N_("loaded '%s' into Docker at %s\n"),
        [ATH_IMAGE_CURRENT] = N_("nothing to do: '%s' is in Docker at %s already\n"),
        [ATH_IMAGE_SAVED] = N_("wrote '%s' into %s\n"),
    };
    static const char *const planned[] = {
        [ATH_IMAGE_LOADED] = N_("would load '%s' into Docker at %s\n"),
        [ATH_IMAGE_CURRENT] = N_("nothing to do: '%s' is in Docker at %s already\n"),
        [ATH_IMAGE_SAVED] = N_("would write '%s' into %s\n"),
    };
    fprintf(out, _((report->is_dry_run ? planned : done)[report->outcome]), report->image->tag,
            place);
}

static void print_file(const struct ath_style *style, FILE *out, const struct ath_image_file *file,
                       int width)
{
    ath_auto_free char *path = ath_clean(file->path, style->is_utf8);
    ath_auto_free char *needer = ath_clean(file->needer, style->is_utf8);
    ath_auto_free char *size = size_words(file->size_bytes);

    fprintf(out, "  %s%-*s%s  %9s", ath_style_on(style, ATH_ROLE_NAME), width, path,
            ath_style_off(style, ATH_ROLE_NAME), size);
    if (needer)
        fprintf(out, _("  for %s"), needer);
    putc('\n', out);
}

static void build_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_image_report *report = data;
    const struct ath_image *image = report->image;
    ath_auto_free char *id = short_id(image->id);
    ath_auto_free char *size = ath_words_size(image->content_bytes);
    int width = 0;

    print_outcome(style, out, report);
    if (report->outcome == ATH_IMAGE_CURRENT)
        return;
    fprintf(out, _("image %s, version %s, %s, %s\n"), id, image->version, image->architecture,
            size);
    for (size_t i = 0; i < image->file_count; i++) {
        int length = (int)strlen(image->files[i].path);
        width = length > width ? length : width;
    }
    for (size_t i = 0; i < image->file_count; i++)
        print_file(style, out, &image->files[i], width);
    for (size_t i = 0; i < image->from_host.count; i++) {
        ath_auto_free char *name = ath_clean(image->from_host.items[i], style->is_utf8);
        fprintf(out, _("  %s comes from the host\n"), name);
    }
}

const struct ath_view ath_image_build_view = { "aitherion.image-build/1", build_to_json,
                                               build_to_text, NULL, 0 };

/* ---- list ---- */

static bool is_wanted(const struct ath_image_list_report *report,
                      const struct ath_docker_image *image)
{
    for (size_t i = 0; i < image->names.count; i++)
        if (!strcmp(image->names.items[i], report->wanted))
            return true;
    return false;
}

static json_t *list_to_json(const void *data)
{
    const struct ath_image_list_report *report = data;
    json_t *list = json_array();

    for (size_t i = 0; i < report->images->count; i++) {
        const struct ath_docker_image *image = &report->images->items[i];
        json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "id", ath_json_text(image->id), "names",
                      ath_json_texts(&image->names), "version",
                      ath_json_text(ath_image_label(image, ATH_IMAGE_LABEL_VERSION)), "build_id",
                      ath_json_text(ath_image_label(image, ATH_IMAGE_LABEL_BUILD)), "size_bytes",
                      ath_json_number(image->size_bytes), "is_used_by_start",
                      is_wanted(report, image)));
    }
    return json_pack("{s:o, s:o, s:o}", "docker", ath_json_text(report->docker), "used_by_start",
                     ath_json_text(report->wanted), "images", list);
}

/* "aitherion-runtime:latest, aitherion-runtime:old"; the caller frees it. */
static char *joined(const struct ath_texts *names)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < names->count; i++)
        ath_text_add_part(&text, ", ", "%s", names->items[i]);
    return ath_text_take(&text);
}

static void print_image(const struct ath_style *style, FILE *out,
                        const struct ath_docker_image *image, bool is_used)
{
    ath_auto_free char *names = joined(&image->names);
    ath_auto_free char *clean = ath_clean(*names ? names : _("(no name)"), style->is_utf8);
    ath_auto_free char *version =
        ath_clean(ath_image_label(image, ATH_IMAGE_LABEL_VERSION), style->is_utf8);
    ath_auto_free char *id = short_id(image->id);
    ath_auto_free char *size =
        image->size_bytes == ATH_UNKNOWN ? ath_xstrdup("?") : ath_words_size(image->size_bytes);

    fprintf(out, "%s%s%s  %s", ath_style_on(style, ATH_ROLE_NAME), clean,
            ath_style_off(style, ATH_ROLE_NAME), id);
    fprintf(out, _("  version %s, %s"), version ? version : "?", size);
    fputs(is_used ? _(", used by `aitherion start`\n") : "\n", out);
}

static void list_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_image_list_report *report = data;

    if (!report->images->count)
        fprintf(out, _("Docker at %s has no image of aitherion\n%s aitherion image build\n"),
                report->docker, _("Next:"));
    for (size_t i = 0; i < report->images->count; i++)
        print_image(style, out, &report->images->items[i],
                    is_wanted(report, &report->images->items[i]));
}

const struct ath_view ath_image_list_view = { "aitherion.image-list/1", list_to_json, list_to_text,
                                              NULL, 0 };

/* ---- remove ---- */

static json_t *remove_to_json(const void *data)
{
    const struct ath_image_removal *removal = data;
    return json_pack("{s:o, s:o, s:b, s:b, s:b}", "image", ath_json_text(removal->image), "docker",
                     ath_json_text(removal->docker), "is_dry_run", removal->is_dry_run, "was_there",
                     removal->is_there, "is_removed", removal->is_there && !removal->is_dry_run);
}

static void remove_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_image_removal *removal = data;
    ath_auto_free char *image = ath_clean(removal->image, style->is_utf8);

    fprintf(out,
            !removal->is_there    ? _("nothing to do: there is no image '%s'\n")
            : removal->is_dry_run ? _("would remove the image '%s'\n")
                                  : _("removed the image '%s'\n"),
            image);
}

const struct ath_view ath_image_remove_view = { "aitherion.image-remove/1", remove_to_json,
                                                remove_to_text, NULL, 0 };

/* ---- the bar ---- */

void ath_image_bar_show(void *context, const struct ath_image_progress *progress)
{
    struct ath_image_bar *bar = context;
    bool is_known = progress->done_bytes != ATH_UNKNOWN && progress->total_bytes > 0;
    const char *phase = progress->phase == ATH_IMAGE_UNPACKING ? _("unpacking")
                        : bar->is_file                         ? _("writing")
                                                               : _("sending");
    const char *line = progress->phase == ATH_IMAGE_UNPACKING ? _("Docker unpacks the image")
                       : bar->is_file                         ? _("writing the image")
                                                              : _("sending the image to Docker");
    ath_auto_free char *done = is_known ? ath_words_size(progress->done_bytes) : NULL;
    ath_auto_free char *total = is_known ? ath_words_size(progress->total_bytes) : NULL;
    ath_auto_free char *note = is_known ? ath_xasprintf(_("%s of %s"), done, total) : NULL;

    ath_bar_show(&bar->bar,
                 &(struct ath_bar_step){ .phase = phase,
                                         .fraction = is_known ? (double)progress->done_bytes /
                                                                    (double)progress->total_bytes
                                                              : -1,
                                         .note = note },
                 line);
}
