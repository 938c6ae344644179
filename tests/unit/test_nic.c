/* Ports are merged from links, RDMA devices and PCI functions. */
#include "config.h"

#include "roce/nic.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "roce/rdma_netlink.h"
#include "tree.h"
#include "unit.h"

static struct tree tree;
static struct ath_root root;
static struct ath_nic *nics;
static size_t nic_count;
static struct ath_nic_others others;

static void setup(void)
{
    struct ath_err err;
    tree_make(&tree);
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    nics = NULL;
    nic_count = 0;
    others = (struct ath_nic_others){ 0 };
}

static void teardown(void)
{
    for (size_t i = 0; i < nic_count; i++)
        ath_nic_free(&nics[i]);
    free(nics);
    ath_nic_others_free(&others);
    ath_root_free(&root);
    tree_remove(&tree);
}

static void read_nics(size_t expected)
{
    struct ath_err err;
    ck_assert_int_eq(ath_nic_read(&root, &nics, &nic_count, &others, &err), 0);
    ck_assert_uint_eq(nic_count, expected);
}

/* Checks the names that are not ports, in version order: "lo vf1; mlx5_3". */
static void expect_others(const char *expected)
{
    ATH_AUTO(ath_text) text = { 0 };
    for (size_t i = 0; i < others.link_count; i++)
        ath_text_add(&text, "%s%s", i ? " " : "", others.links[i]);
    ath_text_add(&text, ";");
    for (size_t i = 0; i < others.rdma_device_count; i++)
        ath_text_add(&text, " %s", others.rdma_devices[i]);
    ck_assert_str_eq(text.data, expected);
}

/* Adds a link below device (a path below sys/devices); tests add attributes with tree_put(). */
static void add_link(const char *device, const char *name)
{
    char target[512];
    snprintf(target, sizeof target, "../../devices/%s/net/%s", device, name);
    tree_put(&tree, "1\n", "sys/devices/%s/net/%s/type", device, name);
    tree_link(&tree, "../..", "sys/devices/%s/net/%s/device", device, name);
    tree_link(&tree, target, "sys/class/net/%s", name);
}

static void add_rdma(const char *device, const char *name, int port, const char *layer)
{
    char target[512];
    tree_put(&tree, layer, "sys/devices/%s/infiniband/%s/ports/%d/link_layer", device, name, port);
    tree_put(&tree, "4: ACTIVE\n", "sys/devices/%s/infiniband/%s/ports/%d/state", device, name,
             port);
    tree_put(&tree, "56 Gb/sec (4X FDR)\n", "sys/devices/%s/infiniband/%s/ports/%d/rate", device,
             name, port);
    snprintf(target, sizeof target, "../../devices/%s/infiniband/%s", device, name);
    if (port == 1)
        tree_link(&tree, target, "sys/class/infiniband/%s", name);
}

#define CX5 "pci0003:00/0003:00:00.0/0003:01:00.0"

FIXTURE(setup, teardown);

