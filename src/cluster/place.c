/* Placing GPUs on the nodes of a cluster. */
#include "config.h"

#include "cluster/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/i18n.h"
#include "base/unknown.h"

const char *const ath_cluster_within_words[] = { "anywhere", "node", "rack", "switch", NULL };

void ath_cluster_placement_free(struct ath_cluster_placement *placement)
{
    if (!placement)
        return;
    for (size_t i = 0; i < placement->choice_count; i++) {
        free(placement->choices[i].gpus);
        free(placement->choices[i].ring);
    }
    free(placement->choices);
    free(placement->shares);
    *placement = (struct ath_cluster_placement){ 0 };
}

/* A branch below a switch: a node, or a switch. */
struct branch {
    bool is_switch;
    size_t index, capacity;
};

struct search {
    const struct ath_cluster *cluster;
    const struct ath_cluster_request *request;
    size_t *capacities; /* GPUs that each node can give */
    size_t *totals;     /* and all nodes below each switch */
    size_t *beneath;    /* for look_at_links(): shares below each switch; zero between calls */
    size_t free_count;  /* of all nodes that are not excluded */
};

static void search_free(struct search *search)
{
    free(search->capacities);
    free(search->totals);
    free(search->beneath);
}

/* ---- capacities ---- */

static size_t capacity_of(const struct search *search, size_t node)
{
    const struct ath_cluster_request *request = search->request;
    size_t free_count = ath_cluster_free_on(search->cluster, node);

    if (request->is_excluded && request->is_excluded[node])
        return 0;
    if (!request->per_node)
        return free_count;
    return free_count >= request->per_node ? request->per_node : 0;
}

static void set_capacities(struct search *search)
{
    const struct ath_cluster *cluster = search->cluster;

    search->capacities = ath_xalloc(cluster->node_count * sizeof *search->capacities);
    search->totals = ath_xalloc(cluster->switch_count * sizeof *search->totals);
    search->beneath = ath_xalloc(cluster->switch_count * sizeof *search->beneath);
    for (size_t i = 0; i < cluster->node_count; i++) {
        size_t capacity = search->capacities[i] = capacity_of(search, i);
        search->free_count += capacity;
        for (size_t s = cluster->nodes[i].leaf; s != ATH_CLUSTER_NONE;
             s = cluster->switches[s].above)
            search->totals[s] += capacity;
    }
}

/* ---- choices inside nodes ---- */

/* Chooses count GPUs of a shape, or finds the choice that was made. Returns its index, or
 * ATH_CLUSTER_NONE if the policy allows none. */
static size_t choose(const struct search *search, size_t shape, size_t count,
                     struct ath_cluster_placement *placement)
{
    const struct ath_cluster_shape *of = &search->cluster->shapes[shape];
    const struct ath_place_request request = {
        .size = count, .group_count = 1, .policy = search->request->policy, .is_free = of->is_free
    };
    struct ath_place_answer answer = { 0 };

    for (size_t i = 0; i < placement->choice_count; i++)
        if (placement->choices[i].shape == shape && placement->choices[i].count == count)
            return i;
    if (ath_place_choose(of->machine, of->bandwidths, &request, &answer, NULL))
        return ATH_CLUSTER_NONE;
    struct ath_cluster_choice *choice =
        ath_push(&placement->choices, &placement->choice_count, sizeof *choice);
    *choice = (struct ath_cluster_choice){ .shape = shape,
                                           .count = count,
                                           .gpus = ath_steal(&answer.best.gpus),
                                           .ring = ath_steal(&answer.best.rings),
                                           .ring_bytes_per_s = answer.best.ring_bandwidth };
    ath_place_answer_free(&answer);
    return placement->choice_count - 1;
}

static void add_share(struct ath_cluster_placement *placement, size_t node, size_t count)
{
    struct ath_cluster_share *share =
        ath_push(&placement->shares, &placement->share_count, sizeof *share);
    *share = (struct ath_cluster_share){ .node = node, .gpu_count = count };
}

/* ---- one node ---- */

