/*
 * The table of checks.
 *
 * "gpu-missing", "same-subnet" and the like are what config/check.c and numa/warning.h call them:
 * one word means one thing in `configure --show`, `discover` and `health`.
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
    ROW("node-offline", FAULT, node_offline, N_("the document's NUMA nodes are online")),
    ROW("gpu-missing", FAULT, from_fault, N_("the document's GPUs exist")),
    ROW("gpu-other-node", FAULT, from_fault, N_("each GPU is at the NUMA node that serves it")),
    ROW("gpu-memory-left-out", FAULT, from_fault,
        N_("each GPU's memory node is among its entry's memory nodes")),
    ROW("gpu-twice", FAULT, from_fault,
        N_("entries that share a GPU promise no more than its memory")),
    ROW("card-missing", FAULT, from_fault, N_("the document's network cards exist")),

    /* GPUs and NUMA nodes. */
    ROW("gpu-memory-offline", FAULT, gpu_memory, N_("the memory of all GPUs is online")),
    ROW("memory-node-missing", FAULT, from_warning, N_("the memory nodes that GPUs name exist")),
    ROW("gpu-node-unknown", WARNING, from_warning, N_("the NUMA nodes of all GPUs are known")),
    ROW("nvml-missing", WARNING, from_warning, N_("NVIDIA's library can be asked")),
    ROW("nvml-failed", WARNING, from_warning, N_("NVIDIA's driver answers for each GPU")),
    ROW("no-gpu", WARNING, from_warning, N_("there are GPUs")),
    ROW("cpus-offline", WARNING, from_warning, N_("all CPUs are online")),
    ROW("cpuset-limited", WARNING, from_warning, N_("this process may use all CPUs and nodes")),
    ROW("distance-unknown", WARNING, from_warning, N_("the distances between nodes are known")),
    ROW("no-numa-kernel", WARNING, from_warning, N_("the kernel tells its NUMA nodes")),
    ROW("no-sysfs", FAULT, from_warning, N_("sysfs can be seen")),
    ROW("duplicate-pci", WARNING, from_warning, N_("no PCI address occurs twice")),
    ROW("duplicate-node", WARNING, from_warning, N_("no NUMA node occurs twice")),
    ROW("unreadable", UNKNOWN, from_warning, N_("all that the machine tells can be read")),
    ROW("garbled", UNKNOWN, from_warning, N_("all that the machine tells makes sense")),
    ROW("incomplete", UNKNOWN, from_warning, N_("the machine's description is whole")),

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
    ROW("rdma-not-ready", WARNING, rdma_ready, N_("no RDMA port waits for its addresses")),
    ROW("no-usable-gid", WARNING, from_warning, N_("all RDMA ports that are up have a GID to use")),
    ROW("infiniband-mode", WARNING, from_warning, N_("no port is in InfiniBand mode")),
    ROW("rdma-netns-exclusive", FAULT, rdma_netns,
        N_("RDMA devices are shared between network namespaces")),
    ROW("memlock-low", WARNING, memlock, N_("memory may be locked without limit")),

    /* Macvlans. */
    ROW("parent-infiniband", FAULT, parent_infiniband, N_("the parents of macvlans are Ethernet")),
    ROW("mtu-above-parent", FAULT, parent_mtu, N_("no macvlan wants more MTU than its parent has")),
    ROW("address-unfit", FAULT, from_fault, N_("the macvlans' addresses are such as links have")),
    ROW("address-twice", FAULT, from_fault, N_("no two macvlans have the same address")),
    ROW("host-link", FAULT, from_fault, N_("the macvlans' links on the host can be made")),
    ROW("macvlan-impossible", FAULT, macvlan_impossible, N_("the document's macvlans can be made")),
    ROW("macvlan-gone", FAULT, macvlan_gone, N_("no macvlan was lost")),
    ROW("macvlan-drift", WARNING, macvlan_drift, N_("macvlans are as the document wants them")),
    ROW("macvlan-not-made", WARNING, macvlan_recorded, N_("the document's macvlans are made")),
    ROW("macvlan-unrecorded", WARNING, macvlan_unrecorded,
        N_("the document knows all macvlans that aitherion made")),

    /* Runtimes. */
    ROW("device-missing", FAULT, from_plan, N_("GPUs and RDMA devices have their device nodes")),
    ROW("memory-too-small", FAULT, from_plan, N_("the entries' memory is enough for a runtime")),
    ROW("bridge-missing", FAULT, from_plan, N_("Docker has the network that the document wants")),
    ROW("cgroup-mems-short", FAULT, from_plan_warning,
        N_("the cgroups above containers have the NUMA nodes that they need")),
    ROW("gpu-driver-missing", FAULT, from_plan_warning,
        N_("the libraries of the GPUs' driver are there")),
    ROW("gpu-cdi-stale", WARNING, from_plan_warning,
        N_("the CDI specification is of the running driver")),
    ROW("overcommitted", WARNING, from_plan_warning,
        N_("the entries together promise no more than there is")),
    ROW("engine-unreachable", FAULT, engine, N_("the engine that runs the runtimes answers")),
    ROW("key-unreadable", FAULT, key, N_("the shared key can be read")),
    ROW("key-open", WARNING, key_open, N_("only its owner may read the shared key")),
    ROW("image-missing", WARNING, image, N_("Docker has the runtime's image")),
    ROW("runtime-failed", FAULT, runtime_failed, N_("no runtime has failed")),
    ROW("network-lost", FAULT, network_lost, N_("the runtimes have their networks and macvlans")),
    ROW("runtime-silent", FAULT, runtime_silent, N_("the runtimes answer")),
    ROW("key-refused", FAULT, key_refused, N_("the runtimes have the same key as we")),
    ROW("runtime-problem", FAULT, runtime_problem, N_("the runtimes find nothing wrong")),
    ROW("cpuset-mems-short", FAULT, runtime_mems,
        N_("the runtimes may use the memory of their nodes and GPUs")),
    ROW("cpuset-cpus-other", WARNING, runtime_cpus,
        N_("the runtimes may use the CPUs of their nodes, and no others")),
    ROW("memlock-limited", WARNING, runtime_memlock,
        N_("the runtimes may lock memory without limit")),
    ROW("runtime-drift", WARNING, runtime_drift, N_("the runtimes are as the document has them")),
    ROW("runtime-not-started", WARNING, runtime_absent, N_("all entries' runtimes are started")),
    ROW("runtime-unrecorded", WARNING, runtime_unrecorded,
        N_("the document has an entry for each runtime")),
    { .code = NULL },
};
