/*
 * What is odd about a machine, with the mend where there is one; people read it below the picture,
 * programs by its code word.
 *
 * In a row's message and hint "{0}" stands for the object and "{1}", "{2}", "{3}" for the texts
 * given after it. A hint of NULL means that nothing needs to be done, or that nothing can be.
 */
#pragma once
#include "base/i18n.h"
#include "numa/machine.h"

#define ATH_WARNING_TABLE(X)                                                                       \
    X(GPU_MEMORY_OFFLINE, "gpu-memory-offline", /* {1}: node id */                                 \
      N_("the memory of GPU '{0}' (NUMA node {1}) is not online; CUDA cannot use this GPU so"),    \
      N_("systemctl enable --now nvidia-persistenced"))                                            \
    X(GPU_NODE_UNKNOWN, "gpu-node-unknown",                                                        \
      N_("the NUMA node of GPU '{0}' is not known, so the port nearest to it cannot be told"),     \
      N_("see whether the firmware offers a NUMA setting (NPS, 'NUMA per socket') and update it")) \
    X(MEMORY_NODE_MISSING, "memory-node-missing", /* {1}: node id */                               \
      N_("GPU '{0}' names NUMA node {1} as its memory, but that node does not exist"),             \
      N_("systemctl restart nvidia-persistenced"))                                                 \
    X(CPUS_OFFLINE, "cpus-offline", /* object: "node 0"; {1}: cpulist */                           \
      N_("CPUs {1} of {0} are not online"),                                                        \
      N_("chcpu --enable {1}, or on POWER: ppc64_cpu --cores-on=all"))                             \
    X(NVML_MISSING, "nvml-missing", /* {1}: why */                                                 \
      N_("'{0}' cannot be used: {1}; NVLinks are not known"),                                      \
      N_("install NVIDIA's driver with its libraries (on Debian: apt-get install libnvidia-ml1)")) \
    X(NVML_FAILED, "nvml-failed", /* object: PCI address; {1}: why */                              \
      N_("NVIDIA's driver gives no answer about GPU '{0}': {1}"),                                  \
      N_("nvidia-smi -q -i {0}; dmesg | grep -i -e nvrm -e xid"))                                  \
    X(SAME_SUBNET, "same-subnet", /* object: the first link; {1}: the other; {2}: subnet */        \
      N_("'{0}' and '{1}' are links of one card in one subnet ({2}): answers may leave by the "    \
         "wrong one"),                                                                             \
      N_("give each link a subnet of its own, or each a network namespace of its own"))            \
    X(INFINIBAND_MODE, "infiniband-mode", /* object: link or RDMA port; {1}: PCI address; {2}:     \
                                             port */                                               \
      N_("'{0}' is in InfiniBand mode: it can carry neither RoCE nor a macvlan"),                  \
      N_("mlxconfig -d {1} set LINK_TYPE_P{2}=2, then restart the machine (P1 and P2 are the "     \
         "card's ports, as 'mlxconfig -d {1} query' lists them)"))                                 \
    X(NO_USABLE_GID, "no-usable-gid", /* object: RDMA device; {1}: its link */                     \
      N_("'{0}' has no GID that RoCE could use: its link '{1}' is down or has no address"),        \
      N_("ip link set {1} up, and give it an address: ip address add ADDRESS/PREFIX dev {1}"))     \
    X(DISTANCE_UNKNOWN, "distance-unknown", /* object: "node 0"; {1}, {2}: values, nodes */        \
      N_("the distances of {0} are not known: {1} values for {2} online nodes"), NULL)             \
    X(DUPLICATE_PCI, "duplicate-pci", /* {1}: what was left out */                                 \
      N_("PCI address '{0}' occurs twice; left out: {1}"), NULL)                                   \
    X(DUPLICATE_NODE, "duplicate-node", /* object: "node 0" */                                     \
      N_("{0} occurs twice; the second one is left out"), NULL)                                    \
    X(NO_GPU, "no-gpu", /* object: the host or NULL; {1}: its name in quotes, "this machine" */    \
      N_("no GPU can be seen in {1}"),                                                             \
      N_("lspci -d ::0302; lspci -d ::0300; in a container, pass the GPU through"))                \
    X(NO_NUMA_KERNEL, "no-numa-kernel", /* object: host or file, or NULL; {1}: as above */         \
      N_("the kernel of {1} tells no NUMA nodes: all CPUs and all memory count as node 0"), NULL)  \
    X(NO_SYSFS, "no-sysfs", /* object: "/sys" */                                                   \
      N_("'{0}' is not there: GPUs, network cards and NUMA nodes cannot be seen"),                 \
      N_("mount -t sysfs sysfs /sys"))                                                             \
    X(CPUSET_LIMITED, "cpuset-limited", /* object: "CPUs" or "NUMA nodes"; {1}: ids */             \
      N_("this process may not use {0} {1}, though they are online"),                              \
      N_("run it outside the container or cpuset, or allow them there (cpuset.cpus, "              \
         "cpuset.mems)"))                                                                          \
    X(UNREADABLE, "unreadable", /* object: a path; {1}: why; {2}: what is not known */             \
      N_("'{0}' cannot be read ({1}), so this is not known: {2}"), NULL)                           \
    X(GARBLED, "garbled", /* object: a path, or file and line; {1}: what is not known */           \
      N_("'{0}' holds something unexpected, so this is not known: {1}"), NULL)                     \
    X(INCOMPLETE, "incomplete", /* object: a file; {1}: what it does not tell */                   \
      N_("'{0}' does not tell: {1}"), NULL)

enum ath_warning_kind {
#define X(name, word, message, hint) ATH_W_##name,
    ATH_WARNING_TABLE(X)
#undef X
        ATH_W_COUNT
};

/*
 * Adds a warning, translated. object is kept as it is given (a PCI address, "node 255", a link's
 * name; NULL where it has no name); after it come at most three more texts, then NULL:
 *
 *     ath_warning_add(machine, ATH_W_SAME_SUBNET, "eth0", "eth1", "192.168.1.0/24", NULL);
 *
 * The same code about the same object is only kept once.
 */
void ath_warning_add(struct ath_machine *machine, enum ath_warning_kind kind, const char *object,
                     ...) __attribute__((sentinel));

/* Adds one about a machine as a whole, by its host name or "this machine". */
void ath_warning_add_whole(struct ath_machine *machine, enum ath_warning_kind kind,
                           const char *name);

/* The stable word of a kind ("same-subnet"), and its message as in the table. */
const char *ath_warning_word(enum ath_warning_kind kind);
const char *ath_warning_message(enum ath_warning_kind kind);

/* Writes the warnings that follow from a machine as it was read (ath_machine_finish() calls it). */
void ath_warnings_check(struct ath_machine *machine);
