/* The machine model: making, finding, completing. */
#include "config.h"

#include "numa/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "numa/core.h"
#include "numa/gpu_health.h"
#include "numa/pair.h"
#include "numa/profile.h"
#include "numa/warning.h"

static void free_node(struct ath_numa_node *node)
{
    ath_idset_free(&node->cpus);
    ath_idset_free(&node->cpus_online);
    free(node->hugepages);
    free(node->distances);
    free(node->memory_kind);
}

static void free_gpu(struct ath_gpu *gpu)
{
    free(gpu->place);
    free(gpu->model);
    free(gpu->uuid);
    free(gpu->driver_version);
    free(gpu->driver);
    free(gpu->partition_mode);
    free(gpu->nvlinks);
}

static void free_warning(struct ath_warning *warning)
{
    free(warning->object);
    free(warning->message);
    free(warning->hint);
}

void ath_machine_free(struct ath_machine *machine)
{
    if (!machine)
        return;
    for (size_t i = 0; i < machine->node_count; i++)
        free_node(&machine->nodes[i]);
    for (size_t i = 0; i < machine->gpu_count; i++)
        free_gpu(&machine->gpus[i]);
    for (size_t i = 0; i < machine->nic_count; i++)
        ath_nic_free(&machine->nics[i]);
    for (size_t i = 0; i < machine->warning_count; i++)
        free_warning(&machine->warnings[i]);
    ath_nic_others_free(&machine->others);
    ath_cores_forget(machine);
    free(machine->hostname);
    free(machine->model);
    free(machine->arch);
    free(machine->kernel);
    free(machine->nodes);
    free(machine->gpus);
    free(machine->nics);
    free(machine->pairs);
    free(machine->classes);
    free(machine->measured);
    free(machine->warnings);
    *machine = (struct ath_machine){ 0 };
}

struct ath_numa_node *ath_machine_add_node(struct ath_machine *machine, int id)
{
    struct ath_numa_node *node = ath_push(&machine->nodes, &machine->node_count, sizeof *node);
    node->id = id;
    node->memory_total_bytes = ATH_UNKNOWN;
    node->memory_free_bytes = ATH_UNKNOWN;
    return node;
}

struct ath_gpu *ath_machine_add_gpu(struct ath_machine *machine, const struct ath_pci *pci)
{
    struct ath_gpu *gpu = ath_push(&machine->gpus, &machine->gpu_count, sizeof *gpu);
    *gpu = (struct ath_gpu){
        .pci = *pci,
        .vendor_id = ATH_UNKNOWN,
        .device_id = ATH_UNKNOWN,
        .numa_node = ATH_UNKNOWN,
        .memory_node = ATH_UNKNOWN,
        .memory_total_bytes = ATH_UNKNOWN,
        .memory_free_bytes = ATH_UNKNOWN,
        .partitions = ATH_UNKNOWN,
        .pcie_gen = ATH_UNKNOWN,
        .pcie_width = ATH_UNKNOWN,
        .pcie_mbps = ATH_UNKNOWN,
        .to_gpu_bytes_per_s = ATH_UNKNOWN,
        .from_gpu_bytes_per_s = ATH_UNKNOWN,
        .health = { .score = ATH_UNKNOWN },
    };
    ath_gpu_facts_init(&gpu->facts);
    return gpu;
}

struct ath_nic *ath_machine_add_nic(struct ath_machine *machine)
{
    struct ath_nic *nic = ath_push(&machine->nics, &machine->nic_count, sizeof *nic);
    ath_nic_init(nic);
    return nic;
}

static int compare_nodes(const void *a, const void *b)
{
    const struct ath_numa_node *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static int compare_gpus(const void *a, const void *b)
{
    const struct ath_gpu *x = a, *y = b;
    return ath_pci_compare(&x->pci, &y->pci);
}

static int compare_nics(const void *a, const void *b)
{
    return ath_nic_compare(a, b);
}

static int compare_distances(const void *a, const void *b)
{
    const struct ath_distance *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

struct ath_numa_node *ath_machine_node(const struct ath_machine *machine, int id)
{
    struct ath_numa_node key = { .id = id };
    return machine->node_count ? bsearch(&key, machine->nodes, machine->node_count,
                                         sizeof *machine->nodes, compare_nodes)
                               : NULL;
}

struct ath_gpu *ath_machine_gpu(const struct ath_machine *machine, const struct ath_pci *pci)
{
    struct ath_gpu key = { .pci = *pci };
    return machine->gpu_count ? bsearch(&key, machine->gpus, machine->gpu_count,
                                        sizeof *machine->gpus, compare_gpus)
                              : NULL;
}

struct ath_numa_node *ath_machine_find_node(const struct ath_machine *machine, int id)
{
    for (size_t i = 0; i < machine->node_count; i++)
        if (machine->nodes[i].id == id)
            return &machine->nodes[i];
    return NULL;
}

struct ath_gpu *ath_machine_find_gpu(const struct ath_machine *machine, const struct ath_pci *pci)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (ath_pci_equals(&machine->gpus[i].pci, pci))
            return &machine->gpus[i];
    return NULL;
}

struct ath_nic *ath_machine_nic_by_netdev(const struct ath_machine *machine, const char *netdev)
{
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].netdev && !strcmp(machine->nics[i].netdev, netdev))
            return &machine->nics[i];
    return NULL;
}

