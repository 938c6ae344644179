/*
 * Rings of GPUs: closed paths through a number of GPUs in which neighbours are linked.
 *
 * A set of GPUs is a mask: bit i of the words is GPU i. Nothing here knows what a link is; the
 * caller says which GPUs are linked. No function allocates after the ring was made, and a struct
 * belongs to one thread.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATH_MASK_BITS = 64 };

static inline size_t ath_mask_words(size_t gpu_count)
{
    return (gpu_count + ATH_MASK_BITS - 1) / ATH_MASK_BITS;
}

static inline bool ath_mask_has(const uint64_t *mask, size_t gpu)
{
    return mask[gpu / ATH_MASK_BITS] >> gpu % ATH_MASK_BITS & 1;
}

static inline void ath_mask_add(uint64_t *mask, size_t gpu)
{
    mask[gpu / ATH_MASK_BITS] |= UINT64_C(1) << gpu % ATH_MASK_BITS;
}

static inline void ath_mask_drop(uint64_t *mask, size_t gpu)
{
    mask[gpu / ATH_MASK_BITS] &= ~(UINT64_C(1) << gpu % ATH_MASK_BITS);
}

static inline size_t ath_mask_count(const uint64_t *mask, size_t words)
{
    size_t count = 0;
    for (size_t i = 0; i < words; i++)
        count += (size_t)__builtin_popcountll(mask[i]);
    return count;
}

/* Returns the number of GPUs that are in both masks. */
static inline size_t ath_mask_common(const uint64_t *a, const uint64_t *b, size_t words)
{
    size_t count = 0;
    for (size_t i = 0; i < words; i++)
        count += (size_t)__builtin_popcountll(a[i] & b[i]);
    return count;
}

/* Returns the lowest GPU of the mask that is `from` or above, or SIZE_MAX if there is none. */
static inline size_t ath_mask_next(const uint64_t *mask, size_t words, size_t from)
{
    for (size_t i = from / ATH_MASK_BITS; i < words; i++) {
        uint64_t word = mask[i];
        if (i == from / ATH_MASK_BITS)
            word &= UINT64_MAX << from % ATH_MASK_BITS;
        if (word)
            return i * ATH_MASK_BITS + (size_t)__builtin_ctzll(word);
    }
    return SIZE_MAX;
}

struct ath_gpu_ring; /* the links of one graph, and the buffers of its searches */

/* Returns a graph of gpu_count GPUs without links, for rings of at most max_size GPUs. The caller
 * frees it with ath_gpu_ring_free(). */
struct ath_gpu_ring *ath_gpu_ring_new(size_t gpu_count, size_t max_size);
void ath_gpu_ring_free(struct ath_gpu_ring *ring);

/* Returns the GPUs that are linked to a GPU, for reading and changing. Links are symmetric: the
 * caller sets both directions. */
uint64_t *ath_gpu_ring_links(struct ath_gpu_ring *ring, size_t gpu);

enum ath_gpu_ring_answer {
    ATH_GPU_RING_NONE,
    ATH_GPU_RING_FOUND,
    ATH_GPU_RING_UNKNOWN /* the search took more than *steps */
};

/*
 * Searches for a ring of exactly `size` GPUs of the mask `among`. One GPU is a ring, and so are two
 * GPUs that are linked.
 *
 * steps  how many steps the search may still take; it is lowered by those taken. UINT64_MAX: no
 *        limit
 * out    the GPUs in the order of the ring, `size` entries; NULL if the order is not needed
 */
enum ath_gpu_ring_answer ath_gpu_ring_find(struct ath_gpu_ring *ring, const uint64_t *among,
                                           size_t size, uint64_t *steps, size_t *out);

/*
 * Drops the GPUs of `among` that no ring of `size` of these GPUs can contain because they have too
 * few links. The GPUs of `fixed` (NULL: none) must be in the ring. Returns false if there is no
 * such ring.
 */
bool ath_gpu_ring_trim(const struct ath_gpu_ring *ring, uint64_t *among, const uint64_t *fixed,
                       size_t size);

/* Writes the GPUs of `among` that can be reached from a GPU of `among` to out. */
void ath_gpu_ring_reach(struct ath_gpu_ring *ring, const uint64_t *among, size_t from,
                        uint64_t *out);
