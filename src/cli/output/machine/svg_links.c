/*
 * Lines between devices: NVLinks as arcs, or as a bar that connects all GPUs; and lines from each
 * GPU down to its nearest ports.
 */
#include "config.h"

#include "cli/output/machine/svg_links.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/machine/svg_marks.h"
#include "cli/output/words.h"
#include "numa/gpu_links.h"

enum { LONG_LABEL_GPUS = 6 /* with more GPUs, labels of arcs have no bandwidth */ };

/* --- links between GPUs ----------------------------------------------------------------------- */

/*
 * The x coordinate at which an arc to `peer` leaves a GPU. Arcs to the left leave from the left
 * half, arcs to the right from the right half, near peers outermost: arcs of one GPU do not cross.
 */
static int arc_foot(const struct ath_scene *scene, size_t gpu, size_t peer)
{
    size_t own = scene->gpu_slots[gpu], other = scene->gpu_slots[peer];
    int nearer = 0;

    for (size_t i = 0; i < scene->machine->gpu_count; i++) {
        if (i == gpu || i == peer || !ath_scene_arc(scene, gpu < i ? gpu : i, gpu < i ? i : gpu))
            continue;
        size_t slot = scene->gpu_slots[i];
        nearer += other < own ? slot < own && slot > other : slot > own && slot < other;
    }
    int inset = 12 + 11 * (nearer > 4 ? 4 : nearer);
    const struct ath_svg_box *box = &scene->gpus[gpu];
    return other < own ? box->x + inset : box->x + box->width - inset;
}

static void put_arc(FILE *out, const struct ath_scene *scene, size_t a, size_t b, bool is_label)
{
    int left = arc_foot(scene, a, b), right = arc_foot(scene, b, a);
    int foot = scene->gpus[a].y, top = foot - ath_scene_arc_height(scene, a, b);
    int control =
        foot - (foot - top) * 4 /
                   3; /* a cubic Bezier curve reaches 3/4 of the height of its control points */

    if (!is_label) {
        char class[ATH_SVG_CLASS];
        ath_svg_path(out, ath_svg_link_class(scene->marks, a, b, class), "M%d %dC%d %d %d %d %d %d",
                     left, foot, left, control, right, control, right, foot);
        return;
    }
    ath_auto_free char *label = ath_outline_edge(scene->machine, a, b);
    if (scene->machine->gpu_count > LONG_LABEL_GPUS)
        label[strcspn(label, " ")] = '\0'; /* the class alone: the arcs of a mesh are near */
    ath_svg_label(out, (left + right) / 2, top, "nvlink", label);
}

void ath_svg_arcs(FILE *out, const struct ath_scene *scene, bool are_labels)
{
    const struct ath_machine *machine = scene->machine;

    for (size_t a = 0; scene->links == ATH_SCENE_ARCS && a < machine->gpu_count; a++)
        for (size_t b = a + 1; machine->gpus[a].nvlink_count && b < machine->gpu_count; b++) {
            int count = ath_scene_arc(scene, a, b);
            if (count && scene->gpu_slots[a] < scene->gpu_slots[b])
                put_arc(out, scene, a, b, are_labels);
            else if (count)
                put_arc(out, scene, b, a, are_labels);
        }
}

/* The first GPU that the fabric joins. */
static size_t first_on_fabric(const struct ath_scene *scene)
{
    size_t first = 0;
    while (first + 1 < scene->machine->gpu_count && !ath_scene_is_on_fabric(scene, first))
        first++;
    return first;
}

/* The number of links of each GPU into the fabric; 0 if it differs or is unknown. */
static int fabric_count(const struct ath_scene *scene, size_t from)
{
    int first = 0, count;

    for (size_t b = from + 1; b < scene->machine->gpu_count; b++) {
        if (!ath_scene_is_on_fabric(scene, b))
            continue;
        if (!ath_gpu_links(scene->machine, from, b, &count) || count <= 0 ||
            (first && count != first))
            return 0;
        first = count;
    }
    return first;
}

bool ath_svg_joins_all(const struct ath_scene *scene)
{
    for (size_t i = 0; i < scene->machine->gpu_count; i++)
        if (!ath_scene_is_on_fabric(scene, i))
            return false;
    return true;
}

static char *fabric_words(const struct ath_scene *scene)
{
    size_t from = first_on_fabric(scene);
    const struct ath_gpu *gpu = &scene->machine->gpus[from];
    bool is_switched = ath_outline_is_switched(gpu);
    int count = fabric_count(scene, from);

    if (!count)
        return ath_xstrdup(is_switched ? _("NVSwitch") : _("links between all GPUs"));
    if (is_switched && !ath_svg_joins_all(scene))
        return ath_xasprintf(_("NVSwitch: the GPUs on it to each other over %d NVLinks"), count);
    if (is_switched)
        return ath_xasprintf(_("NVSwitch: each GPU to every other over %d NVLinks"), count);
    return ath_xasprintf(_("each GPU to every other: %s × %d"), ath_outline_link_name(gpu), count);
}