TEST(reads_a_port_in_full)
{
    tree_pci(&tree, "pci0003:00/0003:00:00.0", "0003:01:00.0", "0x020700", "0x15b3", "0x1019");
    tree_put(&tree, "8\n", "sys/devices/" CX5 "/numa_node");
    tree_link(&tree, "../../../bus/pci/drivers/mlx5_core", "sys/devices/" CX5 "/driver");
    add_link(CX5, "enP3p1s0f0");
    tree_put(&tree, "100000\n", "sys/devices/" CX5 "/net/enP3p1s0f0/speed");
    tree_put(&tree, "9000\n", "sys/devices/" CX5 "/net/enP3p1s0f0/mtu");
    tree_put(&tree, "up\n", "sys/devices/" CX5 "/net/enP3p1s0f0/operstate");
    tree_put(&tree, "02:00:00:03:01:00\n", "sys/devices/" CX5 "/net/enP3p1s0f0/address");
    add_rdma(CX5, "mlx5_0", 1, "Ethernet\n");
    read_nics(1);
    ck_assert_str_eq(nics[0].netdev, "enP3p1s0f0");
    ck_assert_str_eq(nics[0].rdma_device, "mlx5_0");
    ck_assert_int_eq(nics[0].port, 1);
    ck_assert_int_eq(nics[0].link_layer, ATH_LAYER_ETHERNET);
    ck_assert_int_eq(nics[0].link, ATH_LINK_UP);
    ck_assert_int_eq(nics[0].speed_mbps, 100000);
    ck_assert_int_eq(nics[0].mtu, 9000);
    ck_assert_int_eq(nics[0].numa_node, 8);
    ck_assert_int_eq(nics[0].vfs, 0);
    ck_assert_str_eq(nics[0].mac, "02:00:00:03:01:00");
    ck_assert_str_eq(nics[0].driver, "mlx5_core");
    ck_assert_str_eq(nics[0].model, "ConnectX-5 Ex");
    ck_assert_str_eq(nics[0].place, "pci0003:00/0003:00:00.0");
    ck_assert_str_eq(nics[0].card, "0003:01:00.0");
}

TEST(shows_functions_without_driver_and_ports_without_link)
{
    tree_pci(&tree, "pci0003:00", "0003:01:00.0", "0x020700", "0x15b3", "0x1019");
    tree_pci(&tree, "pci0003:00", "0003:01:00.1", "0x020700", "0x15b3", "0x1019");
    tree_pci(&tree, "pci0003:00", "0003:02:00.0", "0x010802", "0x144d", "0xa822");
    add_rdma("pci0003:00/0003:01:00.1", "mlx5_1", 1, "InfiniBand\n");
    read_nics(2);
    ck_assert_ptr_null(nics[0].netdev);
    ck_assert_ptr_null(nics[0].rdma_device);
    ck_assert_int_eq(nics[0].link_layer, ATH_LAYER_INFINIBAND);
    ck_assert_int_eq(nics[0].link, ATH_LINK_UNKNOWN);
    ck_assert_str_eq(nics[1].rdma_device, "mlx5_1");
    ck_assert_int_eq(nics[1].link, ATH_LINK_UP);
    ck_assert_int_eq(nics[1].speed_mbps, 56000);
}

TEST(matches_two_ports_of_one_function_by_number)
{
    tree_pci(&tree, "pci0000:80", "0000:81:00.0", "0x028000", "0x15b3", "0x1003");
    add_link("pci0000:80/0000:81:00.0", "ens2");
    add_link("pci0000:80/0000:81:00.0", "ens2d1");
    tree_put(&tree, "1\n", "sys/devices/pci0000:80/0000:81:00.0/net/ens2d1/dev_port");
    tree_put(&tree, "0\n", "sys/devices/pci0000:80/0000:81:00.0/net/ens2/dev_port");
    add_rdma("pci0000:80/0000:81:00.0", "mlx4_0", 1, "Ethernet\n");
    add_rdma("pci0000:80/0000:81:00.0", "mlx4_0", 2, "Ethernet\n");
    read_nics(2);
    ck_assert_str_eq(nics[0].netdev, "ens2");
    ck_assert_int_eq(nics[0].port, 1);
    ck_assert_str_eq(nics[1].netdev, "ens2d1");
    ck_assert_int_eq(nics[1].port, 2);
    ck_assert_str_eq(nics[1].card, "0000:81:00.0");
}

