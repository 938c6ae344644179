/* Ports are ranked by distance: by node first, then by PCI distance, then by usability. */
#include "config.h"

#include "numa/pair.h"

#include <string.h>

#include "base/alloc.h"
#include "tree.h"
#include "unit.h"

static struct ath_machine machine;

static void setup(void)
{
    machine = (struct ath_machine){ 0 };
}

static void teardown(void)
{
    ath_machine_free(&machine);
}

static void add_gpu(const char *address, int node, const char *place)
{
    struct ath_pci pci;
    ck_assert_int_eq(ath_pci_parse(address, &pci), 0);
    struct ath_gpu *gpu = ath_machine_add_gpu(&machine, &pci);
    gpu->numa_node = node;
    gpu->place = ath_xstrdup(place);
}

static struct ath_nic *add_nic(const char *address, int node, const char *place,
                               enum ath_link_state link, const char *rdma)
{
    struct ath_nic *nic = ath_machine_add_nic(&machine);
    nic->has_pci = true;
    ck_assert_int_eq(ath_pci_parse(address, &nic->pci), 0);
    nic->numa_node = node;
    nic->place = ath_xstrdup(place);
    nic->link = link;
    nic->rdma_device = ath_xstrdup(rdma);
    return nic;
}

static void add_node(int id, const char *cpus)
{
    struct ath_numa_node *node = ath_machine_add_node(&machine, id);
    node->is_online = true;
    ck_assert_int_eq(ath_idset_parse_list(cpus, &node->cpus), 0);
}

static void add_distance(int from, int to, int value)
{
    for (size_t i = 0; i < machine.node_count; i++)
        if (machine.nodes[i].id == from)
            *(struct ath_distance *)ath_push(
                &machine.nodes[i].distances, &machine.nodes[i].distance_count,
                sizeof(struct ath_distance)) = (struct ath_distance){ to, value };
}

static void expect_pair(size_t gpu, size_t place, size_t nic, enum ath_pci_class class, int rank)
{
    size_t count;
    const struct ath_pair *pairs = ath_pairs_of_gpu(&machine, gpu, &count);
    ck_assert_uint_lt(place, count);
    ck_assert_uint_eq(pairs[place].gpu, gpu);
    ck_assert_uint_eq(pairs[place].nic, nic);
    ck_assert_int_eq(pairs[place].class, class);
    ck_assert_int_eq(pairs[place].rank, rank);
}

FIXTURE(setup, teardown);

/* A container sees the physical function's RDMA device, but not its link. */
TEST(ranks_ports_with_an_address_first)
{
    add_node(0, "0-63");
    add_gpu("0004:04:00.0", 0, "pci0004:00/0004:00:00.0");
    struct ath_nic *physical = add_nic("0003:01:00.0", 0, "pci0003:00", ATH_LINK_UP, "mlx5_0");
    physical->has_roce = true;
    struct ath_nic *virtual = add_nic("0003:01:00.2", 0, "pci0003:00", ATH_LINK_UP, "mlx5_1");
    virtual->has_roce = true;
    virtual->best_gid_index = 3;
    ath_machine_finish(&machine);
    expect_pair(0, 0, 1, ATH_PCI_NODE, 1);
    expect_pair(0, 1, 0, ATH_PCI_NODE, 1);
}

TEST(ranks_by_node_first)
{
    add_node(8, "64-127");
    add_node(0, "0-63");
    add_gpu("0004:04:00.0", 0, "pci0004:00/0004:00:00.0/0004:01:00.0/0004:02:0a.0");
    add_nic("0003:01:00.0", 0, "pci0003:00/0003:00:00.0", ATH_LINK_DOWN, "mlx5_0");
    add_nic("0003:01:00.1", 0, "pci0003:00/0003:00:00.0", ATH_LINK_UP, NULL);
    add_nic("0005:01:00.0", 0, "pci0005:00/0005:00:00.0", ATH_LINK_UP, "mlx5_1");
    add_nic("0033:01:00.0", 8, "pci0033:00/0033:00:00.0", ATH_LINK_UP, "mlx5_2");
    ath_machine_finish(&machine);
    expect_pair(0, 0, 2, ATH_PCI_NODE, 1);
    expect_pair(0, 1, 1, ATH_PCI_NODE, 1);
    expect_pair(0, 2, 0, ATH_PCI_NODE, 1);
    expect_pair(0, 3, 3, ATH_PCI_SYS, 2);
    ck_assert(machine.pairs[0].is_same_node);
    ck_assert(!machine.pairs[3].is_same_node);
}