struct ath_nic *ath_machine_nic_by_rdma(const struct ath_machine *machine, const char *rdma_device)
{
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].rdma_device && !strcmp(machine->nics[i].rdma_device, rdma_device))
            return &machine->nics[i];
    return NULL;
}

bool ath_machine_knows_rdma(const struct ath_machine *machine)
{
    if (machine->source == ATH_SOURCE_LIVE || machine->others.rdma_device_count)
        return true;
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].rdma_device)
            return true;
    return false;
}

int ath_machine_distance(const struct ath_machine *machine, int from, int to)
{
    const struct ath_numa_node *node = ath_machine_node(machine, from);
    struct ath_distance key = { .node = to };
    const struct ath_distance *found = node && node->distance_count
                                           ? bsearch(&key, node->distances, node->distance_count,
                                                     sizeof *node->distances, compare_distances)
                                           : NULL;
    return found ? found->value : ATH_UNKNOWN;
}

/* Skips sorting if the array is sorted already: the kernel lists a million distances in order. */
static void sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    const char *item = items;
    for (size_t i = 1; i < count; i++, item += size)
        if (compare(item, item + size) > 0) {
            qsort(items, count, size, compare);
            return;
        }
}

void ath_machine_sort(struct ath_machine *machine)
{
    sort(machine->nodes, machine->node_count, sizeof *machine->nodes, compare_nodes);
    sort(machine->gpus, machine->gpu_count, sizeof *machine->gpus, compare_gpus);
    sort(machine->nics, machine->nic_count, sizeof *machine->nics, compare_nics);
    for (size_t i = 0; i < machine->node_count; i++)
        sort(machine->nodes[i].distances, machine->nodes[i].distance_count,
             sizeof *machine->nodes[i].distances, compare_distances);
}

static void drop_duplicate_nodes(struct ath_machine *machine)
{
    size_t kept = 0;

    for (size_t i = 0; i < machine->node_count; i++) {
        struct ath_numa_node *node = &machine->nodes[i];
        if (kept && machine->nodes[kept - 1].id == node->id) {
            ath_auto_free char *object = ath_xasprintf("node %d", node->id);
            ath_warning_add(machine, ATH_W_DUPLICATE_NODE, object, NULL);
            free_node(node);
        } else {
            machine->nodes[kept++] = *node;
        }
    }
    machine->node_count = kept;
}

static void drop_duplicate_gpus(struct ath_machine *machine)
{
    size_t kept = 0;

    for (size_t i = 0; i < machine->gpu_count; i++) {
        struct ath_gpu *gpu = &machine->gpus[i];
        if (kept && ath_pci_equals(&machine->gpus[kept - 1].pci, &gpu->pci)) {
            char object[ATH_PCI_TEXT];
            ath_warning_add(machine, ATH_W_DUPLICATE_PCI, ath_pci_format(&gpu->pci, object),
                            gpu->model ? gpu->model : _("a GPU"), NULL);
            free_gpu(gpu);
        } else {
            machine->gpus[kept++] = *gpu;
        }
    }
    machine->gpu_count = kept;
}

static bool is_same_name(const char *a, const char *b)
{
    return a && b && !strcmp(a, b);
}

/* True if a port without a PCI address has the name of another one. NCCL lists a socket's link once
 * for every NUMA node. A machine has only one link of a name. */
static bool is_named_before(const struct ath_machine *machine, size_t index)
{
    const struct ath_nic *nic = &machine->nics[index];

    for (size_t i = 0; !nic->has_pci && i < index; i++) {
        const struct ath_nic *other = &machine->nics[i];
        if (is_same_name(nic->netdev, other->netdev) ||
            (is_same_name(nic->rdma_device, other->rdma_device) && nic->port == other->port))
            return true;
    }
    return false;
}

/* Drops ports that are listed again. Ports without a PCI address are last (ath_nic_compare()). */
static void drop_repeated_nics(struct ath_machine *machine)
{
    size_t kept = 0;

    for (size_t i = 0; i < machine->nic_count; i++) {
        struct ath_nic nic = machine->nics[i];
        machine->nics[kept] = nic;
        if (is_named_before(machine, kept))
            ath_nic_free(&machine->nics[kept]);
        else
            kept++;
    }
    machine->nic_count = kept;
}

