/* Measured pairs of nodes: their file, the figures of links that follow, and which pairs to
 * measure.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/unknown.h"
#include "cluster/made.h"
#include "cluster/measured.h"
#include "config/schema.h"
#include "unit.h"

static struct ath_cluster cluster;
static struct ath_cluster_pairs pairs;
static char path[64];

static void setup(void)
{
    snprintf(path, sizeof path, "/tmp/test_cluster_links.%d.json", (int)getpid());
}

static void teardown(void)
{
    char lock[80];

    ath_cluster_pairs_free(&pairs);
    ath_cluster_free(&cluster);
    unlink(path);
    snprintf(lock, sizeof lock, "/tmp/.%s.lock", path + strlen("/tmp/"));
    unlink(lock);
}

FIXTURE(setup, teardown);

static const int64_t gbps = 125000000, us = 1000;

/* Two leaves of three nodes below a spine: a1 to a3 and b1 to b3. Node links 100 Gb/s and 5 us,
 * upper links 400 Gb/s and 20 us. */
static void make_tree(void)
{
    const struct ath_made_machine counts = { .gpus = 1, .nvlinks = 0, .numa_nodes = 1 };
    const struct ath_idset none = { 0 };
    struct ath_machine machine;
    struct ath_err err = { 0 };
    size_t spine = ath_cluster_add_switch(&cluster, "spine");

    ath_cluster_make_machine(&counts, &machine);
    const struct ath_machine *own = ath_cluster_add_machine(&cluster, &machine);
    size_t shape = ath_cluster_add_shape(&cluster, own, &none);
    for (int i = 0; i < 2; i++) {
        size_t leaf = ath_cluster_add_switch(&cluster, i ? "leaf-b" : "leaf-a");
        cluster.switches[leaf].above = spine;
        cluster.switches[leaf].up = (struct ath_cluster_link){ 400 * gbps, 20 * us };
        for (int k = 1; k <= 3; k++) {
            ath_auto_free char *name = ath_xasprintf("%c%d", "ab"[i], k);
            size_t added = ath_cluster_add_node(&cluster, name);
            struct ath_cluster_node *node = &cluster.nodes[added];
            node->leaf = leaf;
            node->up = (struct ath_cluster_link){ 100 * gbps, 5 * us };
            node->machine = own;
            node->shape = shape;
        }
    }
    ck_assert_msg(!ath_cluster_finish(&cluster, &err), "%s", err.message);
}

static void add_pair(const char *from, const char *to, int64_t to_gbps, int64_t from_gbps,
                     int64_t round_trip_us)
{
    struct ath_cluster_pair *pair = ath_cluster_pairs_add(&pairs, from, to);
    pair->to_bytes_per_s = to_gbps < 0 ? ATH_UNKNOWN : to_gbps * gbps;
    pair->from_bytes_per_s = from_gbps < 0 ? ATH_UNKNOWN : from_gbps * gbps;
    pair->round_trip_ns = round_trip_us < 0 ? ATH_UNKNOWN : round_trip_us * us;
}

static const struct ath_cluster_node *node(const char *name)
{
    return &cluster.nodes[ath_cluster_find_node(&cluster, name)];
}

static const struct ath_cluster_switch *leaf(const char *name)
{
    return &cluster.switches[ath_cluster_find_switch(&cluster, name)];
}

/* ---- figures of links ---- */

TEST(a_node_has_its_fastest_pair)
{
    make_tree();
    add_pair("a1", "a2", 80, 90, -1);
    add_pair("a1", "a3", 60, 40, -1);
    ck_assert_uint_eq(ath_cluster_apply_pairs(&cluster, &pairs), 0);
    ck_assert_int_eq(node("a1")->up.bytes_per_s, 80 * gbps); /* the slower direction counts */
    ck_assert_int_eq(node("a2")->up.bytes_per_s, 80 * gbps);
    ck_assert_int_eq(node("a3")->up.bytes_per_s, 40 * gbps);
    ck_assert(node("a3")->is_measured && !node("b1")->is_measured);
    ck_assert_int_eq(node("b1")->up.bytes_per_s, 100 * gbps);
    ck_assert_int_eq(node("a1")->up.latency_ns, 5 * us); /* not measured */
    ck_assert(!leaf("leaf-a")->is_measured);
}

