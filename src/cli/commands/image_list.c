/* aitherion image list: shows the images that aitherion made. */
#include "config.h"

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/cli.h"
#include "cli/commands/commands.h"
#include "cli/commands/image_docker.h"
#include "cli/output/image.h"
#include "container/image/load.h"

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    (void)data;
    ATH_AUTO(ath_document) document = { 0 };
    ath_auto_docker struct ath_docker *docker = NULL;
    ATH_AUTO(ath_docker_images) images = { 0 };

    int status = ath_image_document(cli, &document, err);
    if (!status)
        status = ath_image_docker(&document, &docker, err);
    if (!status)
        status = ath_image_list(docker, &images, err);
    if (status)
        return status;
    const struct ath_image_list_report report = { .docker = ath_docker_where(docker),
                                                  .wanted = ath_image_name(NULL, &document),
                                                  .images = &images };
    return ath_cli_show(cli, &ath_image_list_view, &report, ath_cli_format(cli), err);
}

static const struct ath_example examples[] = {
    { "aitherion image list", N_("names, versions and sizes") },
    { "aitherion image list --json", N_("the same as data") },
    { .command = NULL },
};

const struct ath_command ath_command_image_list = {
    .name = "list",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("show the images that aitherion made"),
    .description = N_("Shows the images that `aitherion image build` made, which it finds by "
                      "their labels. Other images are not shown."),
    .examples = examples,
    .run = run,
};
