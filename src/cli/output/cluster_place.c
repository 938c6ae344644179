/* A placement on the nodes of a cluster, and the time of a collective operation there. */
#include "config.h"

#include "cli/output/cluster_place.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/text.h"
#include "cli/output/cluster_show.h"
#include "cli/output/estimate.h"
#include "cli/output/fields.h"
#include "cli/output/json.h"
#include "cli/output/words.h"
#include "cluster/hostlist.h"

enum { LABEL_COLUMNS = 11 };

static const struct ath_cluster_choice *choice_of(const struct ath_cluster_placement *placement,
                                                  const struct ath_cluster_share *share)
{
    return &placement->choices[share->choice];
}

static const char *switch_name(const struct ath_cluster *cluster, size_t s)
{
    return s == ATH_CLUSTER_NONE ? NULL : cluster->switches[s].name;
}

/* How near the nodes are to each other. */
static const char *const levels[] = { "node", "switch", "rack", "switches", NULL };
enum { LEVEL_NODE, LEVEL_SWITCH, LEVEL_RACK, LEVEL_SWITCHES };

static int level_of(const struct ath_cluster_placement *placement)
{
    if (placement->share_count == 1)
        return LEVEL_NODE;
    if (placement->hops == 1)
        return LEVEL_SWITCH;
    return placement->rack != ATH_CLUSTER_NONE ? LEVEL_RACK : LEVEL_SWITCHES;
}

/* ---- JSON ---- */

/* One node of a placement, for its fields. */
struct shown_share {
    const char *name, *rack, *leaf;
    size_t gpu_count;
    int64_t ring_bytes_per_s;
    const struct ath_machine *machine;
    const struct ath_cluster_choice *choice;
};

static json_t *make_gpus(const void *object)
{
    const struct shown_share *shown = object;
    json_t *list = json_array();
    for (size_t i = 0; i < shown->choice->count; i++)
        json_array_append_new(list, json_integer((json_int_t)shown->choice->gpus[i]));
    return list;
}

static json_t *make_uuids(const void *object)
{
    const struct shown_share *shown = object;
    json_t *list = json_array();
    for (size_t i = 0; i < shown->choice->count; i++) {
        const char *uuid = shown->machine->gpus[shown->choice->gpus[i]].uuid;
        if (uuid)
            json_array_append_new(list, ath_json_text(uuid));
    }
    return list;
}

#define AT(member) ATH_AT(struct shown_share, member)
static const struct ath_field share_fields[] = {
    ATH_FIELD("name", AT(name)),
    ATH_FIELD("rack", AT(rack), .help = "null if not known", .is_nullable = true),
    ATH_FIELD("switch", AT(leaf), .help = "the switch that the node is connected to",
              .is_nullable = true),
    ATH_FIELD("gpu_count", AT(gpu_count), .help = "number of GPUs that the node gives"),
    ATH_FIELD("gpus", ATH_LIST_OF(ATH_FIELD_INT), .help = "their numbers on the node",
              .make = make_gpus),
    ATH_FIELD("uuids", ATH_LIST_OF(ATH_FIELD_TEXT),
              .help = "their UUIDs; GPUs without one are left out", .make = make_uuids),
    ATH_FIELD("ring_bandwidth_bytes_per_s", AT(ring_bytes_per_s),
              .help = "the slowest link of the best ring through these GPUs; null for one GPU, and "
                      "if it is not known",
              .is_nullable = true),
    { .name = NULL },
};
#undef AT

static json_t *make_shares(const void *object)
{
    const struct ath_cluster_place_report *report = object;
    json_t *list = json_array();

    for (size_t i = 0; i < report->placement->share_count; i++) {
        const struct ath_cluster_share *share = &report->placement->shares[i];
        const struct ath_cluster_node *node = &report->cluster->nodes[share->node];
        const struct ath_cluster_choice *choice = choice_of(report->placement, share);
        const struct shown_share shown = {
            .name = node->name,
            .rack = node->rack == ATH_CLUSTER_NONE ? NULL : report->cluster->racks[node->rack],
            .leaf = switch_name(report->cluster, node->leaf),
            .gpu_count = share->gpu_count,
            .ring_bytes_per_s = choice->ring_bytes_per_s,
            .machine = node->machine,
            .choice = choice,
        };
        json_array_append_new(list, ath_fields_to_json(share_fields, &shown));
    }
    return list;
}

/* The facts of the placement, for its fields. */
struct shown {
    const char *level;
    size_t gpu_count, node_count, hops, left_over;
    const char *top, *rack, *slowest;
    int64_t bytes_per_s, latency_ns;
    bool is_measured;
};

static struct shown shown_of(const struct ath_cluster_place_report *report)
{
    const struct ath_cluster_placement *placement = report->placement;
    const struct ath_cluster *cluster = report->cluster;
    size_t node = placement->slowest_node, s = placement->slowest_switch;

