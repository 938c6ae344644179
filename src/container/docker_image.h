/* Images of the Docker Engine: the requests, and reading what is answered. `image` is a reference
 * ("aitherion-runtime:latest") or an id ("sha256:..."). */
#pragma once
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "config/schema.h"
#include "container/docker_request.h"

/*
 * Loads a tar archive as `docker save` writes them (also compressed). upload is asked for the
 * archive, upload_bytes of it (ATH_UNKNOWN: until it answers 0), and so knows how far it has come;
 * on_json, which may be NULL, gets the daemon's own lines, for ath_docker_progress_read(). Both
 * with context. There is no timeout but one of five minutes without a byte.
 */
struct ath_docker_request *ath_docker_image_load(ath_docker_upload *upload, int64_t upload_bytes,
                                                 ath_docker_on_json *on_json, void *context);

/* Answer: see ath_docker_image_read(). */
struct ath_docker_request *ath_docker_image_inspect(const char *image);

/* All that bear the label ("key", "key=value"), NULL for every one. Answer: see
 * ath_docker_images_read(). */
struct ath_docker_request *ath_docker_image_list(const char *label);

/* Gives the image one more name, "repository" or "repository:tag", which moves there if another
 * image has it. */
struct ath_docker_request *ath_docker_image_tag(const char *image, const char *name);

/* Takes the name off the image, and removes it with its last name. Error "conflict": a container
 * is made of it, or more names need force. Answer: a list. */
struct ath_docker_request *ath_docker_image_remove(const char *image, bool force);

/* One line of what a daemon says while it works. Texts belong to the line. */
struct ath_docker_progress {
    const char *id;                  /* of the layer; NULL */
    const char *status;              /* "Loading layer"; NULL */
    int64_t done_bytes, total_bytes; /* ATH_UNKNOWN */
    const char *loaded;              /* the name or id of an image that is there now; NULL */
    size_t loaded_length;
};
void ath_docker_progress_read(const json_t *line, struct ath_docker_progress *out);

struct ath_docker_image {
    char *id;               /* "sha256:..." */
    struct ath_texts names; /* "aitherion-runtime:latest"; none for one that lost them all */
    int64_t size_bytes;     /* ATH_UNKNOWN */
    char *architecture;     /* "amd64", "ppc64le"; NULL in a list */
    char *created_at;       /* RFC 3339; NULL in a list */
    json_t *labels;         /* an object */
    json_t *json;           /* all of the answer */
};

struct ath_docker_images {
    struct ath_docker_image *items; /* by id */
    size_t count;
};

void ath_docker_image_free(struct ath_docker_image *image);
void ath_docker_images_free(struct ath_docker_images *images);

/* Return 0, or -EBADMSG with err "engine-invalid". *out owns its texts and references. */
int ath_docker_image_read(json_t *json, struct ath_docker_image *out, struct ath_err *err);
int ath_docker_images_read(const json_t *json, struct ath_docker_images *out, struct ath_err *err);
