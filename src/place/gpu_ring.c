/*
 * Searching for rings of a given length, which is NP-hard.
 *
 * Paths grow from the lowest GPU of the ring. A path ends early if too few GPUs are left that have
 * two links each and can be reached. If that takes long in a small graph, a table over all its
 * subsets decides (Held and Karp, 1962): for each subset, the GPUs at which a path through the
 * subset can end. So the answer for up to TABLE_GPUS GPUs has a bound in time and memory.
 */
#include "config.h"

#include "place/gpu_ring.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

enum {
    TABLE_GPUS = 20,          /* 4 MiB */
    STEPS_BEFORE_TABLE = 2000 /* of a search by paths */
};

struct ath_gpu_ring {
    size_t gpu_count, words, max_size;
    uint64_t *links; /* a mask for each GPU */
    /* a mask for each GPU of the path: who may come later, who may come next, who is left then */
    uint64_t *rest, *next, *later;
    uint64_t *reach, *front, *left;
    size_t *path, *degrees;
    uint32_t *table; /* made when it is first needed */
};

struct ath_gpu_ring *ath_gpu_ring_new(size_t gpu_count, size_t max_size)
{
    struct ath_gpu_ring *ring = ath_xalloc(sizeof *ring);
    size_t words = ath_mask_words(gpu_count);

    *ring = (struct ath_gpu_ring){
        .gpu_count = gpu_count,
        .words = words,
        .max_size = max_size,
        .links = ath_xalloc(gpu_count * words * sizeof *ring->links),
        .rest = ath_xalloc((max_size + 1) * words * sizeof *ring->rest),
        .next = ath_xalloc((max_size + 1) * words * sizeof *ring->next),
        .later = ath_xalloc((max_size + 1) * words * sizeof *ring->later),
        .reach = ath_xalloc(words * sizeof *ring->reach),
        .front = ath_xalloc(words * sizeof *ring->front),
        .left = ath_xalloc(words * sizeof *ring->left),
        .path = ath_xalloc(max_size * sizeof *ring->path),
        .degrees = ath_xalloc(gpu_count * sizeof *ring->degrees),
    };
    return ring;
}

void ath_gpu_ring_free(struct ath_gpu_ring *ring)
{
    if (!ring)
        return;
    free(ring->links);
    free(ring->rest);
    free(ring->next);
    free(ring->later);
    free(ring->reach);
    free(ring->front);
    free(ring->left);
    free(ring->path);
    free(ring->degrees);
    free(ring->table);
    free(ring);
}

uint64_t *ath_gpu_ring_links(struct ath_gpu_ring *ring, size_t gpu)
{
    return &ring->links[gpu * ring->words];
}

static const uint64_t *links_of(const struct ath_gpu_ring *ring, size_t gpu)
{
    return &ring->links[gpu * ring->words];
}

/* Takes up to `count` steps. Returns false if there are not so many left. */
static bool take(uint64_t *steps, uint64_t count)
{
    if (*steps == UINT64_MAX)
        return true;
    bool are_enough = *steps >= count;
    *steps = are_enough ? *steps - count : 0;
    return are_enough;
}

/* ---- what can be ruled out ---- */

bool ath_gpu_ring_trim(const struct ath_gpu_ring *ring, uint64_t *among, const uint64_t *fixed,
                       size_t size)
{
    size_t least = size < 2 ? 0 : size == 2 ? 1 : 2;
    bool has_changed = least > 0;

    while (has_changed) {
        has_changed = false;
        for (size_t gpu = ath_mask_next(among, ring->words, 0); gpu != SIZE_MAX;
             gpu = ath_mask_next(among, ring->words, gpu + 1)) {
            if (ath_mask_common(links_of(ring, gpu), among, ring->words) >= least)
                continue;
            if (fixed && ath_mask_has(fixed, gpu))
                return false;
            ath_mask_drop(among, gpu);
            has_changed = true;
        }
    }
    return ath_mask_count(among, ring->words) >= size;
}

void ath_gpu_ring_reach(struct ath_gpu_ring *ring, const uint64_t *among, size_t from,
                        uint64_t *out)
{
    size_t words = ring->words, gpu;

    memset(out, 0, words * sizeof *out);
    memset(ring->front, 0, words * sizeof *ring->front);
    ath_mask_add(out, from);
    ath_mask_add(ring->front, from);
    while ((gpu = ath_mask_next(ring->front, words, 0)) != SIZE_MAX) {
        ath_mask_drop(ring->front, gpu);
        for (size_t i = 0; i < words; i++) {
            uint64_t added = links_of(ring, gpu)[i] & among[i] & ~out[i];
            out[i] |= added;
            ring->front[i] |= added;
        }
    }
}

