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

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "place/twins.h"

static int64_t bandwidth(const struct ath_search *search, size_t a, size_t b)
{
    return search->bandwidths[a * search->gpu_count + b];
}

static uint64_t *pool_at(struct ath_search *search, size_t place)
{
    return &search->pools[place * search->words];
}

/* Returns the group that a place of the choice belongs to. */
static size_t group_at(const struct ath_search *search, size_t place)
{
    return place / search->size;
}

static uint64_t *members_of(struct ath_search *search, size_t group)
{
    return &search->members[group * search->words];
}

static int64_t *to_members_of(struct ath_search *search, size_t group)
{
    return &search->to_members[group * search->gpu_count];
}

/* ---- sums of the largest ---- */

static void swap(int64_t *a, int64_t *b)
{
    int64_t kept = *a;
    *a = *b;
    *b = kept;
}

/* Moves the largest `wanted` values to the front (Hoare's selection). */
static void select_largest(int64_t *values, size_t count, size_t wanted)
{
    size_t first = 0, end = count;

    while (end - first > 1 && wanted > first && wanted < end) {
        int64_t middle = values[first + (end - first) / 2];
        size_t above = first, at = first, below = end;
        while (at < below)
            if (values[at] > middle)
                swap(&values[at++], &values[above++]);
            else if (values[at] < middle)
                swap(&values[at], &values[--below]);
            else
                at++;
        if (wanted <= above)
            end = above;
        else if (wanted >= below)
            first = below;
        else
            return;
    }
}

static int64_t sum_of_largest(int64_t *values, size_t count, size_t wanted)
{
    int64_t sum = 0;
    select_largest(values, count, wanted);
    for (size_t i = 0; i < count && i < wanted; i++)
        sum += values[i];
    return sum;
}

/* Adds the `wanted` largest bandwidths of a GPU to GPUs of the pool. */
static int64_t sum_of_nearest(struct ath_search *search, size_t gpu, const uint64_t *pool,
                              size_t wanted)
{
    const uint32_t *near = &search->near[gpu * search->gpu_count];
    int64_t sum = 0;
    size_t i = 0;

    for (; wanted && i + 1 < search->gpu_count; i++)
        if (!pool || ath_mask_has(pool, near[i])) {
            sum += bandwidth(search, gpu, near[i]);
            wanted--;
        }
    search->work += i;
    return sum;
}

/* ---- preparing ---- */

struct neighbour {
    int64_t bandwidth;
    uint32_t gpu;
};

static int compare_neighbours(const void *a, const void *b)
{
    const struct neighbour *x = a, *y = b;
    if (x->bandwidth != y->bandwidth)
        return x->bandwidth > y->bandwidth ? -1 : 1;
    return (x->gpu > y->gpu) - (x->gpu < y->gpu);
}

static void sort_neighbours(struct ath_search *search, size_t gpu, struct neighbour *buffer)
{
    size_t count = 0;
    bool is_sorted = true;

    for (size_t other = 0; other < search->gpu_count; other++) {
        if (other == gpu)
            continue;
        buffer[count] = (struct neighbour){ bandwidth(search, gpu, other), (uint32_t)other };
        is_sorted = is_sorted && (!count || buffer[count - 1].bandwidth >= buffer[count].bandwidth);
        count++;
    }
    if (!is_sorted)
        qsort(buffer, count, sizeof *buffer, compare_neighbours);
    for (size_t i = 0; i < count; i++)
        search->near[gpu * search->gpu_count + i] = buffer[i].gpu;
}

