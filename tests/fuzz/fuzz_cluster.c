/*
 * Fuzzes the descriptions of clusters: cluster.yaml and Slurm's topology.conf, from the bytes to
 * placements, estimates and every export.
 *
 * A description may name files of machines; fuzz_topology_xml reads these.
 */
#include "config.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cluster/estimate.h"
#include "cluster/export/export.h"
#include "cluster/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_NODES = 200, PLACED_GPUS = 5 };

static void use(const struct ath_cluster *cluster)
{
    const struct ath_cluster_request request = { .gpu_count = PLACED_GPUS };
    const struct ath_export_request exported = {
        .cluster = cluster, .gpus = PLACED_GPUS, .image = "image", .reserved_bytes = 1 << 30
    };
    ATH_AUTO(ath_cluster_placement) placement = { 0 };
    struct ath_cluster_estimate estimate;

    if (!ath_cluster_place(cluster, &request, &placement, NULL))
        ath_cluster_estimate(cluster, &placement, ATH_ALL_REDUCE, 1 << 20, &estimate);
    for (const struct ath_export_kind *kind = ath_export_kinds; kind->name; kind++) {
        struct ath_export export = { 0 };
        if (cluster->node_count <= MOST_NODES && !ath_export_make(kind, &exported, &export, NULL))
            ath_export_free(&export);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ATH_AUTO(ath_cluster) cluster = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    ath_auto_free char *text = ath_xalloc(size + 1);
    struct ath_err err;

    memcpy(text, data, size);
    if (!ath_cluster_parse("fuzz/cluster.yaml", text, size, &cluster, &faults, &err))
        use(&cluster);
    return 0;
}