/* Dirac, 1952: if each of n GPUs is linked to at least n/2 others, a ring has them all. */
static bool is_dense(const struct ath_gpu_ring *ring, const uint64_t *among, size_t size)
{
    if (size < 3 || ath_mask_count(among, ring->words) != size)
        return false;
    for (size_t gpu = ath_mask_next(among, ring->words, 0); gpu != SIZE_MAX;
         gpu = ath_mask_next(among, ring->words, gpu + 1))
        if (2 * ath_mask_common(links_of(ring, gpu), among, ring->words) < size)
            return false;
    return true;
}

/* ---- growing a path ---- */

/*
 * Fills rest with the GPUs that can complete a path of `length` GPUs: those of `free` that have two
 * links among themselves and the path's ends, and that can be reached from its end. Returns false
 * if they are too few, or do not lead back to the start.
 */
static bool can_complete(struct ath_gpu_ring *ring, const uint64_t *free_gpus, size_t length,
                         size_t size, uint64_t *rest)
{
    size_t words = ring->words, start = ring->path[0], end = ring->path[length - 1];

    memcpy(ring->left, free_gpus, words * sizeof *rest);
    ath_mask_add(ring->left, start);
    ath_mask_add(ring->left, end);
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (size_t gpu = ath_mask_next(ring->left, words, 0); gpu != SIZE_MAX;
             gpu = ath_mask_next(ring->left, words, gpu + 1))
            if (gpu != start && gpu != end &&
                ath_mask_common(links_of(ring, gpu), ring->left, words) < 2) {
                ath_mask_drop(ring->left, gpu);
                has_changed = true;
            }
    }
    if (start != end)
        ath_mask_drop(ring->left, start);
    ath_gpu_ring_reach(ring, ring->left, end, rest);
    ath_mask_drop(rest, end);
    return ath_mask_count(rest, words) >= size - length &&
           ath_mask_common(links_of(ring, start), rest, words);
}

/* Returns the GPU of `next` with the fewest ways on (Warnsdorff's rule), which leaves the others
 * for later. */
static size_t narrowest(const struct ath_gpu_ring *ring, const uint64_t *next, const uint64_t *rest)
{
    size_t best = SIZE_MAX, fewest = SIZE_MAX;

    for (size_t gpu = ath_mask_next(next, ring->words, 0); gpu != SIZE_MAX;
         gpu = ath_mask_next(next, ring->words, gpu + 1)) {
        size_t ways = ath_mask_common(links_of(ring, gpu), rest, ring->words);
        if (ways < fewest) {
            fewest = ways;
            best = gpu;
        }
    }
    return best;
}

/* Completes the path of `length` GPUs; those in free_gpus are not on it. */
static enum ath_gpu_ring_answer grow(struct ath_gpu_ring *ring, const uint64_t *free_gpus,
                                     size_t length, size_t size, uint64_t *steps)
{
    size_t end = ring->path[length - 1], words = ring->words;
    uint64_t *rest = &ring->rest[length * words];
    uint64_t *next = &ring->next[length * words], *later = &ring->later[length * words];

    if (length == size)
        return ath_mask_has(links_of(ring, end), ring->path[0]) ? ATH_GPU_RING_FOUND
                                                                : ATH_GPU_RING_NONE;
    if (!take(steps, ring->gpu_count))
        return ATH_GPU_RING_UNKNOWN;
    if (!can_complete(ring, free_gpus, length, size, rest))
        return ATH_GPU_RING_NONE;
    for (size_t i = 0; i < words; i++)
        next[i] = links_of(ring, end)[i] & rest[i];
    for (size_t gpu; (gpu = narrowest(ring, next, rest)) != SIZE_MAX;) {
        ath_mask_drop(next, gpu);
        memcpy(later, rest, words * sizeof *later);
        ath_mask_drop(later, gpu);
        ring->path[length] = gpu;
        enum ath_gpu_ring_answer answer = grow(ring, later, length + 1, size, steps);
        if (answer != ATH_GPU_RING_NONE)
            return answer;
    }
    return ATH_GPU_RING_NONE;
}

/* Tries each GPU as the ring's lowest one. */
static enum ath_gpu_ring_answer find_by_paths(struct ath_gpu_ring *ring, const uint64_t *among,
                                              size_t size, uint64_t *steps)
{
    uint64_t *free_gpus = ring->rest; /* of the path of no GPU */

    memcpy(free_gpus, among, ring->words * sizeof *free_gpus);
    while (ath_gpu_ring_trim(ring, free_gpus, NULL, size)) {
        size_t start = ath_mask_next(free_gpus, ring->words, 0);
        if (start == SIZE_MAX)
            break;
        ath_mask_drop(free_gpus, start);
        ring->path[0] = start;
        enum ath_gpu_ring_answer answer = grow(ring, free_gpus, 1, size, steps);
        if (answer != ATH_GPU_RING_NONE)
            return answer;
    }
    return ATH_GPU_RING_NONE;
}

