/*
 * A machine as a picture. NUMA nodes are boxes that contain GPUs and network ports. Lines show
 * NVLinks, the nearest port of each GPU with its PCI class, and distances between nodes.
 * svg_scene.c chooses the contents, svg_layout.c the positions; this file and the other svg_*.c
 * draw.
 */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/machine/machine.h"
#include "cli/output/machine/outline.h"
#include "cli/output/machine/svg_distances.h"
#include "cli/output/machine/svg_legend.h"
#include "cli/output/machine/svg_links.h"
#include "cli/output/machine/svg_marks.h"
#include "cli/output/machine/svg_scene.h"
#include "cli/output/machine/svg_writer.h"
#include "cli/output/words.h"
#include "numa/pair.h"

enum { WIDTH_MIN = 620, FOLDED_HEIGHT = 58 };

static void add_part(struct ath_text *text, const char *part)
{
    if (part)
        ath_text_add_part(text, " · ", "%s", part);
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
    ath_svg_text(out, ath_svg_middle(&badge), badge.y + 13, "middle", 10, badge.width - 4,
                 text.data);
}

static void put_gpu(FILE *out, const struct ath_scene *scene, size_t index)
{
    const struct ath_svg_box *box = &scene->gpus[index];
    const struct ath_gpu *gpu = &scene->machine->gpus[index];
    ath_auto_free char *name = ath_xasprintf("GPU%zu", index);
    ath_auto_free char *device = ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model);
    char *lines[ATH_SCENE_LINES_MAX];
    size_t models = 0, count = ath_scene_gpu_lines(scene, index, lines, &models);
    ath_auto_free char *links = ath_outline_link_words(scene->machine, index, "×");
    ath_auto_free char *mark =
        ath_marks_group(scene->marks, index)
            ? ath_marks_word(scene->marks, ath_marks_group(scene->marks, index))
            : NULL;
    ath_auto_free char *title =
        ath_xasprintf("%s%s%s%s%s%s%s", name, *device ? " " : "", device, links ? "; " : "",
                      links ? links : "", mark ? "; " : "", mark ? mark : "");
    char class[ATH_SVG_CLASS];

    ath_svg_begin_group(out, title);
    ath_svg_rect(out, box, 6, ath_svg_gpu_class(scene->marks, index, class));
    ath_svg_mark(out, scene->marks, index, box);
    ath_svg_text(out, box->x + 8, box->y + 17, "name", 13, box->width - 16, name);
    for (size_t i = 0; i < count; i++) {
        ath_svg_text(out, box->x + 8, box->y + 17 + ((int)i + 1) * ATH_SCENE_LINE,
                     i < models ? "text" : "dim", 10, ATH_SCENE_TEXT, lines[i]);
        free(lines[i]);
    }
    if (gpu->memory_node >= 0)
        put_memory_badge(out, gpu, box);
    ath_svg_end_group(out);
}

/* RDMA device and speed; the model if neither is known. */
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
    char pci[ATH_PCI_TEXT], class[ATH_SVG_CLASS];

    ath_svg_begin_group(out, title);
    ath_svg_rect(
        out, box, 6,
        ath_svg_nic_class(scene->marks, index, nic->link == ATH_LINK_DOWN ? "off" : "nic", class));
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

/* "card 0003:01:00.0, also on node 8": the label of the frame around a card's ports in a node. */
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
    ath_svg_text(out, ath_svg_middle(&frame), frame.y + frame.height - 6, "dim middle", 10,
                 frame.width - 6, words);
}

