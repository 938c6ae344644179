/*
 * Options about clusters that several commands have, and what they do: the cluster itself, and a
 * placement on its nodes.
 *
 * The command's option struct has a struct ath_cluster_options as its member `cluster`.
 */
#pragma once
#include "cli/cli.h"
#include "cli/output/place.h"
#include "cluster/cluster.h"
#include "cluster/place.h"

/* The description that is read if no option names one. */
#define ATH_CLI_CLUSTER "/etc/aitherion/cluster.yaml"

struct ath_cluster_options {
    const char *path;
    const char *per_node, *nodes, *avoided; /* of a placement, from here on */
    int within, policy;
};

/*
 * Reads the cluster of --cluster, else ATH_CLI_CLUSTER, and gives its links the figures that
 * 'cluster measure' has kept. A file of figures that cannot be read is left out with a message.
 * Returns 0, or a negative errno with err. The caller frees *out with ath_cluster_free().
 */
int ath_cli_cluster(struct ath_cli *cli, const struct ath_cluster_options *options,
                    struct ath_cluster *out, struct ath_err *err);

/* Returns the file of measured figures, beside the description: "cluster.links.json" for
 * "cluster.yaml", "nodes.links.json" for the folder "nodes". The caller frees it. */
char *ath_cli_cluster_figures(const struct ath_cluster_options *options);

/* Adds the hint to look at the cluster that these options name. Returns status. */
int ath_cli_cluster_hint(const struct ath_cluster_options *options, int status,
                         struct ath_err *err);

/* Sets is_excluded of each node by --nodes and --avoid. Returns 0, or a negative errno with err. */
int ath_cli_cluster_exclude(const struct ath_cluster *cluster,
                            const struct ath_cluster_options *options, bool *is_excluded,
                            struct ath_err *err);

/* Places as many GPUs as the text says. what: the option or argument with that text, for messages.
 * Returns 0, or a negative errno with err. */
int ath_cli_cluster_place(const struct ath_cluster *cluster,
                          const struct ath_cluster_options *options, const char *gpus,
                          const char *what, struct ath_cluster_placement *out, struct ath_err *err);

#define ATH_CLUSTER_OPTION(target)                                                                 \
    {                                                                                              \
        .name = "cluster", .type = ATH_OPTION_TEXT, .metavar = "FILE",                             \
        .completion = ATH_COMPLETE_FILE, .offset = offsetof(target, cluster.path),                 \
        .help = N_("the cluster: a cluster.yaml, Slurm's topology.conf, or a folder with the "     \
                   "files of 'aitherion discover --json' (default: /etc/aitherion/cluster.yaml)")  \
    }

#define ATH_CLUSTER_PLACE_OPTIONS(target)                                                          \
    { .name = "per-node",                                                                          \
      .type = ATH_OPTION_TEXT,                                                                     \
      .metavar = "N",                                                                              \
      .offset = offsetof(target, cluster.per_node),                                                \
      .help = N_("exactly N GPUs on each node (default: any number)") },                           \
        { .name = "within",                                                                        \
          .type = ATH_OPTION_CHOICE,                                                               \
          .choices = ath_cluster_within_words,                                                     \
          .offset = offsetof(target, cluster.within),                                              \
          .help = N_("where all GPUs must be: on one node, in one rack, on nodes of one switch, "  \
                     "or anywhere (the default)") },                                               \
        { .name = "policy",                                                                        \
          .type = ATH_OPTION_CHOICE,                                                               \
          .choices = ath_place_policies,                                                           \
          .offset = offsetof(target, cluster.policy),                                              \
          .help = N_("which GPUs of a node may be chosen, as for 'aitherion place'") },            \
        ATH_CLUSTER_NODES_OPTIONS(target)

#define ATH_CLUSTER_NODES_OPTIONS(target)                                                          \
    { .name = "nodes",                                                                             \
      .type = ATH_OPTION_TEXT,                                                                     \
      .metavar = "NODE,...",                                                                       \
      .offset = offsetof(target, cluster.nodes),                                                   \
      .help = N_("only these nodes: node1 or node[1-4,7] (default: all)") },                       \
    {                                                                                              \
        .name = "avoid", .type = ATH_OPTION_TEXT, .metavar = "NODE,...",                           \
        .offset = offsetof(target, cluster.avoided), .help = N_("not these nodes")                 \
    }
