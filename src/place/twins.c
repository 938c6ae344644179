/* Finding twins and blocks that are alike, by comparing the bandwidths of each two. */
#include "config.h"

#include "place/twins.h"

#include <stdlib.h>

#include "base/alloc.h"

static int64_t bandwidth(const struct ath_search *search, size_t a, size_t b)
{
    return search->bandwidths[a * search->gpu_count + b];
}

static bool are_twins(const struct ath_search *search, size_t a, size_t b)
{
    if (search->max_nodes && search->nodes[a] != search->nodes[b])
        return false;
    for (size_t i = 0; i < search->gpu_count; i++)
        if (i != a && i != b && bandwidth(search, a, i) != bandwidth(search, b, i))
            return false;
    return true;
}

/* Being twins is transitive, so the lowest one stands for all. */
static void find_twins(struct ath_search *search)
{
    for (size_t gpu = 0; gpu < search->gpu_count; gpu++) {
        search->twins[gpu] = (uint32_t)gpu;
        for (size_t lower = 0; lower < gpu; lower++)
            if (search->twins[lower] == lower && are_twins(search, lower, gpu)) {
                search->twins[gpu] = (uint32_t)lower;
                break;
            }
    }
}

/* A block of candidates, known by its first GPU. */
struct block {
    size_t first, last, count;
    int64_t inner; /* bandwidth between its GPUs */
};

/* Lists the blocks of several GPUs that may all be chosen. The caller frees the list. */
static struct block *list_blocks(const struct ath_search *search, size_t *out_count)
{
    struct block *blocks = NULL;

    *out_count = 0;
    for (size_t first = 0; first < search->gpu_count; first++) {
        struct block block = { .first = first };
        bool are_candidates = search->twins[first] == first;
        for (size_t gpu = first; are_candidates && gpu < search->gpu_count; gpu++) {
            if (search->twins[gpu] != first)
                continue;
            are_candidates = ath_mask_has(search->candidates, gpu);
            block.last = gpu;
            block.count++;
        }
        if (!are_candidates || block.count < 2)
            continue;
        block.inner = bandwidth(search, first, block.last);
        *(struct block *)ath_push(&blocks, out_count, sizeof *blocks) = block;
    }
    return blocks;
}

/* Returns whether block a lies before b and is like it. */
static bool are_alike(const struct ath_search *search, const struct block *a, const struct block *b)
{
    if (a->count != b->count || a->inner != b->inner || a->last > b->first)
        return false;
    for (size_t i = 0; i < search->gpu_count; i++)
        if (search->twins[i] != a->first && search->twins[i] != b->first &&
            bandwidth(search, a->first, i) != bandwidth(search, b->first, i))
            return false;
    return true;
}

void ath_twins_find(struct ath_search *search)
{
    size_t count;

    find_twins(search);
    for (size_t gpu = 0; gpu < search->gpu_count; gpu++)
        search->before[gpu] = (uint32_t)gpu;
    if (search->max_nodes || search->group_count > 1)
        return;
    struct block *blocks = list_blocks(search, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = i; j-- > 0;)
            if (are_alike(search, &blocks[j], &blocks[i])) {
                search->before[blocks[i].first] = (uint32_t)blocks[j].first;
                break;
            }
    free(blocks);
}
