/* The model of a cluster. */
#include "config.h"

#include "cluster/cluster.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/unknown.h"
#include "place/choose.h"
#include "place/matrix.h"

void ath_cluster_free(struct ath_cluster *cluster)
{
    if (!cluster)
        return;
    for (size_t i = 0; i < cluster->rack_count; i++)
        free(cluster->racks[i]);
    for (size_t i = 0; i < cluster->switch_count; i++)
        free(cluster->switches[i].name);
    for (size_t i = 0; i < cluster->node_count; i++) {
        free(cluster->nodes[i].name);
        free(cluster->nodes[i].runtime);
    }
    for (size_t i = 0; i < cluster->machine_count; i++) {
        ath_machine_free(cluster->machines[i]);
        free(cluster->machines[i]);
    }
    for (size_t i = 0; i < cluster->shape_count; i++) {
        free(cluster->shapes[i].bandwidths);
        free(cluster->shapes[i].is_free);
    }
    free(cluster->name);
    free(cluster->racks);
    free(cluster->switches);
    free(cluster->nodes);
    free(cluster->machines);
    free(cluster->shapes);
    free(cluster->node_starts);
    free(cluster->nodes_of);
    free(cluster->switch_starts);
    free(cluster->switches_of);
    *cluster = (struct ath_cluster){ 0 };
}

/* ---- parts ---- */

static const struct ath_cluster_link unknown_link = { ATH_UNKNOWN, ATH_UNKNOWN };

size_t ath_cluster_add_rack(struct ath_cluster *cluster, const char *name)
{
    size_t found = ath_cluster_find_rack(cluster, name);
    if (found != ATH_CLUSTER_NONE)
        return found;
    char **slot = ath_push(&cluster->racks, &cluster->rack_count, sizeof *slot);
    *slot = ath_xstrdup(name);
    return cluster->rack_count - 1;
}

size_t ath_cluster_add_switch(struct ath_cluster *cluster, const char *name)
{
    struct ath_cluster_switch *added =
        ath_push(&cluster->switches, &cluster->switch_count, sizeof *added);
    *added = (struct ath_cluster_switch){ .name = ath_xstrdup(name),
                                          .above = ATH_CLUSTER_NONE,
                                          .up = unknown_link };
    return cluster->switch_count - 1;
}

size_t ath_cluster_add_node(struct ath_cluster *cluster, const char *name)
{
    struct ath_cluster_node *added = ath_push(&cluster->nodes, &cluster->node_count, sizeof *added);
    *added = (struct ath_cluster_node){ .name = ath_xstrdup(name),
                                        .rack = ATH_CLUSTER_NONE,
                                        .leaf = ATH_CLUSTER_NONE,
                                        .up = unknown_link };
    return cluster->node_count - 1;
}

const struct ath_machine *ath_cluster_add_machine(struct ath_cluster *cluster,
                                                  struct ath_machine *machine)
{
    struct ath_machine **slot = ath_push(&cluster->machines, &cluster->machine_count, sizeof *slot);
    *slot = ath_xalloc(sizeof **slot);
    **slot = *machine;
    *machine = (struct ath_machine){ 0 };
    return *slot;
}

/* ---- shapes ---- */

static bool is_poor(const struct ath_gpu *gpu)
{
    return gpu->health.score >= 0 && gpu->health.score < ATH_GPU_SCORE_POOR;
}

/* Returns whether choices among the free GPUs of both are the same: bandwidths, nodes and poor
 * scores. */
static bool is_same_shape(const struct ath_cluster_shape *a, const struct ath_cluster_shape *b)
{
    size_t count = a->machine->gpu_count;

    if (count != b->machine->gpu_count ||
        memcmp(a->is_free, b->is_free, count * sizeof *a->is_free) != 0 ||
        memcmp(a->bandwidths, b->bandwidths, count * count * sizeof *a->bandwidths) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct ath_gpu *left = &a->machine->gpus[i], *right = &b->machine->gpus[i];
        if (left->numa_node != right->numa_node || is_poor(left) != is_poor(right) ||
            left->device_id != right->device_id)
            return false;
    }
    return true;
}

size_t ath_cluster_add_shape(struct ath_cluster *cluster, const struct ath_machine *machine,
                             const struct ath_idset *busy)
{
    struct ath_cluster_shape shape = {
        .machine = machine,
        .bandwidths = ath_place_matrix(machine),
        .is_free = ath_xalloc(machine->gpu_count * sizeof *shape.is_free),
    };
    size_t found = 0;

    ath_place_usable(machine, shape.is_free);
    for (size_t i = 0; i < machine->gpu_count; i++) {
        shape.is_free[i] = shape.is_free[i] && !ath_idset_has(busy, (int)i);
        shape.free_count += shape.is_free[i];
    }
    while (found < cluster->shape_count && !is_same_shape(&cluster->shapes[found], &shape))
        found++;
    if (found < cluster->shape_count) {
        free(shape.bandwidths);
        free(shape.is_free);
        return found;
    }
    struct ath_cluster_shape *slot =
        ath_push(&cluster->shapes, &cluster->shape_count, sizeof *slot);
    *slot = shape;
    return found;
}

