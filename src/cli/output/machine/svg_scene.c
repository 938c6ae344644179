/* Chooses the parts of a machine to draw: links, ports, and the text of each box. */
#include "config.h"

#include "cli/output/machine/svg_scene.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/machine/svg_layout.h"
#include "cli/output/words.h"
#include "numa/gpu_links.h"
#include "numa/pair.h"

enum { ARC_STEP = 16 };

void ath_scene_free(struct ath_scene *scene)
{
    if (!scene)
        return;
    for (size_t i = 0; i < scene->node_count; i++) {
        struct ath_scene_node *node = &scene->nodes[i];
        for (size_t j = 0; j < node->bus_count; j++) {
            free(node->buses[j].gpus);
            free(node->buses[j].nics);
        }
        free(node->buses);
        free(node->nics);
    }
    free(scene->nodes);
    free(scene->rows);
    free(scene->gpus);
    free(scene->nics);
    free(scene->has_bus);
    free(scene->gpu_rows);
    free(scene->gpu_slots);
    *scene = (struct ath_scene){ 0 };
}

static void push_index(size_t **indexes, size_t *count, size_t index)
{
    size_t *item = ath_push(indexes, count, sizeof *item);
    *item = index;
}

/* --- links between GPUs ----------------------------------------------------------------------- */

/* Returns whether all pairs of GPUs have the same number of links: one bar shows that better than
 * arcs. */
static bool is_full_mesh(const struct ath_machine *machine)
{
    int first = 0;

    if (machine->gpu_count < 4)
        return false;
    for (size_t a = 0; a < machine->gpu_count; a++)
        for (size_t b = a + 1; b < machine->gpu_count; b++) {
            int count = 0;
            if (!ath_gpu_links(machine, a, b, &count) || !count || (first && count != first))
                return false;
            first = count;
        }
    return true;
}

static enum ath_scene_links choose_links(const struct ath_machine *machine)
{
    bool has_links = false;

    for (size_t i = 0; i < machine->gpu_count; i++) {
        if (ath_outline_is_switched(&machine->gpus[i]))
            return ATH_SCENE_FABRIC;
        for (size_t j = 0; j < machine->gpus[i].nvlink_count; j++)
            has_links |= machine->gpus[i].nvlinks[j].kind == ATH_PEER_GPU;
    }
    if (!has_links)
        return ATH_SCENE_NO_LINKS;
    return is_full_mesh(machine) ? ATH_SCENE_FABRIC : ATH_SCENE_ARCS;
}

bool ath_scene_is_on_fabric(const struct ath_scene *scene, size_t gpu)
{
    const struct ath_machine *machine = scene->machine;
    bool is_switched = false;

    if (scene->links != ATH_SCENE_FABRIC)
        return false;
    for (size_t i = 0; i < machine->gpu_count; i++)
        is_switched |= ath_outline_is_switched(&machine->gpus[i]);
    return !is_switched || ath_outline_is_switched(&machine->gpus[gpu]);
}

static bool is_in_one_line(const struct ath_scene *scene, size_t gpu)
{
    return scene->gpu_slots[gpu] != SIZE_MAX;
}

int ath_scene_arc(const struct ath_scene *scene, size_t a, size_t b)
{
    int count = 0;

    if (scene->links != ATH_SCENE_ARCS || !scene->machine->gpus[a].nvlink_count ||
        !is_in_one_line(scene, a) || !is_in_one_line(scene, b) ||
        scene->gpu_rows[a] != scene->gpu_rows[b])
        return 0;
    return ath_gpu_links(scene->machine, a, b, &count) ? count : 0;
}

int ath_scene_arc_height(const struct ath_scene *scene, size_t a, size_t b)
{
    size_t from = scene->gpu_slots[a], to = scene->gpu_slots[b];
    size_t span = from < to ? to - from : from - to;
    return 14 + ARC_STEP * (int)span;
}

/* --- text of a device's box
 * -------------------------------------------------------------------- */

