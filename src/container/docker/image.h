/* Images of the Docker Engine: makes the requests and reads the answers. `image` is a reference
 * ("aitherion-runtime:latest") or an id ("sha256:..."). */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "config/schema.h"
#include "container/docker/request.h"

/*
 * Loads a tar archive in the format of `docker save`, which may be compressed. upload supplies the
 * archive of upload_bytes bytes (ATH_UNKNOWN: until upload returns 0). on_json, which may be NULL,
 * receives the daemon's lines, for ath_docker_progress_read(). Both get context. The request fails
 * only after five minutes without a byte.
 */
struct ath_docker_request *ath_docker_image_load(ath_docker_upload *upload, int64_t upload_bytes,
                                                 ath_docker_on_json *on_json, void *context);

/* Answer: see ath_docker_image_read(). */
struct ath_docker_request *ath_docker_image_inspect(const char *image);

/* Lists all images with the label ("key", "key=value"); NULL: all images. Answer: see
 * ath_docker_images_read(). */
struct ath_docker_request *ath_docker_image_list(const char *label);

/* Gives the image another name, "repository" or "repository:tag". An image that has the name loses
 * it. */
struct ath_docker_request *ath_docker_image_tag(const char *image, const char *name);

/* Removes the name from the image, and the image with its last name. Error "conflict": a container
 * uses the image, or the image has several names and force is false. Answer: a list. */
struct ath_docker_request *ath_docker_image_remove(const char *image, bool force);

/* One line of a daemon's progress report. The texts belong to the line. */
struct ath_docker_progress {
    const char *id;                  /* of the layer; NULL */
    const char *status;              /* "Loading layer"; NULL */
    int64_t done_bytes, total_bytes; /* ATH_UNKNOWN */
    const char *loaded;              /* the name or id of an image that was loaded; NULL */
    size_t loaded_length;
};
void ath_docker_progress_read(const json_t *line, struct ath_docker_progress *out);

struct ath_docker_image {
    char *id;               /* "sha256:..." */
    struct ath_texts names; /* "aitherion-runtime:latest"; may be empty */
    int64_t size_bytes;     /* ATH_UNKNOWN */
    char *architecture;     /* "amd64", "ppc64le"; NULL in a list */
    char *created_at;       /* RFC 3339; NULL in a list */
    json_t *labels;         /* an object */
    json_t *json;           /* the whole answer */
};

struct ath_docker_images {
    struct ath_docker_image *items; /* by id */
    size_t count;
};

/* Returns whether the image has the name. Podman writes "localhost/NAME" for a name without a
 * registry, and finds it by NAME. */
bool ath_docker_image_is_named(const struct ath_docker_image *image, const char *name);

void ath_docker_image_free(struct ath_docker_image *image);
void ath_docker_images_free(struct ath_docker_images *images);

/* Return 0, or -EBADMSG with err "engine-invalid". *out owns its texts and references. */
int ath_docker_image_read(json_t *json, struct ath_docker_image *out, struct ath_err *err);
int ath_docker_images_read(const json_t *json, struct ath_docker_images *out, struct ath_err *err);
