/* Turns measured pairs of nodes into figures of links, and chooses the pairs to measure. */
#include "config.h"

#include "cluster/measured.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unknown.h"

/* A pair of the cluster's nodes. */
struct sample {
    size_t a, b;
    size_t hops;                     /* switches on the way */
    int64_t bytes_per_s, one_way_ns; /* ATH_UNKNOWN */
};

/* The links are numbered as by ath_cluster_links(). */
struct work {
    struct ath_cluster *cluster;
    struct sample *samples;
    size_t count, link_count;
    int64_t *fastest; /* for each link: the fastest pair through it; ATH_UNKNOWN: none */
};

/* ---- the nodes of pairs ---- */

static int compare_names(const void *one, const void *other, void *data)
{
    const struct ath_cluster *cluster = data;
    return strcmp(cluster->nodes[*(const size_t *)one].name,
                  cluster->nodes[*(const size_t *)other].name);
}

/* Returns the numbers of all nodes, sorted by name. The caller frees them. */
static size_t *sorted_nodes(const struct ath_cluster *cluster)
{
    size_t *nodes = ath_xalloc(cluster->node_count * sizeof *nodes);

    for (size_t i = 0; i < cluster->node_count; i++)
        nodes[i] = i;
    qsort_r(nodes, cluster->node_count, sizeof *nodes, compare_names, (void *)cluster);
    return nodes;
}

static size_t find(const struct ath_cluster *cluster, const size_t *sorted, const char *name)
{
    size_t first = 0, last = cluster->node_count;

    while (first < last) {
        size_t middle = first + (last - first) / 2;
        int order = strcmp(cluster->nodes[sorted[middle]].name, name);
        if (!order)
            return sorted[middle];
        if (order < 0)
            first = middle + 1;
        else
            last = middle;
    }
    return ATH_CLUSTER_NONE;
}

/* Takes the pairs whose nodes the cluster has. Returns how many others there are. */
static size_t take_pairs(struct work *work, const struct ath_cluster_pairs *pairs)
{
    const struct ath_cluster *cluster = work->cluster;
    ath_auto_free size_t *sorted = sorted_nodes(cluster);
    size_t links[ATH_CLUSTER_WAY_MAX], strangers = 0;

    for (size_t i = 0; i < pairs->count; i++) {
        const struct ath_cluster_pair *pair = &pairs->items[i];
        size_t a = find(cluster, sorted, pair->from), b = find(cluster, sorted, pair->to);
        size_t count = 0;
        if (a == ATH_CLUSTER_NONE || b == ATH_CLUSTER_NONE)
            strangers++;
        else
            count = ath_cluster_links(cluster, a, b, links);
        if (count)
            work->samples[work->count++] = (struct sample){
                .a = a,
                .b = b,
                .hops = count - 1,
                .bytes_per_s = ath_cluster_slower(pair->to_bytes_per_s, pair->from_bytes_per_s),
                .one_way_ns = pair->round_trip_ns < 0 ? ATH_UNKNOWN : pair->round_trip_ns / 2,
            };
    }
    return strangers;
}

/* Returns a figure with two digits that count. */
static int64_t rounded(int64_t value)
{
    int64_t unit = 1;
    while (value / unit >= 100)
        unit *= 10;
    return value > INT64_MAX - unit ? value : (value + unit / 2) / unit * unit;
}

/* The same for a bandwidth, whose bits count. */
static int64_t rounded_bits(int64_t bytes_per_s)
{
    return bytes_per_s > INT64_MAX / 8 ? bytes_per_s : rounded(bytes_per_s * 8) / 8;
}

/* ---- bandwidths ---- */

