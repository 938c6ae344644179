/* aitherion image remove: removes an image that aitherion made from Docker. */
#include "config.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/commands/image_docker.h"
#include "cli/output/image.h"
#include "config/forms.h"
#include "container/image/load.h"

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    (void)data;
    ATH_AUTO(ath_document) document = { 0 };
    ath_auto_docker struct ath_docker *docker = NULL;
    const char *given = cli->argument_count ? cli->arguments[0] : NULL;
    struct ath_image_removal removal = { .is_dry_run = cli->globals.is_dry_run };

    if (given && !ath_form_fits(ATH_FORM_IMAGE, given)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is not an image name"), given);
        return ath_err_hint(err, -EINVAL, "aitherion image list");
    }
    int status = ath_image_document(cli, &document, err);
    if (!status)
        status = ath_image_docker(&document, &docker, err);
    if (status)
        return status;
    removal.image = ath_image_name(given, &document);
    removal.docker = ath_docker_where(docker);
    status = ath_image_remove(docker, removal.image, removal.is_dry_run, &removal.is_there, err);
    return status ? status : ath_cli_show_done(cli, &ath_image_remove_view, &removal, err);
}

static const struct ath_argument arguments[] = {
    { .name = "IMAGE",
      .help = N_("name or id of the image (default: engine.image of the document, else "
                 "aitherion-runtime:latest)"),
      .is_optional = true,
      .completion = ATH_COMPLETE_IMAGE },
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion image remove", N_("remove the image that `start` uses") },
    { "aitherion image remove aitherion-runtime:old", N_("remove another image of aitherion") },
    { .command = NULL },
};

const struct ath_command ath_command_image_remove = {
    .name = "remove",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("remove an image that aitherion made from Docker"),
    .description =
        N_("Removes the name from the image, and with its last name the image itself. An image "
           "that aitherion did not make, or that a container uses, stays. If there is nothing to "
           "remove, the command succeeds."),
    .arguments = arguments,
    .examples = examples,
    .run = run,
};