/* If port numbers and GIDs disagree, the GIDs are right, because RDMA uses them. */
TEST(matches_by_gids_first)
{
    static const char port[] = "sys/devices/pci0000:80/0000:81:00.0/infiniband/bnxt_re0/ports/1";
    tree_pci(&tree, "pci0000:80", "0000:81:00.0", "0x020000", "0x14e4", "0x16d7");
    add_link("pci0000:80/0000:81:00.0", "a0");
    add_link("pci0000:80/0000:81:00.0", "b0");
    add_rdma("pci0000:80/0000:81:00.0", "bnxt_re0", 1, "Ethernet\n");
    tree_put(&tree, "RoCE v2\n", "%s/gid_attrs/types/0", port);
    tree_put(&tree, "b0\n", "%s/gid_attrs/ndevs/0", port);
    tree_put(&tree, "fe80:0000:0000:0000:0000:00ff:fe03:0100\n", "%s/gids/0", port);
    read_nics(2);
    const struct ath_nic *tied = nics[0].rdma_device ? &nics[0] : &nics[1];
    ck_assert_str_eq(tied->netdev, "b0");
    ck_assert_int_eq(tied->best_gid_index, 0);
}

TEST(folds_virtual_functions)
{
    tree_pci(&tree, "pci0000:17", "0000:18:00.0", "0x020000", "0x15b3", "0x101d");
    for (int i = 1; i <= 3; i++) {
        char address[32], device[64], name[16];
        snprintf(address, sizeof address, "0000:18:00.%d", i);
        snprintf(device, sizeof device, "pci0000:17/%s", address);
        snprintf(name, sizeof name, "vf%d", i);
        tree_pci(&tree, "pci0000:17", address, "0x020000", "0x15b3", "0x101e");
        tree_link(&tree, "../0000:18:00.0", "sys/devices/%s/physfn", device);
        if (i < 3)
            add_link(device, name);
        if (i == 1)
            add_rdma(device, "mlx5_3", 1, "Ethernet\n");
    }
    add_link("pci0000:17/0000:18:00.0", "ens1f0");
    read_nics(1);
    ck_assert_str_eq(nics[0].netdev, "ens1f0");
    ck_assert_int_eq(nics[0].vfs, 3);
    expect_others("vf1 vf2; mlx5_3");
}

/* hwloc's capture script leaves out `physfn` and the `device` of links. */
TEST(folds_virtual_functions_of_a_capture_without_physfn)
{
    tree_pci(&tree, "pci0000:17", "0000:18:00.0", "0x020000", "0x15b3", "0x101d");
    tree_pci(&tree, "pci0000:17", "0000:18:00.1", "0x020000", "0x15b3", "0x101e");
    tree_pci(&tree, "pci0000:17", "0000:18:00.2", "0x020000", "0x15b3", "0x101e");
    tree_pci(&tree, "pci0000:17", "0000:19:00.1", "0x020000", "0x15b3", "0x101e");
    add_link("pci0000:17/0000:18:00.0", "ens1f0");
    read_nics(2);
    ck_assert_str_eq(nics[0].netdev, "ens1f0");
    ck_assert_int_eq(nics[0].vfs, 2);
    ck_assert_int_eq(nics[1].pci.bus, 0x19); /* no physical function on its bus */
}

TEST(does_not_guess_which_of_two_functions_has_the_virtual_ones)
{
    tree_pci(&tree, "pci0000:17", "0000:18:00.0", "0x020000", "0x15b3", "0x101d");
    tree_pci(&tree, "pci0000:17", "0000:18:00.1", "0x020000", "0x15b3", "0x101d");
    tree_pci(&tree, "pci0000:17", "0000:18:00.2", "0x020000", "0x15b3", "0x101e");
    read_nics(2);
    ck_assert_int_eq(nics[0].vfs, ATH_UNKNOWN);
    ck_assert_int_eq(nics[1].vfs, ATH_UNKNOWN);
}

TEST(reads_a_link_without_device)
{
    tree_pci(&tree, "pci0000:17", "0000:18:00.0", "0x020000", "0x15b3", "0x101d");
    tree_put(&tree, "1\n", "sys/devices/pci0000:17/0000:18:00.0/net/ens1f0/type");
    tree_link(&tree, "../../devices/pci0000:17/0000:18:00.0/net/ens1f0", "sys/class/net/ens1f0");
    tree_put(&tree, "1\n", "sys/devices/virtual/net/br0/type");
    tree_link(&tree, "../../devices/virtual/net/br0", "sys/class/net/br0");
    read_nics(1);
    ck_assert_str_eq(nics[0].netdev, "ens1f0");
    ck_assert(nics[0].has_pci);
}