/* Neither the order of the ports in the machine nor a faster link changes the ranking. */
LOOP_TEST(ranks_equally_near_ports_by_their_links, 0, 2)
{
    static const struct {
        enum ath_link_state link;
        const char *rdma;
        int64_t speed_mbps;
    } ports[] = {
        { ATH_LINK_UP, "a", 10000 },    { ATH_LINK_UP, "b", ATH_UNKNOWN },
        { ATH_LINK_UP, NULL, 200000 },  { ATH_LINK_UNKNOWN, "c", 300000 },
        { ATH_LINK_DOWN, "d", 400000 }, { ATH_LINK_DOWN, "e", 100000 },
    };
    enum { PORTS = sizeof ports / sizeof *ports };
    add_node(0, "0-63");
    add_gpu("0004:04:00.0", 0, "pci0004:00/0004:00:00.0");
    for (size_t i = 0; i < PORTS; i++) {
        size_t which = _i ? PORTS - 1 - i : i;
        char address[] = "0003:0a:00.0";
        address[6] = (char)('a' + i);
        add_nic(address, 0, "pci0003:00", ports[which].link, ports[which].rdma)->speed_mbps =
            ports[which].speed_mbps;
    }
    ath_machine_finish(&machine);
    for (size_t i = 0; i < PORTS; i++)
        expect_pair(0, i, _i ? PORTS - 1 - i : i, ATH_PCI_NODE, 1);
}

TEST(ranks_by_pci_second)
{
    static const char below[] = "pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:";
    char near_place[96], gpu_place[96], far_place[96];
    snprintf(gpu_place, sizeof gpu_place, "%s00.0", below);
    snprintf(near_place, sizeof near_place, "%s04.0", below);
    snprintf(far_place, sizeof far_place, "%s08.0/0000:05:00.0/0000:06:00.0", below);
    add_node(0, "0-7");
    add_gpu("0000:03:00.0", 0, gpu_place);
    add_nic("0000:0a:00.0", 0, "pci0000:80/0000:80:01.0", ATH_LINK_UP, "a");
    add_nic("0000:0b:00.0", 0, "pci0000:00/0000:00:02.0", ATH_LINK_UP, "b");
    add_nic("0000:0c:00.0", 0, far_place, ATH_LINK_UP, "c");
    add_nic("0000:0d:00.0", 0, near_place, ATH_LINK_DOWN, NULL);
    add_nic("0000:0e:00.0", 0, NULL, ATH_LINK_UP, "e");
    ath_machine_finish(&machine);
    expect_pair(0, 0, 3, ATH_PCI_PIX, 1);
    expect_pair(0, 1, 2, ATH_PCI_PXB, 2);
    expect_pair(0, 2, 1, ATH_PCI_PHB, 3);
    expect_pair(0, 3, 0, ATH_PCI_NODE, 4);
    expect_pair(0, 4, 4, ATH_PCI_UNKNOWN, 5);
    ck_assert_ptr_nonnull(strstr(ath_pair_reason(&machine.pairs[4]), "same NUMA node"));
}

/* Four sockets in a ring: neighbours are nearer than the opposite one. */
TEST(ranks_other_nodes_by_distance)
{
    for (int id = 0; id < 4; id++)
        add_node(id, (const char *[]){ "0", "1", "2", "3" }[id]);
    add_distance(0, 0, 10);
    add_distance(0, 1, 31);
    add_distance(0, 2, 21);
    add_gpu("0000:03:00.0", 0, "pci0000:00");
    add_nic("0000:41:00.0", 1, "pci0000:40", ATH_LINK_UP, "a");
    add_nic("0000:81:00.0", 2, "pci0000:80", ATH_LINK_UP, "b");
    add_nic("0000:c1:00.0", 3, "pci0000:c0", ATH_LINK_UP, "c");
    add_nic("0000:d1:00.0", ATH_UNKNOWN, "pci0000:d0", ATH_LINK_UP, "d");
    ath_machine_finish(&machine);
    expect_pair(0, 0, 1, ATH_PCI_SYS, 1);
    expect_pair(0, 1, 0, ATH_PCI_SYS, 2);
    expect_pair(0, 2, 2, ATH_PCI_SYS, 3);
    expect_pair(0, 3, 3, ATH_PCI_UNKNOWN, 4);
}

