/* The racks, nodes and switches of a cluster. */
#include "config.h"

#include "cli/output/cluster_show.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/fields.h"
#include "cli/output/table.h"
#include "cli/output/words.h"
#include "cluster/hostlist.h"

enum { BYTES_OF_MEGABIT = 125000 };

/* ---- the report ---- */

static struct ath_shown_node shown_node(const struct ath_cluster *cluster, size_t index)
{
    const struct ath_cluster_node *node = &cluster->nodes[index];
    const struct ath_machine *machine = node->machine;

    return (struct ath_shown_node){
        .name = node->name,
        .rack = node->rack == ATH_CLUSTER_NONE ? NULL : cluster->racks[node->rack],
        .leaf = node->leaf == ATH_CLUSTER_NONE ? NULL : cluster->switches[node->leaf].name,
        .bytes_per_s = node->up.bytes_per_s,
        .latency_ns = node->up.latency_ns,
        .is_measured = node->is_measured,
        .model = machine->gpu_count ? machine->gpus[0].model : NULL,
        .gpu_count = machine->gpu_count,
        .free_count = ath_cluster_free_on(cluster, index),
        .numa_count = machine->node_count,
    };
}

/* Adds a node to its rack and to all switches above it. */
static void count_node(const struct ath_cluster *cluster, size_t index,
                       struct ath_cluster_report *report)
{
    const struct ath_cluster_node *node = &cluster->nodes[index];
    const struct ath_shown_node *shown = &report->nodes[index];

    report->gpu_count += shown->gpu_count;
    report->free_count += shown->free_count;
    if (node->rack != ATH_CLUSTER_NONE) {
        report->racks[node->rack].node_count++;
        report->racks[node->rack].gpu_count += shown->gpu_count;
        report->racks[node->rack].free_count += shown->free_count;
    }
    for (size_t s = node->leaf; s != ATH_CLUSTER_NONE; s = cluster->switches[s].above) {
        report->switches[s].node_count++;
        report->switches[s].gpu_count += shown->gpu_count;
        report->switches[s].free_count += shown->free_count;
    }
}

void ath_cluster_report_make(const struct ath_cluster *cluster, struct ath_cluster_report *out)
{
    *out = (struct ath_cluster_report){
        .cluster = cluster,
        .name = cluster->name,
        .racks = ath_xalloc(cluster->rack_count * sizeof *out->racks),
        .rack_count = cluster->rack_count,
        .switches = ath_xalloc(cluster->switch_count * sizeof *out->switches),
        .switch_count = cluster->switch_count,
        .nodes = ath_xalloc(cluster->node_count * sizeof *out->nodes),
        .node_count = cluster->node_count,
    };
    for (size_t i = 0; i < cluster->rack_count; i++)
        out->racks[i].name = cluster->racks[i];
    for (size_t i = 0; i < cluster->switch_count; i++) {
        const struct ath_cluster_switch *s = &cluster->switches[i];
        out->switches[i] = (struct ath_shown_switch){
            .name = s->name,
            .above = s->above == ATH_CLUSTER_NONE ? NULL : cluster->switches[s->above].name,
            .bytes_per_s = s->up.bytes_per_s,
            .latency_ns = s->up.latency_ns,
            .is_measured = s->is_measured,
        };
    }
    for (size_t i = 0; i < cluster->node_count; i++) {
        out->nodes[i] = shown_node(cluster, i);
        count_node(cluster, i, out);
    }
}

void ath_cluster_report_free(struct ath_cluster_report *report)
{
    free(report->racks);
    free(report->switches);
    free(report->nodes);
    *report = (struct ath_cluster_report){ 0 };
}

/* ---- JSON ---- */

#define COUNT_FIELDS                                                                               \
    ATH_FIELD("gpu_count", AT(gpu_count), .help = "number of GPUs"),                               \
        ATH_FIELD("free_gpu_count", AT(free_count),                                                \
                  .help = "number of GPUs that can be used and are not busy")

#define LINK_FIELDS                                                                                \
    ATH_FIELD("bandwidth_bytes_per_s", AT(bytes_per_s),                                            \
              .help = "of its link upwards, in one direction; null if not known",                  \
              .is_nullable = true),                                                                \
        ATH_FIELD("latency_ns", AT(latency_ns), .help = "of its link upwards; null if not known",  \
                  .is_nullable = true),                                                            \
        ATH_FIELD("measured", AT(is_measured),                                                     \
                  .help = "whether `aitherion cluster measure` gave this bandwidth")

