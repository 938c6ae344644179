/*
 * A machine sorted for showing: which devices belong to which NUMA node, under what names.
 *
 * GPUs are called GPU0, GPU1, ... by PCI address. A port is called by its RDMA device, as
 * `nvidia-smi topo -m` does, else by its network device. A NUMA node that is a GPU's memory is no
 * group of its own: it is shown with its GPU. Where a machine has very many nodes, those without
 * devices are folded into one.
 */
#pragma once
#include "base/idset.h"
#include "base/text.h"
#include "numa/machine.h"

struct ath_group {
    const struct ath_numa_node *node; /* NULL: devices whose node is unknown or not there */
    size_t *gpus, *nics;              /* indexes into the machine's arrays */
    size_t gpu_count, nic_count;
};

struct ath_outline {
    const struct ath_machine *machine;
    struct ath_group *groups; /* by node id; the one without a node last */
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

/* Functions of this nic's card, and where: *out_nodes (freed by the caller) gets their nodes. */
size_t ath_outline_card(const struct ath_outline *outline, size_t nic, struct ath_idset *out_nodes);

/*
 * The links (NVLink, xGMI) between two GPUs. True where it is known whether there are any: *out
 * then is how many side by side, 0 for none, ATH_UNKNOWN for some.
 */
bool ath_outline_links(const struct ath_machine *machine, size_t a, size_t b, int *out);

/* "NVLink", "xGMI": what a vendor calls its links between GPUs. */
const char *ath_outline_link_name(const struct ath_gpu *gpu);

/* "NV3", "NV?", "XGMI": links between two GPUs in a matrix cell. The caller frees it. */
char *ath_outline_link_cell(const struct ath_gpu *gpu, int count);

/* Whether links of this GPU run through switches (NVSwitch). */
bool ath_outline_is_switched(const struct ath_gpu *gpu);

/*
 * The GPU's links in words, peers with equal links together: "GPU1 ×3 (600 Gb/s), CPU ×3 (600
 * Gb/s)"; NULL where they are unknown or none. times is the sign before a count. The caller frees
 * it.
 */
char *ath_outline_link_words(const struct ath_machine *machine, size_t gpu, const char *times);

/* The nearest port of a GPU, or NULL where none is known to be near or far. */
const struct ath_pair *ath_outline_nearest(const struct ath_machine *machine, size_t gpu);
