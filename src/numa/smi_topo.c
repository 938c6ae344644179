#include "config.h"

#include "numa/smi_topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "numa/warning.h"

enum {
    GPUS_MAX = 256,
    CELLS_MAX = GPUS_MAX + 1,
    NO_ROW = -1,
    LINKS_OF_A_GPU = 18, /* of Hopper and Blackwell; older ones have fewer */
};

struct table {
    int count;  /* of GPUs */
    int *links; /* count x count; NO_ROW in a row that is missing */
};

static void table_free(struct table *table)
{
    free(table->links);
}

static int *row_of(const struct table *table, int row)
{
    return table->links + (size_t)row * (size_t)table->count;
}

/* Takes colours (ECMA-48, "ESC [ 4 m") and carriage returns out of a text. */
static void clean(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        if (*from == '\r')
            continue;
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

/* Parts a line at its tabs, or at blanks if it has none: a copy from a terminal. Leaves the empty
 * cell before the names of the columns out. Returns the number of cells. */
static int split(char *line, char *cells[CELLS_MAX])
{
    const char *separators = strchr(line, '\t') ? "\t" : " ";
    int count = 0;
    for (char *word, *rest = line; count < CELLS_MAX && (word = strsep(&rest, separators));) {
        word += strspn(word, " ");
        word[strcspn(word, " ")] = '\0';
        if (*word)
            cells[count++] = word;
    }
    return count;
}

/* Returns the number of a name like "GPU3", or -1. */
static int gpu_number(const char *name)
{
    int number;
    return ath_starts_with(name, "GPU") && !ath_parse_int(name + strlen("GPU"), 0, 99999, &number)
               ? number
               : -1;
}

/* Returns how many of the cells are GPU0, GPU1, ...; the columns of NICs and CPUs follow. */
static int count_gpus(char *const cells[], int count)
{
    int gpus = 0;
    while (gpus < count && gpu_number(cells[gpus]) == gpus)
        gpus++;
    return gpus;
}

/* Returns the NVLinks of a cell, 0 for a way over the host, or -1 for another word. */
static int links_of(const char *cell)
{
    static const char *const ways[] = { "X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC" };
    int links;
    if (ath_starts_with(cell, "NV") && !ath_parse_int(cell + strlen("NV"), 1, 99, &links))
        return links;
    for (size_t i = 0; i < ATH_COUNT(ways); i++)
        if (!strcmp(cell, ways[i]))
            return 0;
    return -1;
}

static int take_row(struct table *table, char *const cells[], int count, struct ath_err *err)
{
    int row = count ? gpu_number(cells[0]) : -1;
    if (row < 0 || row >= table->count)
        return 0; /* a NIC, the legend, or the prompt behind the table */
    if (count <= table->count)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID, _("the row GPU%d is cut"), row);
    for (int column = 0; column < table->count; column++) {
        int links = links_of(cells[1 + column]);
        if (links < 0)
            return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                               _("the cell '%.16s' of GPU%d and GPU%d is no word of the legend"),
                               cells[1 + column], row, column);
        row_of(table, row)[column] = links;
    }
    return 0;
}

static int check(const struct table *table, struct ath_err *err)
{
    int count = table->count;
    for (int i = 0; i < count; i++)
        if (*row_of(table, i) == NO_ROW)
            return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID, _("the row GPU%d is missing"),
                               i);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < i; j++)
            if (row_of(table, i)[j] != row_of(table, j)[i])
                return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                                   _("GPU%d and GPU%d say different things about each other"), j,
                                   i);
    return 0;
}

static int parse_table(char *text, struct table *out, struct ath_err *err)
{
    int status = 0;
    clean(text);
    for (char *line, *rest = text; !status && (line = strsep(&rest, "\n"));) {
        char *cells[CELLS_MAX];
        int count = split(line, cells);
        int gpus = count_gpus(cells, count);
        if (out->links) {
            status = take_row(out, cells, count, err);
        } else if (gpus && (count == 1 || strcmp(cells[1], "X"))) { /* not the row of GPU0 */
            out->count = gpus;
            out->links = ath_xalloc((size_t)gpus * (size_t)gpus * sizeof *out->links);
            for (int i = 0; i < gpus * gpus; i++)
                out->links[i] = NO_ROW;
        }
    }
    if (status)
        return status;
    if (!out->links)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("no line names the columns GPU0, GPU1, ..."));
    return check(out, err);
}

