/*
 * Warnings about a machine, each with a hint if there is a remedy. Users read them below the
 * picture, programs use the code word.
 *
 * In a row's message and hint, "{0}" stands for the object, and "{1}", "{2}", "{3}" for the texts
 * given after it. A hint of NULL means that nothing needs to be done, or that nothing can be.
 */
#pragma once
#include "base/i18n.h"
#include "numa/machine.h"

#define ATH_WARNING_TABLE(X)                                                                       \
    X(GPU_DRIVER, "gpu-without-driver", /* {1}: its driver, or that it has none; {2}: a remedy */  \
      N_("NVIDIA's driver does not run GPU '{0}' ({1}), so CUDA cannot use the GPU"),              \
      N_("lspci -k -s {0}; {2}; dmesg | grep -i -e nvrm -e xid"))                                  \
    X(GPU_LOST, "gpu-lost",                                                                        \
      N_("NVIDIA's driver no longer reaches GPU '{0}', which may have fallen off the bus"),        \
      N_("dmesg | grep -i -e nvrm -e xid -e eeh; restart the machine if the GPU stays away"))      \
    X(GPU_MEMORY_UNKNOWN, "gpu-memory-unknown",                                                    \
      N_("the NUMA node of the memory of GPU '{0}' is not known, and CUDA does not start "         \
         "without that node"),                                                                     \
      N_("on that machine /proc/driver/nvidia/gpus/{0}/numa_status must name the node; lstopo "    \
         "writes it with HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES=1"))                                     \
    X(MEMORY_OWNER_UNKNOWN, "memory-owner-unknown", /* object: "nodes 250-255" */                  \
      N_("memory without CPUs in {0}: on this kind of machine it is the memory of GPUs, but no "   \
         "source says of which ones"),                                                             \
      N_("look whether a GPU is missing: lspci -d 10de:; load NVIDIA's driver there: modprobe "    \
         "nvidia; lstopo writes the GPUs with HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES=1"))                \
    X(GPU_MEMORY_OFFLINE, "gpu-memory-offline", /* {1}: node id */                                 \
      N_("the memory of GPU '{0}' (NUMA node {1}) is offline, so CUDA cannot use the GPU"),        \
      N_("systemctl enable nvidia-persistenced; systemctl restart nvidia-persistenced"))           \
    X(GPU_NODE_UNKNOWN, "gpu-node-unknown",                                                        \
      N_("the NUMA node of GPU '{0}' is not known, so its nearest port is not known either"),      \
      N_("check the firmware for a NUMA setting (NPS, 'NUMA per socket'), and update the "         \
         "firmware"))                                                                              \
    X(MEMORY_NODE_MISSING, "memory-node-missing", /* {1}: node id */                               \
      N_("GPU '{0}' names NUMA node {1} as its memory, but that node does not exist"),             \
      N_("systemctl restart nvidia-persistenced"))                                                 \
    X(NODE_WITHOUT_MEMORY, "node-without-memory", /* object: "node 8" */                           \
      N_("{0} has CPUs but no memory, so its programs use the memory of other nodes"),             \
      N_("check the memory modules of that processor: ipmitool sel list; dmidecode -t memory"))    \
    X(CPUS_SHARED, "cpus-shared", /* object: "node 1"; {1}: cpulist; {2}: the other node's id */   \
      N_("CPUs {1} belong to {0} and to node {2}, so their runtimes share CPUs"),                  \
      N_("cat /proc/cmdline (numa=fake makes such nodes); otherwise update the firmware"))         \
    X(CPUS_OFFLINE, "cpus-offline", /* object: "node 0"; {1}: cpulist */                           \
      N_("CPUs {1} of {0} are not online"),                                                        \
      N_("chcpu --enable {1}, or on POWER: ppc64_cpu --cores-on=all; ppc64_cpu --smt=on"))         \
    X(NVML_MISSING, "nvml-missing", /* {1}: why */                                                 \
      N_("'{0}' cannot be used: {1}; NVLinks are not known"),                                      \
      N_("install NVIDIA's driver with its libraries (on Debian: apt-get install libnvidia-ml1)")) \
    X(NVML_FAILED, "nvml-failed", /* object: PCI address; {1}: why */                              \
      N_("NVIDIA's driver gives no answer about GPU '{0}': {1}"),                                  \
      N_("nvidia-smi -q -i {0}; dmesg | grep -i -e nvrm -e xid"))                                  \
    X(SMI_TOPO, "smi-topo-unusable", /* object: the file; {1}: why */                              \
      N_("'{0}' cannot be used ({1}), so NVLinks are not known"),                                  \
      N_("on that machine: nvidia-smi topo -m > {0}"))                                             \
    X(MEASURED, "measured-unusable", /* object: the file; {1}: why */                              \
      N_("measured figures in '{0}' are not used: {1}"), N_("aitherion discover --measure"))       \
    X(LINKS_SLOW,                                                                                  \
      "gpu-links-slow", /* object: PCI address; {1}: the other GPU's; {2}, {3}: GB/s */            \
      N_("copies between GPU '{0}' and GPU '{1}' were measured with {2}, although their links "    \
         "can "                                                                                    \
         "carry {3}"),                                                                             \
      N_("nvidia-smi nvlink --status -i {0}; nvidia-smi topo -p2p r; then measure again, with no " \
         "program on the GPUs: aitherion discover --measure"))                                     \
    X(GPU_LINKS_LOST, "gpu-links-lost", /* object: PCI address; {1}: links; {2}: of others */      \
      N_("GPU '{0}' has {1} NVLinks to GPUs and switches, although GPUs of its kind here have "    \
         "{2}"),                                                                                   \
      N_("nvidia-smi nvlink --status -i {0}; dmesg | grep -i -e nvrm -e xid"))                     \
    X(GPU_HEALTH, "gpu-health-low", /* object: PCI address; {1}: score; {2}: codes */              \
      N_("GPU '{0}' has a health score of {1} of 100: {2}"), N_("aitherion health -v"))            \
    X(SAME_SUBNET, "same-subnet", /* object: the first link; {1}: the other; {2}: subnet */        \
      N_("'{0}' and '{1}' are links of one card in one subnet ({2}): answers may leave through "   \
         "the wrong link"),                                                                        \
      N_("give each link its own subnet or its own network namespace"))                            \
    X(INFINIBAND_MODE, "infiniband-mode", /* object: link or RDMA port; {1}: PCI address; {2}:     \
                                             port */                                               \
      N_("'{0}' is in InfiniBand mode: it can carry neither RoCE nor a macvlan"),                  \
      N_("mlxconfig -d {1} set LINK_TYPE_P{2}=2, then restart the machine (P1 and P2 are the "     \
         "card's ports, as 'mlxconfig -d {1} query' lists them)"))                                 \
    X(NO_USABLE_GID, "no-usable-gid", /* object: RDMA device; {1}: why; {2}: a remedy */           \
      N_("'{0}' has no usable GID: {1}"), "{2}")                                                   \
    X(DISTANCE_UNKNOWN, "distance-unknown", /* object: "node 0"; {1}, {2}: values, nodes */        \
      N_("the distances of {0} are not known: {1} values for {2} online nodes"), NULL)             \
    X(DUPLICATE_PCI, "duplicate-pci", /* {1}: what was left out */                                 \
      N_("PCI address '{0}' occurs twice; left out: {1}"), NULL)                                   \
    X(DUPLICATE_NODE, "duplicate-node", /* object: "node 0" */                                     \
      N_("{0} occurs twice; the second one is left out"), NULL)                                    \
    X(NO_GPU, "no-gpu", /* object: the host or NULL; {1}: its name in quotes, "this machine" */    \
      N_("no GPU can be seen in {1}"),                                                             \
      N_("lspci -d ::0302; lspci -d ::0300; in a container, pass the GPU through"))                \
    X(NO_PCI, "no-pci", /* object: the host or NULL; {1}: its name in quotes, "this machine" */    \
      N_("the capture of {1} holds no PCI devices, so GPUs and network cards are not known"),      \
      N_("gather it again with I/O: hwloc-gather-topology --io NAME, or lstopo --whole-io "        \
         "NAME.xml"))                                                                              \
    X(NO_NUMA_KERNEL, "no-numa-kernel", /* object: host or file, or NULL; {1}: as above */         \
      N_("the kernel of {1} reports no NUMA nodes, so all CPUs and memory count as node 0"), NULL) \
    X(NO_SYSFS, "no-sysfs", /* object: "/sys" */                                                   \
      N_("'{0}' does not exist, so GPUs, network cards and NUMA nodes are not visible"),           \
      N_("mount -t sysfs sysfs /sys"))                                                             \
    X(CPUSET_LIMITED, "cpuset-limited", /* object: "CPUs", "NUMA nodes"; {1}: ids; {2}: who */     \
      N_("{2} may not use {0} {1}, although they are online"),                                     \
      N_("run aitherion outside the container or cpuset, or allow {0} {1} there (cpuset.cpus, "    \
         "cpuset.mems)"))                                                                          \
    X(CPUS_LEFT_OUT, "cpus-left-out", /* object: a file; {1}: cpulist */                           \
      N_("'{0}' leaves out CPUs {1}: they were offline, or lstopo was not allowed to use them"),   \
      N_("on that machine, outside containers and cpusets: lstopo --disallowed FILE.xml"))         \
    X(UNREADABLE, "unreadable", /* object: a path; {1}: why; {2}: what is not known */             \
      N_("'{0}' cannot be read ({1}), so this is not known: {2}"), NULL)                           \
    X(GARBLED, "garbled", /* object: a path, or file and line; {1}: what is not known */           \
      N_("'{0}' has unexpected content, so this is not known: {1}"), NULL)                         \
    X(INCOMPLETE, "incomplete", /* object: a file; {1}: what it does not tell */                   \
      N_("'{0}' does not contain: {1}"), NULL)

enum ath_warning_kind {
#define X(name, word, message, hint) ATH_W_##name,
    ATH_WARNING_TABLE(X)
#undef X
        ATH_W_COUNT
};

/*
 * Adds a warning, translated. object is a PCI address, "node 255" or a link's name, or NULL if the
 * object has no name. It is followed by at most three more texts, and then NULL:
 *
 *     ath_warning_add(machine, ATH_W_SAME_SUBNET, "eth0", "eth1", "192.168.1.0/24", NULL);
 *
 * A second warning with the same code and object is dropped.
 */
void ath_warning_add(struct ath_machine *machine, enum ath_warning_kind kind, const char *object,
                     ...) __attribute__((sentinel));

/* Adds a warning about a whole machine, by its host name or as "this machine" if name is NULL. */
void ath_warning_add_whole(struct ath_machine *machine, enum ath_warning_kind kind,
                           const char *name);

/* Return the stable word of a kind ("same-subnet"), and its message as in the table. */
const char *ath_warning_word(enum ath_warning_kind kind);
const char *ath_warning_message(enum ath_warning_kind kind);

/* Adds the warnings that follow from the complete machine. Called by ath_machine_finish(). */
void ath_warnings_check(struct ath_machine *machine);
