/*
 * A group of chosen GPUs with all that belongs to it, and how a program is bound to it: NUMA nodes,
 * CPUs, network ports, environment variables, memory policy. Pure computation on a machine.
 */
#pragma once
#include "base/bind.h"
#include "numa/machine.h"
#include "place/cpus.h"
#include "place/ports.h"

enum { ATH_PLACE_VARIABLES = 3 };

struct ath_place_variable {
    const char *name; /* NULL: the list ends here */
    char *value;
};

/* Owns everything except gpus and ring; ath_place_group_free() frees it. */
struct ath_place_group {
    const struct ath_machine *machine;
    const size_t *gpus; /* indexes into the machine, ascending */
    const size_t *ring; /* the same in the order of the best ring */
    size_t gpu_count;
    int64_t ring_bandwidth; /* of the slowest link of the ring; ATH_UNKNOWN for a single GPU, too */
    size_t slowest;         /* the slowest link is from ring[slowest] to the next one */
    struct ath_idset nodes; /* NUMA nodes of the GPUs */
    struct ath_idset memory_nodes; /* NUMA nodes that are the GPUs' memory */
    struct ath_place_cpus cpus;
    struct ath_place_ports ports;
    /* CUDA_VISIBLE_DEVICES by UUIDs if all are known, else by numbers in the order of the PCI bus;
     * none for GPUs that are not NVIDIA's. NCCL_IB_HCA, if there is a port for it. */
    struct ath_place_variable variables[ATH_PLACE_VARIABLES + 1];
    bool has_uuids;
    enum ath_memory_policy memory_policy;
    struct ath_idset policy_nodes; /* of PREFERRED and BIND */
    char **words;                  /* "numactl", its options, "--"; none if nothing is bound */
    size_t word_count;
};

struct ath_place_group_request {
    const size_t *gpus, *ring;
    size_t gpu_count;
    const int64_t *bandwidths;       /* of the machine, as for ath_set_best() */
    size_t cpu_count;                /* as ath_place_choose_cpus() takes it */
    const struct ath_idset *allowed; /* CPUs; NULL: all */
    const struct ath_nic *near;      /* the only port to use; NULL: the nearest ones */
    bool binds_memory;               /* memory of these nodes only, instead of preferring them */
};

/* Fills *out. Returns 0, or -EINVAL with err if there are too few CPUs. */
int ath_place_group_make(const struct ath_machine *machine,
                         const struct ath_place_group_request *request, struct ath_place_group *out,
                         struct ath_err *err);
void ath_place_group_free(struct ath_place_group *group);