/* ---- the table over all subsets ---- */

struct small {
    size_t count;
    size_t gpus[TABLE_GPUS]; /* the graph's GPUs in their order */
    uint32_t links[TABLE_GPUS];
};

static struct small small_of(const struct ath_gpu_ring *ring, const uint64_t *among)
{
    struct small small = { 0 };

    for (size_t gpu = ath_mask_next(among, ring->words, 0); gpu != SIZE_MAX;
         gpu = ath_mask_next(among, ring->words, gpu + 1))
        small.gpus[small.count++] = gpu;
    for (size_t i = 0; i < small.count; i++)
        for (size_t j = 0; j < small.count; j++)
            if (ath_mask_has(links_of(ring, small.gpus[i]), small.gpus[j]))
                small.links[i] |= UINT32_C(1) << j;
    return small;
}

/* Reads the path through a subset, from its end back to its lowest GPU. */
static void read_path(struct ath_gpu_ring *ring, const struct small *small, uint32_t subset,
                      uint32_t ends)
{
    for (size_t left = (size_t)__builtin_popcount(subset); left; left--) {
        uint32_t end = (uint32_t)__builtin_ctz(ends);
        ring->path[left - 1] = small->gpus[end];
        subset &= ~(UINT32_C(1) << end);
        ends = left > 1 ? ring->table[subset] & small->links[end] : 0;
    }
}

static enum ath_gpu_ring_answer find_by_table(struct ath_gpu_ring *ring, const uint64_t *among,
                                              size_t size)
{
    const struct small small = small_of(ring, among);
    uint32_t subsets = UINT32_C(1) << small.count;

    if (!ring->table)
        ring->table = ath_xalloc(sizeof *ring->table << TABLE_GPUS);
    memset(ring->table, 0, subsets * sizeof *ring->table);
    for (uint32_t subset = 1; subset < subsets; subset++) {
        uint32_t lowest = subset & -subset, ends = ring->table[subset];
        if (subset == lowest)
            ends = ring->table[subset] = subset;
        size_t length = (size_t)__builtin_popcount(subset);
        if (length == size && ends & small.links[__builtin_ctz(lowest)]) {
            read_path(ring, &small, subset, ends & small.links[__builtin_ctz(lowest)]);
            return ATH_GPU_RING_FOUND;
        }
        for (; length < size && ends; ends &= ends - 1) {
            uint32_t next = small.links[__builtin_ctz(ends)] & ~subset & ~(lowest - 1);
            for (; next; next &= next - 1)
                ring->table[subset | (next & -next)] |= next & -next;
        }
    }
    return ATH_GPU_RING_NONE;
}

/* ---- any ring ---- */

/* One GPU, or the first two that are linked. */
static enum ath_gpu_ring_answer find_short(struct ath_gpu_ring *ring, const uint64_t *among,
                                           size_t size)
{
    for (size_t gpu = ath_mask_next(among, ring->words, 0); gpu != SIZE_MAX;
         gpu = ath_mask_next(among, ring->words, gpu + 1)) {
        ring->path[0] = gpu;
        if (size == 1)
            return ATH_GPU_RING_FOUND;
        for (size_t i = 0; i < ring->words; i++)
            ring->left[i] = links_of(ring, gpu)[i] & among[i];
        ring->path[1] = ath_mask_next(ring->left, ring->words, 0);
        if (ring->path[1] != SIZE_MAX)
            return ATH_GPU_RING_FOUND;
    }
    return ATH_GPU_RING_NONE;
}

static enum ath_gpu_ring_answer find_any(struct ath_gpu_ring *ring, const uint64_t *among,
                                         size_t size, uint64_t *steps)
{
    if (size < 3)
        return find_short(ring, among, size);
    if (ath_mask_count(among, ring->words) > TABLE_GPUS)
        return find_by_paths(ring, among, size, steps);
    uint64_t few = STEPS_BEFORE_TABLE;
    enum ath_gpu_ring_answer answer = find_by_paths(ring, among, size, &few);
    return answer == ATH_GPU_RING_UNKNOWN ? find_by_table(ring, among, size) : answer;
}

enum ath_gpu_ring_answer ath_gpu_ring_find(struct ath_gpu_ring *ring, const uint64_t *among,
                                           size_t size, uint64_t *steps, size_t *out)
{
    if (!size || size > ring->max_size || ath_mask_count(among, ring->words) < size)
        return ATH_GPU_RING_NONE;
    if (!out && is_dense(ring, among, size))
        return ATH_GPU_RING_FOUND;
    enum ath_gpu_ring_answer answer = find_any(ring, among, size, steps);
    if (answer == ATH_GPU_RING_FOUND && out)
        memcpy(out, ring->path, size * sizeof *out);
    return answer;
}
