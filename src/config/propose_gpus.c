/*
 * GPUs and memory of proposed entries.
 *
 * The GPUs' memory nodes of an AC922 (252 to 255) must be among memory_nodes, or CUDA does not
 * start there. If no source says whose they are, every entry gets all of them.
 */
#include "config.h"

#include <limits.h>

#include "base/cleanup.h"
#include "config/propose_internal.h"
#include "numa/usable.h"

bool ath_proposal_serves_cpu(const struct ath_numa_node *node)
{
    return ath_node_lack(node) == ATH_NODE_LACKS_NOTHING;
}

static size_t cpu_node_count(const struct ath_machine *machine)
{
    size_t count = 0;
    for (size_t i = 0; i < machine->node_count; i++)
        count += ath_proposal_serves_cpu(&machine->nodes[i]);
    return count;
}

/* True if runtimes serve such GPUs. A GPU that cannot be used at the moment is proposed, with a
 * note. */
static bool serves_gpu(const struct ath_machine *machine, const struct ath_gpu *gpu)
{
    return ath_gpu_lack(machine, gpu) != ATH_GPU_LACKS_CUDA;
}

bool ath_proposal_is_gpu_of(const struct ath_machine *machine, const struct ath_gpu *gpu, int node)
{
    bool is_there =
        gpu->numa_node == node || (gpu->numa_node == ATH_UNKNOWN && cpu_node_count(machine) == 1);
    return is_there && serves_gpu(machine, gpu);
}

bool ath_proposal_has_gpus(const struct ath_machine *machine, int node)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (ath_proposal_is_gpu_of(machine, &machine->gpus[i], node))
            return true;
    return false;
}

bool ath_proposal_any_node_has_gpus(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->node_count; i++)
        if (ath_proposal_serves_cpu(&machine->nodes[i]) &&
            ath_proposal_has_gpus(machine, machine->nodes[i].id))
            return true;
    return false;
}

/* Returns the nearest node with memory, for a node whose CPUs have none; the node itself if no node
 * has memory. Nodes of unknown distance count as far. */
static int nearest_memory(const struct ath_machine *machine, const struct ath_numa_node *node)
{
    int best = node->id, best_distance = INT_MAX;
    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_numa_node *other = &machine->nodes[i];
        int distance = ath_machine_distance(machine, node->id, other->id);
        if (distance == ATH_UNKNOWN)
            distance = INT_MAX - 1;
        if (other != node && other->is_online && other->memory_total_bytes > 0 &&
            ath_node_has_memory(machine, other) && distance < best_distance) {
            best = other->id;
            best_distance = distance;
        }
    }
    return best;
}

void ath_proposal_add_memory(struct proposal *proposal, const struct ath_numa_node *node,
                             struct ath_document_numa *entry)
{
    int own = node->memory_total_bytes == 0 ? nearest_memory(proposal->machine, node) : node->id;
    ath_idset_add(&entry->memory_nodes, own, own);
    if (own != node->id)
        ath_text_add(&proposal->notes,
                     "# NUMA%d: NUMA node %d has no memory; its programs use that of node %d.\n",
                     entry->id, node->id, own);
}

/* Adds all nodes that may be the memory of the entry's GPUs, because CUDA does not start without
 * the right ones. */
static void add_nodes_without_owner(struct proposal *proposal, struct ath_document_numa *entry)
{
    ATH_AUTO(ath_idset) nodes = { 0 };

    ath_nodes_without_owner(proposal->machine, &nodes);
    for (int id = -1; (id = ath_idset_next(&nodes, id)) >= 0;)
        ath_idset_add(&entry->memory_nodes, id, id);
    ath_auto_free char *ids = ath_idset_format(&nodes);
    if (*ids)
        ath_text_add(&proposal->notes,
                     "# NUMA%d: the NUMA nodes of its GPUs' memory are not known, so "
                     "memory_nodes has all that may be it: %s.\n# Keep those of its GPUs: cat "
                     "/proc/driver/nvidia/gpus/*/numa_status\n",
                     entry->id, ids);
    else
        ath_text_add(&proposal->notes,
                     "# NUMA%d: the NUMA nodes of its GPUs' memory are not known, and CUDA does "
                     "not start without them.\n# Load NVIDIA's driver, then: aitherion init "
                     "--force\n",
                     entry->id);
}

