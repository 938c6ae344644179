/*
 * ResourceSlices (resource.k8s.io/v1): the GPUs of each node as devices.
 *
 * Kubernetes has no attribute for links, and can only ask for equal values: nvlinkClique is the
 * number of the first GPU of those that NVLinks connect, directly or over others.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cluster/export/export.h"
#include "numa/gpu_links.h"

enum { DEVICES_MAX = 128, TEXT_MAX = 64 }; /* of the API */

static void set_text(json_t *attributes, const char *name, const char *text)
{
    if (text && *text && strlen(text) <= TEXT_MAX)
        json_object_set_new(attributes, name, json_pack("{s:s}", "string", text));
}

/* Returns the lowest number of the GPUs that NVLinks connect with this one, or gpu_count if it is
 * not known, or none. */
static size_t clique_of(const struct ath_machine *machine, size_t gpu)
{
    size_t count = machine->gpu_count, reached = 1, lowest = gpu;
    ath_auto_free size_t *list = ath_xalloc((count + 1) * sizeof *list);
    ath_auto_free bool *is_in = ath_xalloc((count + 1) * sizeof *is_in);

    list[0] = gpu;
    is_in[gpu] = true;
    for (size_t at = 0; at < reached; at++)
        for (size_t i = 0; i < count; i++) {
            int links;
            if (is_in[i] || !ath_gpu_links(machine, list[at], i, &links) || !links)
                continue;
            is_in[i] = true;
            list[reached++] = i;
            lowest = i < lowest ? i : lowest;
        }
    return reached > 1 ? lowest : count;
}

static json_t *device_of(const struct ath_machine *machine, size_t index)
{
    const struct ath_gpu *gpu = &machine->gpus[index];
    json_t *attributes = json_object();
    size_t clique = clique_of(machine, index);
    char address[ATH_PCI_TEXT];

    json_object_set_new(attributes, "index", json_pack("{s:i}", "int", (int)index));
    set_text(attributes, "type", "gpu");
    set_text(attributes, "uuid", gpu->uuid);
    set_text(attributes, "productName", gpu->model);
    if (ath_pci_is_address(&gpu->pci))
        set_text(attributes, "resource.kubernetes.io/pciBusID", ath_pci_format(&gpu->pci, address));
    if (gpu->place) {
        ath_auto_free char *root = ath_xasprintf("%.*s", (int)strcspn(gpu->place, "/"), gpu->place);
        if (!strncmp(root, "pci", 3))
            set_text(attributes, "resource.kubernetes.io/pcieRoot", root);
    }
    if (gpu->numa_node >= 0)
        json_object_set_new(attributes, "numaNode", json_pack("{s:i}", "int", gpu->numa_node));
    if (clique < machine->gpu_count) {
        ath_auto_free char *text = ath_xasprintf("gpu-%zu", clique);
        set_text(attributes, "nvlinkClique", text);
    }
    ath_auto_free char *name = ath_xasprintf("gpu-%zu", index);
    json_t *device = json_pack("{s:s, s:o}", "name", name, "attributes", attributes);
    if (gpu->memory_total_bytes > 0) {
        ath_auto_free char *bytes = ath_xasprintf("%" PRId64, gpu->memory_total_bytes);
        json_object_set_new(device, "capacity", json_pack("{s:{s:s}}", "memory", "value", bytes));
    }
    return device;
}

static json_t *slice_of(const struct ath_cluster_node *node)
{
    ath_auto_free char *base = ath_export_name(node->name);
    ath_auto_free char *name = ath_xasprintf("%s-gpu.aitherion.io", base);
    json_t *object = ath_export_object("resource.k8s.io/v1", "ResourceSlice", name);
    json_t *devices = json_array();

    for (size_t i = 0; i < node->machine->gpu_count; i++)
        json_array_append_new(devices, device_of(node->machine, i));
    json_object_set_new(object, "spec",
                        json_pack("{s:s, s:{s:s, s:i, s:i}, s:s, s:o}", "driver",
                                  "gpu.aitherion.io", "pool", "name", base, "generation", 1,
                                  "resourceSliceCount", 1, "nodeName", base, "devices", devices));
    return object;
}

int ath_export_resourceslice(const struct ath_export_request *request, struct ath_export *out,
                             struct ath_err *err)
{
    json_t *items = json_array();

    for (size_t i = 0; i < request->cluster->node_count; i++) {
        const struct ath_cluster_node *node = &request->cluster->nodes[i];
        if (node->machine->gpu_count > DEVICES_MAX) {
            json_decref(items);
            return ath_err_set(err, -E2BIG, ATH_E_MISFIT,
                               _("a ResourceSlice holds %d devices, and '%s' has %zu GPUs"),
                               DEVICES_MAX, node->name, node->machine->gpu_count);
        }
        if (node->machine->gpu_count)
            json_array_append_new(items, slice_of(node));
    }
    ath_export_add_value(out, "resourceslice.yaml", ath_export_list(items));
    return 0;
}
