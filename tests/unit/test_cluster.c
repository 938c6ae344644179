/* Clusters: lists of hosts, the tree of switches, placements against brute force, estimates. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/unknown.h"
#include "cluster/estimate.h"
#include "cluster/export/export.h"
#include "cluster/hostlist.h"
#include "cluster/made.h"
#include "cluster/place.h"
#include "cluster/slurm_topology.h"
#include "unit.h"

static struct ath_cluster cluster;
static struct ath_cluster_placement placement;

static void teardown(void)
{
    ath_cluster_placement_free(&placement);
    ath_cluster_free(&cluster);
}

FIXTURE(NULL, teardown);

/* ---- lists of hosts ---- */

static char *expanded(const char *list)
{
    ATH_AUTO(ath_texts) names = { 0 };
    struct ath_err err = { 0 };
    ck_assert_msg(!ath_hostlist_expand(list, &names, &err), "%s", err.message);
    return ath_texts_join(&names);
}

TEST(lists_of_hosts_are_expanded)
{
    static const char *const rows[][2] = {
        { "n1", "n1" },
        { "a,b", "a, b" },
        { "n[1-3]", "n1, n2, n3" },
        { "n[08-10]", "n08, n09, n10" },
        { "n[1,3-4]-ib,x", "n1-ib, n3-ib, n4-ib, x" },
        { "[7-8]", "7, 8" },
        { "n[5-5]", "n5" },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        ath_auto_free char *names = expanded(rows[i][0]);
        ck_assert_str_eq(names, rows[i][1]);
    }
}

TEST(wrong_lists_of_hosts_are_refused)
{
    static const char *const lists[] = { "",          ",",      "a,",      "n[1-3",
                                         "n1-3]",     "n[3-1]", "n[]",     "n[1-]",
                                         "n[-1]",     "n[1,]",  "n[1][2]", "n[[1]]",
                                         "a b",       "n/1",    "n[x]",    "n[1-9999999999]",
                                         "n[0-65536]" };
    for (size_t i = 0; i < ATH_COUNT(lists); i++) {
        ATH_AUTO(ath_texts) names = { 0 };
        struct ath_err err = { 0 };
        ck_assert_msg(ath_hostlist_expand(lists[i], &names, &err) == -EINVAL, "%s", lists[i]);
        ck_assert_int_eq(err.code, ATH_E_USAGE);
    }
}

TEST(lists_of_hosts_are_written)
{
    static const char *const rows[][2] = {
        { "b,a", "a,b" },
        { "n3,n1,n2", "n[1-3]" },
        { "n1,n3,n4,n09,n10", "n[1,3-4],n[09-10]" },
        { "n1", "n1" },
        { "gpu,n1,n2", "gpu,n[1-2]" },
        { "n1-ib,n2-ib", "n1-ib,n2-ib" },
        { "n9,n10", "n9,n10" },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        ATH_AUTO(ath_texts) names = { 0 };
        ck_assert_int_eq(ath_hostlist_expand(rows[i][0], &names, NULL), 0);
        ath_auto_free char *list = ath_hostlist_write(&names);
        ck_assert_str_eq(list, rows[i][1]);
    }
}

/* ---- made clusters ---- */

/* Adds a node with free and busy GPUs, which are the last ones. */
static size_t add_node(const char *name, size_t leaf, size_t gpus, size_t busy, int nvlinks,
                       int64_t bytes_per_s, int64_t latency_ns)
{
    const struct ath_made_machine counts = {
        .model = "NVIDIA A100-SXM4-80GB", .gpus = gpus, .nvlinks = nvlinks, .numa_nodes = 2
    };
    struct ath_machine machine;
    ATH_AUTO(ath_idset) used = { 0 };

    ath_cluster_make_machine(&counts, &machine);
    for (size_t i = 0; i < busy; i++)
        ath_idset_add(&used, (int)(gpus - 1 - i), (int)(gpus - 1 - i));
    size_t index = ath_cluster_add_node(&cluster, name);
    struct ath_cluster_node *node = &cluster.nodes[index];
    node->leaf = leaf;
    node->up = (struct ath_cluster_link){ bytes_per_s, latency_ns };
    node->machine = ath_cluster_add_machine(&cluster, &machine);
    node->shape = ath_cluster_add_shape(&cluster, node->machine, &used);
    return index;
}