static void find_fastest(struct work *work)
{
    size_t links[ATH_CLUSTER_WAY_MAX];

    for (size_t i = 0; i < work->link_count; i++)
        work->fastest[i] = ATH_UNKNOWN;
    for (size_t i = 0; i < work->count; i++) {
        const struct sample *sample = &work->samples[i];
        size_t count = ath_cluster_links(work->cluster, sample->a, sample->b, links);
        for (size_t k = 0; k < count; k++)
            if (work->fastest[links[k]] < sample->bytes_per_s)
                work->fastest[links[k]] = sample->bytes_per_s;
    }
}

/* Returns whether a pair is at most a tenth slower than the slower one of its nodes' links. */
static bool is_filling_nodes(const struct work *work, const struct sample *sample)
{
    int64_t nodes = ath_cluster_slower(work->fastest[sample->a], work->fastest[sample->b]);
    return (double)sample->bytes_per_s >= 0.9 * (double)nodes;
}

static void set_bandwidths(struct work *work)
{
    struct ath_cluster *cluster = work->cluster;
    size_t links[ATH_CLUSTER_WAY_MAX], nodes = cluster->node_count;
    ath_auto_free bool *is_wider = ath_xalloc(work->link_count * sizeof *is_wider);

    for (size_t i = 0; i < work->count; i++) {
        const struct sample *sample = &work->samples[i];
        size_t count = ath_cluster_links(cluster, sample->a, sample->b, links);
        for (size_t k = 0; k < count; k++)
            is_wider[links[k]] |=
                sample->bytes_per_s == work->fastest[links[k]] && is_filling_nodes(work, sample);
    }
    for (size_t i = 0; i < nodes; i++)
        if (work->fastest[i] > 0) {
            cluster->nodes[i].up.bytes_per_s = rounded_bits(work->fastest[i]);
            cluster->nodes[i].is_measured = true;
        }
    for (size_t i = nodes; i < work->link_count; i++) {
        struct ath_cluster_switch *one = &cluster->switches[i - nodes];
        if (work->fastest[i] <= 0 || (is_wider[i] && one->up.bytes_per_s > work->fastest[i]))
            continue;
        one->up.bytes_per_s = rounded_bits(work->fastest[i]);
        one->is_measured = true;
    }
}

/* ---- latencies ---- */

/* Divides what the pairs with so many switches between them leave for links without a latency. Each
 * link gets the least part. */
static void divide_latency(const struct work *work, size_t hops, int64_t *latencies)
{
    ath_auto_free int64_t *least = ath_xalloc(work->link_count * sizeof *least);
    size_t links[ATH_CLUSTER_WAY_MAX];

    for (size_t i = 0; i < work->link_count; i++)
        least[i] = INT64_MAX;
    for (size_t i = 0; i < work->count; i++) {
        const struct sample *sample = &work->samples[i];
        if (sample->hops != hops || sample->one_way_ns < 0)
            continue;
        size_t count = ath_cluster_links(work->cluster, sample->a, sample->b, links);
        int64_t left_ns = sample->one_way_ns, unknown = 0;
        for (size_t k = 0; k < count; k++) {
            unknown += latencies[links[k]] < 0;
            left_ns -= latencies[links[k]] < 0 ? 0 : latencies[links[k]];
        }
        int64_t part = unknown && left_ns > 0 ? left_ns / unknown : 0;
        for (size_t k = 0; k < count; k++)
            if (least[links[k]] > part)
                least[links[k]] = part;
    }
    for (size_t i = 0; i < work->link_count; i++)
        if (latencies[i] < 0 && least[i] != INT64_MAX)
            latencies[i] = least[i];
}

static void set_latencies(struct work *work)
{
    struct ath_cluster *cluster = work->cluster;
    ath_auto_free int64_t *latencies = ath_xalloc(work->link_count * sizeof *latencies);
    size_t most = 0, nodes = cluster->node_count;

    for (size_t i = 0; i < work->link_count; i++)
        latencies[i] = ATH_UNKNOWN;
    for (size_t i = 0; i < work->count; i++)
        most = work->samples[i].hops > most ? work->samples[i].hops : most;
    for (size_t hops = 1; hops <= most; hops++)
        divide_latency(work, hops, latencies);
    for (size_t i = 0; i < work->link_count; i++) {
        if (latencies[i] < 0)
            continue;
        struct ath_cluster_link *up =
            i < nodes ? &cluster->nodes[i].up : &cluster->switches[i - nodes].up;
        up->latency_ns = rounded(latencies[i]);
    }
}

