/*
 * A machine as a picture: NUMA nodes as boxes, in them GPUs and network ports; lines for NVLinks,
 * for the nearest port of each GPU with its class, and for the distance between nodes. svg_scene.c
 * says where, this file draws.
 */
#include "config.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/machine.h"
#include "cli/output/outline.h"
#include "cli/output/svg.h"
#include "cli/output/svg_scene.h"
#include "cli/output/words.h"
#include "numa/pair.h"

enum { TABLE_NODES_MAX = 16, TABLE_CELL = 40, WIDTH_MIN = 620, FOLDED_HEIGHT = 58 };

static void put_line(FILE *out, const char *class, int x1, int y1, int x2, int y2)
{
    ath_svg_path(out, class, "M%d %dL%d %d", x1, y1, x2, y2);
}

static int middle_of(const struct ath_svg_box *box)
{
    return box->x + box->width / 2;
}

static void add_part(struct ath_text *text, const char *part)
{
    if (part)
        ath_text_add(text, "%s%s", text->length ? " · " : "", part);
}

/* --- devices ---------------------------------------------------------------------------------- */

static void put_memory_badge(FILE *out, const struct ath_gpu *gpu, const struct ath_svg_box *box)
{
    struct ath_svg_box badge = { box->x + 6, box->y + box->height - 24, box->width - 12, 18 };
    ATH_AUTO(ath_text) text = { 0 };

    if (gpu->memory_total_bytes >= 0) {
        ath_auto_free char *size = ath_words_size(gpu->memory_total_bytes);
        ath_text_add(&text, "%s · ", size);
    }
    ath_text_add(&text, _("node %d"), gpu->memory_node);
    if (gpu->memory_state == ATH_MEMORY_OFFLINE)
        ath_text_add(&text, ", %s", _("offline"));
    ath_svg_rect(out, &badge, 4, "memory");
    ath_svg_text(out, middle_of(&badge), badge.y + 13, "middle", 10, badge.width - 4, text.data);
}

static void put_gpu(FILE *out, const struct ath_scene *scene, size_t index)
{
    const struct ath_svg_box *box = &scene->gpus[index];
    ath_auto_free char *name = ath_xasprintf("GPU%zu", index);
    char *lines[ATH_SCENE_LINES_MAX];
    size_t count = ath_scene_gpu_lines(scene, index, lines);
    ath_auto_free char *links = ath_outline_link_words(scene->machine, index, "×");
    ath_auto_free char *title =
        ath_xasprintf("%s%s%s%s%s", name, count ? " " : "", count ? lines[0] : "",
                      links ? "; " : "", links ? links : "");

    ath_svg_begin_group(out, title);
    ath_svg_rect(out, box, 6, "gpu");
    ath_svg_text(out, box->x + 8, box->y + 17, "name", 13, box->width - 16, name);
    for (size_t i = 0; i < count; i++) {
        ath_svg_text(out, box->x + 8, box->y + 17 + ((int)i + 1) * ATH_SCENE_LINE,
                     i ? "dim" : "text", 10, box->width - 14, lines[i]);
        free(lines[i]);
    }
    if (scene->machine->gpus[index].memory_node >= 0)
        put_memory_badge(out, &scene->machine->gpus[index], box);
    ath_svg_end_group(out);
}

/* RDMA device and speed; the model where neither is known. */
static char *nic_speed(const struct ath_nic *nic)
{
    ATH_AUTO(ath_text) text = { 0 };

    if (nic->rdma_device && nic->netdev)
        add_part(&text, nic->rdma_device);
    if (nic->link_layer == ATH_LAYER_INFINIBAND)
        add_part(&text, "IB");
    if (nic->link == ATH_LINK_DOWN) {
        add_part(&text, _("down"));
    } else if (nic->speed_mbps >= 0) {
        ath_auto_free char *speed = ath_words_speed(nic->speed_mbps);
        add_part(&text, speed);
    }
    if (!text.length)
        return ath_words_device(nic->vendor_id, nic->device_id, nic->model);
    return ath_text_take(&text);
}

