/* Pods for a placement: one for each node of it. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "cluster/export/export.h"
#include "cluster/place.h"
#include "place/cpus.h"

/* The part of a pod of its NUMA nodes: CPUs and memory in proportion to its GPUs there. Both are 0
 * if they are not known. */
struct part {
    size_t cpus;
    int64_t memory_bytes;
    struct ath_idset nodes;
};

static void add_node(const struct ath_machine *machine, const struct ath_numa_node *node,
                     const struct ath_cluster_choice *choice, struct part *part)
{
    size_t all = 0, own = 0;

    for (size_t i = 0; i < machine->gpu_count; i++)
        all += ath_place_node_of(machine, &machine->gpus[i]) == node->id;
    for (size_t i = 0; i < choice->count; i++)
        own += ath_place_node_of(machine, &machine->gpus[choice->gpus[i]]) == node->id;
    if (!own || !all)
        return;
    ath_idset_add(&part->nodes, node->id, node->id);
    part->cpus += ath_idset_count(&node->cpus) * own / all;
    if (node->memory_total_bytes > 0)
        part->memory_bytes += node->memory_total_bytes / (int64_t)all * (int64_t)own;
}

/* Resources; requests equal to limits make kubelet give whole CPUs. Some of each node stays for the
 * system. */
static json_t *resources_of(const struct part *part, size_t gpus)
{
    ath_auto_free char *count = ath_xasprintf("%zu", gpus);
    json_t *limits = json_pack("{s:s}", "nvidia.com/gpu", count);
    size_t cpus = part->cpus * 9 / 10;
    int64_t gib = part->memory_bytes / 10 * 9 >> 30;

    if (cpus)
        json_object_set_new(limits, "cpu", json_sprintf("%zu", cpus));
    if (gib)
        json_object_set_new(limits, "memory", json_sprintf("%" PRId64 "Gi", gib));
    return json_pack("{s:o, s:o}", "requests", json_deep_copy(limits), "limits", limits);
}

static json_t *annotations_of(const struct ath_machine *machine,
                              const struct ath_cluster_choice *choice, const struct part *part)
{
    ATH_AUTO(ath_text) numbers = { 0 };
    ATH_AUTO(ath_text) uuids = { 0 };
    ath_auto_free char *nodes = ath_idset_format(&part->nodes);
    json_t *annotations = json_object();

    for (size_t i = 0; i < choice->count; i++) {
        const char *uuid = machine->gpus[choice->gpus[i]].uuid;
        ath_text_add_part(&numbers, ",", "%zu", choice->gpus[i]);
        if (uuid)
            ath_text_add_part(&uuids, ",", "%s", uuid);
    }
    json_object_set_new(annotations, "aitherion.io/gpus", json_string(numbers.data));
    if (uuids.data)
        json_object_set_new(annotations, "aitherion.io/gpu-uuids", json_string(uuids.data));
    if (*nodes)
        json_object_set_new(annotations, "aitherion.io/numa-nodes", json_string(nodes));
    return annotations;
}

static json_t *pod_of(const struct ath_export_request *request,
                      const struct ath_cluster_placement *placement, size_t index)
{
    const struct ath_cluster_share *share = &placement->shares[index];
    const struct ath_cluster_node *node = &request->cluster->nodes[share->node];
    const struct ath_cluster_choice *choice = &placement->choices[share->choice];
    ath_auto_free char *name = ath_xasprintf("gpus-%zu", index);
    ath_auto_free char *host = ath_export_name(node->name);
    json_t *object = ath_export_object("v1", "Pod", name);
    struct part part = { 0 };

    for (size_t i = 0; i < node->machine->node_count; i++)
        add_node(node->machine, &node->machine->nodes[i], choice, &part);
    json_object_set_new(json_object_get(object, "metadata"), "annotations",
                        annotations_of(node->machine, choice, &part));
    json_object_set_new(object, "spec",
                        json_pack("{s:s, s:{s:s}, s:[{s:s, s:s, s:o}]}", "restartPolicy", "Never",
                                  "nodeSelector", "kubernetes.io/hostname", host, "containers",
                                  "name", "main", "image", request->image, "resources",
                                  resources_of(&part, share->gpu_count)));
    ath_idset_free(&part.nodes);
    return object;
}

int ath_export_pod(const struct ath_export_request *request, struct ath_export *out,
                   struct ath_err *err)
{
    const struct ath_cluster_request wanted = { .gpu_count = request->gpus };
    ATH_AUTO(ath_cluster_placement) placement = { 0 };
    int status = ath_cluster_place(request->cluster, &wanted, &placement, err);

    if (status)
        return status;
    json_t *items = json_array();
    for (size_t i = 0; i < placement.share_count; i++)
        json_array_append_new(items, pod_of(request, &placement, i));
    ath_export_add_value(out, "pod.yaml", ath_export_list(items));
    return 0;
}