static bool are_links_drawn(const struct ath_scene *scene, size_t index)
{
    const struct ath_gpu *gpu = &scene->machine->gpus[index];

    if (scene->links == ATH_SCENE_FABRIC)
        return ath_scene_is_on_fabric(scene, index);
    for (size_t i = 0; i < gpu->nvlink_count; i++) {
        const struct ath_nvlink *link = &gpu->nvlinks[i];
        const struct ath_gpu *peer =
            link->has_peer ? ath_machine_gpu(scene->machine, &link->peer) : NULL;
        if (link->kind == ATH_PEER_GPU && scene->links == ATH_SCENE_ARCS &&
            (!peer || !ath_scene_arc(scene, index, (size_t)(peer - scene->machine->gpus))))
            return false;
    }
    return true;
}

/* The links that no line shows; NULL if there are none to tell. The caller frees it. */
static char *links_in_words(const struct ath_scene *scene, size_t index)
{
    const struct ath_gpu *gpu = &scene->machine->gpus[index];

    if (are_links_drawn(scene, index))
        return NULL;
    char *words = ath_outline_link_words(scene->machine, index, "×");
    return words              ? words
           : gpu->has_nvlinks ? ath_xasprintf(_("no %s"), ath_outline_link_name(gpu))
                              : NULL;
}

static char *cpu_link(const struct ath_gpu *gpu)
{
    for (size_t i = 0; i < gpu->nvlink_count; i++)
        if (gpu->nvlinks[i].kind == ATH_PEER_CPU) {
            if (gpu->nvlinks[i].count < 0)
                return ath_xasprintf(_("CPU: %s"), ath_outline_link_name(gpu));
            return ath_xasprintf(_("CPU: %s × %d"), ath_outline_link_name(gpu),
                                 gpu->nvlinks[i].count);
        }
    return NULL;
}

/* The nearest port in words; NULL if a line leads to it. The caller frees it. */
static char *nearest(const struct ath_scene *scene, size_t gpu)
{
    const struct ath_pair *pair = ath_outline_nearest(scene->machine, gpu);

    if (!pair || scene->has_bus[gpu])
        return NULL;
    return ath_xasprintf(_("NIC: %s, %s"), scene->outline->nic_names[pair->nic],
                         ath_pci_class_word(pair->class));
}

size_t ath_scene_gpu_lines(const struct ath_scene *scene, size_t index,
                           char *out[ATH_SCENE_LINES_MAX], size_t *out_models)
{
    enum { PARTS_MAX = 3 }; /* lines that one text may take */
    const struct ath_gpu *gpu = &scene->machine->gpus[index];
    char pci[ATH_PCI_TEXT];
    char *lines[] = {
        ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model),
        ath_pci_is_address(&gpu->pci) ? ath_xstrdup(ath_pci_format(&gpu->pci, pci)) : NULL,
        gpu->memory_node < 0 && gpu->memory_total_bytes >= 0
            ? ath_words_size(gpu->memory_total_bytes)
            : NULL,
        cpu_link(gpu),
        links_in_words(scene, index),
        nearest(scene, index),
    };
    size_t count = 0;

    for (size_t i = 0; i < ATH_COUNT(lines); i++) {
        size_t left = ATH_SCENE_LINES_MAX - count;
        if (lines[i] && *lines[i])
            count += ath_svg_wrap(lines[i], 10, ATH_SCENE_TEXT, out + count,
                                  left < PARTS_MAX ? left : PARTS_MAX);
        if (i == 0)
            *out_models = count;
        free(lines[i]);
    }
    return count;
}

static char *memory_words(const struct ath_numa_node *node)
{
    ath_auto_free char *size = ath_words_size(node->memory_total_bytes);
    return ath_xasprintf("%s%s%s", size, node->memory_kind ? " " : "",
                         node->memory_kind ? node->memory_kind : "");
}