static void put_nic(FILE *out, const struct ath_scene *scene, size_t index)
{
    const struct ath_nic *nic = &scene->machine->nics[index];
    const struct ath_svg_box *box = &scene->nics[index];
    const char *name = nic->netdev ? nic->netdev : scene->outline->nic_names[index];
    ath_auto_free char *speed = nic_speed(nic);
    ath_auto_free char *device = ath_words_device(nic->vendor_id, nic->device_id, nic->model);
    ath_auto_free char *title = ath_xasprintf("%s: %s", name, device);
    char pci[ATH_PCI_TEXT];

    ath_svg_begin_group(out, title);
    ath_svg_rect(out, box, 6, nic->link == ATH_LINK_DOWN ? "off" : "nic");
    ath_svg_text(out, box->x + 8, box->y + 16, "name", 13, box->width - 14, name);
    int y = box->y + 16 + ATH_SCENE_LINE;
    if (*speed) {
        ath_svg_text(out, box->x + 8, y, "text", 10, box->width - 14, speed);
        y += ATH_SCENE_LINE;
    }
    ath_svg_text(out, box->x + 8, y, "dim", 10, box->width - 14,
                 nic->has_pci ? ath_pci_format(&nic->pci, pci) : device);
    ath_svg_end_group(out);
}

/* "card 0003:01:00.0, also on node 8": the frame around the ports of one card in one node. */
static char *card_words(const struct ath_scene *scene, size_t nic, int own_node)
{
    ATH_AUTO(ath_idset) nodes = { 0 };
    ATH_AUTO(ath_text) text = { 0 };
    bool is_first = true;

    ath_outline_card(scene->outline, nic, &nodes);
    ath_text_add(&text, _("card %s"), scene->machine->nics[nic].card);
    for (int id = -1; (id = ath_idset_next(&nodes, id)) >= 0;) {
        if (id == own_node)
            continue;
        ath_text_add(&text, is_first ? _(", also on node %d") : ", %d", id);
        is_first = false;
    }
    return ath_text_take(&text);
}

static void put_card(FILE *out, const struct ath_scene *scene, const struct ath_scene_node *node,
                     size_t first, size_t last)
{
    const struct ath_svg_box *left = &scene->nics[node->nics[first]],
                             *right = &scene->nics[node->nics[last]];
    struct ath_svg_box frame = { left->x - 4, left->y - 4, right->x + right->width - left->x + 8,
                                 left->height + 23 };
    ath_auto_free char *words =
        card_words(scene, node->nics[first], node->group->node ? node->group->node->id : -1);

    ath_svg_rect(out, &frame, 8, "card");
    ath_svg_text(out, middle_of(&frame), frame.y + frame.height - 6, "dim middle", 10,
                 frame.width - 6, words);
}

static bool is_same_card(const struct ath_scene *scene, size_t a, size_t b)
{
    const char *card = scene->machine->nics[a].card, *other = scene->machine->nics[b].card;
    return card && other && !strcmp(card, other);
}

static void put_cards(FILE *out, const struct ath_scene *scene, const struct ath_scene_node *node)
{
    for (size_t first = 0, last; first < node->nic_count; first = last + 1) {
        for (last = first; last + 1 < node->nic_count &&
                           is_same_card(scene, node->nics[first], node->nics[last + 1]);
             last++)
            ;
        if (ath_scene_is_framed(scene, node->nics[first]))
            put_card(out, scene, node, first, last);
    }
}

/* --- nodes ------------------------------------------------------------------------------------ */

static char *node_facts(const struct ath_numa_node *node)
{
    ATH_AUTO(ath_text) text = { 0 };
    size_t count = ath_idset_count(&node->cpus);

    if (count) {
        ath_auto_free char *cpus = ath_idset_format(&node->cpus);
        ath_text_add(&text, _("CPUs %s (%zu)"), cpus, count);
    } else {
        ath_text_add(&text, "%s", _("memory only, no CPUs"));
    }
    if (node->memory_total_bytes >= 0) {
        ath_auto_free char *size = ath_words_size(node->memory_total_bytes);
        ath_text_add(&text, " · %s", size);
    }
    return ath_text_take(&text);
}

