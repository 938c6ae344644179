/* A child link's GID is found in its parent's RDMA device, by link name and address. */
#include "config.h"

#include "roce/link_gid.h"

#include <stdlib.h>
#include <string.h>

#include "tree.h"
#include "unit.h"

#define V4(last) "0000:0000:0000:0000:0000:ffff:c0a8:" last "\n"
#define LOCAL "fe80:0000:0000:0000:0000:00ff:fe03:0100\n"

static struct tree tree;
static struct ath_root root;
static struct ath_link_gid found;

static void setup(void)
{
    struct ath_err err;
    tree_make(&tree);
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    memset(&found, 0, sizeof found);
}

static void teardown(void)
{
    ath_root_free(&root);
    tree_remove(&tree);
}

static void put_port(const char *device, const char *netdev)
{
    tree_put(&tree, "4: ACTIVE\n", "sys/class/infiniband/%s/ports/1/state", device);
    tree_put(&tree, netdev, "sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/0", device);
    tree_put(&tree, "RoCE v2\n", "sys/class/infiniband/%s/ports/1/gid_attrs/types/0", device);
    tree_put(&tree, LOCAL, "sys/class/infiniband/%s/ports/1/gids/0", device);
}

static void put_gid(const char *device, int index, const char *type, const char *address,
                    const char *netdev)
{
    tree_put(&tree, type, "sys/class/infiniband/%s/ports/1/gid_attrs/types/%d", device, index);
    tree_put(&tree, address, "sys/class/infiniband/%s/ports/1/gids/%d", device, index);
    tree_put(&tree, netdev, "sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/%d", device, index);
}

static enum ath_link_gid_state find(const char *address)
{
    struct ath_address parsed;
    struct ath_err err;
    ck_assert(!address || !ath_address_parse(address, &parsed, &err));
    return ath_link_gid_find(&root, "mv0", "eth0", address ? &parsed : NULL, &found);
}

FIXTURE(setup, teardown);

TEST(reports_no_device)
{
    ck_assert_int_eq(find("192.168.100.10/24"), ATH_LINK_GID_NO_DEVICE);
    put_port("mlx5_9", "eth9\n");
    ck_assert_int_eq(find("192.168.100.10/24"), ATH_LINK_GID_NO_DEVICE);
}

TEST(names_device_while_gid_is_missing)
{
    put_port("mlx5_0", "eth0\n");
    put_gid("mlx5_0", 3, "RoCE v2\n", V4("640a"), "other0\n");
    put_gid("mlx5_0", 4, "RoCE v2\n", V4("640b"), "mv0\n");
    ck_assert_int_eq(find("192.168.100.10/24"), ATH_LINK_GID_MISSING);
    ck_assert_str_eq(found.device, "mlx5_0");
    ck_assert_int_eq(found.port, 1);
}

TEST(prefers_version_two)
{
    put_port("mlx5_0", "eth0\n");
    put_gid("mlx5_0", 4, "RoCE v2\n", V4("640b"), "mv0\n");
    put_gid("mlx5_0", 5, "IB/RoCE v1\n", V4("640a"), "mv0\n");
    put_gid("mlx5_0", 9, "RoCE v2\n", V4("640a"), "mv0\n");
    put_gid("mlx5_0", 10, "RoCE v2\n", LOCAL, "mv0\n");
    ck_assert_int_eq(find("192.168.100.10/24"), ATH_LINK_GID_FOUND);
    ck_assert_int_eq(found.gid.index, 9);
    ck_assert_int_eq(found.gid.type, ATH_GID_ROCE_V2);
    ck_assert_int_eq(find("fe80::ff:fe03:100/64"), ATH_LINK_GID_FOUND);
    ck_assert_int_eq(found.gid.index, 10);
}

TEST(prefers_routable_without_an_address)
{
    put_port("mlx5_0", "eth0\n");
    put_gid("mlx5_0", 4, "RoCE v2\n", LOCAL, "mv0\n");
    ck_assert_int_eq(find(NULL), ATH_LINK_GID_FOUND);
    ck_assert_int_eq(found.gid.index, 4);
    put_gid("mlx5_0", 7, "RoCE v2\n", V4("640a"), "mv0\n");
    ck_assert_int_eq(find(NULL), ATH_LINK_GID_FOUND);
    ck_assert_int_eq(found.gid.index, 7);
}