/* ---- the tree ---- */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns the name that a list has twice, or NULL. */
static const char *twice_in(const char **names, size_t count)
{
    if (count)
        qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 1; i < count; i++)
        if (!strcmp(names[i], names[i - 1]))
            return names[i];
    return NULL;
}

static int check_names(const struct ath_cluster *cluster, struct ath_err *err)
{
    ath_auto_free const char **nodes = ath_xalloc(cluster->node_count * sizeof *nodes);
    ath_auto_free const char **switches = ath_xalloc(cluster->switch_count * sizeof *switches);

    for (size_t i = 0; i < cluster->node_count; i++)
        nodes[i] = cluster->nodes[i].name;
    for (size_t i = 0; i < cluster->switch_count; i++)
        switches[i] = cluster->switches[i].name;
    const char *twice = twice_in(nodes, cluster->node_count);
    if (twice)
        return ath_err_set(err, -EINVAL, ATH_E_CLUSTER_INVALID, _("two nodes have the name '%s'"),
                           twice);
    twice = twice_in(switches, cluster->switch_count);
    if (twice)
        return ath_err_set(err, -EINVAL, ATH_E_CLUSTER_INVALID,
                           _("two switches have the name '%s'"), twice);
    return 0;
}

/* Sets the depth of each switch and the heights above it. */
static int set_levels(struct ath_cluster *cluster, struct ath_err *err)
{
    for (size_t i = 0; i < cluster->switch_count; i++) {
        size_t height = 0;
        for (size_t s = cluster->switches[i].above; s != ATH_CLUSTER_NONE;
             s = cluster->switches[s].above) {
            struct ath_cluster_switch *above = &cluster->switches[s];
            if (++height >= ATH_CLUSTER_LEVELS_MAX)
                return ath_err_set(err, -EINVAL, ATH_E_CLUSTER_INVALID,
                                   _("more than %d switches are above the switch '%s', or it is "
                                     "above itself"),
                                   ATH_CLUSTER_LEVELS_MAX - 1, cluster->switches[i].name);
            if (above->height < height)
                above->height = height;
        }
        cluster->switches[i].depth = height;
    }
    return 0;
}

/* Sorts items below their parents: starts has parent_count + 1 entries. */
static void sort_below(const size_t *parents, size_t count, size_t parent_count, size_t *starts,
                       size_t *out)
{
    for (size_t i = 0; i < count; i++)
        if (parents[i] != ATH_CLUSTER_NONE)
            starts[parents[i] + 1]++;
    for (size_t i = 0; i < parent_count; i++)
        starts[i + 1] += starts[i];
    ath_auto_free size_t *next = ath_xalloc((parent_count + 1) * sizeof *next);
    memcpy(next, starts, parent_count * sizeof *next);
    for (size_t i = 0; i < count; i++)
        if (parents[i] != ATH_CLUSTER_NONE)
            out[next[parents[i]]++] = i;
}

static void set_children(struct ath_cluster *cluster)
{
    size_t switches = cluster->switch_count, nodes = cluster->node_count;
    ath_auto_free size_t *leaves = ath_xalloc(nodes * sizeof *leaves);
    ath_auto_free size_t *above = ath_xalloc(switches * sizeof *above);

    for (size_t i = 0; i < nodes; i++)
        leaves[i] = cluster->nodes[i].leaf;
    for (size_t i = 0; i < switches; i++)
        above[i] = cluster->switches[i].above;
    cluster->node_starts = ath_xalloc((switches + 1) * sizeof *cluster->node_starts);
    cluster->nodes_of = ath_xalloc(nodes * sizeof *cluster->nodes_of);
    cluster->switch_starts = ath_xalloc((switches + 1) * sizeof *cluster->switch_starts);
    cluster->switches_of = ath_xalloc(switches * sizeof *cluster->switches_of);
    sort_below(leaves, nodes, switches, cluster->node_starts, cluster->nodes_of);
    sort_below(above, switches, switches, cluster->switch_starts, cluster->switches_of);
}

/* Numbers the nodes below a switch. */
static void order_below(struct ath_cluster *cluster, size_t s, size_t *next)
{
    for (size_t i = cluster->node_starts[s]; i < cluster->node_starts[s + 1]; i++)
        cluster->nodes[cluster->nodes_of[i]].order = (*next)++;
    for (size_t i = cluster->switch_starts[s]; i < cluster->switch_starts[s + 1]; i++)
        order_below(cluster, cluster->switches_of[i], next);
}

