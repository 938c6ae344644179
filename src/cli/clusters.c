/* Reads the cluster that --cluster names with its measured links, and the options of a placement.
 */
#include "config.h"

#include "cli/clusters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/log.h"
#include "cluster/hostlist.h"
#include "cluster/measured.h"
#include "cluster/read.h"
#include "container/docker/run_line.h"

enum { MOST_GPUS = 1 << 22 };

static const char *path_of(const struct ath_cluster_options *options)
{
    return options->path ? options->path : ATH_CLI_CLUSTER;
}

char *ath_cli_cluster_figures(const struct ath_cluster_options *options)
{
    const char *path = path_of(options), *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    size_t length = strlen(path);
    struct stat info;

    if (!stat(path, &info) && S_ISDIR(info.st_mode))
        while (length > 1 && path[length - 1] == '/')
            length--;
    else if (dot && dot != name)
        length = (size_t)(dot - path);
    return ath_xasprintf("%.*s.links.json", (int)length, path);
}

static void apply_figures(const struct ath_cluster_options *options, struct ath_cluster *cluster)
{
    ath_auto_free char *path = ath_cli_cluster_figures(options);
    ATH_AUTO(ath_cluster_pairs) pairs = { 0 };
    struct ath_err err = { 0 };

    if (access(path, F_OK))
        return;
    if (ath_cluster_pairs_load(path, &pairs, &err)) {
        ath_log(ATH_LOG_NORMAL, _("measured links are left out: %s"), err.message);
        return;
    }
    size_t strangers = ath_cluster_apply_pairs(cluster, &pairs);
    ath_log(ATH_LOG_VERBOSE, _("measured links: '%s'"), path);
    if (strangers)
        ath_log(ATH_LOG_NORMAL,
                ngettext("'%s': %zu pair has a node that the cluster lacks",
                         "'%s': %zu pairs have a node that the cluster lacks", strangers),
                path, strangers);
}

int ath_cli_cluster(struct ath_cli *cli, const struct ath_cluster_options *options,
                    struct ath_cluster *out, struct ath_err *err)
{
    const char *path = path_of(options);

    if (!options->path && access(path, F_OK)) {
        ath_err_set(err, -ENOENT, ATH_E_NOT_FOUND, _("there is no description of a cluster: '%s'"),
                    path);
        return ath_err_hint(err, -ENOENT, _("name one with --cluster FILE"));
    }
    int status = ath_cluster_read(path, out, &cli->faults, err);
    if (!status)
        apply_figures(options, out);
    return status;
}

int ath_cli_cluster_hint(const struct ath_cluster_options *options, int status, struct ath_err *err)
{
    ATH_AUTO(ath_text) command = { 0 };

    ath_text_add(&command, "aitherion cluster show");
    if (options->path) {
        ath_text_add(&command, " --cluster ");
        ath_shell_quote(&command, options->path);
    }
    return ath_err_hint(err, status, "%s", command.data);
}

static int read_number(const char *text, const char *what, size_t *out, struct ath_err *err)
{
    int value;
    if (ath_parse_int(text, 1, MOST_GPUS, &value)) {
        ath_err_set(err, -EINVAL, ATH_E_USAGE, _("'%s' is no number for %s"), text, what);
        return ath_err_hint(err, -EINVAL, _("give a number from 1 to %d"), MOST_GPUS);
    }
    *out = (size_t)value;
    return 0;
}

/* Sets the value for each node of a list. */
static int mark(const struct ath_cluster *cluster, const struct ath_cluster_options *options,
                const char *option, const char *list, bool *values, bool value, struct ath_err *err)
{
    ATH_AUTO(ath_texts) names = { 0 };
    int status = ath_hostlist_expand(list, &names, err);

    if (status)
        return ath_err_wrap(err, status, "%s", option);
    for (size_t i = 0; i < names.count; i++) {
        size_t node = ath_cluster_find_node(cluster, names.items[i]);
        if (node == ATH_CLUSTER_NONE) {
            ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("the cluster has no node '%s' of %s"),
                        names.items[i], option);
            return ath_cli_cluster_hint(options, -EINVAL, err);
        }
        values[node] = value;
    }
    return 0;
}

int ath_cli_cluster_exclude(const struct ath_cluster *cluster,
                            const struct ath_cluster_options *options, bool *is_excluded,
                            struct ath_err *err)
{
    int status = 0;

    for (size_t i = 0; i < cluster->node_count; i++)
        is_excluded[i] = options->nodes != NULL;
    if (options->nodes)
        status = mark(cluster, options, "--nodes", options->nodes, is_excluded, false, err);
    if (!status && options->avoided)
        status = mark(cluster, options, "--avoid", options->avoided, is_excluded, true, err);
    return status;
}

int ath_cli_cluster_place(const struct ath_cluster *cluster,
                          const struct ath_cluster_options *options, const char *gpus,
                          const char *what, struct ath_cluster_placement *out, struct ath_err *err)
{
    ath_auto_free bool *is_excluded = ath_xalloc(cluster->node_count * sizeof *is_excluded);
    struct ath_cluster_request request = {
        .within = (enum ath_cluster_within)options->within,
        .policy = (enum ath_place_policy)options->policy,
        .is_excluded = is_excluded,
    };
    int status = read_number(gpus, what, &request.gpu_count, err);

    if (!status && options->per_node)
        status = read_number(options->per_node, "--per-node", &request.per_node, err);
    if (!status)
        status = ath_cli_cluster_exclude(cluster, options, is_excluded, err);
    if (status)
        return status;
    status = ath_cluster_place(cluster, &request, out, err);
    return status && !*err->hint ? ath_cli_cluster_hint(options, status, err) : status;
}
