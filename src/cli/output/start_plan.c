/* Showing a plan: a page for people, the very request bodies for programs. */
#include "config.h"

#include "cli/output/start_plan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/root.h"
#include "cli/output/clean.h"
#include "cli/output/json.h"
#include "cli/output/words.h"
#include "container/docker_body.h"
#include "container/run_line.h"

/* --- data */

static json_t *set_to_json(const struct ath_idset *set)
{
    ath_auto_free char *text = ath_idset_format(set);
    return json_string(text);
}

static json_t *gpus_to_json(const struct ath_plan_node *node)
{
    json_t *list = json_array();
    for (size_t i = 0; i < node->gpu_count; i++) {
        const struct ath_plan_gpu *gpu = &node->gpus[i];
        char pci[ATH_PCI_TEXT];
        json_array_append_new(
            list,
            json_pack("{s:s, s:o, s:o, s:o, s:o, s:b}", "pci", ath_pci_format(&gpu->pci, pci),
                      "uuid", ath_json_text(gpu->uuid), "device", ath_json_text(gpu->device),
                      "cdi_name", ath_json_text(gpu->cdi_name), "memory_node",
                      ath_json_number(gpu->memory_node), "is_waited_for", gpu->is_waited_for));
    }
    return list;
}

static json_t *rdma_to_json(const struct ath_plan_node *node)
{
    json_t *list = json_array();
    for (size_t i = 0; i < node->rdma_count; i++) {
        const struct ath_plan_rdma *rdma = &node->rdma[i];
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o}", "name", ath_json_text(rdma->name), "device",
                            ath_json_text(rdma->device), "link", ath_json_text(rdma->link),
                            "gid_index", ath_json_number(rdma->gid_index)));
    }
    return list;
}

static json_t *macvlans_to_json(const struct ath_plan_node *node)
{
    json_t *list = json_array();
    for (size_t i = 0; i < node->macvlan_count; i++) {
        const struct ath_plan_macvlan *macvlan = &node->macvlans[i];
        json_array_append_new(
            list, json_pack("{s:o, s:o, s:s, s:o, s:o}", "name", ath_json_text(macvlan->name),
                            "parent", ath_json_text(macvlan->parent), "mode",
                            ath_macvlan_mode_word(macvlan->mode), "address",
                            ath_json_text(macvlan->address), "mtu", ath_json_number(macvlan->mtu)));
    }
    return list;
}

static json_t *network_to_json(const struct ath_plan_node *node)
{
    json_t *ports = json_array();
    for (size_t i = 0; i < node->port_count; i++)
        json_array_append_new(ports,
                              json_pack("{s:s, s:s, s:o, s:i}", "purpose", node->ports[i].purpose,
                                        "protocol", node->ports[i].protocol, "host_address",
                                        ath_json_text(node->ports[i].host_address), "port",
                                        node->ports[i].port));
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:i, s:i, s:o, s:o}", "kind", ath_plan_network_word(node->network),
        "control_iface", ath_json_text(node->control_iface), "data_iface",
        ath_json_text(node->data_iface), "listen_address", ath_json_text(node->listen_address),
        "control_port", node->control_port, "data_port", node->data_port, "ports", ports,
        "macvlans", macvlans_to_json(node));
}

static json_t *environment_to_json(const struct ath_plan_node *node)
{
    json_t *object = json_object();
    for (size_t i = 0; i < node->environment.count; i++)
        json_object_set_new(object, node->environment.items[i].name,
                            ath_json_text(node->environment.items[i].value));
    return object;
}

json_t *ath_start_plan_warnings(const struct ath_plan_node *node)
{
    json_t *list = json_array();
    for (size_t i = 0; i < node->warning_count; i++) {
        const struct ath_plan_warning *warning = &node->warnings[i];
        json_array_append_new(
            list, json_pack("{s:s, s:o, s:o, s:o}", "code", ath_plan_warning_word(warning->code),
                            "object", ath_json_text(warning->object), "message",
                            ath_json_text(warning->message), "hint", ath_json_text(warning->hint)));
    }
    return list;
}

static void add_request(json_t *list, const struct ath_plan *plan, const struct ath_plan_node *node,
                        enum ath_docker_role role)
{
    json_t *body = ath_docker_body(node, plan->image, role);
    if (body)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:o, s:o}", "role", ath_docker_role_word(role), "method",
                            "POST", "path",
                            json_sprintf("/containers/create?name=%s", ath_docker_name(node, role)),
                            "body", body));
}