#define AT(member) ATH_AT(struct ath_shown_rack, member)
static const struct ath_field rack_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("node_count", AT(node_count), .help = "number of nodes"),
    COUNT_FIELDS,
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_shown_switch, member)
static const struct ath_field switch_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("above", AT(above), .help = "the switch above; null for none", .is_nullable = true),
    LINK_FIELDS,
    ATH_FIELD("node_count", AT(node_count), .help = "number of nodes below"),
    COUNT_FIELDS,
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_shown_node, member)
static const struct ath_field node_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("rack", AT(rack), .help = "null if not known", .is_nullable = true),
    ATH_FIELD("switch", AT(leaf), .help = "the switch that the node is connected to",
              .is_nullable = true),
    LINK_FIELDS,
    COUNT_FIELDS,
    ATH_FIELD("gpu_model", AT(model), .help = "model of the first GPU; null if not known",
              .is_nullable = true),
    ATH_FIELD("numa_node_count", AT(numa_count), .help = "number of NUMA nodes"),
    { .name = NULL },
};
#undef AT

#define AT(member) ATH_AT(struct ath_cluster_report, member)
static const struct ath_field fields[] = {
    ATH_FIELD("name", AT(name), .help = "name of the cluster; null for none", .is_nullable = true),
    COUNT_FIELDS,
    ATH_FIELD("racks", ATH_AT_LIST(struct ath_cluster_report, racks, rack_count),
              .fields = rack_fields),
    ATH_FIELD("switches", ATH_AT_LIST(struct ath_cluster_report, switches, switch_count),
              .fields = switch_fields),
    ATH_FIELD("nodes", ATH_AT_LIST(struct ath_cluster_report, nodes, node_count),
              .fields = node_fields),
    { .name = NULL },
};
#undef AT

/* ---- text ---- */

char *ath_words_link(int64_t bytes_per_s, int64_t latency_ns, bool is_measured)
{
    ATH_AUTO(ath_text) text = { 0 };

    if (bytes_per_s >= 0) {
        ath_auto_free char *speed = ath_words_speed(bytes_per_s / BYTES_OF_MEGABIT);
        ath_text_add_part(&text, ", ", is_measured ? _("%s measured") : "%s", speed);
    }
    if (latency_ns >= 0) {
        ath_auto_free char *latency = ath_words_time(latency_ns);
        ath_text_add_part(&text, ", ", "%s", latency);
    }
    return ath_text_take(&text);
}

static void set(struct ath_table_cell *cell, enum ath_role role, char *text)
{
    cell->role = role;
    cell->text = text;
}

/* Returns whether two nodes look the same in the table. */
static bool is_alike(const struct ath_cluster *cluster, size_t a, size_t b)
{
    const struct ath_cluster_node *left = &cluster->nodes[a], *right = &cluster->nodes[b];
    const char *model = left->machine->gpu_count ? left->machine->gpus[0].model : NULL;
    const char *other = right->machine->gpu_count ? right->machine->gpus[0].model : NULL;

    return left->rack == right->rack && left->leaf == right->leaf && left->shape == right->shape &&
           left->up.bytes_per_s == right->up.bytes_per_s &&
           left->up.latency_ns == right->up.latency_ns && left->is_measured == right->is_measured &&
           (model == other || (model && other && !strcmp(model, other)));
}

static const char *const node_titles[] = { N_("Node"),  N_("GPUs"),   N_("Free"),
                                           N_("Model"), N_("Switch"), N_("Link") };

/* Adds a row for the equal nodes at places first to last - 1 of a list. */
static void add_row(const struct ath_cluster_report *report, const size_t *nodes, size_t count,
                    struct ath_table *table)
{
    const struct ath_shown_node *shown = &report->nodes[nodes[0]];
    ATH_AUTO(ath_texts) names = { 0 };
    struct ath_table_cell *cells = ath_table_add_row(table);

