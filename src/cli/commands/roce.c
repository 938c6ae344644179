/* aitherion roce: holds the commands about RDMA cards. A new one is one row here. */
#include "config.h"

#include "base/i18n.h"
#include "cli/commands/commands.h"

static const struct ath_command *const children[] = {
    &ath_command_roce_list,
    &ath_command_roce_add,
    &ath_command_roce_remove,
    &ath_command_roce_macvlan,
    &ath_command_roce_bind,
    &ath_command_roce_test,
    NULL,
};

static const struct ath_example examples[] = {
    { "aitherion roce list", N_("the cards, which GID to use, and who uses them") },
    { "aitherion roce add 0003:01:00.0 --numa 0,1", N_("take a card into use") },
    { "aitherion roce bind mlx5_0 0", N_("the container of NUMA0 gets mlx5_0") },
    { "aitherion roce macvlan mv0 --parent eth0 --address 10.1.1.2/24",
      N_("make a macvlan link, and write it into the document") },
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