    return (struct shown){
        .level = levels[level_of(placement)],
        .gpu_count = placement->gpu_count,
        .node_count = placement->share_count,
        .hops = placement->hops,
        .left_over = placement->left_over,
        .top = switch_name(cluster, placement->top),
        .rack = placement->rack == ATH_CLUSTER_NONE ? NULL : cluster->racks[placement->rack],
        .slowest = node != ATH_CLUSTER_NONE ? cluster->nodes[node].name : switch_name(cluster, s),
        .bytes_per_s = placement->link.bytes_per_s,
        .latency_ns = placement->link.latency_ns,
        .is_measured = node != ATH_CLUSTER_NONE
                           ? cluster->nodes[node].is_measured
                           : s != ATH_CLUSTER_NONE && cluster->switches[s].is_measured,
    };
}

#define AT(member) ATH_AT(struct shown, member)
static const struct ath_field placed_fields[] = {
    ATH_FIELD("level", AT(level),
              .help = "how near the nodes are: one node, nodes of one switch, nodes of several "
                      "switches in one rack, nodes of several switches",
              .words = levels),
    ATH_FIELD("gpu_count", AT(gpu_count)),
    ATH_FIELD("node_count", AT(node_count)),
    ATH_FIELD("rack", AT(rack), .help = "the rack of all nodes; null if there are several",
              .is_nullable = true),
    ATH_FIELD("switch", AT(top), .help = "the lowest switch above all nodes; null for one node",
              .is_nullable = true),
    ATH_FIELD("hops", AT(hops),
              .help = "the most switches between neighbours of the ring through the nodes"),
    ATH_FIELD("bandwidth_bytes_per_s", AT(bytes_per_s),
              .help = "the slowest link of that ring, in one direction; null if it is not known, "
                      "and for one node",
              .is_nullable = true),
    ATH_FIELD("latency_ns", AT(latency_ns),
              .help = "the longest way between neighbours; null if it is not known",
              .is_nullable = true),
    ATH_FIELD("slowest", AT(slowest), .help = "the node or switch whose link upwards is that one",
              .is_nullable = true),
    ATH_FIELD("measured", AT(is_measured),
              .help = "whether `aitherion cluster measure` gave that bandwidth"),
    ATH_FIELD("left_over", AT(left_over), .help = "free GPUs that stay on these nodes"),
    { .name = NULL },
};
#undef AT

static json_t *make_placed(const void *object)
{
    const struct shown shown = shown_of(object);
    return ath_fields_to_json(placed_fields, &shown);
}

static const void *find_least(const void *object)
{
    const struct ath_cluster_place_report *report = object;
    return report->estimate.least.time_ns < 0 ? NULL : &report->estimate.least;
}

static const void *find_ring(const void *object)
{
    const struct ath_cluster_place_report *report = object;
    return report->estimate.ring.time_ns < 0 ? NULL : &report->estimate.ring;
}

static const void *find_nccl(const void *object)
{
    const struct ath_cluster_place_report *report = object;
    return report->estimate.nccl.estimate.time_ns < 0 ? NULL : &report->estimate.nccl;
}

ATH_FIELD_WORD(collective_word, enum ath_collective, ath_collective_word)

#define AT(member) ATH_AT(struct ath_cluster_place_report, member)
static const struct ath_field time_fields[] = {
    ATH_FIELD("operation", AT(collective), .word = collective_word,
              .word_count = ATH_COLLECTIVE_COUNT),
    ATH_FIELD("size_bytes", AT(size_bytes), .help = "of the whole buffer"),
    ATH_FIELD("least", ATH_OF(ATH_FIELD_OBJECT),
              .help =
                  "no algorithm is quicker: the slowest link of the network, if each node first "
                  "adds up inside; null for one node, and if a link is not known",
              .is_nullable = true, .fields = ath_estimate_fields, .find = find_least),
    ATH_FIELD("ring_bound", ATH_OF(ATH_FIELD_OBJECT),
              .help = "the least time of one ring through all GPUs, without latency; null if it is "
                      "not known",
              .is_nullable = true, .fields = ath_estimate_fields, .find = find_ring),
    ATH_FIELD("nccl", ATH_OF(ATH_FIELD_OBJECT),
              .help = "what NCCL's own model says; null if it is not known", .is_nullable = true,
              .fields = ath_nccl_estimate_fields, .find = find_nccl),
    { .name = NULL },
};
#undef AT

static const struct ath_field fields[] = {
    ATH_FIELD("placement", ATH_OF(ATH_FIELD_OBJECT), .help = "the place of all GPUs",
              .fields = placed_fields, .make = make_placed),
    ATH_FIELD("nodes", ATH_LIST_OF(ATH_FIELD_OBJECT), .help = "in the order of the ring",
              .fields = share_fields, .make = make_shares),
    ATH_FIELD("estimate", ATH_OF(ATH_FIELD_OBJECT),
              .help = "how long an operation of these GPUs takes", .fields = time_fields),
    { .name = NULL },
};

/* ---- text ---- */

