/* GIDs are chosen by link, type and address, never by index alone. */
#include "config.h"

#include "roce/gid.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tree.h"
#include "unit.h"

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

static void expect_best(const char *netdev, int index)
{
    const struct ath_gid *best = ath_gid_best(&root, gids, gid_count, ATH_LAYER_ETHERNET, netdev);
    ck_assert_int_eq(best ? best->index : -1, index);
}

FIXTURE(setup, teardown);

TEST(reads_a_sparse_table)
{
    put(4, "IB/RoCE v1\n", LOCAL "\n", "enP3p1s0f0\n");
    put(12, "RoCE v2\n", V4("640a") "\n", "enP3p1s0f0\n");
    put(7, "RoCE v2\n", LOCAL "\n", "enP3p1s0f0\n");
    put(200, "", "0000:0000:0000:0000:0000:0000:0000:0000\n",
        NULL); /* on a live machine, reading fails with EINVAL */
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

TEST(prefers_version_then_ipv4_then_routable_then_low)
{
    put(0, "IB/RoCE v1", V4("640a"), "enP3p1s0f0");
    put(1, "RoCE v2", LOCAL, "enP3p1s0f0");
    read_all(ATH_LAYER_ETHERNET);
    expect_best("enP3p1s0f0", 1);
    free(gids);
    put(2, "RoCE v2", GLOBAL, "enP3p1s0f0");
    read_all(ATH_LAYER_ETHERNET);
    expect_best("enP3p1s0f0", 2);
    free(gids);
    put(9, "RoCE v2", V4("640b"), "enP3p1s0f0");
    put(5, "RoCE v2", V4("640a"), "enP3p1s0f0");
    read_all(ATH_LAYER_ETHERNET);
    expect_best("enP3p1s0f0", 5);
}

TEST(uses_only_gids_of_the_own_link)
{
    put(3, "RoCE v2", V4("640a"), "macvlan0");
    put(5, "RoCE v2", LOCAL, "enP3p1s0f0");
    put(6, "RoCE v2", V4("640c"), "gone0");
    read_all(ATH_LAYER_ETHERNET);
    ck_assert(!gids[2].is_usable);
    expect_best("enP3p1s0f0", 5);
    expect_best("macvlan0", 3);
    expect_best("gone0", -1);
    expect_best(NULL, -1);
}

/* Adds a link above enP3p1s0f0; `kind` is the text of its uevent. */
static void add_upper(const char *name, const char *kind)
{
    tree_put(&tree, kind, "sys/class/net/%s/uevent", name);
    tree_link(&tree, "../enP3p1s0f0", "sys/class/net/%s/lower_enP3p1s0f0", name);
}

TEST(uses_gids_of_bonds_bridges_and_vlans)
{
    add_upper("bond0", "INTERFACE=bond0\nDEVTYPE=bond\n");
    tree_link(&tree, "../bond0", "sys/class/net/enP3p1s0f0/master");
    tree_folder(&tree, "sys/class/net/br0");
    tree_link(&tree, "../br0", "sys/class/net/bond0/master");
    tree_put(&tree, "DEVTYPE=vlan\n", "sys/class/net/bond0.5/uevent");
    tree_link(&tree, "../bond0", "sys/class/net/bond0.5/lower_bond0");
    tree_put(&tree, "DEVTYPE=macvlan\n", "sys/class/net/macvlan0/uevent");
    tree_link(&tree, "../enP3p1s0f0", "sys/class/net/macvlan0/lower_enP3p1s0f0");
    put(1, "RoCE v2", LOCAL, "enP3p1s0f0");
    put(2, "RoCE v2", V4("0001"), "macvlan0");
    read_all(ATH_LAYER_ETHERNET);
    expect_best("enP3p1s0f0", 1);
    free(gids);
    put(3, "RoCE v2", V4("0002"), "bond0.5");
    read_all(ATH_LAYER_ETHERNET);
    expect_best("enP3p1s0f0", 3); /* a link-local address does not count as configured */
    free(gids);
    put(4, "RoCE v2", GLOBAL, "br0");
    read_all(ATH_LAYER_ETHERNET);
    expect_best("enP3p1s0f0", 4);
    free(gids);
    put(5, "RoCE v2", V4("0003"), "bond0");
    read_all(ATH_LAYER_ETHERNET);
    expect_best("enP3p1s0f0", 5);
}

/* Captures by hwloc-gather-topology lack uevent. */
TEST(finds_vlans_in_proc_net_vlan_config)
{
    tree_folder(&tree, "sys/class/net/storage");
    tree_put(&tree,
             "VLAN Dev name    | VLAN ID\nName-Type: VLAN_NAME_TYPE_RAW_PLUS_VID_NO_PAD\n"
             "storage2       | 7  | eth7\nstorage        | 5  | enP3p1s0f0\n",
             "proc/net/vlan/config");
    put(1, "RoCE v1", LOCAL, "enP3p1s0f0");
    put(2, "RoCE v2", V4("0002"), "storage");
    read_all(ATH_LAYER_ETHERNET);
    expect_best("enP3p1s0f0", 2);
    expect_best("eth7", -1);
}

TEST(survives_a_cycle_of_links)
{
    tree_link(&tree, "../b", "sys/class/net/a/master");
    tree_link(&tree, "../a", "sys/class/net/b/master");
    tree_put(&tree, "DEVTYPE=vlan\n", "sys/class/net/c/uevent");
    tree_link(&tree, "../c", "sys/class/net/c/lower_c");
    put(1, "RoCE v2", LOCAL, "c");
    read_all(ATH_LAYER_ETHERNET);
    expect_best("a", -1);
}

TEST(skips_zero_gids)
{
    put(0, "RoCE v2", "0000:0000:0000:0000:0000:0000:0000:0000", "enP3p1s0f0");
    put(1, "RoCE v2", V4("0000"), "enP3p1s0f0");
    put(2, "RoCE v2", "0000:0000:0000:0000:0000:ffff:0000:0000", "enP3p1s0f0");
    read_all(ATH_LAYER_ETHERNET);
    ck_assert(!gids[0].is_usable);
    ck_assert(gids[1].is_usable);
    ck_assert(!gids[2].is_usable);
}

/* The kernel calls InfiniBand GIDs "IB/RoCE v1", too, and they have no link. */
TEST(reads_infiniband_gids)
{
    put(0, "IB/RoCE v1", "0000:0000:0000:0000:0000:0000:0000:0000", NULL);
    put(1, "IB/RoCE v1", "fe80:0000:0000:0000:ec0d:9a03:0078:aeda", NULL);
    read_all(ATH_LAYER_INFINIBAND);
    ck_assert_uint_eq(gid_count, 2);
    ck_assert_int_eq(gids[1].type, ATH_GID_IB);
    const struct ath_gid *best = ath_gid_best(&root, gids, gid_count, ATH_LAYER_INFINIBAND, "ib0");
    ck_assert_ptr_eq(best, &gids[1]);
}

TEST(tells_a_missing_table_from_an_empty_one)
{
    ck_assert(!ath_gids_read(&root, "mlx5_9", 2, ATH_LAYER_ETHERNET, &gids, &gid_count));
    ck_assert_uint_eq(gid_count, 0);
    put(1, "", LOCAL, NULL);
    ck_assert(ath_gids_read(&root, "mlx5_0", 1, ATH_LAYER_ETHERNET, &gids, &gid_count));
    ck_assert_uint_eq(gid_count, 0);
}
