/*
 * The machine, read once into one plain model: NUMA nodes, GPUs, network cards, and who is near
 * whom.
 *
 * NUMA ids, CPU ids and PCI addresses are keys, never indexes: an AC922 has nodes 0, 8 and 250 to
 * 255. Arrays are sorted by key. Unknown numbers are ATH_UNKNOWN, unknown texts NULL: never a
 * guess. A machine owns all it points to and is only read after it was made; several threads may
 * read it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/idset.h"
#include "base/pci.h"
#include "roce/nic.h"

enum ath_source { ATH_SOURCE_LIVE, ATH_SOURCE_ROOT, ATH_SOURCE_XML };

enum ath_node_kind {
    ATH_NODE_CPU,    /* has CPUs (memory or not) */
    ATH_NODE_GPU,    /* a GPU's memory, as on AC922 and Grace Hopper */
    ATH_NODE_MEMORY, /* memory without CPUs: CXL, persistent memory, GPU memory that nobody claims
                      */
};

struct ath_hugepages {
    int64_t size_bytes, total, free;
};

struct ath_distance {
    int node;  /* the other node's id */
    int value; /* 10 is local (ACPI SLIT); only ever compared */
};

struct ath_numa_node {
    int id;
    enum ath_node_kind kind;
    bool is_online;
    struct ath_idset cpus; /* the kernel's own cpulist of the node */
    bool has_cpus_online;  /* false where the source does not tell which of them are online */
    struct ath_idset cpus_online;
    int64_t memory_total_bytes, memory_free_bytes;
    struct ath_hugepages *hugepages; /* by page size */
    size_t hugepage_count;
    bool has_gpu; /* for ATH_NODE_GPU: whose memory it is */
    struct ath_pci gpu;
    struct ath_distance *distances; /* by node id */
    size_t distance_count;
};

enum ath_memory_state { ATH_MEMORY_UNKNOWN, ATH_MEMORY_OFFLINE, ATH_MEMORY_ONLINE };

enum ath_peer_kind { ATH_PEER_GPU, ATH_PEER_CPU, ATH_PEER_SWITCH };

/* The NVLinks (xGMI links on AMD) from one GPU to one peer. */
struct ath_nvlink {
    enum ath_peer_kind kind;
    bool has_peer;
    struct ath_pci peer;    /* of the GPU, the CPU's bridge function or the switch */
    bool is_through_switch; /* the peer GPU is reached over NVSwitches */
    int count;          /* of links side by side; ATH_UNKNOWN where only their bandwidth is known */
    int64_t speed_mbps; /* of all of them together, one direction */
};

struct ath_gpu {
    struct ath_pci pci;
    char *place; /* in the PCI tree, as ath_pci_class_between() takes it; NULL unknown */
    int vendor_id, device_id;
    char *model, *uuid, *driver_version;
    int numa_node;
    int memory_node; /* the NUMA node that is its memory; ATH_UNKNOWN for most GPUs */
    enum ath_memory_state memory_state; /* of memory_node, as /proc/driver/nvidia says */
    int64_t memory_total_bytes;
    int pcie_gen, pcie_width; /* of the link as it runs now */
    bool has_nvlinks;         /* true where the links (or that there are none) are known */
    struct ath_nvlink *nvlinks;
    size_t nvlink_count;
};

/* A GPU and a network port, with how near they are. */
struct ath_pair {
    size_t gpu, nic; /* indexes into the machine's arrays */
    enum ath_pci_class class;
    bool is_same_node; /* known to be on one NUMA node */
    int rank;          /* from 1, per GPU; equally near ports share a rank */
};

struct ath_warning {
    const char *code;     /* stable word, from the table in warning.c */
    char *object;         /* what it is about: a PCI address, "node 255", a link's name; or NULL */
    char *message, *hint; /* hint may be NULL */
};

struct ath_machine {
    char *hostname, *model, *arch, *kernel;
    const char *profile; /* "ac922", ... or "generic"; from the table in profile.c */
    enum ath_source source;
    struct ath_numa_node *nodes;
    size_t node_count;
    struct ath_gpu *gpus;
    size_t gpu_count;
    struct ath_nic *nics;
    size_t nic_count;
    struct ath_nic_others others; /* links and RDMA devices that are no entries of nics */
    struct ath_pair *pairs;       /* by GPU, then rank */
    size_t pair_count;
    struct ath_warning *warnings;
    size_t warning_count;
};

void ath_machine_free(struct ath_machine *machine);

/* New entries with every number unknown; GPUs and nodes are sorted later by ath_machine_finish().
 */
struct ath_numa_node *ath_machine_add_node(struct ath_machine *machine, int id);
struct ath_gpu *ath_machine_add_gpu(struct ath_machine *machine, const struct ath_pci *pci);
struct ath_nic *ath_machine_add_nic(struct ath_machine *machine);

/* NULL where there is none. The first two need sorted arrays (a finished machine) and are quick. */
struct ath_numa_node *ath_machine_node(const struct ath_machine *machine, int id);
struct ath_gpu *ath_machine_gpu(const struct ath_machine *machine, const struct ath_pci *pci);
struct ath_nic *ath_machine_nic_by_netdev(const struct ath_machine *machine, const char *netdev);
struct ath_nic *ath_machine_nic_by_rdma(const struct ath_machine *machine, const char *rdma_device);

/* The same in a machine that is still being made, whose arrays need not be sorted: slower. */
struct ath_numa_node *ath_machine_find_node(const struct ath_machine *machine, int id);
struct ath_gpu *ath_machine_find_gpu(const struct ath_machine *machine, const struct ath_pci *pci);

/* False where the source says nothing of RDMA devices (a topology file without any), so that none
 * of them can be called missing. */
bool ath_machine_knows_rdma(const struct ath_machine *machine);

/* The distance between two nodes as the firmware gave it, or ATH_UNKNOWN. */
int ath_machine_distance(const struct ath_machine *machine, int from, int to);

/* Sorts nodes by id, GPUs by PCI address, ports as ath_nic_compare() says, for the look-ups above.
 */
void ath_machine_sort(struct ath_machine *machine);

/*
 * Completes a machine that a reader has filled: sorts, drops doubles (with a warning), says what
 * kind each node is, ties GPUs to their memory nodes, ranks the GPU-to-NIC pairs, and writes the
 * warnings.
 */
void ath_machine_finish(struct ath_machine *machine);

/* "cpu", "gpu", "memory"; "live", "root", "xml". */
const char *ath_node_kind_word(enum ath_node_kind kind);
const char *ath_source_word(enum ath_source source);