#define PF "pci0000:17/0000:18:00.0"
#define SF PF "/mlx5_core.sf.4"

/* mlx4_x sorts before mlx5_0, and would otherwise get the function's link. */
TEST(folds_subfunctions)
{
    tree_pci(&tree, "pci0000:17", "0000:18:00.0", "0x020000", "0x15b3", "0x101d");
    add_link(PF, "ens1f0");
    add_rdma(PF, "mlx5_0", 1, "Ethernet\n");
    add_link(SF, "ens1f0s4");
    add_rdma(SF, "mlx4_x", 1, "Ethernet\n");
    read_nics(1);
    ck_assert_str_eq(nics[0].netdev, "ens1f0");
    ck_assert_str_eq(nics[0].rdma_device, "mlx5_0");
    ck_assert_int_eq(nics[0].vfs, 0);
    expect_others("ens1f0s4; mlx4_x");
}

/* A container with a subfunction sees the physical function's RDMA device, but not its link. */
TEST(keeps_a_subfunction_that_has_the_link)
{
    tree_pci(&tree, "pci0000:17", "0000:18:00.0", "0x020000", "0x15b3", "0x101d");
    add_rdma(PF, "mlx5_0", 1, "Ethernet\n");
    add_link(SF, "eth0");
    add_rdma(SF, "mlx4_x", 1, "Ethernet\n");
    read_nics(2);
    const struct ath_nic *own = nics[0].netdev ? &nics[0] : &nics[1];
    ck_assert_str_eq(own->netdev, "eth0");
    ck_assert_str_eq(own->rdma_device, "mlx4_x");
}

/* A capture may have a subfunction without its physical function, of which it is no part then. */
TEST(keeps_a_subfunction_without_its_physical_function)
{
    add_rdma(SF, "mlx5_4", 1, "Ethernet\n");
    read_nics(1);
    ck_assert_str_eq(nics[0].rdma_device, "mlx5_4");
    expect_others(";");
}

/* All containers see all RDMA devices, but only their own links. */
TEST(keeps_a_virtual_function_that_has_the_link)
{
    tree_pci(&tree, "pci0000:17", "0000:18:00.0", "0x020000", "0x15b3", "0x101d");
    add_rdma(PF, "mlx5_0", 1, "Ethernet\n");
    for (int i = 1; i <= 2; i++) {
        char address[32], device[64], name[24];
        snprintf(address, sizeof address, "0000:18:00.%d", i);
        snprintf(device, sizeof device, "pci0000:17/%s", address);
        snprintf(name, sizeof name, "mlx5_%d", i);
        tree_pci(&tree, "pci0000:17", address, "0x020000", "0x15b3", "0x101e");
        tree_link(&tree, "../0000:18:00.0", "sys/devices/%s/physfn", device);
        add_rdma(device, name, 1, "Ethernet\n");
    }
    add_link("pci0000:17/0000:18:00.1", "eth0");
    read_nics(2);
    ck_assert_str_eq(nics[0].rdma_device, "mlx5_0");
    ck_assert_ptr_null(nics[0].netdev);
    ck_assert_int_eq(nics[0].vfs, 2);
    ck_assert_str_eq(nics[1].netdev, "eth0");
    ck_assert_str_eq(nics[1].rdma_device, "mlx5_1");
    expect_others("; mlx5_2");
}

