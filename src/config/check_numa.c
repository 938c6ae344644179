/* Compares the nodes, the memory and the GPUs of NUMA entries with a machine. */
#include "config.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "config/check_internal.h"
#include "numa/usable.h"

void ath_check_node(const struct ath_check *check, const struct ath_document_numa *numa)
{
    const struct ath_numa_node *node = ath_machine_node(check->machine, numa->node);
    size_t place = ath_check_place(&numa->item, "node");

    if (!node) {
        ath_faults_add(check->faults, ATH_FAULT_NODE_MISSING, place,
                       _("this machine has no NUMA node %d"), numa->node);
        return;
    }
    switch (ath_node_lack(node)) {
    case ATH_NODE_LACKS_NOTHING:
        break;
    case ATH_NODE_LACKS_CPUS:
        ath_faults_add(check->faults, ATH_FAULT_NODE_KIND, place,
                       _("the NUMA node %d has no CPUs, so nothing can run on it"), numa->node);
        break;
    case ATH_NODE_LACKS_ONLINE:
        ath_faults_add(check->faults, ATH_FAULT_NODE_OFFLINE, place,
                       _("the NUMA node %d is offline"), numa->node);
        break;
    case ATH_NODE_LACKS_ONLINE_CPUS:
        ath_faults_add(check->faults, ATH_FAULT_NODE_CPUS, place,
                       _("all CPUs of the NUMA node %d are offline, so no runtime can run on it"),
                       numa->node);
        break;
    }
}

/* Returns a GPU of an entry, or NULL if the machine has no such GPU. */
static const struct ath_gpu *gpu_of(const struct ath_check *check,
                                    const struct ath_document_numa *numa, size_t index)
{
    struct ath_pci pci;
    return ath_pci_parse(numa->gpus.items[index], &pci) ? NULL
                                                        : ath_machine_gpu(check->machine, &pci);
}

/* True if a node that the machine lacks may be the memory of one of the entry's GPUs: a GPU that is
 * gone, or whose driver has not made the node. Then the GPU's fault is reported, because the
 * document is right. */
static bool may_be_lost_memory(const struct ath_check *check, const struct ath_document_numa *numa,
                               int id)
{
    for (size_t i = 0; i < numa->gpus.count; i++) {
        const struct ath_gpu *gpu = gpu_of(check, numa, i);
        if (gpu ? gpu->memory_node == id || ath_gpu_memory_is_unknown(check->machine, gpu)
                : ath_machine_has_gpu_nodes(check->machine))
            return true;
    }
    return false;
}

/* Memory of GPUs does not count: the kernel and programs need other memory. An entry without a node
 * to run on has another fault. */
static void check_has_memory(const struct ath_check *check, const struct ath_document_numa *numa)
{
    const struct ath_numa_node *own = ath_machine_node(check->machine, numa->node);
    ATH_AUTO(ath_idset) all = { 0 };

    if (!own || own->kind != ATH_NODE_CPU)
        return;
    ath_idset_copy(&numa->memory_nodes, &all);
    ath_idset_add(&all, numa->node, numa->node);
    for (int id = -1; (id = ath_idset_next(&all, id)) >= 0;) {
        const struct ath_numa_node *node = ath_machine_node(check->machine, id);
        if (node && ath_node_has_memory(check->machine, node))
            return;
    }
    ath_auto_free char *ids = ath_idset_format(&all);
    ath_faults_add(
        check->faults, ATH_FAULT_NO_MEMORY, ath_check_place(&numa->item, "memory_nodes"),
        ngettext("NUMA node %s has no memory except GPUs' memory: add a node with memory "
                 "to 'memory_nodes'",
                 "NUMA nodes %s have no memory except GPUs' memory: add a node with "
                 "memory to 'memory_nodes'",
                 ath_idset_count(&all)),
        ids);
}

void ath_check_memory(const struct ath_check *check, const struct ath_document_numa *numa)
{
    const struct ath_idset *set = &numa->memory_nodes;
    for (int id = ath_idset_next(set, -1); id >= 0; id = ath_idset_next(set, id)) {
        const struct ath_numa_node *node = ath_machine_node(check->machine, id);
        if (id == numa->node)
            continue; /* reported already */
        if (!node && check->knows_memories && !may_be_lost_memory(check, numa, id))
            ath_faults_add(check->faults, ATH_FAULT_NODE_MISSING,
                           ath_check_place_of_id(&numa->item, "memory_nodes", id),
                           _("this machine has no NUMA node %d"), id);
        else if (node && !node->is_online && !ath_node_is_gpu_memory(check->machine, id))
            ath_faults_add(check->faults, ATH_FAULT_NODE_OFFLINE,
                           ath_check_place_of_id(&numa->item, "memory_nodes", id),
                           _("the memory of NUMA node %d is offline"), id);
    }
    check_has_memory(check, numa);
}

/* True if memory_nodes has as many nodes that may be the memory of GPUs as the entry has GPUs whose
 * node is not known. A topology file may leave such nodes out. */
static bool has_nodes_for_unknown(const struct ath_check *check,
                                  const struct ath_document_numa *numa)
{
    size_t needed = 0, found = 0;

    for (size_t i = 0; i < numa->gpus.count; i++) {
        const struct ath_gpu *gpu = gpu_of(check, numa, i);
        needed += gpu && ath_gpu_memory_is_unknown(check->machine, gpu);
    }
    for (int id = -1; (id = ath_idset_next(&numa->memory_nodes, id)) >= 0;) {
        const struct ath_numa_node *node = ath_machine_node(check->machine, id);
        found += node ? node->memory_total_bytes && ath_node_has_no_owner(check->machine, node)
                      : !check->knows_memories;
    }
    return found >= needed;
}