TEST(one_direction_alone_is_no_bandwidth)
{
    make_tree();
    add_pair("a1", "a2", 80, -1, -1);
    ath_cluster_apply_pairs(&cluster, &pairs);
    ck_assert_int_eq(node("a1")->up.bytes_per_s, 100 * gbps);
    ck_assert(!node("a1")->is_measured);
}

TEST(a_switch_that_pairs_cannot_fill_keeps_its_bandwidth)
{
    make_tree();
    add_pair("a1", "a2", 96, 96, -1);
    add_pair("b1", "b2", 96, 96, -1);
    add_pair("a1", "b1", 87, 87, -1); /* within a tenth: 86.4 */
    ath_cluster_apply_pairs(&cluster, &pairs);
    ck_assert_int_eq(leaf("leaf-a")->up.bytes_per_s, 400 * gbps);
    ck_assert(!leaf("leaf-a")->is_measured && !leaf("leaf-b")->is_measured);
}

TEST(a_switch_that_slows_pairs_has_their_bandwidth)
{
    make_tree();
    add_pair("a1", "a2", 96, 96, -1);
    add_pair("b1", "b2", 96, 96, -1);
    add_pair("a1", "b1", 25, 25, -1);
    add_pair("a2", "b2", 20, 20, -1);
    ath_cluster_apply_pairs(&cluster, &pairs);
    ck_assert_int_eq(leaf("leaf-a")->up.bytes_per_s, 25 * gbps);
    ck_assert_int_eq(leaf("leaf-b")->up.bytes_per_s, 25 * gbps);
    ck_assert(leaf("leaf-a")->is_measured);
    ck_assert_int_eq(node("a1")->up.bytes_per_s, 96 * gbps);
    struct ath_cluster_path way;
    ath_cluster_path(&cluster, ath_cluster_find_node(&cluster, "a1"),
                     ath_cluster_find_node(&cluster, "b1"), &way);
    ck_assert_int_eq(way.link.bytes_per_s, 25 * gbps);
    ck_assert_uint_eq(way.hops, 3);
}

TEST(more_than_a_tenth_is_slower)
{
    make_tree();
    add_pair("a1", "a2", 96, 96, -1);
    add_pair("b1", "b2", 96, 96, -1);
    add_pair("a1", "b1", 86, 86, -1);
    ath_cluster_apply_pairs(&cluster, &pairs);
    ck_assert_int_eq(leaf("leaf-a")->up.bytes_per_s, 86 * gbps);
}

/* A pair of slow nodes fills them, but says nothing about a switch that a faster pair crosses. */
TEST(a_slow_node_does_not_widen_a_switch)
{
    make_tree();
    add_pair("a1", "a2", 96, 96, -1);
    add_pair("b1", "b2", 96, 96, -1);
    add_pair("a1", "b1", 40, 40, -1);
    add_pair("a3", "b3", 10, 10, -1);
    ath_cluster_apply_pairs(&cluster, &pairs);
    ck_assert_int_eq(node("a3")->up.bytes_per_s, 10 * gbps);
    ck_assert_int_eq(leaf("leaf-a")->up.bytes_per_s, 40 * gbps);
}

TEST(a_switch_without_or_below_a_bandwidth_gets_it)
{
    make_tree();
    cluster.switches[ath_cluster_find_switch(&cluster, "leaf-a")].up.bytes_per_s = ATH_UNKNOWN;
    cluster.switches[ath_cluster_find_switch(&cluster, "leaf-b")].up.bytes_per_s = 50 * gbps;
    add_pair("a1", "b1", 96, 96, -1);
    ath_cluster_apply_pairs(&cluster, &pairs);
    ck_assert_int_eq(leaf("leaf-a")->up.bytes_per_s, 96 * gbps);
    ck_assert_int_eq(leaf("leaf-b")->up.bytes_per_s, 96 * gbps);
    ck_assert(leaf("leaf-a")->is_measured && leaf("leaf-b")->is_measured);
}

