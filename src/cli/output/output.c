/*
 * The formats, as a table of writers.
 *
 * Each output is made in memory and written in one go: errno then belongs to the write that failed,
 * and a reader never sees half of something that could not be finished.
 */
#include "config.h"

#include "cli/output/output.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/json_yaml.h"

/* What a writer needs, in one place. */
struct job {
    const struct ath_view *view;
    const void *data;
    enum ath_format format;
    const struct ath_style *style;
    struct ath_err *err;
};

static json_t *make_json(const struct job *job)
{
    json_t *fields = job->view->to_json(job->data);
    json_t *object = json_pack("{s:s}", "schema", job->view->schema);
    json_object_update(object, fields);
    json_decref(fields);
    return object;
}

static int write_text(const struct job *job, FILE *out)
{
    job->view->to_text(job->style, out, job->data);
    return 0;
}

static int write_json(const struct job *job, FILE *out)
{
    json_t *object = make_json(job);
    /* As a string first: jansson writes letter by letter, which a stream makes slow. */
    ath_auto_free char *text = json_dumps(object, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    json_decref(object);
    if (!text)
        return ath_err_set(job->err, -EINVAL, ATH_E_INTERNAL, _("cannot make the output"));
    fprintf(out, "%s\n", text);
    return 0;
}

static int write_yaml(const struct job *job, FILE *out)
{
    json_t *object = make_json(job);
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
    return ath_err_set(job->err, -EINVAL, ATH_E_USAGE, _("'%s' is no format of this command"),
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
