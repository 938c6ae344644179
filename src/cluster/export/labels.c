/* Labels and an annotation of Kubernetes nodes. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unknown.h"
#include "cluster/export/export.h"

/* Sets a label. A missing text, and a text without an allowed character, sets none. */
static void set(json_t *labels, const char *name, const char *text)
{
    ath_auto_free char *key = ath_xasprintf("aitherion.io/%s", name);
    ath_auto_free char *value = text ? ath_export_label(text) : NULL;
    if (value && *value)
        json_object_set_new(labels, key, json_string(value));
}

static void set_number(json_t *labels, const char *name, size_t number)
{
    ath_auto_free char *text = ath_xasprintf("%zu", number);
    set(labels, name, text);
}

/* Returns the number of GPUs of a NUMA node. */
static size_t gpus_on(const struct ath_machine *machine, int node)
{
    size_t count = 0;
    for (size_t i = 0; i < machine->gpu_count; i++)
        count += machine->gpus[i].numa_node == node;
    return count;
}

static void add_numa(json_t *labels, const struct ath_machine *machine)
{
    size_t nodes = 0, most = 0, least = SIZE_MAX;

    for (size_t i = 0; i < machine->node_count; i++) {
        const struct ath_numa_node *node = &machine->nodes[i];
        size_t gpus = gpus_on(machine, node->id);
        if (!ath_export_has_place(machine, node))
            continue;
        nodes++;
        most = gpus > most ? gpus : most;
        least = gpus < least ? gpus : least;
    }
    if (!nodes)
        return;
    set_number(labels, "numa-nodes", nodes);
    if (most == least)
        set_number(labels, "gpus-per-numa", most);
    set(labels, "single-numa-4gpu", most >= 4 ? "true" : "false");
    set(labels, "single-numa-8gpu", most >= 8 ? "true" : "false");
}

/* The switch of the node is "switch"; those above it are switch-2, switch-3. */
static void add_place(json_t *labels, const struct ath_cluster *cluster,
                      const struct ath_cluster_node *node)
{
    size_t level = 1;

    if (node->rack != ATH_CLUSTER_NONE)
        set(labels, "rack", cluster->racks[node->rack]);
    if (cluster->has_implied_switch)
        return;
    for (size_t s = node->leaf; s != ATH_CLUSTER_NONE; s = cluster->switches[s].above, level++) {
        ath_auto_free char *name =
            level == 1 ? ath_xstrdup("switch") : ath_xasprintf("switch-%zu", level);
        set(labels, name, cluster->switches[s].name);
    }
}

static json_t *labels_of(const struct ath_cluster *cluster, const struct ath_cluster_node *node)
{
    const struct ath_machine *machine = node->machine;
    json_t *labels = json_object();

    set_number(labels, "gpu-count", machine->gpu_count);
    if (machine->gpu_count) {
        set(labels, "gpu-model", machine->gpus[0].model);
        set(labels, "gpu-interconnect", ath_export_interconnect(machine));
    }
    add_numa(labels, machine);
    add_place(labels, cluster, node);
    return labels;
}

int ath_export_labels(const struct ath_export_request *request, struct ath_export *out,
                      struct ath_err *err)
{
    const struct ath_cluster *cluster = request->cluster;
    json_t *items = json_array();

    (void)err;
    for (size_t i = 0; i < cluster->node_count; i++) {
        const struct ath_cluster_node *node = &cluster->nodes[i];
        json_t *object = ath_export_object("v1", "Node", node->name);
        json_t *metadata = json_object_get(object, "metadata");
        json_auto_t *topology = ath_export_topology(node->machine);
        ath_auto_free char *text = json_dumps(topology, JSON_COMPACT);
        json_object_set_new(metadata, "labels", labels_of(cluster, node));
        json_object_set_new(metadata, "annotations",
                            json_pack("{s:s}", "aitherion.io/gpu-topology", text));
        json_array_append_new(items, object);
    }
    ath_export_add_value(out, "labels.yaml", ath_export_list(items));
    return 0;
}
