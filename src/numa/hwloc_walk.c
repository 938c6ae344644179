/*
 * The machine and its NUMA nodes, from an hwloc topology.
 *
 * hwloc gives every node the CPUs near it. A node that is only memory (CXL, MCDRAM, a GPU's) gets
 * the CPUs of its neighbour. The kernel assigns each CPU to one node, and numbers nodes with CPUs
 * before those that are only memory (acpi_numa_init(), drivers/acpi/numa/srat.c). So of several
 * nodes with the same CPUs, the lowest one has them.
 */
#include "config.h"

#include "numa/hwloc_walk.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "numa/core.h"
#include "numa/profile.h"
#include "numa/warning.h"

const char *ath_hwloc_info(hwloc_obj_t object, const char *name)
{
    for (unsigned int i = 0; i < object->infos_count; i++)
        if (!strcmp(object->infos[i].name, name) && *object->infos[i].value)
            return object->infos[i].value;
    return NULL;
}

/* Returns a copy of the first of several infos that exists, or NULL. The caller frees the copy. */
static char *copy_info(hwloc_obj_t object, const char *const *names)
{
    for (; *names; names++) {
        const char *value = ath_hwloc_info(object, *names);
        if (value)
            return ath_xstrdup(value);
    }
    return NULL;
}

/* hwloc takes "PowerNV 8335-GTB" from /proc/cpuinfo. On a live machine we read "8335-GTB" from the
 * device tree, so the prefix is removed. */
static char *model_of(hwloc_obj_t root)
{
    const char *platform = ath_hwloc_info(root, "PlatformModel");
    const char *name = ath_hwloc_info(root, "PlatformName");
    const char *vendor = ath_hwloc_info(root, "DMISysVendor");
    const char *product = ath_hwloc_info(root, "DMIProductName");

    if (platform) {
        size_t length = name ? strlen(name) : 0;
        bool has_name = name && ath_starts_with(platform, name) && platform[length] == ' ';
        return ath_xstrdup(has_name ? platform + length + 1 : platform);
    }
    if (!product || !vendor || ath_starts_with(product, vendor))
        return ath_xstrdup(product);
    return ath_xasprintf("%s %s", vendor, product);
}

static void read_identity(hwloc_obj_t root, struct ath_machine *machine)
{
    static const char *const arch[] = { "Architecture", NULL },
                             *const kernel[] = { "OSRelease", NULL },
                             *const host[] = { "HostName", NULL };

    machine->model = model_of(root);
    machine->arch = copy_info(root, arch);
    machine->kernel = copy_info(root, kernel);
    machine->hostname = copy_info(root, host);
}

/* Copies the ranges of a bitmap. An infinite last range is left out. */
static void copy_set(const struct ath_hwloc *hwloc, hwloc_const_bitmap_t set, struct ath_idset *out)
{
    if (!set)
        return;
    for (int first = hwloc->hwloc_bitmap_next(set, -1); first >= 0;) {
        int end = hwloc->hwloc_bitmap_next_unset(set, first);
        if (end < 0)
            return;
        ath_idset_add(out, first, end - 1);
        first = hwloc->hwloc_bitmap_next(set, end);
    }
}

/* Copies all page sizes except the smallest, which is the base page. */
static void copy_hugepages(const struct hwloc_numanode_attr_s *attr, struct ath_numa_node *node)
{
    hwloc_uint64_t base = UINT64_MAX;

    for (unsigned int i = 0; i < attr->page_types_len; i++)
        if (attr->page_types[i].size && attr->page_types[i].size < base)
            base = attr->page_types[i].size;
    for (unsigned int i = 0; i < attr->page_types_len; i++) {
        const struct hwloc_memory_page_type_s *type = &attr->page_types[i];
        if (type->size <= base || type->size > INT64_MAX || type->count > INT64_MAX)
            continue;
        struct ath_hugepages *pages =
            ath_push(&node->hugepages, &node->hugepage_count, sizeof *pages);
        *pages = (struct ath_hugepages){ .size_bytes = (int64_t)type->size,
                                         .total = (int64_t)type->count,
                                         .free = ATH_UNKNOWN };
    }
}