/* Reports why CUDA cannot use a GPU. `start` waits for memory that is offline. */
static void check_gpu_usable(const struct ath_check *check, const struct ath_document_numa *numa,
                             size_t index, const struct ath_gpu *gpu)
{
    const char *pci = numa->gpus.items[index];
    size_t place = ath_check_place_of_entry(&numa->item, "gpus", index);

    switch (ath_gpu_lack(check->machine, gpu)) {
    case ATH_GPU_LACKS_NOTHING:
    case ATH_GPU_LACKS_MEMORY_ONLINE:
        break;
    case ATH_GPU_LACKS_CUDA:
        ath_faults_add(check->faults, ATH_FAULT_GPU_VENDOR, place,
                       _("the GPU %s is not from NVIDIA, and runtimes serve CUDA"), pci);
        break;
    case ATH_GPU_LACKS_DRIVER:
        ath_faults_add(check->faults, ATH_FAULT_GPU_DRIVER, place,
                       _("NVIDIA's driver does not run the GPU %s, so CUDA cannot use it"), pci);
        break;
    case ATH_GPU_LACKS_ANSWER:
        ath_faults_add(check->faults, ATH_FAULT_GPU_LOST, place,
                       _("NVIDIA's driver no longer reaches the GPU %s, so CUDA cannot use it"),
                       pci);
        break;
    case ATH_GPU_LACKS_MEMORY_OWNER:
        if (!has_nodes_for_unknown(check, numa))
            ath_faults_add(check->faults, ATH_FAULT_GPU_MEMORY_UNKNOWN, place,
                           _("the NUMA node of the memory of GPU %s is not known, and CUDA would "
                             "not start without that node in 'memory_nodes'"),
                           pci);
        break;
    case ATH_GPU_LACKS_MEMORY_NODE:
        ath_faults_add(check->faults, ATH_FAULT_GPU_MEMORY_GONE, place,
                       _("the GPU %s names NUMA node %d as its memory, but that node does not "
                         "exist"),
                       pci, gpu->memory_node);
        break;
    }
}

static void check_gpu_place(const struct ath_check *check, const struct ath_document_numa *numa,
                            size_t index, const struct ath_gpu *gpu)
{
    const char *pci = numa->gpus.items[index];
    size_t place = ath_check_place_of_entry(&numa->item, "gpus", index);

    if (gpu->numa_node != ATH_UNKNOWN && gpu->numa_node != numa->node)
        ath_faults_add(check->faults, ATH_FAULT_GPU_NODE, place,
                       _("the GPU %s belongs to NUMA node %d, not %d"), pci, gpu->numa_node,
                       numa->node);
    if (gpu->memory_node != ATH_UNKNOWN && !ath_idset_has(&numa->memory_nodes, gpu->memory_node) &&
        ath_gpu_lack(check->machine, gpu) != ATH_GPU_LACKS_MEMORY_NODE)
        ath_faults_add(check->faults, ATH_FAULT_GPU_MEMORY, place,
                       _("the memory of GPU %s is NUMA node %d, which is not in 'memory_nodes'; "
                         "CUDA would not start"),
                       pci, gpu->memory_node);
}

void ath_check_gpus(const struct ath_check *check, const struct ath_document_numa *numa)
{
    for (size_t i = 0; i < numa->gpus.count; i++) {
        const struct ath_gpu *gpu = gpu_of(check, numa, i);
        if (gpu) {
            check_gpu_place(check, numa, i, gpu);
            check_gpu_usable(check, numa, i, gpu);
        } else if (check->knows_pci)
            ath_faults_add(check->faults, ATH_FAULT_GPU_MISSING,
                           ath_check_place_of_entry(&numa->item, "gpus", i),
                           _("this machine has no GPU %s"), numa->gpus.items[i]);
    }
}

/* Returns the sum of the shares of a GPU's memory that all entries promise: 1 is the whole
 * memory. */
static double promised_of(const struct ath_document *document, const char *gpu)
{
    double sum = 0;

    for (size_t i = 0; i < document->numa.count; i++)
        if (ath_check_has_name(document->numa.items[i].gpus.items,
                               document->numa.items[i].gpus.count, gpu))
            sum += document->numa.items[i].vram_fraction;
    return sum;
}

void ath_check_gpus_shared(const struct ath_check *check)
{
    const struct ath_document *document = check->document;

    for (size_t i = 0; i < document->numa.count; i++)
        for (size_t g = 0; g < document->numa.items[i].gpus.count; g++) {
            const struct ath_document_numa *numa = &document->numa.items[i];
            const struct ath_document_numa *other = numa;
            double sum = promised_of(document, numa->gpus.items[g]);

            if (sum <= 1 + 1e-9) /* 0.7 + 0.2 + 0.1 is slightly more than 1 */
                continue;
            while (other-- > document->numa.items)
                if (ath_check_has_name(other->gpus.items, other->gpus.count, numa->gpus.items[g]))
                    ath_faults_add(check->faults, ATH_FAULT_GPU_TWICE,
                                   ath_check_place_of_entry(&numa->item, "gpus", g),
                                   _("NUMA entry %d shares the GPU %s with others, and the "
                                     "vram_fraction values add up to %g; the whole memory is 1"),
                                   other->id, numa->gpus.items[g], sum);
        }
}
