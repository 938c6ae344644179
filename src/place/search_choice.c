/* Whole choices: their value, and the best one so far. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "place/search.h"
#include "place/search_internal.h"

/* Returns the sum over the pairs of `count` GPUs, each pair twice. */
static int64_t sum_within(const struct ath_search *search, const size_t *gpus, size_t count)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            sum += 2 * ath_search_bandwidth(search, gpus[i], gpus[j]);
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

enum ath_gpu_ring_answer ath_search_find_ring(struct ath_search *search, const uint64_t *members)
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
    uint64_t *members = ath_search_members_of(search, 0);
    int64_t *to_members = ath_search_to_members_of(search, 0);
    int64_t gain = to_members[gpu] - ath_search_bandwidth(search, old, gpu) - to_members[old];

    if (gain <= 0)
        return false;
    ath_mask_drop(members, old);
    ath_mask_add(members, gpu);
    if (ath_search_find_ring(search, members) != ATH_GPU_RING_FOUND) {
        ath_mask_drop(members, gpu);
        ath_mask_add(members, old);
        return false;
    }
    for (size_t i = 0; i < search->gpu_count; i++)
        to_members[i] +=
            ath_search_bandwidth(search, gpu, i) - ath_search_bandwidth(search, old, i);
    search->best[place] = gpu;
    return true;
}

/* Improves the best choice of one group by exchanges until none helps: the better the first choice,
 * the more branches end early. */
static void improve(struct ath_search *search)
{
    uint64_t *members = ath_search_members_of(search, 0);
    int64_t *to_members = ath_search_to_members_of(search, 0);

    for (size_t i = 0; i < search->size; i++) {
        ath_mask_add(members, search->best[i]);
        for (size_t gpu = 0; gpu < search->gpu_count; gpu++)
            to_members[gpu] += ath_search_bandwidth(search, search->best[i], gpu);
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

bool ath_search_accept(struct ath_search *search)
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
