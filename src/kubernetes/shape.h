/*
 * Shapes of nodes: nodes whose GPUs have the same links, NUMA nodes and health scores share one, so
 * that the best set among some free GPUs is searched for once. Pure computation, without locks.
 *
 * A set of GPUs is a mask: bit i is GPU i.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "kubernetes/compute_node.h"
#include "kubernetes/pod.h"
#include "place/choose.h"

struct ath_kube_shape;

/* All shapes. A zeroed struct is empty. */
struct ath_kube_shapes {
    struct ath_kube_shape **items;
    size_t count;
};

void ath_kube_shapes_free(struct ath_kube_shapes *shapes);

/* Returns the shape of a node, for ath_kube_shape_leave(). */
struct ath_kube_shape *ath_kube_shape_join(struct ath_kube_shapes *shapes,
                                           const struct ath_kube_node *node);

/* Drops a node from its shape; the last one frees the shape. */
void ath_kube_shape_leave(struct ath_kube_shapes *shapes, struct ath_kube_shape *shape);

/* The best set of GPUs. */
struct ath_kube_choice {
    uint64_t gpus;                   /* 0: the policy allows no set */
    uint8_t ring[ATH_KUBE_GPUS_MAX]; /* the GPUs in the order of the best ring */
    int64_t ring_value;              /* to be compared: larger is better, negative is not known */
    size_t numa_nodes;               /* of these GPUs; an unknown node counts as one */
    bool knows_numa;                 /* all their nodes are known */
    int health;                      /* the least score of them; 100 if not known */
};

/* Returns the best set of `count` of the GPUs in `among`, which has at least so many. The result
 * belongs to the shape, and is valid until the next call. */
const struct ath_kube_choice *ath_kube_shape_choose(struct ath_kube_shape *shape, uint64_t among,
                                                    size_t count, enum ath_place_policy policy);

static inline size_t ath_kube_mask_count(uint64_t mask)
{
    return (size_t)__builtin_popcountll(mask);
}
