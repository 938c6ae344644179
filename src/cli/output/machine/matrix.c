/*
 * A machine as a matrix with the words, order and columns of `nvidia-smi topo -m` (NVIDIA System
 * Management Interface manual, "topo"). Cells contain no blanks, so that awk can read them; unknown
 * values are "?".
 */
#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/machine/machine.h"
#include "cli/output/machine/marks.h"
#include "cli/output/machine/outline.h"
#include "cli/output/words.h"
#include "numa/pair.h"
#include "place/gpu_pair.h"

/* GPUs come first, then ports: item i is GPU i, or port i - gpu_count. */
struct matrix {
    const struct ath_style *style;
    FILE *out;
    const struct ath_machine *machine;
    const struct ath_marks *marks; /* GPUs that stand out; NULL: none */
    struct ath_outline outline;
    char **names;
    size_t count;
    size_t width; /* of a cell */
};

static const char *const affinity_heads[] = { "CPU-Affinity", "NUMA-Affinity", "GPU-NUMA-ID" };

/* Replaces blanks in a name, so that it is one word for awk. The caller frees it. */
static char *one_word(const char *text, bool is_utf8)
{
    char *word = ath_clean(text, is_utf8);
    for (char *c = word; *c; c++)
        if (*c == ' ')
            *c = '_';
    if (*word)
        return word;
    free(word);
    return ath_xstrdup("?");
}

/* Returns "GPU3"; "GPU3*" for a chosen GPU, "GPU3*2" for one of the second group. The caller frees
 * it. */
static char *gpu_name(const struct matrix *matrix, size_t gpu)
{
    size_t group = ath_marks_group(matrix->marks, gpu);

    if (!group)
        return ath_xasprintf("GPU%zu", gpu);
    if (matrix->marks->group_count == 1)
        return ath_xasprintf("GPU%zu*", gpu);
    return ath_xasprintf("GPU%zu*%zu", gpu, group);
}

static void name_items(struct matrix *matrix)
{
    const struct ath_machine *machine = matrix->machine;

    for (size_t i = 0; i < machine->gpu_count + machine->nic_count; i++) {
        char **name = ath_push(&matrix->names, &matrix->count, sizeof *name);
        size_t nic = i - machine->gpu_count;
        *name = i < machine->gpu_count
                    ? gpu_name(matrix, i)
                    : one_word(matrix->outline.nic_names[nic], matrix->style->is_utf8);
        size_t width = ath_text_width(*name);
        if (width > matrix->width)
            matrix->width = width;
    }
}

static void print_cell(struct matrix *matrix, const char *text)
{
    size_t width = ath_text_width(text);
    fprintf(matrix->out, "%s%*s  ", text, (int)(width < matrix->width ? matrix->width - width : 0),
            "");
}

static char *gpu_cell(const struct ath_machine *machine, size_t a, size_t b)
{
    struct ath_gpu_pair pair;
    ath_gpu_pair_look(machine, a, b, &pair);
    char *word = ath_gpu_pair_word(machine, &pair);
    return word ? word : ath_xstrdup("?");
}

static char *cell(const struct ath_machine *machine, size_t row, size_t column)
{
    size_t gpus = machine->gpu_count;

    if (row == column)
        return ath_xstrdup("X");
    if (row < gpus && column < gpus)
        return gpu_cell(machine, row, column);
    if (row >= gpus && column >= gpus)
        return ath_xstrdup(ath_pci_class_word(
            ath_class_of_nics(&machine->nics[row - gpus], &machine->nics[column - gpus])));
    size_t gpu = row < gpus ? row : column, nic = row < gpus ? column : row;
    return ath_xstrdup(
        ath_pci_class_word(ath_class_of_pair(&machine->gpus[gpu], &machine->nics[nic - gpus])));
}

static int node_of(const struct ath_machine *machine, size_t item)
{
    return item < machine->gpu_count ? machine->gpus[item].numa_node
                                     : machine->nics[item - machine->gpu_count].numa_node;
}

/* "0-63"; "-" for a node without CPUs, "?" for an unknown node. The caller frees it. */
static char *cpu_affinity(const struct ath_machine *machine, int id)
{
    const struct ath_numa_node *node = id < 0 ? NULL : ath_machine_node(machine, id);
    if (!node)
        return ath_xstrdup("?");
    char *cpus = ath_idset_format(&node->cpus);
    if (*cpus)
        return cpus;
    free(cpus);
    return ath_xstrdup("-");
}

static void print_padded(FILE *out, const char *text, size_t width)
{
    fprintf(out, "%-*s  ", (int)width, text);
}

