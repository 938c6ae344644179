/* aitherion roce: the parent of the commands about RDMA cards. */
#include "config.h"

#include "base/i18n.h"
#include "cli/commands/commands.h"

static const struct ath_command *const children[] = { ATH_ROCE_COMMANDS(ATH_COMMAND_CHILD) NULL };

static const struct ath_example examples[] = {
    { "aitherion roce list", N_("show the cards, which GID to use, and what uses them") },
    { "aitherion roce add 0003:01:00.0 --numa 0,1", N_("use a card for two NUMA entries") },
    { "aitherion roce bind mlx5_0 0", N_("give mlx5_0 to the container of NUMA0") },
    { "aitherion roce macvlan mv0 --parent eth0 --address 10.1.1.2/24",
      N_("make a macvlan link and write it into the document") },
    { "aitherion roce test", N_("measure the speed between two RDMA ports of this machine") },
    { .command = NULL },
};

const struct ath_command ath_command_roce = {
    .name = "roce",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("RDMA cards: what they can do and what uses them"),
    .description = N_("The commands about RDMA cards (RoCE and InfiniBand)."),
    .examples = examples,
    .children = children,
};
