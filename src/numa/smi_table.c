/*
 * The table of `nvidia-smi topo -m`.
 *
 * Columns are parted by tabs, or by blanks in a copy from a terminal. Between the NUMA affinity and
 * "GPU NUMA ID" nvidia-smi writes two tabs. Old versions name network cards in the head ("mlx5_0"),
 * newer ones "NIC0", with a legend.
 */
#include "config.h"

#include "numa/smi_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/pci.h"
#include "base/text.h"
#include "base/unknown.h"

enum {
    GPUS_MAX = 256,
    DEVICES_MAX = 1024,
    LAST_COUNT = 3,
    CELLS_MAX = DEVICES_MAX + 2 * LAST_COUNT + 2,
    NO_WORD = -1,
    ROW_CPUS = 0,
    ROW_NODES,
    ROW_MEMORY,
};

static const char *const last_heads[LAST_COUNT] = { "CPU Affinity", "NUMA Affinity",
                                                    "GPU NUMA ID" };

static const char blanks[] = " \t";

struct cell {
    char *text;
    int start; /* offset in the line */
};

struct cells {
    struct cell items[CELLS_MAX];
    size_t count;
    bool has_tabs; /* then empty cells are kept, but none in front */
};

void ath_smi_table_free(struct ath_smi_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->count; i++) {
        free(table->names[i]);
        free(table->devices[i]);
    }
    for (size_t i = 0; i < table->gpu_count; i++) {
        ath_idset_free(&table->affinities[i].cpus);
        ath_idset_free(&table->affinities[i].nodes);
    }
    free(table->names);
    free(table->devices);
    free(table->has_row);
    free(table->classes);
    free(table->links);
    free(table->affinities);
    *table = (struct ath_smi_table){ 0 };
}

const int *ath_smi_table_links(const struct ath_smi_table *table, size_t gpu)
{
    return table->links + gpu * table->gpu_count;
}

/* A blank of web pages, U+00A0 in UTF-8. */
#define NO_BREAK_SPACE "\xc2\xa0"

void ath_smi_clean(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from == '\r')
            continue;
        if (ath_starts_with(from, NO_BREAK_SPACE)) {
            *to++ = ' ';
            from += strlen(NO_BREAK_SPACE) - 1;
            continue;
        }
        if (*from != '\033') {
            *to++ = *from;
            continue;
        }
        if (from[1] == '[')
            from += 1 + strspn(from + 2, "0123456789;");
        if (from[1])
            from++;
    }
    *to = '\0';
}

/* Cuts a line at its tabs, or at blanks if it has none. */
static void split(char *line, struct cells *out)
{
    out->has_tabs = strchr(line, '\t');
    out->count = 0;
    const char *separators = out->has_tabs ? "\t" : " ";
    for (char *word, *rest = line; out->count < CELLS_MAX && (word = strsep(&rest, separators));) {
        word += strspn(word, " ");
        size_t length = strlen(word);
        while (length && word[length - 1] == ' ')
            word[--length] = '\0';
        if (*word || (out->has_tabs && out->count))
            out->items[out->count++] = (struct cell){ word, (int)(word - line) };
    }
}

/* Returns the number of a name like "GPU3", or -1. */
static int gpu_number(const char *name)
{
    int number;
    return ath_starts_with(name, "GPU") && !ath_parse_int(name + strlen("GPU"), 0, 99999, &number)
               ? number
               : -1;
}

/* ---- the head ---- */

/* Finds the heads of the columns behind the table, and ends the line before them. */
static void cut_last_heads(char *line, int starts[LAST_COUNT])
{
    char *first = NULL;

    for (size_t i = 0; i < LAST_COUNT; i++) {
        char *found = strstr(line, last_heads[i]);
        starts[i] = found ? (int)(found - line) : -1;
        first = found && (!first || found < first) ? found : first;
    }
    if (first)
        *first = '\0';
}

/* True if the line names the columns. The row of GPU0 begins in the same way. */
static bool is_head(const char *line)
{
    line += strspn(line, blanks);
    size_t length = strcspn(line, blanks);
    const char *next = line + length + strspn(line + length, blanks);

    return length == strlen("GPU0") && ath_starts_with(line, "GPU0") &&
           (!*next || ath_starts_with(next, "GPU1") || strstr(next, last_heads[ROW_CPUS]));
}