static json_t *requests_to_json(const struct ath_plan *plan, const struct ath_plan_node *node)
{
    json_t *list = json_array();
    if (!plan->is_process) {
        add_request(list, plan, node, ATH_DOCKER_PAUSE);
        add_request(list, plan, node, ATH_DOCKER_RUNTIME);
    }
    return list;
}

static json_t *commands_to_json(const struct ath_plan *plan, const struct ath_plan_node *node)
{
    json_t *list = json_array();
    char **lines;
    size_t count;

    ath_run_lines(plan, node, &lines, &count);
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, ath_json_lines(lines[i]));
    ath_names_free(lines, count);
    return list;
}

static json_t *node_to_json(const struct ath_plan *plan, const struct ath_plan_node *node)
{
    json_t *object = json_pack(
        "{s:i, s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:f}", "id", node->id, "node", node->node,
        "name", node->name, "pause_name", ath_json_text(node->pause_name), "cpus",
        set_to_json(&node->cpus), "memory_nodes", set_to_json(&node->memory_nodes),
        "memory_limit_bytes", ath_json_number(node->memory_limit_bytes), "shm_bytes",
        ath_json_number(node->shm_bytes), "gpu_way", ath_plan_gpu_way_word(node->gpu_way),
        "vram_fraction", node->vram_fraction);

    json_object_set_new(object, "waits_for_gpu_memory", json_boolean(ath_plan_node_waits(node)));
    json_object_set_new(object, "gpus", gpus_to_json(node));
    json_object_set_new(object, "rdma_devices", rdma_to_json(node));
    json_object_set_new(object, "network", network_to_json(node));
    json_object_set_new(object, "devices", ath_json_texts(&node->devices));
    json_object_set_new(object, "folder", ath_json_text(node->folder));
    json_object_set_new(object, "key_file", ath_json_text(node->key_path));
    json_object_set_new(object, "environment", environment_to_json(node));
    json_object_set_new(object, "command", ath_json_texts(&node->command));
    json_object_set_new(object, "health_command", ath_json_texts(&node->health));
    json_object_set_new(object, "requests", requests_to_json(plan, node));
    json_object_set_new(object, "commands", commands_to_json(plan, node));
    json_object_set_new(object, "warnings", ath_start_plan_warnings(node));
    return object;
}

static json_t *to_json(const void *data)
{
    const struct ath_plan *plan = data;
    json_t *nodes = json_array();

    for (size_t i = 0; i < plan->node_count; i++)
        json_array_append_new(nodes, node_to_json(plan, &plan->nodes[i]));
    return json_pack("{s:s, s:o, s:b, s:o}", "engine", plan->is_process ? "process" : "docker",
                     "image", ath_json_text(plan->image), "is_sim", plan->is_sim, "nodes", nodes);
}

/* --- text */

enum { LABEL_COLUMNS = 9 };

/* text is taken over; NULL prints nothing. */
static void print_row(const struct ath_style *style, FILE *out, const char *label, char *text)
{
    ath_auto_free char *owned = text;
    if (owned && *owned)
        ath_style_print(style, out,
                        &(struct ath_paragraph){ .prefix = "  ",
                                                 .next_prefix = "  ",
                                                 .label = label,
                                                 .label_role = ATH_ROLE_DIM,
                                                 .label_columns = LABEL_COLUMNS,
                                                 .text = owned });
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
        ath_text_add(&text, _("; at most %s (%g %% of %s)"), limit, node->memory_percent, total);
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
        ath_text_add_part(&text, ", ", "%s", ath_pci_format(&node->gpus[i].pci, pci));
    if (!plan->is_process || !node->gpu_count)
        ath_text_add(&text, "%s%s", text.length ? ", " : "", _(gpu_ways[node->gpu_way]));
    if (node->gpu_count)
        ath_text_add(&text, _("; %g %% of their memory"), node->vram_fraction * 100);
    return ath_text_take(&text);
}