static size_t add_switch(const char *name, size_t above, int64_t bytes_per_s, int64_t latency_ns)
{
    size_t added = ath_cluster_add_switch(&cluster, name);
    cluster.switches[added].above = above;
    cluster.switches[added].up = (struct ath_cluster_link){ bytes_per_s, latency_ns };
    return added;
}

static const int64_t gbps = 125000000, us = 1000;

/* Seed 004's example: two racks of four nodes with eight GPUs; 100 Gb/s and 0.1 ms inside a rack,
 * 50 Gb/s and 0.5 ms between racks. */
static void make_example(void)
{
    size_t spine = add_switch("spine", ATH_CLUSTER_NONE, ATH_UNKNOWN, ATH_UNKNOWN);
    for (int rack = 0; rack < 2; rack++) {
        ath_auto_free char *name = ath_xasprintf("leaf%d", rack + 1);
        ath_auto_free char *rack_name = ath_xasprintf("rack%d", rack + 1);
        size_t leaf = add_switch(name, spine, 50 * gbps, 200 * us);
        for (int i = 0; i < 4; i++) {
            ath_auto_free char *node_name = ath_xasprintf("node%d", rack * 4 + i + 1);
            size_t node = add_node(node_name, leaf, 8, 0, 12, 100 * gbps, 50 * us);
            cluster.nodes[node].rack = ath_cluster_add_rack(&cluster, rack_name);
        }
    }
    ck_assert_int_eq(ath_cluster_finish(&cluster, NULL), 0);
}

TEST(the_way_between_two_nodes)
{
    struct ath_cluster_path path;

    make_example();
    ath_cluster_path(&cluster, 0, 3, &path);
    ck_assert(path.is_connected);
    ck_assert_uint_eq(path.hops, 1);
    ck_assert_int_eq(path.link.bytes_per_s, 100 * gbps);
    ck_assert_int_eq(path.link.latency_ns, 100 * us);
    ath_cluster_path(&cluster, 7, 1, &path);
    ck_assert(path.is_connected);
    ck_assert_uint_eq(path.hops, 3);
    ck_assert_int_eq(path.link.bytes_per_s, 50 * gbps);
    ck_assert_int_eq(path.link.latency_ns, 500 * us);
    ath_cluster_path(&cluster, 2, 2, &path);
    ck_assert(path.is_connected);
    ck_assert_uint_eq(path.hops, 0);
    ck_assert_int_eq(path.link.bytes_per_s, ATH_UNKNOWN);
}

TEST(nodes_of_two_trees_are_not_connected)
{
    struct ath_cluster_path path;
    size_t a = add_switch("a", ATH_CLUSTER_NONE, ATH_UNKNOWN, ATH_UNKNOWN);
    size_t b = add_switch("b", ATH_CLUSTER_NONE, ATH_UNKNOWN, ATH_UNKNOWN);
    struct ath_cluster_request request = { .gpu_count = 16 };
    struct ath_err err = { 0 };

    add_node("n1", a, 8, 0, 12, 1, 1);
    add_node("n2", b, 8, 0, 12, 1, 1);
    add_node("n3", ATH_CLUSTER_NONE, 8, 0, 12, 1, 1);
    ck_assert_int_eq(ath_cluster_finish(&cluster, NULL), 0);
    ath_cluster_path(&cluster, 0, 1, &path);
    ck_assert(!path.is_connected);
    ath_cluster_path(&cluster, 0, 2, &path);
    ck_assert(!path.is_connected);
    ck_assert_int_eq(ath_cluster_place(&cluster, &request, &placement, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.message, "not all nodes are connected"));
}