static void put_fabric_row(FILE *out, const struct ath_scene *scene,
                           const struct ath_scene_row *row, int *out_right)
{
    struct ath_svg_box bar = { .x = -1, .y = row->gpu_y - 44, .height = 20 };

    for (size_t i = 0; i < row->count; i++) {
        const struct ath_scene_node *node = &scene->nodes[row->first + i];
        if (!node->group->gpu_count)
            continue;
        if (bar.x < 0)
            bar.x = node->box.x + ATH_SCENE_PADDING;
        bar.width = node->box.x + node->box.width - ATH_SCENE_PADDING - bar.x;
        /* Lines to the second line of GPUs run behind the first. */
        for (size_t j = 0; j < node->group->gpu_count; j++) {
            size_t index = node->group->gpus[j];
            const struct ath_svg_box *gpu = &scene->gpus[index];
            char class[ATH_SVG_CLASS];
            if (!ath_scene_is_on_fabric(scene, index))
                continue;
            ath_svg_line(out, ath_svg_stub_class(scene->marks, index, class), ath_svg_middle(gpu),
                         bar.y + bar.height, ath_svg_middle(gpu), gpu->y);
        }
    }
    *out_right = bar.x + bar.width;
    if (bar.x < 0)
        return;
    ath_auto_free char *words = fabric_words(scene);
    ath_svg_rect(out, &bar, 6, "fabric");
    ath_svg_text(out, ath_svg_middle(&bar), bar.y + 14, "middle", 10, bar.width - 10, words);
}

/* One bar in each row; a line at the right margin joins the bars. */
void ath_svg_fabric(FILE *out, const struct ath_scene *scene)
{
    int margin = scene->width + 14, last_right = -1, last_y = -1;

    for (size_t i = 0; i < scene->row_count; i++) {
        int right, y = scene->rows[i].gpu_y - 34;
        put_fabric_row(out, scene, &scene->rows[i], &right);
        if (right < 0)
            continue;
        if (last_right >= 0)
            ath_svg_path(out, "nvlink", "M%d %dL%d %dL%d %dL%d %d", last_right, last_y, margin,
                         last_y, margin, y, right, y);
        last_right = right;
        last_y = y;
    }
}

/* --- lines to the nearest ports --------------------------------------------------------------- */

const char *ath_svg_pair_class(enum ath_pci_class class)
{
    static const char *const classes[] = {
        [ATH_PCI_UNKNOWN] = "pair", [ATH_PCI_SAME] = "pair",    [ATH_PCI_PIX] = "pair pix",
        [ATH_PCI_PXB] = "pair pxb", [ATH_PCI_PHB] = "pair phb", [ATH_PCI_NODE] = "pair near-node",
        [ATH_PCI_SYS] = "pair sys"
    };
    return classes[class];
}

static int bus_y(const struct ath_scene *scene, const struct ath_scene_node *node,
                 const struct ath_scene_bus *bus)
{
    return scene->rows[node->row].bus_y + 22 + bus->track * 24;
}

/* Shifts the lines of different tracks to one port, so that they do not overlap. */
static int bus_shift(const struct ath_scene_bus *bus)
{
    return bus->track * 10;
}

static void put_bus(FILE *out, const struct ath_scene *scene, const struct ath_scene_node *node,
                    const struct ath_scene_bus *bus)
{
    const char *class = ath_svg_pair_class(bus->class);
    int y = bus_y(scene, node, bus), shift = bus_shift(bus);

    for (size_t i = 0; i < bus->gpu_count; i++) {
        const struct ath_svg_box *gpu = &scene->gpus[bus->gpus[i]];
        ath_svg_line(out, class, ath_svg_middle(gpu), gpu->y + gpu->height, ath_svg_middle(gpu), y);
    }
    for (size_t i = 0; i < bus->nic_count; i++) {
        const struct ath_svg_box *nic = &scene->nics[bus->nics[i]];
        ath_svg_line(out, class, ath_svg_middle(nic) + shift, y, ath_svg_middle(nic) + shift,
                     nic->y);
    }
    ath_svg_line(out, class, bus->left, y, bus->right + shift, y);
}

/* The distance from x to the nearest vertical line of a GPU or a port. */
static int clearance(const struct ath_scene *scene, const struct ath_scene_node *node, int x)
{
    int least = INT_MAX;

    for (size_t i = 0; i < node->group->gpu_count; i++) {
        int away = abs(x - ath_svg_middle(&scene->gpus[node->group->gpus[i]]));
        least = away < least ? away : least;
    }
    for (size_t i = 0; i < node->nic_count; i++) {
        int away = abs(x - ath_svg_middle(&scene->nics[node->nics[i]]));
        least = away < least ? away : least;
    }
    return least;
}

/* Puts the label at the middle of the line, or next to it if another line crosses there. */
static void put_bus_label(FILE *out, const struct ath_scene *scene,
                          const struct ath_scene_node *node, const struct ath_scene_bus *bus)
{
    int middle = (bus->left + bus->right) / 2, best = middle;
    int needed = 24;

    for (int away = 0; away <= (bus->right - bus->left) / 2 - needed; away += 4) {
        int side = clearance(scene, node, middle - away) >= needed ? -away : away;
        if (clearance(scene, node, middle + side) < needed)
            continue;
        best = middle + side;
        break;
    }
    ath_svg_label(out, best, bus_y(scene, node, bus), "dim", ath_pci_class_word(bus->class));
}

void ath_svg_buses(FILE *out, const struct ath_scene *scene)
{
    for (size_t i = 0; i < scene->node_count; i++) {
        const struct ath_scene_node *node = &scene->nodes[i];
        for (size_t j = 0; j < node->bus_count; j++)
            put_bus(out, scene, node, &node->buses[j]);
        for (size_t j = 0; j < node->bus_count; j++)
            put_bus_label(out, scene, node, &node->buses[j]);
    }
}
