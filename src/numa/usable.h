/*
 * Decides whether a runtime can use a NUMA node or a GPU, and says why not. `discover`, `init`,
 * `health` and `start` all ask here, so that they agree.
 */
#pragma once
#include "numa/machine.h"

enum ath_node_lack {
    ATH_NODE_LACKS_NOTHING,
    ATH_NODE_LACKS_CPUS,        /* the node is only memory */
    ATH_NODE_LACKS_ONLINE,      /* the kernel has the node offline */
    ATH_NODE_LACKS_ONLINE_CPUS, /* all CPUs of the node are offline */
};

/* Returns the reason why no program can run on the node's CPUs. */
enum ath_node_lack ath_node_lack(const struct ath_numa_node *node);

/* Returns false for a node whose memory programs cannot use: it has none, or it is a GPU's or may
 * be one. A node of unknown size counts as memory. */
bool ath_node_has_memory(const struct ath_machine *machine, const struct ath_numa_node *node);

/* Returns the memory that is not reserved as huge pages: programs use these only if they ask for
 * them, and the limit of a cgroup does not count them. ATH_UNKNOWN if the size is not known. */
int64_t ath_node_plain_bytes(const struct ath_numa_node *node);

/* True if CPUs of the node are offline only because a setting allows fewer threads on each core
 * (SMT): a choice of the administrator, no fault. */
bool ath_node_is_smt_limited(const struct ath_machine *machine, const struct ath_numa_node *node);

/* True for a node that may be the memory of a GPU, although no source says of which one. */
bool ath_node_has_no_owner(const struct ath_machine *machine, const struct ath_numa_node *node);

/* Adds the ids of all nodes without an owner. */
void ath_nodes_without_owner(const struct ath_machine *machine, struct ath_idset *out);

/* True if the memory of this machine's GPUs is NUMA nodes. */
bool ath_machine_has_gpu_nodes(const struct ath_machine *machine);

/* True if a GPU names this node as its memory. */
bool ath_node_is_gpu_memory(const struct ath_machine *machine, int id);

enum ath_gpu_lack {
    ATH_GPU_LACKS_NOTHING,
    ATH_GPU_LACKS_CUDA,          /* the GPU is not from NVIDIA */
    ATH_GPU_LACKS_DRIVER,        /* NVIDIA's driver does not run the GPU */
    ATH_GPU_LACKS_ANSWER,        /* NVIDIA's driver no longer reaches the GPU */
    ATH_GPU_LACKS_MEMORY_OWNER,  /* the NUMA node of its memory is not known */
    ATH_GPU_LACKS_MEMORY_ONLINE, /* the NUMA node of its memory is offline */
    ATH_GPU_LACKS_MEMORY_NODE,   /* the NUMA node of its memory does not exist */
};

/* Returns the reason why CUDA cannot use the GPU: the first one in the order of the enum. A fact
 * that the source does not have is no reason. */
enum ath_gpu_lack ath_gpu_lack(const struct ath_machine *machine, const struct ath_gpu *gpu);

/* True if the GPU's memory must be a NUMA node, and no source says which one. CUDA does not start
 * in a cpuset without that node (IBM/powerai issue 125). */
bool ath_gpu_memory_is_unknown(const struct ath_machine *machine, const struct ath_gpu *gpu);
