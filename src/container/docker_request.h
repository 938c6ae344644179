/*
 * What is asked of the Docker Engine: one HTTP request, as the functions in docker_container.h,
 * docker_network.h, docker_image.h and docker_system.h make it. ath_docker_do() and
 * ath_docker_batch_add() in docker.h send it and release it; the members below may be changed
 * before.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "container/docker_stream.h"

enum ath_docker_shape {
    ATH_DOCKER_NOTHING, /* an answer's content, if any, is passed over */
    ATH_DOCKER_OBJECT,
    ATH_DOCKER_ARRAY,
    ATH_DOCKER_JSON_LINES, /* handed to on_json, one by one */
    ATH_DOCKER_PROGRESS,   /* the same, where a line may also say that all failed */
    ATH_DOCKER_OUTPUT,     /* handed to on_output */
};

/* Fills buffer with what is to be sent next: returns how many bytes, 0 at the end, or a negative
 * errno with err, which ends the request. */
typedef ssize_t ath_docker_upload(void *context, char *buffer, size_t size, struct ath_err *err);

enum { ATH_DOCKER_ANSWER_MAX = 16 << 20, ATH_DOCKER_TIMEOUT_MS = 60 * 1000 };

struct ath_docker_request {
    const char *method; /* "GET", "POST", "DELETE" */
    char *path;         /* behind the version: "/containers/json?all=1" */
    char *what;         /* the first half of an error's message: "cannot start container 'x'" */
    json_t *body;       /* NULL for none */
    bool is_unversioned;

    enum ath_docker_shape shape;
    enum ath_error conflict; /* what HTTP 409 means here: ATH_E_EXISTS, ATH_E_CONFLICT */
    int timeout_ms;          /* from sending to the answer's end; 0: none, as for what follows */
    int idle_timeout_ms;     /* without a byte in either direction, in whole seconds; 0: none */
    int delay_ms;            /* wait so long before sending; the timeout begins afterwards */
    size_t answer_max;       /* bytes of an OBJECT or ARRAY */

    bool is_raw; /* OUTPUT: of a container with a terminal */
    ath_docker_on_json *on_json;
    ath_docker_on_output *on_output;
    ath_docker_upload *upload; /* NULL: body is what is sent */
    int64_t upload_bytes;      /* or ATH_UNKNOWN */
    void *context;             /* of these three */
};

/*
 * A request with the defaults above and an empty path, for the makers of requests; format says what
 * is being done. Never NULL; ath_docker_request_free() takes NULL.
 */
struct ath_docker_request *ath_docker_request_new(const char *method, enum ath_docker_shape shape,
                                                  const char *format, ...)
    __attribute__((format(printf, 3, 4), returns_nonnull));
void ath_docker_request_free(struct ath_docker_request *request);

/* Sets the path: before, word with all that has a meaning in a URL escaped, behind. The name of an
 * image keeps its slashes. */
void ath_docker_path(struct ath_docker_request *request, const char *before, const char *word,
                     const char *behind);
void ath_docker_path_image(struct ath_docker_request *request, const char *before,
                           const char *image, const char *behind);

/* Appends "?key=value" or "&key=value", escaped; nothing for NULL. */
void ath_docker_query(struct ath_docker_request *request, const char *key, const char *value);
void ath_docker_query_number(struct ath_docker_request *request, const char *key, int64_t value);

/* The same for filters, which is taken over and may be NULL: { "label": [ "key=value" ] }. */
void ath_docker_query_filters(struct ath_docker_request *request, json_t *filters);

/* The filter by one label, "key" or "key=value"; NULL for NULL. */
json_t *ath_docker_filter_label(const char *label);
