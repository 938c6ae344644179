/*
 * From a command's plain data to what a person or a program reads.
 *
 * A command fills a struct and never prints. A view says how that struct becomes JSON (from which
 * YAML is made) and text; further pictures (matrix, dot, svg) are rows of the view's own table.
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

struct ath_view {
    const char *schema; /* "aitherion.machine/1"; put first into the JSON by ath_output() */
    json_t *(*to_json)(const void *data); /* a new reference to an object without "schema" */
    ath_writer to_text;
    const struct ath_picture *pictures;
    size_t picture_count;
};

/* "text", "json", ... */
const char *ath_format_word(enum ath_format format);

/* Makes the whole output in memory; the caller frees *out. Returns 0 or a negative errno with err.
 */
int ath_output_make(const struct ath_view *view, const void *data, enum ath_format format,
                    const struct ath_style *style, char **out, size_t *out_length,
                    struct ath_err *err);

/*
 * Writes data to out in a format, whole or (where it cannot be made) not at all, and flushes.
 * Returns 0, or a negative errno with err: a format that the view does not have, a full disk, a
 * closed pipe.
 */
int ath_output(const struct ath_view *view, const void *data, enum ath_format format,
               const struct ath_style *style, FILE *out, struct ath_err *err);
