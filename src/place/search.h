/* The search for the best groups in one graph, for set.c alone. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "place/gpu_ring.h"

/* Sums are of pairs counted twice, so that a half is no fraction. An unknown bandwidth is -1. */
struct ath_search {
    /* the problem: gpu_count free GPUs */
    size_t gpu_count, words, size, group_count, max_nodes;
    const int64_t *bandwidths; /* gpu_count x gpu_count, 0 on the diagonal */
    const int *nodes;
    const uint64_t *candidates;
    struct ath_gpu_ring *ring; /* the links that rings may use */
    uint64_t steps;            /* left; UINT64_MAX: no limit */
    bool wants_any;            /* stop at the first choice */

    /* made of the problem by ath_search_prepare() */
    uint32_t *near;   /* for each GPU: the others, the one with the largest bandwidth first */
    int64_t *degrees; /* for each GPU: the sum of its bandwidths */
    int64_t *inner;   /* for each GPU: the most that it adds to a group's sum */
    int64_t *harms;   /* for each GPU: the least that it adds to the harm */
    uint32_t *twins;  /* for each GPU: the lowest GPU that can stand in its place */
    uint32_t *before; /* for the lowest twin of a block: that of the next lower block that is like
                         it; itself: none */
    size_t *twin_counts; /* for each lowest twin: how many of its block are chosen */
    int64_t *values;     /* buffer for a number of each GPU */
    int64_t *additions;  /* for each lowest twin: what it can add, in the bound addition_bounds[] */
    uint64_t *addition_bounds, bound_count;
    uint64_t work;     /* numbers that were added since the last step */
    uint64_t *pools;   /* for each place of the choice: GPUs that may stand there */
    uint64_t *members; /* for each group: its GPUs */
    uint64_t *allowed, *reached;
    int64_t *to_members; /* for each group and GPU: the sum of its bandwidths to the members */

    /* where the search is */
    size_t *chosen, chosen_count;
    int64_t chosen_sum, chosen_harm;

    /* the best choice so far */
    bool has_best;
    bool is_best_foreign; /* not found by the search: an equal one replaces it */
    size_t *best;
    int64_t best_sum, best_harm;
    bool has_given_up; /* not everything was searched */
};

/* Makes the tables of a problem whose first part is filled in. ath_search_free() frees them. */
void ath_search_prepare(struct ath_search *search);
void ath_search_free(struct ath_search *search);

/* Makes a choice the best one so far, before the search; its sum may be improved. */
void ath_search_offer(struct ath_search *search, const size_t *gpus);

/*
 * Searches for groups that each have a ring in search->ring. Leaves the best choice in
 * search->best, if has_best. has_given_up says that the steps were not enough.
 */
void ath_search_run(struct ath_search *search);
