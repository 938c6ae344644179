/* The texts of `nvidia-smi topo -m`, `nvidia-smi -L` and `numactl -H` as a machine. */
#include "config.h"

#include "numa/topology_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/i18n.h"
#include "base/text.h"
#include "numa/numactl.h"
#include "numa/smi_table.h"
#include "numa/smi_topo.h"
#include "numa/topology_xml.h"
#include "numa/warning.h"

static const char topo_hint[] = "nvidia-smi topo -m > topo.txt";
static const char numactl_hint[] = "numactl -H > numactl.txt";

/* A line of `nvidia-smi -L`. */
struct named_gpu {
    int number, line;
    char *model, *uuid;
};

struct texts {
    struct ath_machine machine;
    struct ath_smi_table table;
    struct ath_numactl numactl;
    struct named_gpu *named;
    size_t named_count;
    char *table_file, *numactl_file, *names_file; /* the files that these came from */
};

static void texts_free(struct texts *texts)
{
    for (size_t i = 0; i < texts->named_count; i++) {
        free(texts->named[i].model);
        free(texts->named[i].uuid);
    }
    free(texts->named);
    free(texts->table_file);
    free(texts->numactl_file);
    free(texts->names_file);
    ath_smi_table_free(&texts->table);
    ath_numactl_free(&texts->numactl);
    ath_machine_free(&texts->machine);
}

bool ath_topology_is_text(const char *data, size_t length)
{
    enum { LOOK_BYTES = 1 << 20 };
    static const char *const words[] = { "GPU0", "available: ", " cpus: ", "(UUID: GPU-" };
    static const char utf16[] = "G\0P\0U"; /* add_text() refuses it */
    static const char document[] = "aitherion.topology/";
    size_t begin = length < LOOK_BYTES ? length : LOOK_BYTES;
    size_t at = ath_utf8_mark(data, length);

    while (at < length && strchr(" \t\r\n", data[at]) && data[at])
        at++;
    if ((at < length && data[at] == '<') || memmem(data, begin, document, strlen(document)))
        return false;
    if (memmem(data, begin, utf16, sizeof utf16 - 1))
        return true;
    for (size_t i = 0; i < ATH_COUNT(words); i++)
        if (memmem(data, begin, words[i], strlen(words[i])))
            return true;
    return false;
}

/* ---- lines ---- */

/* Takes "GPU 0: Tesla V100-SXM2-32GB (UUID: GPU-...)". Returns false for another line. */
static bool take_name(struct texts *texts, const char *line, int number)
{
    static const char word[] = "GPU ", mark[] = " (UUID: ";
    const char *rest = line + strspn(line, " \t"), *colon = strchr(rest, ':'),
               *uuid = strstr(rest, mark);
    int gpu;

    if (!ath_starts_with(rest, word) || !colon || !uuid || uuid < colon)
        return false;
    rest += strlen(word);
    ath_auto_free char *digits = ath_xasprintf("%.*s", (int)(colon - rest), rest);
    if (ath_parse_int(digits, 0, 99999, &gpu))
        return false;
    colon += 1 + strspn(colon + 1, " ");
    struct named_gpu *named = ath_push(&texts->named, &texts->named_count, sizeof *named);
    const char *end = uuid + strlen(mark);
    *named =
        (struct named_gpu){ gpu, number,
                            ath_xasprintf("%.*s", uuid > colon ? (int)(uuid - colon) : 0, colon),
                            ath_xasprintf("%.*s", (int)strcspn(end, ") "), end) };
    return true;
}

static void remember(char **file, const char *name)
{
    if (!*file)
        *file = ath_xstrdup(name);
}

/* Adds the place to an error. */
static int fault_at(const char *name, int line, int status, struct ath_err *err)
{
    return ath_err_wrap(err, status, "%s:%d", name, line);
}

static int add_line(struct texts *texts, const char *name, char *line, int number,
                    struct ath_err *err)
{
    int status = 0;

    if (ath_smi_table_add(&texts->table, line, number, &status, err)) {
        remember(&texts->table_file, name);
        if (status)
            ath_err_hint(err, status, "%s", topo_hint);
    } else if (ath_numactl_add(&texts->numactl, line, number, &status, err)) {
        remember(&texts->numactl_file, name);
        if (status)
            ath_err_hint(err, status, "%s", numactl_hint);
    } else if (take_name(texts, line, number)) {
        remember(&texts->names_file, name);
    }
    return status ? fault_at(name, number, status, err) : 0;
}

/* Adds the lines of a file. */
static int add_text(struct texts *texts, const char *name, const char *data, size_t length,
                    struct ath_err *err)
{
    int status = 0, number = 0;

