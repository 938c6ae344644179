/* The JSON of `aitherion discover --json` as a machine. */
#include "config.h"

#include "numa/topology_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "base/unknown.h"
#include "numa/gpu_links.h"
#include "numa/profile.h"

/* More than one machine can have (topology_xml.c). The table of classes has a byte for each two
 * devices. */
enum { GPUS_MAX = 1024, NICS_MAX = 4096, NODES_MAX = 4096, LINKS_MAX = 4096 };

static const char schema[] = "aitherion.machine/1";

struct reader {
    const char *name; /* of the file */
    struct ath_machine machine;
    struct ath_err *err;
};

bool ath_topology_is_json(const char *data, size_t length)
{
    size_t at = ath_utf8_mark(data, length);

    while (at < length && memchr(" \t\r\n", data[at], 4))
        at++;
    return at < length && data[at] == '{';
}

/* ---- members ---- */

static int refuse(struct reader *reader, const char *member, const char *what)
{
    ath_err_set(reader->err, -EINVAL, ATH_E_TOPOLOGY_INVALID, _("'%s': '%s' is %s"), reader->name,
                member, what);
    return ath_err_hint(reader->err, -EINVAL, "aitherion discover --json > machine.json");
}

/* Returns a copy of a text that has no NUL, or NULL. The caller frees it. */
static char *text_of(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? ath_xstrdup(text) : NULL;
}

static int64_t number_of(const json_t *object, const char *member, int64_t max)
{
    const json_t *value = json_object_get(object, member);
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : -1;
    return number >= 0 && number <= max ? (int64_t)number : ATH_UNKNOWN;
}

static int int_of(const json_t *object, const char *member)
{
    return (int)number_of(object, member, INT32_MAX);
}

/* A vendor or device id: four hexadecimal digits. */
static int id_of(const json_t *object, const char *member)
{
    ath_auto_free char *text = text_of(object, member);
    uint64_t id;
    return text && strlen(text) == 4 && !ath_parse_u64(text, 16, &id) ? (int)id : ATH_UNKNOWN;
}

/* Returns the index of a text in a list of words, or 0: the first value of each of these enums is
 * the one for "not known" or the usual one. */
static int word_of(const json_t *object, const char *member, const char *const *words)
{
    const char *text = json_string_value(json_object_get(object, member));
    for (int i = 0; text && words[i]; i++)
        if (!strcmp(text, words[i]))
            return i;
    return 0;
}

static bool pci_of(const json_t *object, const char *member, struct ath_pci *out)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text && !ath_pci_parse(text, out);
}

static enum ath_pci_class class_of(const json_t *object)
{
    const char *text = json_string_value(json_object_get(object, "class"));
    for (int i = ATH_PCI_PIX; text && i < ATH_PCI_CLASS_COUNT; i++)
        if (!strcmp(text, ath_pci_class_word((enum ath_pci_class)i)))
            return (enum ath_pci_class)i;
    return ATH_PCI_UNKNOWN;
}

/* Returns a member that must be a list of objects with at most max entries; NULL after a fault. */
static const json_t *list_of(struct reader *reader, const json_t *whole, const char *member,
                             size_t max)
{
    const json_t *list = json_object_get(whole, member);
    if (!json_is_array(list)) {
        refuse(reader, member, _("missing, or no list"));
        return NULL;
    }
    if (json_array_size(list) > max) {
        refuse(reader, member, _("longer than that of one machine can be"));
        return NULL;
    }
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!json_is_object(json_array_get(list, i))) {
            refuse(reader, member, _("no list of objects"));
            return NULL;
        }
    return list;
}

/* ---- the machine ---- */

static void read_host(struct reader *reader, const json_t *host)
{
    struct ath_machine *machine = &reader->machine;
    ath_auto_free char *profile = text_of(host, "profile");

    machine->hostname = text_of(host, "hostname");
    machine->model = text_of(host, "model");
    machine->arch = text_of(host, "arch");
    machine->kernel = text_of(host, "kernel");
    machine->profile = ath_profile_of(machine->model, profile);
    machine->source = ATH_SOURCE_XML;
}

static void read_distances(struct ath_numa_node *node, json_t *distances)
{
    const char *key;
    json_t *value;

    json_object_foreach(distances, key, value)
    {
        int id;
        if (!json_is_integer(value) || json_integer_value(value) < 0 ||
            json_integer_value(value) > INT32_MAX || ath_parse_int(key, 0, ATH_ID_MAX, &id))
            continue;
        struct ath_distance *distance =
            ath_push(&node->distances, &node->distance_count, sizeof *distance);
        *distance = (struct ath_distance){ id, (int)json_integer_value(value) };
    }
}

