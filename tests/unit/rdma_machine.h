/* A machine in a temporary folder with the two devices of made_rdma.h, each with a RoCE port. */
#pragma once
#include "base/root.h"
#include "made_rdma.h"
#include "tree.h"

static struct ath_err err;
static struct tree tree;
static struct ath_root root;
static struct ath_perf_port *ports;
static size_t port_count;

static void put_port(const char *device, const char *netdev, const char *gid)
{
    tree_put(&tree, "4: ACTIVE\n", "sys/class/infiniband/%s/ports/1/state", device);
    tree_put(&tree, "Ethernet\n", "sys/class/infiniband/%s/ports/1/link_layer", device);
    tree_put(&tree, netdev, "sys/class/infiniband/%s/parent", device);
    tree_folder(&tree, "sys/class/net/%s", netdev);
    tree_put(&tree, "RoCE v2\n", "sys/class/infiniband/%s/ports/1/gid_attrs/types/1", device);
    tree_put(&tree, netdev, "sys/class/infiniband/%s/ports/1/gid_attrs/ndevs/1", device);
    tree_put(&tree, gid, "sys/class/infiniband/%s/ports/1/gids/1", device);
}

static void make_machine(void)
{
    made_rdma();
    tree_make(&tree);
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    tree_put(&tree, "0f0e0d0c-0000-4000-8000-000000000000\n", "proc/sys/kernel/random/boot_id");
    put_port("rxe1", "eth1", "fe80:0000:0000:0000:0000:00ff:fe03:0001\n");
    put_port("rxe2", "eth2", "fe80:0000:0000:0000:0000:00ff:fe03:0002\n");
    ck_assert_int_eq(ath_perf_ports_read(&root, &ports, &port_count, &err), 0);
    ck_assert_uint_eq(port_count, 2);
}

/* Each object of the library must be freed after every test. */
static void drop_machine(void)
{
    ck_assert_int_eq(rdma.alive, 0);
    ck_assert_int_eq(rdma.lists, 0);
    ath_perf_ports_free(ports, port_count);
    ath_root_free(&root);
    tree_remove(&tree);
}