/* A shared switch shows that a port is near, even if the nodes are unknown. */
TEST(uses_places_if_nodes_are_unknown)
{
    add_node(0, "0");
    add_node(1, "1");
    add_gpu("0000:03:00.0", ATH_UNKNOWN, "pci0000:00/0000:00:01.0");
    add_nic("0000:03:00.1", ATH_UNKNOWN, "pci0000:00/0000:00:01.0", ATH_LINK_UP, "a");
    add_nic("0000:81:00.0", 1, "pci0000:80", ATH_LINK_UP, "b");
    ath_machine_finish(&machine);
    expect_pair(0, 0, 0, ATH_PCI_PIX, 1);
    expect_pair(0, 1, 1, ATH_PCI_UNKNOWN, 2);
    ck_assert(!machine.pairs[0].is_same_node);
}

TEST(has_no_pairs_without_gpu_and_port)
{
    size_t count = 9;
    add_gpu("0000:03:00.0", 0, NULL);
    ath_machine_finish(&machine);
    ck_assert_ptr_null(ath_pairs_of_gpu(&machine, 0, &count));
    ck_assert_uint_eq(count, 0);
    ck_assert_ptr_null(ath_pairs_of_gpu(&machine, 5, &count));
}

TEST(has_a_reason_for_every_class)
{
    for (int class = ATH_PCI_UNKNOWN; class <= ATH_PCI_SYS; class ++) {
        struct ath_pair pair = { .class = (enum ath_pci_class) class };
        ck_assert_uint_gt(strlen(ath_pair_reason(&pair)), 10);
    }
}

TEST(compares_ports_and_gpus)
{
    add_gpu("0004:04:00.0", 0, "pci0004:00/0004:00:00.0/0004:01:00.0/0004:02:0a.0");
    add_gpu("0004:05:00.0", 0, "pci0004:00/0004:00:00.0/0004:01:00.0/0004:02:0b.0");
    add_nic("0000:81:00.0", 0, NULL, ATH_LINK_UP, "a")->port = 1;
    add_nic("0000:81:00.0", 0, NULL, ATH_LINK_UP, "a")->port = 2;
    ck_assert_int_eq(ath_class_of_gpus(&machine.gpus[0], &machine.gpus[1]), ATH_PCI_PIX);
    ck_assert_int_eq(ath_class_of_gpus(&machine.gpus[0], &machine.gpus[0]), ATH_PCI_SAME);
    ck_assert_int_eq(ath_class_of_nics(&machine.nics[0], &machine.nics[1]), ATH_PCI_PIX);
    ck_assert_int_eq(ath_class_of_nics(&machine.nics[0], &machine.nics[0]), ATH_PCI_SAME);
}

/* NCCL leaves out root ports, so all functions of a node seem to be below one host bridge. */
TEST(functions_of_one_slot_are_behind_one_link)
{
    add_gpu("0000:81:00.0", 0, "numa0");
    add_gpu("0000:81:00.1", 0, "numa0");
    add_gpu("0000:82:00.0", 0, "numa0");
    add_nic("0000:81:00.2", 0, "numa0", ATH_LINK_UP, "a");
    add_nic("0000:81:00.3", 0, NULL, ATH_LINK_UP, "b");
    add_nic("0000:83:00.0", 0, "numa0", ATH_LINK_UP, "c");
    ck_assert_int_eq(ath_class_of_gpus(&machine.gpus[0], &machine.gpus[1]), ATH_PCI_PIX);
    ck_assert_int_eq(ath_class_of_gpus(&machine.gpus[0], &machine.gpus[2]), ATH_PCI_PHB);
    ck_assert_int_eq(ath_class_of_nics(&machine.nics[0], &machine.nics[1]), ATH_PCI_PIX);
    ck_assert_int_eq(ath_class_of_nics(&machine.nics[0], &machine.nics[2]), ATH_PCI_PHB);
    ck_assert_int_eq(ath_class_of_pair(&machine.gpus[0], &machine.nics[1]), ATH_PCI_PIX);
    ck_assert_int_eq(ath_class_of_pair(&machine.gpus[2], &machine.nics[0]), ATH_PCI_PHB);
}
