/* Estimates for GPUs on several nodes. */
#include "config.h"

#include "cluster/estimate.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unknown.h"

/* Joins the facts of the nodes. Equal choices have the same facts. */
static void look(const struct ath_cluster *cluster, const struct ath_cluster_placement *placement,
                 struct ath_estimate_facts *out)
{
    size_t count = placement->share_count;
    ath_auto_free struct ath_estimate_facts *choices =
        ath_xalloc(placement->choice_count * sizeof *choices);
    ath_auto_free struct ath_estimate_facts *nodes = ath_xalloc(count * sizeof *nodes);

    for (size_t i = 0; i < placement->choice_count; i++) {
        const struct ath_cluster_choice *choice = &placement->choices[i];
        ath_estimate_look(cluster->shapes[choice->shape].machine, choice->ring, choice->count,
                          &choices[i]);
    }
    for (size_t i = 0; i < count; i++)
        nodes[i] = choices[placement->shares[i].choice];
    if (count == 1)
        *out = nodes[0];
    else
        ath_estimate_join(nodes, count, placement->link.bytes_per_s, out);
}

/* Returns the time in which a link carries that share of the buffer. */
static double seconds_of(double share, uint64_t size_bytes, int64_t bytes_per_s)
{
    return share * (double)size_bytes / (double)bytes_per_s;
}

static struct ath_estimate least_of(const struct ath_cluster *cluster,
                                    const struct ath_cluster_placement *placement,
                                    enum ath_collective collective, uint64_t size_bytes)
{
    struct ath_estimate none = { ATH_UNKNOWN, ATH_UNKNOWN, ATH_UNKNOWN };
    double share = ath_collective_share(collective, placement->share_count), most = 0;

    if (placement->share_count < 2 || placement->link.bytes_per_s <= 0)
        return none;
    for (size_t i = 0; i < placement->share_count; i++) {
        const struct ath_cluster_node *node = &cluster->nodes[placement->shares[i].node];
        double seconds = seconds_of(share, size_bytes, node->up.bytes_per_s);
        most = seconds > most ? seconds : most;
    }
    if (placement->slowest_switch != ATH_CLUSTER_NONE) {
        /* Two parties: what is below the switch, and the others. */
        double seconds = seconds_of(ath_collective_share(collective, 2), size_bytes,
                                    placement->link.bytes_per_s);
        most = seconds > most ? seconds : most;
    }
    if (most * 1e9 > (double)(INT64_MAX / 2))
        return none;
    return (struct ath_estimate){
        .time_ns = (int64_t)(most * 1e9 + 0.5),
        .algorithm_bytes_per_s = (int64_t)((double)size_bytes / most + 0.5),
        .bus_bytes_per_s = (int64_t)(share * (double)size_bytes / most + 0.5),
    };
}

void ath_cluster_estimate(const struct ath_cluster *cluster,
                          const struct ath_cluster_placement *placement,
                          enum ath_collective collective, uint64_t size_bytes,
                          struct ath_cluster_estimate *out)
{
    *out = (struct ath_cluster_estimate){ 0 };
    look(cluster, placement, &out->facts);
    out->least = least_of(cluster, placement, collective, size_bytes);
    out->ring = ath_estimate_ring(&out->facts, collective, size_bytes);
    out->nccl = ath_estimate_nccl(&out->facts, collective, size_bytes);
}