void ath_hwloc_check_complete(const struct ath_hwloc *hwloc, hwloc_topology_t topology,
                              const char *name, struct ath_machine *machine)
{
    hwloc_obj_t root = hwloc->hwloc_get_obj_by_depth(topology, 0, 0);
    ATH_AUTO(ath_idset) complete = { 0 }, allowed = { 0 }, lacking = { 0 };

    copy_set(hwloc, root->complete_cpuset, &complete);
    copy_set(hwloc, hwloc->hwloc_topology_get_allowed_cpuset(topology), &allowed);
    ath_idset_subtract(&complete, &allowed, &lacking);
    if (!lacking.range_count)
        return;
    ath_auto_free char *ids = ath_idset_format(&lacking);
    ath_warning_add(machine, ATH_W_CPUS_LEFT_OUT, name, ids, NULL);
}

static void add_node(struct ath_hwloc_walk *walk, hwloc_obj_t object)
{
    const struct hwloc_numanode_attr_s *attr = &object->attr->numanode;
    struct ath_numa_node *node = ath_machine_add_node(walk->machine, (int)object->os_index);
    const char *gpu = ath_hwloc_info(object, "PCIBusID");

    node->is_online = true;
    if (attr->local_memory <= INT64_MAX)
        node->memory_total_bytes = (int64_t)attr->local_memory;
    copy_set(walk->hwloc, object->cpuset, &node->cpus);
    copy_hugepages(attr, node);
    if (object->subtype && strcmp(object->subtype, "DRAM") != 0)
        node->memory_kind = ath_xstrdup(object->subtype); /* guessed by hwloc, or from DAX */
    /* hwloc's linux backend sets this if HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES kept the node. */
    if (object->subtype && !strcmp(object->subtype, "GPUMemory"))
        node->has_gpu = gpu && !ath_pci_parse(gpu, &node->gpu);
}

static bool is_subset(const struct ath_idset *small, const struct ath_idset *large)
{
    ATH_AUTO(ath_idset) both = { 0 };

    if (!ath_idset_has(large, ath_idset_next(small, -1)))
        return false; /* a quick check that decides nearly all pairs */
    ath_idset_intersect(small, large, &both);
    return ath_idset_equals(&both, small);
}

/* True if another node owns these CPUs: they are a subset of this node's CPUs, or that node has a
 * lower id and the same CPUs. */
static bool borrows_cpus(const struct ath_machine *machine, const struct ath_numa_node *node)
{
    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_numa_node *other = &machine->nodes[i];
        if (other == node || !other->cpus.range_count || !is_subset(&other->cpus, &node->cpus))
            continue;
        if (other->id < node->id || !ath_idset_equals(&other->cpus, &node->cpus))
            return true;
    }
    return node->has_gpu;
}

static void return_cpus(struct ath_machine *machine)
{
    ath_auto_free bool *borrows = ath_xalloc(machine->node_count * sizeof *borrows);

    for (size_t i = 0; i < machine->node_count; i++)
        borrows[i] =
            machine->nodes[i].cpus.range_count && borrows_cpus(machine, &machine->nodes[i]);
    for (size_t i = 0; i < machine->node_count; i++)
        if (borrows[i])
            ath_idset_free(&machine->nodes[i].cpus);
}

static void read_nodes(struct ath_hwloc_walk *walk)
{
    hwloc_obj_t object;

    for (unsigned int i = 0; (object = walk->hwloc->hwloc_get_obj_by_depth(
                                  walk->topology, HWLOC_TYPE_DEPTH_NUMANODE, i));
         i++)
        add_node(walk, object);
    return_cpus(walk->machine);
}

static void read_cores(const struct ath_hwloc_walk *walk)
{
    int depth = walk->hwloc->hwloc_get_type_depth(walk->topology, HWLOC_OBJ_CORE);
    hwloc_obj_t object;

    for (unsigned int i = 0;
         depth != HWLOC_TYPE_DEPTH_UNKNOWN && depth != HWLOC_TYPE_DEPTH_MULTIPLE &&
         (object = walk->hwloc->hwloc_get_obj_by_depth(walk->topology, depth, i));
         i++) {
        ATH_AUTO(ath_idset) threads = { 0 };
        copy_set(walk->hwloc, object->cpuset, &threads);
        ath_cores_add(walk->machine, &threads);
    }
}

struct hwloc_distances_s **ath_hwloc_matrices(struct ath_hwloc_walk *walk, unsigned int *out_count)
{
    unsigned int count = 0;

    *out_count = 0;
    if (walk->hwloc->hwloc_distances_get(walk->topology, &count, NULL, 0, 0) || !count)
        return NULL;
    struct hwloc_distances_s **matrices = ath_xalloc(count * sizeof *matrices);
    *out_count = count;
    if (walk->hwloc->hwloc_distances_get(walk->topology, out_count, matrices, 0, 0))
        *out_count = 0;
    return matrices;
}

