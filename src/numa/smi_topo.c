/* Turns a table of `nvidia-smi topo -m` into NVLinks of GPUs. */
#include "config.h"

#include "numa/smi_topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "numa/warning.h"

enum { LINKS_OF_A_GPU = 18 }; /* of Hopper and Blackwell; older ones have fewer */

static int parse_table(char *text, struct ath_smi_table *out, struct ath_err *err)
{
    int status = 0, number = 0;

    ath_smi_clean(text);
    for (char *line, *rest = text; !status && (line = strsep(&rest, "\n"));)
        ath_smi_table_add(out, line, ++number, &status, err);
    return status ? status : ath_smi_table_check(out, false, err);
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

void ath_smi_topo_link(const struct ath_smi_table *table, struct ath_gpu *const *gpus)
{
    for (size_t i = 0; i < table->gpu_count; i++)
        add_links(gpus[i], ath_smi_table_links(table, i), gpus, (int)table->gpu_count);
}

int ath_smi_topo_parse(char *text, struct ath_machine *machine, struct ath_err *err)
{
    ATH_AUTO(ath_smi_table) table = { 0 };
    int count;
    ath_auto_free struct ath_gpu **gpus = gpus_of(machine, &count);
    int status = parse_table(text, &table, err);
    if (status)
        return status;
    if ((int)table.gpu_count != count)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("GPUs in the table: %zu; GPUs that NVIDIA's driver runs: %d"),
                           table.gpu_count, count);
    ath_smi_topo_link(&table, gpus);
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
