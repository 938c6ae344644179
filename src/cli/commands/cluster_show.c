/* aitherion cluster show: racks, nodes and switches. */
#include "config.h"

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/clusters.h"
#include "cli/commands/commands.h"
#include "cli/output/cluster_show.h"

struct options {
    struct ath_cluster_options cluster;
};

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(ath_cluster) cluster = { 0 };
    ATH_AUTO(ath_cluster_report) report = { 0 };

    int status = ath_cli_cluster(cli, &options->cluster, &cluster, err);
    if (status)
        return status;
    ath_cluster_report_make(&cluster, &report);
    return ath_cli_show(cli, &ath_cluster_show_view, &report, ath_cli_format(cli), err);
}

static const struct ath_option option_table[] = {
    ATH_CLUSTER_OPTION(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion cluster show --cluster cluster.yaml", N_("racks, nodes and switches") },
    { "aitherion cluster show --cluster /etc/slurm/topology.conf", N_("the switches of Slurm") },
    { .command = NULL },
};

const struct ath_command ath_command_cluster_show = {
    .name = "show",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("show racks, nodes and switches of a cluster"),
    .description =
        N_("Shows the nodes by rack, equal nodes in one row: their GPUs, how many of these are "
           "free, the switch, and the bandwidth and latency of the link to it; then the switches. "
           "--json has each node."),
    .options = option_table,
    .options_size = sizeof(struct options),
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