static int compare_distances(const void *a, const void *b)
{
    const struct ath_distance *left = a, *right = b;
    return (left->node > right->node) - (left->node < right->node);
}

static int read_node(struct reader *reader, const json_t *object)
{
    int id = int_of(object, "id");
    if (id < 0 || id > ATH_ID_MAX || ath_machine_find_node(&reader->machine, id))
        return refuse(reader, "numa_nodes", _("a list with a wrong or double id"));

    struct ath_numa_node *node = ath_machine_add_node(&reader->machine, id);
    const char *cpus = json_string_value(json_object_get(object, "cpus"));
    const char *online = json_string_value(json_object_get(object, "cpus_online"));
    node->is_online = json_is_true(json_object_get(object, "online"));
    if (cpus && ath_idset_parse_list(cpus, &node->cpus))
        return refuse(reader, "cpus", _("no list of CPUs"));
    node->has_cpus_online = online != NULL;
    if (online && ath_idset_parse_list(online, &node->cpus_online))
        return refuse(reader, "cpus_online", _("no list of CPUs"));
    node->memory_total_bytes = number_of(object, "memory_total_bytes", INT64_MAX / 4096);
    node->memory_free_bytes = number_of(object, "memory_free_bytes", INT64_MAX / 4096);
    node->memory_kind = text_of(object, "memory_kind");
    node->has_gpu = pci_of(object, "gpu", &node->gpu);
    read_distances(node, json_object_get(object, "distances"));
    if (node->distance_count)
        qsort(node->distances, node->distance_count, sizeof *node->distances, compare_distances);
    return 0;
}

static int read_nodes(struct reader *reader, const json_t *whole)
{
    const json_t *list = list_of(reader, whole, "numa_nodes", NODES_MAX);
    int status = list ? 0 : -EINVAL;

    for (size_t i = 0; !status && i < json_array_size(list); i++)
        status = read_node(reader, json_array_get(list, i));
    return status;
}

static int read_links(struct reader *reader, struct ath_gpu *gpu, const json_t *list)
{
    static const char *const kinds[] = { "gpu", "cpu", "switch", NULL };

    gpu->has_nvlinks = json_is_array(list);
    if (json_array_size(list) > LINKS_MAX)
        return refuse(reader, "nvlinks", _("longer than that of one GPU can be"));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *object = json_array_get(list, i);
        enum ath_peer_kind kind = (enum ath_peer_kind)word_of(object, "peer_kind", kinds);
        if (reader->machine.is_text && kind == ATH_PEER_GPU)
            continue; /* add_links() */
        struct ath_nvlink *link = ath_push(&gpu->nvlinks, &gpu->nvlink_count, sizeof *link);
        link->kind = kind;
        link->has_peer = pci_of(object, "peer", &link->peer);
        link->is_through_switch = json_is_true(json_object_get(object, "through_switch"));
        link->count = int_of(object, "count");
        link->speed_mbps = number_of(object, "speed_mbps", INT32_MAX);
    }
    return 0;
}

static void read_facts(struct ath_gpu *gpu, const json_t *object)
{
    static const char *const states[] = { "", "offline", "online", NULL };
    const json_t *pcie = json_object_get(object, "pcie");

    gpu->vendor_id = id_of(object, "vendor_id");
    gpu->device_id = id_of(object, "device_id");
    gpu->model = text_of(object, "model");
    gpu->uuid = text_of(object, "uuid");
    gpu->driver_version = text_of(object, "driver_version");
    gpu->numa_node = int_of(object, "numa_node");
    gpu->memory_node = int_of(object, "memory_node");
    gpu->memory_state = (enum ath_memory_state)word_of(object, "memory_state", states);
    gpu->memory_total_bytes = number_of(object, "memory_total_bytes", INT64_MAX / 4096);
    gpu->partitions = int_of(object, "partitions");
    gpu->partition_mode = text_of(object, "partition_mode");
    gpu->pcie_gen = int_of(pcie, "gen");
    gpu->pcie_width = int_of(pcie, "width");
    gpu->pcie_mbps = number_of(pcie, "speed_mbps", INT32_MAX);
    gpu->to_gpu_bytes_per_s = number_of(object, "to_gpu_bytes_per_s", INT64_MAX / 4096);
    gpu->from_gpu_bytes_per_s = number_of(object, "from_gpu_bytes_per_s", INT64_MAX / 4096);
    gpu->health.score =
        (int)number_of(json_object_get(object, "health"), "score", ATH_GPU_SCORE_FULL);
    gpu->is_judged = true;
}

