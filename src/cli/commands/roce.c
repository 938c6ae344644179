/* aitherion roce: holds the commands about RDMA cards. A new one is one row here. */
#include "config.h"

#include "base/i18n.h"
#include "cli/commands/commands.h"

static const struct ath_command *const children[] = {
    &ath_command_roce_test,
    NULL,
};

static const struct ath_example examples[] = {
    { "aitherion roce test", N_("how fast two RDMA ports of this machine reach each other") },
    { .command = NULL },
};

const struct ath_command ath_command_roce = {
    .name = "roce",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("RDMA cards: what they can do and who uses them"),
    .description = N_("The commands about RDMA cards (RoCE and InfiniBand)."),
    .examples = examples,
    .children = children,
};