TEST(wrong_clusters_are_refused)
{
    struct ath_err err = { 0 };

    ck_assert_int_eq(ath_cluster_finish(&cluster, &err), -EINVAL);
    ck_assert_str_eq(err.message, "the cluster has no nodes");
    size_t a = add_switch("a", ATH_CLUSTER_NONE, 1, 1);
    size_t b = add_switch("b", a, 1, 1);
    add_node("n", b, 1, 0, 0, 1, 1);
    add_node("n", a, 1, 0, 0, 1, 1);
    ck_assert_int_eq(ath_cluster_finish(&cluster, &err), -EINVAL);
    ck_assert_str_eq(err.message, "two nodes have the name 'n'");
    cluster.nodes[1].name[0] = 'm';
    cluster.switches[a].above = b;
    ck_assert_int_eq(ath_cluster_finish(&cluster, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.message, "above itself"));
    cluster.switches[a].above = ATH_CLUSTER_NONE;
    cluster.switches[b].name[0] = 'a';
    ck_assert_int_eq(ath_cluster_finish(&cluster, &err), -EINVAL);
    ck_assert_str_eq(err.message, "two switches have the name 'a'");
}

/* ---- placements ---- */

static void place(size_t gpus, size_t per_node, enum ath_cluster_within within)
{
    const struct ath_cluster_request request = { .gpu_count = gpus,
                                                 .per_node = per_node,
                                                 .within = within };
    struct ath_err err = { 0 };
    ath_cluster_placement_free(&placement);
    ck_assert_msg(!ath_cluster_place(&cluster, &request, &placement, &err), "%s", err.message);
}

/* "node1:8 node2:2" */
static void expect_shares(const char *wanted)
{
    struct ath_text text = { 0 };
    for (size_t i = 0; i < placement.share_count; i++)
        ath_text_add_part(&text, " ", "%s:%zu", cluster.nodes[placement.shares[i].node].name,
                          placement.shares[i].gpu_count);
    ath_auto_free char *shares = ath_text_take(&text);
    ck_assert_str_eq(shares, wanted);
}

TEST(the_example_is_placed)
{
    make_example();
    place(3, 0, ATH_CLUSTER_ANYWHERE);
    expect_shares("node1:3");
    ck_assert_uint_eq(placement.top, ATH_CLUSTER_NONE);
    ck_assert_uint_eq(placement.left_over, 5);
    place(32, 8, ATH_CLUSTER_ANYWHERE);
    expect_shares("node1:8 node2:8 node3:8 node4:8");
    ck_assert_str_eq(cluster.switches[placement.top].name, "leaf1");
    ck_assert_str_eq(cluster.racks[placement.rack], "rack1");
    ck_assert_uint_eq(placement.hops, 1);
    ck_assert_int_eq(placement.link.bytes_per_s, 100 * gbps);
    ck_assert_int_eq(placement.link.latency_ns, 100 * us);
    place(34, 0, ATH_CLUSTER_ANYWHERE);
    expect_shares("node1:8 node2:8 node3:8 node4:8 node5:2");
    ck_assert_uint_eq(placement.rack, ATH_CLUSTER_NONE);
    ck_assert_uint_eq(placement.hops, 3);
    ck_assert_int_eq(placement.link.bytes_per_s, 50 * gbps);
    ck_assert_str_eq(cluster.switches[placement.slowest_switch].name, "leaf1");
    ck_assert_int_eq(placement.link.latency_ns, 500 * us);
    place(16, 4, ATH_CLUSTER_ONE_RACK);
    expect_shares("node1:4 node2:4 node3:4 node4:4");
}

TEST(a_node_with_the_better_ring_or_the_least_left_over_is_taken)
{
    add_node("empty", ATH_CLUSTER_NONE, 8, 0, 12, 1, 1);
    add_node("half", ATH_CLUSTER_NONE, 8, 4, 12, 1, 1);
    add_node("slow", ATH_CLUSTER_NONE, 4, 2, 4, 1, 1);
    ck_assert_int_eq(ath_cluster_finish(&cluster, NULL), 0);
    place(2, 0, ATH_CLUSTER_ANYWHERE);
    expect_shares("half:2"); /* "slow" fits exactly, but has fewer NVLinks */
    place(5, 0, ATH_CLUSTER_ONE_NODE);
    expect_shares("empty:5");
}