/* GPUs stand in the order of their addresses, so that the numbers of pairs are theirs. */
static int read_gpu(struct reader *reader, const json_t *object)
{
    struct ath_machine *machine = &reader->machine;
    struct ath_pci pci = ath_pci_numbered((uint32_t)machine->gpu_count);
    bool is_numbered = !pci_of(object, "pci", &pci);

    if (machine->gpu_count &&
        (machine->is_text != is_numbered ||
         ath_pci_compare(&machine->gpus[machine->gpu_count - 1].pci, &pci) >= 0))
        return refuse(reader, "gpus", _("not in the order of the PCI addresses"));
    machine->is_text = is_numbered;
    struct ath_gpu *gpu = ath_machine_add_gpu(machine, &pci);
    read_facts(gpu, object);
    return read_links(reader, gpu, json_object_get(object, "nvlinks"));
}

static int read_gpus(struct reader *reader, const json_t *whole)
{
    const json_t *list = list_of(reader, whole, "gpus", GPUS_MAX);
    int status = list ? 0 : -EINVAL;

    for (size_t i = 0; !status && i < json_array_size(list); i++)
        status = read_gpu(reader, json_array_get(list, i));
    return status;
}

static void read_nic(struct ath_machine *machine, const json_t *object)
{
    static const char *const states[] = { "", "down", "up", NULL };
    static const char *const layers[] = { "", "ethernet", "infiniband", NULL };
    struct ath_nic *nic = ath_machine_add_nic(machine);

    nic->has_pci = pci_of(object, "pci", &nic->pci);
    nic->vendor_id = id_of(object, "vendor_id");
    nic->device_id = id_of(object, "device_id");
    nic->model = text_of(object, "model");
    nic->netdev = text_of(object, "netdev");
    nic->master = text_of(object, "master");
    nic->driver = text_of(object, "driver");
    nic->numa_node = int_of(object, "numa_node");
    nic->speed_mbps = number_of(object, "speed_mbps", INT32_MAX);
    nic->link = (enum ath_link_state)word_of(object, "link", states);
    nic->mtu = int_of(object, "mtu");
    nic->mac = text_of(object, "mac");
    nic->rdma_device = text_of(object, "rdma_device");
    nic->port = int_of(object, "port");
    nic->link_layer = (enum ath_link_layer)word_of(object, "link_layer", layers);
    nic->card = text_of(object, "card");
    nic->vfs = int_of(object, "vfs");
}

static int read_nics(struct reader *reader, const json_t *whole)
{
    const json_t *list = list_of(reader, whole, "nics", NICS_MAX);

    for (size_t i = 0; list && i < json_array_size(list); i++)
        read_nic(&reader->machine, json_array_get(list, i));
    return list ? 0 : -EINVAL;
}

/* ---- pairs ---- */

/* Makes the table of classes: of all GPUs, then all ports. */
static void make_classes(struct ath_machine *machine)
{
    size_t count = machine->gpu_count + machine->nic_count;

    machine->classes = ath_xalloc(count * count);
    for (size_t i = 0; i < count; i++) {
        struct ath_pci_row row = { machine->classes + i * count, i };
        if (i < machine->gpu_count)
            machine->gpus[i].classes = row;
        else
            machine->nics[i - machine->gpu_count].classes = row;
    }
}

static void set_class(struct ath_machine *machine, size_t a, size_t b, enum ath_pci_class class)
{
    size_t count = machine->gpu_count + machine->nic_count;
    machine->classes[a * count + b] = machine->classes[b * count + a] = (uint8_t) class;
}

static bool is_same_text(const char *a, const json_t *object, const char *member)
{
    const char *b = json_string_value(json_object_get(object, member));
    return a && b && !strcmp(a, b);
}

/* A port without names is known by its address. */
static bool is_port(const struct ath_nic *nic, const json_t *pair)
{
    struct ath_pci pci;

    if (nic->rdma_device || nic->netdev)
        return is_same_text(nic->rdma_device, pair, "rdma_device") ||
               is_same_text(nic->netdev, pair, "netdev");
    return nic->has_pci && pci_of(pair, "nic", &pci) && ath_pci_equals(&pci, &nic->pci);
}

/* Returns the index of the port of a pair, or nic_count. */
static size_t port_of(const struct ath_machine *machine, const json_t *pair)
{
    size_t i = 0;
    while (i < machine->nic_count && !is_port(&machine->nics[i], pair))
        i++;
    return i;
}

