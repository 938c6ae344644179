/* Asks NVML for common ancestors, and makes places from the matrix of levels. */
#include "config.h"

#include "numa/nvml_place.h"

#include <stdbool.h>

#include "base/alloc.h"
#include "base/unknown.h"

enum { NODES_MAX = 1024, LONG_BITS = 8 * sizeof(unsigned long) };

/* Returns the only NUMA node of the GPU's memory affinity, or ATH_UNKNOWN. */
static int ask_node(const struct nvml *nvml, nvml_device device)
{
    unsigned long nodes[NODES_MAX / LONG_BITS] = { 0 };
    int node = ATH_UNKNOWN;

    if (!nvml->nvmlDeviceGetMemoryAffinity ||
        nvml->nvmlDeviceGetMemoryAffinity(device, ATH_COUNT(nodes), nodes, NVML_SCOPE_NODE) !=
            NVML_SUCCESS)
        return ATH_UNKNOWN;
    for (int i = 0; i < NODES_MAX; i++) {
        if (!(nodes[i / LONG_BITS] >> i % LONG_BITS & 1))
            continue;
        if (node != ATH_UNKNOWN)
            return ATH_UNKNOWN;
        node = i;
    }
    return node;
}

int nvml_ask_place(const struct nvml *nvml, const nvml_device *devices, size_t count, size_t index,
                   uint8_t *out_levels)
{
    for (size_t i = 0; i < count; i++) {
        unsigned int level = ATH_NVML_LEVEL_UNKNOWN;
        if (i == index || !devices[i] || !nvml->nvmlDeviceGetTopologyCommonAncestor ||
            nvml->nvmlDeviceGetTopologyCommonAncestor(devices[index], devices[i], &level) !=
                NVML_SUCCESS ||
            level > ATH_NVML_LEVEL_UNKNOWN)
            level = ATH_NVML_LEVEL_UNKNOWN;
        out_levels[i] = (uint8_t)level;
    }
    return ask_node(nvml, devices[index]);
}

/* Returns the lowest GPU that has a common ancestor with this one at `level` or below: the name of
 * that ancestor. */
static size_t ancestor(const uint8_t *levels, size_t count, size_t index, int level)
{
    for (size_t i = 0; i < index; i++)
        if (levels[index * count + i] <= level)
            return i;
    return index;
}

char *nvml_place(const uint8_t *levels, size_t count, size_t index)
{
    bool is_known = false;

    for (size_t i = 0; i < count; i++)
        is_known = is_known || levels[index * count + i] != ATH_NVML_LEVEL_UNKNOWN;
    if (!is_known)
        return NULL;
    /* The parts that two GPUs share, and those behind them, are what ath_pci_class_between()
     * reads. */
    return ath_xasprintf("root%zu/board%zu/switch%zu/port%zu",
                         ancestor(levels, count, index, NVML_LEVEL_PHB),
                         ancestor(levels, count, index, NVML_LEVEL_PXB),
                         ancestor(levels, count, index, NVML_LEVEL_PIX), index);
}
