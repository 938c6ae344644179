/*
 * The devices of a machine, grouped by NUMA node and named.
 *
 * GPUs are named GPU0, GPU1, ... in the order of their PCI addresses. A port has the name of its
 * RDMA device, as in `nvidia-smi topo -m`, else of its network device. A NUMA node that is a GPU's
 * memory has no group: it is shown with its GPU. Nodes that have nothing (no CPUs, no memory, no
 * devices) are shown as one: the firmware of Grace Hopper keeps seven for the parts of each GPU
 * (MIG). If a machine has very many nodes, all nodes without devices are shown as one.
 */
#pragma once
#include "base/idset.h"
#include "base/text.h"
#include "numa/machine.h"

struct ath_group {
    const struct ath_numa_node *node; /* NULL for devices whose node is unknown or missing */
    size_t *gpus, *nics;              /* indexes into the machine's arrays */
    size_t gpu_count, nic_count;
};

struct ath_outline {
    const struct ath_machine *machine;
    struct ath_group *groups; /* by node id; the group without a node is last */
    size_t group_count;
    struct ath_idset folded; /* nodes without devices that are not in groups */
    size_t folded_cpus;
    int64_t folded_bytes; /* their memory */
    char **nic_names;     /* by index of the nic */
    size_t nic_count;
};

/* The machine must outlive *out; release with ath_outline_free(). */
void ath_outline_make(const struct ath_machine *machine, struct ath_outline *out);
void ath_outline_free(struct ath_outline *outline);

/* Returns whether a node has neither CPUs nor memory, and is no GPU's. */
bool ath_outline_is_empty(const struct ath_numa_node *node);

/* The folded nodes in words: "28 nodes without CPUs, memory or devices: 2-8,10-16". The caller
 * frees it. */
char *ath_outline_folded_words(const struct ath_outline *outline);

/*
 * Returns the number of functions of the nic's card. Adds their NUMA nodes to *out_nodes, which may
 * be NULL; the caller frees it.
 */
size_t ath_outline_card(const struct ath_outline *outline, size_t nic, struct ath_idset *out_nodes);

/* The label of a line between two GPUs: "NV3 75 GB/s", with the bandwidth in one direction if it is
 * known. The caller frees it. */
char *ath_outline_edge(const struct ath_machine *machine, size_t a, size_t b);

/* The vendor's name for links between GPUs: "NVLink", "xGMI". */
const char *ath_outline_link_name(const struct ath_gpu *gpu);

/* Returns whether links of the GPU run through switches (NVSwitch). */
bool ath_outline_is_switched(const struct ath_gpu *gpu);

/*
 * The GPU's links in words, peers with equal links together: "GPU1 ×3 (600 Gb/s), CPU ×3 (600
 * Gb/s)". `times` is the sign before a count. NULL if the links are unknown or there are none. The
 * caller frees it.
 */
char *ath_outline_link_words(const struct ath_machine *machine, size_t gpu, const char *times);

/* The nearest port of a GPU; NULL if no distance to a port is known. */
const struct ath_pair *ath_outline_nearest(const struct ath_machine *machine, size_t gpu);