static int check_names(const struct cells *cells, size_t gpus, struct ath_err *err)
{
    if (gpus > GPUS_MAX || cells->count > DEVICES_MAX)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("the table has %zu GPUs and %zu network cards, more than one machine "
                             "can have"),
                           gpus, cells->count - gpus);
    for (size_t i = gpus; i < cells->count; i++) {
        if (gpu_number(cells->items[i].text) >= 0)
            return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                               _("the column '%.16s' stands where GPU%zu or a network card is "
                                 "expected"),
                               cells->items[i].text, gpus);
        for (size_t j = gpus; j < i; j++)
            if (!strcmp(cells->items[i].text, cells->items[j].text))
                return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                                   _("the column '%.64s' occurs twice"), cells->items[i].text);
    }
    return 0;
}

static void allocate(struct ath_smi_table *table, const struct cells *cells, size_t gpus)
{
    size_t count = cells->count;

    table->names = ath_xalloc(count * sizeof *table->names);
    table->devices = ath_xalloc(count * sizeof *table->devices);
    table->has_row = ath_xalloc(count * sizeof *table->has_row);
    table->classes = ath_xalloc(count * count * sizeof *table->classes);
    table->links = ath_xalloc(gpus * gpus * sizeof *table->links);
    table->affinities = ath_xalloc(gpus * sizeof *table->affinities);
    table->gpu_count = gpus;
    table->count = count;
    for (size_t i = 0; i < count; i++)
        table->names[i] = ath_xstrdup(cells->items[i].text);
    for (size_t i = 0; i < gpus; i++)
        table->affinities[i].memory_node = ATH_UNKNOWN;
}

static int take_head(struct ath_smi_table *table, char *line, int number, struct ath_err *err)
{
    struct cells cells;
    size_t gpus = 0, kept = 0;

    if (table->count)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("a second table begins here, and the first one in line %d: give the "
                             "texts of one machine"),
                           table->head_line);
    cut_last_heads(line, table->starts);
    split(line, &cells);
    for (size_t i = 0; i < cells.count; i++)
        if (*cells.items[i].text)
            cells.items[kept++] = cells.items[i];
    cells.count = kept;
    while (gpus < cells.count && gpu_number(cells.items[gpus].text) == (int)gpus)
        gpus++;
    int status = check_names(&cells, gpus, err);
    if (status)
        return status;
    table->head_line = number;
    allocate(table, &cells, gpus);
    return 0;
}

/* ---- rows ---- */

/* Returns the class of a cell, with its NVLinks in *out_links, or NO_WORD for another word. Cells
 * of NVLinks do not tell the way over PCI. */
static int class_of(const char *cell, int *out_links)
{
    static const struct {
        const char *word;
        enum ath_pci_class class;
    } words[] = {
        { "X", ATH_PCI_SAME },      { "PIX", ATH_PCI_PIX },   { "PXB", ATH_PCI_PXB },
        { "PHB", ATH_PCI_PHB },     { "NODE", ATH_PCI_NODE }, { "SYS", ATH_PCI_SYS },
        { "SOC", ATH_PCI_SYS }, /* of versions before 2018 */
        { "N/A", ATH_PCI_UNKNOWN }, { "?", ATH_PCI_UNKNOWN },
    };
    *out_links = 0;
    if (ath_starts_with(cell, "NV") && !ath_parse_int(cell + strlen("NV"), 1, 99, out_links))
        return ATH_PCI_UNKNOWN;
    for (size_t i = 0; i < ATH_COUNT(words); i++)
        if (!strcmp(cell, words[i].word))
            return (int)words[i].class;
    return NO_WORD;
}

static int refuse_word(const struct ath_smi_table *table, const char *cell, size_t row,
                       size_t column, struct ath_err *err)
{
    return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                       _("the cell '%.16s' of %s and %s is no word of the legend"), cell,
                       table->names[row], table->names[column]);
}

static int take_cell(struct ath_smi_table *table, size_t row, size_t column, const char *cell,
                     struct ath_err *err)
{
    size_t gpus = table->gpu_count;
    int links, class = class_of(cell, &links);
    bool is_of_gpus = row < gpus && column < gpus;

    if (class == NO_WORD || (links && !is_of_gpus) || (row == column) != (class == ATH_PCI_SAME))
        return refuse_word(table, cell, row, column, err);
    table->classes[row * table->count + column] = (uint8_t) class;
    if (is_of_gpus)
        table->links[row * gpus + column] = links;
    bool differs = table->classes[column * table->count + row] != class ||
                   (is_of_gpus && table->links[column * gpus + row] != links);
    if (table->has_row[column] && differs)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("%s and %s say different things about each other"),
                           table->names[column < row ? column : row],
                           table->names[column < row ? row : column]);
    return 0;
}