/* The GIDs' link decides if the function's link has no phys_port_name of an uplink. */
TEST(skips_ports_of_representors)
{
    static const char port[] = "sys/devices/" PF "/infiniband/mlx5_0/ports/2";
    tree_pci(&tree, "pci0000:17", "0000:18:00.0", "0x020000", "0x15b3", "0x101d");
    add_link(PF, "uplink");
    tree_put(&tree, "0\n", "sys/devices/" PF "/net/uplink/dev_port");
    add_link(PF, "rep0");
    tree_put(&tree, "pf0vf0\n", "sys/devices/" PF "/net/rep0/phys_port_name");
    add_rdma(PF, "mlx5_0", 1, "Ethernet\n");
    add_rdma(PF, "mlx5_0", 2, "Ethernet\n");
    tree_put(&tree, "RoCE v2\n", "%s/gid_attrs/types/0", port);
    tree_put(&tree, "rep0\n", "%s/gid_attrs/ndevs/0", port);
    tree_put(&tree, "fe80:0000:0000:0000:0000:00ff:fe03:0100\n", "%s/gids/0", port);
    read_nics(1);
    ck_assert_str_eq(nics[0].netdev, "uplink");
    ck_assert_int_eq(nics[0].port, 1);
    expect_others("rep0;");
}

/* A second InfiniBand port without IPoIB is a real port, whatever the first port is. */
TEST(keeps_real_second_ports)
{
    tree_pci(&tree, "pci0000:17", "0000:18:00.0", "0x020000", "0x15b3", "0x1003");
    add_link(PF, "p0");
    tree_put(&tree, "0\n", "sys/devices/" PF "/net/p0/dev_port");
    tree_put(&tree, "p1\n", "sys/devices/" PF "/net/p0/phys_port_name");
    add_rdma(PF, "mlx4_0", 1, "Ethernet\n");
    add_rdma(PF, "mlx4_0", 2, "InfiniBand\n");
    read_nics(2);
    ck_assert_int_eq(nics[1].port, 2);
}

/* usNIC and iWARP call their link layer Ethernet, too. */
TEST(tells_roce_from_usnic_and_iwarp)
{
    static const char *const types[] = { "1: CA\n", "6: usNIC UDP\n", "4: RNIC\n" };
    for (size_t i = 0; i < ATH_COUNT(types); i++) {
        char address[64], device[96], name[32];
        snprintf(address, sizeof address, "0000:18:00.%zu", i);
        snprintf(device, sizeof device, "pci0000:17/%s", address);
        snprintf(name, sizeof name, "rdma_%zu", i);
        tree_pci(&tree, "pci0000:17", address, "0x020000", "0x1137", "0x0043");
        add_rdma(device, name, 1, "Ethernet\n");
        tree_put(&tree, types[i], "sys/devices/%s/infiniband/%s/node_type", device, name);
        tree_put(&tree, "", "sys/devices/%s/infiniband/%s/ports/1/gid_attrs/types/0", device, name);
    }
    tree_pci(&tree, "pci0000:17", "0000:18:00.7", "0x020000", "0x15b3", "0x101d");
    add_rdma("pci0000:17/0000:18:00.7", "mlx5_0", 1,
             "Ethernet\n"); /* the capture has no GID table */
    read_nics(4);
    ck_assert(nics[0].has_roce);
    ck_assert(ath_nic_lacks_gid(&nics[0]));
    for (size_t i = 1; i < nic_count; i++)
        ck_assert(!nics[i].has_roce);
}

TEST(keeps_a_virtual_function_in_a_virtual_machine)
{
    tree_pci(&tree, "pci0000:00", "0000:00:05.0", "0x020000", "0x15b3", "0x101e");
    add_link("pci0000:00/0000:00:05.0", "ens5");
    read_nics(1);
    ck_assert_str_eq(nics[0].netdev, "ens5");
}

