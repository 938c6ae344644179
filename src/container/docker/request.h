/*
 * A request to the Docker Engine: one HTTP request, made by the functions of container.h,
 * network.h, image.h and system.h. ath_docker_do() and ath_docker_batch_add() of docker.h send and
 * release it. A caller may change the members below before that.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "container/docker/stream.h"

enum ath_docker_shape {
    ATH_DOCKER_NOTHING, /* the answer's content is ignored */
    ATH_DOCKER_OBJECT,
    ATH_DOCKER_ARRAY,
    ATH_DOCKER_JSON_LINES, /* each line goes to on_json */
    ATH_DOCKER_PROGRESS,   /* the same, but a line may report that the request failed */
    ATH_DOCKER_OUTPUT,     /* goes to on_output */
};

/* Fills buffer with the next bytes to send. Returns how many, 0 at the end, or a negative errno
 * with err, which ends the request. */
typedef ssize_t ath_docker_upload(void *context, char *buffer, size_t size, struct ath_err *err);

enum { ATH_DOCKER_ANSWER_MAX = 16 << 20, ATH_DOCKER_TIMEOUT_MS = 60 * 1000 };

struct ath_docker_request {
    const char *method; /* "GET", "POST", "DELETE" */
    char *path;         /* after the API version: "/containers/json?all=1" */
    char *what;         /* the first half of an error's message: "cannot start container 'x'" */
    json_t *body;       /* NULL for none */
    bool is_unversioned;

    enum ath_docker_shape shape;
    enum ath_error conflict; /* the meaning of HTTP 409: ATH_E_EXISTS, ATH_E_CONFLICT */
    int timeout_ms;          /* from sending to the end of the answer; 0: none */
    int idle_timeout_ms;     /* without a byte in either direction, in whole seconds; 0: none */
    int delay_ms;            /* before sending; the timeout begins afterwards */
    size_t answer_max;       /* bytes of an OBJECT or ARRAY */

    bool is_raw; /* OUTPUT: the container has a terminal */
    ath_docker_on_json *on_json;
    ath_docker_on_output *on_output;
    ath_docker_upload *upload; /* NULL: body is sent */
    int64_t upload_bytes;      /* or ATH_UNKNOWN */
    void *context;             /* of the three functions above */
};

/*
 * Makes a request with the default values and an empty path; format says what the request does
 * ("cannot ..."). Never returns NULL. ath_docker_request_free() takes NULL.
 */
struct ath_docker_request *ath_docker_request_new(const char *method, enum ath_docker_shape shape,
                                                  const char *format, ...)
    __attribute__((format(printf, 3, 4), returns_nonnull));
void ath_docker_request_free(struct ath_docker_request *request);

/* Sets the path: before, the escaped word, behind. The name of an image keeps its slashes, colons
 * and @. */
void ath_docker_path(struct ath_docker_request *request, const char *before, const char *word,
                     const char *behind);
void ath_docker_path_image(struct ath_docker_request *request, const char *before,
                           const char *image, const char *behind);

/* Appends "?key=value" or "&key=value", escaped; does nothing if value is NULL. */
void ath_docker_query(struct ath_docker_request *request, const char *key, const char *value);
void ath_docker_query_number(struct ath_docker_request *request, const char *key, int64_t value);

/* The same for filters, { "label": [ "key=value" ] }, which are taken over and may be NULL. */
void ath_docker_query_filters(struct ath_docker_request *request, json_t *filters);

/* Returns the filter for one label, "key" or "key=value"; NULL for NULL. */
json_t *ath_docker_filter_label(const char *label);