static void put_node(FILE *out, const struct ath_scene_node *node)
{
    const struct ath_numa_node *numa = node->group->node;
    const struct ath_svg_box *box = &node->box;
    int room = box->width - 2 * ATH_SCENE_PADDING;
    ath_auto_free char *name =
        numa ? ath_xasprintf(_("NUMA node %d"), numa->id) : ath_xstrdup(_("On no known NUMA node"));

    ath_svg_rect(out, box, 10, numa ? "node" : "unknown");
    ath_svg_text(out, box->x + ATH_SCENE_PADDING, box->y + 24, "head", 15, room, name);
    if (numa) {
        ath_auto_free char *facts = node_facts(numa);
        ath_svg_text(out, box->x + ATH_SCENE_PADDING, box->y + 42, "sub", 11, room, facts);
    }
    if (node->hidden_nics) {
        ath_auto_free char *more =
            ath_xasprintf(ngettext("and %zu more port", "and %zu more ports", node->hidden_nics),
                          node->hidden_nics);
        ath_svg_text(out, middle_of(box), box->y + box->height - 8, "dim middle", 10, room, more);
    }
}

/* One box for all nodes without devices, where a machine has very many. */
static void put_folded(FILE *out, const struct ath_scene *scene, int width)
{
    const struct ath_outline *outline = scene->outline;
    struct ath_svg_box box = { ATH_SCENE_MARGIN, scene->bottom + 24, width - 2 * ATH_SCENE_MARGIN,
                               FOLDED_HEIGHT };
    size_t count = ath_idset_count(&outline->folded);

    if (!count)
        return;
    ath_auto_free char *ids = ath_idset_format(&outline->folded);
    ath_auto_free char *size = ath_words_size(outline->folded_bytes);
    ath_auto_free char *head =
        ath_xasprintf(_("%zu NUMA nodes without GPUs and network ports"), count);
    ath_auto_free char *facts =
        ath_xasprintf(_("%s · together %zu CPUs · %s"), ids, outline->folded_cpus, size);
    ath_svg_rect(out, &box, 10, "unknown");
    ath_svg_text(out, box.x + ATH_SCENE_PADDING, box.y + 24, "head", 15, box.width - 28, head);
    ath_svg_text(out, box.x + ATH_SCENE_PADDING, box.y + 42, "sub", 11, box.width - 28, facts);
}

static void put_devices(FILE *out, const struct ath_scene *scene, const struct ath_scene_node *node)
{
    put_cards(out, scene, node);
    for (size_t i = 0; i < node->group->gpu_count; i++)
        put_gpu(out, scene, node->group->gpus[i]);
    for (size_t i = 0; i < node->nic_count; i++)
        put_nic(out, scene, node->nics[i]);
}

/* --- links between GPUs ----------------------------------------------------------------------- */

/*
 * Where an arc to `peer` leaves a GPU: links to the left from the left half, to the right from the
 * right half, near peers outermost, so that arcs of one GPU do not cross.
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

static void put_arc(FILE *out, const struct ath_scene *scene, size_t a, size_t b, int count,
                    bool is_label)
{
    int left = arc_foot(scene, a, b), right = arc_foot(scene, b, a);
    int foot = scene->gpus[a].y, top = foot - ath_scene_arc_height(scene, a, b);
    int control = foot - (foot - top) * 4 / 3; /* a cubic reaches 3/4 of its control points */

    if (!is_label) {
        ath_svg_path(out, "nvlink", "M%d %dC%d %d %d %d %d %d", left, foot, left, control, right,
                     control, right, foot);
        return;
    }
    ath_auto_free char *label = ath_outline_link_cell(&scene->machine->gpus[a], count);
    ath_svg_label(out, (left + right) / 2, top, "nvlink", label);
}

static void put_arcs(FILE *out, const struct ath_scene *scene, bool are_labels)
{
    const struct ath_machine *machine = scene->machine;

    for (size_t a = 0; scene->links == ATH_SCENE_ARCS && a < machine->gpu_count; a++)
        for (size_t b = a + 1; machine->gpus[a].nvlink_count && b < machine->gpu_count; b++) {
            int count = ath_scene_arc(scene, a, b);
            if (count && scene->gpu_slots[a] < scene->gpu_slots[b])
                put_arc(out, scene, a, b, count, are_labels);
            else if (count)
                put_arc(out, scene, b, a, count, are_labels);
        }
}

