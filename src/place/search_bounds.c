/* Bounds: how good a choice can still become. */
#include "config.h"

#include "place/search_internal.h"

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

int64_t ath_search_nearest(struct ath_search *search, size_t gpu, const uint64_t *pool,
                           size_t wanted)
{
    const uint32_t *near = &search->near[gpu * search->gpu_count];
    int64_t sum = 0;
    size_t i = 0;

    for (; wanted && i + 1 < search->gpu_count; i++)
        if (!pool || ath_mask_has(pool, near[i])) {
            sum += ath_search_bandwidth(search, gpu, near[i]);
            wanted--;
        }
    search->work += i;
    return sum;
}

/* Returns the most that a GPU of the pool can add to the open group. Twins add the same, so that it
 * is computed once for all of them. */
static int64_t largest_addition(struct ath_search *search, size_t gpu, const uint64_t *pool,
                                size_t missing)
{
    size_t twin = search->twins[gpu];

    if (search->addition_bounds[twin] != search->bound_count) {
        const int64_t *to_members =
            ath_search_to_members_of(search, ath_search_group_at(search, search->chosen_count));
        search->addition_bounds[twin] = search->bound_count;
        search->additions[twin] =
            2 * to_members[gpu] + ath_search_nearest(search, gpu, pool, missing - 1);
    }
    return search->additions[twin];
}

/* Returns the most that the sum can become. pool: GPUs that may join the open group. */
static int64_t largest_sum(struct ath_search *search, const uint64_t *pool)
{
    size_t place = search->chosen_count, group = ath_search_group_at(search, place);
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
    const uint64_t *rest = ath_search_pool_at(search, group * search->size);
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
    const uint64_t *rest =
        is_single ? pool : ath_search_pool_at(search, place - place % search->size);

    for (size_t gpu = ath_mask_next(rest, search->words, 0); gpu != SIZE_MAX;
         gpu = ath_mask_next(rest, search->words, gpu + 1))
        search->values[count++] = is_single ? -2 * search->degrees[gpu] : -search->harms[gpu];
    int64_t harm = search->chosen_harm - sum_of_largest(search->values, count, missing);
    return is_single ? harm - search->best_sum : harm;
}

bool ath_search_may_win(struct ath_search *search, const uint64_t *pool)
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
