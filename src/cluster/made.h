/* A machine made from counts, for nodes of which no more is known. */
#pragma once
#include "numa/machine.h"

struct ath_made_machine {
    const char *hostname, *model; /* of the GPUs; NULL: not known */
    size_t gpus;
    int nvlinks; /* of each GPU to NVSwitches; 0: none; ATH_UNKNOWN */
    size_t numa_nodes;
};

/* Makes a finished machine: GPUs without addresses, in equal parts on NUMA nodes without CPUs. */
void ath_cluster_make_machine(const struct ath_made_machine *counts, struct ath_machine *out);
