/*
 * A machine as a Graphviz graph: NUMA nodes are clusters with devices inside, links are edges.
 *
 * Labels are quoted for the DOT language: only \" and \\ are special in a plain label, and \n
 * breaks the line. Identifiers are made from our own counters: no captured name becomes one.
 */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/machine/machine.h"
#include "cli/output/machine/marks.h"
#include "cli/output/machine/outline.h"
#include "cli/output/words.h"
#include "numa/gpu_links.h"
#include "numa/pair.h"

enum {
    DISTANCE_GROUPS_MAX = 16, /* more nodes would make a knot of edges */
    LINK_WIDTH = 2,
    RING_WIDTH = 5,
};

#define LINK_COLOUR "#58983a"
#define RING_COLOUR "#1d5c0c"

struct dot {
    FILE *out;
    const struct ath_machine *machine;
    const struct ath_marks *marks; /* GPUs that stand out; NULL: none */
    struct ath_outline outline;
};

/* Writes a label in quotes. A newline in text breaks the line in the picture. */
static void put_label(FILE *out, const char *text)
{
    ATH_AUTO(ath_text) line = { 0 };

    fputs("label=\"", out);
    for (const char *c = text;; c++) {
        if (*c && *c != '\n') {
            ath_text_add_bytes(&line, c, 1);
            continue;
        }
        ath_auto_free char *clean = ath_clean(line.data ? line.data : "", true);
        for (const char *letter = clean; *letter; letter++) {
            if (*letter == '"' || *letter == '\\')
                putc('\\', out);
            putc(*letter, out);
        }
        ath_text_free(&line);
        if (!*c)
            break;
        fputs("\\n", out);
    }
    putc('"', out);
}

static void put_gpu(const struct dot *dot, size_t index)
{
    const struct ath_gpu *gpu = &dot->machine->gpus[index];
    ath_auto_free char *device = ath_words_device(gpu->vendor_id, gpu->device_id, gpu->model);
    ATH_AUTO(ath_text) text = { 0 };
    char pci[ATH_PCI_TEXT];

    size_t group = ath_marks_group(dot->marks, index);
    ath_auto_free char *mark = group ? ath_marks_word(dot->marks, group) : NULL;

    ath_text_add(&text, mark ? "GPU%zu (%s)\n" : "GPU%zu\n", index, mark ? mark : "");
    if (ath_pci_is_address(&gpu->pci))
        ath_text_add(&text, "%s\n", ath_pci_format(&gpu->pci, pci));
    ath_text_add(&text, "%s", device);
    if (gpu->memory_total_bytes >= 0) {
        ath_auto_free char *size = ath_words_size(gpu->memory_total_bytes);
        ath_text_add(&text, "\n%s", size);
    }
    if (gpu->memory_node >= 0) {
        ath_text_add(&text, "\n");
        ath_text_add(&text, _("its memory is NUMA node %d"), gpu->memory_node);
    }
    fprintf(dot->out, "    gpu%zu [%s, ", index,
            group        ? "fillcolor=\"#c3e6b3\", color=\"#1d5c0c\", penwidth=4"
            : dot->marks ? "fillcolor=\"#fbfcfb\", color=\"#c3cad3\""
                         : "fillcolor=\"#d8efcf\", color=\"#5b8c3e\"");
    put_label(dot->out, text.data);
    fputs("];\n", dot->out);
}

static void put_nic(const struct dot *dot, size_t index)
{
    const struct ath_nic *nic = &dot->machine->nics[index];
    ATH_AUTO(ath_text) text = { 0 };
    char pci[ATH_PCI_TEXT];

    ath_text_add(&text, "%s", dot->outline.nic_names[index]);
    if (nic->rdma_device && nic->netdev)
        ath_text_add(&text, "\n%s", nic->netdev);
    if (nic->has_pci)
        ath_text_add(&text, "\n%s", ath_pci_format(&nic->pci, pci));
    if (nic->speed_mbps >= 0) {
        ath_auto_free char *speed = ath_words_speed(nic->speed_mbps);
        ath_text_add(&text, "\n%s", speed);
    }
    fprintf(dot->out, "    nic%zu [fillcolor=\"#dbe7f7\", color=\"#3c6ea8\", %s", index,
            ath_marks_has_port(dot->marks, index) ? "penwidth=3, " : "");
    put_label(dot->out, text.data);
    fputs("];\n", dot->out);
}

