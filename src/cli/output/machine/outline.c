/* Groups a machine's devices by NUMA node; names them as `nvidia-smi topo -m` does. */
#include "config.h"

#include "cli/output/machine/outline.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/words.h"
#include "numa/pair.h"
#include "place/gpu_pair.h"

enum {
    GROUPS_MAX = 32, /* if there are more, nodes without devices are folded */
};

void ath_outline_free(struct ath_outline *outline)
{
    if (!outline)
        return;
    for (size_t i = 0; i < outline->group_count; i++) {
        free(outline->groups[i].gpus);
        free(outline->groups[i].nics);
    }
    for (size_t i = 0; i < outline->nic_count; i++)
        free(outline->nic_names[i]);
    free(outline->groups);
    free(outline->nic_names);
    ath_idset_free(&outline->folded);
    *outline = (struct ath_outline){ 0 };
}

/* Collects the nodes that have devices, and the nodes that are a GPU's memory. */
static void collect_nodes(const struct ath_machine *machine, struct ath_idset *out_used,
                          struct ath_idset *out_gpu_memory)
{
    for (size_t i = 0; i < machine->gpu_count; i++) {
        const struct ath_gpu *gpu = &machine->gpus[i];
        ath_idset_add(out_used, gpu->numa_node, gpu->numa_node);
        ath_idset_add(out_gpu_memory, gpu->memory_node, gpu->memory_node);
    }
    for (size_t i = 0; i < machine->nic_count; i++)
        ath_idset_add(out_used, machine->nics[i].numa_node, machine->nics[i].numa_node);
}

static void fold(struct ath_outline *outline, const struct ath_numa_node *node)
{
    ath_idset_add(&outline->folded, node->id, node->id);
    outline->folded_cpus += ath_idset_count(&node->cpus);
    if (node->memory_total_bytes > 0)
        outline->folded_bytes += node->memory_total_bytes;
}

bool ath_outline_is_empty(const struct ath_numa_node *node)
{
    return !node->cpus.range_count && node->memory_total_bytes == 0 && !node->has_gpu;
}

static void make_groups(struct ath_outline *outline)
{
    const struct ath_machine *machine = outline->machine;
    ATH_AUTO(ath_idset) used = { 0 };
    ATH_AUTO(ath_idset) gpu_memory = { 0 };

    collect_nodes(machine, &used, &gpu_memory);
    bool is_large = machine->node_count > GROUPS_MAX + ath_idset_count(&gpu_memory);
    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_numa_node *node = &machine->nodes[i];
        bool is_used = ath_idset_has(&used, node->id);
        if (!is_used && ath_idset_has(&gpu_memory, node->id) && node->kind == ATH_NODE_GPU)
            continue;
        if (!is_used && (is_large || ath_outline_is_empty(node))) {
            fold(outline, node);
            continue;
        }
        struct ath_group *group = ath_push(&outline->groups, &outline->group_count, sizeof *group);
        group->node = node;
    }
}

static int compare_group(const void *key, const void *item)
{
    int id = *(const int *)key;
    const struct ath_group *group = item;
    return (id > group->node->id) - (id < group->node->id);
}

char *ath_outline_folded_words(const struct ath_outline *outline)
{
    ath_auto_free char *ids = ath_idset_format(&outline->folded);
    size_t count = ath_idset_count(&outline->folded);

    if (!outline->folded_cpus && !outline->folded_bytes)
        return ath_xasprintf(ngettext("%zu node without CPUs, memory or devices: %s",
                                      "%zu nodes without CPUs, memory or devices: %s", count),
                             count, ids);
    ath_auto_free char *size = ath_words_size(outline->folded_bytes);
    return ath_xasprintf(
        _("%zu nodes without GPUs or network ports: %s; together %zu CPUs and memory %s"), count,
        ids, outline->folded_cpus, size);
}

