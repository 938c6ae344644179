/* What `image build`, `list` and `remove` share: the document's word on Docker, and the client. */
#pragma once
#include "cli/cli.h"
#include "config/document.h"
#include "container/docker.h"

/* The document where there is one, else an empty one; one with faults is an error. */
int ath_image_document(struct ath_cli *cli, struct ath_document *out, struct ath_err *err);

/* The image that is meant: the name given, else the document's, else ATH_IMAGE_TAG. */
const char *ath_image_name(const char *given, const struct ath_document *document);

/* Docker, stopped by signals. Returns 0, or a negative errno with err, as docker.h has them. */
int ath_image_docker(const struct ath_document *document, struct ath_docker **out,
                     struct ath_err *err);