static int compare_gpus(const void *a, const void *b)
{
    const struct ath_gpu *const *x = a, *const *y = b;
    return ath_pci_compare(&(*x)->pci, &(*y)->pci);
}

/* nvidia-smi lists the GPUs that NVIDIA's driver runs. */
static bool is_listed(const struct ath_gpu *gpu)
{
    bool is_other = gpu->knows_driver && (!gpu->driver || strcmp(gpu->driver, "nvidia") != 0);
    return gpu->vendor_id == ATH_VENDOR_NVIDIA && !is_other;
}

/* Returns the GPUs of nvidia-smi by PCI address. The caller frees the list. */
static struct ath_gpu **gpus_of(const struct ath_machine *machine, int *out_count)
{
    struct ath_gpu **gpus = ath_xalloc((machine->gpu_count + 1) * sizeof(struct ath_gpu *));
    size_t count = 0;
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (is_listed(&machine->gpus[i]))
            gpus[count++] = &machine->gpus[i];
    qsort(gpus, count, sizeof *gpus, compare_gpus);
    *out_count = (int)count;
    return gpus;
}

static struct ath_nvlink *add_link(struct ath_gpu *gpu, enum ath_peer_kind kind, int count)
{
    struct ath_nvlink *link = ath_push(&gpu->nvlinks, &gpu->nvlink_count, sizeof *link);
    *link = (struct ath_nvlink){ .kind = kind, .count = count, .speed_mbps = ATH_UNKNOWN };
    return link;
}

/* Gives a GPU the links of its row. If these are more than a GPU has, it reaches every peer over
 * the same links to switches; as with NVML, the switches are an entry, too. */
static void add_links(struct ath_gpu *gpu, const int *row, struct ath_gpu *const *gpus, int count)
{
    int sum = 0, most = 0;

    for (int i = 0; i < count; i++) {
        sum += row[i];
        most = row[i] > most ? row[i] : most;
    }
    bool is_switched = sum > LINKS_OF_A_GPU;
    gpu->has_nvlinks = true;
    if (is_switched)
        add_link(gpu, ATH_PEER_SWITCH, most);
    for (int i = 0; i < count; i++) {
        if (!row[i])
            continue;
        struct ath_nvlink *link = add_link(gpu, ATH_PEER_GPU, row[i]);
        link->has_peer = true;
        link->peer = gpus[i]->pci;
        link->is_through_switch = is_switched;
    }
}

int ath_smi_topo_parse(char *text, struct ath_machine *machine, struct ath_err *err)
{
    __attribute__((cleanup(table_free))) struct table table = { 0 };
    int count;
    ath_auto_free struct ath_gpu **gpus = gpus_of(machine, &count);
    int status = parse_table(text, &table, err);
    if (status)
        return status;
    if (table.count != count)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("GPUs in the table: %d; GPUs that NVIDIA's driver runs: %d"),
                           table.count, count);
    for (int i = 0; i < count; i++)
        add_links(gpus[i], row_of(&table, i), gpus, count);
    return 0;
}

void ath_smi_topo_read(const struct ath_root *root, struct ath_machine *machine)
{
    ath_auto_free char *text = ath_root_read(root, "%s", ATH_SMI_TOPO_FILE);
    struct ath_err err = { 0 };
    const char *why = NULL;

    if (!text && errno != ENOENT)
        why = strerror(errno);
    else if (text && ath_smi_topo_parse(text, machine, &err))
        why = err.message;
    if (why)
        ath_warning_add(machine, ATH_W_SMI_TOPO, ATH_SMI_TOPO_FILE, why, NULL);
}
