/* Showing the runtime's image: what was packed and where it went, what Docker has, what was
 * removed. */
#pragma once
#include <stdbool.h>

#include "cli/output/bar.h"
#include "cli/output/output.h"
#include "container/docker_image.h"
#include "container/image_build.h"
#include "container/image_load.h"

enum ath_image_outcome { ATH_IMAGE_LOADED, ATH_IMAGE_CURRENT, ATH_IMAGE_SAVED };

struct ath_image_report {
    bool is_dry_run;
    enum ath_image_outcome outcome; /* in a dry run: what it would be */
    const struct ath_image *image;
    const char *file; /* of a saved one */
    char *docker;     /* where it listens; NULL for a saved one */
};
void ath_image_report_free(struct ath_image_report *report);

struct ath_image_list_report {
    const char *docker, *wanted; /* the name that `start` uses */
    const struct ath_docker_images *images;
};

struct ath_image_removal {
    bool is_dry_run, is_there; /* it was there */
    const char *image, *docker;
};

extern const struct ath_view ath_image_build_view;  /* of a struct ath_image_report */
extern const struct ath_view ath_image_list_view;   /* of a struct ath_image_list_report */
extern const struct ath_view ath_image_remove_view; /* of a struct ath_image_removal */

/* How far an image is on its way. */
struct ath_image_bar {
    struct ath_bar bar;
    bool is_file; /* it goes into a file, not into Docker */
};

/* As ath_image_watch wants it; context is a struct ath_image_bar. */
void ath_image_bar_show(void *context, const struct ath_image_progress *progress);
