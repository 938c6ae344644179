/*
 * Request bodies.
 *
 * The restart policy is "on-failure". After an orderly shutdown a Docker that starts with the
 * machine leaves such a container stopped: the GPUs' memory may not be online yet, and aitherion's
 * own unit waits for it. The pause container never restarts by itself, because it would come back
 * without its macvlan; `start` makes both containers again.
 *
 * The health check uses no shell, because the image has none.
 */
#include "config.h"

#include "container/docker/body.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"

enum {
    PAUSE_MEMORY_BYTES = 64 << 20,
    PAUSE_PIDS = 64,
    STOP_TIMEOUT_S = 10,
    HEALTH_RETRIES = 3,
    /* The probe itself waits 5 s for an answer. On a busy machine Docker may need longer than that
     * to start the probe. */
    HEALTH_TIMEOUT_S = 20,
};

static const json_int_t second_ns = 1000000000;

const char *ath_docker_role_word(enum ath_docker_role role)
{
    return role == ATH_DOCKER_PAUSE ? "pause" : "runtime";
}

const char *ath_docker_name(const struct ath_plan_node *node, enum ath_docker_role role)
{
    return role == ATH_DOCKER_PAUSE ? node->pause_name : node->name;
}

static json_t *list_of(const char *const *texts, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(texts[i]));
    return list;
}

static json_t *rest_of(const struct ath_texts *texts, size_t first)
{
    return list_of((const char *const *)texts->items + first, texts->count - first);
}

static json_t *environment_of(const struct ath_plan_node *node)
{
    json_t *list = json_array();
    for (size_t i = 0; i < node->environment.count; i++)
        json_array_append_new(list, json_sprintf("%s=%s", node->environment.items[i].name,
                                                 node->environment.items[i].value));
    return list;
}

static char *port_key(const struct ath_plan_port *port)
{
    return ath_xasprintf("%d/%s", port->port, port->protocol);
}

/* Returns {"50051/tcp": {}} for all ports. */
static json_t *exposed_ports(const struct ath_plan_node *node)
{
    json_t *ports = json_object();
    for (size_t i = 0; i < node->port_count; i++) {
        ath_auto_free char *key = port_key(&node->ports[i]);
        json_object_set_new(ports, key, json_object());
    }
    return ports;
}

/* Returns {"50051/tcp": [{"HostIp": "10.0.0.11", "HostPort": "50051"}]} for all ports, with all
 * addresses of a port. */
static json_t *port_bindings(const struct ath_plan_node *node)
{
    json_t *ports = json_object();
    for (size_t i = 0; i < node->port_count; i++) {
        const struct ath_plan_port *port = &node->ports[i];
        ath_auto_free char *key = port_key(port);
        if (!json_object_get(ports, key))
            json_object_set_new(ports, key, json_array());
        json_array_append_new(json_object_get(ports, key),
                              json_pack("{s:s, s:o}", "HostIp", port->host_address, "HostPort",
                                        json_sprintf("%d", port->port)));
    }
    return ports;
}

static json_t *devices_of(const struct ath_plan_node *node)
{
    json_t *list = json_array();
    for (size_t i = 0; i < node->devices.count; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s}", "PathOnHost",
                                              node->devices.items[i], "PathInContainer",
                                              node->devices.items[i], "CgroupPermissions", "rw"));
    return list;
}

static json_t *gpu_ids(const struct ath_plan_node *node)
{
    json_t *list = json_array();
    for (size_t i = 0; i < node->gpu_count; i++) {
        const struct ath_plan_gpu *gpu = &node->gpus[i];
        if (node->gpu_way == ATH_PLAN_GPU_CDI)
            json_array_append_new(list, json_string(gpu->cdi_name));
        else
            json_array_append_new(list, gpu->uuid ? json_string(gpu->uuid)
                                                  : json_sprintf("%d", gpu->index));
    }
    return list;
}

/* Returns NULL for ways that need no device request. */
static json_t *gpu_requests(const struct ath_plan_node *node)
{
    if (node->gpu_way == ATH_PLAN_GPU_CDI)
        return json_pack("[{s:s, s:o}]", "Driver", "cdi", "DeviceIDs", gpu_ids(node));
    if (node->gpu_way == ATH_PLAN_GPU_HOOK)
        return json_pack("[{s:s, s:o, s:[[s]]}]", "Driver", "nvidia", "DeviceIDs", gpu_ids(node),
                         "Capabilities", "gpu");
    return NULL;
}

