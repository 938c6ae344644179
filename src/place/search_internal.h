/*
 * Shared by search.c (branches), search_bounds.c (what a branch can become), search_choice.c (whole
 * choices) and search_tables.c (what is computed before).
 */
#pragma once
#include "place/search.h"

static inline int64_t ath_search_bandwidth(const struct ath_search *search, size_t a, size_t b)
{
    return search->bandwidths[a * search->gpu_count + b];
}

static inline uint64_t *ath_search_pool_at(struct ath_search *search, size_t place)
{
    return &search->pools[place * search->words];
}

/* Returns the group that a place of the choice belongs to. */
static inline size_t ath_search_group_at(const struct ath_search *search, size_t place)
{
    return place / search->size;
}

static inline uint64_t *ath_search_members_of(struct ath_search *search, size_t group)
{
    return &search->members[group * search->words];
}

static inline int64_t *ath_search_to_members_of(struct ath_search *search, size_t group)
{
    return &search->to_members[group * search->gpu_count];
}

/* Adds the `wanted` largest bandwidths of a GPU to GPUs of the pool. */
int64_t ath_search_nearest(struct ath_search *search, size_t gpu, const uint64_t *pool,
                           size_t wanted);

/* Returns false if no choice with these members, and others of the pool, can become the best. */
bool ath_search_may_win(struct ath_search *search, const uint64_t *pool);

/* Looks for a ring of a whole group, and takes the steps for that. */
enum ath_gpu_ring_answer ath_search_find_ring(struct ath_search *search, const uint64_t *members);

/* Compares the whole choice with the best one. Returns whether to go on. */
bool ath_search_accept(struct ath_search *search);