static void set_orders(struct ath_cluster *cluster)
{
    size_t next = 0;

    for (size_t i = 0; i < cluster->switch_count; i++)
        if (cluster->switches[i].above == ATH_CLUSTER_NONE)
            order_below(cluster, i, &next);
    for (size_t i = 0; i < cluster->node_count; i++)
        if (cluster->nodes[i].leaf == ATH_CLUSTER_NONE)
            cluster->nodes[i].order = next++;
}

int ath_cluster_finish(struct ath_cluster *cluster, struct ath_err *err)
{
    if (!cluster->node_count)
        return ath_err_set(err, -EINVAL, ATH_E_CLUSTER_INVALID, _("the cluster has no nodes"));
    if (cluster->node_count > ATH_CLUSTER_NODES_MAX)
        return ath_err_set(err, -EINVAL, ATH_E_CLUSTER_INVALID,
                           _("the cluster has more than %d nodes"), ATH_CLUSTER_NODES_MAX);
    if (!cluster->switch_count) {
        ath_cluster_add_switch(cluster, "network");
        cluster->has_implied_switch = true;
        for (size_t i = 0; i < cluster->node_count; i++)
            cluster->nodes[i].leaf = 0;
    }
    int status = check_names(cluster, err);
    if (!status)
        status = set_levels(cluster, err);
    if (status)
        return status;
    set_children(cluster);
    set_orders(cluster);
    return 0;
}

/* ---- questions ---- */

size_t ath_cluster_find_switch(const struct ath_cluster *cluster, const char *name)
{
    for (size_t i = 0; i < cluster->switch_count; i++)
        if (!strcmp(cluster->switches[i].name, name))
            return i;
    return ATH_CLUSTER_NONE;
}

size_t ath_cluster_find_rack(const struct ath_cluster *cluster, const char *name)
{
    for (size_t i = 0; i < cluster->rack_count; i++)
        if (!strcmp(cluster->racks[i], name))
            return i;
    return ATH_CLUSTER_NONE;
}

size_t ath_cluster_find_node(const struct ath_cluster *cluster, const char *name)
{
    for (size_t i = 0; i < cluster->node_count; i++)
        if (!strcmp(cluster->nodes[i].name, name))
            return i;
    return ATH_CLUSTER_NONE;
}

int64_t ath_cluster_slower(int64_t a, int64_t b)
{
    return a < b ? a : b; /* ATH_UNKNOWN is negative */
}

static void add_link(struct ath_cluster_path *path, const struct ath_cluster_link *link)
{
    path->link.bytes_per_s = ath_cluster_slower(path->link.bytes_per_s, link->bytes_per_s);
    if (path->link.latency_ns < 0 || link->latency_ns < 0)
        path->link.latency_ns = ATH_UNKNOWN;
    else
        path->link.latency_ns += link->latency_ns;
}

size_t ath_cluster_links(const struct ath_cluster *cluster, size_t a, size_t b,
                         size_t out[ATH_CLUSTER_WAY_MAX])
{
    size_t left = cluster->nodes[a].leaf, right = cluster->nodes[b].leaf, count = 0;

    if (a == b)
        return 0;
    out[count++] = a;
    out[count++] = b;
    while (left != right && left != ATH_CLUSTER_NONE && right != ATH_CLUSTER_NONE) {
        bool is_left = cluster->switches[left].depth >= cluster->switches[right].depth;
        size_t *from = is_left ? &left : &right;
        out[count++] = cluster->node_count + *from;
        *from = cluster->switches[*from].above;
    }
    return left == right && left != ATH_CLUSTER_NONE ? count : 0;
}

void ath_cluster_path(const struct ath_cluster *cluster, size_t a, size_t b,
                      struct ath_cluster_path *out)
{
    size_t links[ATH_CLUSTER_WAY_MAX];
    size_t count = ath_cluster_links(cluster, a, b, links);

    *out = (struct ath_cluster_path){ .is_connected = a == b || count, .link = unknown_link };
    if (!count)
        return;
    out->link = (struct ath_cluster_link){ INT64_MAX, 0 };
    out->hops = count - 1;
    for (size_t i = 0; i < count; i++)
        add_link(out, links[i] < cluster->node_count
                          ? &cluster->nodes[links[i]].up
                          : &cluster->switches[links[i] - cluster->node_count].up);
}

size_t ath_cluster_free_on(const struct ath_cluster *cluster, size_t node)
{
    return cluster->shapes[cluster->nodes[node].shape].free_count;
}

size_t ath_cluster_free_gpus(const struct ath_cluster *cluster)
{
    size_t count = 0;
    for (size_t i = 0; i < cluster->node_count; i++)
        count += ath_cluster_free_on(cluster, i);
    return count;
}

size_t ath_cluster_gpus(const struct ath_cluster *cluster)
{
    size_t count = 0;
    for (size_t i = 0; i < cluster->node_count; i++)
        count += cluster->nodes[i].machine->gpu_count;
    return count;
}
