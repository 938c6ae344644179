/* A plan as a page of text. */
#include "config.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clean.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "cli/output/ending.h"
#include "cli/output/start_plan_parts.h"
#include "cli/output/words.h"
#include "container/docker/run_line.h"

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

/* Returns what comes to the address of the calls, or of large copies. */
static const char *protocols(const struct ath_plan_node *node, bool is_data)
{
    bool takes_udp = node->takes_udp && is_data == (node->data_port != ATH_UNKNOWN);
    return takes_udp ? "tcp+udp" : "tcp";
}

static void add_address(struct ath_text *text, const char *purpose, const char *address, int port,
                        const char *protocol)
{
    ath_text_add_part(text, _(", "), strchr(address, ':') ? "%s [%s]:%d/%s" : "%s %s:%d/%s",
                      purpose, address, port, protocol);
}

/* Adds the address of the calls, with the link that leads to it. NULL: the text names no link. */
static void add_control(struct ath_text *text, const struct ath_plan_node *node,
                        const char *address, const char *link)
{
    add_address(text, "control", address, node->control_port, protocols(node, false));
    if (link)
        ath_text_add(text, " (%s)", link);
}

/* Adds nothing without metrics. */
static void add_metrics(struct ath_text *text, const struct ath_plan_node *node,
                        const char *address)
{
    if (node->metrics_port != ATH_UNKNOWN)
        add_address(text, "metrics", address, node->metrics_port, "tcp");
}

char *ath_start_plan_reach(const struct ath_plan_node *node)
{
    struct ath_text text = { 0 };

    for (size_t i = 0; i < node->port_count; i++) {
        const struct ath_plan_port *port = &node->ports[i];
        if (!strcmp(port->purpose, "control"))
            add_control(&text, node, port->host_address, NULL);
        else if (!strcmp(port->purpose, "metrics"))
            add_metrics(&text, node, port->host_address);
    }
    if (node->network == ATH_PLAN_HOST) {
        add_control(&text, node, node->listen_address, NULL);
        add_metrics(&text, node, node->metrics_address);
    }
    for (size_t i = 0; i < node->macvlan_count; i++) {
        const char *address = node->macvlans[i].address;
        if (!address)
            continue;
        ath_auto_free char *host = ath_xasprintf("%.*s", (int)strcspn(address, "/"), address);
        if (node->network == ATH_PLAN_NAMESPACE)
            add_control(&text, node, host, node->macvlans[i].name);
        else
            ath_text_add_part(&text, _(", "), "%s (%s)", host, node->macvlans[i].name);
    }
    for (size_t i = 0; i < node->data_addresses.count; i++)
        ath_text_add_part(&text, _(", "), "data %s/%s", node->data_addresses.items[i],
                          protocols(node, true));
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

/* Returns words for the work of the start on a node; NULL if it is not known. The caller frees
 * it. */
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

void ath_start_plan_to_text(const struct ath_style *style, FILE *out, const void *data)
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
        print_node(style, out, plan, &plan->nodes[i], ath_start_plan_foreseen(report, i));
    if (report->ends->count)
        fputc('\n', out);
    ath_ending_print(style, out, report->ends);
    fprintf(out, "\n%s%s%s\n", ath_style_on(style, ATH_ROLE_HEADING), _("Equivalent commands:"),
            ath_style_off(style, ATH_ROLE_HEADING));
    for (size_t i = 0; i < plan->node_count; i++)
        print_commands(out, plan, &plan->nodes[i], report->identities);
}