    if (memchr(data, '\0', length)) {
        ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                    _("'%s' is no text of UTF-8: it has bytes of value 0"), name);
        return ath_err_hint(err, -EINVAL, "iconv -f UTF-16 -t UTF-8 FILE > topo.txt");
    }
    size_t mark = ath_utf8_mark(data, length);
    ath_auto_free char *copy = ath_xasprintf("%.*s", (int)(length - mark), data + mark);
    texts->numactl.machine = &texts->machine;
    ath_smi_clean(copy);
    for (char *line, *rest = copy; !status && (line = strsep(&rest, "\n"));)
        status = add_line(texts, name, line, ++number, err);
    return status;
}

/* ---- the machine ---- */

/* Returns the node that has all these CPUs, or ATH_UNKNOWN. */
static int node_with(const struct ath_machine *machine, const struct ath_idset *cpus)
{
    for (size_t i = 0; cpus->range_count && i < machine->node_count; i++) {
        ATH_AUTO(ath_idset) outside = { 0 };
        ath_idset_subtract(cpus, &machine->nodes[i].cpus, &outside);
        if (!outside.range_count)
            return machine->nodes[i].id;
    }
    return ATH_UNKNOWN;
}

/* A GPU's node is the one that the table names. If it names none, or several (GB200: also those
 * that parts of a GPU may get), it is the one that has the GPU's CPUs in the text of numactl. */
static int find_node(const struct texts *texts, size_t gpu, int *out, struct ath_err *err)
{
    const struct ath_smi_affinity *affinity = &texts->table.affinities[gpu];
    const struct ath_machine *machine = &texts->machine;
    bool has_list = texts->numactl.has_begun;

    *out = ATH_UNKNOWN;
    if (ath_idset_count(&affinity->nodes) == 1)
        *out = affinity->nodes.ranges[0].first;
    else if (has_list)
        *out = node_with(machine, &affinity->cpus);
    if (*out == ATH_UNKNOWN || !has_list || ath_machine_find_node(machine, *out))
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                _("GPU%zu belongs to NUMA node %d, which the text of `numactl -H` in '%s' does not "
                  "have"),
                gpu, *out, texts->numactl_file);
    return ath_err_hint(err, -EINVAL, _("write both texts on one machine: %s; %s"), topo_hint,
                        numactl_hint);
}

/* Without the text of numactl, the nodes are those that GPUs name, with the GPUs' CPUs. */
static void add_node(struct ath_machine *machine, int id, const struct ath_idset *cpus)
{
    if (id == ATH_UNKNOWN || ath_machine_find_node(machine, id))
        return;
    struct ath_numa_node *node = ath_machine_add_node(machine, id);
    node->is_online = true;
    if (cpus)
        ath_idset_copy(cpus, &node->cpus);
}

static int add_gpus(struct texts *texts, struct ath_err *err)
{
    struct ath_machine *machine = &texts->machine;
    const struct ath_smi_table *table = &texts->table;
    ath_auto_free struct ath_gpu **gpus = ath_xalloc(table->gpu_count * sizeof(struct ath_gpu *));
    int node, status;

    for (size_t i = 0; i < table->gpu_count; i++) {
        const struct ath_smi_affinity *affinity = &table->affinities[i];
        const struct ath_pci key = ath_pci_numbered((uint32_t)i);
        if ((status = find_node(texts, i, &node, err)))
            return status;
        struct ath_gpu *gpu = ath_machine_add_gpu(machine, &key);
        gpu->vendor_id = ATH_VENDOR_NVIDIA;
        gpu->numa_node = node;
        gpu->memory_node = affinity->memory_node;
        gpu->classes = (struct ath_pci_row){ machine->classes + i * table->count, i };
        if (texts->numactl.has_begun)
            continue;
        add_node(machine, node, &affinity->cpus);
        add_node(machine, affinity->memory_node, NULL);
    }
    for (size_t i = 0; i < table->gpu_count; i++)
        gpus[i] = &machine->gpus[i];
    ath_smi_topo_link(table, gpus);
    return 0;
}

/* Returns the node of the GPUs that a card is on one node with; ATH_UNKNOWN if it is not known. */
static int node_of_card(const struct texts *texts, size_t card)
{
    const struct ath_smi_table *table = &texts->table;
    int node = ATH_UNKNOWN;

    for (size_t i = 0; i < table->gpu_count; i++) {
        enum ath_pci_class class = (enum ath_pci_class)table->classes[i * table->count + card];
        int own = texts->machine.gpus[i].numa_node;
        if (class == ATH_PCI_UNKNOWN || class == ATH_PCI_SYS || own == ATH_UNKNOWN)
            continue;
        if (node != ATH_UNKNOWN && node != own)
            return ATH_UNKNOWN;
        node = own;
    }
    return node;
}

static void add_cards(struct texts *texts)
{
    const struct ath_smi_table *table = &texts->table;

    for (size_t i = table->gpu_count; i < table->count; i++) {
        const char *name = table->names[i];
        bool is_numbered = ath_starts_with(name, "NIC"); /* old versions write the name itself */
        struct ath_nic *nic = ath_machine_add_nic(&texts->machine);
        nic->rdma_device = ath_xstrdup(table->devices[i] ? table->devices[i]
                                       : is_numbered     ? NULL
                                                         : name);
        nic->numa_node = node_of_card(texts, i);
        nic->classes = (struct ath_pci_row){ texts->machine.classes + i * table->count, i };
    }
}

