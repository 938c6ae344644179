/*
 * NodeResourceTopology (topology.node.k8s.io/v1alpha2): what the scheduler plugin of the same name
 * reads. It places by the policy that the object names; kubelet need not have that policy.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cluster/export/export.h"

static void add_resource(json_t *list, const char *name, int64_t amount)
{
    ath_auto_free char *text = ath_xasprintf("%" PRId64, amount);
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "name", name, "capacity", text,
                                          "allocatable", text, "available", text));
}

static json_t *costs_of(const struct ath_machine *machine, const struct ath_numa_node *node)
{
    json_t *costs = json_array();

    for (size_t i = 0; i < node->distance_count; i++) {
        const struct ath_numa_node *other = ath_machine_node(machine, node->distances[i].node);
        ath_auto_free char *name = ath_xasprintf("node-%d", node->distances[i].node);
        if (other && ath_export_has_place(machine, other))
            json_array_append_new(
                costs, json_pack("{s:s, s:i}", "name", name, "value", node->distances[i].value));
    }
    return costs;
}

/* The available GPUs are the free ones. */
static json_t *zone_of(const struct ath_cluster *cluster, const struct ath_cluster_node *of,
                       const struct ath_numa_node *node)
{
    const struct ath_cluster_shape *shape = &cluster->shapes[of->shape];
    ath_auto_free char *name = ath_xasprintf("node-%d", node->id);
    json_t *resources = json_array();
    int64_t gpus = 0, free_gpus = 0;

    for (size_t i = 0; i < of->machine->gpu_count; i++) {
        if (of->machine->gpus[i].numa_node != node->id)
            continue;
        gpus++;
        free_gpus += shape->is_free[i];
    }
    if (ath_idset_count(&node->cpus))
        add_resource(resources, "cpu", (int64_t)ath_idset_count(&node->cpus));
    if (node->memory_total_bytes > 0)
        add_resource(resources, "memory", node->memory_total_bytes);
    if (gpus) {
        add_resource(resources, "nvidia.com/gpu", gpus);
        json_object_set_new(json_array_get(resources, json_array_size(resources) - 1), "available",
                            json_sprintf("%" PRId64, free_gpus));
    }
    return json_pack("{s:s, s:s, s:o, s:o}", "name", name, "type", "Node", "costs",
                     costs_of(of->machine, node), "resources", resources);
}

int ath_export_nrt(const struct ath_export_request *request, struct ath_export *out,
                   struct ath_err *err)
{
    const struct ath_cluster *cluster = request->cluster;
    json_t *items = json_array();

    (void)err;
    for (size_t i = 0; i < cluster->node_count; i++) {
        const struct ath_cluster_node *node = &cluster->nodes[i];
        json_t *object =
            ath_export_object("topology.node.k8s.io/v1alpha2", "NodeResourceTopology", node->name);
        json_t *zones = json_array();
        for (size_t k = 0; k < node->machine->node_count; k++) {
            const struct ath_numa_node *numa = &node->machine->nodes[k];
            if (ath_export_has_place(node->machine, numa))
                json_array_append_new(zones, zone_of(cluster, node, numa));
        }
        json_object_set_new(object, "attributes",
                            json_pack("[{s:s, s:s}, {s:s, s:s}]", "name", "topologyManagerPolicy",
                                      "value", "single-numa-node", "name", "topologyManagerScope",
                                      "value", "pod"));
        json_object_set_new(object, "zones", zones);
        json_array_append_new(items, object);
    }
    ath_export_add_value(out, "nrt.yaml", ath_export_list(items));
    return 0;
}
