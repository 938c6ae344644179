/* Builds requests: paths, queries, defaults. */
#include "config.h"

#include "container/docker/request.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "base/unknown.h"

struct ath_docker_request *ath_docker_request_new(const char *method, enum ath_docker_shape shape,
                                                  const char *format, ...)
{
    struct ath_docker_request *request = ath_xalloc(sizeof *request);
    *request = (struct ath_docker_request){
        .method = method,
        .path = ath_xstrdup(""),
        .shape = shape,
        .conflict = ATH_E_CONFLICT,
        .timeout_ms = ATH_DOCKER_TIMEOUT_MS,
        .answer_max = ATH_DOCKER_ANSWER_MAX,
        .upload_bytes = ATH_UNKNOWN,
    };
    va_list args;
    va_start(args, format);
    if (vasprintf(&request->what, format, args) < 0)
        abort();
    va_end(args);
    return request;
}

void ath_docker_request_free(struct ath_docker_request *request)
{
    if (!request)
        return;
    free(request->path);
    free(request->what);
    json_decref(request->body);
    free(request);
}

/* Percent-encodes (RFC 3986, 2.1) all characters except unreserved ones and those in keep. */
static void add_escaped(struct ath_text *text, const char *word, const char *keep)
{
    for (; *word; word++) {
        if (isascii(*word) &&
            (isalnum((unsigned char)*word) || strchr("-._~", *word) || strchr(keep, *word)))
            ath_text_add_bytes(text, word, 1);
        else
            ath_text_add(text, "%%%02X", (unsigned char)*word);
    }
}

static void set_path(struct ath_docker_request *request, const char *before, const char *word,
                     const char *keep, const char *behind)
{
    ATH_AUTO(ath_text) path = { 0 };
    ath_text_add(&path, "%s", before);
    add_escaped(&path, word, keep);
    ath_text_add(&path, "%s", behind);
    free(request->path);
    request->path = ath_text_take(&path);
}

void ath_docker_path(struct ath_docker_request *request, const char *before, const char *word,
                     const char *behind)
{
    set_path(request, before, word, "", behind);
}

void ath_docker_path_image(struct ath_docker_request *request, const char *before,
                           const char *image, const char *behind)
{
    set_path(request, before, image, "/:@", behind);
}

void ath_docker_query(struct ath_docker_request *request, const char *key, const char *value)
{
    if (!value)
        return;
    ATH_AUTO(ath_text) path = { 0 };
    ath_text_add(&path, "%s%c%s=", request->path, strchr(request->path, '?') ? '&' : '?', key);
    add_escaped(&path, value, "");
    free(request->path);
    request->path = ath_text_take(&path);
}

void ath_docker_query_number(struct ath_docker_request *request, const char *key, int64_t value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRId64, value);
    ath_docker_query(request, key, digits);
}

void ath_docker_query_filters(struct ath_docker_request *request, json_t *filters)
{
    ath_auto_free char *text = filters ? json_dumps(filters, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    ath_docker_query(request, "filters", text);
    json_decref(filters);
}

json_t *ath_docker_filter_label(const char *label)
{
    return label ? json_pack("{s:[s]}", "label", label) : NULL;
}
