/*
 * Branch and bound over the members of the groups, lowest GPU first.
 *
 * A branch takes the lowest GPU that is left, the other branch leaves it out. Four things end a
 * branch early:
 *
 * - The GPUs left have too few links for a ring, or cannot be reached (gpu_ring.h).
 * - A bound on the sum: each GPU still to come adds at most its bandwidths to the members, and half
 *   of its largest ones to others that may come.
 * - A bound on the harm, if the sum can only be equal. Lists that come later are higher, so an
 *   equal choice is not better.
 * - Twins: two GPUs with equal bandwidths to all others can stand for each other. If the lower one
 *   is left out, so is the higher one. Behind an NVSwitch all GPUs are twins. And of two blocks of
 *   twins that are alike, the lower one gives at least as many GPUs.
 */
#include "config.h"

#include "place/search.h"

#include <string.h>

#include "place/search_internal.h"

static bool take_steps(struct ath_search *search)
{
    uint64_t steps = search->work + search->gpu_count * (1 + search->words);
    search->work = 0;
    if (search->steps == UINT64_MAX)
        return true;
    search->has_given_up = search->has_given_up || search->steps < steps;
    search->steps -= search->steps < steps ? search->steps : steps;
    return !search->has_given_up;
}

/* Puts a GPU at the next place of the choice; ath_search_run() and drop() keep the sums. */
static void put(struct ath_search *search, size_t gpu)
{
    size_t group = ath_search_group_at(search, search->chosen_count);
    int64_t *to_members = ath_search_to_members_of(search, group);

    search->chosen_sum += 2 * to_members[gpu];
    search->chosen_harm += search->group_count == 1 ? 2 * search->degrees[gpu] : search->harms[gpu];
    for (size_t other = 0; other < search->gpu_count; other++)
        to_members[other] += ath_search_bandwidth(search, gpu, other);
    ath_mask_add(ath_search_members_of(search, group), gpu);
    search->twin_counts[search->twins[gpu]]++;
    search->chosen[search->chosen_count++] = gpu;
}

static void take_back(struct ath_search *search)
{
    size_t gpu = search->chosen[--search->chosen_count];
    size_t group = ath_search_group_at(search, search->chosen_count);
    int64_t *to_members = ath_search_to_members_of(search, group);

    for (size_t other = 0; other < search->gpu_count; other++)
        to_members[other] -= ath_search_bandwidth(search, gpu, other);
    search->chosen_sum -= 2 * to_members[gpu];
    search->chosen_harm -= search->group_count == 1 ? 2 * search->degrees[gpu] : search->harms[gpu];
    ath_mask_drop(ath_search_members_of(search, group), gpu);
    search->twin_counts[search->twins[gpu]]--;
}

/* Drops what cannot join the open group because of links. Returns false if nothing can complete it
 * and the groups after it. */
static bool trim(struct ath_search *search, uint64_t *pool)
{
    size_t place = search->chosen_count, group = ath_search_group_at(search, place);
    size_t open = place % search->size;
    const uint64_t *members = ath_search_members_of(search, group);

    for (size_t i = 0; i < search->words; i++)
        search->allowed[i] = pool[i] | members[i];
    if (!ath_gpu_ring_trim(search->ring, search->allowed, members, search->size))
        return false;
    if (open && search->size > 1) {
        ath_gpu_ring_reach(search->ring, search->allowed, search->chosen[place - 1],
                           search->reached);
        memcpy(search->allowed, search->reached, search->words * sizeof *search->allowed);
        if (ath_mask_common(search->allowed, members, search->words) != open)
            return false;
    }
    for (size_t i = 0; i < search->words; i++)
        pool[i] = search->allowed[i] & ~members[i];
    size_t least = open ? search->size - open : search->size * (search->group_count - group);
    return ath_mask_count(pool, search->words) >= least;
}

/* Drops the GPUs of further NUMA nodes from the pool, once the open group has GPUs of as many as it
 * may. */