static bool is_latency_of_nodes(struct ath_hwloc_walk *walk, struct hwloc_distances_s *matrix)
{
    const char *name = walk->hwloc->hwloc_distances_get_name(walk->topology, matrix);

    if (name ? strcmp(name, "NUMALatency") : !(matrix->kind & HWLOC_DISTANCES_KIND_MEANS_LATENCY))
        return false;
    for (unsigned int i = 0; i < matrix->nbobjs; i++)
        if (!matrix->objs[i] || matrix->objs[i]->type != HWLOC_OBJ_NUMANODE)
            return false;
    return true;
}

static void copy_distances(struct ath_machine *machine, const struct hwloc_distances_s *matrix)
{
    for (unsigned int from = 0; from < matrix->nbobjs; from++) {
        struct ath_numa_node *node =
            ath_machine_find_node(machine, (int)matrix->objs[from]->os_index);
        for (unsigned int to = 0; node && to < matrix->nbobjs; to++) {
            hwloc_uint64_t value = matrix->values[from * matrix->nbobjs + to];
            if (value > INT_MAX)
                continue;
            struct ath_distance *distance =
                ath_push(&node->distances, &node->distance_count, sizeof *distance);
            *distance = (struct ath_distance){ (int)matrix->objs[to]->os_index, (int)value };
        }
    }
}

/* Only the first matrix counts: hwloc writes the firmware's matrix before any that a user added. */
static void read_distances(struct ath_hwloc_walk *walk)
{
    unsigned int count;
    ath_auto_free struct hwloc_distances_s **matrices = ath_hwloc_matrices(walk, &count);
    bool is_done = false;

    for (unsigned int i = 0; i < count; i++) {
        if (!is_done && is_latency_of_nodes(walk, matrices[i])) {
            copy_distances(walk->machine, matrices[i]);
            is_done = true;
        }
        walk->hwloc->hwloc_distances_release(walk->topology, matrices[i]);
    }
}

/*
 * Ties nodes to the GPUs whose memory they are, as /proc/driver/nvidia reported when the file was
 * written. Even a file without I/O objects describes those GPUs: by their address, and by the CPUs
 * near their memory.
 */
static void tie_memory(struct ath_hwloc_walk *walk)
{
    hwloc_obj_t object;

    for (unsigned int i = 0; (object = walk->hwloc->hwloc_get_obj_by_depth(
                                  walk->topology, HWLOC_TYPE_DEPTH_NUMANODE, i));
         i++) {
        const struct ath_numa_node *node =
            ath_machine_find_node(walk->machine, (int)object->os_index);
        if (!node || !node->has_gpu)
            continue;
        struct ath_gpu *gpu = ath_machine_find_gpu(walk->machine, &node->gpu);
        if (!gpu) {
            gpu = ath_machine_add_gpu(walk->machine, &node->gpu);
            gpu->numa_node = ath_hwloc_near_node(walk, object->parent);
        }
        if (gpu->vendor_id == ATH_UNKNOWN)
            gpu->vendor_id =
                ATH_VENDOR_NVIDIA; /* hwloc marks such nodes for NVIDIA's driver only */
        gpu->memory_node = node->id;
        gpu->memory_state = node->memory_total_bytes ? ATH_MEMORY_ONLINE : ATH_MEMORY_OFFLINE;
        if (gpu->memory_total_bytes < 0)
            gpu->memory_total_bytes = node->memory_total_bytes;
    }
}

void ath_hwloc_walk(const struct ath_hwloc *hwloc, hwloc_topology_t topology,
                    struct ath_machine *machine)
{
    struct ath_hwloc_walk walk = { .hwloc = hwloc, .topology = topology, .machine = machine };

    read_identity(hwloc->hwloc_get_obj_by_depth(topology, 0, 0), machine);
    machine->profile = ath_profile_of(machine->model, NULL);
    read_nodes(&walk);
    read_cores(&walk);
    read_distances(&walk);
    ath_hwloc_walk_pci(&walk);
    ath_hwloc_walk_links(&walk);
    tie_memory(&walk);
    ath_xml_nics_fold(machine, &walk.guids);
    ath_xml_nics_name_cards(machine, &walk.guids);
    ath_xml_guids_free(&walk.guids);
}
