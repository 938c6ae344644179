/* The tables of a search: neighbours of each GPU by bandwidth, and sums over them. */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "place/search.h"
#include "place/search_internal.h"
#include "place/twins.h"

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
        buffer[count] =
            (struct neighbour){ ath_search_bandwidth(search, gpu, other), (uint32_t)other };
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
        search->degrees[gpu] = ath_search_nearest(search, gpu, NULL, count);
        search->inner[gpu] = ath_search_nearest(search, gpu, NULL, search->size - 1);
        search->harms[gpu] =
            2 * search->degrees[gpu] - ath_search_nearest(search, gpu, NULL, total - 1);
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
