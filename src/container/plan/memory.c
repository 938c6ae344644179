/*
 * The memory of an entry: its nodes and its limit.
 *
 * On an AC922 a GPU's memory is a NUMA node, and CUDA does not start in a cpuset without that node
 * (IBM/powerai issue 125). The kernel refuses a list with any node that has no memory (cgroup v1,
 * validate_change() and update_nodemask() of kernel/cgroup/cpuset.c: a subset of the nodes that
 * have memory).
 */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "container/plan/parts.h"
#include "numa/usable.h"

enum { MEBIBYTE = 1 << 20 };

/* The program and one session do not fit into less; Docker itself requires 6 MiB. */
static const int64_t limit_min_bytes = 64LL * MEBIBYTE;

static const int64_t shm_without_limit_bytes = 1024LL * MEBIBYTE;

static bool is_waited_for(const struct ath_plan_making *making, int id)
{
    for (size_t i = 0; i < making->machine->gpu_count; i++)
        if (making->machine->gpus[i].memory_node == id &&
            making->machine->gpus[i].memory_state == ATH_MEMORY_OFFLINE)
            return true;
    return false;
}

/* Adds the document's nodes and the CPU node, except nodes without memory. */
static void add_nodes(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                      struct ath_plan_node *node)
{
    ATH_AUTO(ath_idset) wanted = { 0 };

    ath_idset_copy(&numa->memory_nodes, &wanted);
    ath_idset_add(&wanted, numa->node, numa->node);
    for (int id = ath_idset_next(&wanted, -1); id >= 0; id = ath_idset_next(&wanted, id)) {
        const struct ath_numa_node *kernel = ath_machine_node(making->machine, id);
        if (!kernel || kernel->memory_total_bytes != 0 || is_waited_for(making, id)) {
            ath_idset_add(&node->memory_nodes, id, id);
            continue;
        }
        ath_auto_free char *object = ath_xasprintf("node %d", id);
        ath_plan_warn(node, ATH_PLAN_W_MEMORY_NODE_EMPTY, object, NULL,
                      _("the NUMA node %d has no memory and is left out of cpuset-mems"), id);
    }
}

static void add_limit(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                      struct ath_plan_node *node)
{
    const struct ath_numa_node *kernel = ath_machine_node(making->machine, numa->node);

    node->memory_percent = numa->memory_percent;
    node->memory_total_bytes = kernel ? ath_node_plain_bytes(kernel) : ATH_UNKNOWN;
    node->has_huge_pages = kernel && node->memory_total_bytes < kernel->memory_total_bytes;
    node->memory_limit_bytes = ATH_UNKNOWN;
    node->shm_bytes = shm_without_limit_bytes;
    if (!kernel)
        return;
    if (kernel->memory_total_bytes <= 0) {
        ath_plan_warn(
            node, ATH_PLAN_W_MEMORY_UNKNOWN, NULL, NULL,
            kernel->memory_total_bytes
                ? _("the memory size of the NUMA node %d is not known: the runtime has no "
                    "memory limit")
                : _("the NUMA node %d has no memory of its own: the runtime has no memory "
                    "limit"),
            numa->node);
        return;
    }
    int64_t bytes = (int64_t)((double)node->memory_total_bytes / 100 * numa->memory_percent);
    node->memory_limit_bytes = bytes / MEBIBYTE * MEBIBYTE;
    node->shm_bytes =
        node->memory_limit_bytes / 2 / MEBIBYTE * MEBIBYTE; /* tmpfs's default share */
    if (node->memory_limit_bytes < limit_min_bytes)
        ath_faults_add(making->faults, ATH_FAULT_MEMORY_SMALL,
                       ath_plan_place(&numa->item, "memory_percent", ATH_PLAN_WHOLE),
                       _("%g %% of the memory of NUMA node %d, without huge pages, is less than "
                         "the 64 MiB that a runtime needs"),
                       numa->memory_percent, numa->node);
}

/* Nodes whose memory is not online yet do not count as missing. */
static void find_missing(const struct ath_plan_making *making, const struct ath_plan_node *node,
                         const struct ath_plan_cgroup *cgroup, struct ath_idset *out)
{
    ATH_AUTO(ath_idset) all = { 0 };

    ath_idset_subtract(&node->memory_nodes, &cgroup->memory_nodes, &all);
    for (int id = -1; (id = ath_idset_next(&all, id)) >= 0;)
        if (!is_waited_for(making, id))
            ath_idset_add(out, id, id);
}

/* Returns all nodes that a parent should have, so that the hint for one entry does not remove what
 * the hint for another added. */
static char *all_memory_nodes(const struct ath_plan_making *making,
                              const struct ath_plan_cgroup *cgroup, const struct ath_idset *missing)
{
    ATH_AUTO(ath_idset) all = { 0 };

    ath_idset_copy(&cgroup->memory_nodes, &all);
    for (size_t i = 0; i < making->machine->node_count; i++)
        if (making->machine->nodes[i].memory_total_bytes > 0)
            ath_idset_add(&all, making->machine->nodes[i].id, making->machine->nodes[i].id);
    for (int id = -1; (id = ath_idset_next(missing, id)) >= 0;)
        ath_idset_add(&all, id, id);
    return ath_idset_format(&all);
}

/* A child cgroup cannot get nodes that its parent lacks. */
static void check_cgroups(const struct ath_plan_making *making, struct ath_plan_node *node)
{
    for (size_t i = 0; i < making->facts->cgroup_count && !making->options->is_process; i++) {
        const struct ath_plan_cgroup *cgroup = &making->facts->cgroups[i];
        ATH_AUTO(ath_idset) missing = { 0 };
        find_missing(making, node, cgroup, &missing);
        if (!missing.range_count)
            continue;
        ath_auto_free char *lacking = ath_idset_format(&missing);
        ath_auto_free char *nodes = all_memory_nodes(making, cgroup, &missing);
        char *hint = making->facts->cgroup_version == 1
                         ? ath_xasprintf("echo %s > %s", nodes, cgroup->path)
                         : ath_xasprintf(_("restart Docker when the GPUs' memory is online: "
                                           "systemctl restart docker"));
        ath_plan_warn(node, ATH_PLAN_W_CGROUP_MEMS_SHORT, cgroup->path, hint,
                      _("'%s' lacks the NUMA nodes %s, so the container cannot get them"),
                      cgroup->path, lacking);
    }
}

void ath_plan_add_memory(const struct ath_plan_making *making, const struct ath_document_numa *numa,
                         struct ath_plan_node *node)
{
    add_nodes(making, numa, node);
    add_limit(making, numa, node);
    check_cgroups(making, node);
}

/* --- all entries together */

void ath_plan_check_memory_sum(const struct ath_document *all, struct ath_plan_node *node)
{
    double sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < all->numa.count; i++)
        if (all->numa.items[i].node == node->node) {
            sum += all->numa.items[i].memory_percent;
            count++;
        }
    if (count < 2 || sum <= 100)
        return;
    ath_auto_free char *object = ath_xasprintf("node %d", node->node);
    ath_plan_warn(node, ATH_PLAN_W_OVERCOMMITTED, object,
                  ath_xasprintf("aitherion configure --set numa.%d.memory_percent=%zu", node->id,
                                100 / count),
                  _("%zu entries together promise %g %% of the memory of NUMA node %d"), count, sum,
                  node->node);
}
