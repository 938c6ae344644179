/* aitherion image: holds the commands about the runtime's image. */
#include "config.h"

#include "base/i18n.h"
#include "cli/commands/commands.h"

static const struct ath_command *const children[] = {
    &ath_command_image_build,
    &ath_command_image_list,
    &ath_command_image_remove,
    NULL,
};

static const struct ath_example examples[] = {
    { "aitherion image build", N_("make the runtime's image from what is installed here") },
    { "aitherion image list", N_("which images of ours Docker has") },
    { .command = NULL },
};

const struct ath_command ath_command_image = {
    .name = "image",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("the image that runtime containers are made of"),
    .description =
        N_("The commands about the image that runtime containers are made of. It is packed from "
           "the files installed here and needs no registry."),
    .examples = examples,
    .children = children,
};
