/*
 * CPUs for a set of GPUs. Pure computation on a machine.
 *
 * The NUMA nodes of the GPUs share the number that is wanted in proportion to their GPUs. A node
 * gives a thread of each core first, then the second thread of each, and so on. If the nodes of the
 * GPUs have too few CPUs, the nearest other nodes give the rest.
 */
#pragma once
#include "base/idset.h"
#include "numa/machine.h"

/* Owns its sets; ath_place_cpus_free() frees them. */
struct ath_place_cpus {
    struct ath_idset cpus;
    struct ath_idset nodes;  /* the NUMA nodes of these CPUs */
    struct ath_idset others; /* those of them that have none of the GPUs */
    size_t core_count;       /* cores of the CPUs */
    bool knows_cores;        /* false if the threads of a core are not known */
};

void ath_place_cpus_free(struct ath_place_cpus *cpus);

/*
 * Chooses CPUs for GPUs, given by their indexes in the machine. machine->cores is used if it was
 * read.
 *
 * wanted   how many CPUs; 0: all online CPUs of the GPUs' nodes, or those of all nodes if no node
 *          of the GPUs is known
 * allowed  only these CPUs; NULL: all
 *
 * Returns 0, or -EINVAL with err if the machine has too few CPUs.
 */
int ath_place_choose_cpus(const struct ath_machine *machine, const size_t *gpus, size_t gpu_count,
                          size_t wanted, const struct ath_idset *allowed,
                          struct ath_place_cpus *out, struct ath_err *err);

/*
 * Divides the CPUs among several groups, so that no two groups share a core, except on a node that
 * has fewer cores than groups. Each group gets cores
 * of a node in proportion to its GPUs there. All groups get equally many cores of a node without
 * any of the GPUs.
 *
 * gpus     the groups one after another, `size` GPUs each
 * allowed  only these CPUs; NULL: all
 * out      an empty set for each group; the caller frees them
 */
void ath_place_divide_cpus(const struct ath_machine *machine, const size_t *gpus, size_t size,
                           size_t group_count, const struct ath_idset *allowed,
                           struct ath_idset *out);

/* Returns the NUMA node of a GPU: the one that the machine names, or its only node with CPUs.
 * ATH_UNKNOWN if neither is known. */
int ath_place_node_of(const struct ath_machine *machine, const struct ath_gpu *gpu);