char *ath_scene_node_facts(const struct ath_numa_node *node)
{
    enum { WIDTH_MAX = 400 };
    ath_auto_free char *cpus = ath_idset_format(&node->cpus);
    ath_auto_free char *size = node->memory_total_bytes >= 0 ? memory_words(node) : NULL;
    size_t count = ath_idset_count(&node->cpus);
    const char *dot = size ? " · " : "", *memory = size ? size : "";

    if (!count)
        return ath_xasprintf("%s%s%s", _("memory only, no CPUs"), dot, memory);
    ath_auto_free char *ids = ath_xasprintf(_("CPUs %s (%zu)"), cpus, count);
    char *facts = ath_xasprintf("%s%s%s", ids, dot, memory);
    if (ath_svg_text_width(facts, 11) <= WIDTH_MAX)
        return facts;
    free(facts);
    ath_auto_free char *number = ath_xasprintf(ngettext("%zu CPU", "%zu CPUs", count), count);
    return ath_xasprintf("%s%s%s", number, dot, memory);
}

/* --- ports of a node -------------------------------------------------------------------------- */

/* The wanted position of a port: below the GPUs that it is nearest to. */
struct want {
    const struct ath_nic *nic;
    size_t index;
    int usefulness; /* if there are too many ports, the most useful are drawn */
    int pull;       /* mean column of its GPUs, in sixteenths; INT_MAX for none */
};

static int compare_usefulness(const void *a, const void *b)
{
    const struct want *left = a, *right = b;
    if (left->usefulness != right->usefulness)
        return right->usefulness - left->usefulness;
    return (left->index > right->index) - (left->index < right->index);
}

static int compare_pull(const void *a, const void *b)
{
    const struct want *left = a, *right = b;
    if (left->pull != right->pull)
        return left->pull < right->pull ? -1 : 1;
    int order =
        strcmp(left->nic->card ? left->nic->card : "", right->nic->card ? right->nic->card : "");
    return order ? order : (left->index > right->index) - (left->index < right->index);
}

/* Gives all ports of a card the smallest pull of them, so that they are neighbours. */
static void pull_cards_together(struct want *wants, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (ath_nic_is_same_card(wants[i].nic, wants[j].nic) && wants[j].pull < wants[i].pull)
                wants[i].pull = wants[j].pull;
}

/* By port: counts the GPUs of the group that it is nearest to, and sums their columns. */
static void measure_pulls(const struct ath_scene *scene, const struct ath_group *group, int *sums,
                          int *counts)
{
    for (size_t i = 0; i < group->gpu_count; i++) {
        size_t count;
        const struct ath_pair *pairs = ath_pairs_of_gpu(scene->machine, group->gpus[i], &count);
        for (size_t j = 0; j < count && pairs[j].rank == pairs[0].rank; j++) {
            sums[pairs[j].nic] += (int)(i % ATH_SCENE_COLUMNS) * 16;
            counts[pairs[j].nic]++;
        }
    }
}

static void choose_nics(const struct ath_scene *scene, struct ath_scene_node *node)
{
    const struct ath_group *group = node->group;
    size_t all = scene->machine->nic_count;
    ath_auto_free int *sums = ath_xalloc(all * sizeof *sums);
    ath_auto_free int *counts = ath_xalloc(all * sizeof *counts);
    ath_auto_free struct want *wants = ath_xalloc(group->nic_count * sizeof *wants);

    measure_pulls(scene, group, sums, counts);
    for (size_t i = 0; i < group->nic_count; i++) {
        size_t index = group->nics[i];
        const struct ath_nic *nic = &scene->machine->nics[index];
        bool is_nearest = counts[index] > 0;
        wants[i] = (struct want){ .nic = nic,
                                  .index = index,
                                  .usefulness = 4 * is_nearest + 2 * (nic->rdma_device != NULL) +
                                                (nic->link == ATH_LINK_UP),
                                  .pull = is_nearest ? sums[index] / counts[index] : INT_MAX };
    }
    qsort(wants, group->nic_count, sizeof *wants, compare_usefulness);
    size_t shown =
        group->nic_count > ATH_SCENE_COLUMNS ? (size_t)ATH_SCENE_COLUMNS : group->nic_count;
    pull_cards_together(wants, shown);
    qsort(wants, shown, sizeof *wants, compare_pull);
    for (size_t i = 0; i < shown; i++)
        push_index(&node->nics, &node->nic_count, wants[i].index);
    node->hidden_nics = group->nic_count - shown;
}

