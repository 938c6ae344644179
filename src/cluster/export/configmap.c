/* The ConfigMap gpu-topology-config. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cluster/export/export.h"

enum { DATA_MAX = 1 << 20 }; /* of the API server, for keys and values together */

int ath_export_configmap(const struct ath_export_request *request, struct ath_export *out,
                         struct ath_err *err)
{
    const struct ath_cluster *cluster = request->cluster;
    json_t *object = ath_export_object("v1", "ConfigMap", "gpu-topology-config");
    json_t *data = json_object();
    size_t bytes = 0;

    json_object_set_new(object, "data", data);
    ath_export_add_value(out, "configmap.yaml", object);
    for (size_t i = 0; i < cluster->node_count; i++) {
        json_auto_t *topology = ath_export_topology(cluster->nodes[i].machine);
        ath_auto_free char *text = json_dumps(topology, JSON_COMPACT);
        ath_auto_free char *key = request->is_machine
                                      ? ath_xstrdup("topology.json")
                                      : ath_xasprintf("%s.json", cluster->nodes[i].name);
        bytes += strlen(key) + strlen(text);
        json_object_set_new(data, key, json_string(text));
    }
    if (bytes <= DATA_MAX)
        return 0;
    ath_err_set(err, -E2BIG, ATH_E_MISFIT,
                _("a ConfigMap holds 1 MiB, and the topologies of %zu nodes need %zu bytes"),
                cluster->node_count, bytes);
    return ath_err_hint(err, -E2BIG, "aitherion export labels");
}