static void print_affinity(struct matrix *matrix, size_t item, size_t cpu_width)
{
    const struct ath_machine *machine = matrix->machine;
    int id = node_of(machine, item);
    int memory = item < machine->gpu_count ? machine->gpus[item].memory_node : ATH_UNKNOWN;
    ath_auto_free char *cpus = cpu_affinity(machine, id);
    ath_auto_free char *node = id < 0 ? ath_xstrdup("?") : ath_xasprintf("%d", id);
    ath_auto_free char *gpu_node = memory < 0 ? ath_xstrdup("N/A") : ath_xasprintf("%d", memory);

    print_padded(matrix->out, cpus, cpu_width);
    print_padded(matrix->out, node, strlen(affinity_heads[1]));
    fprintf(matrix->out, "%s\n", gpu_node);
}

static size_t widest_affinity(const struct ath_machine *machine, size_t count)
{
    size_t widest = strlen(affinity_heads[0]);
    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *cpus = cpu_affinity(machine, node_of(machine, i));
        if (strlen(cpus) > widest)
            widest = strlen(cpus);
    }
    return widest;
}

static void print_matrix(struct matrix *matrix)
{
    const struct ath_style *style = matrix->style;
    size_t cpu_width = widest_affinity(matrix->machine, matrix->count);

    fputs(ath_style_on(style, ATH_ROLE_HEADING), matrix->out);
    print_cell(matrix, "");
    for (size_t i = 0; i < matrix->count; i++)
        print_cell(matrix, matrix->names[i]);
    print_padded(matrix->out, affinity_heads[0], cpu_width);
    fprintf(matrix->out, "%s  %s%s\n", affinity_heads[1], affinity_heads[2],
            ath_style_off(style, ATH_ROLE_HEADING));
    for (size_t row = 0; row < matrix->count; row++) {
        fputs(ath_style_on(style, ATH_ROLE_NAME), matrix->out);
        print_cell(matrix, matrix->names[row]);
        fputs(ath_style_off(style, ATH_ROLE_NAME), matrix->out);
        for (size_t column = 0; column < matrix->count; column++) {
            ath_auto_free char *text = cell(matrix->machine, row, column);
            print_cell(matrix, text);
        }
        print_affinity(matrix, row, cpu_width);
    }
}

static void add_part(struct ath_text *text, const char *format, const char *part)
{
    if (!part)
        return;
    ath_text_add(text, "%s", text->length ? ", " : "");
    ath_text_add(text, format, part);
}

static void print_nic_legend(struct matrix *matrix, size_t index)
{
    const struct ath_nic *nic = &matrix->machine->nics[index];
    ath_auto_free char *device = ath_words_device(nic->vendor_id, nic->device_id, nic->model);
    ATH_AUTO(ath_text) text = { 0 };
    char pci[ATH_PCI_TEXT];

    add_part(&text, "%s", nic->netdev ? nic->netdev : _("no network device"));
    add_part(&text, "%s", nic->has_pci ? ath_pci_format(&nic->pci, pci) : NULL);
    add_part(&text, _("card %s"), nic->card);
    add_part(&text, "%s", *device ? device : NULL);
    ath_auto_free char *words = ath_text_take(&text);
    ath_style_print(
        matrix->style, matrix->out,
        &(struct ath_paragraph){ .prefix = "  ",
                                 .label = matrix->names[matrix->machine->gpu_count + index],
                                 .label_role = ATH_ROLE_NAME,
                                 .label_columns = matrix->width,
                                 .text = words });
}

static void print_heading(struct matrix *matrix, const char *heading)
{
    fprintf(matrix->out, "\n%s%s%s\n", ath_style_on(matrix->style, ATH_ROLE_HEADING), heading,
            ath_style_off(matrix->style, ATH_ROLE_HEADING));
}

/* Returns a cell of the table of bandwidths: "75", "15.8", "32t" from our table, "70.1m" if it was
 * measured. The caller frees it. */
static char *bandwidth_cell(const struct ath_machine *machine, size_t a, size_t b)
{
    struct ath_gpu_pair pair;

    if (a == b)
        return ath_xstrdup("X");
    ath_gpu_pair_look(machine, a, b, &pair);
    if (pair.bandwidth_bytes_per_s < 0)
        return ath_xstrdup("?");
    ath_auto_free char *number = ath_words_gigabytes(pair.bandwidth_bytes_per_s);
    return ath_xasprintf("%s%s", number,
                         pair.source == ATH_FIGURE_TABLE      ? "t"
                         : pair.source == ATH_FIGURE_MEASURED ? "m"
                                                              : "");
}

