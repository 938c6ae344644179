/* Finding the document, the image's name and Docker. */
#include "config.h"

#include "cli/commands/image_docker.h"

#include "base/cleanup.h"
#include "cli/watch.h"
#include "container/image/build.h"

int ath_image_document(struct ath_cli *cli, struct ath_document *out, struct ath_err *err)
{
    ath_auto_free char *path = ath_cli_document_path(cli);
    int status = ath_document_load(path, out, &cli->faults, err);

    /* a document that -c names must exist */
    return err->code == ATH_E_DOCUMENT_MISSING && !cli->globals.config ? 0 : status;
}

const char *ath_image_name(const char *given, const struct ath_document *document)
{
    return given ? given : document->engine.image ? document->engine.image : ATH_IMAGE_TAG;
}

int ath_image_docker(const struct ath_document *document, struct ath_docker **out,
                     struct ath_err *err)
{
    static const struct ath_docker_stop stop = { .is_stopped = ath_stop_is_wanted };
    ATH_AUTO(ath_docker_host) host = { 0 };

    ath_stop_catch();
    int status = ath_docker_host_find(NULL, document->engine.docker_host, &host, err);
    return status ? status : ath_docker_open(&host, &stop, 0, out, err);
}
