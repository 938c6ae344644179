/* Reads a ComputeNode into the model of a machine. */
#include "config.h"

#include "kubernetes/compute_node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unknown.h"
#include "kubernetes/pod.h"
#include "kubernetes/quantity.h"
#include "place/cpus.h"
#include "place/set.h"

enum { NUMA_NODES_MAX = 1024, TEXT_MAX = 256, UUID_MAX = 128 };

/* The sums of all pairs must stay below 2^63. */
static const int64_t bandwidth_max = INT64_C(1) << 50;

void ath_kube_node_free(struct ath_kube_node *node)
{
    if (!node)
        return;
    free(node->name);
    free(node->runtime);
    free(node->bandwidths);
    free(node->models);
    ath_machine_free(&node->machine);
    *node = (struct ath_kube_node){ 0 };
}

static int refuse(struct ath_err *err, const char *member, const char *why)
{
    return ath_err_set(err, -EBADMSG, ATH_E_PEER_PROTOCOL, "'%s' %s", member, why);
}

static int number_of(const json_t *object, const char *member, int max)
{
    const json_t *value = json_object_get(object, member);
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
                   json_integer_value(value) <= max
               ? (int)json_integer_value(value)
               : ATH_UNKNOWN;
}

static int read_numa_nodes(const json_t *list, struct ath_machine *machine, struct ath_err *err)
{
    if (json_array_size(list) > NUMA_NODES_MAX)
        return refuse(err, "status.numaNodes", "is too long");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *id = json_array_get(list, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) > ATH_ID_MAX)
            return refuse(err, "status.numaNodes", "is no list of ids");
        if (ath_machine_find_node(machine, (int)json_integer_value(id)))
            continue;
        struct ath_numa_node *node = ath_machine_add_node(machine, (int)json_integer_value(id));
        node->is_online = true;
        node->kind = ATH_NODE_CPU;
    }
    return 0;
}

static int read_memory(const json_t *device, int64_t *out)
{
    const json_t *value = json_object_get(device, "memory");
    const char *text = json_string_value(value);
    if (text)
        return ath_kube_quantity_read(text, out);
    if (json_is_integer(value) && json_integer_value(value) >= 0)
        *out = json_integer_value(value);
    return 0;
}

static int read_device(const json_t *device, size_t index, struct ath_machine *machine,
                       struct ath_err *err)
{
    const struct ath_pci key = ath_pci_numbered((uint32_t)index);
    const char *uuid = ath_kube_text(device, "uuid", UUID_MAX);

    /* The UUIDs are joined by commas in the annotation of a pod. */
    if (!uuid || strpbrk(uuid, ", \t"))
        return refuse(err, "status.devices", "has an entry without a uuid");
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (!strcmp(machine->gpus[i].uuid, uuid))
            return refuse(err, uuid, "is in status.devices twice");
    struct ath_gpu *gpu = ath_machine_add_gpu(machine, &key);
    gpu->vendor_id = ATH_VENDOR_NVIDIA;
    gpu->uuid = ath_xstrdup(uuid);
    gpu->model = ath_xstrdup(ath_kube_text(device, "model", TEXT_MAX));
    gpu->numa_node = number_of(device, "numaNode", ATH_ID_MAX);
    gpu->is_judged = true;
    gpu->health.score = number_of(device, "healthScore", ATH_GPU_SCORE_FULL);
    return read_memory(device, &gpu->memory_total_bytes)
               ? refuse(err, "status.devices.memory", "is no quantity")
               : 0;
}

static int read_devices(const json_t *list, struct ath_machine *machine, struct ath_err *err)
{
    int status = 0;

    if (json_array_size(list) > ATH_KUBE_GPUS_MAX)
        return refuse(err, "status.devices", "has more than 64 GPUs");
    for (size_t i = 0; !status && i < json_array_size(list); i++)
        status = read_device(json_array_get(list, i), i, machine, err);
    return status;
}

