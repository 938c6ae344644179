/*
 * What a plan must know of the host beyond the machine model: device nodes, CDI specifications, the
 * driver's libraries, addresses of links, cgroups. Read through a root, so that captures work;
 * what a capture does not hold is unknown, not missing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/idset.h"
#include "base/root.h"
#include "config/schema.h"
#include "container/plan_cdi.h"
#include "container/plan_libraries.h"
#include "numa/machine.h"
#include "roce/rdma_netlink.h"

/* A user verbs device and whose it is: sys/class/infiniband_verbs/uverbsN/ibdev. */
struct ath_plan_verbs {
    char *name;        /* "uverbs0" */
    char *rdma_device; /* "mlx5_0" */
};

/* The number N of a GPU's /dev/nvidiaN: "Device Minor" in /proc/driver/nvidia/gpus/PCI/information.
 */
struct ath_plan_minor {
    struct ath_pci pci;
    int minor;
};

struct ath_plan_address {
    char *link, *address; /* "enP5p1s0f0", "10.0.0.11" */
};

/* A cgroup that containers are put below, and the memory nodes that it has. */
struct ath_plan_cgroup {
    char *path; /* "/sys/fs/cgroup/cpuset/docker/cpuset.mems" */
    struct ath_idset memory_nodes;
};

struct ath_plan_facts {
    bool knows_devices; /* the root has /dev/infiniband or /dev/nvidia* to look at, or is live */
    struct ath_texts devices; /* "/dev/nvidia0", "/dev/infiniband/uverbs0", ... that exist */
    bool knows_verbs;         /* sys/class/infiniband_verbs is there, or the root is live */
    struct ath_plan_verbs *verbs;
    size_t verbs_count;
    struct ath_plan_minor *minors;
    size_t minor_count;
    struct ath_cdi cdi;
    struct ath_libraries libraries;
    bool has_nvidia_hook; /* nvidia-container-runtime-hook, which docker run --gpus calls */
    bool knows_addresses;
    struct ath_plan_address *addresses; /* of links that are up to carry a port's address */
    size_t address_count;
    int cgroup_version; /* 1, 2; ATH_UNKNOWN */
    struct ath_plan_cgroup *cgroups;
    size_t cgroup_count;
    enum ath_rdma_netns_mode rdma_netns_mode;
};

/* Reads what there is; root may be NULL (a machine from XML): all is unknown then. */
void ath_plan_facts_read(const struct ath_root *root, const struct ath_machine *machine,
                         struct ath_plan_facts *out);
void ath_plan_facts_free(struct ath_plan_facts *facts);

/* NULL or ATH_UNKNOWN where it is not known. */
const char *ath_plan_facts_address(const struct ath_plan_facts *facts, const char *link);
const char *ath_plan_facts_verbs(const struct ath_plan_facts *facts, const char *rdma_device);
int ath_plan_facts_minor(const struct ath_plan_facts *facts, const struct ath_pci *pci);

/* False only where the device nodes are known and this one ("/dev/nvidia0") is none of them. */
bool ath_plan_facts_may_have(const struct ath_plan_facts *facts, const char *device);
