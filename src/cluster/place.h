/*
 * Chooses nodes of a cluster, and GPUs on them. Pure computation.
 *
 * All GPUs on one node come first. If several nodes have enough, the node whose GPUs have the best
 * ring is taken, then the node with the fewest GPUs left over (best fit), then the first one.
 *
 * If no node has enough, the lowest switch below which there are enough free GPUs is taken. If one
 * level has several such switches, these values decide, the first that differs: the slowest link
 * of the ring between the nodes (faster is better), the number of nodes (fewer), the GPUs left over
 * below the switch (fewer), the order of the description. Below a switch, the branches with most
 * free GPUs are used up first, and the last branch is the smallest one that has enough.
 */
#pragma once
#include "cluster/cluster.h"
#include "place/choose.h"

/* Limits where all GPUs must be. */
enum ath_cluster_within {
    ATH_CLUSTER_ANYWHERE,
    ATH_CLUSTER_ONE_NODE,
    ATH_CLUSTER_ONE_RACK,
    ATH_CLUSTER_ONE_SWITCH, /* that nodes are connected to */
    ATH_CLUSTER_WITHIN_COUNT
};

/* The words by enum ath_cluster_within: "anywhere", "node", "rack", "switch"; ended by NULL. */
extern const char *const ath_cluster_within_words[];

struct ath_cluster_request {
    size_t gpu_count;
    size_t per_node; /* exactly so many GPUs on each node; 0: any number */
    enum ath_cluster_within within;
    enum ath_place_policy policy; /* of the choice inside a node */
    const bool *is_excluded;      /* for each node; NULL: none */
};

/* GPUs of one shape, chosen once. */
struct ath_cluster_choice {
    size_t shape, count;
    size_t *gpus;             /* numbers, ascending */
    size_t *ring;             /* the same in the order of the best ring */
    int64_t ring_bytes_per_s; /* ATH_UNKNOWN if unknown, and for one GPU */
};

/* The GPUs of one node. */
struct ath_cluster_share {
    size_t node, gpu_count;
    size_t choice; /* index into the choices of the placement */
};

struct ath_cluster_placement {
    struct ath_cluster_share *shares; /* in the order of the ring: of the tree */
    size_t share_count;
    struct ath_cluster_choice *choices;
    size_t choice_count;
    size_t gpu_count;
    size_t top;  /* the lowest switch above all; ATH_CLUSTER_NONE: one node alone */
    size_t rack; /* the rack of all nodes, or ATH_CLUSTER_NONE */
    size_t hops; /* the most switches between two nodes that are neighbours in the ring */
    struct ath_cluster_link link; /* the slowest link, and the longest way, between neighbours */
    size_t slowest_node, slowest_switch; /* whose link upwards is the slowest; one of both is
                                            ATH_CLUSTER_NONE, or both: one node, or not known */
    size_t left_over;                    /* free GPUs that stay on the nodes of the placement */
};

void ath_cluster_placement_free(struct ath_cluster_placement *placement);

/* Places GPUs. Returns 0, or -EINVAL with err: "machine-mismatch" if there is no such place. */
int ath_cluster_place(const struct ath_cluster *cluster, const struct ath_cluster_request *request,
                      struct ath_cluster_placement *out, struct ath_err *err);
