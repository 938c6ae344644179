/* A plan: a page of text for users; JSON with the exact bodies of the requests to Docker. */
#include "config.h"

#include "cli/output/start_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/root.h"
#include "cli/output/ending.h"
#include "cli/output/fields.h"
#include "cli/output/json.h"
#include "cli/output/words.h"
#include "container/docker/body.h"
#include "container/docker/run_line.h"

/* --- data */

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
const char *const ath_start_plan_protocols[] = { "tcp", NULL };

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

static const struct ath_start_result *foreseen_of(const struct ath_start_plan_report *report,
                                                  size_t node)
{
    return node < report->foreseen->count ? &report->foreseen->items[node] : NULL;
}

static json_t *make_nodes(const void *object)
{
    const struct ath_start_plan_report *report = object;
    const struct ath_plan *plan = report->plan;
    json_t *list = json_array();

    for (size_t i = 0; i < plan->node_count; i++) {
        const struct planned one = { plan, &plan->nodes[i], report->identities,
                                     foreseen_of(report, i) };
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

/* --- text */

enum { LABEL_COLUMNS = 9 };

/* Prints a row and frees text. Prints nothing if text is NULL or empty. */
static void print_row(const struct ath_style *style, FILE *out, const char *label, char *text)
{
    ath_auto_free char *owned = text;
    if (owned && *owned)
        ath_style_print_row(style, out, LABEL_COLUMNS, label, owned);
}

static char *memory_words(const struct ath_plan *plan, const struct ath_plan_node *node)
{
    ath_auto_free char *nodes = ath_idset_format(&node->memory_nodes);
    ath_auto_free char *shm = ath_words_size(node->shm_bytes);
    struct ath_text text = { 0 };

    ath_text_add(&text, _("nodes %s"), nodes);
    if (node->memory_limit_bytes == ATH_UNKNOWN) {
        ath_text_add(&text, _("; no limit"));
    } else {
        ath_auto_free char *limit = ath_words_size(node->memory_limit_bytes);
        ath_auto_free char *total = ath_words_size(node->memory_total_bytes);
        ath_text_add(&text,
                     node->has_huge_pages ? _("; at most %s (%g %% of %s without huge pages)")
                                          : _("; at most %s (%g %% of %s)"),
                     limit, node->memory_percent, total);
    }
    if (!plan->is_process)
        ath_text_add(&text, _("; /dev/shm %s"), shm);
    ath_text_add(&text, "%s", node->has_memlock ? _("; locked memory without limit") : "");
    return ath_text_take(&text);
}

static const char *const gpu_ways[] = {
    [ATH_PLAN_GPU_NONE] = N_("none"),
    [ATH_PLAN_GPU_SIM] = N_("simulated"),
    [ATH_PLAN_GPU_CDI] = N_("by CDI"),
    [ATH_PLAN_GPU_RUNTIME] = N_("by NVIDIA's runtime"),
    [ATH_PLAN_GPU_HOOK] = N_("by NVIDIA's hook"),
    [ATH_PLAN_GPU_NODES] = N_("by device nodes and the host's driver libraries"),
};

static char *gpu_words(const struct ath_plan *plan, const struct ath_plan_node *node)
{
    struct ath_text text = { 0 };
    char pci[ATH_PCI_TEXT];

    for (size_t i = 0; i < node->gpu_count; i++)
        ath_text_add_part(&text, _(", "), "%s", ath_pci_format(&node->gpus[i].pci, pci));
    if (!plan->is_process || !node->gpu_count)
        ath_text_add(&text, "%s%s", text.length ? ", " : "", _(gpu_ways[node->gpu_way]));
    if (node->gpu_count)
        ath_text_add(&text, _("; %g %% of their memory"), node->vram_fraction * 100);
    if (node->gpu_count && !node->is_enforced)
        ath_text_add(&text, "%s", _(", not enforced"));
    return ath_text_take(&text);
}

static char *rdma_words(const struct ath_plan_node *node)
{
    struct ath_text text = { 0 };

    for (size_t i = 0; i < node->rdma_count; i++) {
        const struct ath_plan_rdma *rdma = &node->rdma[i];
        ath_text_add_part(&text, _(", "), "%s", rdma->name);
        if (rdma->device)
            ath_text_add(&text, " (%s)", rdma->device);
        if (rdma->gid_index != ATH_UNKNOWN)
            ath_text_add(&text, _(" with GID %d"), rdma->gid_index);
        else if (rdma->link)
            ath_text_add(&text, _(" with the GID of %s"), rdma->link);
    }
    return node->rdma_count ? ath_text_take(&text) : NULL;
}

/* Returns "encrypt: on, limits.host_fraction: 0.25"; NULL for no settings. */
static char *settings_words(const struct ath_plan_node *node)
{
    struct ath_text text = { 0 };

    for (size_t i = 0; i < node->settings.count; i++)
        ath_text_add_part(&text, _(", "), "%s: %s", node->settings.items[i].name,
                          node->settings.items[i].value);
    return node->settings.count ? ath_text_take(&text) : NULL;
}

static char *network_words(const struct ath_plan_node *node)
{
    switch (node->network) {
    case ATH_PLAN_BRIDGE:
        return ath_xasprintf(_("bridge"));
    case ATH_PLAN_HOST:
        return ath_xasprintf(_("the host's"));
    case ATH_PLAN_PAUSE:
        return ath_xasprintf(node->is_pause_bridged ? _("of the pause container %s, on the bridge")
                                                    : _("of the pause container %s"),
                             node->pause_name);
    default:
        return ath_xasprintf(_("a namespace of its own"));
    }
}

static char *macvlan_words(const struct ath_plan_macvlan *macvlan)
{
    struct ath_text text = { 0 };

    ath_text_add(&text, _("%s on %s (%s)"), macvlan->name, macvlan->parent,
                 ath_macvlan_mode_word(macvlan->mode));
    ath_text_add(&text, ", %s", macvlan->address ? macvlan->address : _("no address"));
    if (macvlan->mtu != ATH_UNKNOWN)
        ath_text_add(&text, _(", MTU %d"), macvlan->mtu);
    return ath_text_take(&text);
}

/* Adds the address of a service, or nothing if port is ATH_UNKNOWN. link: the link that leads to
 * the address; NULL: the text names no link. */
static void add_service(struct ath_text *text, const char *purpose, const char *address, int port,
                        const char *link)
{
    if (port == ATH_UNKNOWN)
        return;
    bool is_six = strchr(address, ':');
    ath_text_add_part(text, _(", "), is_six ? "%s [%s]:%d/tcp" : "%s %s:%d/tcp", purpose, address,
                      port);
    if (link)
        ath_text_add(text, " (%s)", link);
}

char *ath_start_plan_reach(const struct ath_plan_node *node)
{
    struct ath_text text = { 0 };

    for (size_t i = 0; i < node->port_count; i++)
        if (strcmp(node->ports[i].purpose, "data") != 0)
            add_service(&text, node->ports[i].purpose, node->ports[i].host_address,
                        node->ports[i].port, NULL);
    if (node->network == ATH_PLAN_HOST) {
        add_service(&text, "control", node->listen_address, node->control_port, NULL);
        add_service(&text, "metrics", node->metrics_address, node->metrics_port, NULL);
    }
    for (size_t i = 0; i < node->macvlan_count; i++) {
        const char *address = node->macvlans[i].address;
        if (!address)
            continue;
        ath_auto_free char *host = ath_xasprintf("%.*s", (int)strcspn(address, "/"), address);
        if (node->network == ATH_PLAN_NAMESPACE)
            add_service(&text, "control", host, node->control_port, node->macvlans[i].name);
        else
            ath_text_add_part(&text, _(", "), "%s (%s)", host, node->macvlans[i].name);
    }
    for (size_t i = 0; i < node->data_addresses.count; i++)
        ath_text_add_part(&text, _(", "), "data %s/tcp", node->data_addresses.items[i]);
    ath_text_add_part(&text, _(", "), "%s", node->socket);
    return ath_text_take(&text);
}

void ath_start_plan_print_warning(const struct ath_style *style, FILE *out,
                                  const struct ath_plan_warning *warning)
{
    const char *sign = ath_style_glyph(style, ATH_GLYPH_WARNING);

    ath_style_print(style, out,
                    &(struct ath_paragraph){ .prefix = "  ",
                                             .next_prefix = "    ",
                                             .label = sign,
                                             .label_role = ATH_ROLE_WARN,
                                             .text = warning->message });
    ath_auto_free char *hint = ath_style_hint(style, warning->hint);
    if (hint)
        ath_style_print(
            style, out,
            &(struct ath_paragraph){ .prefix = "    ", .text = hint, .role = ATH_ROLE_DIM });
}

/* Returns words for the work of the start on a node; NULL if it is not known. The caller frees it.
 */
static char *foreseen_words(const struct ath_start_result *foreseen)
{
    static const char *const words[ATH_START_OUTCOME_COUNT] = {
        [ATH_START_FAILED] = N_("would fail"),
        [ATH_START_SAME] = N_("runs already"),
        [ATH_START_CHANGED] = N_("would be changed without a restart"),
        [ATH_START_STARTED] = N_("would be started"),
        [ATH_START_RESTARTED] = N_("would be restarted"),
        [ATH_START_REPAIRED] = N_("would be repaired")
    };
    if (!foreseen)
        return NULL;
    const char *reason = foreseen->status ? foreseen->err.message : foreseen->reason;
    return reason ? ath_xasprintf("%s: %s", _(words[foreseen->outcome]), reason)
                  : ath_xstrdup(_(words[foreseen->outcome]));
}

static void print_node(const struct ath_style *style, FILE *out, const struct ath_plan *plan,
                       const struct ath_plan_node *node, const struct ath_start_result *foreseen)
{
    fprintf(out, "\n%sNUMA%d%s  ", ath_style_on(style, ATH_ROLE_NAME), node->id,
            ath_style_off(style, ATH_ROLE_NAME));
    fprintf(out,
            plan->is_process ? _("process %s on NUMA node %d\n")
                             : _("container %s on NUMA node %d\n"),
            node->name, node->node);
    print_row(style, out, _("CPUs"),
              node->cpus.range_count ? ath_idset_format(&node->cpus) : ath_xstrdup(_("not known")));
    print_row(style, out, _("memory"), memory_words(plan, node));
    print_row(style, out, _("GPUs"), gpu_words(plan, node));
    print_row(style, out, _("RDMA"), rdma_words(node));
    print_row(style, out, _("network"), network_words(node));
    for (size_t i = 0; i < node->macvlan_count; i++)
        print_row(style, out, _("macvlan"), macvlan_words(&node->macvlans[i]));
    print_row(style, out, _("reached"), ath_start_plan_reach(node));
    print_row(style, out, _("key"), ath_xstrdup(node->key_path));
    print_row(style, out, _("settings"), settings_words(node));
    print_row(style, out, _("now"), foreseen_words(foreseen));
    for (size_t i = 0; i < node->warning_count; i++)
        ath_start_plan_print_warning(style, out, &node->warnings[i]);
}

static void print_commands(FILE *out, const struct ath_plan *plan, const struct ath_plan_node *node,
                           const char *identities)
{
    char **lines;
    size_t count;

    ath_run_lines(plan, node, identities, &lines, &count);
    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *line = ath_clean_lines(lines[i]);
        fprintf(out, "%s\n", line);
    }
    ath_names_free(lines, count);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_start_plan_report *report = data;
    const struct ath_plan *plan = report->plan;

    if (plan->is_process)
        fprintf(out, _("Engine: processes of this machine%s\n"),
                plan->is_sim ? _(", simulated GPUs") : "");
    else
        fprintf(out, _("Engine: Docker, image %s%s\n"), plan->image,
                plan->is_sim ? _(", simulated GPUs") : "");
    for (size_t i = 0; i < plan->node_count; i++)
        print_node(style, out, plan, &plan->nodes[i], foreseen_of(report, i));
    if (report->ends->count)
        fputc('\n', out);
    ath_ending_print(style, out, report->ends);
    fprintf(out, "\n%s%s%s\n", ath_style_on(style, ATH_ROLE_HEADING), _("Equivalent commands:"),
            ath_style_off(style, ATH_ROLE_HEADING));
    for (size_t i = 0; i < plan->node_count; i++)
        print_commands(out, plan, &plan->nodes[i], report->identities);
}

const struct ath_view ath_start_plan_view = {
    .schema = "aitherion.start-plan/1",
    .title = "Output of `aitherion start --dry-run --json`: the plan of each NUMA entry's runtime",
    .fields = fields,
    .to_text = to_text,
};