TEST(skips_links_that_are_no_ports)
{
    tree_pci(&tree, "pci0000:17", "0000:18:00.0", "0x020000", "0x15b3", "0x101d");
    add_link("pci0000:17/0000:18:00.0", "uplink");
    tree_put(&tree, "p0\n", "sys/devices/pci0000:17/0000:18:00.0/net/uplink/phys_port_name");
    add_link("pci0000:17/0000:18:00.0", "rep0");
    tree_put(&tree, "pf0vf3\n", "sys/devices/pci0000:17/0000:18:00.0/net/rep0/phys_port_name");
    add_link("pci0000:17/0000:18:00.0", "rep1");
    tree_put(&tree, "c1pf0sf88\n", "sys/devices/pci0000:17/0000:18:00.0/net/rep1/phys_port_name");
    add_link("pci0000:17/0000:18:00.0/mlx5_core.sf.4", "sf0");
    tree_put(&tree, "1\n", "sys/devices/virtual/net/lo/type");
    tree_link(&tree, "../../devices/virtual/net/lo", "sys/class/net/lo");
    tree_put(&tree, "x", "sys/class/net/bonding_masters");
    read_nics(1);
    ck_assert_str_eq(nics[0].netdev, "uplink");
}

TEST(skips_ipoib_partitions)
{
    static const char device[] = "pci0000:17/0000:18:00.0";
    tree_pci(&tree, "pci0000:17", "0000:18:00.0", "0x020700", "0x15b3", "0x1017");
    add_link(device, "ib0");
    add_link(device, "ib0.8001");
    tree_put(&tree, "32\n", "sys/devices/%s/net/ib0/type", device);
    tree_put(&tree, "32\n", "sys/devices/%s/net/ib0.8001/type", device);
    tree_put(&tree, "4\n", "sys/devices/%s/net/ib0/ifindex", device);
    tree_put(&tree, "4\n", "sys/devices/%s/net/ib0/iflink", device);
    tree_put(&tree, "9\n", "sys/devices/%s/net/ib0.8001/ifindex", device);
    tree_put(&tree, "4\n", "sys/devices/%s/net/ib0.8001/iflink", device);
    read_nics(1);
    ck_assert_str_eq(nics[0].netdev, "ib0");
    ck_assert_int_eq(nics[0].link_layer, ATH_LAYER_INFINIBAND);
}

TEST(reads_links_without_pci)
{
    add_link("platform/virtio-mmio.0/virtio0", "eth0");
    tree_pci(&tree, "pci0000:00", "0000:00:14.0", "0x0c0330", "0x104c", "0x8241");
    add_link("pci0000:00/0000:00:14.0/usb1/1-1/1-1:1.0", "usb0");
    tree_pci(&tree, "pci0000:00", "0000:00:03.0", "0x020000", "0x1af4", "0x1041");
    add_link("pci0000:00/0000:00:03.0/virtio2", "eth1");
    read_nics(3);
    ck_assert_str_eq(nics[0].netdev, "eth1");
    ck_assert(nics[0].has_pci);
    ck_assert(!nics[1].has_pci);
    ck_assert_str_eq(nics[1].netdev, "eth0");
    ck_assert(!nics[2].has_pci);
    ck_assert_str_eq(nics[2].netdev, "usb0");
    ck_assert_ptr_null(nics[2].card);
    ck_assert_int_eq(nics[2].vfs, ATH_UNKNOWN);
}

TEST(matches_soft_roce_by_its_parent)
{
    tree_pci(&tree, "pci0000:00", "0000:01:00.0", "0x020000", "0x8086", "0x1572");
    add_link("pci0000:00/0000:01:00.0", "eno1");
    add_rdma("virtual", "rxe0", 1, "Ethernet\n");
    tree_put(&tree, "eno1\n", "sys/devices/virtual/infiniband/rxe0/parent");
    add_rdma("virtual", "rxe1", 1, "Ethernet\n");
    tree_put(&tree, "veth7\n", "sys/devices/virtual/infiniband/rxe1/parent");
    read_nics(1);
    ck_assert_str_eq(nics[0].netdev, "eno1");
    ck_assert_str_eq(nics[0].rdma_device, "rxe0");
    expect_others("; rxe1");
}

