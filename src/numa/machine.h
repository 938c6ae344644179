/*
 * The machine model, read once: NUMA nodes, GPUs, network cards, and which port is near which GPU.
 *
 * NUMA ids, CPU ids and PCI addresses are keys, never indexes: an AC922 has nodes 0, 8 and 250 to
 * 255. Arrays are sorted by key. Unknown numbers are ATH_UNKNOWN, unknown texts are NULL; nothing
 * is guessed. A machine owns everything it points to. It is read-only after it was finished, so
 * several threads may read it.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/idset.h"
#include "base/pci.h"
#include "gpu/health.h"
#include "roce/nic.h"

/* ATH_SOURCE_XML: a topology file, XML or text. */
enum ath_source { ATH_SOURCE_LIVE, ATH_SOURCE_ROOT, ATH_SOURCE_XML, ATH_SOURCE_COUNT };

enum ath_node_kind {
    ATH_NODE_CPU,    /* has CPUs (memory or not) */
    ATH_NODE_GPU,    /* a GPU's memory, as on AC922 and Grace Hopper */
    ATH_NODE_MEMORY, /* memory without CPUs: CXL, persistent memory, or GPU memory without a known
                        GPU */
    ATH_NODE_KIND_COUNT
};

struct ath_hugepages {
    int64_t size_bytes, total, free;
};

struct ath_distance {
    int node;  /* the other node's id */
    int value; /* 10 is local (ACPI SLIT); only comparisons have a meaning */
};

struct ath_numa_node {
    int id;
    enum ath_node_kind kind;
    bool is_online;
    struct ath_idset cpus; /* the node's cpulist in the kernel */
    bool has_cpus_online;  /* false if the source does not say which CPUs are online */
    struct ath_idset cpus_online;
    int64_t memory_total_bytes, memory_free_bytes;
    char *memory_kind; /* "HBM", "CXL", "NVM", "SPM" (specific-purpose); NULL if not known */
    struct ath_hugepages *hugepages; /* by page size */
    size_t hugepage_count;
    bool has_gpu; /* ATH_NODE_GPU: `gpu` is the GPU whose memory this node is */
    struct ath_pci gpu;
    struct ath_distance *distances; /* by node id */
    size_t distance_count;
};

enum ath_memory_state {
    ATH_MEMORY_UNKNOWN,
    ATH_MEMORY_OFFLINE,
    ATH_MEMORY_ONLINE,
    ATH_MEMORY_STATE_COUNT
};

enum ath_peer_kind { ATH_PEER_GPU, ATH_PEER_CPU, ATH_PEER_SWITCH, ATH_PEER_KIND_COUNT };

/* The NVLinks (xGMI links on AMD) from one GPU to one peer. */
struct ath_nvlink {
    enum ath_peer_kind kind;
    bool has_peer;
    struct ath_pci peer;    /* PCI address of the GPU, the CPU's bridge function or the switch */
    bool is_through_switch; /* the peer GPU is reached over NVSwitches */
    int count;          /* number of parallel links; ATH_UNKNOWN if only their bandwidth is known */
    int64_t speed_mbps; /* all links together, in one direction */
};

struct ath_gpu {
    struct ath_pci pci; /* only a number if the machine's is_text */
    char *place;        /* position in the PCI tree, for ath_pci_class_between(); NULL if unknown */
    struct ath_pci_row classes;
    int vendor_id, device_id;
    char *model, *uuid, *driver_version;
    bool knows_driver; /* the source says which driver of the kernel runs the GPU */
    char *driver;      /* "nvidia", "vfio-pci"; NULL: none, or not known */
    bool is_lost;      /* NVIDIA's driver runs the GPU, but no longer reaches it */
    int numa_node;
    int memory_node; /* the NUMA node that is the GPU's memory; ATH_UNKNOWN for most GPUs */
    enum ath_memory_state memory_state; /* state of memory_node, from /proc/driver/nvidia */
    int64_t memory_total_bytes;
    int64_t memory_free_bytes; /* from the driver; not that of memory_node */
    int partitions;            /* GPUs that programs see of this one (MI300 in mode CPX or TPX);
                                  1 if it is whole, ATH_UNKNOWN if not known */
    char *partition_mode;      /* "CPX"; NULL if not known */
    int pcie_gen, pcie_width;  /* current generation and width of the PCIe link */
    int64_t pcie_mbps;         /* its speed in one direction, without the encoding */
    int64_t to_gpu_bytes_per_s, from_gpu_bytes_per_s; /* measured with pinned memory of the host */
    bool has_nvlinks; /* true if the links, or the lack of any, are known */
    struct ath_nvlink *nvlinks;
    size_t nvlink_count;
    struct ath_gpu_facts facts; /* of its health */
    bool is_judged;             /* the source gives health.score itself, and no facts */
    struct ath_gpu_health health;
};