TEST(latencies_are_divided_from_the_nearest_pairs_on)
{
    make_tree();
    add_pair("a1", "b1", -1, -1, 400);
    add_pair("a1", "a2", -1, -1, 100);
    add_pair("a1", "a3", -1, -1, 140);
    add_pair("b1", "b2", -1, -1, 60);
    ath_cluster_apply_pairs(&cluster, &pairs);
    ck_assert_int_eq(node("a1")->up.latency_ns, 25 * us); /* the least of 25 and 35 */
    ck_assert_int_eq(node("a2")->up.latency_ns, 25 * us);
    ck_assert_int_eq(node("a3")->up.latency_ns, 35 * us);
    ck_assert_int_eq(node("b1")->up.latency_ns, 15 * us);
    /* 200 us one way, 40 of them in the links of the nodes. */
    ck_assert_int_eq(leaf("leaf-a")->up.latency_ns, 80 * us);
    ck_assert_int_eq(leaf("leaf-b")->up.latency_ns, 80 * us);
    ck_assert_int_eq(leaf("leaf-a")->up.bytes_per_s, 400 * gbps);
    ck_assert_int_eq(node("b3")->up.latency_ns, 5 * us);
}

TEST(a_far_pair_that_is_quicker_leaves_nothing)
{
    make_tree();
    add_pair("a1", "a2", -1, -1, 100);
    add_pair("b1", "b2", -1, -1, 100);
    add_pair("a1", "b1", -1, -1, 40);
    ath_cluster_apply_pairs(&cluster, &pairs);
    ck_assert_int_eq(leaf("leaf-a")->up.latency_ns, 0);
}

TEST(figures_of_links_have_two_digits)
{
    make_tree();
    struct ath_cluster_pair *pair = ath_cluster_pairs_add(&pairs, "a1", "a2");
    pair->to_bytes_per_s = pair->from_bytes_per_s = 11762345678;
    pair->round_trip_ns = 102998;
    ath_cluster_apply_pairs(&cluster, &pairs);
    ck_assert_int_eq(node("a1")->up.bytes_per_s, 94 * gbps);
    ck_assert_int_eq(node("a1")->up.latency_ns, 26000);
}

/* A file may have any. */
TEST(the_largest_figures_stay_numbers)
{
    make_tree();
    add_pair("a1", "a2", 1, 1, 1);
    pairs.items[0].to_bytes_per_s = pairs.items[0].from_bytes_per_s = INT64_MAX / 8;
    pairs.items[0].round_trip_ns = INT64_MAX;
    ck_assert_uint_eq(ath_cluster_apply_pairs(&cluster, &pairs), 0);
    const struct ath_cluster_link *up = &cluster.nodes[ath_cluster_find_node(&cluster, "a1")].up;
    ck_assert_int_ge(up->bytes_per_s, INT64_MAX / 10);
    ck_assert_int_ge(up->latency_ns, INT64_MAX / 5);
}

TEST(pairs_of_other_nodes_are_counted)
{
    make_tree();
    add_pair("a1", "z9", 10, 10, 10);
    add_pair("z9", "a1", 10, 10, 10);
    add_pair("a1", "a2", 10, 10, 10);
    ck_assert_uint_eq(ath_cluster_apply_pairs(&cluster, &pairs), 2);
    ck_assert_int_eq(node("a1")->up.bytes_per_s, 10 * gbps);
}

/* ---- which pairs ---- */

static char *targets(const char *from, bool is_sample, const char *excluded)
{
    ATH_AUTO(ath_texts) names = { 0 };
    size_t out[6];
    bool is_excluded[6] = { false };

    if (excluded)
        is_excluded[ath_cluster_find_node(&cluster, excluded)] = true;
    size_t count = ath_cluster_targets(&cluster, ath_cluster_find_node(&cluster, from), is_sample,
                                       excluded ? is_excluded : NULL, out);
    for (size_t i = 0; i < count; i++)
        ath_texts_add(&names, cluster.nodes[out[i]].name);
    return ath_texts_join(&names);
}