static void set_models(struct ath_kube_node *node)
{
    const struct ath_machine *machine = &node->machine;

    node->models = ath_xalloc(machine->gpu_count * sizeof *node->models);
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (machine->gpus[i].model)
            node->models[i] = ath_gpu_model_named(machine->gpus[i].model);
}

/* Sets the bandwidths of pairs for which there is no link. */
static void set_unknown(struct ath_kube_node *node)
{
    const struct ath_machine *machine = &node->machine;
    size_t count = machine->gpu_count;

    node->bandwidths = ath_xalloc(count * count * sizeof *node->bandwidths);
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < count; b++) {
            int left = ath_place_node_of(machine, &machine->gpus[a]);
            int right = ath_place_node_of(machine, &machine->gpus[b]);
            bool is_near = left == right && left != ATH_UNKNOWN;
            node->bandwidths[a * count + b] = is_near ? ATH_SET_UNKNOWN_NEAR : ATH_SET_UNKNOWN_FAR;
        }
}

static int read_link(const json_t *link, struct ath_kube_node *node, struct ath_err *err)
{
    const json_t *pair = json_object_get(link, "devices");
    const json_t *speed = json_object_get(link, "bytesPerSecond");
    const json_t *first = json_array_get(pair, 0), *second = json_array_get(pair, 1);
    json_int_t count = (json_int_t)node->machine.gpu_count;

    if (json_array_size(pair) != 2 || !json_is_integer(first) || !json_is_integer(second))
        return refuse(err, "status.links", "has an entry without two devices");
    json_int_t a = json_integer_value(first), b = json_integer_value(second);
    if (a < 0 || b < 0 || a >= count || b >= count || a == b)
        return refuse(err, "status.links", "names a device that does not exist");
    if (!json_is_integer(speed) || json_integer_value(speed) < 0 ||
        json_integer_value(speed) > bandwidth_max)
        return refuse(err, "status.links.bytesPerSecond", "is no bandwidth");
    node->bandwidths[a * count + b] = json_integer_value(speed);
    node->bandwidths[b * count + a] = json_integer_value(speed);
    return 0;
}

static int read_links(const json_t *list, struct ath_kube_node *node, struct ath_err *err)
{
    int status = 0;

    if (json_array_size(list) > (size_t)ATH_KUBE_GPUS_MAX * ATH_KUBE_GPUS_MAX)
        return refuse(err, "status.links", "is too long");
    for (size_t i = 0; !status && i < json_array_size(list); i++)
        status = read_link(json_array_get(list, i), node, err);
    return status;
}

int ath_kube_node_read(const json_t *json, struct ath_kube_node *out, struct ath_err *err)
{
    const json_t *status = json_object_get(json, "status");
    const char *name = ath_kube_text(json_object_get(json, "metadata"), "name", ATH_KUBE_NAME_MAX);
    const char *phase = ath_kube_text(status, "phase", TEXT_MAX);
    ATH_AUTO(ath_kube_node)
    node = { .machine = { .profile = "generic", .source = ATH_SOURCE_XML, .is_text = true } };
    if (!name)
        return refuse(err, "metadata.name", "is missing");
    node.name = ath_xstrdup(name);
    node.is_ready = phase && !strcmp(phase, "Ready");
    node.runtime = ath_xstrdup(ath_kube_text(status, "runtime", TEXT_MAX));
    int result = read_numa_nodes(json_object_get(status, "numaNodes"), &node.machine, err);
    if (!result)
        result = read_devices(json_object_get(status, "devices"), &node.machine, err);
    if (result)
        return result;
    ath_machine_sort(&node.machine);
    set_models(&node);
    set_unknown(&node);
    result = read_links(json_object_get(status, "links"), &node, err);
    if (result)
        return result;
    *out = node;
    node = (struct ath_kube_node){ 0 };
    return 0;
}
