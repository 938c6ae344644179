/* Laying out the picture of a machine: what to draw, then columns, then rows from top to bottom. */
#include "config.h"

#include "cli/output/svg_scene.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/words.h"
#include "numa/pair.h"

enum {
    WIDTH_MAX = 1440, /* of a row of nodes */
    NODE_WIDTH_MIN = 236,
    NODE_GAP = 24,
    DISTANCE_GAP = 76, /* between two nodes, with room for their distance */
    ROW_GAP = 28,
    DISTANCE_ROW_GAP = 48,
    HEAD_HEIGHT = 62,
    CARD_GAP = 8, /* more between ports of different cards, for their frames */
    FABRIC_HEIGHT = 52,
    ARC_STEP = 16,
    TRACK_HEIGHT = 24,
    LABEL_WIDTH = 52,
    NIC_HEIGHT = 3 * ATH_SCENE_LINE + 12,
    FRAME_HEIGHT = 16, /* below the ports of a framed card */
};

static const int PITCH = ATH_SCENE_DEVICE + ATH_SCENE_GAP;

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

/* True where every pair of GPUs has equal links: a knot of arcs that one bar tells better. */
static bool is_full_mesh(const struct ath_machine *machine)
{
    int first = 0;

    if (machine->gpu_count < 4)
        return false;
    for (size_t a = 0; a < machine->gpu_count; a++)
        for (size_t b = a + 1; b < machine->gpu_count; b++) {
            int count = 0;
            if (!ath_outline_links(machine, a, b, &count) || !count || (first && count != first))
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
    return ath_outline_links(scene->machine, a, b, &count) ? count : 0;
}

int ath_scene_arc_height(const struct ath_scene *scene, size_t a, size_t b)
{
    size_t from = scene->gpu_slots[a], to = scene->gpu_slots[b];
    size_t span = from < to ? to - from : from - to;
    return 14 + ARC_STEP * (int)span;
}

/* --- what a device's box says ----------------------------------------------------------------- */

static bool are_links_drawn(const struct ath_scene *scene, size_t index)
{
    const struct ath_gpu *gpu = &scene->machine->gpus[index];

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

/* The nearest port in words, where no line leads to it. */
static char *nearest(const struct ath_scene *scene, size_t gpu)
{
    const struct ath_pair *pair = ath_outline_nearest(scene->machine, gpu);

    if (!pair || scene->has_bus[gpu])
        return NULL;
    return ath_xasprintf(_("NIC: %s, %s"), scene->outline->nic_names[pair->nic],
                         ath_pci_class_word(pair->class));
}

size_t ath_scene_gpu_lines(const struct ath_scene *scene, size_t index,
                           char *out[ATH_SCENE_LINES_MAX])
{
    const struct ath_gpu *gpu = &scene->machine->gpus[index];
    char pci[ATH_PCI_TEXT];
    char *lines[] = {
        ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model),
        ath_xstrdup(ath_pci_format(&gpu->pci, pci)),
        gpu->memory_node < 0 && gpu->memory_total_bytes >= 0
            ? ath_words_size(gpu->memory_total_bytes)
            : NULL,
        cpu_link(gpu),
        are_links_drawn(scene, index) ? NULL : ath_outline_link_words(scene->machine, index, "×"),
        nearest(scene, index),
    };
    size_t count = 0;

    for (size_t i = 0; i < ATH_COUNT(lines); i++) {
        if (lines[i] && *lines[i])
            out[count++] = lines[i];
        else
            free(lines[i]);
    }
    return count;
}

/* --- ports of a node -------------------------------------------------------------------------- */

/* Where ports want to stand: below the GPUs that they are nearest to. */
struct want {
    const struct ath_nic *nic;
    size_t index;
    int usefulness; /* which ones to draw when there are too many */
    int pull;       /* mean place of its GPUs, in sixteenths; INT_MAX for none */
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

static bool are_one_card(const struct ath_nic *a, const struct ath_nic *b)
{
    return a->card && b->card && !strcmp(a->card, b->card);
}

/* All ports of a card stand together, where the first of them wants to. */
static void pull_cards_together(struct want *wants, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (are_one_card(wants[i].nic, wants[j].nic) && wants[j].pull < wants[i].pull)
                wants[i].pull = wants[j].pull;
}

/* How often each port is the nearest one to a GPU of the group, and where those stand. */
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

/* The ports nearest to a GPU as a bus of its own; false where none of them is drawn here. */
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

static void stretch(struct ath_scene_bus *bus, const struct ath_svg_box *box)
{
    int middle = box->x + box->width / 2;
    if (middle < bus->left)
        bus->left = middle;
    if (middle > bus->right)
        bus->right = middle;
}

static bool do_collide(const struct ath_scene_bus *a, const struct ath_scene_bus *b)
{
    return a->left - LABEL_WIDTH / 2 < b->right + LABEL_WIDTH / 2 &&
           b->left - LABEL_WIDTH / 2 < a->right + LABEL_WIDTH / 2;
}

/* Lines that would lie over one another get tracks of their own. */
static void place_buses(const struct ath_scene *scene, struct ath_scene_node *node)
{
    for (size_t i = 0; i < node->bus_count; i++) {
        struct ath_scene_bus *bus = &node->buses[i];
        bus->left = INT_MAX;
        bus->right = 0;
        for (size_t j = 0; j < bus->gpu_count; j++)
            stretch(bus, &scene->gpus[bus->gpus[j]]);
        for (size_t j = 0; j < bus->nic_count; j++)
            stretch(bus, &scene->nics[bus->nics[j]]);
        for (size_t j = 0; j < i; j++)
            if (do_collide(bus, &node->buses[j]) && node->buses[j].track >= bus->track)
                bus->track = node->buses[j].track + 1;
        if (bus->track >= node->tracks)
            node->tracks = bus->track + 1;
    }
}

bool ath_scene_is_framed(const struct ath_scene *scene, size_t nic)
{
    return scene->machine->nics[nic].card && ath_outline_card(scene->outline, nic, NULL) > 1;
}

/* --- columns ---------------------------------------------------------------------------------- */

static int gpus_width(const struct ath_scene_node *node)
{
    size_t columns = node->group->gpu_count < ATH_SCENE_COLUMNS ? node->group->gpu_count
                                                                : (size_t)ATH_SCENE_COLUMNS;
    return columns ? (int)columns * PITCH - ATH_SCENE_GAP : 0;
}

/* Places the ports from `left` on, a card's ports closer together; returns how wide they are. */
static int place_nics(const struct ath_scene *scene, const struct ath_scene_node *node, int left)
{
    int x = left;

    for (size_t i = 0; i < node->nic_count; i++) {
        size_t nic = node->nics[i], before = i > 0 ? node->nics[i - 1] : nic;
        const struct ath_nic *nics = scene->machine->nics;
        bool is_framed = ath_scene_is_framed(scene, nic) || ath_scene_is_framed(scene, before);
        if (i > 0)
            x += ATH_SCENE_GAP +
                 (is_framed && !are_one_card(&nics[nic], &nics[before]) ? CARD_GAP : 0);
        scene->nics[node->nics[i]].x = x;
        scene->nics[node->nics[i]].width = ATH_SCENE_DEVICE;
        x += ATH_SCENE_DEVICE;
    }
    return x - left;
}

static void plan_width(const struct ath_scene *scene, struct ath_scene_node *node)
{
    int gpus = gpus_width(node), nics = place_nics(scene, node, 0);
    int widest = gpus > nics ? gpus : nics;

    node->box.width = widest + 2 * ATH_SCENE_PADDING;
    if (node->box.width < NODE_WIDTH_MIN)
        node->box.width = NODE_WIDTH_MIN;
}

static void place_columns(const struct ath_scene *scene, const struct ath_scene_node *node)
{
    int left = node->box.x + (node->box.width - gpus_width(node)) / 2;

    for (size_t i = 0; i < node->group->gpu_count; i++) {
        struct ath_svg_box *box = &scene->gpus[node->group->gpus[i]];
        box->x = left + (int)(i % ATH_SCENE_COLUMNS) * PITCH;
        box->width = ATH_SCENE_DEVICE;
    }
    int width = place_nics(scene, node, 0);
    place_nics(scene, node, node->box.x + (node->box.width - width) / 2);
}

/* --- rows ------------------------------------------------------------------------------------- */

static int node_gap(const struct ath_scene *scene)
{
    return scene->node_count <= ATH_SCENE_NODE_LINES ? DISTANCE_GAP : NODE_GAP;
}

bool ath_scene_has_distance_lines(const struct ath_scene *scene)
{
    return (scene->row_count == 1 && scene->node_count <= ATH_SCENE_NODE_LINES) ||
           (scene->row_count == 2 && scene->node_count == 2);
}

/* So many nodes a row that rows are about equally full. */
static size_t nodes_per_row(const struct ath_scene *scene)
{
    size_t total = 0;
    for (size_t i = 0; i < scene->node_count; i++)
        total += (size_t)(scene->nodes[i].box.width + node_gap(scene));
    size_t rows = (total + WIDTH_MAX - 1) / WIDTH_MAX;
    return rows ? (scene->node_count + rows - 1) / rows : 1;
}

static void break_rows(struct ath_scene *scene)
{
    size_t most = nodes_per_row(scene);
    int x = ATH_SCENE_MARGIN;
    struct ath_scene_row *row = NULL;

    for (size_t i = 0; i < scene->node_count; i++) {
        struct ath_scene_node *node = &scene->nodes[i];
        if (!row || row->count == most || x + node->box.width > WIDTH_MAX) {
            row = ath_push(&scene->rows, &scene->row_count, sizeof *row);
            row->first = i;
            x = ATH_SCENE_MARGIN;
        }
        row->count++;
        node->row = scene->row_count - 1;
        node->box.x = x;
        place_columns(scene, node);
        place_buses(scene, node);
        if (x + node->box.width > scene->width)
            scene->width = x + node->box.width;
        x += node->box.width + node_gap(scene);
    }
}

/* Numbers the GPUs of a row; those of a node that stacks them take no part in arcs. */
static void number_slots(const struct ath_scene *scene, size_t row)
{
    size_t slot = 0;

    for (size_t i = 0; i < scene->rows[row].count; i++) {
        const struct ath_group *group = scene->nodes[scene->rows[row].first + i].group;
        for (size_t j = 0; j < group->gpu_count; j++) {
            scene->gpu_rows[group->gpus[j]] = row;
            scene->gpu_slots[group->gpus[j]] =
                group->gpu_count > ATH_SCENE_COLUMNS ? SIZE_MAX : slot++;
        }
    }
}

static int arcs_height(const struct ath_scene *scene, const struct ath_scene_row *row)
{
    int highest = 0;

    for (size_t a = 0; a < scene->machine->gpu_count; a++)
        for (size_t b = a + 1;
             scene->machine->gpus[a].nvlink_count && b < scene->machine->gpu_count; b++) {
            bool is_here = &scene->rows[scene->gpu_rows[a]] == row;
            if (is_here && ath_scene_arc(scene, a, b) &&
                ath_scene_arc_height(scene, a, b) > highest)
                highest = ath_scene_arc_height(scene, a, b);
        }
    return highest ? highest + 14 : 0;
}

static bool has_gpus(const struct ath_scene *scene, const struct ath_scene_row *row)
{
    for (size_t i = 0; i < row->count; i++)
        if (scene->nodes[row->first + i].group->gpu_count)
            return true;
    return false;
}

static int gpu_height(const struct ath_scene *scene, size_t gpu)
{
    char *lines[ATH_SCENE_LINES_MAX];
    size_t count = ath_scene_gpu_lines(scene, gpu, lines);

    for (size_t i = 0; i < count; i++)
        free(lines[i]);
    return 28 + (int)count * ATH_SCENE_LINE + (scene->machine->gpus[gpu].memory_node >= 0 ? 24 : 0);
}

/* From the top of a port to the bottom of the node. */
static int nics_height(const struct ath_scene *scene, const struct ath_scene_node *node)
{
    int height = NIC_HEIGHT + ATH_SCENE_PADDING;

    for (size_t i = 0; i < node->nic_count; i++)
        if (ath_scene_is_framed(scene, node->nics[i])) {
            height += FRAME_HEIGHT;
            break;
        }
    return height + (node->hidden_nics ? ATH_SCENE_LINE + 4 : 0);
}

static void measure_node(const struct ath_scene *scene, const struct ath_scene_node *node,
                         struct ath_scene_row *row)
{
    int lines = (int)((node->group->gpu_count + ATH_SCENE_COLUMNS - 1) / ATH_SCENE_COLUMNS);

    if (lines > row->gpu_lines)
        row->gpu_lines = lines;
    for (size_t i = 0; i < node->group->gpu_count; i++) {
        int height = gpu_height(scene, node->group->gpus[i]);
        if (height > row->gpu_height)
            row->gpu_height = height;
    }
    if (!node->nic_count)
        return;
    int nics = nics_height(scene, node);
    if (nics > row->nic_height)
        row->nic_height = nics;
    int bus = node->bus_count ? 20 + node->tracks * TRACK_HEIGHT : lines ? 12 : 0;
    if (bus > row->bus_height)
        row->bus_height = bus;
}

static void measure_row(const struct ath_scene *scene, struct ath_scene_row *row)
{
    for (size_t i = 0; i < row->count; i++)
        measure_node(scene, &scene->nodes[row->first + i], row);
    if (scene->links == ATH_SCENE_FABRIC && has_gpus(scene, row))
        row->link_height = FABRIC_HEIGHT;
    if (scene->links == ATH_SCENE_ARCS)
        row->link_height = arcs_height(scene, row);
    row->gpu_y = row->y + HEAD_HEIGHT + row->link_height;
    row->bus_y = row->gpu_y + row->gpu_lines * (row->gpu_height + ATH_SCENE_GAP) -
                 (row->gpu_lines ? ATH_SCENE_GAP : 0);
    row->nic_y = row->bus_y + row->bus_height;
    row->height = row->nic_y + row->nic_height +
                  (row->gpu_lines && !row->nic_height ? ATH_SCENE_PADDING : 0) - row->y;
}

static void place_node(const struct ath_scene *scene, struct ath_scene_node *node)
{
    const struct ath_scene_row *row = &scene->rows[node->row];

    node->box.y = row->y;
    node->box.height = row->height;
    for (size_t i = 0; i < node->group->gpu_count; i++) {
        struct ath_svg_box *box = &scene->gpus[node->group->gpus[i]];
        box->y = row->gpu_y + (int)(i / ATH_SCENE_COLUMNS) * (row->gpu_height + ATH_SCENE_GAP);
        box->height = row->gpu_height;
    }
    for (size_t i = 0; i < node->nic_count; i++) {
        struct ath_svg_box *box = &scene->nics[node->nics[i]];
        box->y = row->nic_y;
        box->height = NIC_HEIGHT;
    }
}

/* Distances between nodes that do not stand side by side run above them. */
static int space_above_nodes(const struct ath_scene *scene)
{
    bool has_arcs =
        scene->row_count == 1 && scene->node_count > 2 && scene->node_count <= ATH_SCENE_NODE_LINES;
    return !has_arcs ? 8 : scene->node_count == 3 ? 30 : 74;
}

static void place_rows(struct ath_scene *scene)
{
    int y = 66 + space_above_nodes(scene);
    int gap = ath_scene_has_distance_lines(scene) ? DISTANCE_ROW_GAP : ROW_GAP;

    scene->bottom = y - 24;
    for (size_t i = 0; i < scene->row_count; i++) {
        struct ath_scene_row *row = &scene->rows[i];
        number_slots(scene, i);
        row->y = y;
        measure_row(scene, row);
        for (size_t j = 0; j < row->count; j++)
            place_node(scene, &scene->nodes[row->first + j]);
        scene->bottom = y + row->height;
        y = scene->bottom + gap;
    }
}

void ath_scene_make(const struct ath_outline *outline, struct ath_scene *out)
{
    const struct ath_machine *machine = outline->machine;

    *out = (struct ath_scene){ .machine = machine, .outline = outline };
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
        plan_width(out, node);
    }
    break_rows(out);
    place_rows(out);
}