/* A GPU and a network port, with their distance. */
struct ath_pair {
    size_t gpu, nic; /* indexes into the machine's arrays */
    enum ath_pci_class class;
    bool is_same_node; /* known to be on one NUMA node */
    int rank;          /* from 1, per GPU; equally near ports share a rank */
};

struct ath_warning {
    const char *code; /* stable word, from the table in warning.c */
    char *object; /* the object of the warning: a PCI address, "node 255", a link's name; or NULL */
    char *message, *hint; /* hint may be NULL */
};

/* Measured copies from one GPU to another (`discover --measure`); ATH_UNKNOWN if not measured. */
struct ath_measured {
    int64_t bytes_per_s, latency_ns;
};

struct ath_machine {
    char *hostname, *model, *arch, *kernel;
    const char *profile; /* "ac922", ... or "generic"; from the table in profile.c */
    enum ath_source source;
    bool is_smt_off;  /* a setting of the kernel allows one thread on each core */
    bool lacks_pci;   /* a capture without any PCI device: it was gathered without I/O */
    bool is_text;     /* texts of nvidia-smi and numactl: no device has a PCI address */
    uint8_t *classes; /* the rows of devices that have one (struct ath_pci_row) */
    struct ath_numa_node *nodes;
    size_t node_count;
    struct ath_idset *cores; /* the threads of each core; none if not read or not known (core.h) */
    size_t core_count;
    struct ath_gpu *gpus;
    size_t gpu_count;
    struct ath_measured *measured; /* gpu_count x gpu_count, from row to column; or NULL */
    struct ath_nic *nics;
    size_t nic_count;
    struct ath_nic_others others; /* links and RDMA devices that are not entries of nics */
    struct ath_pair *pairs;       /* by GPU, then rank */
    size_t pair_count;
    struct ath_warning *warnings;
    size_t warning_count;
};

void ath_machine_free(struct ath_machine *machine);

/* Add entries with all numbers unknown. ath_machine_finish() sorts them later. Adding an entry may
 * move the others. */
struct ath_numa_node *ath_machine_add_node(struct ath_machine *machine, int id);
struct ath_gpu *ath_machine_add_gpu(struct ath_machine *machine, const struct ath_pci *pci);
struct ath_nic *ath_machine_add_nic(struct ath_machine *machine);

/* Find an entry; NULL if there is none. The first two use a binary search and need sorted arrays
 * (a finished machine). */
struct ath_numa_node *ath_machine_node(const struct ath_machine *machine, int id);
struct ath_gpu *ath_machine_gpu(const struct ath_machine *machine, const struct ath_pci *pci);
struct ath_nic *ath_machine_nic_by_netdev(const struct ath_machine *machine, const char *netdev);
struct ath_nic *ath_machine_nic_by_rdma(const struct ath_machine *machine, const char *rdma_device);

/* Find an entry in a machine whose arrays are not sorted yet, by a linear search. */
struct ath_numa_node *ath_machine_find_node(const struct ath_machine *machine, int id);
struct ath_gpu *ath_machine_find_gpu(const struct ath_machine *machine, const struct ath_pci *pci);

/* False if the source has no data about RDMA devices (a topology file without any), so that none
 * can be reported as missing. */
bool ath_machine_knows_rdma(const struct ath_machine *machine);

/* Returns the firmware's distance between two nodes, or ATH_UNKNOWN. */
int ath_machine_distance(const struct ath_machine *machine, int from, int to);

/* Sorts nodes by id, GPUs by PCI address, and ports as ath_nic_compare() says. */
void ath_machine_sort(struct ath_machine *machine);

/*
 * Completes a machine that a reader has filled: sorts it, drops duplicates with a warning, sets the
 * kind of each node, ties GPUs to their memory nodes, ranks the pairs of GPUs and ports, and adds
 * the warnings.
 */
void ath_machine_finish(struct ath_machine *machine);

/* Return "cpu", "gpu", "memory"; "live", "root", "xml". */
const char *ath_node_kind_word(enum ath_node_kind kind);
const char *ath_source_word(enum ath_source source);