void ath_search_prepare(struct ath_search *search)
{
    size_t count = search->gpu_count, total = search->size * search->group_count;
    struct neighbour *buffer = ath_xalloc(count * sizeof *buffer);

    search->near = ath_xalloc(count * count * sizeof *search->near);
    search->degrees = ath_xalloc(count * sizeof *search->degrees);
    search->inner = ath_xalloc(count * sizeof *search->inner);
    search->harms = ath_xalloc(count * sizeof *search->harms);
    search->twins = ath_xalloc(count * sizeof *search->twins);
    search->before = ath_xalloc(count * sizeof *search->before);
    search->twin_counts = ath_xalloc(count * sizeof *search->twin_counts);
    search->values = ath_xalloc(count * sizeof *search->values);
    search->additions = ath_xalloc(count * sizeof *search->additions);
    search->addition_bounds = ath_xalloc(count * sizeof *search->addition_bounds);
    search->pools = ath_xalloc((total + 1) * search->words * sizeof *search->pools);
    search->members = ath_xalloc(search->group_count * search->words * sizeof *search->members);
    search->allowed = ath_xalloc(search->words * sizeof *search->allowed);
    search->reached = ath_xalloc(search->words * sizeof *search->reached);
    search->to_members = ath_xalloc(search->group_count * count * sizeof *search->to_members);
    search->chosen = ath_xalloc(total * sizeof *search->chosen);
    search->best = ath_xalloc(total * sizeof *search->best);
    for (size_t gpu = 0; gpu < count; gpu++) {
        sort_neighbours(search, gpu, buffer);
        search->degrees[gpu] = sum_of_nearest(search, gpu, NULL, count);
        search->inner[gpu] = sum_of_nearest(search, gpu, NULL, search->size - 1);
        search->harms[gpu] =
            2 * search->degrees[gpu] - sum_of_nearest(search, gpu, NULL, total - 1);
    }
    free(buffer);
    ath_twins_find(search);
}

void ath_search_free(struct ath_search *search)
{
    if (!search)
        return;
    free(search->near);
    free(search->degrees);
    free(search->inner);
    free(search->harms);
    free(search->twins);
    free(search->before);
    free(search->twin_counts);
    free(search->values);
    free(search->additions);
    free(search->addition_bounds);
    free(search->pools);
    free(search->members);
    free(search->allowed);
    free(search->reached);
    free(search->to_members);
    free(search->chosen);
    free(search->best);
}

/* ---- the value of a choice ---- */

/* Returns the sum over the pairs of `count` GPUs, each pair twice. */
static int64_t sum_within(const struct ath_search *search, const size_t *gpus, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            sum += 2 * bandwidth(search, gpus[i], gpus[j]);
    return sum;
}

/* Returns the bandwidths that the rest loses, each pair twice: those of the pairs that have a GPU
 * of the choice. */
static int64_t harm_of(const struct ath_search *search, const size_t *gpus)
{
    size_t total = search->size * search->group_count;
    int64_t harm = -sum_within(search, gpus, total);
    for (size_t i = 0; i < total; i++)
        harm += 2 * search->degrees[gpus[i]];
    return harm;
}

static void keep(struct ath_search *search, const size_t *gpus, int64_t sum, int64_t harm)
{
    memcpy(search->best, gpus, search->size * search->group_count * sizeof *gpus);
    search->has_best = true;
    search->is_best_foreign = false;
    search->best_sum = sum;
    search->best_harm = harm;
}

/* Looks for a ring of a whole group, and takes the steps for that. */
static enum ath_gpu_ring_answer find_ring(struct ath_search *search, const uint64_t *members)
{
    uint64_t steps = search->steps;
    enum ath_gpu_ring_answer answer =
        ath_gpu_ring_find(search->ring, members, search->size, &steps, NULL);
    search->steps = steps;
    return answer;
}

/* Exchanges a GPU of the best choice for another one if the sum grows and there is still a ring.
 * Returns whether it did. */
static bool exchange(struct ath_search *search, size_t place, size_t gpu)
{
    size_t old = search->best[place];
    uint64_t *members = members_of(search, 0);
    int64_t *to_members = to_members_of(search, 0);
    int64_t gain = to_members[gpu] - bandwidth(search, old, gpu) - to_members[old];

    if (gain <= 0)
        return false;
    ath_mask_drop(members, old);
    ath_mask_add(members, gpu);
    if (find_ring(search, members) != ATH_GPU_RING_FOUND) {
        ath_mask_drop(members, gpu);
        ath_mask_add(members, old);
        return false;
    }
    for (size_t i = 0; i < search->gpu_count; i++)
        to_members[i] += bandwidth(search, gpu, i) - bandwidth(search, old, i);
    search->best[place] = gpu;
    return true;
}

/* Improves the best choice of one group by exchanges until none helps: the better the first choice,
 * the more branches end early. */
