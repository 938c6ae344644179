/* aitherion net: the parent of the commands about networks to runtimes. */
#include "config.h"

#include "base/i18n.h"
#include "cli/commands/commands.h"

static const struct ath_command *const children[] = { ATH_NET_COMMANDS(ATH_COMMAND_CHILD) NULL };

static const struct ath_example examples[] = {
    { "aitherion net test --server 10.0.0.11:50051",
      N_("measure the paths to a runtime on another machine") },
    { .command = NULL },
};

const struct ath_command ath_command_net = {
    .name = "net",
    .group = ATH_GROUP_RUNTIME,
    .summary = N_("the network to runtimes"),
    .description = N_("The commands about the network between this host and runtimes."),
    .examples = examples,
    .children = children,
};