static void read_pairs(struct ath_machine *machine, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i);
        int64_t gpu = number_of(pair, "gpu_index", GPUS_MAX);
        size_t nic = port_of(machine, pair);
        if (gpu >= 0 && (size_t)gpu < machine->gpu_count && nic < machine->nic_count)
            set_class(machine, (size_t)gpu, machine->gpu_count + nic, class_of(pair));
    }
}

static void set_measured(struct ath_machine *machine, size_t a, size_t b, const json_t *pair)
{
    size_t count = machine->gpu_count;
    const char *source = json_string_value(json_object_get(pair, "source"));

    if (!source || strcmp(source, "measured") != 0)
        return;
    if (!machine->measured) {
        machine->measured = ath_xalloc(count * count * sizeof *machine->measured);
        for (size_t i = 0; i < count * count; i++)
            machine->measured[i] = (struct ath_measured){ ATH_UNKNOWN, ATH_UNKNOWN };
    }
    machine->measured[a * count + b] = machine->measured[b * count + a] = (struct ath_measured){
        number_of(pair, "bandwidth_bytes_per_s", INT64_MAX / 4096),
        number_of(pair, "latency_ns", INT64_MAX / 4096),
    };
}

/* GPUs without addresses cannot name the peers of their NVLinks: the class of the pair has their
 * number. */
static void add_links(struct ath_machine *machine, size_t a, size_t b, const json_t *pair)
{
    static const char word[] = "NV";
    const char *class = json_string_value(json_object_get(pair, "class"));
    const size_t ends[] = { a, b, a };
    int count;

    if (!class || !ath_starts_with(class, word) ||
        ath_parse_int(class + strlen(word), 1, LINKS_MAX, &count))
        return;
    for (size_t i = 0; i + 1 < ATH_COUNT(ends); i++) {
        struct ath_gpu *gpu = &machine->gpus[ends[i]];
        struct ath_nvlink *link = ath_push(&gpu->nvlinks, &gpu->nvlink_count, sizeof *link);
        *link = (struct ath_nvlink){ .kind = ATH_PEER_GPU,
                                     .has_peer = true,
                                     .peer = machine->gpus[ends[i + 1]].pci,
                                     .count = count,
                                     .speed_mbps = ATH_UNKNOWN };
    }
}

static void read_gpu_pairs(struct ath_machine *machine, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i);
        int64_t a = number_of(pair, "a_index", GPUS_MAX), b = number_of(pair, "b_index", GPUS_MAX);
        if (a < 0 || b < 0 || a == b || (size_t)a >= machine->gpu_count ||
            (size_t)b >= machine->gpu_count)
            continue;
        set_class(machine, (size_t)a, (size_t)b, class_of(pair));
        set_measured(machine, (size_t)a, (size_t)b, pair);
        if (machine->is_text && !ath_gpu_has_links(&machine->gpus[a], ATH_PEER_SWITCH))
            add_links(machine, (size_t)a, (size_t)b, pair);
    }
}

static int read_whole(struct reader *reader, const json_t *whole)
{
    struct ath_machine *machine = &reader->machine;
    const char *own = json_string_value(json_object_get(whole, "schema"));

    if (!own || strcmp(own, schema) != 0) {
        ath_err_set(reader->err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                    _("'%s' is JSON, but not that of a machine: its schema is not %s"),
                    reader->name, schema);
        return ath_err_hint(reader->err, -EINVAL, "aitherion discover --json > machine.json");
    }
    read_host(reader, json_object_get(whole, "machine"));
    int status = read_nodes(reader, whole);
    if (!status)
        status = read_gpus(reader, whole);
    if (!status)
        status = read_nics(reader, whole);
    if (status)
        return status;
    make_classes(machine);
    read_pairs(machine, json_object_get(whole, "pairs"));
    read_gpu_pairs(machine, json_object_get(whole, "gpu_pairs"));
    return 0;
}

int ath_topology_parse_json(const char *name, const char *data, size_t length,
                            struct ath_machine *out, struct ath_err *err)
{
    struct reader reader = { .name = name, .err = err };
    json_error_t fault;
    size_t mark = ath_utf8_mark(data, length);
    json_auto_t *whole = json_loadb(data + mark, length - mark, 0, &fault);

    if (!whole)
        return ath_err_set(err, -EINVAL, ATH_E_TOPOLOGY_INVALID,
                           _("%s:%d:%d: the JSON is broken: %s"), name, fault.line, fault.column,
                           fault.text);
    int status = read_whole(&reader, whole);
    if (status) {
        ath_machine_free(&reader.machine);
        return status;
    }
    *out = reader.machine;
    return 0;
}
