/* Shows the runtime's image: the result of a build, the images that Docker has, a removal. */
#pragma once
#include <stdbool.h>

#include "cli/output/bar.h"
#include "cli/output/output.h"
#include "container/docker/image.h"
#include "container/image/build.h"
#include "container/image/load.h"

enum ath_image_outcome {
    ATH_IMAGE_LOADED,
    ATH_IMAGE_CURRENT,
    ATH_IMAGE_SAVED,
    ATH_IMAGE_OUTCOME_COUNT
};

struct ath_image_report {
    bool is_dry_run;
    enum ath_image_outcome outcome; /* in a dry run: the outcome of a real run */
    const struct ath_image *image;
    const char *file; /* where the image was saved; else NULL */
    char *docker;     /* Docker's address, owned; NULL for a saved image */
};
void ath_image_report_free(struct ath_image_report *report);

struct ath_image_list_report {
    const char *docker; /* Docker's address */
    const char *wanted; /* the name of the image that `start` uses */
    const struct ath_docker_images *images;
};

struct ath_image_removal {
    bool is_dry_run, is_there; /* is_there: the image existed before */
    const char *image, *docker;
};

extern const struct ath_view ath_image_build_view;  /* of a struct ath_image_report */
extern const struct ath_view ath_image_list_view;   /* of a struct ath_image_list_report */
extern const struct ath_view ath_image_remove_view; /* of a struct ath_image_removal */

/* The progress of writing or sending an image. */
struct ath_image_bar {
    struct ath_bar bar;
    bool is_file; /* the image is written to a file, not sent to Docker */
};

/* A callback for ath_image_watch; context is a struct ath_image_bar. */
void ath_image_bar_show(void *context, const struct ath_image_progress *progress);