/* The links of one GPU into the fabric, as far as all GPUs have the same; 0 otherwise. */
static int fabric_count(const struct ath_machine *machine)
{
    int first = 0, count;

    for (size_t b = 1; b < machine->gpu_count; b++) {
        if (!ath_outline_links(machine, 0, b, &count) || count <= 0 || (first && count != first))
            return 0;
        first = count;
    }
    return first;
}

static char *fabric_words(const struct ath_machine *machine)
{
    const struct ath_gpu *gpu = &machine->gpus[0];
    bool is_switched = ath_outline_is_switched(gpu);
    int count = fabric_count(machine);

    if (!count)
        return ath_xstrdup(is_switched ? _("NVSwitch") : _("links between all GPUs"));
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
        /* Those of a second line run on behind the first. */
        for (size_t j = 0; j < node->group->gpu_count; j++) {
            const struct ath_svg_box *gpu = &scene->gpus[node->group->gpus[j]];
            put_line(out, "nvlink", middle_of(gpu), bar.y + bar.height, middle_of(gpu), gpu->y);
        }
    }
    *out_right = bar.x + bar.width;
    if (bar.x < 0)
        return;
    ath_auto_free char *words = fabric_words(scene->machine);
    ath_svg_rect(out, &bar, 6, "fabric");
    ath_svg_text(out, middle_of(&bar), bar.y + 14, "middle", 10, bar.width - 10, words);
}

/* One bar a row, and at the right margin a line that joins them. */
static void put_fabric(FILE *out, const struct ath_scene *scene)
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

static const char *pair_class(enum ath_pci_class class)
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

/* Lines of several tracks to one port stay apart. */
static int bus_shift(const struct ath_scene_bus *bus)
{
    return bus->track * 10;
}

static void put_bus(FILE *out, const struct ath_scene *scene, const struct ath_scene_node *node,
                    const struct ath_scene_bus *bus)
{
    const char *class = pair_class(bus->class);
    int y = bus_y(scene, node, bus), shift = bus_shift(bus);

    for (size_t i = 0; i < bus->gpu_count; i++) {
        const struct ath_svg_box *gpu = &scene->gpus[bus->gpus[i]];
        put_line(out, class, middle_of(gpu), gpu->y + gpu->height, middle_of(gpu), y);
    }
    for (size_t i = 0; i < bus->nic_count; i++) {
        const struct ath_svg_box *nic = &scene->nics[bus->nics[i]];
        put_line(out, class, middle_of(nic) + shift, y, middle_of(nic) + shift, nic->y);
    }
    put_line(out, class, bus->left, y, bus->right + shift, y);
}

/* How far x is from the nearest line that comes down from a GPU or goes on to a port. */
static int clearance(const struct ath_scene *scene, const struct ath_scene_node *node, int x)
{
    int least = INT_MAX;

    for (size_t i = 0; i < node->group->gpu_count; i++) {
        int away = abs(x - middle_of(&scene->gpus[node->group->gpus[i]]));
        least = away < least ? away : least;
    }
    for (size_t i = 0; i < node->nic_count; i++) {
        int away = abs(x - middle_of(&scene->nics[node->nics[i]]));
        least = away < least ? away : least;
    }
    return least;
}

/* In the middle of the line, or where no other line crosses the label. */
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

static void put_buses(FILE *out, const struct ath_scene *scene)
{
    for (size_t i = 0; i < scene->node_count; i++) {
        const struct ath_scene_node *node = &scene->nodes[i];
        for (size_t j = 0; j < node->bus_count; j++)
            put_bus(out, scene, node, &node->buses[j]);
        for (size_t j = 0; j < node->bus_count; j++)
            put_bus_label(out, scene, node, &node->buses[j]);
    }
}

/* --- distances -------------------------------------------------------------------------------- */

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
        put_line(out, "distance", x, top, x, right->y);
        ath_svg_label(out, x, (top + right->y) / 2, "distance", label);
        return;
    }
    if (b == a + 1) {
        int y = left->y + 31;
        put_line(out, "distance", left->x + left->width, y, right->x, y);
        ath_svg_label(out, (left->x + left->width + right->x) / 2, y, "distance", label);
        return;
    }
    /* Of up to four nodes: 0-2 lies lowest, 1-3 above it, 0-3 around both. */
    bool is_outer = b - a > 2;
    int y = left->y - 22 * (is_outer ? 3 : (int)a + 1) + 8;
    int from = middle_of(left) + (is_outer ? -14 : 14),
        to = middle_of(right) - (from - middle_of(left));
    ath_svg_path(out, "distance", "M%d %dL%d %dL%d %dL%d %d", from, left->y, from, y, to, y, to,
                 right->y);
    ath_svg_label(out, (from + to) / 2, y, "distance", label);
}

