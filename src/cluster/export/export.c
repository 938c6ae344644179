/* The table of exports, and their common parts. */
#include "config.h"

#include "cluster/export/export.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "numa/gpu_links.h"
#include "place/gpu_pair.h"

const struct ath_export_kind ath_export_kinds[] = {
    { .name = "labels",
      .help = N_("labels and an annotation of Kubernetes nodes: GPUs, NUMA nodes, rack, switches"),
      .make = ath_export_labels },
    { .name = "configmap",
      .help = N_("the ConfigMap gpu-topology-config with each machine's GPUs as JSON"),
      .make = ath_export_configmap },
    { .name = "kubelet",
      .help = N_("the part of kubelet's configuration for NUMA nodes"),
      .takes_reserved = true,
      .make = ath_export_kubelet },
    { .name = "pod",
      .help = N_("a pod for --gpus K on the best place, one for each node"),
      .takes_gpus = true,
      .make = ath_export_pod },
    { .name = "slurm",
      .help = N_("gres.conf with Links and Cores, lines for slurm.conf, and topology.conf"),
      .make = ath_export_slurm },
    { .name = "nrt",
      .help = N_("NodeResourceTopology, for the scheduler plugin that knows NUMA nodes"),
      .make = ath_export_nrt },
    { .name = "resourceslice",
      .help = N_("ResourceSlices of Kubernetes (dynamic resource allocation)"),
      .make = ath_export_resourceslice },
    { .name = "hypernode",
      .help = N_("Volcano's HyperNodes, one for each switch"),
      .needs_switches = true,
      .make = ath_export_hypernode },
    { .name = "topograph",
      .help = N_("the model of topograph: the switches above each node"),
      .needs_switches = true,
      .make = ath_export_topograph },
    { .name = NULL },
};

#define WORD(name) #name,
const char *const ath_export_words[] = { ATH_EXPORT_KINDS(WORD) NULL };
#undef WORD

void ath_export_free(struct ath_export *export)
{
    if (!export)
        return;
    for (size_t i = 0; i < export->count; i++) {
        free(export->files[i].name);
        free(export->files[i].text);
        json_decref(export->files[i].value);
    }
    free(export->files);
    *export = (struct ath_export){ 0 };
}

static struct ath_export_file *add_file(struct ath_export *export, const char *name)
{
    struct ath_export_file *file = ath_push(&export->files, &export->count, sizeof *file);
    file->name = ath_xstrdup(name);
    return file;
}

void ath_export_add_value(struct ath_export *export, const char *name, json_t *value)
{
    struct ath_export_file *file = add_file(export, name);
    const char *dot = strrchr(name, '.');
    file->value = value;
    file->is_json = dot && !strcmp(dot, ".json");
}

void ath_export_add_text(struct ath_export *export, const char *name, char *text)
{
    add_file(export, name)->text = text;
}

int ath_export_make(const struct ath_export_kind *kind, const struct ath_export_request *request,
                    struct ath_export *out, struct ath_err *err)
{
    struct ath_export export = { 0 };

    if (kind->needs_switches && request->cluster->has_implied_switch) {
        ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("'%s' is about switches, and none is described"),
                    kind->name);
        return ath_err_hint(err, -EINVAL,
                            _("aitherion export %s --cluster FILE, with 'switches' in the file"),
                            kind->name);
    }
    int status = kind->make(request, &export, err);
    if (status) {
        ath_export_free(&export);
        return status;
    }
    *out = export;
    return 0;
}

/* ---- names ---- */

enum { LABEL_MAX = 63 };

/* Copies what Kubernetes allows; other characters become '-'. Cuts both ends to letters or
 * digits. */
static char *allowed(const char *text, const char *signs, bool is_small, size_t max)
{
    ath_auto_free char *copy = ath_xstrdup(text);
    size_t begin = 0;

    for (char *c = copy; *c; c++) {
        *c = is_small ? (char)tolower((unsigned char)*c) : *c;
        if (!isascii((unsigned char)*c) || (!isalnum((unsigned char)*c) && !strchr(signs, *c)))
            *c = '-';
    }
    while (copy[begin] && !isalnum((unsigned char)copy[begin]))
        begin++;
    size_t length = strnlen(copy + begin, max);
    while (length && !isalnum((unsigned char)copy[begin + length - 1]))
        length--;
    return ath_xasprintf("%.*s", (int)length, copy + begin);
}

char *ath_export_label(const char *text)
{
    return allowed(text, "-_.", false, LABEL_MAX);
}

char *ath_export_name(const char *text)
{
    return allowed(text, "-.", true, 253);
}

json_t *ath_export_object(const char *api_version, const char *kind, const char *name)
{
    ath_auto_free char *allowed_name = ath_export_name(name);
    return json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", api_version, "kind", kind, "metadata",
                     "name", allowed_name);
}

json_t *ath_export_list(json_t *items)
{
    if (json_array_size(items) != 1)
        return json_pack("{s:s, s:s, s:o}", "apiVersion", "v1", "kind", "List", "items", items);
    json_t *only = json_incref(json_array_get(items, 0));
    json_decref(items);
    return only;
}

/* ---- GPUs ---- */

bool ath_export_has_place(const struct ath_machine *machine, const struct ath_numa_node *node)
{
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].numa_node == node->id)
            return true;
    return node->kind == ATH_NODE_CPU;
}

const char *ath_export_interconnect(const struct ath_machine *machine)
{
    int links;

    if (!machine->gpu_count)
        return NULL;
    const struct ath_gpu *first = &machine->gpus[0];
    if (!first->has_nvlinks)
        return NULL;
    if (ath_gpu_has_links(first, ATH_PEER_SWITCH))
        return "nvswitch";
    for (size_t i = 1; i < machine->gpu_count; i++)
        if (ath_gpu_links(machine, 0, i, &links) && links)
            return first->vendor_id == ATH_VENDOR_AMD ? "xgmi" : "nvlink";
    return "pcie";
}

static json_t *numa_node(const struct ath_machine *machine, const struct ath_numa_node *node)
{
    ath_auto_free char *cpus = ath_idset_format(&node->cpus);
    json_t *gpus = json_array();

    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].numa_node == node->id)
            json_array_append_new(gpus, json_integer((json_int_t)i));
    return json_pack("{s:i, s:o, s:s}", "node_id", node->id, "gpus", gpus, "cpus", cpus);
}

static json_t *connection(const struct ath_machine *machine, size_t a, size_t b)
{
    struct ath_gpu_pair pair;
    ath_gpu_pair_look(machine, a, b, &pair);
    ath_auto_free char *word = ath_gpu_pair_word(machine, &pair);
    double gbps = (double)pair.bandwidth_bytes_per_s * 8 / 1e9;

    return json_pack("{s:i, s:i, s:s?, s:o}", "from", (int)a, "to", (int)b, "type", word,
                     "bandwidth_gbps",
                     pair.bandwidth_bytes_per_s < 0 ? json_null() : json_real(gbps));
}

json_t *ath_export_topology(const struct ath_machine *machine)
{
    json_t *nodes = json_array(), *connections = json_array();

    for (size_t i = 0; i < machine->node_count; i++)
        if (ath_export_has_place(machine, &machine->nodes[i]))
            json_array_append_new(nodes, numa_node(machine, &machine->nodes[i]));
    for (size_t a = 0; a < machine->gpu_count; a++)
        for (size_t b = a + 1; b < machine->gpu_count; b++)
            json_array_append_new(connections, connection(machine, a, b));
    return json_pack("{s:i, s:o, s:o}", "gpu_count", (int)machine->gpu_count, "numa_nodes", nodes,
                     "connections", connections);
}