static void put_node(const struct dot *dot, const struct ath_numa_node *node, size_t group)
{
    ath_auto_free char *cpus = ath_idset_format(&node->cpus);
    ATH_AUTO(ath_text) text = { 0 };

    if (*cpus)
        ath_text_add(&text, _("CPUs %s"), cpus);
    if (node->memory_total_bytes >= 0) {
        ath_auto_free char *size = ath_words_size(node->memory_total_bytes);
        ath_text_add(&text, "%s", text.length ? "\n" : "");
        ath_text_add(&text, _("memory %s"), size);
    }
    fprintf(dot->out, "    node%zu [fillcolor=\"#ffffff\", ", group);
    put_label(dot->out, text.data ? text.data : _("no CPUs"));
    fputs("];\n", dot->out);
}

static void put_group(const struct dot *dot, size_t index)
{
    const struct ath_group *group = &dot->outline.groups[index];
    ath_auto_free char *name = group->node ? ath_xasprintf(_("NUMA node %d"), group->node->id)
                                           : ath_xstrdup(_("NUMA node not known"));

    fprintf(dot->out, "  subgraph cluster%zu {\n    ", index);
    put_label(dot->out, name);
    fputs(";\n", dot->out);
    if (group->node)
        put_node(dot, group->node, index);
    for (size_t i = 0; i < group->gpu_count; i++)
        put_gpu(dot, group->gpus[i]);
    for (size_t i = 0; i < group->nic_count; i++)
        put_nic(dot, group->nics[i]);
    fputs("  }\n", dot->out);
}

static void put_folded(const struct dot *dot)
{
    if (!dot->outline.folded.range_count)
        return;
    ath_auto_free char *text = ath_outline_folded_words(&dot->outline);
    fputs("  folded [style=\"rounded,dashed\", ", dot->out);
    put_label(dot->out, text);
    fputs("];\n", dot->out);
}

static void put_distances(const struct dot *dot)
{
    const struct ath_outline *outline = &dot->outline;

    for (size_t a = 0; a < outline->group_count; a++)
        for (size_t b = a + 1; b < outline->group_count; b++) {
            const struct ath_numa_node *from = outline->groups[a].node,
                                       *to = outline->groups[b].node;
            int distance =
                from && to ? ath_machine_distance(dot->machine, from->id, to->id) : ATH_UNKNOWN;
            if (distance >= 0)
                fprintf(dot->out,
                        "  node%zu -- node%zu [label=\"%d\", style=dashed, "
                        "color=\"#777777\", constraint=false];\n",
                        a, b, distance);
        }
}

/* GPUs behind switches are connected to one point: edges between all pairs would be a knot. */
static void put_fabric(const struct dot *dot)
{
    const struct ath_machine *machine = dot->machine;
    bool has_point = false;

    for (size_t i = 0; i < machine->gpu_count; i++) {
        if (!ath_outline_is_switched(&machine->gpus[i]))
            continue;
        if (!has_point)
            fputs("  fabric [label=\"NVSwitch\", shape=ellipse, fillcolor=\"#cfe8c4\", "
                  "color=\"#58983a\"];\n",
                  dot->out);
        has_point = true;
        bool is_in_ring = ath_marks_group(dot->marks, i) && dot->marks->next[i] != i;
        fprintf(dot->out, "  gpu%zu -- fabric [color=\"%s\", penwidth=%d];\n", i,
                is_in_ring ? RING_COLOUR : LINK_COLOUR, is_in_ring ? RING_WIDTH : LINK_WIDTH);
    }
}

