/* How long a collective operation of GPUs on several nodes takes. Pure computation. */
#pragma once
#include "cluster/place.h"
#include "place/estimate.h"

struct ath_cluster_estimate {
    struct ath_estimate_facts facts;
    /* No algorithm is quicker: what the slowest link of a node must carry if the nodes first add up
     * inside, or that of a switch. time_ns is ATH_UNKNOWN if a link is, and for one node. */
    struct ath_estimate least;
    struct ath_estimate ring; /* the bound of one ring through all GPUs */
    struct ath_nccl_estimate nccl;
};

/* Estimates an operation of the GPUs of a placement. */
void ath_cluster_estimate(const struct ath_cluster *cluster,
                          const struct ath_cluster_placement *placement,
                          enum ath_collective collective, uint64_t size_bytes,
                          struct ath_cluster_estimate *out);