static void improve(struct ath_search *search)
{
    uint64_t *members = members_of(search, 0);
    int64_t *to_members = to_members_of(search, 0);

    for (size_t i = 0; i < search->size; i++) {
        ath_mask_add(members, search->best[i]);
        for (size_t gpu = 0; gpu < search->gpu_count; gpu++)
            to_members[gpu] += bandwidth(search, search->best[i], gpu);
    }
    for (bool has_changed = true; has_changed && search->steps;) {
        has_changed = false;
        for (size_t place = 0; place < search->size; place++)
            for (size_t gpu = ath_mask_next(search->candidates, search->words, 0); gpu != SIZE_MAX;
                 gpu = ath_mask_next(search->candidates, search->words, gpu + 1))
                has_changed |= !ath_mask_has(members, gpu) && exchange(search, place, gpu);
    }
    memset(members, 0, search->words * sizeof *members);
    memset(to_members, 0, search->gpu_count * sizeof *to_members);
}

static int compare_gpus(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

void ath_search_offer(struct ath_search *search, const size_t *gpus)
{
    size_t total = search->size * search->group_count;
    int64_t sum = 0;

    memcpy(search->best, gpus, total * sizeof *gpus);
    if (search->group_count == 1 && !search->max_nodes) {
        improve(search);
        qsort(search->best, total, sizeof *search->best, compare_gpus);
    }
    for (size_t group = 0; group < search->group_count; group++)
        sum += sum_within(search, &search->best[group * search->size], search->size);
    search->has_best = search->is_best_foreign = true;
    search->best_sum = sum;
    search->best_harm = harm_of(search, search->best);
}

/* Compares the whole choice with the best one. Returns whether to go on. */
static bool accept(struct ath_search *search)
{
    if (search->has_best && search->chosen_sum < search->best_sum)
        return true;
    int64_t harm = harm_of(search, search->chosen);
    if (search->has_best && search->chosen_sum == search->best_sum &&
        (harm > search->best_harm || (harm == search->best_harm && !search->is_best_foreign)))
        return true;
    keep(search, search->chosen, search->chosen_sum, harm);
    return !search->wants_any;
}

/* ---- bounds ---- */

/* Returns the most that a GPU of the pool can add to the open group. Twins add the same, so that it
 * is computed once for all of them. */
static int64_t largest_addition(struct ath_search *search, size_t gpu, const uint64_t *pool,
                                size_t missing)
{
    size_t twin = search->twins[gpu];

    if (search->addition_bounds[twin] != search->bound_count) {
        const int64_t *to_members = to_members_of(search, group_at(search, search->chosen_count));
        search->addition_bounds[twin] = search->bound_count;
        search->additions[twin] =
            2 * to_members[gpu] + sum_of_nearest(search, gpu, pool, missing - 1);
    }
    return search->additions[twin];
}

/* Returns the most that the sum can become. pool: GPUs that may join the open group. */
static int64_t largest_sum(struct ath_search *search, const uint64_t *pool)
{
    size_t place = search->chosen_count, group = group_at(search, place);
    size_t missing = search->size - place % search->size, count = 0;
    size_t later = search->size * (search->group_count - group - 1);

    search->bound_count++;
    for (size_t gpu = ath_mask_next(pool, search->words, 0); gpu != SIZE_MAX;
         gpu = ath_mask_next(pool, search->words, gpu + 1))
        search->values[count++] = largest_addition(search, gpu, pool, missing);
    if (missing == search->size)
        return search->chosen_sum + sum_of_largest(search->values, count, missing + later);
    int64_t sum = search->chosen_sum + sum_of_largest(search->values, count, missing);
    if (!later)
        return sum;
    const uint64_t *rest = pool_at(search, group * search->size);
    count = 0;
    for (size_t gpu = ath_mask_next(rest, search->words, 0); gpu != SIZE_MAX;
         gpu = ath_mask_next(rest, search->words, gpu + 1))
        search->values[count++] = search->inner[gpu];
    return sum + sum_of_largest(search->values, count, later);
}

/* Returns the least harm of a choice whose sum equals the best one's. */
static int64_t least_harm(struct ath_search *search, const uint64_t *pool)
{
    size_t place = search->chosen_count, count = 0;
    size_t missing = search->size * search->group_count - place;
    bool is_single = search->group_count == 1;
    const uint64_t *rest = is_single ? pool : pool_at(search, place - place % search->size);

    for (size_t gpu = ath_mask_next(rest, search->words, 0); gpu != SIZE_MAX;
         gpu = ath_mask_next(rest, search->words, gpu + 1))
        search->values[count++] = is_single ? -2 * search->degrees[gpu] : -search->harms[gpu];
    int64_t harm = search->chosen_harm - sum_of_largest(search->values, count, missing);
    return is_single ? harm - search->best_sum : harm;
}

/* Returns false if no choice with these members, and others of the pool, can become the best. */
static bool may_win(struct ath_search *search, const uint64_t *pool)
{
    size_t missing = search->size * search->group_count - search->chosen_count;
    bool has_choice = search->group_count > 1 || ath_mask_count(pool, search->words) > missing;

    if (!search->has_best || search->wants_any || !has_choice)
        return true;
    int64_t sum = largest_sum(search, pool);
    if (sum != search->best_sum)
        return sum > search->best_sum;
    int64_t harm = least_harm(search, pool);
    return harm < search->best_harm || (harm == search->best_harm && search->is_best_foreign);
}

/* ---- branches ---- */

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
    size_t group = group_at(search, search->chosen_count);
    int64_t *to_members = to_members_of(search, group);

    search->chosen_sum += 2 * to_members[gpu];
    search->chosen_harm += search->group_count == 1 ? 2 * search->degrees[gpu] : search->harms[gpu];
    for (size_t other = 0; other < search->gpu_count; other++)
        to_members[other] += bandwidth(search, gpu, other);
    ath_mask_add(members_of(search, group), gpu);
    search->twin_counts[search->twins[gpu]]++;
    search->chosen[search->chosen_count++] = gpu;
}

