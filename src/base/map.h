/*
 * Hash maps of 64-bit keys: handles, addresses, hashes of longer keys.
 *
 * An entry is a struct that begins with a struct ath_map_entry; its owner allocates and frees it.
 * Several entries may have one key. A map does not grow, takes no memory and no lock. The functions
 * are inline, because each CUDA call looks up handles.
 *
 *     static struct ath_map things = ATH_MAP(10);
 *     struct thing { struct ath_map_entry entry; int value; };
 *     ath_map_add(&things, &thing->entry, handle);
 *     struct thing *thing = ath_map_find(&things, handle);
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ath_map_entry {
    struct ath_map_entry *next; /* in the same bucket */
    uint64_t key;
};

struct ath_map {
    unsigned int bits; /* 1 to 32 */
    struct ath_map_entry **buckets;
};

/* A static map with 2 to the power of `bits` buckets. */
#define ATH_MAP(bits)                                                                              \
    {                                                                                              \
        (bits), (struct ath_map_entry * [1 << (bits)])                                             \
        {                                                                                          \
            NULL                                                                                   \
        }                                                                                          \
    }

/*
 * Entries are reached by the pointer that links them, so that any of them can be taken out. These
 * functions return a pointer to NULL after the last entry.
 */

/* The first entry from `at` on, in its bucket, that has the key. */
static inline struct ath_map_entry **ath_map_same(struct ath_map_entry **at, uint64_t key)
{
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

static inline struct ath_map_entry **ath_map_bucket(const struct ath_map *map, uint64_t key)
{
    /* Fibonacci hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4). */
    return &map->buckets[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - map->bits)];
}

static inline struct ath_map_entry **ath_map_at(const struct ath_map *map, uint64_t key)
{
    return ath_map_same(ath_map_bucket(map, key), key);
}

/* Returns an entry with the key, or NULL. */
static inline void *ath_map_find(const struct ath_map *map, uint64_t key)
{
    return *ath_map_at(map, key);
}

static inline void ath_map_add(struct ath_map *map, struct ath_map_entry *entry, uint64_t key)
{
    struct ath_map_entry **bucket = ath_map_bucket(map, key);
    *entry = (struct ath_map_entry){ .next = *bucket, .key = key };
    *bucket = entry;
}

/* Takes an entry out of its map and returns it; NULL if `at` points to NULL. */
static inline void *ath_map_take(struct ath_map_entry **at)
{
    struct ath_map_entry *taken = *at;
    if (taken)
        *at = taken->next;
    return taken;
}

/*
 * A loop over all entries:
 *
 *     ATH_MAP_EACH(&map, at)
 *         if (is_old(*at))
 *             free(ath_map_take(at));
 *
 * The body may take the entry out, and must not change the map in another way.
 */
#define ATH_MAP_EACH(map, at)                                                                      \
    for (size_t at##_bucket = 0; at##_bucket < (size_t)1 << (map)->bits; at##_bucket++)            \
        for (struct ath_map_entry **at = &(map)->buckets[at##_bucket], *at##_next;                 \
             *at && (at##_next = (*at)->next, true); at = *at == at##_next ? at : &(*at)->next)