static void keep_nodes(const struct ath_search *search, uint64_t *pool)
{
    const size_t *first =
        &search->chosen[search->chosen_count - 1 - (search->chosen_count - 1) % search->size];
    size_t open = (size_t)(&search->chosen[search->chosen_count] - first), count = 0;

    for (size_t i = 0; i < open; i++) {
        bool is_new = true;
        for (size_t j = 0; j < i; j++)
            is_new = is_new && search->nodes[first[j]] != search->nodes[first[i]];
        count += is_new;
    }
    if (!search->max_nodes || count < search->max_nodes)
        return;
    for (size_t gpu = ath_mask_next(pool, search->words, 0); gpu != SIZE_MAX;
         gpu = ath_mask_next(pool, search->words, gpu + 1)) {
        bool is_known = false;
        for (size_t i = 0; i < open; i++)
            is_known = is_known || search->nodes[first[i]] == search->nodes[gpu];
        if (!is_known)
            ath_mask_drop(pool, gpu);
    }
}

/* Returns whether the group that has just become whole has a ring. */
static bool has_ring(struct ath_search *search, size_t group)
{
    enum ath_gpu_ring_answer answer =
        ath_search_find_ring(search, ath_search_members_of(search, group));
    search->has_given_up = search->has_given_up || answer == ATH_GPU_RING_UNKNOWN;
    return answer == ATH_GPU_RING_FOUND;
}

/* Fills the pool of the next place. Returns false if nothing can complete the choice. */
static bool open_place(struct ath_search *search)
{
    size_t place = search->chosen_count;
    uint64_t *pool = ath_search_pool_at(search, place);
    bool is_whole = place % search->size == 0;

    if (is_whole && !has_ring(search, ath_search_group_at(search, place - 1)))
        return false;
    if (place == search->size * search->group_count)
        return true;
    /* GPUs below the first of a group belong to no later group */
    const uint64_t *before =
        ath_search_pool_at(search, is_whole ? place - search->size : place - 1);
    memcpy(pool, before, search->words * sizeof *pool);
    for (size_t i = 0; is_whole && i < search->words; i++)
        pool[i] &= ~ath_search_members_of(search, ath_search_group_at(search, place - 1))[i];
    if (!is_whole)
        keep_nodes(search, pool);
    return trim(search, pool);
}

static void drop_twins(const struct ath_search *search, uint64_t *pool, size_t gpu)
{
    for (size_t other = ath_mask_next(pool, search->words, gpu + 1); other != SIZE_MAX;
         other = ath_mask_next(pool, search->words, other + 1))
        if (search->twins[other] == search->twins[gpu])
            ath_mask_drop(pool, other);
}

/* Drops GPUs from the front of the pool that would make their block give more than a lower one that
 * is like it. Returns whether it dropped any. */
static bool drop_blocks(const struct ath_search *search, uint64_t *pool)
{
    size_t gpu;
    bool has_dropped = false;

    while ((gpu = ath_mask_next(pool, search->words, 0)) != SIZE_MAX) {
        size_t block = search->twins[gpu], before = search->before[block];
        if (before == block || search->twin_counts[before] > search->twin_counts[block])
            break;
        ath_mask_drop(pool, gpu);
        drop_twins(search, pool, gpu);
        has_dropped = true;
    }
    return has_dropped;
}

/* Fills the places from the next one on in every way that may win. Returns false to end the whole
 * search. */
static bool explore(struct ath_search *search)
{
    size_t place = search->chosen_count;
    uint64_t *pool = ath_search_pool_at(search, place);
    bool has_dropped = false;

    if (place == search->size * search->group_count)
        return ath_search_accept(search);
    for (;;) {
        has_dropped |= drop_blocks(search, pool);
        if (has_dropped && !trim(search, pool))
            return true;
        if (!take_steps(search))
            return false;
        if (!ath_search_may_win(search, pool))
            return true;
        size_t gpu = ath_mask_next(pool, search->words, 0);
        ath_mask_drop(pool, gpu);
        put(search, gpu);
        bool goes_on = !open_place(search) || explore(search);
        take_back(search);
        if (!goes_on)
            return false;
        drop_twins(search, pool, gpu);
        has_dropped = true;
    }
}

void ath_search_run(struct ath_search *search)
{
    uint64_t *pool = ath_search_pool_at(search, 0);

    search->chosen_count = 0;
    search->chosen_sum = search->chosen_harm = 0;
    memcpy(pool, search->candidates, search->words * sizeof *pool);
    if (trim(search, pool))
        explore(search);
}