TEST(the_last_branch_is_the_smallest_that_has_enough)
{
    size_t leaf = add_switch("leaf", ATH_CLUSTER_NONE, ATH_UNKNOWN, ATH_UNKNOWN);
    add_node("a", leaf, 8, 0, 12, 1, 1);
    add_node("b", leaf, 8, 5, 12, 1, 1);
    add_node("c", leaf, 8, 4, 12, 1, 1);
    add_node("d", leaf, 8, 0, 12, 1, 1);
    ck_assert_int_eq(ath_cluster_finish(&cluster, NULL), 0);
    place(11, 0, ATH_CLUSTER_ANYWHERE);
    expect_shares("a:8 b:3");
    ck_assert_uint_eq(placement.left_over, 0);
    place(12, 0, ATH_CLUSTER_ANYWHERE);
    expect_shares("a:8 c:4");
    place(13, 0, ATH_CLUSTER_ANYWHERE);
    expect_shares("a:8 d:5");
}

/* Adds a leaf below the first switch, with nodes that have so many free GPUs of eight. */
static void add_leaf(const char *name, const size_t *free_counts, size_t count, int64_t bytes_per_s)
{
    size_t leaf = add_switch(name, 0, ATH_UNKNOWN, ATH_UNKNOWN);
    for (size_t i = 0; i < count; i++) {
        ath_auto_free char *node = ath_xasprintf("%s-%zu", name, i);
        add_node(node, leaf, 8, 8 - free_counts[i], 12, bytes_per_s, us);
    }
}

TEST(of_equal_levels_links_then_nodes_then_left_over_decide)
{
    add_switch("spine", ATH_CLUSTER_NONE, ATH_UNKNOWN, ATH_UNKNOWN);
    add_leaf("slow", (size_t[]){ 8, 8 }, 2, gbps);
    add_leaf("many", (size_t[]){ 4, 4, 4 }, 3, 2 * gbps);
    add_leaf("roomy", (size_t[]){ 8, 4, 8, 1 }, 4, 2 * gbps);
    add_leaf("tight", (size_t[]){ 8, 4, 3 }, 3, 2 * gbps);
    ck_assert_int_eq(ath_cluster_finish(&cluster, NULL), 0);
    place(12, 0, ATH_CLUSTER_ANYWHERE);
    expect_shares("tight-0:8 tight-1:4"); /* "roomy" needs two nodes, too; "many" three */
    place(14, 0, ATH_CLUSTER_ANYWHERE);
    expect_shares("roomy-0:8 roomy-2:6"); /* "tight" needs three nodes */
    ck_assert_str_eq(cluster.switches[placement.top].name, "roomy");
}

TEST(nodes_have_one_order)
{
    bool is_taken[4] = { false };

    size_t leaf = add_switch("leaf", ATH_CLUSTER_NONE, ATH_UNKNOWN, ATH_UNKNOWN);
    add_node("a", ATH_CLUSTER_NONE, 1, 0, 0, 1, 1);
    add_node("b", leaf, 1, 0, 0, 1, 1);
    add_node("c", ATH_CLUSTER_NONE, 1, 0, 0, 1, 1);
    add_node("d", leaf, 1, 0, 0, 1, 1);
    ck_assert_int_eq(ath_cluster_finish(&cluster, NULL), 0);
    for (size_t i = 0; i < ATH_COUNT(is_taken); i++) {
        ck_assert_uint_lt(cluster.nodes[i].order, ATH_COUNT(is_taken));
        ck_assert(!is_taken[cluster.nodes[i].order]);
        is_taken[cluster.nodes[i].order] = true;
    }
}