static void put_distance_lines(FILE *out, const struct ath_scene *scene)
{
    for (size_t a = 0; ath_scene_has_distance_lines(scene) && a < scene->node_count; a++)
        for (size_t b = a + 1; b < scene->node_count; b++)
            put_distance_line(out, scene, a, b);
}

static bool has_distances(const struct ath_scene *scene)
{
    for (size_t a = 0; ath_scene_has_distance_lines(scene) && a < scene->node_count; a++)
        for (size_t b = a + 1; b < scene->node_count; b++)
            if (distance_between(scene, a, b) >= 0)
                return true;
    return false;
}

static size_t table_nodes(const struct ath_scene *scene)
{
    size_t count = 0;
    for (size_t i = 0; i < scene->node_count; i++)
        count += scene->nodes[i].group->node != NULL;
    return ath_scene_has_distance_lines(scene) || count < 2 || count > TABLE_NODES_MAX ? 0 : count;
}

static int table_height(const struct ath_scene *scene)
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
        ath_svg_text(out, middle_of(&box), y + 13, "middle", 10, 0, distance < 0 ? "?" : text);
    }
}

static void put_distance_table(FILE *out, const struct ath_scene *scene, int y)
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

/* --- legend ----------------------------------------------------------------------------------- */

struct legend {
    FILE *out;
    int x, y, right; /* where the next entry goes, and where a line of them ends */
};

static int begin_entry(struct legend *legend, const char *words)
{
    int width = 34 + ath_svg_text_width(words, 10) + 22;

    if (legend->x > ATH_SCENE_MARGIN && legend->x + width > legend->right) {
        legend->x = ATH_SCENE_MARGIN;
        legend->y += 20;
    }
    int x = legend->x;
    ath_svg_text(legend->out, x + 34, legend->y + 12, "dim", 10, 0, words);
    legend->x += width;
    return x;
}

static void put_box_entry(struct legend *legend, const char *class, const char *words)
{
    int x = begin_entry(legend, words);
    struct ath_svg_box box = { x, legend->y + 2, 26, 13 };
    ath_svg_rect(legend->out, &box, 3, class);
}

static void put_line_entry(struct legend *legend, const char *class, const char *words)
{
    int x = begin_entry(legend, words);
    put_line(legend->out, class, x, legend->y + 8, x + 26, legend->y + 8);
}

static bool has_class(const struct ath_scene *scene, enum ath_pci_class class)
{
    for (size_t i = 0; i < scene->machine->gpu_count; i++) {
        const struct ath_pair *pair = ath_outline_nearest(scene->machine, i);
        if (pair && pair->class == class)
            return true;
    }
    return false;
}

static void put_class_entries(struct legend *legend, const struct ath_scene *scene)
{
    for (enum ath_pci_class class = ATH_PCI_PIX; class <= ATH_PCI_SYS; class ++) {
        if (!has_class(scene, class))
            continue;
        ath_auto_free char *words = ath_xasprintf(
            _("nearest port, %s: %s"), ath_pci_class_word(class), ath_words_class(class));
        put_line_entry(legend, pair_class(class), words);
    }
}

static bool has_memory_node(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].memory_node >= 0)
            return true;
    return false;
}

static bool has_down_nic(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].link == ATH_LINK_DOWN)
            return true;
    return false;
}

static void put_legend(struct legend *legend, const struct ath_scene *scene)
{
    const struct ath_machine *machine = scene->machine;

    put_box_entry(legend, "node", _("NUMA node"));
    if (machine->gpu_count)
        put_box_entry(legend, "gpu", _("GPU"));
    if (has_memory_node(machine))
        put_box_entry(legend, "memory", _("the GPU's memory, a NUMA node of its own"));
    if (machine->nic_count)
        put_box_entry(legend, "nic", _("network port"));
    if (has_down_nic(machine))
        put_box_entry(legend, "off", _("network port, link down"));
    if (scene->links == ATH_SCENE_FABRIC)
        put_box_entry(legend, "fabric", _("links from every GPU to every other"));
    if (scene->links == ATH_SCENE_ARCS)
        put_line_entry(legend, "nvlink", _("NVLinks or xGMI links: NV3 is three side by side"));
    if (has_distances(scene))
        put_line_entry(legend, "distance", _("distance of two NUMA nodes (10 is local)"));
    put_class_entries(legend, scene);
}

