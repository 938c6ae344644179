/*
 * Measured figures of pairs of nodes, and the file that keeps them: JSON
 * "aitherion.cluster-links/1", which is written whole or not at all.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ATH_CLUSTER_PAIRS_SCHEMA "aitherion.cluster-links/1"

struct ath_cluster_pair {
    char *from, *to; /* names of nodes: the one that measured, and the other one */
    char date[32];   /* "2026-11-27T04:10:00Z" */
    int64_t to_bytes_per_s, from_bytes_per_s; /* one connection; ATH_UNKNOWN if not measured */
    int64_t round_trip_ns;                    /* the least one; ATH_UNKNOWN */
};

/* Owns its members. A zeroed struct is empty. */
struct ath_cluster_pairs {
    struct ath_cluster_pair *items;
    size_t count;
};

void ath_cluster_pairs_free(struct ath_cluster_pairs *pairs);

/* Adds a pair. The names are copied; the figures are unknown, the date is now. The pointer is valid
 * until the next pair is added. */
struct ath_cluster_pair *ath_cluster_pairs_add(struct ath_cluster_pairs *pairs, const char *from,
                                               const char *to);

/* Moves all pairs of *other to *pairs, which keeps the newest one of equal pairs and is sorted by
 * name. */
void ath_cluster_pairs_merge(struct ath_cluster_pairs *pairs, struct ath_cluster_pairs *other);

/* Adds the pairs of a file. Returns 0, or a negative errno with err: not readable, or -EINVAL if it
 * is not such a file. */
int ath_cluster_pairs_load(const char *path, struct ath_cluster_pairs *pairs, struct ath_err *err);

/*
 * Merges *pairs into a file, which may not exist yet. The file is locked meanwhile, so that several
 * runs may end at once. *pairs then has all pairs of the file. Missing folders are made. Returns 0,
 * or a negative errno with err.
 */
int ath_cluster_pairs_save(const char *path, struct ath_cluster_pairs *pairs, struct ath_err *err);