TEST(all_other_nodes_or_one_on_each_level)
{
    static const struct {
        const char *from;
        bool is_sample;
        const char *excluded, *wanted;
    } rows[] = {
        { "a2", false, NULL, "a1, a3, b1, b2, b3" },
        { "a2", false, "b1", "a1, a3, b2, b3" },
        { "a1", true, NULL, "a2, b1" },
        { "a2", true, NULL, "a3, b2" },
        { "a3", true, NULL, "a1, b3" },
        { "b1", true, NULL, "b2, a1" },
        { "b2", true, NULL, "b3, a2" },
        { "b3", true, NULL, "b1, a3" },
        { "a1", true, "a2", "a3, b1" },
        { "a3", true, "b3", "a1, b1" },
    };

    make_tree();
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        ath_auto_free char *names = targets(rows[i].from, rows[i].is_sample, rows[i].excluded);
        ck_assert_msg(!strcmp(names, rows[i].wanted), "%zu: %s", i, names);
    }
}

/* ---- the file ---- */

TEST(the_newest_pair_stays)
{
    ATH_AUTO(ath_cluster_pairs) other = { 0 };

    add_pair("b", "a", 1, 1, 1);
    add_pair("a", "b", 2, 2, 2);
    strcpy(pairs.items[1].date, "2026-01-02T00:00:00Z");
    struct ath_cluster_pair *old = ath_cluster_pairs_add(&other, "a", "b");
    strcpy(old->date, "2026-01-01T00:00:00Z");
    ath_cluster_pairs_add(&other, "a", "c");
    ath_cluster_pairs_merge(&pairs, &other);
    ck_assert_uint_eq(other.count, 0);
    ck_assert_uint_eq(pairs.count, 3);
    ck_assert_str_eq(pairs.items[0].to, "b");
    ck_assert_int_eq(pairs.items[0].round_trip_ns, 2 * us);
    ck_assert_str_eq(pairs.items[1].to, "c");
    ck_assert_str_eq(pairs.items[2].from, "b");
}

TEST(saving_merges_into_the_file)
{
    ATH_AUTO(ath_cluster_pairs) read = { 0 };
    struct ath_err err = { 0 };

    add_pair("a", "b", 2, 3, 4);
    ck_assert_msg(!ath_cluster_pairs_save(path, &pairs, &err), "%s", err.message);
    ath_cluster_pairs_free(&pairs);
    add_pair("b", "a", -1, -1, 7);
    ck_assert_msg(!ath_cluster_pairs_save(path, &pairs, &err), "%s", err.message);
    ck_assert_uint_eq(pairs.count, 2);
    ck_assert_msg(!ath_cluster_pairs_load(path, &read, &err), "%s", err.message);
    ck_assert_uint_eq(read.count, 2);
    ck_assert_int_eq(read.items[0].to_bytes_per_s, 2 * gbps);
    ck_assert_int_eq(read.items[0].from_bytes_per_s, 3 * gbps);
    ck_assert_int_eq(read.items[0].round_trip_ns, 4 * us);
    ck_assert_uint_eq(strlen(read.items[0].date), 20);
    ck_assert_int_eq(read.items[1].to_bytes_per_s, ATH_UNKNOWN);
    ck_assert_int_eq(read.items[1].round_trip_ns, 7 * us);
}

TEST(other_files_are_refused)
{
    static const char *const rows[][2] = {
        { "{", "" },
        { "[]", "schema" },
        { "{\"schema\": \"aitherion.measured/1\", \"pairs\": []}", "schema" },
        { "{\"schema\": \"aitherion.cluster-links/1\"}", "'pairs' is missing" },
        { "{\"schema\": \"aitherion.cluster-links/1\", \"pairs\": [{\"from\": \"a\"}]}",
          "no two nodes" },
        { "{\"schema\": \"aitherion.cluster-links/1\", \"pairs\": [{\"from\": \"a\", \"to\": "
          "\"a\"}]}",
          "no two nodes" },
    };

    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        struct ath_err err = { 0 };
        ck_assert(!ath_file_save(path, rows[i][0], strlen(rows[i][0]), &err));
        ck_assert_int_eq(ath_cluster_pairs_load(path, &pairs, &err), -EINVAL);
        ck_assert_msg(strstr(err.message, rows[i][1]) && strstr(err.message, path), "%s",
                      err.message);
        ck_assert_uint_eq(pairs.count, 0);
        /* A file that is not ours is not written over. */
        ck_assert_int_eq(ath_cluster_pairs_save(path, &pairs, &err), -EINVAL);
    }
}
