/*
 * Processor time of a placement on the nodes of a cluster (src/cluster/place.h), as a table in
 * Markdown.
 *
 *     bench/cluster [RUNS]
 *
 * The clusters have racks of 40 nodes with eight GPUs, below spines of ten racks. Which GPUs are
 * busy differs in each run.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cluster/made.h"
#include "cluster/place.h"

enum { GPUS = 8, RACK = 40, RACKS = 10, RUNS = 20 };

static const struct row {
    size_t nodes, gpus, per_node;
} rows[] = {
    { 1000, 1, 0 },  { 1000, 8, 0 },   { 1000, 64, 8 },   { 1000, 512, 0 },   { 10000, 1, 0 },
    { 10000, 8, 0 }, { 10000, 64, 8 }, { 10000, 512, 0 }, { 10000, 4096, 0 }, { 10000, 30000, 0 },
};

static uint64_t seed;

/* A number below limit (splitmix64). */
static size_t random_below(size_t limit)
{
    uint64_t value = seed += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)((value ^ value >> 31) % limit);
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* A shape for each number of busy GPUs. */
static void add_shapes(struct ath_cluster *cluster, size_t shapes[GPUS + 1])
{
    const struct ath_made_machine counts = {
        .model = "NVIDIA A100-SXM4-80GB", .gpus = GPUS, .nvlinks = 12, .numa_nodes = 2
    };
    ATH_AUTO(ath_idset) busy = { 0 };
    struct ath_machine machine;

    ath_cluster_make_machine(&counts, &machine);
    const struct ath_machine *kept = ath_cluster_add_machine(cluster, &machine);
    for (int i = 0; i <= GPUS; i++) {
        shapes[i] = ath_cluster_add_shape(cluster, kept, &busy);
        ath_idset_add(&busy, i, i);
    }
}

static size_t add_switch(struct ath_cluster *cluster, const char *word, size_t number, size_t above)
{
    ath_auto_free char *name = ath_xasprintf("%s%zu", word, number);
    size_t added = ath_cluster_add_switch(cluster, name);
    cluster->switches[added].above = above;
    cluster->switches[added].up = (struct ath_cluster_link){ 50000000000, 1000 };
    return added;
}

static void make(size_t nodes, struct ath_cluster *cluster)
{
    size_t shapes[GPUS + 1], spine = ATH_CLUSTER_NONE, leaf = ATH_CLUSTER_NONE;

    add_shapes(cluster, shapes);
    size_t core = add_switch(cluster, "core", 0, ATH_CLUSTER_NONE);
    for (size_t i = 0; i < nodes; i++) {
        if (i % ((size_t)RACK * RACKS) == 0)
            spine = add_switch(cluster, "spine", i, core);
        if (i % RACK == 0)
            leaf = add_switch(cluster, "leaf", i, spine);
        ath_auto_free char *name = ath_xasprintf("node%zu", i);
        size_t added = ath_cluster_add_node(cluster, name);
        cluster->nodes[added].leaf = leaf;
        cluster->nodes[added].up = (struct ath_cluster_link){ 12500000000, 1000 };
        cluster->nodes[added].machine = cluster->machines[0];
        cluster->nodes[added].shape = shapes[random_below(GPUS + 1)];
    }
    ath_cluster_finish(cluster, NULL);
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const struct row *row, size_t runs)
{
    ath_auto_free double *times = ath_xalloc(runs * sizeof *times);
    size_t found = 0;

    for (size_t i = 0; i < runs; i++) {
        ATH_AUTO(ath_cluster) cluster = { 0 };
        ATH_AUTO(ath_cluster_placement) placement = { 0 };
        const struct ath_cluster_request request = { .gpu_count = row->gpus,
                                                     .per_node = row->per_node };
        make(row->nodes, &cluster);
        double begin = now_ms();
        found += !ath_cluster_place(&cluster, &request, &placement, NULL);
        times[i] = now_ms() - begin;
    }
    qsort(times, runs, sizeof *times, compare_times);
    printf("| %zu | %zu | %s | %.2f ms | %.2f ms | %zu of %zu |\n", row->nodes, row->gpus,
           row->per_node ? "8" : "any", times[runs / 2], times[runs - 1], found, runs);
}

int main(int argc, char **argv)
{
    size_t runs = argc > 1 ? strtoul(argv[1], NULL, 10) : RUNS;

    printf("| nodes | GPUs | on each node | median | longest | placed |\n"
           "| --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < ATH_COUNT(rows) && runs; i++)
        measure(&rows[i], runs);
    return runs ? 0 : 2;
}