/* Two entries of one function are two ports, unless all their names are equal. */
static void drop_duplicate_nics(struct ath_machine *machine)
{
    size_t kept = 0;

    for (size_t i = 0; i < machine->nic_count; i++) {
        struct ath_nic *nic = &machine->nics[i];
        if (kept && nic->has_pci && !ath_nic_compare(&machine->nics[kept - 1], nic)) {
            char object[ATH_PCI_TEXT];
            ath_warning_add(machine, ATH_W_DUPLICATE_PCI, ath_pci_format(&nic->pci, object),
                            nic->netdev ? nic->netdev : _("a network port"), NULL);
            ath_nic_free(nic);
        } else {
            machine->nics[kept++] = *nic;
        }
    }
    machine->nic_count = kept;
}

/* Sets the kind of each node, and ties nodes to the GPUs whose memory they are. */
static void set_kinds(struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->node_count; i++) {
        struct ath_numa_node *node = &machine->nodes[i];
        /* An NCCL file contains only nodes with CPUs. It has no memory sizes, and does not always
         * list the CPUs. Texts do. */
        bool has_cpus =
            node->cpus.range_count || (machine->source == ATH_SOURCE_XML && !machine->is_text &&
                                       node->memory_total_bytes < 0);
        node->kind = has_cpus ? ATH_NODE_CPU : ATH_NODE_MEMORY;
    }
    for (size_t i = 0; i < machine->gpu_count; i++) {
        struct ath_gpu *gpu = &machine->gpus[i];
        struct ath_numa_node *node = ath_machine_node(machine, gpu->memory_node);
        if (!node || node->kind != ATH_NODE_MEMORY)
            continue; /* no such node, or another GPU's memory */
        node->kind = ATH_NODE_GPU;
        node->has_gpu = true;
        node->gpu = gpu->pci;
        if (node->memory_total_bytes > 0)
            gpu->memory_total_bytes = node->memory_total_bytes;
    }
}

/* If only one node has CPUs, all devices belong to it. */
static void place_on_only_node(struct ath_machine *machine)
{
    int node = ATH_UNKNOWN;

    for (size_t i = 0; i < machine->node_count; i++) {
        if (machine->nodes[i].kind != ATH_NODE_CPU)
            continue;
        if (node != ATH_UNKNOWN)
            return;
        node = machine->nodes[i].id;
    }
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].numa_node == ATH_UNKNOWN)
            machine->gpus[i].numa_node = node;
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].numa_node == ATH_UNKNOWN)
            machine->nics[i].numa_node = node;
}

/* Firmware and drivers fill up names with blanks. A name of blanks alone is unknown. */
static void trim(char **name)
{
    size_t length = *name ? strlen(*name) : 0;

    while (length && strchr(" \t", (*name)[length - 1]))
        (*name)[--length] = '\0';
    if (length)
        return;
    free(*name);
    *name = NULL;
}

/* A driver that cannot read a UUID gives zeros: "0000000000000000". */
static void drop_zero_uuid(struct ath_gpu *gpu)
{
    const char *digits = gpu->uuid ? gpu->uuid : "?";

    digits += ath_starts_with(digits, "GPU-") ? strlen("GPU-") : 0;
    if (digits[strspn(digits, "0-")])
        return;
    free(gpu->uuid);
    gpu->uuid = NULL;
}

/* The speed of a lane is 2.5 and 5 GT/s with 8b/10b, then 8, 16, 32 GT/s with 128b/130b and 64 GT/s
 * with 242 of 256 bytes (PCI Express, 4.2). */
static void set_pcie_speed(struct ath_gpu *gpu)
{
    static const int lane_mbps[] = { 2000, 4000, 7877, 15754, 31508, 60500 };

    if (gpu->pcie_mbps == ATH_UNKNOWN && gpu->pcie_width > 0 && gpu->pcie_gen > 0 &&
        gpu->pcie_gen <= (int)ATH_COUNT(lane_mbps))
        gpu->pcie_mbps = (int64_t)lane_mbps[gpu->pcie_gen - 1] * gpu->pcie_width;
}

static void tidy(struct ath_machine *machine)
{
    trim(&machine->model);
    trim(&machine->hostname);
    for (size_t i = 0; i < machine->gpu_count; i++) {
        trim(&machine->gpus[i].model);
        drop_zero_uuid(&machine->gpus[i]);
        set_pcie_speed(&machine->gpus[i]);
    }
    for (size_t i = 0; i < machine->nic_count; i++)
        trim(&machine->nics[i].model);
}

void ath_machine_finish(struct ath_machine *machine)
{
    tidy(machine);
    ath_machine_sort(machine);
    drop_duplicate_nodes(machine);
    drop_duplicate_gpus(machine);
    drop_duplicate_nics(machine);
    drop_repeated_nics(machine);
    set_kinds(machine);
    place_on_only_node(machine);
    ath_pairs_rank(machine);
    if (!machine->profile)
        machine->profile = ath_profile_of(machine->model, NULL);
    ath_warnings_check(machine);
    ath_gpus_judge(machine);
}

const char *ath_node_kind_word(enum ath_node_kind kind)
{
    static const char *const words[] = { "cpu", "gpu", "memory" };
    return words[kind];
}

const char *ath_source_word(enum ath_source source)
{
    static const char *const words[] = { "live", "root", "xml" };
    return words[source];
}