/* Finds the node that gives all GPUs. Returns ATH_CLUSTER_NONE if there is none. */
static size_t find_node(const struct search *search, struct ath_cluster_placement *placement)
{
    const struct ath_cluster *cluster = search->cluster;
    size_t wanted = search->request->gpu_count, best = ATH_CLUSTER_NONE, best_free = 0;
    int64_t best_ring = 0;

    for (size_t i = 0; i < cluster->node_count; i++) {
        if (search->capacities[i] < wanted)
            continue;
        size_t choice = choose(search, cluster->nodes[i].shape, wanted, placement);
        if (choice == ATH_CLUSTER_NONE)
            continue;
        int64_t ring = placement->choices[choice].ring_bytes_per_s;
        size_t free_count = ath_cluster_free_on(cluster, i);
        bool is_better = best == ATH_CLUSTER_NONE || ring > best_ring ||
                         (ring == best_ring && free_count < best_free);
        if (!is_better)
            continue;
        best = i;
        best_ring = ring;
        best_free = free_count;
    }
    return best;
}

/* ---- several nodes ---- */

/* The fullest branches first; equal ones in the order of the description, nodes first. */
static int compare_branches(const void *a, const void *b)
{
    const struct branch *left = a, *right = b;

    if (left->capacity != right->capacity)
        return left->capacity > right->capacity ? -1 : 1;
    if (left->is_switch != right->is_switch)
        return left->is_switch ? 1 : -1;
    return (left->index > right->index) - (left->index < right->index);
}

static void take(const struct search *search, const struct branch *branch, size_t wanted,
                 struct ath_cluster_placement *placement);

/* Takes GPUs from branches: whole ones from the fullest on, then the smallest that has enough. */
static void take_from(const struct search *search, struct branch *branches, size_t count,
                      size_t wanted, struct ath_cluster_placement *placement)
{
    size_t next = 0, last;

    if (count)
        qsort(branches, count, sizeof *branches, compare_branches);
    for (; next < count && branches[next].capacity && branches[next].capacity < wanted; next++) {
        take(search, &branches[next], branches[next].capacity, placement);
        wanted -= branches[next].capacity;
    }
    if (next == count || !wanted)
        return;
    for (last = next; last + 1 < count && branches[last + 1].capacity >= wanted; last++)
        ;
    while (last > next && branches[last - 1].capacity == branches[last].capacity)
        last--;
    take(search, &branches[last], wanted, placement);
}

static void take_below(const struct search *search, size_t s, size_t wanted,
                       struct ath_cluster_placement *placement)
{
    const struct ath_cluster *cluster = search->cluster;
    size_t nodes = cluster->node_starts[s + 1] - cluster->node_starts[s];
    size_t switches = cluster->switch_starts[s + 1] - cluster->switch_starts[s], count = 0;
    ath_auto_free struct branch *branches = ath_xalloc((nodes + switches) * sizeof *branches);

    for (size_t i = 0; i < nodes; i++) {
        size_t node = cluster->nodes_of[cluster->node_starts[s] + i];
        branches[count++] = (struct branch){ false, node, search->capacities[node] };
    }
    for (size_t i = 0; i < switches; i++) {
        size_t below = cluster->switches_of[cluster->switch_starts[s] + i];
        branches[count++] = (struct branch){ true, below, search->totals[below] };
    }
    take_from(search, branches, count, wanted, placement);
}

static void take(const struct search *search, const struct branch *branch, size_t wanted,
                 struct ath_cluster_placement *placement)
{
    if (branch->is_switch)
        take_below(search, branch->index, wanted, placement);
    else
        add_share(placement, branch->index, wanted);
}

static void take_in_rack(const struct search *search, size_t rack,
                         struct ath_cluster_placement *placement)
{
    const struct ath_cluster *cluster = search->cluster;
    ath_auto_free struct branch *branches = ath_xalloc(cluster->node_count * sizeof *branches);
    size_t count = 0;

    for (size_t i = 0; i < cluster->node_count; i++)
        if (cluster->nodes[i].rack == rack)
            branches[count++] = (struct branch){ false, i, search->capacities[i] };
    take_from(search, branches, count, search->request->gpu_count, placement);
}

/* ---- the links of a placement ---- */

static void note_link(struct ath_cluster_placement *placement, int64_t bytes_per_s, size_t node,
                      size_t s)
{
    if (bytes_per_s >= placement->link.bytes_per_s)
        return;
    placement->link.bytes_per_s = bytes_per_s;
    placement->slowest_node = node;
    placement->slowest_switch = s;
}

/* Looks at the links of the ring. It passes the link of each node, and that of each switch that has
 * some of the nodes below it, but not all. */
