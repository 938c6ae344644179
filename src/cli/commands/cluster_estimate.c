/* aitherion cluster estimate: how long a collective operation of GPUs on several nodes takes. */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/clusters.h"
#include "cli/commands/commands.h"
#include "cli/output/cluster_place.h"

struct options {
    struct ath_cluster_options cluster;
    const char *size, *gpus;
};

static int read_operation(const struct ath_cli *cli, const struct options *options,
                          struct ath_cluster_place_report *report, struct ath_err *err)
{
    const char *word = cli->arguments[0], *size = options->size;

    for (int i = 0; i < ATH_COLLECTIVE_COUNT; i++)
        if (!strcmp(word, ath_collectives[i]))
            report->collective = (enum ath_collective)i;
    if (!size || !options->gpus) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE,
                    size ? _("the number of GPUs is missing")
                         : _("the size of the buffer is missing"));
        return ath_err_hint(err, -EINVAL, "aitherion cluster estimate %s --size 100M --gpus 32",
                            word);
    }
    if (!ath_parse_size(size, &report->size_bytes) && report->size_bytes)
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no size for --size"), size);
    return ath_err_hint(err, -EINVAL, _("give bytes above 0, as in 65536, 64K, 100M or 1G"));
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    struct ath_cluster_place_report report = { 0 };
    ATH_AUTO(ath_cluster) cluster = { 0 };
    ATH_AUTO(ath_cluster_placement) placement = { 0 };

    int status = read_operation(cli, options, &report, err);
    if (!status)
        status = ath_cli_cluster(cli, &options->cluster, &cluster, err);
    if (!status)
        status = ath_cli_cluster_place(&cluster, &options->cluster, options->gpus, "--gpus",
                                       &placement, err);
    if (status)
        return status;
    report.cluster = &cluster;
    report.placement = &placement;
    ath_cluster_estimate(&cluster, &placement, report.collective, report.size_bytes,
                         &report.estimate);
    return ath_cli_show(cli, &ath_cluster_estimate_view, &report, ath_cli_format(cli), err);
}

static const struct ath_argument arguments[] = {
    { .name = "OPERATION",
      .help = N_("what the GPUs do together"),
      .choices = ath_collectives,
      .unknown = N_("unknown operation") },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    { .name = "size",
      .type = ATH_OPTION_TEXT,
      .metavar = "SIZE",
      .offset = offsetof(struct options, size),
      .help = N_("size of the whole buffer: 65536, 64K, 100M, 1G (powers of 1024)") },
    { .name = "gpus",
      .type = ATH_OPTION_TEXT,
      .metavar = "K",
      .offset = offsetof(struct options, gpus),
      .help = N_("how many GPUs; they are placed as by 'aitherion cluster place'") },
    ATH_CLUSTER_OPTION(struct options),
    ATH_CLUSTER_PLACE_OPTIONS(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion cluster estimate all-reduce --size 100M --gpus 32 --per-node 8",
      N_("32 GPUs on four nodes") },
    { .command = NULL },
};

const struct ath_command ath_command_cluster_estimate = {
    .name = "estimate",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("say how long a collective operation of GPUs on several nodes takes"),
    .description = N_(
        "Places the GPUs as `aitherion cluster place` does, and prints three figures. \"Least "
        "time\" is the shortest time that the slowest link of the network allows if each node "
        "first adds up its own data: for an all-reduce over N nodes, 2(N-1)/N times the size "
        "divided by the bandwidth of the link. No algorithm is faster. \"Ring bound\" is the same "
        "for one ring through all n GPUs, with n in place of N. \"NCCL\" is the time by the model "
        "with which NCCL 2.22 chooses an algorithm and a protocol. Nothing is measured."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .ignores_document = true,
    .examples = examples,
    .run = run,
};
