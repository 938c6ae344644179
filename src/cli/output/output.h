/*
 * Output of commands in every format.
 *
 * A command fills a struct and never prints. A view turns that struct into JSON by a table of
 * fields (YAML is made from the JSON), and prints it as text. A view may have more formats (matrix,
 * dot, svg) in its table of pictures.
 */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"
#include "cli/output/style.h"

enum ath_format {
    ATH_FORMAT_TEXT,
    ATH_FORMAT_JSON,
    ATH_FORMAT_YAML,
    ATH_FORMAT_MATRIX,
    ATH_FORMAT_DOT,
    ATH_FORMAT_SVG,
    ATH_FORMAT_COUNT
};

typedef void (*ath_writer)(const struct ath_style *style, FILE *out, const void *data);

struct ath_picture {
    enum ath_format format;
    ath_writer write;
};

struct ath_field;

struct ath_view {
    const char *schema; /* "aitherion.machine/1"; ath_output() puts it first into the JSON */
    const char *title;  /* of the schema */
    const char *about;  /* its description; NULL for none */
    const struct ath_field *fields; /* members of the JSON object after "schema" */
    /* Members that grow with time alone, up to a NULL: not a change for --watch. NULL: none. */
    const char *const *clocks;
    ath_writer to_text;
    const struct ath_picture *pictures;
    size_t picture_count;
};

/* Returns the view's JSON, and its JSON Schema for docs/schema. Each is a new reference. Commands
 * in members called "hint" get the options of this run, from the style. */
json_t *ath_view_to_json(const struct ath_view *view, const void *data,
                         const struct ath_style *style);
json_t *ath_view_schema(const struct ath_view *view);

/* The word for a format on the command line: "text", "json", ... */
const char *ath_format_word(enum ath_format format);

/*
 * Makes the whole output in memory; the caller frees *out, which has out_length bytes. Returns 0,
 * or a negative errno with err filled; -EINVAL if the view does not have the format.
 */
int ath_output_make(const struct ath_view *view, const void *data, enum ath_format format,
                    const struct ath_style *style, char **out, size_t *out_length,
                    struct ath_err *err);

/*
 * Makes the output, then writes and flushes it: if it cannot be made, nothing is written. Returns
 * 0, or a negative errno with err filled: -EINVAL if the view does not have the format, -ENOSPC for
 * a full disk, -EPIPE for a closed pipe.
 */
int ath_output(const struct ath_view *view, const void *data, enum ath_format format,
               const struct ath_style *style, FILE *out, struct ath_err *err);
