/*
 * Facts about the host that a plan needs beyond the machine model: device nodes, CDI
 * specifications, the driver's libraries, addresses of links, cgroups. Read through a root, so that
 * captures work. A fact that a capture does not contain is unknown, not missing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/idset.h"
#include "base/root.h"
#include "config/schema.h"
#include "container/plan/cdi.h"
#include "container/plan/libraries.h"
#include "numa/machine.h"
#include "roce/rdma_netlink.h"

/* A user verbs device and its RDMA device: sys/class/infiniband_verbs/uverbsN/ibdev. */
struct ath_plan_verbs {
    char *name;        /* "uverbs0" */
    char *rdma_device; /* "mlx5_0" */
};

/* N of a GPU's /dev/nvidiaN: "Device Minor" in /proc/driver/nvidia/gpus/PCI/information. */
struct ath_plan_minor {
    struct ath_pci pci;
    int minor;
};

struct ath_plan_address {
    char *link, *address; /* "enP5p1s0f0", "10.0.0.11" */
};

/* A cgroup above containers, and its memory nodes. */
struct ath_plan_cgroup {
    char *path; /* "/sys/fs/cgroup/cpuset/docker/cpuset.mems" */
    struct ath_idset memory_nodes;
};

struct ath_plan_facts {
    bool knows_devices;       /* the root has /dev/infiniband or /dev/nvidia*, or is live */
    struct ath_texts devices; /* existing ones: "/dev/nvidia0", "/dev/infiniband/uverbs0", ... */
    bool knows_verbs;         /* the root has sys/class/infiniband_verbs, or is live */
    struct ath_plan_verbs *verbs;
    size_t verbs_count;
    struct ath_plan_minor *minors;
    size_t minor_count;
    struct ath_cdi cdi;
    struct ath_libraries libraries;
    bool has_nvidia_hook; /* nvidia-container-runtime-hook, used by docker run --gpus */
    bool knows_addresses;
    struct ath_plan_address *addresses; /* one for each link */
    size_t address_count;
    int cgroup_version; /* 1, 2; ATH_UNKNOWN */
    struct ath_plan_cgroup *cgroups;
    size_t cgroup_count;
    enum ath_rdma_netns_mode rdma_netns_mode;
};

/* Reads all facts. root may be NULL (a machine from XML): then everything is unknown. */
void ath_plan_facts_read(const struct ath_root *root, const struct ath_machine *machine,
                         struct ath_plan_facts *out);
void ath_plan_facts_free(struct ath_plan_facts *facts);

/* Return one fact, or NULL or ATH_UNKNOWN. */
const char *ath_plan_facts_address(const struct ath_plan_facts *facts, const char *link);
const char *ath_plan_facts_verbs(const struct ath_plan_facts *facts, const char *rdma_device);
int ath_plan_facts_minor(const struct ath_plan_facts *facts, const struct ath_pci *pci);

/* Returns false only if the device nodes are known and this one ("/dev/nvidia0") is not among
 * them. */
bool ath_plan_facts_may_have(const struct ath_plan_facts *facts, const char *device);
