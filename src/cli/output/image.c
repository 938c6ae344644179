/* The runtime's image, as text and as JSON. */
#include "config.h"

#include "cli/output/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "cli/output/fields.h"
#include "cli/output/json.h"
#include "cli/output/words.h"

enum { SHORT_ID = 12 };

void ath_image_report_free(struct ath_image_report *report)
{
    if (report)
        free(report->docker);
}

/* The first 12 digits of an id, as Docker shows it. The caller frees it. */
static char *short_id(const char *id)
{
    if (id && ath_starts_with(id, "sha256:"))
        id += strlen("sha256:");
    return ath_xasprintf("%.*s", SHORT_ID, id ? id : "?");
}

/* A size in KiB below one MiB, because libraries are small. The caller frees it. */
static char *size_words(int64_t bytes)
{
    return bytes < 1 << 20 ? ath_xasprintf("%.1f KiB", (double)bytes / 1024)
                           : ath_words_size(bytes);
}

/* ---- build ---- */

static const char *outcome_word(int outcome)
{
    static const char *const words[] = {
        [ATH_IMAGE_LOADED] = "loaded",
        [ATH_IMAGE_CURRENT] = "current",
        [ATH_IMAGE_SAVED] = "saved",
    };
    return words[outcome];
}

#define AT(member) ATH_AT(struct ath_image_file, member)
static const struct ath_field file_fields[] = {
    ATH_FIELD("path", AT(path), .help = "path in the image"),
    ATH_FIELD("source", AT(source),
              .help =
                  "path on this machine; with --sysroot, below that folder (except the program)"),
    ATH_FIELD("needed_by", AT(needer),
              .help = "first library or program that needs the file; null for the program",
              .is_nullable = true),
    ATH_FIELD("size_bytes", AT(size_bytes), .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

static const void *find_image(const void *object)
{
    return ((const struct ath_image_report *)object)->image;
}

#define AT(member) ATH_AT(struct ath_image_report, member)
#define IN_IMAGE(member) ATH_AT(struct ath_image, member), .find = find_image
static const struct ath_field build_fields[] = {
    ATH_FIELD("image", IN_IMAGE(tag), .help = "name of the image"),
    ATH_FIELD("is_dry_run", AT(is_dry_run)),
    ATH_FIELD("outcome", AT(outcome),
              .help =
                  "loaded: sent to Docker; current: Docker already has this image; saved: written "
                  "to a file. With --dry-run the outcome of a real run",
              .word = outcome_word, .word_count = ATH_IMAGE_OUTCOME_COUNT),
    ATH_FIELD("docker", AT(docker), .help = "Docker's address; null for a file",
              .is_nullable = true),
    ATH_FIELD("file", AT(file), .help = "path of the written file; null for Docker",
              .is_nullable = true),
    ATH_FIELD("id", IN_IMAGE(id),
              .help = "digest of the image's configuration, which is Docker's image id; Docker's "
                      "containerd image store shows another id",
              .rules = "{\"pattern\": \"^sha256:[0-9a-f]{64}$\"}"),
    ATH_FIELD("build_id", IN_IMAGE(build_id),
              .help =
                  "digest of the whole contents of the image; also its label aitherion.build-id",
              .rules = "{\"pattern\": \"^[0-9a-f]{64}$\"}"),
    ATH_FIELD("version", IN_IMAGE(version)),
    ATH_FIELD("architecture", IN_IMAGE(architecture), .help = "architecture by Docker's name"),
    ATH_FIELD("size_bytes", IN_IMAGE(content_bytes), .help = "size of the files",
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("archive_bytes", IN_IMAGE(archive_bytes), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("files", ATH_AT_LIST(struct ath_image, files, file_count), .find = find_image,
              .help = "files of the image: the program first, then its loader and libraries",
              .fields = file_fields),
    ATH_FIELD("from_host", IN_IMAGE(from_host),
              .help = "libraries of the GPU driver: not in the image, the host provides them"),
    { .name = NULL },
};
#undef IN_IMAGE
#undef AT

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
        fprintf(out, _("  needed by %s"), needer);
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
        fprintf(out, _("  %s is left out: the host provides it\n"), name);
    }
}

const struct ath_view ath_image_build_view = {
    .schema = "aitherion.image-build/1",
    .title = "Output of `aitherion image build --json`",
    .fields = build_fields,
    .to_text = build_to_text,
};

/* ---- list ---- */

static bool is_wanted(const struct ath_image_list_report *report,
                      const struct ath_docker_image *image)
{
    return ath_docker_image_is_named(image, report->wanted);
}

/* An image and its report. */
struct listed {
    const struct ath_docker_image *image;
    bool is_wanted;
};

static const void *find_listed(const void *object)
{
    return ((const struct listed *)object)->image;
}

static json_t *make_label_version(const void *object)
{
    return ath_json_text(ath_image_label(find_listed(object), ATH_IMAGE_LABEL_VERSION));
}

static json_t *make_label_build(const void *object)
{
    return ath_json_text(ath_image_label(find_listed(object), ATH_IMAGE_LABEL_BUILD));
}

#define IN_IMAGE(member) ATH_AT(struct ath_docker_image, member), .find = find_listed
static const struct ath_field listed_fields[] = {
    ATH_FIELD("id", IN_IMAGE(id)),
    ATH_FIELD("names", IN_IMAGE(names),
              .help = "names of the image; empty if its name was given to a newer image"),
    ATH_FIELD("version", ATH_OF(ATH_FIELD_TEXT), .is_nullable = true, .make = make_label_version),
    ATH_FIELD("build_id", ATH_OF(ATH_FIELD_TEXT), .is_nullable = true, .make = make_label_build),
    ATH_FIELD("size_bytes", IN_IMAGE(size_bytes), .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("is_used_by_start", ATH_AT(struct listed, is_wanted)),
    { .name = NULL },
};
#undef IN_IMAGE

static json_t *make_images(const void *object)
{
    const struct ath_image_list_report *report = object;
    json_t *list = json_array();

    for (size_t i = 0; i < report->images->count; i++) {
        const struct ath_docker_image *image = &report->images->items[i];
        const struct listed listed = { image, is_wanted(report, image) };
        json_array_append_new(list, ath_fields_to_json(listed_fields, &listed));
    }
    return list;
}

#define AT(member) ATH_AT(struct ath_image_list_report, member)
static const struct ath_field list_fields[] = {
    ATH_FIELD("docker", AT(docker), .help = "Docker's address"),
    ATH_FIELD("used_by_start", AT(wanted), .help = "name of the image that `aitherion start` uses"),
    ATH_FIELD("images", ATH_LIST_OF(ATH_FIELD_OBJECT), .help = "images made by aitherion, by id",
              .fields = listed_fields, .make = make_images),
    { .name = NULL },
};
#undef AT

static void print_image(const struct ath_style *style, FILE *out,
                        const struct ath_docker_image *image, bool is_used)
{
    ath_auto_free char *names = ath_texts_join(&image->names);
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
    ath_auto_free char *next = ath_style_suggest(style, "aitherion image build");

    if (!report->images->count)
        fprintf(out, _("Docker at %s has no aitherion image\n%s %s\n"), report->docker, _("Next:"),
                next);
    for (size_t i = 0; i < report->images->count; i++)
        print_image(style, out, &report->images->items[i],
                    is_wanted(report, &report->images->items[i]));
}

const struct ath_view ath_image_list_view = {
    .schema = "aitherion.image-list/1",
    .title = "Output of `aitherion image list --json`",
    .fields = list_fields,
    .to_text = list_to_text,
};

/* ---- remove ---- */

static json_t *make_is_removed(const void *object)
{
    const struct ath_image_removal *removal = object;
    return json_boolean(removal->is_there && !removal->is_dry_run);
}

#define AT(member) ATH_AT(struct ath_image_removal, member)
static const struct ath_field removal_fields[] = {
    ATH_FIELD("image", AT(image), .help = "name or id of the image to remove"),
    ATH_FIELD("docker", AT(docker), .help = "Docker's address"),
    ATH_FIELD("is_dry_run", AT(is_dry_run)),
    ATH_FIELD("was_there", AT(is_there)),
    ATH_FIELD("is_removed", ATH_OF(ATH_FIELD_BOOL), .make = make_is_removed),
    { .name = NULL },
};
#undef AT

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

const struct ath_view ath_image_remove_view = {
    .schema = "aitherion.image-remove/1",
    .title = "Output of `aitherion image remove --json`",
    .fields = removal_fields,
    .to_text = remove_to_text,
};

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
