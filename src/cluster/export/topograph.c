/* The model of topograph: each node with the switches above it, the nearest first. */
#include "config.h"

#include "cluster/export/export.h"

int ath_export_topograph(const struct ath_export_request *request, struct ath_export *out,
                         struct ath_err *err)
{
    const struct ath_cluster *cluster = request->cluster;
    json_t *instances = json_array();

    (void)err;
    for (size_t i = 0; i < cluster->node_count; i++) {
        const struct ath_cluster_node *node = &cluster->nodes[i];
        json_t *layers = json_array();
        for (size_t s = node->leaf; s != ATH_CLUSTER_NONE; s = cluster->switches[s].above)
            json_array_append_new(layers, json_string(cluster->switches[s].name));
        json_array_append_new(instances, json_pack("{s:s, s:o, s:{}}", "id", node->name,
                                                   "network_layers", layers, "labels"));
    }
    ath_export_add_value(out, "topograph.json", json_pack("{s:o}", "instances", instances));
    return 0;
}
