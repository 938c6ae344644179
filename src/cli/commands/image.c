/* aitherion image: the parent of the commands about the runtime's image. */
#include "config.h"

#include "base/i18n.h"
#include "cli/commands/commands.h"

static const struct ath_command *const children[] = { ATH_IMAGE_COMMANDS(ATH_COMMAND_CHILD) NULL };

static const struct ath_example examples[] = {
    { "aitherion image build", N_("make the runtime's image from the installed files") },
    { "aitherion image list", N_("show aitherion's images in Docker") },
    { .command = NULL },
};

const struct ath_command ath_command_image = {
    .name = "image",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("the image that runtime containers are made from"),
    .description =
        N_("The commands about the image that runtime containers are made from. It is packed from "
           "the files installed on this machine and needs no registry."),
    .examples = examples,
    .children = children,
};