    for (size_t i = 0; i < count; i++)
        ath_texts_add(&names, report->nodes[nodes[i]].name);
    set(&cells[0], ATH_ROLE_NAME, ath_hostlist_write(&names));
    set(&cells[1], ATH_ROLE_PLAIN, ath_xasprintf("%zu", shown->gpu_count));
    set(&cells[2], shown->free_count ? ATH_ROLE_PLAIN : ATH_ROLE_DIM,
        ath_xasprintf("%zu", shown->free_count));
    set(&cells[3], ATH_ROLE_PLAIN, ath_xstrdup(shown->model));
    set(&cells[4], ATH_ROLE_PLAIN, ath_xstrdup(shown->leaf));
    set(&cells[5], ATH_ROLE_PLAIN,
        ath_words_link(shown->bytes_per_s, shown->latency_ns, shown->is_measured));
}

/* Prints the nodes of a rack; ATH_CLUSTER_NONE: those without a rack. */
static void print_nodes(const struct ath_style *style, FILE *out,
                        const struct ath_cluster_report *report, size_t rack)
{
    const struct ath_cluster *cluster = report->cluster;
    ath_auto_free size_t *nodes = ath_xalloc(cluster->node_count * sizeof *nodes);
    struct ath_table table = { .titles = node_titles, .column_count = ATH_COUNT(node_titles) };
    size_t count = 0;

    for (size_t i = 0; i < cluster->node_count; i++)
        if (cluster->nodes[i].rack == rack)
            nodes[count++] = i;
    if (!count)
        return;
    fprintf(out, "\n%s%s%s\n", ath_style_on(style, ATH_ROLE_HEADING),
            rack == ATH_CLUSTER_NONE ? cluster->rack_count ? _("without a rack") : _("nodes")
                                     : cluster->racks[rack],
            ath_style_off(style, ATH_ROLE_HEADING));
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && is_alike(cluster, nodes[i], nodes[end]);)
            end++;
        add_row(report, nodes + i, end - i, &table);
    }
    ath_table_print(&table, style, out);
    ath_table_free(&table);
}

static void print_switches(const struct ath_style *style, FILE *out,
                           const struct ath_cluster_report *report)
{
    static const char *const titles[] = { N_("Switch"), N_("Above"), N_("Link"),
                                          N_("Nodes"),  N_("GPUs"),  N_("Free") };
    struct ath_table table = { .titles = titles, .column_count = ATH_COUNT(titles) };

    if (report->cluster->has_implied_switch)
        return;
    fprintf(out, "\n%s%s%s\n", ath_style_on(style, ATH_ROLE_HEADING), _("switches"),
            ath_style_off(style, ATH_ROLE_HEADING));
    for (size_t i = 0; i < report->switch_count; i++) {
        const struct ath_shown_switch *shown = &report->switches[i];
        struct ath_table_cell *cells = ath_table_add_row(&table);
        set(&cells[0], ATH_ROLE_NAME, ath_xstrdup(shown->name));
        set(&cells[1], ATH_ROLE_PLAIN, ath_xstrdup(shown->above));
        set(&cells[2], ATH_ROLE_PLAIN,
            ath_words_link(shown->bytes_per_s, shown->latency_ns, shown->is_measured));
        set(&cells[3], ATH_ROLE_PLAIN, ath_xasprintf("%zu", shown->node_count));
        set(&cells[4], ATH_ROLE_PLAIN, ath_xasprintf("%zu", shown->gpu_count));
        set(&cells[5], ATH_ROLE_PLAIN, ath_xasprintf("%zu", shown->free_count));
    }
    ath_table_print(&table, style, out);
    ath_table_free(&table);
}

static void to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_cluster_report *report = data;

    fprintf(out, _("%s: %zu nodes, %zu GPUs, %zu of them free\n"),
            report->name ? report->name : _("cluster"), report->node_count, report->gpu_count,
            report->free_count);
    for (size_t i = 0; i < report->rack_count; i++)
        print_nodes(style, out, report, i);
    print_nodes(style, out, report, ATH_CLUSTER_NONE);
    print_switches(style, out, report);
}

const struct ath_view ath_cluster_show_view = {
    .schema = "aitherion.cluster-show/1",
    .title = "Output of `aitherion cluster show --json`",
    .fields = fields,
    .to_text = to_text,
};
