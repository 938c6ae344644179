/* aitherion cluster: the parent of the commands about several nodes. */
#include "config.h"

#include "base/i18n.h"
#include "cli/commands/commands.h"

static const struct ath_command *const children[] = { ATH_CLUSTER_COMMANDS(ATH_COMMAND_CHILD)
                                                          NULL };

static const struct ath_example examples[] = {
    { "aitherion cluster show --cluster cluster.yaml", N_("show racks, nodes and switches") },
    { "aitherion cluster place 32", N_("choose nodes and GPUs for a job") },
    { .command = NULL },
};

const struct ath_command ath_command_cluster = {
    .name = "cluster",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("show several nodes, choose nodes for a job, and estimate its transfers"),
    .description =
        N_("Commands for a cluster. A file describes the cluster: racks, switches and nodes, with "
           "the bandwidth and the latency of each link. docs/cluster.md has the keys of the file."),
    .examples = examples,
    .children = children,
};