static int name_gpus(struct texts *texts, struct ath_err *err)
{
    for (size_t i = 0; i < texts->named_count; i++) {
        struct named_gpu *named = &texts->named[i];
        struct ath_gpu *gpu = (size_t)named->number < texts->machine.gpu_count
                                  ? &texts->machine.gpus[named->number]
                                  : NULL;
        if (!gpu || gpu->uuid) {
            ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                        gpu ? _("GPU %d is named a second time: give the texts of one machine")
                            : _("the table of `nvidia-smi topo -m` has no GPU %d"),
                        named->number);
            ath_err_hint(err, -EINVAL, "nvidia-smi -L > gpus.txt");
            return fault_at(texts->names_file, named->line, -EINVAL, err);
        }
        gpu->model = ath_steal(&named->model);
        gpu->uuid = ath_steal(&named->uuid);
    }
    return 0;
}

/* Names the facts that no text has. */
static void warn_of_gaps(struct texts *texts)
{
    bool has_nodes = texts->numactl.has_begun, has_models = texts->named_count;
    const char *gaps = has_nodes && has_models ? _("PCI addresses")
                       : has_nodes             ? _("PCI addresses, models of the GPUs")
                       : has_models
                           ? _("PCI addresses, memory, distances between NUMA nodes")
                           : _("PCI addresses, models of the GPUs, memory, distances between NUMA "
                               "nodes");
    ath_warning_add(&texts->machine, ATH_W_INCOMPLETE, texts->table_file, gaps, NULL);
}

/* Checks that no text is missing or cut. names: all files. */
static int check(const struct texts *texts, const char *names, struct ath_err *err)
{
    if (!texts->table.count) {
        ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                    _("'%s' has no table of `nvidia-smi topo -m`: no line names the columns GPU0, "
                      "GPU1, ..."),
                    names);
        return ath_err_hint(err, -EINVAL, _("%s; then give both files: --topology topo.txt,%s"),
                            topo_hint, texts->numactl_file ? texts->numactl_file : "numactl.txt");
    }
    int status = ath_smi_table_check(&texts->table, true, err);
    if (status) {
        ath_err_hint(err, status, "%s", topo_hint);
        return fault_at(texts->table_file, texts->table.head_line, status, err);
    }
    status = ath_numactl_check(&texts->numactl, err);
    if (!status)
        return 0;
    ath_err_hint(err, status, "%s", numactl_hint);
    return fault_at(texts->numactl_file, texts->numactl.begin_line, status, err);
}

static int finish(struct texts *texts, const char *names, struct ath_machine *out,
                  struct ath_err *err)
{
    struct ath_machine *machine = &texts->machine;
    size_t cells = texts->table.count * texts->table.count;
    int status = check(texts, names, err);

    if (status || !texts->table.classes)
        return status;
    machine->profile = "generic";
    machine->source = ATH_SOURCE_XML;
    machine->is_text = true;
    machine->classes = ath_xalloc(cells);
    memcpy(machine->classes, texts->table.classes, cells);
    status = add_gpus(texts, err);
    if (status)
        return fault_at(texts->table_file, texts->table.head_line, status, err);
    add_cards(texts);
    status = name_gpus(texts, err);
    if (status)
        return status;
    warn_of_gaps(texts);
    *out = *machine;
    *machine = (struct ath_machine){ 0 };
    return 0;
}

int ath_topology_parse_text(const char *name, const char *data, size_t length,
                            struct ath_machine *out, struct ath_err *err)
{
    ATH_AUTO(texts) texts = { 0 };
    int status = add_text(&texts, name, data, length, err);

    return status ? status : finish(&texts, name, out, err);
}

static int add_file(struct texts *texts, const char *path, struct ath_err *err)
{
    ath_auto_free char *data = NULL;
    size_t length;
    int status = ath_file_read(path, ATH_TOPOLOGY_BYTES_MAX, &data, &length, err);

    if (status)
        return status;
    if (ath_topology_is_text(data, length))
        return add_text(texts, path, data, length, err);
    ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                _("'%s' is not one of the texts that can be given together"), path);
    return ath_err_hint(err, -EINVAL,
                        _("give the texts of one machine: nvidia-smi topo "
                          "-m; numactl -H; nvidia-smi -L"));
}

int ath_topology_read_texts(const char *paths, struct ath_machine *out, struct ath_err *err)
{
    ATH_AUTO(texts) texts = { 0 };
    const char *rest = paths, *part;
    size_t length;

    while ((part = ath_text_next_part(&rest, &length))) {
        ath_auto_free char *path = ath_xasprintf("%.*s", (int)length, part);
        int status = add_file(&texts, path, err);
        if (status)
            return status;
    }
    return finish(&texts, paths, out, err);
}
