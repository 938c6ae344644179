/* Bringing an image to where it is used, and taking it away again. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "container/docker.h"
#include "container/docker_image.h"
#include "container/image_build.h"

enum ath_image_phase { ATH_IMAGE_SENDING, ATH_IMAGE_UNPACKING };

struct ath_image_progress {
    enum ath_image_phase phase;
    int64_t done_bytes, total_bytes; /* of the phase; ATH_UNKNOWN */
};

/* Who follows; both functions may be NULL. Loading is stopped by the client's own
 * ath_docker_stop. */
struct ath_image_watch {
    void (*progress)(void *context, const struct ath_image_progress *progress);
    bool (*is_stopped)(void *context); /* asked between pieces of a save */
    void *context;
};

/* Writes the archive into a file, whole or not at all ("-": to standard output). Returns 0, or a
 * negative errno with err. */
int ath_image_save(const struct ath_image *image, const char *path,
                   const struct ath_image_watch *watch, struct ath_err *err);

/* Whether Docker has this very image under its name. Returns 0, or a negative errno with err. */
int ath_image_is_current(struct ath_docker *docker, const struct ath_image *image,
                         bool *out_is_current, struct ath_err *err);

/*
 * Loads it into Docker under its name, and looks that it is there. An older image of ours that has
 * lost its last name thereby is removed, unless a container is made of it. Returns 0, or a negative
 * errno with err, as docker.h has them; "not-supported" for an image of another architecture than
 * Docker's machine.
 */
int ath_image_load(struct ath_docker *docker, const struct ath_image *image,
                   const struct ath_image_watch *watch, struct ath_err *err);

/* Removes an image of ours whose name has moved to a newer one, unless a container is made of it:
 * no fault of whoever moved the name, or took the last container away. */
void ath_image_drop_nameless(struct ath_docker *docker, const char *id);

/* A label's text, NULL where it is not there; it belongs to the image. */
const char *ath_image_label(const struct ath_docker_image *image, const char *label);

/* Whether we made it: it has our labels, and was made at the epoch. One that somebody built on ours
 * inherits the labels alone. */
bool ath_image_is_ours(const struct ath_docker_image *image);

/* All images that we made. *out is released with ath_docker_images_free(). */
int ath_image_list(struct ath_docker *docker, struct ath_docker_images *out, struct ath_err *err);

/*
 * Takes the name, or an id, away, and the image with its last name; in a dry run only finds it. Not
 * there is no error, then *out_is_there is false. Refused with "foreign" where we did not make it,
 * with "conflict" where a container is made of it.
 */
int ath_image_remove(struct ath_docker *docker, const char *name, bool is_dry_run,
                     bool *out_is_there, struct ath_err *err);