void ath_proposal_add_gpus(struct proposal *proposal, struct ath_document_numa *entry)
{
    const struct ath_machine *machine = proposal->machine;
    bool is_memory_unknown = false;
    char text[ATH_PCI_TEXT];

    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_gpu *gpu = &machine->gpus[i];
        if (!ath_proposal_is_gpu_of(machine, gpu, entry->node))
            continue;
        ath_texts_add(&entry->gpus, ath_pci_format(&gpu->pci, text));
        enum ath_gpu_lack lack = ath_gpu_lack(machine, gpu);
        if (lack == ATH_GPU_LACKS_MEMORY_NODE)
            ath_text_add(&proposal->notes,
                         "# NUMA%d: the GPU %s names NUMA node %d as its memory, but that node "
                         "does not exist.\n",
                         entry->id, text, gpu->memory_node);
        if (lack == ATH_GPU_LACKS_DRIVER || lack == ATH_GPU_LACKS_ANSWER)
            ath_text_add(&proposal->notes, "# NUMA%d: NVIDIA's driver does not %s the GPU %s.\n",
                         entry->id, lack == ATH_GPU_LACKS_DRIVER ? "run" : "reach", text);
        is_memory_unknown |= ath_gpu_memory_is_unknown(machine, gpu);
        if (gpu->memory_node != ATH_UNKNOWN)
            ath_idset_add(&entry->memory_nodes, gpu->memory_node, gpu->memory_node);
    }
    if (is_memory_unknown)
        add_nodes_without_owner(proposal, entry);
}

/* Notes each GPU that no entry has, with the reason. */
static void note_left_out_gpus(struct proposal *proposal)
{
    const struct ath_machine *machine = proposal->machine;
    char text[ATH_PCI_TEXT];

    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_gpu *gpu = &machine->gpus[i];
        const struct ath_numa_node *node =
            gpu->numa_node == ATH_UNKNOWN ? NULL : ath_machine_node(machine, gpu->numa_node);
        ath_pci_format(&gpu->pci, text);
        if (!serves_gpu(machine, gpu))
            ath_text_add(
                &proposal->notes,
                "# Left out: the GPU %s; it is not from NVIDIA, and runtimes serve CUDA.\n", text);
        else if (!(node && ath_proposal_serves_cpu(node)) &&
                 !(gpu->numa_node == ATH_UNKNOWN && cpu_node_count(machine) == 1))
            ath_text_add(
                &proposal->notes,
                "# Left out: the GPU %s; its NUMA node %s. Add it to the gpus of an entry.\n", text,
                gpu->numa_node == ATH_UNKNOWN ? "is not known" : "has no CPUs online");
    }
}

/* Notes memory of GPUs that the source does not show. */
static void note_memory_without_owner(struct proposal *proposal)
{
    const struct ath_machine *machine = proposal->machine;
    ATH_AUTO(ath_idset) nodes = { 0 };

    for (size_t i = 0; i < machine->gpu_count; i++)
        if (ath_gpu_memory_is_unknown(machine, &machine->gpus[i]))
            return; /* the entries have these nodes */
    ath_nodes_without_owner(machine, &nodes);
    ath_auto_free char *ids = ath_idset_format(&nodes);
    if (*ids)
        ath_text_add(&proposal->notes,
                     "# Left out: NUMA %s %s, memory of GPUs that are not known here. An entry "
                     "with such a\n# GPU needs its node in memory_nodes, or CUDA does not start.\n",
                     ath_idset_count(&nodes) == 1 ? "node" : "nodes", ids);
}

void ath_proposal_note_left_out(struct proposal *proposal)
{
    note_left_out_gpus(proposal);
    note_memory_without_owner(proposal);
}
