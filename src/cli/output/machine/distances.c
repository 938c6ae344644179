/*
 * Distances between NUMA nodes.
 *
 * The numbers come from ACPI's SLIT or the device tree (10 is local); they only have a meaning when
 * compared. On AC922 a GPU's memory has distance 80 to every node, even to its own socket: the
 * number does not tell where a GPU is, so the words name the kind of node.
 */
#include "config.h"

#include "cli/output/machine/distances.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/machine/outline.h"

enum meaning { MEANS_SELF, MEANS_CPU, MEANS_MEMORY, MEANS_GPU, MEANING_COUNT };

static const char *const meanings[MEANING_COUNT] = {
    [MEANS_SELF] = N_("the node itself"),
    [MEANS_CPU] = N_("another CPU node"),
    [MEANS_MEMORY] = N_("a memory-only node"),
    [MEANS_GPU] = N_("a GPU's memory"),
};

/* The kind of the two nodes together: GPU memory wins over memory, memory wins over CPUs. */
static enum meaning meaning_of(const struct ath_numa_node *a, const struct ath_numa_node *b)
{
    if (a == b)
        return MEANS_SELF;
    if (a->kind == ATH_NODE_GPU || b->kind == ATH_NODE_GPU)
        return MEANS_GPU;
    if (a->kind == ATH_NODE_MEMORY || b->kind == ATH_NODE_MEMORY)
        return MEANS_MEMORY;
    return MEANS_CPU;
}

/* An id set holds the values: SLIT's are bytes, and larger values fit too. */
static void collect(const struct ath_machine *machine, struct ath_idset values[MEANING_COUNT])
{
    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_numa_node *node = &machine->nodes[i];
        if (ath_outline_is_empty(node))
            continue;
        int last[MEANING_COUNT] = { -1, -1, -1, -1 };
        size_t at = 0; /* both arrays are sorted by id */
        for (size_t j = 0; j < node->distance_count; j++) {
            const struct ath_distance *distance = &node->distances[j];
            while (at < machine->node_count && machine->nodes[at].id < distance->node)
                at++;
            if (at == machine->node_count || machine->nodes[at].id != distance->node ||
                ath_outline_is_empty(&machine->nodes[at]))
                continue;
            enum meaning meaning = meaning_of(node, &machine->nodes[at]);
            if (distance->value != last[meaning])
                ath_idset_add(&values[meaning], distance->value, distance->value);
            last[meaning] = distance->value;
        }
    }
}

static void add_values(struct ath_text *text, const struct ath_idset *values)
{
    bool is_first = true;
    for (int value = -1; (value = ath_idset_next(values, value)) >= 0; is_first = false)
        ath_text_add(text, "%s%d", is_first ? "" : "/", value);
}

char *ath_distances_words(const struct ath_machine *machine)
{
    struct ath_idset values[MEANING_COUNT] = { 0 };
    ATH_AUTO(ath_text) text = { 0 };

    collect(machine, values);
    for (size_t i = 0; i < MEANING_COUNT; i++) {
        if (values[i].range_count) {
            ath_text_add(&text, "%s", text.length ? ", " : "");
            add_values(&text, &values[i]);
            ath_text_add(&text, " %s", _(meanings[i]));
        }
        ath_idset_free(&values[i]);
    }
    return text.length ? ath_text_take(&text) : NULL;
}

/* The width of the widest id or value, in columns. */
static int cell_width(const struct ath_machine *machine)
{
    size_t widest = 2;

    for (size_t i = 0; i < machine->node_count; i++) {
        char id[16];
        size_t width = (size_t)snprintf(id, sizeof id, "%d", machine->nodes[i].id);
        if (width > widest)
            widest = width;
        for (size_t j = 0; j < machine->nodes[i].distance_count; j++)
            if (machine->nodes[i].distances[j].value > 99 && widest < 3)
                widest = 3;
    }
    return (int)widest;
}

size_t ath_distances_table_nodes(const struct ath_machine *machine)
{
    size_t count = 0;
    for (size_t i = 0; i < machine->node_count; i++)
        count += !ath_outline_is_empty(&machine->nodes[i]);
    return count;
}

size_t ath_distances_table_width(const struct ath_machine *machine)
{
    return 2 + (ath_distances_table_nodes(machine) + 1) * ((size_t)cell_width(machine) + 2);
}

static void print_row(const struct ath_machine *machine, const struct ath_numa_node *from,
                      int width, FILE *out)
{
    for (size_t j = 0; j < machine->node_count; j++) {
        if (ath_outline_is_empty(&machine->nodes[j]))
            continue;
        int value = ath_machine_distance(machine, from->id, machine->nodes[j].id);
        if (value < 0)
            fprintf(out, "  %*s", width, "?");
        else
            fprintf(out, "  %*d", width, value);
    }
    putc('\n', out);
}

void ath_distances_print(const struct ath_machine *machine, const struct ath_style *style,
                         FILE *out)
{
    int width = cell_width(machine);
    const char *on = ath_style_on(style, ATH_ROLE_DIM), *off = ath_style_off(style, ATH_ROLE_DIM);

    fprintf(out, "  %s%*s", on, width, "");
    for (size_t i = 0; i < machine->node_count; i++)
        if (!ath_outline_is_empty(&machine->nodes[i]))
            fprintf(out, "  %*d", width, machine->nodes[i].id);
    fprintf(out, "%s\n", off);
    for (size_t i = 0; i < machine->node_count; i++) {
        if (ath_outline_is_empty(&machine->nodes[i]))
            continue;
        fprintf(out, "  %s%*d%s", on, width, machine->nodes[i].id, off);
        print_row(machine, &machine->nodes[i], width, out);
    }
}