/* The group of a node; *homeless for a device whose node is unknown or missing. */
static struct ath_group *group_of(struct ath_outline *outline, size_t group_count, int node,
                                  struct ath_group *homeless)
{
    struct ath_group *group = NULL;
    if (group_count)
        group = bsearch(&node, outline->groups, group_count, sizeof *group, compare_group);
    return group ? group : homeless;
}

static void add_index(size_t **indexes, size_t *count, size_t index)
{
    size_t *item = ath_push(indexes, count, sizeof *item);
    *item = index;
}

static void fill_groups(struct ath_outline *outline)
{
    const struct ath_machine *machine = outline->machine;
    struct ath_group homeless = { 0 };
    size_t count = outline->group_count;

    for (size_t i = 0; i < machine->gpu_count; i++) {
        struct ath_group *group = group_of(outline, count, machine->gpus[i].numa_node, &homeless);
        add_index(&group->gpus, &group->gpu_count, i);
    }
    for (size_t i = 0; i < machine->nic_count; i++) {
        struct ath_group *group = group_of(outline, count, machine->nics[i].numa_node, &homeless);
        add_index(&group->nics, &group->nic_count, i);
    }
    if (homeless.gpu_count || homeless.nic_count) {
        struct ath_group *last = ath_push(&outline->groups, &outline->group_count, sizeof *last);
        *last = homeless;
    }
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* If two ports share an RDMA device (ConnectX-3), the port number is part of the name. */
static char *nic_name(const struct ath_nic *nic, size_t index, const char **devices, size_t count)
{
    if (!nic->rdma_device)
        return nic->netdev ? ath_xstrdup(nic->netdev) : ath_xasprintf("NIC%zu", index);
    const char **found = bsearch(&nic->rdma_device, devices, count, sizeof *devices, compare_texts);
    size_t at = (size_t)(found - devices);
    bool is_shared = (at > 0 && !strcmp(devices[at - 1], devices[at])) ||
                     (at + 1 < count && !strcmp(devices[at + 1], devices[at]));
    return is_shared && nic->port >= 0 ? ath_xasprintf("%s:%d", nic->rdma_device, nic->port)
                                       : ath_xstrdup(nic->rdma_device);
}

static void name_nics(struct ath_outline *outline)
{
    const struct ath_machine *machine = outline->machine;
    ath_auto_free const char **devices = NULL;
    size_t count = 0;

    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].rdma_device) {
            const char **device = ath_push(&devices, &count, sizeof *device);
            *device = machine->nics[i].rdma_device;
        }
    if (count)
        qsort(devices, count, sizeof *devices, compare_texts);
    for (size_t i = 0; i < machine->nic_count; i++) {
        char **name = ath_push(&outline->nic_names, &outline->nic_count, sizeof *name);
        *name = nic_name(&machine->nics[i], i, devices, count);
    }
}

void ath_outline_make(const struct ath_machine *machine, struct ath_outline *out)
{
    *out = (struct ath_outline){ .machine = machine };
    make_groups(out);
    fill_groups(out);
    name_nics(out);
}

size_t ath_outline_card(const struct ath_outline *outline, size_t nic, struct ath_idset *out_nodes)
{
    const struct ath_machine *machine = outline->machine;
    size_t count = 0;

    for (size_t i = 0; i < machine->nic_count; i++) {
        const struct ath_nic *other = &machine->nics[i];
        if (!ath_nic_is_same_card(other, &machine->nics[nic]))
            continue;
        count++;
        if (out_nodes)
            ath_idset_add(out_nodes, other->numa_node, other->numa_node);
    }
    return count;
}

bool ath_outline_is_switched(const struct ath_gpu *gpu)
{
    for (size_t i = 0; i < gpu->nvlink_count; i++)
        if (gpu->nvlinks[i].kind == ATH_PEER_SWITCH || gpu->nvlinks[i].is_through_switch)
            return true;
    return false;
}

const char *ath_outline_link_name(const struct ath_gpu *gpu)
{
    return gpu->vendor_id == ATH_VENDOR_AMD ? "xGMI" : "NVLink";
}

