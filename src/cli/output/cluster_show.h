/* The parts of a cluster, for `aitherion cluster show`: as text and as JSON. */
#pragma once
#include "cli/output/output.h"
#include "cluster/cluster.h"

struct ath_shown_rack {
    const char *name;
    size_t node_count, gpu_count, free_count;
};

struct ath_shown_switch {
    const char *name, *above; /* NULL: none */
    int64_t bytes_per_s, latency_ns;
    bool is_measured;
    size_t node_count, gpu_count, free_count; /* below */
};

struct ath_shown_node {
    const char *name, *rack, *leaf;
    int64_t bytes_per_s, latency_ns;
    bool is_measured;
    const char *model; /* of the first GPU */
    size_t gpu_count, free_count, numa_count;
};

/* Owns its arrays; texts belong to the cluster. */
struct ath_cluster_report {
    const struct ath_cluster *cluster;
    const char *name;
    size_t gpu_count, free_count;
    struct ath_shown_rack *racks;
    size_t rack_count;
    struct ath_shown_switch *switches;
    size_t switch_count;
    struct ath_shown_node *nodes;
    size_t node_count;
};

void ath_cluster_report_make(const struct ath_cluster *cluster, struct ath_cluster_report *out);
void ath_cluster_report_free(struct ath_cluster_report *report);

extern const struct ath_view ath_cluster_show_view; /* of a struct ath_cluster_report */

/* Returns "100 Gb/s, 50.0 us" for a link, or "94 Gb/s measured, 50.0 us"; "" if nothing is known.
 * The caller frees it. */
char *ath_words_link(int64_t bytes_per_s, int64_t latency_ns, bool is_measured);