TEST(impossible_requests_are_refused)
{
    static const struct {
        struct ath_cluster_request request;
        const char *message;
    } rows[] = {
        { { .gpu_count = 65 }, "the nodes have 64 free GPUs, fewer than 65" },
        { { .gpu_count = 9, .per_node = 2 }, "9 GPUs are no multiple of 2 on each node" },
        { { .gpu_count = 90, .per_node = 9 },
          "the nodes can give 0 of 90 GPUs, with 9 on each node" },
        { { .gpu_count = 33, .within = ATH_CLUSTER_ONE_RACK }, "no rack has 33 free GPUs" },
        { { .gpu_count = 33, .within = ATH_CLUSTER_ONE_SWITCH }, "no switch has 33 free GPUs" },
        { { .gpu_count = 9, .within = ATH_CLUSTER_ONE_NODE }, "no node has 9 free GPUs" },
        { { .gpu_count = 16, .policy = ATH_PLACE_SINGLE_NUMA }, "the policy single-numa" },
    };
    make_example();
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        struct ath_err err = { 0 };
        ck_assert_int_eq(ath_cluster_place(&cluster, &rows[i].request, &placement, &err), -EINVAL);
        ck_assert_msg(strstr(err.message, rows[i].message), "%s", err.message);
    }
}

TEST(excluded_nodes_give_nothing)
{
    const bool is_excluded[8] = { true, false, true };
    struct ath_cluster_request request = { .gpu_count = 16, .is_excluded = is_excluded };

    make_example();
    ck_assert_int_eq(ath_cluster_place(&cluster, &request, &placement, NULL), 0);
    expect_shares("node2:8 node4:8");
}

/* ---- brute force ---- */

static uint64_t seed;

static size_t random_below(size_t limit)
{
    uint64_t value = seed += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)((value ^ value >> 31) % limit);
}

enum { FEW_NODES = 7, FEW_SWITCHES = 4 };

/* A random tree: a spine, three leaves, nodes with 0 to 4 free GPUs on the leaves. */
static void make_random(void)
{
    size_t spine = add_switch("spine", ATH_CLUSTER_NONE, ATH_UNKNOWN, ATH_UNKNOWN);
    size_t leaves[FEW_SWITCHES - 1];

    for (size_t i = 0; i < ATH_COUNT(leaves); i++) {
        ath_auto_free char *name = ath_xasprintf("leaf%zu", i);
        leaves[i] = add_switch(name, spine, gbps, us);
    }
    for (size_t i = 0; i < FEW_NODES; i++) {
        ath_auto_free char *name = ath_xasprintf("n%zu", i);
        add_node(name, leaves[random_below(ATH_COUNT(leaves))], 4, random_below(5), 12,
                 gbps * (int64_t)(1 + random_below(2)), us);
    }
    ck_assert_int_eq(ath_cluster_finish(&cluster, NULL), 0);
}

/* The worth of a set of nodes: level, leaves, and nodes if all are on one leaf. */
struct worth {
    size_t level, leaves, nodes;
    int64_t bytes_per_s;
};

static struct worth worth_of(unsigned int nodes)
{
    struct worth worth = { .bytes_per_s = INT64_MAX };
    unsigned int leaves = 0;

    for (size_t i = 0; i < FEW_NODES; i++) {
        if (!(nodes & 1u << i))
            continue;
        worth.nodes++;
        leaves |= 1u << cluster.nodes[i].leaf;
        worth.bytes_per_s = ath_cluster_slower(worth.bytes_per_s, cluster.nodes[i].up.bytes_per_s);
    }
    worth.leaves = (size_t)__builtin_popcount(leaves);
    worth.level = worth.nodes == 1 ? 0 : worth.leaves == 1 ? 1 : 2;
    return worth;
}

/* The best worth of all sets of nodes that have enough. */
static struct worth best_worth(size_t gpus)
{
    struct worth best = { .level = 3 };