static void take_back(struct ath_search *search)
{
    size_t gpu = search->chosen[--search->chosen_count];
    size_t group = group_at(search, search->chosen_count);
    int64_t *to_members = to_members_of(search, group);

    for (size_t other = 0; other < search->gpu_count; other++)
        to_members[other] -= bandwidth(search, gpu, other);
    search->chosen_sum -= 2 * to_members[gpu];
    search->chosen_harm -= search->group_count == 1 ? 2 * search->degrees[gpu] : search->harms[gpu];
    ath_mask_drop(members_of(search, group), gpu);
    search->twin_counts[search->twins[gpu]]--;
}

/* Drops what cannot join the open group because of links. Returns false if nothing can complete it
 * and the groups after it. */
static bool trim(struct ath_search *search, uint64_t *pool)
{
    size_t place = search->chosen_count, group = group_at(search, place);
    size_t open = place % search->size;
    const uint64_t *members = members_of(search, group);

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
    enum ath_gpu_ring_answer answer = find_ring(search, members_of(search, group));
    search->has_given_up = search->has_given_up || answer == ATH_GPU_RING_UNKNOWN;
    return answer == ATH_GPU_RING_FOUND;
}

/* Fills the pool of the next place. Returns false if nothing can complete the choice. */
static bool open_place(struct ath_search *search)
{
    size_t place = search->chosen_count;
    uint64_t *pool = pool_at(search, place);
    bool is_whole = place % search->size == 0;

    if (is_whole && !has_ring(search, group_at(search, place - 1)))
        return false;
    if (place == search->size * search->group_count)
        return true;
    /* GPUs below the first of a group belong to no later group */
    const uint64_t *before = pool_at(search, is_whole ? place - search->size : place - 1);
    memcpy(pool, before, search->words * sizeof *pool);
    for (size_t i = 0; is_whole && i < search->words; i++)
        pool[i] &= ~members_of(search, group_at(search, place - 1))[i];
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
    uint64_t *pool = pool_at(search, place);
    bool has_dropped = false;

    if (place == search->size * search->group_count)
        return accept(search);
    for (;;) {
        has_dropped |= drop_blocks(search, pool);
        if (has_dropped && !trim(search, pool))
            return true;
        if (!take_steps(search))
            return false;
        if (!may_win(search, pool))
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
    uint64_t *pool = pool_at(search, 0);

    search->chosen_count = 0;
    search->chosen_sum = search->chosen_harm = 0;
    memcpy(pool, search->candidates, search->words * sizeof *pool);
    if (trim(search, pool))
        explore(search);
}