/* A mount with a missing source is an error; Binds would make a new folder. */
static json_t *mounts_of(const struct ath_plan_node *node)
{
    json_t *list = json_array();
    for (size_t i = 0; i < node->mount_count; i++) {
        const struct ath_plan_mount *mount = &node->mounts[i];
        json_t *object = json_pack("{s:s, s:s, s:s}", "Type", "bind", "Source", mount->source,
                                   "Target", mount->target);
        if (mount->is_read_only)
            json_object_set_new(object, "ReadOnly", json_true());
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *network_of(const struct ath_plan_node *node, enum ath_docker_role role)
{
    if (role == ATH_DOCKER_PAUSE)
        return json_string(node->is_pause_bridged ? "bridge" : "none");
    if (node->network == ATH_PLAN_PAUSE)
        return json_sprintf("container:%s", node->pause_name);
    return json_string(node->network == ATH_PLAN_HOST ? "host" : "bridge");
}

/* The settings of both containers: CPUs and memory nodes, no way to gain rights, a read-only root
 * file system, limits. */
static json_t *confined(const struct ath_plan_node *node, enum ath_docker_role role,
                        json_int_t memory_bytes, json_int_t pids)
{
    ath_auto_free char *cpus = ath_idset_format(&node->cpus);
    ath_auto_free char *nodes = ath_idset_format(&node->memory_nodes);
    json_t *host =
        json_pack("{s:o, s:s, s:s, s:[s], s:[s], s:b, s:I}", "NetworkMode", network_of(node, role),
                  "CpusetCpus", cpus, "CpusetMems", nodes, "CapDrop", "ALL", "SecurityOpt",
                  "no-new-privileges", "ReadonlyRootfs", true, "PidsLimit", pids);
    /* An empty type keeps the daemon's log driver. Each connection writes a line, also one from a
     * foreign machine. */
    if (node->limits_logs)
        json_object_set_new(host, "LogConfig",
                            json_pack("{s:s, s:{s:s, s:s}}", "Type", "", "Config", "max-size",
                                      "10m", "max-file", "2"));
    if (memory_bytes > 0) {
        json_object_set_new(host, "Memory", json_integer(memory_bytes));
        json_object_set_new(host, "MemorySwap", json_integer(memory_bytes)); /* no swap */
    }
    return host;
}

static json_t *pause_host(const struct ath_plan_node *node)
{
    json_t *host = confined(node, ATH_DOCKER_PAUSE, PAUSE_MEMORY_BYTES, PAUSE_PIDS);

    json_object_set_new(host, "RestartPolicy", json_pack("{s:s}", "Name", "no"));
    if (node->port_count)
        json_object_set_new(host, "PortBindings", port_bindings(node));
    return host;
}

/* The listening process gives each session a user of its own, and ends sessions. The processes of
 * sessions have no capability. */
static void add_capabilities(json_t *host, const struct ath_plan_node *node)
{
    static const char *const of_listener[] = { "KILL", "SETGID", "SETUID" };
    json_t *list = json_array();

    if (node->has_memlock)
        json_array_append_new(list, json_string("IPC_LOCK"));
    for (size_t i = 0; !node->user && i < ATH_COUNT(of_listener); i++)
        json_array_append_new(list, json_string(of_listener[i]));
    if (json_array_size(list))
        json_object_set_new(host, "CapAdd", list);
    else
        json_decref(list);
}

static void add_memlock(json_t *host)
{
    json_object_set_new(host, "Ulimits",
                        json_pack("[{s:s, s:i, s:i}]", "Name", "memlock", "Soft", -1, "Hard", -1));
}

static json_t *runtime_host(const struct ath_plan_node *node)
{
    json_t *host = confined(node, ATH_DOCKER_RUNTIME, node->memory_limit_bytes, ATH_PLAN_PIDS);
    json_t *requests = gpu_requests(node);

    json_object_set_new(host, "ShmSize", json_integer(node->shm_bytes));
    json_object_set_new(host, "Tmpfs",
                        json_pack("{s:s}", "/tmp", "rw,nosuid,nodev,size=1g,mode=1777"));
    json_object_set_new(host, "RestartPolicy", json_pack("{s:s}", "Name", "on-failure"));
    json_object_set_new(host, "Mounts", mounts_of(node));
    add_capabilities(host, node);
    if (node->has_memlock)
        add_memlock(host);
    if (node->devices.count)
        json_object_set_new(host, "Devices", devices_of(node));
    if (requests)
        json_object_set_new(host, "DeviceRequests", requests);
    if (node->gpu_way == ATH_PLAN_GPU_RUNTIME)
        json_object_set_new(host, "Runtime", json_string("nvidia"));
    if (node->network == ATH_PLAN_BRIDGE)
        json_object_set_new(host, "PortBindings", port_bindings(node));
    return host;
}

static json_t *health_of(const struct ath_plan_node *node)
{
    json_t *test = rest_of(&node->health, 0);

    json_array_insert_new(test, 0, json_string("CMD"));
    return json_pack("{s:o, s:I, s:I, s:I, s:i}", "Test", test, "Interval", 10 * second_ns,
                     "Timeout", HEALTH_TIMEOUT_S * second_ns, "StartPeriod", 30 * second_ns,
                     "Retries", HEALTH_RETRIES);
}

static json_t *pause_body(const struct ath_plan_node *node, const char *image)
{
    json_t *body =
        json_pack("{s:s, s:s, s:[s], s:[s], s:s, s:{s:[s]}, s:i, s:o}", "Image", image, "Hostname",
                  node->name, "Entrypoint", ATH_PLAN_RUNTIME, "Cmd", "pause", "User", "65534:65534",
                  "Healthcheck", "Test", "NONE", "StopTimeout", 1, "HostConfig", pause_host(node));
    if (node->port_count)
        json_object_set_new(body, "ExposedPorts", exposed_ports(node));
    return body;
}

static json_t *runtime_body(const struct ath_plan_node *node, const char *image)
{
    json_t *body = json_pack("{s:s, s:[s], s:o, s:o, s:o, s:i, s:o}", "Image", image, "Entrypoint",
                             node->command.items[0], "Cmd", rest_of(&node->command, 1), "Env",
                             environment_of(node), "Healthcheck", health_of(node), "StopTimeout",
                             STOP_TIMEOUT_S, "HostConfig", runtime_host(node));
    if (node->user)
        json_object_set_new(body, "User", json_string(node->user));
    if (node->network != ATH_PLAN_PAUSE) /* the pause container sets the host name */
        json_object_set_new(body, "Hostname", json_string(node->name));
    if (node->network == ATH_PLAN_BRIDGE)
        json_object_set_new(body, "ExposedPorts", exposed_ports(node));
    return body;
}

static json_t *body_of(const struct ath_plan_node *node, const char *image,
                       enum ath_docker_role role)
{
    if (!ath_docker_name(node, role))
        return NULL;
    return role == ATH_DOCKER_PAUSE ? pause_body(node, image) : runtime_body(node, image);
}

/* FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/). */
static uint64_t hash(const char *text)
{
    uint64_t value = 0xcbf29ce484222325u;
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * 0x100000001b3u;
    return value;
}

/*
 * The fingerprint ignores sizes that follow from the machine's memory. That memory changes while
 * the machine runs (hot-plug, a virtual machine's balloon), which is no reason to restart a
 * container. The percentage from the document counts instead.
 */
static char *fingerprint_of(const struct ath_plan_node *node, enum ath_docker_role role,
                            const json_t *body)
{
    static const char *const measured[] = { "Memory", "MemorySwap", "ShmSize" };
    json_auto_t *copy = json_deep_copy(body);
    json_t *host = json_object_get(copy, "HostConfig");

    for (size_t i = 0; role == ATH_DOCKER_RUNTIME && i < ATH_COUNT(measured); i++)
        json_object_del(host, measured[i]);
    if (role == ATH_DOCKER_RUNTIME)
        json_object_set_new(host, "memory_percent", json_real(node->memory_percent));
    ath_auto_free char *text = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
    return ath_xasprintf("%016" PRIx64, hash(text));
}

/* Removes the texts of a list that begin with prefix, or that follow the text `option`. */
static void drop(json_t *list, const char *prefix, const char *option)
{
    for (size_t i = json_array_size(list); i-- > 0;) {
        const char *text = json_string_value(json_array_get(list, i));
        const char *before = i ? json_string_value(json_array_get(list, i - 1)) : NULL;
        if ((prefix && !strncmp(text, prefix, strlen(prefix))) ||
            (option && before && !strcmp(before, option)))
            json_array_remove(list, i);
    }
}

static char *base_of(const struct ath_plan_node *node, const json_t *body)
{
    json_auto_t *copy = json_deep_copy(body);
    struct ath_plan_node other = *node;

    drop(json_object_get(copy, "Cmd"), NULL, "--vram-fraction");
    drop(json_object_get(copy, "Env"), "VRAM_FRACTION=", NULL);
    other.memory_percent = 0;
    return fingerprint_of(&other, ATH_DOCKER_RUNTIME, copy);
}

static json_t *labels_of(const struct ath_plan_node *node, enum ath_docker_role role,
                         const json_t *body)
{
    ath_auto_free char *fingerprint = fingerprint_of(node, role, body);
    json_t *labels = json_object();

    for (size_t i = 0; i < node->labels.count; i++)
        json_object_set_new(labels, node->labels.items[i].name,
                            json_string(node->labels.items[i].value));
    json_object_set_new(labels, ATH_PLAN_LABEL_ROLE, json_string(ath_docker_role_word(role)));
    json_object_set_new(labels, ATH_PLAN_LABEL_PLAN, json_string(fingerprint));
    if (role == ATH_DOCKER_RUNTIME) {
        ath_auto_free char *base = base_of(node, body);
        json_object_set_new(labels, ATH_PLAN_LABEL_BASE, json_string(base));
    }
    return labels;
}

json_t *ath_docker_body(const struct ath_plan_node *node, const char *image,
                        enum ath_docker_role role)
{
    json_t *body = body_of(node, image, role);
    if (body)
        json_object_set_new(body, "Labels", labels_of(node, role, body));
    return body;
}

char *ath_docker_fingerprint(const struct ath_plan_node *node, const char *image,
                             enum ath_docker_role role)
{
    json_t *body = body_of(node, image, role);
    char *text = body ? fingerprint_of(node, role, body) : NULL;
    json_decref(body);
    return text;
}

char *ath_docker_base(const struct ath_plan_node *node, const char *image)
{
    json_auto_t *body = body_of(node, image, ATH_DOCKER_RUNTIME);
    return base_of(node, body);
}
