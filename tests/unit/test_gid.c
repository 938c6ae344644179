/* GIDs are chosen by link, type and address, never by number. */
#include "config.h"

#include "roce/gid.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tree.h"

#define V4(last) "0000:0000:0000:0000:0000:ffff:c0a8:" last
#define LOCAL "fe80:0000:0000:0000:0000:00ff:fe03:0100"
#define GLOBAL "2001:0db8:0000:0000:0000:0000:0000:0001"

static struct tree tree;
static struct ath_root root;
static struct ath_gid *gids;
static size_t gid_count;

static void setup(void)
{
    struct ath_err err;
    tree_make(&tree);
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    tree_folder(&tree, "sys/class/net/enP3p1s0f0");
    tree_folder(&tree, "sys/class/net/macvlan0");
}

static void teardown(void)
{
    free(gids);
    ath_root_free(&root);
    tree_remove(&tree);
}

static void put(int index, const char *type, const char *address, const char *netdev)
{
    static const char port[] = "sys/class/infiniband/mlx5_0/ports/1";
    tree_put(&tree, type, "%s/gid_attrs/types/%d", port, index);
    tree_put(&tree, address, "%s/gids/%d", port, index);
    if (netdev)
        tree_put(&tree, netdev, "%s/gid_attrs/ndevs/%d", port, index);
}

static void read_all(enum ath_link_layer layer)
{
    ath_gids_read(&root, "mlx5_0", 1, layer, &gids, &gid_count);
}

static void expect_best(const char *netdev, const char *master, int index)
{
    const struct ath_gid *best = ath_gid_best(gids, gid_count, ATH_LAYER_ETHERNET, netdev, master);
    ck_assert_int_eq(best ? best->index : -1, index);
}

START_TEST(reads_a_sparse_table)
{
    put(4, "IB/RoCE v1\n", LOCAL "\n", "enP3p1s0f0\n");
    put(12, "RoCE v2\n", V4("640a") "\n", "enP3p1s0f0\n");
    put(7, "RoCE v2\n", LOCAL "\n", "enP3p1s0f0\n");
    put(200, "", "0000:0000:0000:0000:0000:0000:0000:0000\n", NULL); /* EINVAL on a live one */
    put(201, "RoCE v9\n", LOCAL "\n", "enP3p1s0f0\n");
    put(202, "RoCE v2\n", "not an address\n", "enP3p1s0f0\n");
    read_all(ATH_LAYER_ETHERNET);
    ck_assert_uint_eq(gid_count, 3);
    ck_assert_int_eq(gids[0].index, 4);
    ck_assert_int_eq(gids[0].type, ATH_GID_ROCE_V1);
    ck_assert_int_eq(gids[1].index, 7);
    ck_assert_int_eq(gids[2].index, 12);
    ck_assert(gids[2].is_ipv4_mapped);
    ck_assert(gids[2].is_usable);
    ck_assert_str_eq(gids[2].netdev, "enP3p1s0f0");
}
END_TEST

START_TEST(prefers_version_then_ipv4_then_routable_then_low)
{
    put(0, "IB/RoCE v1", V4("640a"), "enP3p1s0f0");
    put(1, "RoCE v2", LOCAL, "enP3p1s0f0");
    read_all(ATH_LAYER_ETHERNET);
    expect_best("enP3p1s0f0", NULL, 1);
    free(gids);
    put(2, "RoCE v2", GLOBAL, "enP3p1s0f0");
    read_all(ATH_LAYER_ETHERNET);
    expect_best("enP3p1s0f0", NULL, 2);
    free(gids);
    put(9, "RoCE v2", V4("640b"), "enP3p1s0f0");
    put(5, "RoCE v2", V4("640a"), "enP3p1s0f0");
    read_all(ATH_LAYER_ETHERNET);
    expect_best("enP3p1s0f0", NULL, 5);
}
END_TEST

START_TEST(takes_only_the_own_link)
{
    put(3, "RoCE v2", V4("640a"), "macvlan0");
    put(5, "RoCE v2", LOCAL, "enP3p1s0f0");
    put(6, "RoCE v2", V4("640c"), "gone0");
    read_all(ATH_LAYER_ETHERNET);
    ck_assert(!gids[2].is_usable);
    expect_best("enP3p1s0f0", NULL, 5);
    expect_best("macvlan0", NULL, 3);
    expect_best("gone0", NULL, -1);
    expect_best("ib0", "macvlan0", 3); /* of a bond */
    expect_best(NULL, NULL, -1);
}
END_TEST

START_TEST(passes_over_zero)
{
    put(0, "RoCE v2", "0000:0000:0000:0000:0000:0000:0000:0000", "enP3p1s0f0");
    put(1, "RoCE v2", V4("0000"), "enP3p1s0f0");
    put(2, "RoCE v2", "0000:0000:0000:0000:0000:ffff:0000:0000", "enP3p1s0f0");
    read_all(ATH_LAYER_ETHERNET);
    ck_assert(!gids[0].is_usable);
    ck_assert(gids[1].is_usable);
    ck_assert(!gids[2].is_usable);
}
END_TEST

/* The kernel calls them "IB/RoCE v1" there too, and they have no link. */
START_TEST(knows_infiniband)
{
    put(0, "IB/RoCE v1", "0000:0000:0000:0000:0000:0000:0000:0000", NULL);
    put(1, "IB/RoCE v1", "fe80:0000:0000:0000:ec0d:9a03:0078:aeda", NULL);
    read_all(ATH_LAYER_INFINIBAND);
    ck_assert_uint_eq(gid_count, 2);
    ck_assert_int_eq(gids[1].type, ATH_GID_IB);
    const struct ath_gid *best = ath_gid_best(gids, gid_count, ATH_LAYER_INFINIBAND, "ib0", NULL);
    ck_assert_ptr_eq(best, &gids[1]);
}
END_TEST

START_TEST(takes_a_missing_port_for_empty)
{
    ath_gids_read(&root, "mlx5_9", 2, ATH_LAYER_ETHERNET, &gids, &gid_count);
    ck_assert_uint_eq(gid_count, 0);
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("gid");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_add_test(cases, reads_a_sparse_table);
    tcase_add_test(cases, prefers_version_then_ipv4_then_routable_then_low);
    tcase_add_test(cases, takes_only_the_own_link);
    tcase_add_test(cases, passes_over_zero);
    tcase_add_test(cases, knows_infiniband);
    tcase_add_test(cases, takes_a_missing_port_for_empty);
    return run_case(cases, "gid");
}
