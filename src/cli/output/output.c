/*
 * The formats, as a table of writers.
 *
 * Each output is made in memory and written with one call. So errno belongs to the write that
 * failed, and no reader gets the first half of an output that could not be made.
 */
#include "config.h"

#include "cli/output/output.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/fields.h"
#include "cli/output/json_yaml.h"

/* The arguments of a writer. */
struct job {
    const struct ath_view *view;
    const void *data;
    enum ath_format format;
    const struct ath_style *style;
    struct ath_err *err;
};

static void complete_hints(json_t *value, const struct ath_style *style)
{
    const char *key;
    json_t *member;
    size_t i;

    json_array_foreach(value, i, member) complete_hints(member, style);
    json_object_foreach(value, key, member)
    {
        if (strcmp(key, "hint") != 0 || !json_is_string(member)) {
            complete_hints(member, style);
            continue;
        }
        ath_auto_free char *hint = ath_style_suggest(style, json_string_value(member));
        json_string_set(member, hint);
    }
}

json_t *ath_view_to_json(const struct ath_view *view, const void *data,
                         const struct ath_style *style)
{
    json_t *object = json_pack("{s:s}", "schema", view->schema);
    json_object_update_new(object, ath_fields_to_json(view->fields, data));
    complete_hints(object, style);
    return object;
}

json_t *ath_view_schema(const struct ath_view *view)
{
    json_t *schema =
        json_pack("{s:s, s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title",
                  view->title);
    json_t *properties = json_pack("{s:{s:s}}", "schema", "const", view->schema);
    json_t *required = json_pack("[s]", "schema");
    json_t *rest = ath_fields_schema(view->fields);

    if (view->about)
        json_object_set_new(schema, "description", json_string(view->about));
    json_object_update(properties, json_object_get(rest, "properties"));
    json_array_extend(required, json_object_get(rest, "required"));
    json_object_set_new(rest, "properties", properties);
    json_object_set_new(rest, "required", required);
    json_object_update_new(schema, rest);
    return schema;
}

static int write_text(const struct job *job, FILE *out)
{
    job->view->to_text(job->style, out, job->data);
    return 0;
}

static int write_json(const struct job *job, FILE *out)
{
    json_t *object = ath_view_to_json(job->view, job->data, job->style);
    /* Make a string first: jansson writes one character at a time, which is slow on a stream. */
    ath_auto_free char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(object);
    if (!text)
        return ath_err_set(job->err, -EINVAL, ATH_E_INTERNAL, _("cannot make the output"));
    fprintf(out, "%s\n", text);
    return 0;
}

static int write_yaml(const struct job *job, FILE *out)
{
    json_t *object = ath_view_to_json(job->view, job->data, job->style);
    int status = ath_json_write_yaml(object, out, job->err);
    json_decref(object);
    return status;
}

static int write_picture(const struct job *job, FILE *out)
{
    for (size_t i = 0; i < job->view->picture_count; i++)
        if (job->view->pictures[i].format == job->format) {
            job->view->pictures[i].write(job->style, out, job->data);
            return 0;
        }
    return ath_err_set(job->err, -EINVAL, ATH_E_USAGE, _("this command has no format '%s'"),
                       ath_format_word(job->format));
}

static const struct {
    const char *word;
    int (*write)(const struct job *job, FILE *out);
} formats[ATH_FORMAT_COUNT] = {
    [ATH_FORMAT_TEXT] = { "text", write_text },  [ATH_FORMAT_JSON] = { "json", write_json },
    [ATH_FORMAT_YAML] = { "yaml", write_yaml },  [ATH_FORMAT_MATRIX] = { "matrix", write_picture },
    [ATH_FORMAT_DOT] = { "dot", write_picture }, [ATH_FORMAT_SVG] = { "svg", write_picture },
};

const char *ath_format_word(enum ath_format format)
{
    return formats[format].word;
}

int ath_output_make(const struct ath_view *view, const void *data, enum ath_format format,
                    const struct ath_style *style, char **out, size_t *out_length,
                    struct ath_err *err)
{
    const struct job job = { view, data, format, style, err };
    ath_auto_free char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (!memory)
        return ath_err_system(err, -errno, _("cannot make the output"));
    int status = formats[format].write(&job, memory);
    if (fclose(memory) && !status)
        status = ath_err_system(err, -ENOMEM, _("cannot make the output"));
    if (status)
        return status;
    *out = ath_steal(&text);
    *out_length = length;
    return 0;
}

int ath_output(const struct ath_view *view, const void *data, enum ath_format format,
               const struct ath_style *style, FILE *out, struct ath_err *err)
{
    ath_auto_free char *text = NULL;
    size_t length = 0;

    int status = ath_output_make(view, data, format, style, &text, &length, err);
    if (status)
        return status;
    if (fwrite(text, 1, length, out) != length || fflush(out))
        return ath_err_system(err, errno ? -errno : -EIO, _("cannot write the output"));
    return 0;
}