    for (unsigned int nodes = 1; nodes < 1u << FEW_NODES; nodes++) {
        struct worth worth = worth_of(nodes);
        size_t sum = 0;
        for (size_t i = 0; i < FEW_NODES; i++)
            sum += nodes & 1u << i ? ath_cluster_free_on(&cluster, i) : 0;
        if (sum < gpus || worth.level > best.level)
            continue;
        if (worth.level < best.level || worth.leaves < best.leaves)
            best = worth;
    }
    return best;
}

TEST(placements_are_as_near_as_brute_force_finds)
{
    for (seed = 1; seed <= 300; seed++) {
        make_random();
        for (size_t gpus = 1; gpus <= ath_cluster_free_gpus(&cluster); gpus++) {
            unsigned int nodes = 0;
            size_t sum = 0;
            place(gpus, 0, ATH_CLUSTER_ANYWHERE);
            for (size_t i = 0; i < placement.share_count; i++) {
                const struct ath_cluster_share *share = &placement.shares[i];
                ck_assert(!(nodes & 1u << share->node));
                ck_assert_uint_ge(share->gpu_count, 1);
                ck_assert_uint_le(share->gpu_count, ath_cluster_free_on(&cluster, share->node));
                nodes |= 1u << share->node;
                sum += share->gpu_count;
            }
            struct worth worth = worth_of(nodes), best = best_worth(gpus);
            ck_assert_uint_eq(sum, gpus);
            ck_assert_uint_eq(worth.level, best.level);
            ck_assert_uint_eq(worth.leaves, best.leaves);
        }
        teardown();
    }
}

/* With equal nodes, the number of nodes is the least as well. */
TEST(equal_nodes_are_as_few_as_possible)
{
    make_example();
    for (size_t gpus = 1; gpus <= 64; gpus++) {
        place(gpus, 0, ATH_CLUSTER_ANYWHERE);
        ck_assert_uint_eq(placement.share_count, (gpus + 7) / 8);
        ck_assert_uint_eq(placement.left_over, placement.share_count * 8 - gpus);
    }
}

TEST(gpus_are_free_ones_of_their_node)
{
    seed = 7;
    make_random();
    place(ath_cluster_free_gpus(&cluster), 0, ATH_CLUSTER_ANYWHERE);
    for (size_t i = 0; i < placement.share_count; i++) {
        const struct ath_cluster_share *share = &placement.shares[i];
        const struct ath_cluster_choice *choice = &placement.choices[share->choice];
        const struct ath_cluster_shape *shape = &cluster.shapes[cluster.nodes[share->node].shape];
        ck_assert_uint_eq(choice->count, share->gpu_count);
        for (size_t k = 0; k < choice->count; k++) {
            ck_assert(shape->is_free[choice->gpus[k]]);
            ck_assert(!k || choice->gpus[k] > choice->gpus[k - 1]);
        }
    }
}

/* ---- estimates ---- */

/*
 * Seed 004's example: 100 MB on 32 GPUs of four nodes. 2(4-1)/4 x 100 MB take 12.0 ms at 12.5 GB/s.
 * The seed took 100 Gb/s for 100 GB/s and 1024 MB for a GB, and got 1.46 ms: with bits it is 11.7.
 */