static char *names_of(const struct ath_cluster_place_report *report, size_t first, size_t last)
{
    ATH_AUTO(ath_texts) names = { 0 };
    for (size_t i = first; i < last; i++)
        ath_texts_add(&names, report->cluster->nodes[report->placement->shares[i].node].name);
    return ath_hostlist_write(&names);
}

/* Prints the nodes with the same GPUs in one row each. */
static void print_shares(const struct ath_style *style, FILE *out,
                         const struct ath_cluster_place_report *report)
{
    const struct ath_cluster_placement *placement = report->placement;

    for (size_t i = 0, end; i < placement->share_count; i = end) {
        const struct ath_cluster_choice *choice = choice_of(placement, &placement->shares[i]);
        for (end = i + 1; end < placement->share_count &&
                          placement->shares[end].choice == placement->shares[i].choice;)
            end++;
        ATH_AUTO(ath_idset) numbers = { 0 };
        for (size_t k = 0; k < choice->count; k++)
            ath_idset_add(&numbers, (int)choice->gpus[k], (int)choice->gpus[k]);
        ath_auto_free char *names = names_of(report, i, end), *gpus = ath_words_gpus(&numbers);
        ath_auto_free char *text = ath_xasprintf("%s: %s", names, gpus);
        ath_style_print_row(style, out, LABEL_COLUMNS, i ? "" : _("Nodes"), text);
    }
}

static void print_way(const struct ath_style *style, FILE *out,
                      const struct ath_cluster_place_report *report)
{
    const struct shown shown = shown_of(report);
    ath_auto_free char *link =
        ath_words_link(shown.bytes_per_s, shown.latency_ns, shown.is_measured);
    ATH_AUTO(ath_text) text = { 0 };

    switch (level_of(report->placement)) {
    case LEVEL_NODE:
        ath_text_add(&text, "%s", _("all on one node"));
        break;
    case LEVEL_SWITCH:
        ath_text_add(&text, _("all on the switch %s"), shown.top);
        break;
    default:
        ath_text_add(&text, _("below the switch %s, at most %zu switches between neighbours"),
                     shown.top ? shown.top : "-", shown.hops);
    }
    if (shown.rack)
        ath_text_add(&text, _("; rack %s"), shown.rack);
    ath_style_print_row(style, out, LABEL_COLUMNS, _("Place"), text.data);
    if (shown.node_count < 2)
        return;
    ath_auto_free char *slowest =
        ath_xasprintf("%s%s%s%s", *link ? link : _("not known"), shown.slowest ? " (" : "",
                      shown.slowest ? shown.slowest : "", shown.slowest ? ")" : "");
    ath_style_print_row(style, out, LABEL_COLUMNS, _("Slowest"), slowest);
}

static void print_times(const struct ath_style *style, FILE *out,
                        const struct ath_cluster_place_report *report)
{
    const struct ath_cluster_estimate *estimate = &report->estimate;
    const struct ath_nccl_estimate *nccl = &estimate->nccl;
    ath_auto_free char *how =
        ath_xasprintf(_("algorithm %s, protocol %s"), ath_nccl_algorithm_word(nccl->algorithm),
                      ath_nccl_protocol_word(nccl->protocol));

    if (estimate->facts.node_count > 1)
        ath_estimate_print(style, out, _("Least time"), &estimate->least, NULL);
    ath_estimate_print(style, out, _("Ring bound"), &estimate->ring, NULL);
    ath_estimate_print(style, out, "NCCL", &nccl->estimate,
                       nccl->estimate.time_ns < 0 ? NULL : how);
    if (estimate->facts.lack)
        ath_style_print_row(style, out, LABEL_COLUMNS, _("Note"),
                            ath_nccl_lack_words(estimate->facts.lack));
}

static void place_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    const struct ath_cluster_place_report *report = data;
    ath_auto_free char *left =
        ath_xasprintf(ngettext("%zu free GPU stays on these nodes",
                               "%zu free GPUs stay on these nodes", report->placement->left_over),
                      report->placement->left_over);

    print_shares(style, out, report);
    print_way(style, out, report);
    ath_style_print_row(style, out, LABEL_COLUMNS, _("Left over"), left);
    ath_style_print_row(style, out, LABEL_COLUMNS, _("Estimate"), _("all-reduce of 100 MB:"));
    print_times(style, out, report);
}

static void estimate_to_text(const struct ath_style *style, FILE *out, const void *data)
{
    print_shares(style, out, data);
    print_way(style, out, data);
    print_times(style, out, data);
}

const struct ath_view ath_cluster_place_view = {
    .schema = "aitherion.cluster-place/1",
    .title = "Output of `aitherion cluster place --json`",
    .fields = fields,
    .to_text = place_to_text,
};

const struct ath_view ath_cluster_estimate_view = {
    .schema = "aitherion.cluster-estimate/1",
    .title = "Output of `aitherion cluster estimate --json`",
    .fields = fields,
    .to_text = estimate_to_text,
};
