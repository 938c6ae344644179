/* Places the parts of a scene: columns first, then rows from top to bottom. */
#include "config.h"

#include "cli/output/machine/svg_layout.h"

#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"

enum {
    WIDTH_MAX = 1440, /* of a row of nodes */
    NODE_WIDTH_MIN = 236,
    NODE_GAP = 24,
    DISTANCE_GAP = 76, /* between two nodes, with room for their distance */
    ROW_GAP = 28,
    DISTANCE_ROW_GAP = 48,
    HEAD_HEIGHT = 62,
    CARD_GAP = 8, /* added between ports of different cards, for their frames */
    FABRIC_HEIGHT = 52,
    TRACK_HEIGHT = 24,
    LABEL_WIDTH = 52,
    NIC_HEIGHT = 3 * ATH_SCENE_LINE + 12,
    FRAME_HEIGHT = 16, /* below the ports of a framed card */
};

static const int PITCH = ATH_SCENE_DEVICE + ATH_SCENE_GAP;

/* --- columns ---------------------------------------------------------------------------------- */

static int gpus_width(const struct ath_scene_node *node)
{
    size_t columns = node->group->gpu_count < ATH_SCENE_COLUMNS ? node->group->gpu_count
                                                                : (size_t)ATH_SCENE_COLUMNS;
    return columns ? (int)columns * PITCH - ATH_SCENE_GAP : 0;
}

/* Places the ports from `left` on, ports of one card closer together. Returns the width. */
static int place_nics(const struct ath_scene *scene, const struct ath_scene_node *node, int left)
{
    int x = left;

    for (size_t i = 0; i < node->nic_count; i++) {
        size_t nic = node->nics[i], before = i > 0 ? node->nics[i - 1] : nic;
        const struct ath_nic *nics = scene->machine->nics;
        bool is_framed = ath_scene_is_framed(scene, nic) || ath_scene_is_framed(scene, before);
        if (i > 0)
            x += ATH_SCENE_GAP +
                 (is_framed && !ath_nic_is_same_card(&nics[nic], &nics[before]) ? CARD_GAP : 0);
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
    ath_auto_free char *facts = node->group->node ? ath_scene_node_facts(node->group->node) : NULL;
    int text = facts ? ath_svg_text_width(facts, 11) : 0;

    node->box.width = (text > widest ? text : widest) + 2 * ATH_SCENE_PADDING;
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

/* --- lines to the nearest ports --------------------------------------------------------------- */

static void stretch(struct ath_scene_bus *bus, const struct ath_svg_box *box)
{
    int middle = ath_svg_middle(box);
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

/* Horizontal lines that would overlap get different tracks. */
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

/* The number of nodes in a row, so that all rows are about equally full. */
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

/* Numbers the GPUs of a row. A node with several lines of GPUs has no arcs: SIZE_MAX. */
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
    size_t models, count = ath_scene_gpu_lines(scene, gpu, lines, &models);

    for (size_t i = 0; i < count; i++)
        free(lines[i]);
    return 28 + (int)count * ATH_SCENE_LINE + (scene->machine->gpus[gpu].memory_node >= 0 ? 24 : 0);
}

/* The height from the top of a port to the bottom of the node. */
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

/* Distance lines between nodes that are not neighbours run above the nodes. */
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

void ath_scene_lay_out(struct ath_scene *scene)
{
    for (size_t i = 0; i < scene->node_count; i++)
        plan_width(scene, &scene->nodes[i]);
    break_rows(scene);
    place_rows(scene);
}