static void look_at_links(struct search *search, struct ath_cluster_placement *placement)
{
    const struct ath_cluster *cluster = search->cluster;
    size_t count = placement->share_count;

    placement->top = placement->slowest_node = placement->slowest_switch = ATH_CLUSTER_NONE;
    placement->link = (struct ath_cluster_link){ INT64_MAX, ATH_UNKNOWN };
    for (int pass = 0; pass < 3 && count > 1; pass++)
        for (size_t i = 0; i < count; i++) {
            const struct ath_cluster_node *node = &cluster->nodes[placement->shares[i].node];
            if (pass == 1)
                note_link(placement, node->up.bytes_per_s, placement->shares[i].node,
                          ATH_CLUSTER_NONE);
            for (size_t s = node->leaf; s != ATH_CLUSTER_NONE; s = cluster->switches[s].above) {
                if (pass == 0)
                    search->beneath[s]++;
                else if (pass == 2)
                    search->beneath[s] = 0;
                else if (search->beneath[s] < count)
                    note_link(placement, cluster->switches[s].up.bytes_per_s, ATH_CLUSTER_NONE, s);
                else if (placement->top == ATH_CLUSTER_NONE)
                    placement->top = s;
            }
        }
    if (placement->link.bytes_per_s == INT64_MAX)
        placement->link.bytes_per_s = ATH_UNKNOWN;
}

/* ---- comparing ---- */

struct candidate {
    struct ath_cluster_placement placement;
    size_t total; /* free GPUs of the switch or rack */
};

static bool is_better(const struct candidate *a, const struct candidate *b)
{
    if (a->placement.link.bytes_per_s != b->placement.link.bytes_per_s)
        return a->placement.link.bytes_per_s > b->placement.link.bytes_per_s;
    if (a->placement.share_count != b->placement.share_count)
        return a->placement.share_count < b->placement.share_count;
    return a->total < b->total;
}

/* Keeps the better one of a new candidate, which is emptied, and the best one so far. */
static void judge(struct search *search, struct candidate *new, struct candidate *best)
{
    look_at_links(search, &new->placement);
    if (!best->placement.share_count || is_better(new, best)) {
        ath_cluster_placement_free(&best->placement);
        *best = *new;
    } else {
        ath_cluster_placement_free(&new->placement);
    }
    *new = (struct candidate){ 0 };
}

static size_t lowest_level(const struct search *search)
{
    const struct ath_cluster *cluster = search->cluster;
    size_t level = ATH_CLUSTER_NONE;

    for (size_t i = 0; i < cluster->switch_count; i++)
        if (search->totals[i] >= search->request->gpu_count && cluster->switches[i].height < level)
            level = cluster->switches[i].height;
    if (search->request->within == ATH_CLUSTER_ONE_SWITCH && level)
        return ATH_CLUSTER_NONE;
    return level;
}

static void search_switches(struct search *search, struct candidate *best)
{
    const struct ath_cluster *cluster = search->cluster;
    size_t level = lowest_level(search);

    for (size_t i = 0; level != ATH_CLUSTER_NONE && i < cluster->switch_count; i++) {
        struct candidate new = { .total = search->totals[i] };
        if (cluster->switches[i].height != level || new.total < search->request->gpu_count)
            continue;
        take_below(search, i, search->request->gpu_count, &new.placement);
        judge(search, &new, best);
    }
}

static void search_racks(struct search *search, struct candidate *best)
{
    const struct ath_cluster *cluster = search->cluster;
    ath_auto_free size_t *totals = ath_xalloc(cluster->rack_count * sizeof *totals);

    for (size_t i = 0; i < cluster->node_count; i++)
        if (cluster->nodes[i].rack != ATH_CLUSTER_NONE)
            totals[cluster->nodes[i].rack] += search->capacities[i];
    for (size_t i = 0; i < cluster->rack_count; i++) {
        struct candidate new = { .total = totals[i] };
        if (new.total < search->request->gpu_count)
            continue;
        take_in_rack(search, i, &new.placement);
        judge(search, &new, best);
    }
}

/* ---- finishing ---- */

static int compare_orders(const void *a, const void *b, void *data)
{
    const struct ath_cluster *cluster = data;
    size_t left = cluster->nodes[((const struct ath_cluster_share *)a)->node].order;
    size_t right = cluster->nodes[((const struct ath_cluster_share *)b)->node].order;
    return (left > right) - (left < right);
}

