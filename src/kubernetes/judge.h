/*
 * Judges whether a node can run a pod, on which of its GPUs, and how good that is. Pure
 * computation.
 *
 * A score of 0 to 10 has four parts by the table of weights in judge.c, times the health of the
 * GPUs:
 *
 *     topology    the slowest link of the best ring through the GPUs, by that of the best node
 *     NUMA        1 by the number of NUMA nodes of the GPUs; 0 if a node is not known
 *     fit         the part of the node's GPUs that is used afterwards
 *     preference  whether the GPUs are of the model that the pod prefers
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "kubernetes/compute_node.h"
#include "kubernetes/pod.h"
#include "kubernetes/shape.h"

/* The parts of one GPU that pods have. */
struct ath_kube_use {
    size_t pod_count;
    bool is_whole; /* one pod has all of it */
    int64_t memory_bytes;
    int share_percent;
};

struct ath_kube_verdict {
    bool fits;
    bool is_hopeless; /* the node would not do if it were empty either */
    uint64_t gpus;
    uint8_t ring[ATH_KUBE_GPUS_MAX]; /* the GPUs in the order of the best ring */
    size_t gpu_count;
    int64_t ring_value; /* to be compared with other nodes' */
    int numa_permille, fit_permille, preference_permille;
    int health_percent;
};

/*
 * Judges a node. uses: one for each of its GPUs. why: NULL, or takes the reason if the node does
 * not fit: one line for people.
 */
void ath_kube_judge(const struct ath_kube_node *node, struct ath_kube_shape *shape,
                    const struct ath_kube_use *uses, const struct ath_kube_wish *wish,
                    struct ath_kube_verdict *out, struct ath_text *why);

/* Adds what a pod gets of a GPU of a node. */
void ath_kube_use_add(struct ath_kube_use *use, const struct ath_kube_wish *wish,
                      const struct ath_kube_node *node, size_t gpu);

/* Returns the score, 0 to 10. best_ring: the largest ring_value of all nodes that fit. */
int ath_kube_score(const struct ath_kube_verdict *verdict, int64_t best_ring);
