/* Volcano's HyperNodes (topology.volcano.sh/v1alpha1): one for each switch, tier 1 the lowest. */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cluster/export/export.h"

static void add_member(json_t *members, const char *type, const char *name)
{
    json_array_append_new(members, json_pack("{s:s, s:{s:{s:s}}}", "type", type, "selector",
                                             "exactMatch", "name", name));
}

static json_t *members_of(const struct ath_cluster *cluster, size_t s)
{
    json_t *members = json_array();

    for (size_t i = cluster->switch_starts[s]; i < cluster->switch_starts[s + 1]; i++) {
        ath_auto_free char *name = ath_export_name(cluster->switches[cluster->switches_of[i]].name);
        add_member(members, "HyperNode", name);
    }
    for (size_t i = cluster->node_starts[s]; i < cluster->node_starts[s + 1]; i++) {
        ath_auto_free char *name = ath_export_name(cluster->nodes[cluster->nodes_of[i]].name);
        add_member(members, "Node", name);
    }
    return members;
}

int ath_export_hypernode(const struct ath_export_request *request, struct ath_export *out,
                         struct ath_err *err)
{
    const struct ath_cluster *cluster = request->cluster;
    json_t *items = json_array();

    (void)err;
    for (size_t i = 0; i < cluster->switch_count; i++) {
        ath_auto_free char *name = ath_export_name(cluster->switches[i].name);
        json_t *object = ath_export_object("topology.volcano.sh/v1alpha1", "HyperNode", name);
        json_object_set_new(object, "spec",
                            json_pack("{s:i, s:o}", "tier", (int)cluster->switches[i].height + 1,
                                      "members", members_of(cluster, i)));
        json_array_append_new(items, object);
    }
    ath_export_add_value(out, "hypernode.yaml", ath_export_list(items));
    return 0;
}
