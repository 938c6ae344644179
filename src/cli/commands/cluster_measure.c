/* aitherion cluster measure: what the links between the nodes of a cluster can do. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/clusters.h"
#include "cli/commands/commands.h"
#include "cli/output/cluster_measure.h"
#include "cli/reach.h"
#include "cluster/measured.h"
#include "remote/net_test/net_test.h"

enum { HOST_NAME_BYTES = 256 };

struct options {
    struct ath_cluster_options cluster;
    struct ath_reach_options reach;
    const char *from, *output, *time;
    bool is_sample;
};

/* The state of a run. Owns its members, except cli and options. */
struct work {
    struct ath_cli *cli;
    const struct options *options;
    struct ath_cluster cluster;
    uint64_t time_ms; /* about how long each speed is measured */
    size_t from;
    size_t *targets;
    size_t target_count;
    char *file;                 /* where the figures are kept */
    char **addresses, **errors; /* of the pairs of this run */
    struct ath_shown_pair *shown;
    size_t shown_count;
    struct ath_cluster_pairs pairs;
};

static void work_free(struct work *work)
{
    for (size_t i = 0; i < work->target_count; i++) {
        free(work->addresses[i]);
        free(work->errors[i]);
    }
    ath_cluster_free(&work->cluster);
    ath_cluster_pairs_free(&work->pairs);
    free(work->targets);
    free(work->file);
    free(work->addresses);
    free(work->errors);
    free(work->shown);
}

/* ---- which pairs ---- */

static int refuse_host(const char *name, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("this host, '%s', is no node of the cluster"), name);
    return ath_err_hint(
        err, -EINVAL,
        _("name it as the cluster does with --from NODE, or run the command on a node"));
}

static int refuse_from(const struct options *options, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("the cluster has no node '%s' of --from"),
                options->from);
    return ath_cli_cluster_hint(&options->cluster, -EINVAL, err);
}

/* Finds the node that this process runs on: that of --from, else the host's name, whole or up to
 * its first dot. */
static int find_self(struct work *work, struct ath_err *err)
{
    char name[HOST_NAME_BYTES] = "";

    if (work->options->from) {
        work->from = ath_cluster_find_node(&work->cluster, work->options->from);
        return work->from == ATH_CLUSTER_NONE ? refuse_from(work->options, err) : 0;
    }
    gethostname(name, sizeof name - 1);
    work->from = ath_cluster_find_node(&work->cluster, name);
    if (work->from == ATH_CLUSTER_NONE) {
        name[strcspn(name, ".")] = '\0';
        work->from = ath_cluster_find_node(&work->cluster, name);
    }
    return work->from == ATH_CLUSTER_NONE ? refuse_host(name, err) : 0;
}

static char *address_of(const struct ath_cluster_node *node)
{
    return node->runtime ? ath_xstrdup(node->runtime) : ath_xasprintf("%s:50051", node->name);
}

static int choose_targets(struct work *work, struct ath_err *err)
{
    size_t count = work->cluster.node_count;
    ath_auto_free bool *is_excluded = ath_xalloc(count * sizeof *is_excluded);
    int status = find_self(work, err);

    if (!status)
        status = ath_cli_cluster_exclude(&work->cluster, &work->options->cluster, is_excluded, err);
    if (status)
        return status;
    work->targets = ath_xalloc(count * sizeof *work->targets);
    work->addresses = ath_xalloc(count * sizeof *work->addresses);
    work->errors = ath_xalloc(count * sizeof *work->errors);
    work->target_count = ath_cluster_targets(&work->cluster, work->from, work->options->is_sample,
                                             is_excluded, work->targets);
    for (size_t i = 0; i < work->target_count; i++)
        work->addresses[i] = address_of(&work->cluster.nodes[work->targets[i]]);
    if (work->target_count)
        return 0;
    return ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("there is no other node to measure from '%s'"),
                       work->cluster.nodes[work->from].name);
}

static int announce(const struct work *work)
{
    if (!work->targets) {
        ath_log(ATH_LOG_NORMAL, _("would write %zu pairs to '%s'"), work->pairs.count, work->file);
        return 0;
    }
    ath_log(ATH_LOG_NORMAL, _("would measure from the node '%s' and write '%s'"),
            work->cluster.nodes[work->from].name, work->file);
    for (size_t i = 0; i < work->target_count; i++)
        ath_log(ATH_LOG_NORMAL, _("to the node '%s' at %s"),
                work->cluster.nodes[work->targets[i]].name, work->addresses[i]);
    return 0;
}

/* ---- measuring ---- */

/* The figures of one pair; ATH_UNKNOWN if not measured. */
struct figures {
    int64_t to_bytes_per_s, from_bytes_per_s, round_trip_ns;
};

/* Returns ATH_UNKNOWN for a speed that was not measured. The other node may have said any. */
static int64_t speed_of(const struct ath_net_speed *speed)
{
    static const double most = 1e18;
    if (!speed->is_known)
        return ATH_UNKNOWN;
    return (int64_t)(speed->bytes_per_s < most ? speed->bytes_per_s + 0.5 : most);
}