/* The hexadecimal words of proc/net/route have the reader's own byte order. */
static void add_route(struct ath_text *table, const char *link, const char *destination,
                      const char *gateway, unsigned int flags, const char *mask)
{
    struct in_addr words[3];
    ck_assert_int_eq(inet_pton(AF_INET, destination, &words[0]), 1);
    ck_assert_int_eq(inet_pton(AF_INET, gateway, &words[1]), 1);
    ck_assert_int_eq(inet_pton(AF_INET, mask, &words[2]), 1);
    ath_text_add(table, "%s\t%08X\t%08X\t%04X\t0\t0\t100\t%08X\t0\t0\t0   \n", link,
                 words[0].s_addr, words[1].s_addr, flags, words[2].s_addr);
}

TEST(reads_connected_subnets)
{
    struct ath_text table = { 0 };
    tree_pci(&tree, "pci0000:00", "0000:01:00.0", "0x020000", "0x8086", "0x1572");
    add_link("pci0000:00/0000:01:00.0", "eno1");
    ath_text_add(&table, "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n");
    add_route(&table, "eno1", "0.0.0.0", "10.1.0.254", 3, "0.0.0.0");
    add_route(&table, "eno1", "10.1.0.0", "0.0.0.0", 1, "255.255.255.0");
    add_route(&table, "eno1", "10.1.0.0", "0.0.0.0", 1, "255.255.255.0");
    add_route(&table, "eno1", "10.7.0.0", "10.1.0.1", 3, "255.255.0.0");
    add_route(&table, "eno1", "10.9.0.0", "0.0.0.0", 0x201, "255.255.0.0");
    add_route(&table, "eno1", "10.1.0.77", "0.0.0.0", 5, "255.255.255.255");
    add_route(&table, "eth9", "10.2.0.0", "0.0.0.0", 1, "255.255.0.0");
    ath_text_add(&table, "eno1\tgarbage\n\n");
    tree_put(&tree, table.data, "proc/net/route");
    ath_text_free(&table);
    read_nics(1);
    ck_assert_uint_eq(nics[0].subnet_count, 1);
    ck_assert_str_eq(nics[0].subnets[0], "10.1.0.0/24");
}

/* The outermost bond or bridge holds the addresses. A VRF and Open vSwitch leave them on the
 * parts. */
TEST(gives_subnets_of_bonds_to_their_parts)
{
    ATH_AUTO(ath_text) table = { 0 };
    static const struct {
        const char *name, *master, *uevent, *flags;
    } masters[] = { { "a", "bond0", "DEVTYPE=bond\n", "0x1403\n" },
                    { "b", "bond0", NULL, NULL },
                    { "c", "vrf0", NULL, "0x4c1\n" },
                    { "d", "ovs-system", "DEVTYPE=openvswitch\n", "0x1002\n" },
                    { "e", NULL, NULL, NULL } };
    tree_pci(&tree, "pci0000:17", "0000:18:00.0", "0x020000", "0x15b3", "0x101d");
    for (size_t i = 0; i < ATH_COUNT(masters); i++) {
        char target[64];
        add_link(PF, masters[i].name);
        snprintf(target, sizeof target, "../../../../virtual/net/%s", masters[i].master);
        if (masters[i].master)
            tree_link(&tree, target, "sys/class/net/%s/master", masters[i].name);
        if (masters[i].uevent)
            tree_put(&tree, masters[i].uevent, "sys/class/net/%s/uevent", masters[i].master);
        if (masters[i].flags)
            tree_put(&tree, masters[i].flags, "sys/class/net/%s/flags", masters[i].master);
    }
    tree_folder(&tree, "sys/class/net/br0");
    tree_link(&tree, "../br0", "sys/class/net/bond0/master");
    ath_text_add(&table, "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n");
    add_route(&table, "br0", "10.0.0.0", "0.0.0.0", 1, "255.255.255.0");
    add_route(&table, "vrf0", "10.1.0.0", "0.0.0.0", 1, "255.255.255.0");
    tree_put(&tree, table.data, "proc/net/route");
    read_nics(5);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_str_eq(nics[i].master, "br0");
        ck_assert_uint_eq(nics[i].subnet_count, 1);
        ck_assert_str_eq(nics[i].subnets[0], "10.0.0.0/24");
    }
    for (size_t i = 2; i < 5; i++) {
        ck_assert_ptr_null(nics[i].master);
        ck_assert_uint_eq(nics[i].subnet_count, 0);
    }
    expect_others("bond0 br0 ovs-system vrf0;");
}