/* --- lines to the nearest ports --------------------------------------------------------------- */

static bool is_drawn(const struct ath_scene_node *node, size_t nic)
{
    for (size_t i = 0; i < node->nic_count; i++)
        if (node->nics[i] == nic)
            return true;
    return false;
}

static bool are_same_nics(const struct ath_scene_bus *a, const struct ath_scene_bus *b)
{
    return a->class == b->class && a->nic_count == b->nic_count &&
           !memcmp(a->nics, b->nics, a->nic_count * sizeof *a->nics);
}

static int compare_indexes(const void *a, const void *b)
{
    size_t left = *(const size_t *)a, right = *(const size_t *)b;
    return (left > right) - (left < right);
}

/* Makes a bus of the ports nearest to a GPU. Returns false if this node draws none of them. */
static bool bus_of_gpu(const struct ath_scene *scene, const struct ath_scene_node *node, size_t gpu,
                       struct ath_scene_bus *out)
{
    size_t count;
    const struct ath_pair *pairs = ath_pairs_of_gpu(scene->machine, gpu, &count);

    *out = (struct ath_scene_bus){ 0 };
    if (!ath_outline_nearest(scene->machine, gpu))
        return false;
    out->class = pairs[0].class;
    for (size_t i = 0; i < count && pairs[i].rank == pairs[0].rank; i++)
        if (is_drawn(node, pairs[i].nic))
            push_index(&out->nics, &out->nic_count, pairs[i].nic);
    if (!out->nic_count)
        return false;
    qsort(out->nics, out->nic_count, sizeof *out->nics, compare_indexes);
    return true;
}

static void add_to_buses(struct ath_scene_node *node, struct ath_scene_bus *bus, size_t gpu)
{
    for (size_t i = 0; i < node->bus_count; i++)
        if (are_same_nics(&node->buses[i], bus)) {
            push_index(&node->buses[i].gpus, &node->buses[i].gpu_count, gpu);
            free(bus->nics);
            return;
        }
    push_index(&bus->gpus, &bus->gpu_count, gpu);
    struct ath_scene_bus *added = ath_push(&node->buses, &node->bus_count, sizeof *added);
    *added = *bus;
}

static void make_buses(struct ath_scene *scene, struct ath_scene_node *node)
{
    if (node->group->gpu_count > ATH_SCENE_COLUMNS)
        return;
    for (size_t i = 0; i < node->group->gpu_count; i++) {
        size_t gpu = node->group->gpus[i];
        struct ath_scene_bus bus;
        if (!bus_of_gpu(scene, node, gpu, &bus))
            continue;
        scene->has_bus[gpu] = true;
        add_to_buses(node, &bus, gpu);
    }
}

bool ath_scene_is_framed(const struct ath_scene *scene, size_t nic)
{
    return scene->machine->nics[nic].card && ath_outline_card(scene->outline, nic, NULL) > 1;
}

/* --- the scene
 * --------------------------------------------------------------------------------- */

void ath_scene_make(const struct ath_outline *outline, const struct ath_marks *marks,
                    struct ath_scene *out)
{
    const struct ath_machine *machine = outline->machine;

    *out = (struct ath_scene){ .machine = machine, .outline = outline, .marks = marks };
    out->gpus = ath_xalloc(machine->gpu_count * sizeof *out->gpus);
    out->nics = ath_xalloc(machine->nic_count * sizeof *out->nics);
    out->has_bus = ath_xalloc(machine->gpu_count * sizeof *out->has_bus);
    out->gpu_rows = ath_xalloc(machine->gpu_count * sizeof *out->gpu_rows);
    out->gpu_slots = ath_xalloc(machine->gpu_count * sizeof *out->gpu_slots);
    out->links = choose_links(machine);
    for (size_t i = 0; i < outline->group_count; i++) {
        struct ath_scene_node *node = ath_push(&out->nodes, &out->node_count, sizeof *node);
        node->group = &outline->groups[i];
        choose_nics(out, node);
        make_buses(out, node);
    }
    ath_scene_lay_out(out);
}