/* Large copies of programs go by all connections together, if there are others beside that of the
 * calls. */
static void read_test(const struct ath_net_test *test, struct figures *out)
{
    const struct ath_net_path *calls = &test->paths[0];
    bool is_together = test->together.connections > 0;

    out->to_bytes_per_s = speed_of(is_together ? &test->together.to_server : &calls->to_server);
    out->from_bytes_per_s =
        speed_of(is_together ? &test->together.from_server : &calls->from_server);
    out->round_trip_ns = calls->trips.count ? (int64_t)calls->trips.least_ns : ATH_UNKNOWN;
}

static int measure_pair(const struct work *work, const char *address, struct figures *out,
                        struct ath_err *err)
{
    struct ath_reach_options options = work->options->reach;
    const struct ath_net_plan plan = { .time_ms = work->time_ms };
    ATH_AUTO(ath_reach) reach = { 0 };
    ATH_AUTO(ath_session) session = { .fd = -1 };
    struct ath_session_first first;
    struct ath_net_test test;

    options.server = address;
    ath_net_test_first(false, &first);
    int status = ath_reach_open(work->cli, &options, ATH_REACH_ONE, &reach, err);
    if (!status)
        status = ath_reach_other_session(&reach, &reach.items[0], &first, &session, err);
    if (!status)
        status = ath_net_test_run(&session, address, &plan, &test, err);
    if (status)
        return status;
    read_test(&test, out);
    return 0;
}

static void keep_pair(struct work *work, size_t target, const struct figures *figures)
{
    struct ath_cluster_pair *pair =
        ath_cluster_pairs_add(&work->pairs, work->cluster.nodes[work->from].name,
                              work->cluster.nodes[work->targets[target]].name);
    pair->to_bytes_per_s = figures->to_bytes_per_s;
    pair->from_bytes_per_s = figures->from_bytes_per_s;
    pair->round_trip_ns = figures->round_trip_ns;
}

/* Measures one pair after the other: pairs at the same time would share links. A failed pair does
 * not end the run; the first failure is in *first. Returns how many pairs were measured. */
static size_t measure_all(struct work *work, struct ath_err *first)
{
    size_t links[ATH_CLUSTER_WAY_MAX], measured = 0;

    work->shown_count = work->target_count;
    work->shown = ath_xalloc(work->shown_count * sizeof *work->shown);
    for (size_t i = 0; i < work->target_count; i++) {
        const char *to = work->cluster.nodes[work->targets[i]].name;
        struct figures figures = { ATH_UNKNOWN, ATH_UNKNOWN, ATH_UNKNOWN };
        struct ath_err err = { 0 };
        if (measure_pair(work, work->addresses[i], &figures, &err)) {
            work->errors[i] = ath_xstrdup(err.message);
            ath_log(ATH_LOG_NORMAL, _("'%s' was not measured: %s"), to, err.message);
            if (!first->code)
                ath_err_copy(first, &err);
        } else {
            keep_pair(work, i, &figures);
            measured++;
        }
        work->shown[i] = (struct ath_shown_pair){
            .from = work->cluster.nodes[work->from].name,
            .to = to,
            .address = work->addresses[i],
            .hops = ath_cluster_links(&work->cluster, work->from, work->targets[i], links) - 1,
            .to_bytes_per_s = figures.to_bytes_per_s,
            .from_bytes_per_s = figures.from_bytes_per_s,
            .round_trip_ns = figures.round_trip_ns,
            .error = work->errors[i],
        };
    }
    return measured;
}

static int measure(struct work *work, struct ath_err *err)
{
    struct ath_err first = { 0 };

    if (measure_all(work, &first))
        return 0;
    ath_err_copy(err, &first);
    return ath_err_wrap(err, -EHOSTUNREACH, _("no pair was measured"));
}

/* ---- merging ---- */

/* Reads the files that runs on other nodes wrote. */
static int merge(struct work *work, struct ath_err *err)
{
    int status = 0;

    for (size_t i = 0; !status && i < work->cli->argument_count; i++)
        status = ath_cluster_pairs_load(work->cli->arguments[i], &work->pairs, err);
    return status;
}

/* Shows all pairs of the file after merging. */
static void show_kept(struct work *work)
{
    const struct ath_cluster *cluster = &work->cluster;
    size_t links[ATH_CLUSTER_WAY_MAX];

    work->shown_count = work->pairs.count;
    work->shown = ath_xalloc(work->shown_count * sizeof *work->shown);
    for (size_t i = 0; i < work->shown_count; i++) {
        const struct ath_cluster_pair *pair = &work->pairs.items[i];
        size_t from = ath_cluster_find_node(cluster, pair->from);
        size_t to = ath_cluster_find_node(cluster, pair->to);
        bool is_known = from != ATH_CLUSTER_NONE && to != ATH_CLUSTER_NONE;
        size_t count = is_known ? ath_cluster_links(cluster, from, to, links) : 0;
        work->shown[i] = (struct ath_shown_pair){
            .from = pair->from,
            .to = pair->to,
            .hops = count ? count - 1 : 0,
            .to_bytes_per_s = pair->to_bytes_per_s,
            .from_bytes_per_s = pair->from_bytes_per_s,
            .round_trip_ns = pair->round_trip_ns,
        };
    }
}

