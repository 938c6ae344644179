/* A plan as JSON, with the exact bodies of the requests to Docker. */
#include "config.h"

#include "cli/output/start_plan_parts.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "cli/output/ending.h"
#include "cli/output/fields.h"
#include "cli/output/json.h"
#include "cli/output/words.h"
#include "container/docker/body.h"
#include "container/docker/run_line.h"

#define AT(member) ATH_AT(struct ath_plan_gpu, member)
static const struct ath_field gpu_fields[] = {
    ATH_FIELD("pci", AT(pci)),
    ATH_FIELD("uuid", AT(uuid), .is_nullable = true),
    ATH_FIELD("device", AT(device), .help = "device node; null if not known", .is_nullable = true),
    ATH_FIELD("cdi_name", AT(cdi_name), .is_nullable = true),
    ATH_FIELD("memory_node", AT(memory_node), .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("is_waited_for", AT(is_waited_for),
              .help = "true if the start waits, because the GPU's memory is not online yet"),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_plan_rdma, member)
static const struct ath_field rdma_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("device", AT(device), .help = "device node; null if not known", .is_nullable = true),
    ATH_FIELD("link", AT(link), .help = "link whose GID is used", .is_nullable = true),
    ATH_FIELD("gid_index", AT(gid_index),
              .help = "index of the GID; null if it is known only when the link has its address",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

const char *const ath_start_plan_purposes[] = { "control", "metrics", "data", NULL };
const char *const ath_start_plan_protocols[] = { "tcp", "udp", NULL };

#define AT(member) ATH_AT(struct ath_plan_port, member)
static const struct ath_field port_fields[] = {
    ATH_FIELD("purpose", AT(purpose), .words = ath_start_plan_purposes),
    ATH_FIELD("protocol", AT(protocol), .words = ath_start_plan_protocols),
    ATH_FIELD("host_address", AT(host_address)),
    ATH_FIELD("port", AT(port), .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_plan_macvlan, member)
static const struct ath_field macvlan_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("parent", AT(parent)),
    ATH_FIELD("mode", AT(mode), .word = ath_macvlan_mode_word,
              .word_count = ATH_MACVLAN_PASSTHRU + 1),
    ATH_FIELD("address", AT(address), .help = "null if no address is set", .is_nullable = true),
    ATH_FIELD("mtu", AT(mtu), .help = "null for the parent's MTU", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    { .name = NULL },
};
#undef AT

ATH_FIELD_WORD(network_word, enum ath_plan_network, ath_plan_network_word)

#define AT(member) ATH_AT(struct ath_plan_node, member)
static const struct ath_field network_fields[] = {
    ATH_FIELD("kind", AT(network),
              .help = "network of the runtime: Docker's bridge, the host's network, that of the "
                      "pause container, or (for processes) the macvlan's namespace",
              .word = network_word, .word_count = ATH_PLAN_NAMESPACE + 1),
    ATH_FIELD("control_iface", AT(control_iface), .is_nullable = true),
    ATH_FIELD("listen_address", AT(listen_address),
              .help = "address to listen on, in the runtime's network"),
    ATH_FIELD("control_port", AT(control_port), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("metrics_address", AT(metrics_address),
              .help = "the same for metrics; null for no metrics", .is_nullable = true),
    ATH_FIELD("metrics_port", AT(metrics_port), .help = "null for no metrics", .is_nullable = true,
              .rules = ATH_AT_LEAST_0),
    ATH_FIELD("data_iface", AT(data_iface)),
    ATH_FIELD("data_listen", AT(data_listen),
              .help = "where the runtime listens for large copies, in its network"),
    ATH_FIELD("data_addresses", AT(data_addresses),
              .help = "the addresses that programs get for large copies; none: these go to the "
                      "address of the calls"),
    ATH_FIELD("ports", ATH_AT_LIST(struct ath_plan_node, ports, port_count),
              .help = "ports published on the host", .fields = port_fields),
    ATH_FIELD("macvlans", ATH_AT_LIST(struct ath_plan_node, macvlans, macvlan_count),
              .fields = macvlan_fields),
    { .name = NULL },
};
#undef AT

static json_t *pairs_to_json(const struct ath_plan_pairs *pairs)
{
    json_t *made = json_object();

    for (size_t i = 0; i < pairs->count; i++)
        json_object_set_new(made, pairs->items[i].name, ath_json_text(pairs->items[i].value));
    return made;
}

static json_t *make_settings(const void *object)
{
    return pairs_to_json(&((const struct ath_plan_node *)object)->settings);
}

static json_t *make_environment(const void *object)
{
    return pairs_to_json(&((const struct ath_plan_node *)object)->environment);
}

static json_t *make_waits(const void *object)
{
    return json_boolean(ath_plan_node_waits(object));
}

ATH_FIELD_WORD(gpu_way_word, enum ath_plan_gpu_way, ath_plan_gpu_way_word)

#define AT(member) ATH_AT(struct ath_plan_node, member)
static const struct ath_field settings_fields[] = {
    ATH_FIELD("id", AT(id), .help = "id of the NUMA entry", .rules = ATH_AT_LEAST_0),
    ATH_FIELD("node", AT(node), .help = "the kernel's NUMA node", .rules = ATH_AT_LEAST_0),
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("pause_name", AT(pause_name), .help = "name of the pause container; null without one",
              .is_nullable = true),
    ATH_FIELD("cpus", ATH_AT_AS(ATH_FIELD_CPUS, struct ath_plan_node, cpus),
              .help = "CPUs in the kernel's list format: 0-63"),
    ATH_FIELD("memory_nodes", ATH_AT_AS(ATH_FIELD_CPUS, struct ath_plan_node, memory_nodes),
              .help = "NUMA nodes of the memory (cpuset-mems): the CPU node and the memory nodes "
                      "of its GPUs"),
    ATH_FIELD("memory_limit_bytes", AT(memory_limit_bytes), .help = "null for no limit",
              .is_nullable = true, .rules = ATH_AT_LEAST_0),
    ATH_FIELD("shm_bytes", AT(shm_bytes), .rules = ATH_AT_LEAST_0),
    ATH_FIELD("gpu_way", AT(gpu_way), .word = gpu_way_word, .word_count = ATH_PLAN_GPU_NODES + 1),
    ATH_FIELD("vram_fraction", AT(vram_fraction), .rules = "{\"minimum\": 0, \"maximum\": 1}"),
    ATH_FIELD("is_enforced", AT(is_enforced),
              .help = "false if the runtime only counts what goes beyond limits of GPU memory"),
    ATH_FIELD("waits_for_gpu_memory", ATH_OF(ATH_FIELD_BOOL), .make = make_waits),
    ATH_FIELD("gpus", ATH_AT_LIST(struct ath_plan_node, gpus, gpu_count), .fields = gpu_fields),
    ATH_FIELD("rdma_devices", ATH_AT_LIST(struct ath_plan_node, rdma, rdma_count),
              .fields = rdma_fields),
    ATH_FIELD("network", ATH_OF(ATH_FIELD_OBJECT), .fields = network_fields),
    ATH_FIELD("devices", AT(devices), .help = "paths of device nodes"),
    ATH_FIELD("folder", AT(folder)),
    ATH_FIELD("key_file", AT(key_path), .help = "path on the host"),
    ATH_FIELD("settings", ATH_OF(ATH_FIELD_TEXT), .is_map = true, .make = make_settings,
              .help = "keys of the whole document that its server gets, without those that have "
                      "their defaults: encrypt, limits.host_fraction"),
    ATH_FIELD("environment", ATH_OF(ATH_FIELD_TEXT), .is_map = true, .make = make_environment),
    ATH_FIELD("command", AT(command)),
    ATH_FIELD("health_command", AT(health)),
    { .name = NULL },
};
#undef AT

/* Members that all bodies have (docker/body.c); their values come from there. */
#define WITH_MORE "{\"additionalProperties\": true}"
static const struct ath_field host_fields[] = {
    ATH_FIELD("NetworkMode", ATH_OF(ATH_FIELD_TEXT)),
    ATH_FIELD("CpusetCpus", ATH_OF(ATH_FIELD_TEXT)),
    ATH_FIELD("CpusetMems", ATH_OF(ATH_FIELD_TEXT)),
    ATH_FIELD("CapDrop", ATH_LIST_OF(ATH_FIELD_TEXT)),
    ATH_FIELD("SecurityOpt", ATH_LIST_OF(ATH_FIELD_TEXT)),
    ATH_FIELD("ReadonlyRootfs", ATH_OF(ATH_FIELD_BOOL)),
    { .name = NULL },
};

static const struct ath_field body_fields[] = {
    ATH_FIELD("Image", ATH_OF(ATH_FIELD_TEXT)),
    ATH_FIELD("Entrypoint", ATH_LIST_OF(ATH_FIELD_TEXT)),
    ATH_FIELD("Cmd", ATH_LIST_OF(ATH_FIELD_TEXT)),
    ATH_FIELD("Labels", ATH_OF(ATH_FIELD_TEXT), .is_map = true),
    ATH_FIELD("Healthcheck", ATH_OF(ATH_FIELD_OBJECT)),
    ATH_FIELD("HostConfig", ATH_OF(ATH_FIELD_OBJECT), .rules = WITH_MORE, .fields = host_fields),
    { .name = NULL },
};

struct request {
    enum ath_docker_role role;
    const char *method, *path;
    json_t *body;
};

ATH_FIELD_WORD(role_word, enum ath_docker_role, ath_docker_role_word)

static json_t *make_body(const void *object)
{
    return json_incref(((const struct request *)object)->body);
}

#define AT(member) ATH_AT(struct request, member)
static const struct ath_field request_fields[] = {
    ATH_FIELD("role", AT(role), .word = role_word, .word_count = ATH_DOCKER_RUNTIME + 1),
    ATH_FIELD("method", AT(method), .rules = "{\"const\": \"POST\"}"),
    ATH_FIELD("path", AT(path)),
    ATH_FIELD("body", ATH_OF(ATH_FIELD_OBJECT),
              .help = "body as Docker's reference describes it (Engine API 1.41, ContainerCreate)",
              .rules = WITH_MORE, .fields = body_fields, .make = make_body),
    { .name = NULL },
};
#undef AT

/* A node and its plan. */
struct planned {
    const struct ath_plan *plan;
    const struct ath_plan_node *node;
    const char *identities;
    const struct ath_start_result *foreseen; /* NULL: not known */
};

static const void *find_node(const void *object)
{
    return ((const struct planned *)object)->node;
}

static const void *find_foreseen(const void *object)
{
    return ((const struct planned *)object)->foreseen;
}

ATH_FIELD_WORD(outcome_word, enum ath_start_outcome, ath_start_outcome_word)

static json_t *make_requests(const void *object)
{
    const struct planned *one = object;
    json_t *list = json_array();

    for (int role = ATH_DOCKER_PAUSE; role <= ATH_DOCKER_RUNTIME && !one->plan->is_process;
         role++) {
        const char *name = ath_docker_name(one->node, (enum ath_docker_role)role);
        if (!name)
            continue;
        ath_auto_free char *path = ath_xasprintf("/containers/create?name=%s", name);
        json_auto_t *body =
            ath_docker_body(one->node, one->plan->image, (enum ath_docker_role)role);
        const struct request request = { (enum ath_docker_role)role, "POST", path, body };
        json_array_append_new(list, ath_fields_to_json(request_fields, &request));
    }
    return list;
}

static json_t *make_commands(const void *object)
{
    const struct planned *one = object;
    json_t *list = json_array();
    char **lines;
    size_t count;

    ath_run_lines(one->plan, one->node, one->identities, &lines, &count);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, ath_json_lines(lines[i]));
    ath_names_free(lines, count);
    return list;
}

ATH_FIELD_WORD(warning_word, enum ath_plan_warning_code, ath_plan_warning_word)

#define AT(member) ATH_AT(struct ath_plan_warning, member)
const struct ath_field ath_start_plan_warning_fields[] = {
    ATH_FIELD("code", AT(code), .word = warning_word, .word_count = ATH_PLAN_W_COUNT),
    ATH_FIELD("object", AT(object), .is_nullable = true),
    ATH_FIELD("message", AT(message)),
    ATH_FIELD("hint", AT(hint), .is_nullable = true),
    { .name = NULL },
};
#undef AT

#define FORESEEN(member) ATH_AT(struct ath_start_result, member)
static const struct ath_field node_fields[] = {
    ATH_FIELD("", ATH_OF(ATH_FIELD_INNER), .fields = settings_fields, .find = find_node),
    ATH_FIELD("outcome", FORESEEN(outcome),
              .help = "what the start would do with the node; null if it is not known what runs",
              .is_nullable = true, .word = outcome_word, .word_count = ATH_START_OUTCOME_COUNT,
              .find = find_foreseen),
    ATH_FIELD("reason", FORESEEN(reason), .help = "why the runtime would be restarted",
              .is_nullable = true, .find = find_foreseen),
    ATH_FIELD("error", ATH_AT(struct ath_start_result, err),
              .help = "why the start of the node would fail",
              .failed = ATH_FAILED(struct ath_start_result, status), .fields = ath_error_fields,
              .find = find_foreseen),
    ATH_FIELD("requests", ATH_LIST_OF(ATH_FIELD_OBJECT),
              .help = "requests to Docker, in order; empty for the process engine",
              .fields = request_fields, .make = make_requests),
    ATH_FIELD("commands", ATH_LIST_OF(ATH_FIELD_LINES), .help = "equivalent shell commands",
              .make = make_commands),
    ATH_FIELD("warnings", ATH_AT_LIST(struct ath_plan_node, warnings, warning_count),
              .fields = ath_start_plan_warning_fields, .find = find_node),
    { .name = NULL },
};

static const void *find_plan(const void *object)
{
    return ((const struct ath_start_plan_report *)object)->plan;
}

static const void *find_ends(const void *object)
{
    return ((const struct ath_start_plan_report *)object)->ends;
}

static json_t *make_engine(const void *object)
{
    const struct ath_plan *plan = find_plan(object);
    return json_string(plan->is_process ? "process" : "docker");
}

static json_t *make_nodes(const void *object)
{
    const struct ath_start_plan_report *report = object;
    const struct ath_plan *plan = report->plan;
    json_t *list = json_array();

    for (size_t i = 0; i < plan->node_count; i++) {
        const struct planned one = { plan, &plan->nodes[i], report->identities,
                                     ath_start_plan_foreseen(report, i) };
        json_array_append_new(list, ath_fields_to_json(node_fields, &one));
    }
    return list;
}

static const struct ath_field fields[] = {
    ATH_FIELD("engine", ATH_OF(ATH_FIELD_TEXT), .words = ath_words_engines, .make = make_engine),
    ATH_FIELD("image", ATH_AT(struct ath_plan, image),
              .help = "image that Docker must have; null for the process engine",
              .is_nullable = true, .find = find_plan),
    ATH_FIELD("is_sim", ATH_AT(struct ath_plan, is_sim),
              .help = "whether the GPUs of all entries are simulated", .find = find_plan),
    ATH_FIELD("nodes", ATH_LIST_OF(ATH_FIELD_OBJECT), .fields = node_fields, .make = make_nodes),
    ATH_FIELD("ends", ATH_AT_LIST(struct ath_session_report, items, count), .help = ATH_ENDING_HELP,
              .fields = ath_ending_fields, .find = find_ends),
    { .name = NULL },
};

const struct ath_view ath_start_plan_view = {
    .schema = "aitherion.start-plan/1",
    .title = "Output of `aitherion start --dry-run --json`: the plan of each NUMA entry's runtime",
    .fields = fields,
    .to_text = ath_start_plan_to_text,
};