size_t ath_cluster_apply_pairs(struct ath_cluster *cluster, const struct ath_cluster_pairs *pairs)
{
    size_t link_count = cluster->node_count + cluster->switch_count;
    ath_auto_free struct sample *samples = ath_xalloc((pairs->count + 1) * sizeof *samples);
    ath_auto_free int64_t *fastest = ath_xalloc(link_count * sizeof *fastest);
    struct work work = {
        .cluster = cluster, .samples = samples, .link_count = link_count, .fastest = fastest
    };

    size_t strangers = take_pairs(&work, pairs);
    find_fastest(&work);
    set_bandwidths(&work);
    set_latencies(&work);
    return strangers;
}

/* ---- which pairs ---- */

/* The nodes below a switch stand together in the order of the tree: at places first to last - 1. */
struct range {
    size_t first, last;
};

/* Returns the places of the nodes below a switch. by_order: the nodes by their place. */
static struct range range_of(const struct ath_cluster *cluster, size_t s, const size_t *by_order)
{
    struct range range = { SIZE_MAX, 0 };

    for (size_t place = 0; place < cluster->node_count; place++)
        for (size_t at = cluster->nodes[by_order[place]].leaf; at != ATH_CLUSTER_NONE;
             at = cluster->switches[at].above)
            if (at == s) {
                range.first = place < range.first ? place : range.first;
                range.last = place + 1;
            }
    return range;
}

/* Finds a node in the whole range but not in its own part, beginning behind the own part at the
 * same distance at which the node is from its begin. */
static size_t partner(struct range own, struct range whole, size_t place, const size_t *by_order,
                      const bool *is_excluded)
{
    size_t others = (own.first - whole.first) + (whole.last - own.last);

    for (size_t i = 0; i < others; i++) {
        size_t at = own.last + (place - own.first + i) % others;
        size_t node = by_order[at < whole.last ? at : at - whole.last + whole.first];
        if (!is_excluded || !is_excluded[node])
            return node;
    }
    return ATH_CLUSTER_NONE;
}

static size_t sample_targets(const struct ath_cluster *cluster, size_t node, const size_t *by_order,
                             const bool *is_excluded, size_t *out)
{
    size_t place = cluster->nodes[node].order, count = 0;
    struct range own = { place, place + 1 };

    for (size_t s = cluster->nodes[node].leaf; s != ATH_CLUSTER_NONE;
         s = cluster->switches[s].above) {
        struct range whole = range_of(cluster, s, by_order);
        size_t found = partner(own, whole, place, by_order, is_excluded);
        if (found != ATH_CLUSTER_NONE)
            out[count++] = found;
        own = whole;
    }
    return count;
}

size_t ath_cluster_targets(const struct ath_cluster *cluster, size_t node, bool is_sample,
                           const bool *is_excluded, size_t *out)
{
    ath_auto_free size_t *by_order = ath_xalloc(cluster->node_count * sizeof *by_order);
    size_t links[ATH_CLUSTER_WAY_MAX], count = 0;

    for (size_t i = 0; i < cluster->node_count; i++)
        by_order[cluster->nodes[i].order] = i;
    if (is_sample)
        return sample_targets(cluster, node, by_order, is_excluded, out);
    for (size_t i = 0; i < cluster->node_count; i++)
        if ((!is_excluded || !is_excluded[by_order[i]]) &&
            ath_cluster_links(cluster, node, by_order[i], links))
            out[count++] = by_order[i];
    return count;
}