TEST(the_estimate_of_the_example)
{
    struct ath_cluster_estimate estimate;

    make_example();
    place(32, 8, ATH_CLUSTER_ANYWHERE);
    ath_cluster_estimate(&cluster, &placement, ATH_ALL_REDUCE, 100000000, &estimate);
    ck_assert_int_eq(estimate.least.time_ns, 12000000);
    ck_assert_int_eq(estimate.ring.time_ns, 15500000); /* 2(32-1)/32 */
    ck_assert_uint_eq(estimate.facts.node_count, 4);
    ck_assert_uint_eq(estimate.facts.gpu_count, 32);
    ck_assert_int_eq(estimate.facts.lack, ATH_NCCL_COMPLETE);
    /* Tree, Simple: 2 x (7 x 28 + 2 x 28) + 1e8 / (1000 x 0.92 x 12 x 0.5 x 0.9) us, or
     * ring, Simple: 1.4 x (8.4 + 54 x 3.4 + 8 x 14) + 1e8 / (1000 x 12 x 32 / 62) us */
    ck_assert_int_eq(estimate.nccl.estimate.time_ns, 16571433);
    ck_assert_int_eq(estimate.nccl.algorithm, ATH_NCCL_RING);
    ck_assert_int_eq(estimate.nccl.protocol, ATH_NCCL_SIMPLE);
    /* A small one: a tree with LL has few steps. 6.8 + 2 x (7 x 1.08 + 2 x 5) us + 1 KiB */
    ath_cluster_estimate(&cluster, &placement, ATH_ALL_REDUCE, 1024, &estimate);
    ck_assert_int_eq(estimate.nccl.algorithm, ATH_NCCL_TREE);
    ck_assert_int_eq(estimate.nccl.protocol, ATH_NCCL_LL);
    ck_assert_int_eq(estimate.nccl.estimate.time_ns / 1000, 42);
}

TEST(the_link_between_racks_bounds_the_estimate)
{
    struct ath_cluster_estimate estimate;

    make_example();
    place(64, 8, ATH_CLUSTER_ANYWHERE);
    ath_cluster_estimate(&cluster, &placement, ATH_ALL_REDUCE, 100000000, &estimate);
    ck_assert_int_eq(estimate.ring.time_ns, 31500000);  /* 2(64-1)/64 at 6.25 GB/s */
    ck_assert_int_eq(estimate.least.time_ns, 16000000); /* 1 at 6.25 GB/s; 2(8-1)/8 at 12.5: 14 */
    ath_cluster_estimate(&cluster, &placement, ATH_ALL_GATHER, 100000000, &estimate);
    ck_assert_int_eq(estimate.least.time_ns, 8000000);
}

TEST(one_node_and_unknown_links)
{
    struct ath_cluster_estimate estimate;

    add_node("a", ATH_CLUSTER_NONE, 8, 0, 12, ATH_UNKNOWN, ATH_UNKNOWN);
    add_node("b", ATH_CLUSTER_NONE, 8, 0, 12, ATH_UNKNOWN, ATH_UNKNOWN);
    ck_assert_int_eq(ath_cluster_finish(&cluster, NULL), 0); /* makes a switch */
    ck_assert(cluster.has_implied_switch);
    place(8, 0, ATH_CLUSTER_ANYWHERE);
    ath_cluster_estimate(&cluster, &placement, ATH_ALL_REDUCE, 100000000, &estimate);
    ck_assert_uint_eq(estimate.facts.node_count, 1);
    ck_assert_int_eq(estimate.least.time_ns, ATH_UNKNOWN);
    ck_assert_int_gt(estimate.ring.time_ns, 0);
    ck_assert_int_gt(estimate.nccl.estimate.time_ns, 0);
    place(16, 0, ATH_CLUSTER_ANYWHERE);
    ath_cluster_estimate(&cluster, &placement, ATH_ALL_REDUCE, 100000000, &estimate);
    ck_assert_int_eq(estimate.least.time_ns, ATH_UNKNOWN);
    ck_assert_int_eq(estimate.ring.time_ns, ATH_UNKNOWN);
    ck_assert_int_eq(estimate.nccl.estimate.time_ns, ATH_UNKNOWN);
    ck_assert_int_eq(estimate.facts.lack, ATH_NCCL_NO_BANDWIDTH);
    ck_assert_int_eq(placement.link.latency_ns, ATH_UNKNOWN);
    ck_assert_uint_eq(placement.slowest_switch, ATH_CLUSTER_NONE);
}

/* ---- Slurm's file ---- */