static char *rdma_words(const struct ath_plan_node *node)
{
    struct ath_text text = { 0 };

    for (size_t i = 0; i < node->rdma_count; i++) {
        const struct ath_plan_rdma *rdma = &node->rdma[i];
        ath_text_add_part(&text, ", ", "%s", rdma->name);
        if (rdma->device)
            ath_text_add(&text, " (%s)", rdma->device);
        if (rdma->gid_index != ATH_UNKNOWN)
            ath_text_add(&text, _(" with GID %d"), rdma->gid_index);
        else if (rdma->link)
            ath_text_add(&text, _(" with the GID of %s"), rdma->link);
    }
    return node->rdma_count ? ath_text_take(&text) : NULL;
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

/* Where others find it: published ports, or the address that it listens on. */
char *ath_start_plan_reach(const struct ath_plan_node *node)
{
    struct ath_text text = { 0 };

    for (size_t i = 0; i < node->port_count; i++)
        ath_text_add_part(&text, ", ", "%s %s:%d/%s", node->ports[i].purpose,
                          node->ports[i].host_address, node->ports[i].port,
                          node->ports[i].protocol);
    if (node->network == ATH_PLAN_HOST)
        ath_text_add_part(&text, ", ", "control %s:%d/tcp, data %d/udp", node->listen_address,
                          node->control_port, node->data_port);
    for (size_t i = 0; i < node->macvlan_count; i++) {
        const char *address = node->macvlans[i].address;
        if (!address)
            continue;
        ath_auto_free char *host = ath_xasprintf("%.*s", (int)strcspn(address, "/"), address);
        if (node->network == ATH_PLAN_NAMESPACE)
            ath_text_add_part(&text, ", ",
                              strchr(host, ':') ? "control [%s]:%d/tcp, data %d/udp (%s)"
                                                : "control %s:%d/tcp, data %d/udp (%s)",
                              host, node->control_port, node->data_port, node->macvlans[i].name);
        else
            ath_text_add_part(&text, ", ", "%s (%s)", host, node->macvlans[i].name);
    }
    ath_text_add_part(&text, ", ", "%s", node->socket);
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
    if (!warning->hint)
        return;
    ath_auto_free char *hint = ath_xasprintf(_("hint: %s"), warning->hint);
    ath_style_print(
        style, out,
        &(struct ath_paragraph){ .prefix = "    ", .text = hint, .role = ATH_ROLE_DIM });
}

static void print_node(const struct ath_style *style, FILE *out, const struct ath_plan *plan,
                       const struct ath_plan_node *node)
{
    fprintf(out, "\n%sNUMA%d%s  ", ath_style_on(style, ATH_ROLE_NAME), node->id,
            ath_style_off(style, ATH_ROLE_NAME));
    fprintf(out,
            plan->is_process ? _("process %s on NUMA node %d\n")
                             : _("container %s on NUMA node %d\n"),
            node->name, node->node);
    print_row(style, out, _("CPUs"), ath_idset_format(&node->cpus));
    print_row(style, out, _("memory"), memory_words(plan, node));
    print_row(style, out, _("GPUs"), gpu_words(plan, node));
    print_row(style, out, _("RDMA"), rdma_words(node));
    print_row(style, out, _("network"), network_words(node));
    for (size_t i = 0; i < node->macvlan_count; i++)
        print_row(style, out, _("macvlan"), macvlan_words(&node->macvlans[i]));
    print_row(style, out, _("reached"), ath_start_plan_reach(node));
    print_row(style, out, _("key"), ath_xstrdup(node->key_path));
    for (size_t i = 0; i < node->warning_count; i++)
        ath_start_plan_print_warning(style, out, &node->warnings[i]);
}

static void print_commands(FILE *out, const struct ath_plan *plan, const struct ath_plan_node *node)
{
    char **lines;
    size_t count;

    ath_run_lines(plan, node, &lines, &count);
    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *line = ath_clean_lines(lines[i]);
        fprintf(out, "%s\n", line);
    }
    ath_names_free(lines, count);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_plan *plan = data;

    if (plan->is_process)
        fprintf(out, _("Engine: processes of this machine%s\n"),
                plan->is_sim ? _(", simulated GPUs") : "");
    else
        fprintf(out, _("Engine: Docker, image %s%s\n"), plan->image,
                plan->is_sim ? _(", simulated GPUs") : "");
    for (size_t i = 0; i < plan->node_count; i++)
        print_node(style, out, plan, &plan->nodes[i]);
    fprintf(out, "\n%s%s%s\n", ath_style_on(style, ATH_ROLE_HEADING), _("The same by hand:"),
            ath_style_off(style, ATH_ROLE_HEADING));
    for (size_t i = 0; i < plan->node_count; i++)
        print_commands(out, plan, &plan->nodes[i]);
}

const struct ath_view ath_start_plan_view = { "aitherion.start-plan/1", to_json, to_text, NULL, 0 };
