/* Gathers the figures and links of a GPU, each with its source. */
#include "config.h"

#include "place/gpu_fingerprint.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/unknown.h"
#include "place/chip.h"
#include "place/link_figures.h"

enum { BYTES_PER_MEGABIT = 1000000 / 8 };

static struct ath_sourced sourced(int64_t value, enum ath_figure_source source)
{
    return value < 0 ? (struct ath_sourced){ ATH_UNKNOWN, ATH_FIGURE_UNKNOWN }
                     : (struct ath_sourced){ value, source };
}

/* The NUMA node that is the GPU's memory; NULL for most GPUs. */
static const struct ath_numa_node *memory_node_of(const struct ath_machine *machine,
                                                  const struct ath_gpu *gpu)
{
    return gpu->memory_node < 0 ? NULL : ath_machine_node(machine, gpu->memory_node);
}

static int64_t total_bytes(const struct ath_machine *machine, const struct ath_gpu *gpu)
{
    const struct ath_numa_node *node = memory_node_of(machine, gpu);

    if (gpu->memory_total_bytes > 0)
        return gpu->memory_total_bytes;
    return node && node->memory_total_bytes > 0 ? node->memory_total_bytes : ATH_UNKNOWN;
}

/* A node that is offline has no free memory to tell of. */
static int64_t free_bytes(const struct ath_machine *machine, const struct ath_gpu *gpu)
{
    const struct ath_numa_node *node = memory_node_of(machine, gpu);

    if (gpu->memory_free_bytes >= 0)
        return gpu->memory_free_bytes;
    return node && node->is_online && gpu->memory_state != ATH_MEMORY_OFFLINE
               ? node->memory_free_bytes
               : ATH_UNKNOWN;
}

static void look_at_figures(struct ath_gpu_fingerprint *out)
{
    int64_t total = total_bytes(out->machine, out->gpu);

    for (int i = 0; i < ATH_GPU_FIGURE_COUNT; i++)
        out->figures[i] =
            sourced(out->model ? out->model->figures[i] : ATH_UNKNOWN, ATH_FIGURE_TABLE);
    if (total > 0)
        out->figures[ATH_GPU_MEMORY] = sourced(total, ATH_FIGURE_DRIVER);
    out->memory_free_bytes = sourced(free_bytes(out->machine, out->gpu), ATH_FIGURE_DRIVER);
}

static struct ath_gpu_link *add_link(struct ath_gpu_fingerprint *out, enum ath_link_way way)
{
    struct ath_gpu_link *link = ath_push(&out->links, &out->link_count, sizeof *link);

    *link = (struct ath_gpu_link){
        .ends = 1,
        .latency_ns = sourced(ath_link_latency_ns(way), ATH_FIGURE_TABLE),
    };
    return link;
}

static struct ath_sourced nvlink_bandwidth(const struct ath_gpu *gpu,
                                           const struct ath_nvlink *nvlink)
{
    int64_t each = ath_link_nvlink_bytes_per_s(ath_gpu_chip(gpu));

    if (nvlink->speed_mbps > 0)
        return sourced(nvlink->speed_mbps * BYTES_PER_MEGABIT, ATH_FIGURE_DRIVER);
    return sourced(nvlink->count > 0 && each > 0 ? nvlink->count * each : ATH_UNKNOWN,
                   ATH_FIGURE_TABLE);
}

/* Adds the links to one more switch: a GPU sees all switches as one fabric. */
static void join(struct ath_gpu_link *link, int count, const struct ath_sourced *bandwidth)
{
    struct ath_sourced *sum = &link->bandwidth_bytes_per_s;
    bool is_known = sum->value >= 0 && bandwidth->value >= 0;

    link->ends++;
    link->count = link->count >= 0 && count >= 0 ? link->count + count : ATH_UNKNOWN;
    *sum = sourced(is_known ? sum->value + bandwidth->value : ATH_UNKNOWN, bandwidth->source);
}

static struct ath_gpu_link *find_switches(struct ath_gpu_fingerprint *out)
{
    for (size_t i = 0; i < out->link_count; i++)
        if (out->links[i].nvlink && out->links[i].nvlink->kind == ATH_PEER_SWITCH)
            return &out->links[i];
    return NULL;
}

static void add_nvlink(struct ath_gpu_fingerprint *out, const struct ath_nvlink *nvlink)
{
    struct ath_sourced bandwidth = nvlink_bandwidth(out->gpu, nvlink);
    struct ath_gpu_link *link = nvlink->kind == ATH_PEER_SWITCH ? find_switches(out) : NULL;

    if (link) {
        join(link, nvlink->count, &bandwidth);
        return;
    }
    link = add_link(out, ATH_WAY_NVLINK);
    link->nvlink = nvlink;
    link->count = nvlink->count;
    link->bandwidth_bytes_per_s = bandwidth;
}

/* The links to switches carry all that goes to the GPUs behind these, so those are no further
 * links. */
static void look_at_links(struct ath_gpu_fingerprint *out)
{
    const struct ath_gpu *gpu = out->gpu;

    for (size_t i = 0; i < gpu->nvlink_count; i++)
        if (!gpu->nvlinks[i].is_through_switch)
            add_nvlink(out, &gpu->nvlinks[i]);
    if (gpu->pcie_gen < 0 && gpu->pcie_width < 0 && gpu->pcie_mbps < 0)
        return;
    struct ath_gpu_link *pcie = add_link(out, ATH_WAY_PCI);
    pcie->count = gpu->pcie_width;
    pcie->bandwidth_bytes_per_s = sourced(
        gpu->pcie_mbps > 0 ? gpu->pcie_mbps * BYTES_PER_MEGABIT : ATH_UNKNOWN, ATH_FIGURE_DRIVER);
}

void ath_gpu_fingerprint_make(const struct ath_machine *machine, size_t index,
                              struct ath_gpu_fingerprint *out)
{
    *out = (struct ath_gpu_fingerprint){
        .index = index,
        .machine = machine,
        .gpu = &machine->gpus[index],
        .model = ath_gpu_model_of(&machine->gpus[index]),
    };
    look_at_figures(out);
    look_at_links(out);
}

void ath_gpu_fingerprint_free(struct ath_gpu_fingerprint *fingerprint)
{
    free(fingerprint->links);
    *fingerprint = (struct ath_gpu_fingerprint){ 0 };
}
