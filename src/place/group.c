/*
 * Bindings of a group.
 *
 * Memory is preferred, not bound, unless the caller wants that: a bound program is killed when its
 * nodes are full. Several nodes cannot be preferred before Linux 5.15 (MPOL_PREFERRED_MANY). There
 * each page comes from the node of the CPU that touches it first, and the CPUs are those of the
 * nodes.
 */
#include "config.h"

#include "place/group.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "numa/usable.h"

void ath_place_group_free(struct ath_place_group *group)
{
    if (!group)
        return;
    ath_idset_free(&group->nodes);
    ath_idset_free(&group->memory_nodes);
    ath_idset_free(&group->policy_nodes);
    ath_place_cpus_free(&group->cpus);
    ath_place_ports_free(&group->ports);
    for (size_t i = 0; i < ATH_PLACE_VARIABLES; i++)
        free(group->variables[i].value);
    for (size_t i = 0; i < group->word_count; i++)
        free(group->words[i]);
    free(group->words);
}

static const struct ath_gpu *gpu_at(const struct ath_place_group *group, size_t i)
{
    return &group->machine->gpus[group->gpus[i]];
}

static void find_nodes(struct ath_place_group *group)
{
    for (size_t i = 0; i < group->gpu_count; i++) {
        int node = ath_place_node_of(group->machine, gpu_at(group, i));
        int memory = gpu_at(group, i)->memory_node;
        ath_idset_add(&group->nodes, node, node);
        if (ath_machine_node(group->machine, memory))
            ath_idset_add(&group->memory_nodes, memory, memory);
    }
}

static void find_slowest(const struct ath_place_group_request *request,
                         struct ath_place_group *group)
{
    size_t count = group->gpu_count, all = group->machine->gpu_count;
    int64_t slowest = INT64_MAX;

    group->ring_bandwidth = ATH_UNKNOWN;
    for (size_t i = 0; count > 1 && i < count; i++) {
        size_t from = group->ring[i], to = group->ring[(i + 1) % count];
        int64_t bandwidth = request->bandwidths[from * all + to];
        if (bandwidth < slowest) {
            slowest = bandwidth;
            group->ring_bandwidth = bandwidth < 0 ? ATH_UNKNOWN : bandwidth;
            group->slowest = i;
        }
    }
}

/* ---- variables ---- */

static void add_variable(struct ath_place_group *group, const char *name, char *value)
{
    size_t count = 0;
    while (group->variables[count].name)
        count++;
    group->variables[count].name = name;
    group->variables[count].value = value;
}

/* Returns the number of a GPU in the order of CUDA_DEVICE_ORDER=PCI_BUS_ID: the machine's order,
 * without GPUs that NVIDIA's driver does not show. */
static size_t cuda_number(const struct ath_machine *machine, size_t gpu)
{
    size_t number = 0;
    for (size_t i = 0; i < gpu; i++) {
        enum ath_gpu_lack lack = ath_gpu_lack(machine, &machine->gpus[i]);
        number += lack != ATH_GPU_LACKS_CUDA && lack != ATH_GPU_LACKS_DRIVER &&
                  lack != ATH_GPU_LACKS_ANSWER;
    }
    return number;
}

static void add_devices(struct ath_place_group *group)
{
    ATH_AUTO(ath_text) uuids = { 0 }, numbers = { 0 };
    bool are_cuda = true;

    group->has_uuids = true;
    for (size_t i = 0; i < group->gpu_count; i++) {
        const struct ath_gpu *gpu = gpu_at(group, i);
        are_cuda = are_cuda && ath_gpu_lack(group->machine, gpu) != ATH_GPU_LACKS_CUDA;
        group->has_uuids = group->has_uuids && gpu->uuid;
        ath_text_add_part(&uuids, ",", "%s", gpu->uuid ? gpu->uuid : "");
        ath_text_add_part(&numbers, ",", "%zu", cuda_number(group->machine, group->gpus[i]));
    }
    if (!are_cuda)
        return;
    if (!group->has_uuids)
        add_variable(group, "CUDA_DEVICE_ORDER", ath_xstrdup("PCI_BUS_ID"));
    add_variable(group, "CUDA_VISIBLE_DEVICES",
                 ath_text_take(group->has_uuids ? &uuids : &numbers));
}

/* "=" makes NCCL compare whole names: without it, mlx5_1 also means mlx5_10. */
static void add_ports(struct ath_place_group *group)
{
    ATH_AUTO(ath_text) names = { 0 };

    for (size_t i = 0; i < group->ports.count; i++) {
        const struct ath_place_port *port = &group->ports.items[i];
        if (!port->is_for_rdma)
            continue;
        ath_text_add_part(&names, ",", "%s%s", names.length ? "" : "=", port->nic->rdma_device);
        if (port->nic->port > 0)
            ath_text_add(&names, ":%d", port->nic->port);
    }
    if (names.length)
        add_variable(group, "NCCL_IB_HCA", ath_text_take(&names));
}

/* ---- memory and the command line ---- */

static void choose_memory(bool binds, struct ath_place_group *group)
{
    if (binds) {
        group->memory_policy = ATH_MEMORY_BIND;
        ath_idset_copy(&group->cpus.nodes, &group->policy_nodes);
        /* CUDA puts GPU memory there, and cannot without */
        for (int id = ath_idset_next(&group->memory_nodes, -1); id >= 0;
             id = ath_idset_next(&group->memory_nodes, id))
            ath_idset_add(&group->policy_nodes, id, id);
    } else if (ath_idset_count(&group->cpus.nodes) == 1) {
        group->memory_policy = ATH_MEMORY_PREFERRED;
        ath_idset_copy(&group->cpus.nodes, &group->policy_nodes);
    } else {
        group->memory_policy = ATH_MEMORY_LOCAL;
    }
}

static void add_word(struct ath_place_group *group, char *word)
{
    *(char **)ath_push(&group->words, &group->word_count, sizeof *group->words) = word;
}

static void make_words(struct ath_place_group *group)
{
    ath_auto_free char *cpus = ath_idset_format(&group->cpus.cpus);
    ath_auto_free char *nodes = ath_idset_format(&group->policy_nodes);

    if (!*cpus)
        return;
    add_word(group, ath_xstrdup("numactl"));
    add_word(group, ath_xasprintf("--physcpubind=%s", cpus));
    if (group->memory_policy == ATH_MEMORY_LOCAL)
        add_word(group, ath_xstrdup("--localalloc"));
    else
        add_word(group, ath_xasprintf(group->memory_policy == ATH_MEMORY_BIND ? "--membind=%s"
                                                                              : "--preferred=%s",
                                      nodes));
    add_word(group, ath_xstrdup("--"));
}

int ath_place_group_make(const struct ath_machine *machine,
                         const struct ath_place_group_request *request, struct ath_place_group *out,
                         struct ath_err *err)
{
    struct ath_place_group group = { .machine = machine,
                                     .gpus = request->gpus,
                                     .ring = request->ring,
                                     .gpu_count = request->gpu_count };
    int status = ath_place_choose_cpus(machine, group.gpus, group.gpu_count, request->cpu_count,
                                       request->allowed, &group.cpus, err);
    if (status)
        return status;
    find_nodes(&group);
    find_slowest(request, &group);
    ath_place_find_ports(machine, group.gpus, group.gpu_count, request->near, &group.ports);
    add_devices(&group);
    add_ports(&group);
    choose_memory(request->binds_memory, &group);
    make_words(&group);
    *out = group;
    return 0;
}