TEST(topology_conf_is_read)
{
    static const char text[] = "# a comment\n"
                               "SwitchName=leaf[0] Nodes=n1\n";
    static const char tree[] = "switchname=spine Switches=leaf[0-1] LinkSpeed=100\r\n"
                               "\n"
                               "SwitchName=leaf0 Nodes=n[1-2] # the first\n"
                               "  SwitchName=leaf1\tNodes=n3";
    struct ath_err err = { 0 };

    ck_assert(ath_slurm_topology_is(text));
    ck_assert(ath_slurm_topology_is("\n  BlockName=b Nodes=n1"));
    ck_assert(!ath_slurm_topology_is("schema: 1 # SwitchName=leaf"));
    ck_assert_msg(!ath_slurm_topology_add("t", tree, &cluster, &err), "%s", err.message);
    ck_assert_uint_eq(cluster.switch_count, 3);
    ck_assert_uint_eq(cluster.node_count, 3);
    ck_assert_uint_eq(cluster.switches[1].above, 0);
    ck_assert_uint_eq(cluster.switches[2].above, 0);
    ck_assert_uint_eq(cluster.switches[0].above, ATH_CLUSTER_NONE);
    ck_assert_str_eq(cluster.nodes[2].name, "n3");
    ck_assert_uint_eq(cluster.nodes[2].leaf, 2);
}

TEST(wrong_topology_conf_is_refused)
{
    static const char *const rows[][2] = {
        { "SwitchName=a Nodes=n1\nBlockName=b Nodes=n1", "t:2: not a line of a tree" },
        { "SwitchName=a", "t:1: a switch needs SwitchName, and Nodes or Switches" },
        { "Nodes=n1", "t:1: a switch needs SwitchName" },
        { "SwitchName=a Nodes=n1 Switches=b", "t:1: a switch needs SwitchName" },
        { "SwitchName=a Nodes=n[1", "t:1: 'n[1' is no list of hosts" },
        { "SwitchName=a Switches=b", "t:1: no line has the switch 'b'" },
        { "SwitchName=a Nodes=n\nSwitchName=b Switches=a\nSwitchName=c Switches=a",
          "t:3: two switches are above the switch 'a'" },
        { "SwitchName", "t:1: not a line of a tree" },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        struct ath_err err = { 0 };
        ck_assert_int_eq(ath_slurm_topology_add("t", rows[i][0], &cluster, &err), -EINVAL);
        ck_assert_msg(!strncmp(err.message, rows[i][1], strlen(rows[i][1])), "%s", err.message);
        ath_cluster_free(&cluster);
    }
}

/* ---- exports ---- */

/* The API takes 128 devices in a slice. */
TEST(a_slice_holds_so_many_devices)
{
    const struct ath_export_request request = { .cluster = &cluster };
    ATH_AUTO(ath_export) export = { 0 };
    struct ath_err err = { 0 };

    add_node("n1", ATH_CLUSTER_NONE, 128, 0, 0, ATH_UNKNOWN, ATH_UNKNOWN);
    ck_assert_msg(!ath_export_resourceslice(&request, &export, &err), "%s", err.message);
    const json_t *spec = json_object_get(export.files[0].value, "spec");
    ck_assert_uint_eq(json_array_size(json_object_get(spec, "devices")), 128);
    add_node("n2", ATH_CLUSTER_NONE, 129, 0, 0, ATH_UNKNOWN, ATH_UNKNOWN);
    ck_assert_int_eq(ath_export_resourceslice(&request, &export, &err), -E2BIG);
    ck_assert_ptr_nonnull(strstr(err.message, "'n2' has 129 GPUs"));
}

/* Kubernetes takes 63 characters, the last of which is a letter or a digit. */
TEST(labels_are_cut)
{
    static const char most[] = "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabc";
    ath_auto_free char *one = ath_xasprintf("%sd", most), *other = ath_xasprintf("%.62s.d", most);
    ath_auto_free char *whole = ath_export_label(most), *cut = ath_export_label(one);
    ath_auto_free char *shorter = ath_export_label(other), *plain = ath_export_label("-A (b)_");

    ck_assert_str_eq(whole, most);
    ck_assert_str_eq(cut, most);
    ck_assert_uint_eq(strlen(shorter), 62);
    ck_assert_str_eq(plain, "A--b");
}