static void put_cards(FILE *out, const struct ath_scene *scene, const struct ath_scene_node *node)
{
    for (size_t first = 0, last; first < node->nic_count; first = last + 1) {
        const struct ath_nic *nics = scene->machine->nics;
        for (last = first;
             last + 1 < node->nic_count &&
             ath_nic_is_same_card(&nics[node->nics[first]], &nics[node->nics[last + 1]]);
             last++)
            ;
        if (ath_scene_is_framed(scene, node->nics[first]))
            put_card(out, scene, node, first, last);
    }
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void put_node(FILE *out, const struct ath_scene_node *node)
{
    const struct ath_numa_node *numa = node->group->node;
    const struct ath_svg_box *box = &node->box;
    int room = box->width - 2 * ATH_SCENE_PADDING;
    ath_auto_free char *name =
        numa ? ath_xasprintf(_("NUMA node %d"), numa->id) : ath_xstrdup(_("NUMA node not known"));

    ath_svg_rect(out, box, 10, numa ? "node" : "unknown");
    ath_svg_text(out, box->x + ATH_SCENE_PADDING, box->y + 24, "head", 15, room, name);
    if (numa) {
        ath_auto_free char *facts = ath_scene_node_facts(numa);
        ath_svg_text(out, box->x + ATH_SCENE_PADDING, box->y + 42, "sub", 11, room, facts);
    }
    if (node->hidden_nics) {
        ath_auto_free char *more =
            ath_xasprintf(ngettext("and %zu more port", "and %zu more ports", node->hidden_nics),
                          node->hidden_nics);
        ath_svg_text(out, ath_svg_middle(box), box->y + box->height - 8, "dim middle", 10, room,
                     more);
    }
}

/* One box for all nodes that are not drawn. */
static void put_folded(FILE *out, const struct ath_scene *scene, int width)
{
    struct ath_svg_box box = { ATH_SCENE_MARGIN, scene->bottom + 24, width - 2 * ATH_SCENE_MARGIN,
                               FOLDED_HEIGHT };

    if (!scene->outline->folded.range_count)
        return;
    ath_auto_free char *words = ath_outline_folded_words(scene->outline);
    ath_svg_rect(out, &box, 10, "unknown");
    ath_svg_text(out, box.x + ATH_SCENE_PADDING, box.y + 24, "head", 15, box.width - 28,
                 _("Other nodes"));
    ath_svg_text(out, box.x + ATH_SCENE_PADDING, box.y + 42, "sub", 11, box.width - 28, words);
}

static void put_devices(FILE *out, const struct ath_scene *scene, const struct ath_scene_node *node)
{
    put_cards(out, scene, node);
    for (size_t i = 0; i < node->group->gpu_count; i++)
        put_gpu(out, scene, node->group->gpus[i]);
    for (size_t i = 0; i < node->nic_count; i++)
        put_nic(out, scene, node->nics[i]);
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
    ath_svg_marks_style(out, scene->marks);
    put_title(out, machine, width);
}

static void put_nodes(FILE *out, const struct ath_scene *scene)
{
    for (size_t i = 0; i < scene->node_count; i++)
        put_node(out, &scene->nodes[i]);
    ath_svg_distance_lines(out, scene);
    ath_svg_arcs(out, scene, false);
    if (scene->links == ATH_SCENE_FABRIC)
        ath_svg_fabric(out, scene);
    for (size_t i = 0; i < scene->node_count; i++)
        put_devices(out, scene, &scene->nodes[i]);
    ath_svg_buses(out, scene);
    ath_svg_arcs(out, scene, true);
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
    int table_y = scene->bottom + folded + 24,
        legend_y = table_y + ath_svg_distance_table_height(scene);

    begin(out, scene, width, legend_y + ath_svg_legend_height(scene, width) + 12);
    put_nodes(out, scene);
    put_folded(out, scene, width);
    ath_svg_distance_table(out, scene, table_y);
    ath_svg_legend(out, scene, width, legend_y);
    ath_svg_end(out);
}

void ath_machine_draw_svg(FILE *out, const struct ath_machine *machine,
                          const struct ath_marks *marks)
{
    ATH_AUTO(ath_outline) outline = { 0 };
    ATH_AUTO(ath_scene) scene = { 0 };

    ath_outline_make(machine, &outline);
    ath_scene_make(&outline, marks, &scene);
    draw(out, &scene);
}

void ath_machine_to_svg(const struct ath_style *style, FILE *out, const void *data)
{
    (void)style; /* the format is always UTF-8 and has its own colours */
    ath_machine_draw_svg(out, data, NULL);
}
