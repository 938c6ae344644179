/* Pairs of nodes of a cluster that were measured, as text and as JSON. */
#pragma once
#include "cli/output/output.h"
#include "cluster/cluster.h"
#include "cluster/pairs.h"

/* One pair of this run. Texts are not owned. */
struct ath_shown_pair {
    const char *from, *to, *address;                         /* address: NULL: merged from a file */
    size_t hops;                                             /* switches between them; 0: no way */
    int64_t to_bytes_per_s, from_bytes_per_s, round_trip_ns; /* ATH_UNKNOWN */
    const char *error;                                       /* NULL: measured */
};

struct ath_cluster_measure_report {
    const struct ath_cluster *cluster;
    const char *file; /* where the figures are kept */
    struct ath_shown_pair *pairs;
    size_t pair_count;
    const struct ath_cluster_pairs *kept; /* all pairs of the file, for the table of all nodes */
};

extern const struct ath_view ath_cluster_measure_view; /* of a struct ath_cluster_measure_report */