/* How high the legend is; drawn once into nothing. */
static int legend_height(const struct ath_scene *scene, int width)
{
    ath_auto_free char *text = NULL;
    size_t length;
    struct legend legend = { open_memstream(&text, &length), ATH_SCENE_MARGIN, 0,
                             width - ATH_SCENE_MARGIN };

    if (!legend.out)
        return 0;
    put_legend(&legend, scene);
    fclose(legend.out);
    return legend.y + 20;
}

/* --- the picture ------------------------------------------------------------------------------ */

static char *subtitle(const struct ath_machine *machine)
{
    ATH_AUTO(ath_text) text = { 0 };

    add_part(&text, machine->model);
    add_part(&text, machine->arch);
    if (machine->kernel) {
        ath_auto_free char *kernel = ath_xasprintf(_("kernel %s"), machine->kernel);
        add_part(&text, kernel);
    }
    return ath_text_take(&text);
}

static void put_title(FILE *out, const struct ath_machine *machine, int width)
{
    int room = width - 2 * ATH_SCENE_MARGIN;
    ath_auto_free char *facts = subtitle(machine);

    ath_svg_text(out, ATH_SCENE_MARGIN, 34, "title", 21, room,
                 machine->hostname ? machine->hostname : _("(host name unknown)"));
    ath_svg_text(out, ATH_SCENE_MARGIN, 54, "sub", 11, room, facts);
}

static void begin(FILE *out, const struct ath_scene *scene, int width, int height)
{
    const struct ath_machine *machine = scene->machine;
    ath_auto_free char *title = ath_xasprintf(
        _("The machine %s"), machine->hostname ? machine->hostname : _("(host name unknown)"));
    ath_auto_free char *description =
        ath_xasprintf(_("NUMA nodes: %zu, GPUs: %zu, network ports: %zu, with the links between "
                        "them"),
                      machine->node_count, machine->gpu_count, machine->nic_count);

    ath_svg_begin(out, width, height, title, description);
    put_title(out, machine, width);
}

static void put_nodes(FILE *out, const struct ath_scene *scene)
{
    for (size_t i = 0; i < scene->node_count; i++)
        put_node(out, &scene->nodes[i]);
    put_distance_lines(out, scene);
    put_arcs(out, scene, false);
    if (scene->links == ATH_SCENE_FABRIC)
        put_fabric(out, scene);
    for (size_t i = 0; i < scene->node_count; i++)
        put_devices(out, scene, &scene->nodes[i]);
    put_buses(out, scene);
    put_arcs(out, scene, true);
}

static int width_of(const struct ath_scene *scene)
{
    int width = scene->width + ATH_SCENE_MARGIN + (scene->row_count > 1 ? 16 : 0);
    return width < WIDTH_MIN ? WIDTH_MIN : width;
}

static void draw(FILE *out, const struct ath_scene *scene)
{
    int width = width_of(scene);
    int folded = scene->outline->folded.range_count ? 24 + FOLDED_HEIGHT : 0;
    int table_y = scene->bottom + folded + 24, legend_y = table_y + table_height(scene);
    struct legend legend = { out, ATH_SCENE_MARGIN, legend_y, width - ATH_SCENE_MARGIN };

    begin(out, scene, width, legend_y + legend_height(scene, width) + 12);
    put_nodes(out, scene);
    put_folded(out, scene, width);
    put_distance_table(out, scene, table_y);
    put_legend(&legend, scene);
    ath_svg_end(out);
}

void ath_machine_to_svg(const struct ath_style *style, FILE *out, const void *data)
{
    ATH_AUTO(ath_outline) outline = { 0 };
    ATH_AUTO(ath_scene) scene = { 0 };
    (void)style; /* a file format: UTF-8 and its own colours, wherever it goes */

    ath_outline_make(data, &outline);
    ath_scene_make(&outline, &scene);
    draw(out, &scene);
}