/* ---- the command ---- */

static int read_time(const char *text, uint64_t *out_ms, struct ath_err *err)
{
    static const double least_s = 0.1, most_s = 3600;
    double seconds = 0.5;

    if (text && (ath_parse_double(text, &seconds) || !(seconds >= least_s && seconds <= most_s)))
        return ath_err_set(err, -EINVAL, ATH_E_USAGE,
                           _("'%s' is not a time in seconds from %g to %g"), text, least_s, most_s);
    *out_ms = (uint64_t)(seconds * 1000);
    return 0;
}

static int run(struct ath_cli *cli, const void *data, struct ath_err *err)
{
    const struct options *options = data;
    bool is_merging = cli->argument_count > 0;
    ATH_AUTO(work) work = { .cli = cli, .options = options };

    int status = read_time(options->time, &work.time_ms, err);
    if (!status)
        status = ath_cli_cluster(cli, &options->cluster, &work.cluster, err);
    if (status)
        return status;
    work.file =
        options->output ? ath_xstrdup(options->output) : ath_cli_cluster_figures(&options->cluster);
    status = is_merging ? merge(&work, err) : choose_targets(&work, err);
    if (!status && cli->globals.is_dry_run)
        return announce(&work);
    if (!status && !is_merging)
        status = measure(&work, err);
    if (!status)
        status = ath_cluster_pairs_save(work.file, &work.pairs, err);
    if (status)
        return status;
    ath_log(ATH_LOG_NORMAL, _("wrote '%s'"), work.file);
    if (is_merging)
        show_kept(&work);
    const struct ath_cluster_measure_report report = { .cluster = &work.cluster,
                                                       .file = work.file,
                                                       .pairs = work.shown,
                                                       .pair_count = work.shown_count,
                                                       .kept = &work.pairs };
    return ath_cli_show(cli, &ath_cluster_measure_view, &report, ath_cli_format(cli), err);
}

static const struct ath_argument arguments[] = {
    { .name = "FILE",
      .help = N_("files that runs on other nodes wrote with -o: take their figures, and measure "
                 "nothing"),
      .is_optional = true,
      .is_repeated = true,
      .completion = ATH_COMPLETE_FILE },
    { .name = NULL },
};

static const struct ath_option option_table[] = {
    { .name = "from",
      .type = ATH_OPTION_TEXT,
      .metavar = "NODE",
      .offset = offsetof(struct options, from),
      .help = N_("the node that this command runs on (default: the name of this host)") },
    { .name = "sample",
      .offset = offsetof(struct options, is_sample),
      .help = N_("only one other node on each level of the tree: below the same switch, below the "
                 "next switch, and so on") },
    { .name = "time",
      .type = ATH_OPTION_TEXT,
      .metavar = "SECONDS",
      .offset = offsetof(struct options, time),
      .help = N_("about how long each speed is measured (default: 0.5)") },
    { .name = "output",
      .letter = 'o',
      .type = ATH_OPTION_TEXT,
      .metavar = "FILE",
      .completion = ATH_COMPLETE_FILE,
      .offset = offsetof(struct options, output),
      .help = N_("keep the figures in FILE (default: beside the description of the cluster, with "
                 "the ending .links.json)") },
    ATH_CLUSTER_OPTION(struct options),
    ATH_CLUSTER_NODES_OPTIONS(struct options),
    ATH_REACH_KEY_OPTIONS(struct options),
    { .name = NULL },
};

static const struct ath_example examples[] = {
    { "aitherion cluster measure --cluster cluster.yaml", N_("from this node to each other one") },
    { "aitherion cluster measure --sample -o node1.json", N_("one node of each level, to a file") },
    { "aitherion cluster measure node1.json node2.json", N_("merge the files of two nodes") },
    { .command = NULL },
};

const struct ath_command ath_command_cluster_measure = {
    .name = "measure",
    .group = ATH_GROUP_MACHINE,
    .summary = N_("measure the links between the nodes of a cluster"),
    .description = N_(
        "Measures from this node to the runtimes of the other nodes, one after the other: the "
        "least time of a message and its answer, and the bandwidth of one connection in each "
        "direction. The figures are kept in a file beside the description of the cluster. `cluster "
        "show`, `place`, `estimate` and `export` use them for the links of the tree.\n\n"
        "Run the command on each node, one after the other, for the figures of all pairs: if the "
        "nodes share the file, each run adds its pairs. Otherwise give each run a file of its own "
        "with -o, and merge the files. Newer figures of a pair replace older ones."),
    .arguments = arguments,
    .options = option_table,
    .options_size = sizeof(struct options),
    .examples = examples,
    .run = run,
};
