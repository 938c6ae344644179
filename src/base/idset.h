/*
 * Sets of small ids: CPUs and NUMA nodes, as the kernel writes them.
 *
 * Ids are opaque keys: sparse, of any size up to ATH_ID_MAX, and their order has no meaning. A set
 * is kept as sorted, disjoint, non-adjacent ranges, so that "0-1048575" costs one entry. A zeroed
 * struct is the empty set. A set is not locked: threads that share one and change it need a lock of
 * their own.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { ATH_ID_MAX = 1 << 24 };

struct ath_range {
    int first, last; /* both included */
};

struct ath_idset {
    struct ath_range *ranges;
    size_t range_count;
};

void ath_idset_free(struct ath_idset *set);

/* Adds first..last, both included. Does nothing unless 0 <= first <= last <= ATH_ID_MAX. */
void ath_idset_add(struct ath_idset *set, int first, int last);

/*
 * Reads the kernel's list form ("0-87,90", blank for the empty set) or mask form
 * ("0000ffff,ffffffff": 32-bit words in hexadecimal, highest first; hwloc's spelling with "0x"
 * before a word and with empty words is accepted too). Returns 0, or -EINVAL with *out untouched.
 * The caller frees *out.
 */
int ath_idset_parse_list(const char *text, struct ath_idset *out);
int ath_idset_parse_mask(const char *text, struct ath_idset *out);

/* Returns "0-3,8", or "" for an empty set. The caller frees it. */
char *ath_idset_format(const struct ath_idset *set);

void ath_idset_copy(const struct ath_idset *set, struct ath_idset *out);
bool ath_idset_has(const struct ath_idset *set, int id);
bool ath_idset_equals(const struct ath_idset *a, const struct ath_idset *b);
size_t ath_idset_count(const struct ath_idset *set);

/* Writes the ids that are in both sets to *out, which is overwritten; the caller frees it. */
void ath_idset_intersect(const struct ath_idset *a, const struct ath_idset *b,
                         struct ath_idset *out);

/* Writes the ids of a that are not in b to *out, which is overwritten; the caller frees it. */
void ath_idset_subtract(const struct ath_idset *a, const struct ath_idset *b,
                        struct ath_idset *out);

/* Returns the lowest id above `after` (-1 to begin), or -1 at the end. */
int ath_idset_next(const struct ath_idset *set, int after);
