/*
 * NVLinks from hwloc's matrix of bandwidths.
 *
 * Rows and columns are GPUs (the NVML or RSMI device, below the PCI function), NVSwitches (a PCI
 * function) and, on POWER, the Package that a GPU's links lead to. A value is the bandwidth of all
 * links between two of them, in MB/s in one direction (hwloc, topology-nvml.c). Values on the
 * diagonal are huge and have no meaning.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "numa/hwloc_walk.h"

static bool is_link_matrix(struct ath_hwloc_walk *walk, struct hwloc_distances_s *matrix)
{
    static const char *const names[] = { "NVLinkBandwidth", "XGMIBandwidth" };
    const char *name = walk->hwloc->hwloc_distances_get_name(walk->topology, matrix);

    for (size_t i = 0; name && i < ATH_COUNT(names); i++)
        if (!strcmp(name, names[i]))
            return true;
    return false;
}

/* Returns the PCI function that an object is or belongs to; NULL for a Package. */
static hwloc_obj_t function_of(hwloc_obj_t object)
{
    while (object && object->type == HWLOC_OBJ_OS_DEVICE)
        object = object->parent;
    return object && object->type == HWLOC_OBJ_PCI_DEVICE ? object : NULL;
}

static struct ath_gpu *gpu_of(struct ath_machine *machine, hwloc_obj_t object)
{
    hwloc_obj_t function = function_of(object);

    if (!function)
        return NULL;
    struct ath_pci pci = ath_hwloc_pci(function);
    return ath_machine_find_gpu(machine, &pci);
}

/* Describes the object at the other end of a link. The CPU's end has no PCI function in hwloc. */
static struct ath_nvlink describe_peer(struct ath_machine *machine, hwloc_obj_t object)
{
    struct ath_nvlink link = { .kind = ATH_PEER_CPU, .count = ATH_UNKNOWN };
    hwloc_obj_t function = function_of(object);

    if (function) {
        link.kind = gpu_of(machine, object) ? ATH_PEER_GPU : ATH_PEER_SWITCH;
        link.has_peer = true;
        link.peer = ath_hwloc_pci(function);
    }
    return link;
}

static bool is_same_peer(const struct ath_nvlink *a, const struct ath_nvlink *b)
{
    return a->kind == b->kind && a->has_peer == b->has_peer &&
           (!a->has_peer || ath_pci_equals(&a->peer, &b->peer));
}

/* Adds a link. A GPU that is split into partitions has a row for each (MI300A in mode CPX: 6), but
 * all of them use the same links: the fastest counts. */
static void add_link(struct ath_gpu *gpu, const struct ath_nvlink *link)
{
    for (size_t i = 0; i < gpu->nvlink_count; i++)
        if (is_same_peer(&gpu->nvlinks[i], link)) {
            if (link->speed_mbps > gpu->nvlinks[i].speed_mbps)
                gpu->nvlinks[i].speed_mbps = link->speed_mbps;
            return;
        }
    *(struct ath_nvlink *)ath_push(&gpu->nvlinks, &gpu->nvlink_count, sizeof *link) = *link;
}

static void add_links(struct ath_machine *machine, const struct hwloc_distances_s *matrix,
                      unsigned int row)
{
    struct ath_gpu *gpu = gpu_of(machine, matrix->objs[row]);

    if (!gpu)
        return;
    gpu->has_nvlinks = true;
    for (unsigned int i = 0; i < matrix->nbobjs; i++) {
        hwloc_uint64_t mb_per_s = matrix->values[row * matrix->nbobjs + i];
        if (i == row || !mb_per_s || mb_per_s > INT32_MAX || !matrix->objs[i])
            continue;
        if (gpu_of(machine, matrix->objs[i]) == gpu)
            continue; /* another partition of the GPU */
        struct ath_nvlink link = describe_peer(machine, matrix->objs[i]);
        link.speed_mbps = (int64_t)mb_per_s * 8;
        add_link(gpu, &link);
    }
}

void ath_hwloc_walk_links(struct ath_hwloc_walk *walk)
{
    unsigned int count;
    ath_auto_free struct hwloc_distances_s **matrices = ath_hwloc_matrices(walk, &count);

    for (unsigned int i = 0; i < count; i++) {
        for (unsigned int row = 0; is_link_matrix(walk, matrices[i]) && row < matrices[i]->nbobjs;
             row++)
            add_links(walk->machine, matrices[i], row);
        walk->hwloc->hwloc_distances_release(walk->topology, matrices[i]);
    }
}