static bool are_on_fabric(const struct ath_gpu *a, const struct ath_gpu *b)
{
    return ath_outline_is_switched(a) && ath_outline_is_switched(b);
}

static void put_links(const struct dot *dot)
{
    const struct ath_machine *machine = dot->machine;

    for (size_t a = 0; a < machine->gpu_count; a++)
        for (size_t b = a + 1; machine->gpus[a].nvlink_count && b < machine->gpu_count; b++) {
            int count = 0;
            if (are_on_fabric(&machine->gpus[a], &machine->gpus[b]) ||
                !ath_gpu_links(machine, a, b, &count) || !count)
                continue;
            ath_auto_free char *label = ath_outline_edge(machine, a, b);
            bool is_in_ring = ath_marks_ring(dot->marks, a, b);
            fprintf(dot->out,
                    "  gpu%zu -- gpu%zu [label=\"%s\", color=\"%s\", penwidth=%d, "
                    "constraint=false];\n",
                    a, b, label, is_in_ring ? RING_COLOUR : LINK_COLOUR,
                    is_in_ring ? RING_WIDTH : LINK_WIDTH);
        }
}

/* Edges from each GPU to all ports that share the first rank. */
static void put_pairs(const struct dot *dot)
{
    for (size_t gpu = 0; gpu < dot->machine->gpu_count; gpu++) {
        size_t count;
        const struct ath_pair *pairs = ath_pairs_of_gpu(dot->machine, gpu, &count);
        if (!ath_outline_nearest(dot->machine, gpu))
            continue;
        for (size_t i = 0; i < count && pairs[i].rank == pairs[0].rank; i++)
            fprintf(dot->out, "  gpu%zu -- nic%zu [label=\"%s\", color=\"#c07a1c\"];\n", gpu,
                    pairs[i].nic, ath_pci_class_word(pairs[i].class));
    }
}

/* One box with the marks in words. */
static void put_legend(const struct dot *dot)
{
    ATH_AUTO(ath_text) text = { 0 };

    if (!dot->marks)
        return;
    for (size_t group = 1; group <= dot->marks->group_count; group++) {
        ath_auto_free char *words = ath_marks_words(dot->marks, group);
        ath_text_add_part(&text, "\n", "%s", words);
    }
    ath_text_add_part(&text, "\n", "%s", _("thick: chosen GPUs, their best ring and their ports"));
    fputs("  legend [shape=note, style=filled, ", dot->out);
    put_label(dot->out, text.data);
    fputs("];\n", dot->out);
}

void ath_machine_draw_dot(FILE *out, const struct ath_machine *machine,
                          const struct ath_marks *marks)
{
    struct dot dot = { .out = out, .machine = machine, .marks = marks };

    ath_outline_make(machine, &dot.outline);
    fputs("graph machine {\n"
          "  graph [fontname=\"Helvetica\", fontsize=13, labelloc=t, compound=true, "
          "style=\"rounded\", color=\"#999999\", bgcolor=\"white\"];\n"
          "  node [fontname=\"Helvetica\", fontsize=11, shape=box, style=\"rounded,filled\", "
          "fillcolor=\"white\", color=\"#777777\"];\n"
          "  edge [fontname=\"Helvetica\", fontsize=10];\n  ",
          out);
    put_label(out, machine->hostname ? machine->hostname : "");
    fputs(";\n", out);
    for (size_t i = 0; i < dot.outline.group_count; i++)
        put_group(&dot, i);
    put_folded(&dot);
    if (dot.outline.group_count <= DISTANCE_GROUPS_MAX)
        put_distances(&dot);
    put_fabric(&dot);
    put_links(&dot);
    put_pairs(&dot);
    put_legend(&dot);
    fputs("}\n", out);
    ath_outline_free(&dot.outline);
}

void ath_machine_to_dot(const struct ath_style *style, FILE *out, const void *data)
{
    (void)style; /* the format is always UTF-8 without colour codes */
    ath_machine_draw_dot(out, data, NULL);
}
