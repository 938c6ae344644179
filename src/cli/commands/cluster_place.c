/* aitherion cluster place: nodes and GPUs for a job. */
#include "config.h"

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/clusters.h"
#include "cli/commands/commands.h"
#include "cli/output/cluster_place.h"

/* The buffer of the estimate that stands beside a placement. */
enum { ESTIMATE_BYTES = 100000000 };

struct options {
    struct ath_cluster_options cluster;
};

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    ATH_AUTO(ath_cluster) cluster = { 0 };
    ATH_AUTO(ath_cluster_placement) placement = { 0 };

    int status = ath_cli_cluster(cli, &options->cluster, &cluster, err);
    if (!status)
        status = ath_cli_cluster_place(&cluster, &options->cluster, cli->arguments[0], "K",
                                       &placement, err);
    if (status)
        return status;
    struct ath_cluster_place_report report = { .cluster = &cluster,
                                               .placement = &placement,
                                               .size_bytes = ESTIMATE_BYTES };
    ath_cluster_estimate(&cluster, &placement, ATH_ALL_REDUCE, ESTIMATE_BYTES, &report.estimate);
    return ath_cli_show(cli, &ath_cluster_place_view, &report, ath_cli_format(cli), err);
}

static const struct ath_argument arguments[] = {
    { .name = "K", .help = N_("number of GPUs") },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    ATH_CLUSTER_OPTION(struct options),
    ATH_CLUSTER_PLACE_OPTIONS(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion cluster place 32 --per-node 8", N_("four nodes with eight GPUs each") },
    { "aitherion cluster place 8 --within rack --avoid node3", N_("in one rack, without a node") },
    { .command = NULL },
};

const struct ath_command ath_command_cluster_place = {
    .name = "place",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("choose the nodes of a job, and the GPUs on them"),
    .description = N_(
        "Chooses K free GPUs that are near to each other. If one node has enough, the command "
        "takes the node whose GPUs have the best ring; of equal nodes, the node with the fewest "
        "GPUs left over. If no node has enough, it takes the lowest switch with enough free GPUs "
        "below it. If there are several such switches, it takes the one with the fastest links, "
        "then the fewest nodes, then the fewest GPUs left over. It fills whole nodes first; the "
        "last node is the smallest one that has enough.\n\n"
        "On each node the GPUs are chosen as by `aitherion place`. The output shows the path "
        "between the nodes and an estimate of an all-reduce of 100 MB.\n\n"
        "Nothing is reserved. The description of the cluster says which GPUs are in use (busy)."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
