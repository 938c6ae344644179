/* The legend: explains only the shapes that the picture contains. */
#include "config.h"

#include "cli/output/machine/svg_legend.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/machine/svg_distances.h"
#include "cli/output/machine/svg_links.h"
#include "cli/output/machine/svg_marks.h"
#include "cli/output/words.h"

struct legend {
    FILE *out;
    int x, y, right; /* position of the next entry, and the right end of a line */
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
    ath_svg_line(legend->out, class, x, legend->y + 8, x + 26, legend->y + 8);
}

static bool has_class(const struct ath_scene *scene, enum ath_pci_class class)
{
    for (size_t i = 0; i < scene->node_count; i++)
        for (size_t j = 0; j < scene->nodes[i].bus_count; j++)
            if (scene->nodes[i].buses[j].class == class)
                return true;
    return false;
}

static bool has_arcs(const struct ath_scene *scene)
{
    for (size_t a = 0; a < scene->machine->gpu_count; a++)
        for (size_t b = a + 1;
             scene->machine->gpus[a].nvlink_count && b < scene->machine->gpu_count; b++)
            if (ath_scene_arc(scene, a, b))
                return true;
    return false;
}

/* Returns whether a port is drawn that is as both flags say: its link is down, and it is marked. */
static bool has_nic(const struct ath_scene *scene, bool is_down, bool is_marked)
{
    for (size_t i = 0; i < scene->node_count; i++)
        for (size_t j = 0; j < scene->nodes[i].nic_count; j++) {
            size_t nic = scene->nodes[i].nics[j];
            if ((scene->machine->nics[nic].link == ATH_LINK_DOWN) == is_down &&
                ath_marks_has_port(scene->marks, nic) == is_marked)
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
        put_line_entry(legend, ath_svg_pair_class(class), words);
    }
}

static bool has_memory_node(const struct ath_machine *machine)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].memory_node >= 0)
            return true;
    return false;
}

/* Returns whether a line of the picture is a part of a ring through chosen GPUs. */
static bool has_ring(const struct ath_scene *scene)
{
    for (size_t a = 0; a < scene->machine->gpu_count; a++)
        for (size_t b = a + 1; b < scene->machine->gpu_count; b++)
            if (ath_marks_ring(scene->marks, a, b) &&
                (ath_scene_arc(scene, a, b) ||
                 (ath_scene_is_on_fabric(scene, a) && ath_scene_is_on_fabric(scene, b))))
                return true;
    return false;
}

static void put_group_entries(struct legend *legend, const struct ath_scene *scene)
{
    const struct ath_marks *marks = scene->marks;
    char class[ATH_SVG_CLASS];
    bool has_others = false;

    for (size_t group = 1; group <= marks->group_count; group++) {
        ath_auto_free char *words = ath_marks_words(marks, group);
        put_box_entry(legend, ath_svg_group_class(group, class), words);
    }
    for (size_t i = 0; i < marks->gpu_count; i++)
        has_others = has_others || !ath_marks_group(marks, i);
    if (has_others)
        put_box_entry(legend, "passed", _("GPU that is not chosen"));
    if (has_ring(scene))
        put_line_entry(legend, ath_svg_ring_class(1, class),
                       _("best ring through the chosen GPUs"));
}

static void put_nic_entries(struct legend *legend, const struct ath_scene *scene)
{
    if (has_nic(scene, false, true))
        put_box_entry(legend, "nic port", _("port near the chosen GPUs"));
    if (has_nic(scene, false, false))
        put_box_entry(legend, "nic", _("network port"));
    if (has_nic(scene, true, false))
        put_box_entry(legend, "off", _("network port, link down"));
}

static void put_entries(struct legend *legend, const struct ath_scene *scene)
{
    const struct ath_machine *machine = scene->machine;

    put_box_entry(legend, "node", _("NUMA node"));
    if (scene->marks)
        put_group_entries(legend, scene);
    else if (machine->gpu_count)
        put_box_entry(legend, "gpu", _("GPU"));
    if (has_memory_node(machine))
        put_box_entry(legend, "memory", _("the GPU's memory, a NUMA node of its own"));
    put_nic_entries(legend, scene);
    if (scene->links == ATH_SCENE_FABRIC)
        put_box_entry(legend, "fabric",
                      ath_svg_joins_all(scene) ? _("links from every GPU to every other")
                                               : _("links between the GPUs on the switch"));
    if (has_arcs(scene))
        put_line_entry(legend, "nvlink", _("NVLinks or xGMI links: NV3 is three in parallel"));
    if (ath_svg_has_distances(scene))
        put_line_entry(legend, "distance", _("distance between two NUMA nodes (10 is local)"));
    put_class_entries(legend, scene);
}

void ath_svg_legend(FILE *out, const struct ath_scene *scene, int width, int y)
{
    put_entries(&(struct legend){ out, ATH_SCENE_MARGIN, y, width - ATH_SCENE_MARGIN }, scene);
}

/* Draws the legend into memory to measure it. */
int ath_svg_legend_height(const struct ath_scene *scene, int width)
{
    ath_auto_free char *text = NULL;
    size_t length;
    struct legend legend = { open_memstream(&text, &length), ATH_SCENE_MARGIN, 0,
                             width - ATH_SCENE_MARGIN };

    if (!legend.out)
        return 0;
    put_entries(&legend, scene);
    fclose(legend.out);
    return legend.y + 20;
}