/* Gives the cells behind the table to their columns: texts[i] is NULL if there is none. */
static void place_last(const struct ath_smi_table *table, const struct cells *cells, size_t first,
                       const char *texts[LAST_COUNT])
{
    size_t count = cells->count - first, heads = 0, at = first;

    for (size_t i = 0; i < LAST_COUNT; i++)
        heads += table->starts[i] >= 0;
    for (size_t i = 0; i < LAST_COUNT; i++) {
        texts[i] = NULL;
        if (table->starts[i] < 0)
            continue;
        if (!cells->has_tabs && count < heads) { /* some are blank: those below the heads */
            for (size_t j = first; j < cells->count; j++)
                if (abs(cells->items[j].start - table->starts[i]) <= 1)
                    texts[i] = cells->items[j].text;
            continue;
        }
        if (i == ROW_MEMORY && count > heads) /* behind two tabs */
            at = cells->count - 1;
        if (at < cells->count)
            texts[i] = cells->items[at++].text;
    }
}

static int refuse_affinity(const char *gpu, const char *head, const char *text, struct ath_err *err)
{
    return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                       _("the column '%s' of %s has no list of numbers: '%.32s'"), head, gpu, text);
}

static int take_affinity(struct ath_smi_table *table, size_t gpu, const struct cells *cells,
                         struct ath_err *err)
{
    struct ath_smi_affinity *affinity = &table->affinities[gpu];
    struct ath_idset memory = { 0 },
                     *sets[LAST_COUNT] = { &affinity->cpus, &affinity->nodes, &memory };
    const char *texts[LAST_COUNT];
    int status = 0;

    place_last(table, cells, 1 + table->count, texts);
    for (size_t i = 0; !status && i < LAST_COUNT; i++)
        if (texts[i] && *texts[i] && strcmp(texts[i], "N/A") != 0 && strcmp(texts[i], "?") != 0 &&
            ath_idset_parse_list(texts[i], sets[i]))
            status = refuse_affinity(table->names[gpu], last_heads[i], texts[i], err);
    if (memory.ranges && ath_idset_count(&memory) == 1)
        affinity->memory_node = memory.ranges[0].first;
    ath_idset_free(&memory);
    return status;
}

static int take_row(struct ath_smi_table *table, size_t row, struct cells *cells,
                    struct ath_err *err)
{
    int status = 0;

    if (table->has_row[row])
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID, _("the row %s occurs twice"),
                           table->names[row]);
    if (cells->count <= table->count)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID, _("the row %s is cut"),
                           table->names[row]);
    for (size_t i = 0; !status && i < table->count; i++)
        status = take_cell(table, row, i, cells->items[1 + i].text, err);
    if (!status && row < table->gpu_count)
        status = take_affinity(table, row, cells, err);
    table->has_row[row] = true;
    return status;
}

/* Takes an entry of the legend: "NIC0: mlx5_0". Returns whether it is one. */
static bool take_legend(struct ath_smi_table *table, const char *line)
{
    const char *name = line + strspn(line, blanks);
    size_t length = strcspn(name, ": \t");
    const char *device = name + length + (name[length] == ':');

    device += strspn(device, blanks);
    if (name[length] != ':' || !*device)
        return false;
    for (size_t i = table->gpu_count; i < table->count; i++)
        if (strlen(table->names[i]) == length && !strncmp(table->names[i], name, length)) {
            free(table->devices[i]);
            table->devices[i] = ath_xasprintf("%.*s", (int)strcspn(device, blanks), device);
            return true;
        }
    return false;
}

/* Returns the index of the device whose row the line is, or table->count. */
static size_t find_row(const struct ath_smi_table *table, const char *line)
{
    const char *name = line + strspn(line, blanks);
    size_t length = strcspn(name, blanks), row = 0;

    while (row < table->count &&
           (strlen(table->names[row]) != length || strncmp(table->names[row], name, length) != 0))
        row++;
    return row;
}

bool ath_smi_table_add(struct ath_smi_table *table, char *line, int number, int *status,
                       struct ath_err *err)
{
    struct cells cells;

    if (is_head(line)) {
        *status = take_head(table, line, number, err);
        return true;
    }
    if (!table->count)
        return false;
    if (take_legend(table, line))
        return true;
    size_t row = find_row(table, line);
    if (row == table->count)
        return false;
    split(line, &cells);
    *status = take_row(table, row, &cells, err);
    return true;
}

int ath_smi_table_check(const struct ath_smi_table *table, bool with_cards, struct ath_err *err)
{
    if (!table->count)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("no line names the columns GPU0, GPU1, ..."));
    for (size_t i = 0; i < (with_cards ? table->count : table->gpu_count); i++)
        if (!table->has_row[i])
            return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID, _("the row %s is missing"),
                               table->names[i]);
    return 0;
}