TEST(survives_garbage)
{
    tree_put(&tree, "0x020000", "sys/bus/pci/devices/0000:01:00.0/class");
    tree_put(&tree, "-5", "sys/bus/pci/devices/0000:01:00.0/sriov_numvfs");
    tree_put(&tree, "1", "sys/class/net/eth0/type");
    tree_put(&tree, "99999999999", "sys/class/net/eth0/speed");
    tree_put(&tree, "4294967296", "sys/class/net/eth0/mtu");
    tree_put(&tree, "x", "sys/class/net/eth0/operstate");
    tree_link(&tree, "../../../0000:01:00.0", "sys/class/net/eth0/device");
    tree_folder(&tree, "sys/class/net/0000:01:00.0");
    tree_put(&tree, "x", "sys/class/infiniband/mlx5_0/ports/one/rate");
    tree_put(&tree, "x", "sys/class/infiniband/mlx5_0/ports/999/rate");
    tree_put(&tree, "x", "sys/class/infiniband/mlx5_1");
    read_nics(1);
    ck_assert_int_eq(nics[0].speed_mbps, ATH_UNKNOWN);
    ck_assert_int_eq(nics[0].mtu, ATH_UNKNOWN);
    ck_assert_int_eq(nics[0].vendor_id, ATH_UNKNOWN);
    ck_assert_int_eq(nics[0].vfs, 0);
}

/* A port that is nearly ready is waited for; each reason has its own. */
TEST(a_port_is_ready_with_a_link_and_its_addresses)
{
    const struct ath_nldev_port active = { .state = ATH_RDMA_PORT_ACTIVE },
                                down = { .state = ATH_RDMA_PORT_DOWN },
                                unknown = { .state = ATH_RDMA_PORT_UNKNOWN };
    struct ath_address settled = { .family = AF_INET6 }, failed = settled, tentative = settled;
    failed.is_tentative = failed.is_duplicate = tentative.is_tentative = true;
    struct ath_address waits[] = { settled, failed, tentative };
    const struct ath_link up = { .state = ATH_LINK_UP, .addresses = waits, .address_count = 2 },
                          trying = { .state = ATH_LINK_UP, .addresses = waits, .address_count = 3 },
                          bare = { .state = ATH_LINK_UP }, off = { .state = ATH_LINK_DOWN },
                          unsure = { .state = ATH_LINK_UNKNOWN };
    const struct {
        const struct ath_nldev_port *port;
        const struct ath_link *link;
        bool is_ethernet;
        enum ath_rdma_readiness expected;
    } rows[] = {
        { NULL, &up, true, ATH_RDMA_NOT_THERE },
        { &down, &up, true, ATH_RDMA_NOT_ACTIVE },
        { &unknown, &up, true, ATH_RDMA_NOT_ACTIVE },
        { &active, NULL, true, ATH_RDMA_NO_LINK },
        { &active, NULL, false, ATH_RDMA_READY },
        { &active, &off, true, ATH_RDMA_LINK_DOWN },
        { &active, &unsure, true, ATH_RDMA_LINK_DOWN },
        { &active, &trying, true, ATH_RDMA_TENTATIVE },
        { &active, &up, true, ATH_RDMA_READY },
        { &active, &bare, true, ATH_RDMA_READY },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++)
        ck_assert_str_eq(ath_rdma_readiness_word(ath_rdma_readiness_of(rows[i].port, rows[i].link,
                                                                       rows[i].is_ethernet)),
                         ath_rdma_readiness_word(rows[i].expected));
}
