/*
 * Sets of small ids: CPUs and NUMA nodes, as the kernel writes them.
 *
 * Ids are opaque keys: sparse, of any size up to ATH_ID_MAX, in no order that means anything. A set
 * is kept as sorted, disjoint, non-adjacent ranges, so that "0-1048575" costs one entry.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { ATH_ID_MAX = 1 << 24 };

struct ath_range {
    int first, last; /* both belong to it */
};

struct ath_idset {
    struct ath_range *ranges;
    size_t range_count;
};

void ath_idset_free(struct ath_idset *set);

/* Adds first..last, both included; 0 <= first <= last <= ATH_ID_MAX, else nothing happens. */
void ath_idset_add(struct ath_idset *set, int first, int last);

/*
 * Reads the kernel's list form ("0-87,90", blank for none) or mask form ("0000ffff,ffffffff":
 * 32-bit words in hexadecimal, highest first; "0x" before a word and empty words, hwloc's spelling,
 * are fine too). Returns 0, or -EINVAL with *out untouched. The caller frees *out.
 */
int ath_idset_parse_list(const char *text, struct ath_idset *out);
int ath_idset_parse_mask(const char *text, struct ath_idset *out);

/* "0-3,8"; "" for an empty set. The caller frees it. */
char *ath_idset_format(const struct ath_idset *set);

void ath_idset_copy(const struct ath_idset *set, struct ath_idset *out);
bool ath_idset_has(const struct ath_idset *set, int id);
bool ath_idset_equals(const struct ath_idset *a, const struct ath_idset *b);
size_t ath_idset_count(const struct ath_idset *set);

/* What both have; *out is overwritten, the caller frees it. */
void ath_idset_intersect(const struct ath_idset *a, const struct ath_idset *b,
                         struct ath_idset *out);

/* What a has and b has not; *out is overwritten, the caller frees it. */
void ath_idset_subtract(const struct ath_idset *a, const struct ath_idset *b,
                        struct ath_idset *out);

/* The lowest id above `after` (-1 to begin), or -1 at the end. */
int ath_idset_next(const struct ath_idset *set, int after);
