/*
 * The runtime's image, made from files of this machine: the program, its loader and its libraries
 * (closure.h), a minimal /etc, the folders that a system needs. No registry, no base image, no
 * shell.
 *
 * The archive has the format of `docker load` (moby, image/tarexport: manifest.json, a
 * configuration, one layer). The same files, version and tag give the same bytes and the same id.
 * The layer has a merged /usr, so that files which Docker or a GPU's tools bind into /usr/lib are
 * also found in /lib. All libraries go into the folder in which libc was found: that folder is
 * built into the loader, so the image needs no cache.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/root.h"
#include "config/schema.h"
#include "container/image/digest.h"
#include "container/image/tar.h"

#define ATH_IMAGE_TAG "aitherion-runtime:latest"
#define ATH_IMAGE_LIBRARIES "/usr/lib/aitherion" /* inside: local/ and sim/ */

/* Labels of every image that aitherion made. Containers inherit them, and so do foreign images that
 * are built on one of ours. */
#define ATH_IMAGE_LABEL_VERSION "aitherion.version"
#define ATH_IMAGE_LABEL_BUILD "aitherion.build-id"
#define ATH_IMAGE_LABEL_TAG "aitherion.tag" /* the name that aitherion gave the image */

/* The creation time of all our images, so that the same files make the same image. */
#define ATH_IMAGE_EPOCH "1970-01-01T00:00:00Z"

struct ath_image_recipe {
    const char *program; /* the runtime's file; NULL: the one beside aitherion */
    const char *root;    /* in which libraries are searched; NULL: "/" */
    const char *tag;     /* NULL: ATH_IMAGE_TAG; a name without a tag gets ":latest" */
};

struct ath_image_file {
    char *path;   /* in the image: "/usr/bin/aitherion-runtime" */
    char *source; /* on this machine */
    char *needer; /* the library or program that needs it; NULL for the program */
    int64_t size_bytes;
};

struct ath_image {
    char *tag;
    const char *version, *architecture;          /* "0.1.0", "amd64" */
    char id[sizeof "sha256:" + ATH_DIGEST_TEXT]; /* digest of its configuration, as in Docker */
    char layer_id[sizeof "sha256:" + ATH_DIGEST_TEXT];
    char build_id[ATH_DIGEST_TEXT]; /* digest of its contents, the same in every engine */
    struct ath_image_file *files;
    size_t file_count;
    struct ath_texts from_host; /* libraries of a GPU's driver, left out */
    int64_t content_bytes;      /* of the files */
    int64_t archive_bytes;

    struct ath_root root; /* private from here on */
    struct ath_tar layer, archive;
};

/*
 * Finds the files and reads them once for their digests. Returns 0, or a negative errno with err:
 * "not-found" (no runtime), "binary-invalid", "library-missing", "not-supported" (an architecture
 * that Docker does not know). *out is released with ath_image_free().
 */
int ath_image_make(const struct ath_image_recipe *recipe, struct ath_image **out,
                   struct ath_err *err);
void ath_image_free(struct ath_image *image); /* takes NULL */

static inline void ath_image_free_p(struct ath_image *const *image)
{
    ath_image_free(*image);
}
#define ath_auto_image __attribute__((cleanup(ath_image_free_p)))