char *ath_outline_edge(const struct ath_machine *machine, size_t a, size_t b)
{
    struct ath_gpu_pair pair;

    ath_gpu_pair_look(machine, a, b, &pair);
    char *word = ath_gpu_pair_word(machine, &pair);
    if (!word || pair.bandwidth_bytes_per_s < 0)
        return word ? word : ath_xstrdup("?");
    ath_auto_free char *class = word;
    ath_auto_free char *number = ath_words_gigabytes(pair.bandwidth_bytes_per_s);
    return ath_xasprintf("%s %s GB/s", class, number);
}

static bool are_alike(const struct ath_nvlink *a, const struct ath_nvlink *b)
{
    return a->kind == b->kind && a->is_through_switch == b->is_through_switch &&
           a->count == b->count && a->speed_mbps == b->speed_mbps;
}

static void add_peer_gpus(const struct ath_machine *machine, const struct ath_gpu *gpu,
                          const struct ath_nvlink *like, struct ath_text *text)
{
    ATH_AUTO(ath_idset) peers = { 0 };

    for (size_t i = 0; i < gpu->nvlink_count; i++) {
        const struct ath_nvlink *link = &gpu->nvlinks[i];
        const struct ath_gpu *peer =
            link->has_peer && are_alike(link, like) ? ath_machine_gpu(machine, &link->peer) : NULL;
        if (peer)
            ath_idset_add(&peers, (int)(peer - machine->gpus), (int)(peer - machine->gpus));
    }
    ath_auto_free char *names = ath_words_gpus(&peers);
    ath_text_add(text, "%s", *names ? names : _("another GPU"));
}

static size_t count_alike(const struct ath_gpu *gpu, const struct ath_nvlink *like)
{
    size_t count = 0;
    for (size_t i = 0; i < gpu->nvlink_count; i++)
        count += are_alike(&gpu->nvlinks[i], like);
    return count;
}

static void add_peers(const struct ath_machine *machine, const struct ath_gpu *gpu,
                      const struct ath_nvlink *link, struct ath_text *text)
{
    size_t count = count_alike(gpu, link);

    if (link->kind == ATH_PEER_GPU)
        add_peer_gpus(machine, gpu, link, text);
    else if (link->kind == ATH_PEER_CPU)
        ath_text_add(text, "%s", _("CPU"));
    else if (count == 1)
        ath_text_add(text, "%s", _("switch"));
    else
        ath_text_add(text, ngettext("%zu switch", "%zu switches", count), count);
}

static bool is_first_of_its_kind(const struct ath_gpu *gpu, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (are_alike(&gpu->nvlinks[i], &gpu->nvlinks[index]))
            return false;
    return true;
}

char *ath_outline_link_words(const struct ath_machine *machine, size_t index, const char *times)
{
    const struct ath_gpu *gpu = &machine->gpus[index];
    ATH_AUTO(ath_text) text = { 0 };

    for (size_t i = 0; i < gpu->nvlink_count; i++) {
        const struct ath_nvlink *link = &gpu->nvlinks[i];
        if (!is_first_of_its_kind(gpu, i))
            continue;
        ath_text_add(&text, "%s", text.length ? ", " : "");
        add_peers(machine, gpu, link, &text);
        if (link->count >= 0)
            ath_text_add(&text, " %s%d", times, link->count);
        if (link->is_through_switch)
            ath_text_add(&text, " %s", _("through switches"));
        if (link->speed_mbps >= 0) {
            ath_auto_free char *speed = ath_words_speed(link->speed_mbps);
            ath_text_add(&text, count_alike(gpu, link) > 1 ? _(" (%s each)") : " (%s)", speed);
        }
    }
    return text.length ? ath_text_take(&text) : NULL;
}

const struct ath_pair *ath_outline_nearest(const struct ath_machine *machine, size_t gpu)
{
    size_t count;
    const struct ath_pair *pairs = ath_pairs_of_gpu(machine, gpu, &count);
    return count && (pairs[0].class != ATH_PCI_UNKNOWN || pairs[0].is_same_node) ? pairs : NULL;
}
