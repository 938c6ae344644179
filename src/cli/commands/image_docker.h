/* What `image build`, `list` and `remove` share: the document's settings for Docker, and the
 * client. */
#pragma once
#include "cli/cli.h"
#include "config/document.h"
#include "container/docker/docker.h"

/*
 * Loads the document; *out stays empty if there is none and -c names none. Returns 0, or a negative
 * errno with err, also for a document with faults. The caller releases *out with
 * ath_document_free().
 */
int ath_image_document(struct ath_cli *cli, struct ath_document *out, struct ath_err *err);

/*
 * Returns the image's name: given, else the document's, else ATH_IMAGE_TAG. Points to one of them.
 */
const char *ath_image_name(const char *given, const struct ath_document *document);

/* Opens Docker; signals stop its calls (cli/watch.h). The caller closes *out. Returns 0, or a
 * negative errno with err as in docker.h. */
int ath_image_docker(const struct ath_document *document, struct ath_docker **out,
                     struct ath_err *err);
