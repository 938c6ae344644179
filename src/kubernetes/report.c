/* Makes the status of a ComputeNode and the labels of a Node from a machine. */
#include "config.h"

#include "kubernetes/report.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unknown.h"
#include "kubernetes/pod.h"
#include "numa/gpu.h"
#include "place/cpus.h"
#include "place/gpu_pair.h"

enum { LABEL_MAX = 63 };

/* ---- GPUs ---- */

/* Indexes of the published GPUs. */
struct gpus {
    size_t items[ATH_KUBE_GPUS_MAX];
    size_t count;
};

/* Returns whether pods can name the GPU: UUIDs are joined by commas. */
static bool has_name(const struct ath_gpu *gpu)
{
    return gpu->vendor_id == ATH_VENDOR_NVIDIA && gpu->uuid && *gpu->uuid &&
           !strpbrk(gpu->uuid, ", \t");
}

static void find_gpus(const struct ath_machine *machine, struct gpus *out)
{
    out->count = 0;
    for (size_t i = 0; i < machine->gpu_count && out->count < ATH_KUBE_GPUS_MAX; i++)
        if (has_name(&machine->gpus[i]))
            out->items[out->count++] = i;
}

static json_t *device_of(const struct ath_machine *machine, const struct ath_gpu *gpu)
{
    json_t *device = json_pack("{s:s}", "uuid", gpu->uuid);
    int node = ath_place_node_of(machine, gpu);
    int score = gpu->is_lost ? 0 : gpu->health.score;

    if (gpu->model)
        json_object_set_new(device, "model", json_string(gpu->model));
    if (gpu->memory_total_bytes >= 0) {
        ath_auto_free char *bytes = ath_xasprintf("%" PRId64, gpu->memory_total_bytes);
        json_object_set_new(device, "memory", json_string(bytes));
    }
    if (node != ATH_UNKNOWN)
        json_object_set_new(device, "numaNode", json_integer(node));
    if (score != ATH_UNKNOWN)
        json_object_set_new(device, "healthScore", json_integer(score));
    return device;
}

static json_t *devices_of(const struct ath_machine *machine, const struct gpus *gpus)
{
    json_t *devices = json_array();
    for (size_t i = 0; i < gpus->count; i++)
        json_array_append_new(devices, device_of(machine, &machine->gpus[gpus->items[i]]));
    return devices;
}

static json_t *links_of(const struct ath_machine *machine, const struct gpus *gpus)
{
    json_t *links = json_array();

    for (size_t a = 0; a < gpus->count; a++)
        for (size_t b = a + 1; b < gpus->count; b++) {
            struct ath_gpu_pair pair;
            ath_gpu_pair_look(machine, gpus->items[a], gpus->items[b], &pair);
            if (pair.bandwidth_bytes_per_s == ATH_UNKNOWN)
                continue;
            json_array_append_new(links, json_pack("{s:[i, i], s:I}", "devices", (int)a, (int)b,
                                                   "bytesPerSecond",
                                                   (json_int_t)pair.bandwidth_bytes_per_s));
        }
    return links;
}

/* ---- the node ---- */

/* The nodes with CPUs: the memory nodes of GPUs are none that a pod could run on. */
static json_t *numa_nodes_of(const struct ath_machine *machine)
{
    json_t *nodes = json_array();
    for (size_t i = 0; i < machine->node_count; i++)
        if (machine->nodes[i].is_online && machine->nodes[i].kind == ATH_NODE_CPU)
            json_array_append_new(nodes, json_integer(machine->nodes[i].id));
    return nodes;
}

static size_t usable_of(const json_t *devices)
{
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *score = json_object_get(json_array_get(devices, i), "healthScore");
        count += !json_is_integer(score) || json_integer_value(score) > 0;
    }
    return count;
}

static json_t *text_or_null(const char *text)
{
    json_t *value = text ? json_string(text) : NULL;
    return value ? value : json_null();
}

json_t *ath_kube_report_status(const struct ath_machine *machine,
                               const struct ath_kube_report_options *options)
{
    struct gpus gpus;
    json_t *status = json_object();

    find_gpus(machine, &gpus);
    json_t *devices = devices_of(machine, &gpus);
    json_object_set_new(status, "phase", json_string(options->fault ? "NotReady" : "Ready"));
    json_object_set_new(status, "message", text_or_null(options->fault));
    json_object_set_new(status, "runtime", text_or_null(options->runtime));
    json_object_set_new(status, "gpuCount", json_integer((json_int_t)gpus.count));
    json_object_set_new(status, "usableGpuCount",
                        json_integer(options->fault ? 0 : (json_int_t)usable_of(devices)));
    json_object_set_new(status, "numaNodes", numa_nodes_of(machine));
    json_object_set_new(status, "devices", devices);
    json_object_set_new(status, "links", links_of(machine, &gpus));
    return status;
}

/* ---- labels ---- */

/* Returns the text as the value of a label: others than letters, digits, '-', '_' and '.' become
 * '-', and the ends are letters or digits. NULL if nothing is left. The caller frees it. */
static char *label_of(const char *text)
{
    char *value = ath_xasprintf("%.*s", LABEL_MAX, text);
    size_t length = strlen(value), begin = 0;

    for (char *at = value; *at; at++)
        if (!isascii((unsigned char)*at) || (!isalnum((unsigned char)*at) && !strchr("-_.", *at)))
            *at = '-';
    while (length && !isalnum((unsigned char)value[length - 1]))
        value[--length] = '\0';
    while (value[begin] && !isalnum((unsigned char)value[begin]))
        begin++;
    memmove(value, value + begin, length - begin + 1);
    if (*value)
        return value;
    free(value);
    return NULL;
}

static void set_number(json_t *labels, const char *name, const json_t *number)
{
    ath_auto_free char *text = ath_xasprintf("%lld", (long long)json_integer_value(number));
    json_object_set_new(labels, name, json_string(text));
}

json_t *ath_kube_report_labels(const json_t *status)
{
    json_t *labels = json_object();
    const json_t *first = json_array_get(json_object_get(status, "devices"), 0);
    const char *model = json_string_value(json_object_get(first, "model"));
    ath_auto_free char *value = model ? label_of(model) : NULL;

    set_number(labels, "aitherion.io/gpu-count", json_object_get(status, "gpuCount"));
    set_number(labels, "aitherion.io/gpu-usable", json_object_get(status, "usableGpuCount"));
    json_object_set_new(labels, "aitherion.io/gpu-model", text_or_null(value));
    return labels;
}
