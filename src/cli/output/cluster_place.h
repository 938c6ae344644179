/* The answers of `aitherion cluster place` and `aitherion cluster estimate`. */
#pragma once
#include "cli/output/output.h"
#include "cluster/estimate.h"
#include "cluster/place.h"

/* Owns nothing. */
struct ath_cluster_place_report {
    const struct ath_cluster *cluster;
    const struct ath_cluster_placement *placement;
    enum ath_collective collective;
    uint64_t size_bytes; /* of the estimate */
    struct ath_cluster_estimate estimate;
};

/* Both of a struct ath_cluster_place_report. */
extern const struct ath_view ath_cluster_place_view, ath_cluster_estimate_view;