static void look_at_ways(const struct ath_cluster *cluster, struct ath_cluster_placement *placement)
{
    size_t count = placement->share_count;
    bool is_known = true;

    for (size_t i = 0; i < count && count > 1; i++) {
        struct ath_cluster_path path;
        ath_cluster_path(cluster, placement->shares[i].node,
                         placement->shares[(i + 1) % count].node, &path);
        if (path.hops > placement->hops)
            placement->hops = path.hops;
        is_known = is_known && path.link.latency_ns >= 0;
        if (path.link.latency_ns > placement->link.latency_ns)
            placement->link.latency_ns = path.link.latency_ns;
    }
    if (!is_known)
        placement->link.latency_ns = ATH_UNKNOWN;
}

static int refuse_policy(const struct search *search, struct ath_err *err)
{
    ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("no nodes have %zu GPUs that the policy %s allows"),
                search->request->gpu_count, ath_place_policy_word(search->request->policy));
    return ath_err_hint(err, -EINVAL, "--policy best-effort");
}

/* Chooses the GPUs of each share, and fills in what follows from the shares. */
static int finish(const struct search *search, struct ath_cluster_placement *placement,
                  struct ath_err *err)
{
    const struct ath_cluster *cluster = search->cluster;

    qsort_r(placement->shares, placement->share_count, sizeof *placement->shares, compare_orders,
            (void *)cluster);
    placement->gpu_count = search->request->gpu_count;
    placement->rack = cluster->nodes[placement->shares[0].node].rack;
    for (size_t i = 0; i < placement->share_count; i++) {
        struct ath_cluster_share *share = &placement->shares[i];
        const struct ath_cluster_node *node = &cluster->nodes[share->node];
        share->choice = choose(search, node->shape, share->gpu_count, placement);
        if (share->choice == ATH_CLUSTER_NONE)
            return refuse_policy(search, err);
        if (node->rack != placement->rack)
            placement->rack = ATH_CLUSTER_NONE;
        placement->left_over += ath_cluster_free_on(cluster, share->node) - share->gpu_count;
    }
    look_at_ways(cluster, placement);
    return 0;
}

static int refuse(const struct search *search, struct ath_err *err)
{
    const struct ath_cluster_request *request = search->request;
    enum ath_cluster_within within = request->within;

    if (search->free_count < request->gpu_count) {
        return ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                           request->per_node
                               ? _("the nodes can give %zu of %zu GPUs, with %zu on each node")
                               : _("the nodes have %zu free GPUs, fewer than %zu"),
                           search->free_count, request->gpu_count, request->per_node);
    }
    if (within == ATH_CLUSTER_ANYWHERE)
        return ath_err_set(err, -EINVAL, ATH_E_MISFIT,
                           _("no switch has %zu free GPUs below it: not all nodes are connected"),
                           request->gpu_count);
    ath_err_set(err, -EINVAL, ATH_E_MISFIT, _("no %s has %zu free GPUs for this"),
                ath_cluster_within_words[within], request->gpu_count);
    return ath_err_hint(err, -EINVAL, _("leave out --within %s"), ath_cluster_within_words[within]);
}

static int check(const struct ath_cluster_request *request, struct ath_err *err)
{
    if (!request->per_node || request->gpu_count % request->per_node == 0)
        return 0;
    ath_err_set(err, -EINVAL, ATH_E_USAGE, _("%zu GPUs are no multiple of %zu on each node"),
                request->gpu_count, request->per_node);
    return ath_err_hint(err, -EINVAL, _("give a multiple of --per-node"));
}

/* Finds the nodes. Returns false if there are none. */
static bool find(struct search *search, struct ath_cluster_placement *out)
{
    enum ath_cluster_within within = search->request->within;
    struct candidate best = { 0 };
    size_t node = find_node(search, out);

    if (node != ATH_CLUSTER_NONE) {
        add_share(out, node, search->request->gpu_count);
        look_at_links(search, out);
        return true;
    }
    ath_cluster_placement_free(out);
    if (within == ATH_CLUSTER_ONE_RACK)
        search_racks(search, &best);
    else if (within != ATH_CLUSTER_ONE_NODE)
        search_switches(search, &best);
    *out = best.placement;
    return out->share_count > 0;
}

int ath_cluster_place(const struct ath_cluster *cluster, const struct ath_cluster_request *request,
                      struct ath_cluster_placement *out, struct ath_err *err)
{
    ATH_AUTO(search) search = { .cluster = cluster, .request = request };
    struct ath_cluster_placement placement = { 0 };
    int status = check(request, err);

    if (status)
        return status;
    set_capacities(&search);
    status = find(&search, &placement) ? finish(&search, &placement, err) : refuse(&search, err);
    if (status) {
        ath_cluster_placement_free(&placement);
        return status;
    }
    *out = placement;
    return 0;
}
