/* Saves an image, loads it into Docker, lists and removes images. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "container/docker/docker.h"
#include "container/docker/image.h"
#include "container/image/build.h"

enum ath_image_phase { ATH_IMAGE_SENDING, ATH_IMAGE_UNPACKING };

struct ath_image_progress {
    enum ath_image_phase phase;
    int64_t done_bytes, total_bytes; /* of the phase; ATH_UNKNOWN */
};

/* The caller's functions; both may be NULL. A load is stopped by the client's ath_docker_stop. */
struct ath_image_watch {
    void (*progress)(void *context, const struct ath_image_progress *progress);
    bool (*is_stopped)(void *context); /* called between pieces of a save */
    void *context;
};

/* Writes the archive into a file, whole or not at all ("-": to standard output). Returns 0, or a
 * negative errno with err. */
int ath_image_save(const struct ath_image *image, const char *path,
                   const struct ath_image_watch *watch, struct ath_err *err);

/* Sets *out_is_current if Docker has exactly this image under its name. Returns 0, or a negative
 * errno with err. */
int ath_image_is_current(struct ath_docker *docker, const struct ath_image *image,
                         bool *out_is_current, struct ath_err *err);

/*
 * Loads the image into Docker under its name, and checks that it arrived. An older image of ours
 * that loses its last name is removed, unless a container uses it. Returns 0, or a negative errno
 * with err from docker.h, or "not-supported" for an image of another architecture than Docker's
 * machine.
 */
int ath_image_load(struct ath_docker *docker, const struct ath_image *image,
                   const struct ath_image_watch *watch, struct ath_err *err);

/* Removes an image of ours that has no name any more, unless a container uses it. A failure is only
 * logged. */
void ath_image_drop_nameless(struct ath_docker *docker, const char *id);

/* Returns the text of a label, which belongs to the image, or NULL. */
const char *ath_image_label(const struct ath_docker_image *image, const char *label);

/* Returns true if aitherion made the image: it has our labels, and was made at the epoch. A foreign
 * image that is built on ours has only the labels. */
bool ath_image_is_ours(const struct ath_docker_image *image);

/* Lists all images that aitherion made. Returns 0, or a negative errno with err. *out is released
 * with ath_docker_images_free(). */
int ath_image_list(struct ath_docker *docker, struct ath_docker_images *out, struct ath_err *err);

/*
 * Removes a name, or an id, and the image with its last name; a dry run only looks for it. A
 * missing image is no error: *out_is_there is then false. Returns 0, or a negative errno with err:
 * "foreign" if aitherion did not make the image, "conflict" if a container uses it.
 */
int ath_image_remove(struct ath_docker *docker, const char *name, bool is_dry_run,
                     bool *out_is_there, struct ath_err *err);
