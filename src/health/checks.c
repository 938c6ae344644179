/*
 * The table of checks.
 *
 * "gpu-missing", "same-subnet" and others have the same name as in config/check.c and
 * numa/warning.h: a code means the same in `configure --show`, `discover` and `health`.
 */
#include "config.h"

#include "base/i18n.h"
#include "health/check.h"

#define ROW(word, severity, function, title)                                                       \
    {                                                                                              \
        word, title, ATH_HEALTH_##severity, ath_health_check_##function                            \
    }

const struct ath_health_check ath_health_checks[] = {
    /* The document. */
    ROW("document-missing", FAULT, document, N_("there is a topology document")),
    ROW("document-invalid", FAULT, document_faults, N_("the topology document has no faults")),
    ROW("node-missing", FAULT, from_fault, N_("the document's NUMA nodes exist")),
    ROW("node-without-cpus", FAULT, from_fault, N_("the document's NUMA nodes have CPUs")),
    ROW("node-cpus-offline", FAULT, from_fault, N_("the document's NUMA nodes have CPUs online")),
    ROW("memory-missing", FAULT, from_fault, N_("each entry has a NUMA node with memory")),
    ROW("node-offline", FAULT, node_offline, N_("the document's NUMA nodes are online")),
    ROW("gpu-missing", FAULT, from_fault, N_("the document's GPUs exist")),
    ROW("gpu-vendor", FAULT, from_fault, N_("the document's GPUs are from NVIDIA")),
    ROW("gpu-other-node", FAULT, from_fault, N_("each GPU is at the NUMA node that serves it")),
    ROW("gpu-memory-left-out", FAULT, from_fault,
        N_("each GPU's memory node is among its entry's memory nodes")),
    ROW("gpu-twice", FAULT, from_fault,
        N_("entries that share a GPU promise no more than its memory")),
    ROW("shares-above-100", WARNING, from_fault,
        N_("the shares of identities add up to no more than a GPU's time")),
    ROW("card-missing", FAULT, from_fault, N_("the document's network cards exist")),

    /* GPUs and NUMA nodes. */
    ROW("gpu-without-driver", FAULT, gpu_usable, N_("NVIDIA's driver runs all GPUs")),
    ROW("gpu-lost", FAULT, gpu_usable, N_("NVIDIA's driver reaches all GPUs")),
    ROW("gpu-memory-unknown", FAULT, gpu_usable,
        N_("the NUMA nodes of the GPUs' memory are known")),
    ROW("memory-owner-unknown", WARNING, from_warning,
        N_("the GPUs of all nodes of GPU memory are known")),
    ROW("gpu-memory-offline", FAULT, gpu_memory, N_("the memory of all GPUs is online")),
    ROW("memory-node-missing", FAULT, from_warning, N_("the memory nodes that GPUs name exist")),
    ROW("gpu-node-unknown", WARNING, from_warning, N_("the NUMA nodes of all GPUs are known")),
    ROW("nvml-missing", WARNING, from_warning, N_("NVIDIA's library answers")),
    ROW("nvml-failed", WARNING, from_warning, N_("NVIDIA's driver answers for each GPU")),
    ROW("smi-topo-unusable", WARNING, from_warning, N_("the NVLinks of the GPUs are known")),
    ROW("measured-unusable", WARNING, from_warning,
        N_("the measured figures are of these GPUs and their driver")),
    ROW("gpu-links-slow", WARNING, from_warning,
        N_("the GPUs' measured copies reach half of what their links can carry")),
    ROW("gpu-links-lost", WARNING, from_warning, N_("no GPU has lost its NVLinks")),
    ROW("gpu-health-low", FAULT, gpu_health, N_("no GPU has a low health score")),
    ROW("no-gpu", WARNING, from_warning, N_("there are GPUs")),
    ROW("node-without-memory", WARNING, from_warning, N_("all nodes with CPUs have memory")),
    ROW("cpus-shared", WARNING, from_warning, N_("each CPU belongs to one NUMA node")),
    ROW("no-pci", UNKNOWN, from_warning, N_("the PCI devices are known")),
    ROW("cpus-offline", WARNING, from_warning, N_("all CPUs are online")),
    ROW("cpuset-limited", WARNING, from_warning, N_("no cpuset forbids CPUs or nodes")),
    ROW("cpus-left-out", WARNING, from_warning, N_("the machine's description has all CPUs")),
    ROW("distance-unknown", WARNING, from_warning, N_("the distances between nodes are known")),
    ROW("no-numa-kernel", WARNING, from_warning, N_("the kernel lists its NUMA nodes")),
    ROW("no-sysfs", FAULT, from_warning, N_("sysfs is there")),
    ROW("duplicate-pci", WARNING, from_warning, N_("no PCI address occurs twice")),
    ROW("duplicate-node", WARNING, from_warning, N_("no NUMA node occurs twice")),
    ROW("unreadable", UNKNOWN, from_warning, N_("all facts about the machine can be read")),
    ROW("garbled", UNKNOWN, from_warning, N_("all facts about the machine make sense")),
    ROW("incomplete", UNKNOWN, from_warning, N_("the machine's description is complete")),

    /* Links. */
    ROW("interface-missing", FAULT, interface_missing, N_("the document's interfaces exist")),
    ROW("interface-loopback", FAULT, from_fault,
        N_("the document's data interfaces reach other hosts")),
    ROW("interface-down", FAULT, interface_down, N_("the document's interfaces are up")),
    ROW("interface-without-address", FAULT, interface_address,
        N_("control and data interfaces have addresses")),
    ROW("address-duplicate", FAULT, address_duplicate,
        N_("no other host has an address of the document's interfaces")),
    ROW("same-subnet", WARNING, from_warning, N_("no two ports of a card share a subnet")),

    /* RDMA. */
    ROW("rdma-device-missing", FAULT, rdma_missing, N_("the document's RDMA devices exist")),
    ROW("rdma-port-down", FAULT, rdma_port_down, N_("the document's RDMA devices are active")),
    ROW("gid-unusable", FAULT, rdma_gid, N_("the document's RDMA devices have a GID to use")),
    ROW("rdma-not-ready", WARNING, rdma_ready, N_("no RDMA port is waiting for its addresses")),
    ROW("no-usable-gid", WARNING, from_warning, N_("all RDMA ports that are up have a GID to use")),
    ROW("infiniband-mode", WARNING, from_warning, N_("no port is in InfiniBand mode")),
    ROW("rdma-netns-exclusive", FAULT, rdma_netns,
        N_("RDMA devices are shared between network namespaces")),
    ROW("memlock-low", WARNING, memlock, N_("memory may be locked without limit")),

    /* Macvlans. */
    ROW("parent-infiniband", FAULT, parent_infiniband, N_("the parents of macvlans are Ethernet")),
    ROW("mtu-above-parent", FAULT, parent_mtu, N_("no macvlan has a larger MTU than its parent")),
    ROW("address-unfit", FAULT, from_fault, N_("links can have the macvlans' addresses")),
    ROW("address-twice", FAULT, from_fault, N_("no two macvlans have the same address")),
    ROW("host-link", FAULT, from_fault, N_("the macvlans' links on the host can be made")),
    ROW("macvlan-impossible", FAULT, macvlan_impossible, N_("the document's macvlans can be made")),
    ROW("macvlan-gone", FAULT, macvlan_gone, N_("no macvlan was lost")),
    ROW("macvlan-drift", WARNING, macvlan_drift, N_("macvlans are as the document describes them")),
    ROW("macvlan-not-made", WARNING, macvlan_recorded, N_("the document's macvlans are made")),
    ROW("macvlan-unrecorded", WARNING, macvlan_unrecorded,
        N_("the document lists all macvlans that aitherion created")),

    /* Runtimes. */
    ROW("device-missing", FAULT, from_plan, N_("GPUs and RDMA devices have their device nodes")),
    ROW("memory-too-small", FAULT, from_plan, N_("the entries' memory is enough for a runtime")),
    ROW("bridge-missing", FAULT, from_plan, N_("Docker has the network that the document wants")),
    ROW("cgroup-mems-short", FAULT, from_plan_warning,
        N_("the cgroups above containers allow the NUMA nodes that the runtimes need")),
    ROW("gpu-driver-missing", FAULT, from_plan_warning,
        N_("the libraries of the GPUs' driver are there")),
    ROW("no-gpus", WARNING, from_plan_warning, N_("each entry has a GPU")),
    ROW("gpu-cdi-stale", WARNING, from_plan_warning,
        N_("the CDI specification matches the running driver")),
    ROW("overcommitted", WARNING, from_plan_warning,
        N_("the entries together promise no more memory than there is")),
    ROW("engine-unreachable", FAULT, engine, N_("the engine that runs the runtimes answers")),
    ROW("key-unreadable", FAULT, key, N_("the shared key can be read")),
    ROW("key-open", WARNING, key_open, N_("only the owner may read the shared key")),
    ROW("certificate-unusable", FAULT, certificate,
        N_("the certificate of runtimes can be used, now and in two weeks")),
    ROW("image-missing", WARNING, image, N_("Docker has the runtime's image")),
    ROW("runtime-of-other-document", WARNING, runtime_other,
        N_("the runtimes were started from this document")),
    ROW("runtime-failed", FAULT, runtime_failed, N_("no runtime has failed")),
    ROW("network-lost", FAULT, network_lost, N_("the runtimes have their networks and macvlans")),
    ROW("runtime-silent", FAULT, runtime_silent, N_("the runtimes answer")),
    ROW("key-refused", FAULT, key_refused, N_("the runtimes have the same key as this machine")),
    ROW("runtime-problem", FAULT, runtime_problem, N_("the runtimes report no problems")),
    ROW("cpuset-mems-short", FAULT, runtime_mems,
        N_("the runtimes may use the memory of their nodes and GPUs")),
    ROW("cpuset-cpus-other", WARNING, runtime_cpus,
        N_("the runtimes may use the CPUs of their nodes, and no others")),
    ROW("memlock-limited", WARNING, runtime_memlock,
        N_("the runtimes may lock memory without limit")),
    ROW("runtime-drift", WARNING, runtime_drift,
        N_("the runtimes are as the document describes them")),
    ROW("runtime-not-started", WARNING, runtime_absent,
        N_("the runtimes of all entries are started")),
    ROW("runtime-unrecorded", WARNING, runtime_unrecorded,
        N_("the document has an entry for each runtime")),
    { .code = NULL },
};
