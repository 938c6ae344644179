/* Distances between NUMA nodes: lines between few nodes, else a table below the picture. */
#include "config.h"

#include "cli/output/machine/svg_distances.h"

#include <stdio.h>

#include "base/i18n.h"

enum { TABLE_NODES_MAX = 16, TABLE_CELL = 40 };

static int distance_between(const struct ath_scene *scene, size_t a, size_t b)
{
    const struct ath_numa_node *from = scene->nodes[a].group->node,
                               *to = scene->nodes[b].group->node;
    return from && to ? ath_machine_distance(scene->machine, from->id, to->id) : ATH_UNKNOWN;
}

static void put_distance_line(FILE *out, const struct ath_scene *scene, size_t a, size_t b)
{
    const struct ath_svg_box *left = &scene->nodes[a].box, *right = &scene->nodes[b].box;
    int distance = distance_between(scene, a, b);
    char label[16];

    if (distance < 0)
        return;
    snprintf(label, sizeof label, "%d", distance);
    if (scene->row_count > 1) {
        int x = left->x + 60, top = left->y + left->height;
        ath_svg_line(out, "distance", x, top, x, right->y);
        ath_svg_label(out, x, (top + right->y) / 2, "distance", label);
        return;
    }
    if (b == a + 1) {
        int y = left->y + 31;
        ath_svg_line(out, "distance", left->x + left->width, y, right->x, y);
        ath_svg_label(out, (left->x + left->width + right->x) / 2, y, "distance", label);
        return;
    }
    /* With up to four nodes: 0-2 is lowest, 1-3 above it, 0-3 around both. */
    bool is_outer = b - a > 2;
    int y = left->y - 22 * (is_outer ? 3 : (int)a + 1) + 8;
    int from = ath_svg_middle(left) + (is_outer ? -14 : 14),
        to = ath_svg_middle(right) - (from - ath_svg_middle(left));
    ath_svg_path(out, "distance", "M%d %dL%d %dL%d %dL%d %d", from, left->y, from, y, to, y, to,
                 right->y);
    ath_svg_label(out, (from + to) / 2, y, "distance", label);
}

void ath_svg_distance_lines(FILE *out, const struct ath_scene *scene)
{
    for (size_t a = 0; ath_scene_has_distance_lines(scene) && a < scene->node_count; a++)
        for (size_t b = a + 1; b < scene->node_count; b++)
            put_distance_line(out, scene, a, b);
}

bool ath_svg_has_distances(const struct ath_scene *scene)
{
    for (size_t a = 0; ath_scene_has_distance_lines(scene) && a < scene->node_count; a++)
        for (size_t b = a + 1; b < scene->node_count; b++)
            if (distance_between(scene, a, b) >= 0)
                return true;
    return false;
}

static bool is_any_known(const struct ath_scene *scene)
{
    for (size_t a = 0; a < scene->node_count; a++)
        for (size_t b = 0; b < scene->node_count; b++)
            if (distance_between(scene, a, b) >= 0)
                return true;
    return false;
}

static size_t table_nodes(const struct ath_scene *scene)
{
    size_t count = 0;

    if (!is_any_known(scene))
        return 0;
    for (size_t i = 0; i < scene->node_count; i++)
        count += scene->nodes[i].group->node != NULL;
    return ath_scene_has_distance_lines(scene) || count < 2 || count > TABLE_NODES_MAX ? 0 : count;
}

int ath_svg_distance_table_height(const struct ath_scene *scene)
{
    size_t count = table_nodes(scene);
    return count ? 40 + ((int)count + 1) * 18 : 0;
}

static void put_table_row(FILE *out, const struct ath_scene *scene, size_t row, int x, int y)
{
    char text[16];

    snprintf(text, sizeof text, "%d", scene->nodes[row].group->node->id);
    ath_svg_text(out, x + TABLE_CELL / 2, y + 13, "tag", 10, 0, text);
    for (size_t i = 0; i < table_nodes(scene); i++) {
        int distance = distance_between(scene, row, i);
        struct ath_svg_box box = { x + ((int)i + 1) * TABLE_CELL, y, TABLE_CELL, 18 };
        snprintf(text, sizeof text, "%d", distance);
        ath_svg_rect(out, &box, 0, i == row ? "near" : "cell");
        ath_svg_text(out, ath_svg_middle(&box), y + 13, "middle", 10, 0, distance < 0 ? "?" : text);
    }
}

void ath_svg_distance_table(FILE *out, const struct ath_scene *scene, int y)
{
    size_t count = table_nodes(scene);
    int x = ATH_SCENE_MARGIN;

    if (!count)
        return;
    ath_svg_text(out, x, y + 14, "name", 13, 0, _("Distances between NUMA nodes (10 is local)"));
    for (size_t i = 0; i < count; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", scene->nodes[i].group->node->id);
        ath_svg_text(out, x + ((int)i + 1) * TABLE_CELL + TABLE_CELL / 2, y + 35, "tag", 10, 0, id);
    }
    for (size_t i = 0; i < count; i++)
        put_table_row(out, scene, i, x, y + 40 + (int)i * 18);
}
