/*
 * Which NUMA nodes and GPUs a runtime can use.
 *
 * NVIDIA's driver says which NUMA node is a GPU's memory. Before the driver runs, and in a file
 * that lstopo wrote, nodes 250 to 255 of an AC922 are memory without an owner.
 */
#include "config.h"

#include "numa/usable.h"

#include <string.h>

#include "base/text.h"
#include "numa/profile.h"

enum ath_node_lack ath_node_lack(const struct ath_numa_node *node)
{
    if (node->kind != ATH_NODE_CPU)
        return ATH_NODE_LACKS_CPUS;
    if (!node->is_online)
        return ATH_NODE_LACKS_ONLINE;
    return node->has_cpus_online && !node->cpus_online.range_count ? ATH_NODE_LACKS_ONLINE_CPUS
                                                                   : ATH_NODE_LACKS_NOTHING;
}

/* A capture names the architecture only in the kernel's release, "4.18.0-193.el8.ppc64le". */
static bool is_power(const struct ath_machine *machine)
{
    return (machine->arch && ath_starts_with(machine->arch, "ppc64")) ||
           (machine->kernel && strstr(machine->kernel, "ppc64"));
}

/* True if the memory of GPUs of this kind is a NUMA node: by the machine's profile, or because the
 * GPU of an AC922 is in a POWER machine whose model the source does not name (NCCL's files). */
static bool has_node_by_kind(const struct ath_machine *machine, const struct ath_gpu *gpu)
{
    return ath_profile_has_gpu_node(machine->profile, gpu->device_id) ||
           (gpu->device_id != ATH_UNKNOWN && is_power(machine) &&
            ath_profile_has_gpu_node("ac922", gpu->device_id));
}

/* True if another GPU of the same kind has its memory in a NUMA node. */
static bool has_twin_with_node(const struct ath_machine *machine, const struct ath_gpu *gpu)
{
    for (size_t i = 0; gpu->device_id != ATH_UNKNOWN && i < machine->gpu_count; i++) {
        const struct ath_gpu *twin = &machine->gpus[i];
        if (twin->memory_node != ATH_UNKNOWN && twin->vendor_id == gpu->vendor_id &&
            twin->device_id == gpu->device_id)
            return true;
    }
    return false;
}

bool ath_gpu_memory_is_unknown(const struct ath_machine *machine, const struct ath_gpu *gpu)
{
    return gpu->vendor_id == ATH_VENDOR_NVIDIA && gpu->memory_node == ATH_UNKNOWN &&
           (has_node_by_kind(machine, gpu) || has_twin_with_node(machine, gpu));
}

static bool may_be_gpu_memory(const struct ath_machine *machine)
{
    if (ath_profile_has_gpu_node(machine->profile, ATH_UNKNOWN))
        return true;
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (ath_gpu_memory_is_unknown(machine, &machine->gpus[i]))
            return true;
    return false;
}

/* True if a GPU or a port is at the node, so that the node is a socket and no GPU's memory. */
static bool has_devices(const struct ath_machine *machine, const struct ath_numa_node *node)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].numa_node == node->id)
            return true;
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].numa_node == node->id)
            return true;
    return false;
}

bool ath_node_has_no_owner(const struct ath_machine *machine, const struct ath_numa_node *node)
{
    return node->kind == ATH_NODE_MEMORY && may_be_gpu_memory(machine) &&
           !has_devices(machine, node);
}

void ath_nodes_without_owner(const struct ath_machine *machine, struct ath_idset *out)
{
    for (size_t i = 0; i < machine->node_count; i++)
        if (ath_node_has_no_owner(machine, &machine->nodes[i]))
            ath_idset_add(out, machine->nodes[i].id, machine->nodes[i].id);
}

bool ath_node_has_memory(const struct ath_machine *machine, const struct ath_numa_node *node)
{
    return node->memory_total_bytes != 0 && node->kind != ATH_NODE_GPU &&
           !ath_node_has_no_owner(machine, node);
}

bool ath_machine_has_gpu_nodes(const struct ath_machine *machine)
{
    if (ath_profile_has_gpu_node(machine->profile, ATH_UNKNOWN))
        return true;
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].memory_node != ATH_UNKNOWN)
            return true;
    return false;
}

bool ath_node_is_gpu_memory(const struct ath_machine *machine, int id)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].memory_node == id)
            return true;
    return false;
}

int64_t ath_node_plain_bytes(const struct ath_numa_node *node)
{
    int64_t bytes = node->memory_total_bytes;

    for (size_t i = 0; i < node->hugepage_count; i++) {
        const struct ath_hugepages *pages = &node->hugepages[i];
        if (pages->total > 0 && bytes > 0)
            bytes = pages->total > bytes / pages->size_bytes
                        ? 0
                        : bytes - pages->total * pages->size_bytes;
    }
    return bytes;
}

/* True if each core of the node has the same number of online threads, less than all, and they are
 * its first ones. POWER numbers the threads of a core in a row, and begins each core at a multiple
 * of `threads`. */
static bool has_first_threads(const struct ath_numa_node *node, int threads)
{
    int expected = 0;

    for (int cpu = ath_idset_next(&node->cpus, -1); cpu >= 0;) {
        int first = cpu / threads * threads, online = 0;
        while (online < threads && ath_idset_has(&node->cpus_online, first + online))
            online++;
        for (int i = online; i < threads; i++)
            if (ath_idset_has(&node->cpus_online, first + i))
                return false;
        if (!online || (expected && online != expected))
            return false;
        expected = online;
        cpu = ath_idset_next(&node->cpus, first + threads - 1);
    }
    return expected && expected < threads;
}

/* ppc64_cpu --smt=N leaves N threads of each core online (POWER8 has 8, POWER9 has 4). Elsewhere
 * cpu/smt/control says that one of two threads is online. */
bool ath_node_is_smt_limited(const struct ath_machine *machine, const struct ath_numa_node *node)
{
    if (!node->has_cpus_online)
        return false;
    if (is_power(machine))
        return has_first_threads(node, 8) || has_first_threads(node, 4) ||
               has_first_threads(node, 2);
    return machine->is_smt_off &&
           ath_idset_count(&node->cpus_online) * 2 == ath_idset_count(&node->cpus);
}

enum ath_gpu_lack ath_gpu_lack(const struct ath_machine *machine, const struct ath_gpu *gpu)
{
    if (gpu->vendor_id != ATH_UNKNOWN && gpu->vendor_id != ATH_VENDOR_NVIDIA)
        return ATH_GPU_LACKS_CUDA;
    if (gpu->vendor_id == ATH_VENDOR_NVIDIA && gpu->knows_driver &&
        (!gpu->driver || strcmp(gpu->driver, "nvidia") != 0))
        return ATH_GPU_LACKS_DRIVER;
    if (gpu->is_lost)
        return ATH_GPU_LACKS_ANSWER;
    if (ath_gpu_memory_is_unknown(machine, gpu))
        return ATH_GPU_LACKS_MEMORY_OWNER;
    if (gpu->memory_node == ATH_UNKNOWN)
        return ATH_GPU_LACKS_NOTHING;
    if (gpu->memory_state == ATH_MEMORY_OFFLINE)
        return ATH_GPU_LACKS_MEMORY_ONLINE;
    return ath_machine_node(machine, gpu->memory_node) ? ATH_GPU_LACKS_NOTHING
                                                       : ATH_GPU_LACKS_MEMORY_NODE;
}