static bool has_bandwidth(const struct ath_machine *machine, enum ath_figure_source source)
{
    struct ath_gpu_pair pair;

    for (size_t a = 0; a < machine->gpu_count; a++)
        for (size_t b = a + 1; b < machine->gpu_count; b++) {
            ath_gpu_pair_look(machine, a, b, &pair);
            if (pair.bandwidth_bytes_per_s >= 0 && pair.source == source)
                return true;
        }
    return false;
}

/* Prints the last cell of a line without blanks behind it. */
static void print_gpu_cell(struct matrix *matrix, size_t column, const char *text)
{
    if (column + 1 < matrix->machine->gpu_count)
        print_cell(matrix, text);
    else
        fprintf(matrix->out, "%s\n", text);
}

/* Prints the bandwidths between GPUs, if any is known. */
static void print_bandwidths(struct matrix *matrix)
{
    const struct ath_machine *machine = matrix->machine;
    bool has_table = has_bandwidth(machine, ATH_FIGURE_TABLE),
         has_measured = has_bandwidth(machine, ATH_FIGURE_MEASURED);

    if (!has_table && !has_measured && !has_bandwidth(machine, ATH_FIGURE_DRIVER))
        return;
    print_heading(
        matrix,
        has_table && has_measured
            ? _("GB/s from GPU to GPU, in one direction (m: measured, t: from a table of links)")
        : has_measured ? _("GB/s from GPU to GPU, in one direction (m: measured)")
        : has_table    ? _("GB/s from GPU to GPU, in one direction (t: from a table of links)")
                       : _("GB/s from GPU to GPU, in one direction"));
    print_cell(matrix, "");
    for (size_t i = 0; i < machine->gpu_count; i++)
        print_gpu_cell(matrix, i, matrix->names[i]);
    for (size_t row = 0; row < machine->gpu_count; row++) {
        print_cell(matrix, matrix->names[row]);
        for (size_t column = 0; column < machine->gpu_count; column++) {
            ath_auto_free char *text = bandwidth_cell(machine, row, column);
            print_gpu_cell(matrix, column, text);
        }
    }
}

static void print_legend_row(struct matrix *matrix, const char *word, const char *meaning)
{
    ath_style_print(matrix->style, matrix->out,
                    &(struct ath_paragraph){
                        .prefix = "  ", .label = word, .label_columns = 4, .text = meaning });
}

static void print_class_legend(struct matrix *matrix)
{
    static const enum ath_pci_class classes[] = { ATH_PCI_SAME, ATH_PCI_PIX,  ATH_PCI_PXB,
                                                  ATH_PCI_PHB,  ATH_PCI_NODE, ATH_PCI_SYS };

    print_heading(matrix, _("Legend"));
    for (size_t i = 0; i < ATH_COUNT(classes); i++) {
        print_legend_row(matrix, ath_pci_class_word(classes[i]), ath_words_class(classes[i]));
    }
    print_legend_row(matrix, "NV#",
                     _("# NVLinks in parallel, direct or through NVSwitches; NV? if their number "
                       "is not known"));
    print_legend_row(matrix, "XGMI", _("AMD's links between GPUs"));
    print_legend_row(matrix, "?", ath_words_class(ATH_PCI_UNKNOWN));
    if (matrix->marks)
        print_legend_row(matrix, "*",
                         matrix->marks->group_count == 1
                             ? _("a chosen GPU")
                             : _("a chosen GPU, with the number of its group"));
}

void ath_machine_draw_matrix(const struct ath_style *style, FILE *out,
                             const struct ath_machine *machine, const struct ath_marks *marks)
{
    struct matrix matrix = {
        .style = style, .out = out, .machine = machine, .marks = marks, .width = 4
    };

    ath_outline_make(matrix.machine, &matrix.outline);
    name_items(&matrix);
    print_matrix(&matrix);
    print_bandwidths(&matrix);
    if (matrix.machine->nic_count)
        print_heading(&matrix, _("Network ports"));
    for (size_t i = 0; i < matrix.machine->nic_count; i++)
        print_nic_legend(&matrix, i);
    print_class_legend(&matrix);
    for (size_t i = 0; i < matrix.count; i++)
        free(matrix.names[i]);
    free(matrix.names);
    ath_outline_free(&matrix.outline);
}

void ath_machine_to_matrix(const struct ath_style *style, FILE *out, const void *data)
{
    ath_machine_draw_matrix(style, out, data, NULL);
}
