/* First documents for made-up machines, and the check of documents against machines. */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "config/check.h"
#include "config/profile.h"
#include "config/propose.h"
#include "documents.h"
#include "unit.h"

static struct ath_numa_node *add_cpu_node(struct ath_machine *machine, int id, int first, int last)
{
    struct ath_numa_node *node = ath_machine_add_node(machine, id);
    node->is_online = true;
    node->memory_total_bytes = 256LL << 30;
    ath_idset_add(&node->cpus, first, last);
    return node;
}

static void add_gpu(struct ath_machine *machine, const char *pci, int node, int memory_node)
{
    struct ath_pci address;
    ck_assert_int_eq(ath_pci_parse(pci, &address), 0);
    if (memory_node != ATH_UNKNOWN) {
        struct ath_numa_node *memory = ath_machine_add_node(machine, memory_node);
        memory->is_online = true;
        memory->memory_total_bytes = 32LL << 30;
    }
    struct ath_gpu *gpu = ath_machine_add_gpu(machine, &address);
    gpu->vendor_id = 0x10de;
    gpu->numa_node = node;
    gpu->memory_node = memory_node;
}

static struct ath_nic *add_nic(struct ath_machine *machine, const char *pci, const char *netdev,
                               const char *rdma, int node, int device)
{
    struct ath_nic *nic = ath_machine_add_nic(machine);
    nic->has_pci = true;
    ck_assert_int_eq(ath_pci_parse(pci, &nic->pci), 0);
    nic->place = ath_xasprintf("pci%.4s:00/%s", pci, pci);
    nic->netdev = ath_xstrdup(netdev);
    nic->rdma_device = ath_xstrdup(rdma);
    nic->port = rdma ? 1 : ATH_UNKNOWN;
    nic->numa_node = node;
    nic->vendor_id = rdma ? 0x15b3 : 0x14e4;
    nic->device_id = device;
    nic->link = ATH_LINK_UP;
    nic->link_layer = ATH_LAYER_ETHERNET;
    nic->speed_mbps = rdma ? 100000 : 1000;
    nic->mtu = 1500;
    return nic;
}

static void add_connectx5(struct ath_machine *machine)
{
    static const struct {
        const char *pci, *netdev, *rdma;
        int node;
    } functions[] = {
        { "0003:01:00.0", "enP3p1s0f0", "mlx5_0", 0 },
        { "0003:01:00.1", "enP3p1s0f1", "mlx5_1", 0 },
        { "0033:01:00.0", "enP51p1s0f0", "mlx5_4", 8 },
        { "0033:01:00.1", "enP51p1s0f1", "mlx5_5", 8 },
    };
    for (size_t i = 0; i < ATH_COUNT(functions); i++) {
        struct ath_nic *nic = add_nic(machine, functions[i].pci, functions[i].netdev,
                                      functions[i].rdma, functions[i].node, 0x1019);
        nic->card = ath_xstrdup("0003:01:00.0");
        nic->model = ath_xstrdup("ConnectX-5 Ex");
    }
}

/* Two sockets, four V100, the shared ConnectX-5, a ConnectX-4 Lx on socket 1, a management port. */
static void make_ac922(struct ath_machine *machine)
{
    machine->hostname = ath_xstrdup("p9-01");
    machine->profile = "ac922";
    machine->source = ATH_SOURCE_ROOT;
    add_cpu_node(machine, 8, 64, 127);
    add_cpu_node(machine, 0, 0, 63);
    add_gpu(machine, "0035:04:00.0", 8, 252);
    add_gpu(machine, "0004:04:00.0", 0, 255);
    add_gpu(machine, "0004:05:00.0", 0, 254);
    add_gpu(machine, "0035:03:00.0", 8, 253);
    for (int function = 0; function < 2; function++) {
        ath_auto_free char *pci = ath_xasprintf("0030:01:00.%d", function);
        ath_auto_free char *netdev = ath_xasprintf("enP48p1s0f%d", function);
        ath_auto_free char *rdma = ath_xasprintf("mlx5_%d", 2 + function);
        struct ath_nic *nic = add_nic(machine, pci, netdev, rdma, 8, 0x1015);
        nic->card = ath_xstrdup("0030:01:00.0");
        nic->model = ath_xstrdup("ConnectX-4 Lx");
        nic->speed_mbps = 25000;
    }
    add_connectx5(machine);
    add_nic(machine, "0005:01:00.0", "enP5p1s0f0", NULL, 0, 0x1657);
    add_nic(machine, "0005:01:00.1", "enP5p1s0f1", NULL, 0, 0x1657)->link = ATH_LINK_DOWN;
    ath_machine_finish(machine);
}

/* Proposes a document, loads it, and checks that it fits its machine. */
static char *propose(const struct ath_machine *machine, struct ath_document *out)
{
    ATH_AUTO(ath_faults) faults = { 0 };
    struct ath_err err = { 0 };
    char *text = NULL;
    ck_assert_msg(!ath_document_propose(machine, NULL, &text, &err), "%s", err.message);
    parse_good(text, out);
    size_t count = ath_document_check(out, machine, &faults);
    ck_assert_msg(!count, "%s", count ? faults.items[0].message : "");
    return text;
}

static void expect_nodes(const struct ath_document_numa *numa, const char *expected)
{
    ath_auto_free char *nodes = ath_idset_format(&numa->memory_nodes);
    ck_assert_str_eq(nodes, expected);
}

static void expect_links(const struct ath_texts *links, const char *expected)
{
    ath_auto_free char *text = ath_texts_join(links);
    ck_assert_str_eq(text, expected);
}

static void expect_devices(const struct ath_document_numa *numa, const char *expected)
{
    ATH_AUTO(ath_text) devices = { 0 };
    for (size_t i = 0; i < numa->rdma_devices.count; i++)
        ath_text_add_part(&devices, ",", "%s", numa->rdma_devices.items[i]);
    ck_assert_str_eq(devices.data ? devices.data : "", expected);
}

SECONDS(60);

TEST(ac922_is_served_by_socket)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    make_ac922(&machine);
    ath_auto_free char *text = propose(&machine, &document);

    ck_assert_uint_eq(document.numa.count, 2);
    const struct ath_document_numa *zero = &document.numa.items[0], *one = zero + 1;
    ck_assert_int_eq(zero->node, 0);
    expect_nodes(zero, "0,254-255");
    ck_assert_str_eq(zero->gpus.items[0], "0004:04:00.0");
    ck_assert_str_eq(zero->gpus.items[1], "0004:05:00.0");
    expect_links(&zero->data_iface, "enP3p1s0f0, enP3p1s0f1");
    expect_devices(zero, "mlx5_0,mlx5_1");
    ck_assert_str_eq(zero->control_iface, "enP5p1s0f0");
    ck_assert_int_eq(zero->control_port, 50051);
    ck_assert_int_eq(zero->data_port, 5555);
    ck_assert_int_eq(one->id, 1);
    ck_assert_int_eq(one->node, 8);
    expect_nodes(one, "8,252-253");
    expect_links(&one->data_iface, "enP51p1s0f0, enP51p1s0f1");
    expect_devices(one, "mlx5_4,mlx5_5,mlx5_2,mlx5_3");
    ck_assert_str_eq(one->control_iface, "enP5p1s0f0");
    ck_assert_int_eq(one->control_port, 50052);
    ck_assert_int_eq(one->data_port, 5556);
    ck_assert_double_eq(one->memory_percent, 80);
    ck_assert_double_eq(one->vram_fraction, 0.8);

    ck_assert_uint_eq(document.roce.cards.count, 2);
    const struct ath_document_card *shared = ath_document_card(&document, "0003:01:00.0");
    ck_assert_uint_eq(ath_idset_count(&shared->numa), 2);
    ck_assert_str_eq(shared->description, "ConnectX-5 Ex (mlx5_0, mlx5_1, mlx5_4, mlx5_5)");
    const struct ath_document_card *lx = ath_document_card(&document, "0030:01:00.0");
    ck_assert(!ath_idset_has(&lx->numa, 0) && ath_idset_has(&lx->numa, 1));
    ck_assert_str_eq(document.node.name, "p9-01");
    ck_assert_ptr_nonnull(strstr(text, "\n    memory_nodes: [0, 254, 255]"));
}

/* Without links and speeds (for example in a capture of a card in InfiniBand mode) the newer card
 * is proposed. */
TEST(bonds_are_proposed_by_their_own_names)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_nic bonds[] = { { .netdev = (char *)"bond0" }, { .netdev = (char *)"br0" } };
    make_ac922(&machine);
    for (size_t i = 0; i < ATH_COUNT(bonds); i++)
        ath_nic_others_add(&machine.others, &bonds[i]);
    ath_machine_nic_by_netdev(&machine, "enP3p1s0f0")->master = ath_xstrdup("bond0");
    ath_machine_nic_by_netdev(&machine, "enP5p1s0f0")->master = ath_xstrdup("br0");
    free(propose(&machine, &document));
    expect_links(&document.numa.items[0].data_iface, "bond0, enP3p1s0f1");
    ck_assert_str_eq(document.numa.items[0].rdma_devices.items[0], "mlx5_0");
    ck_assert_str_eq(document.numa.items[0].control_iface, "br0");
    expect_links(&document.numa.items[1].data_iface, "enP51p1s0f0, enP51p1s0f1");
}

TEST(near_card_is_found_without_link_states)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    make_ac922(&machine);
    for (size_t i = 0; i < machine.nic_count; i++) {
        machine.nics[i].link = ATH_LINK_UNKNOWN;
        machine.nics[i].speed_mbps = ATH_UNKNOWN;
    }
    free(propose(&machine, &document));
    ck_assert_str_eq(document.numa.items[0].rdma_devices.items[0], "mlx5_0");
    ck_assert_str_eq(document.numa.items[1].rdma_devices.items[0], "mlx5_4");
    expect_links(&document.numa.items[1].data_iface, "enP51p1s0f0, enP51p1s0f1");
}

TEST(a_port_with_a_link_goes_first)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    make_ac922(&machine);
    ath_machine_nic_by_rdma(&machine, "mlx5_0")->link = ATH_LINK_DOWN;
    free(propose(&machine, &document));
    expect_links(&document.numa.items[0].data_iface, "enP3p1s0f1");
}

TEST(nodes_without_gpus_are_left_out_with_a_comment)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_cpu_node(&machine, 0, 0, 7);
    add_cpu_node(&machine, 1, 8, 15);
    add_gpu(&machine, "0000:81:00.0", 1, ATH_UNKNOWN);
    add_gpu(&machine, "0000:c1:00.0", ATH_UNKNOWN, ATH_UNKNOWN);
    add_nic(&machine, "0000:01:00.0", "ib0", "mlx5_0", 0, 0x1017)->link_layer =
        ATH_LAYER_INFINIBAND;
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);

    ck_assert_uint_eq(document.numa.count, 1);
    ck_assert_int_eq(document.numa.items[0].id, 0);
    ck_assert_int_eq(document.numa.items[0].node, 1);
    ck_assert_uint_eq(document.numa.items[0].gpus.count, 1);
    ck_assert_ptr_nonnull(strstr(text, "# Left out: NUMA node 0 has no GPU"));
    ck_assert_ptr_nonnull(strstr(text, "# Left out: the GPU 0000:c1:00.0; its NUMA node is not"));
    ck_assert_ptr_nonnull(strstr(text, "# NUMA0: 'ib0' is on another NUMA node (0)"));
    expect_links(&document.numa.items[0].data_iface, "ib0");
    ck_assert_str_eq(document.numa.items[0].control_iface, "ib0");
    ck_assert(ath_idset_has(&document.roce.cards.items[0].numa, 0));
}

TEST(a_machine_without_gpus_has_all_nodes)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_cpu_node(&machine, 0, 0, 7);
    add_cpu_node(&machine, 4, 8, 15);
    ath_machine_add_node(&machine, 9)->is_online = true; /* a node with memory only */
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    ck_assert_uint_eq(document.numa.count, 2);
    ck_assert_int_eq(document.numa.items[1].node, 4);
    ck_assert_ptr_null(document.numa.items[0].control_iface);
    ck_assert_uint_eq(document.numa.items[0].data_iface.count, 0);
    ck_assert_uint_eq(document.roce.cards.count, 0);
    ck_assert_ptr_nonnull(strstr(text, "\n    data_iface: []"));
}

TEST(one_node_owns_all_gpus)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_cpu_node(&machine, 0, 0, 7);
    add_gpu(&machine, "0000:01:00.0", ATH_UNKNOWN, ATH_UNKNOWN);
    add_nic(&machine, "0000:02:00.0", "eth0", NULL, ATH_UNKNOWN, 1);
    ath_machine_finish(&machine);
    free(propose(&machine, &document));
    ck_assert_str_eq(document.numa.items[0].gpus.items[0], "0000:01:00.0");
    expect_links(&document.numa.items[0].data_iface, "eth0");
    ck_assert_str_eq(document.numa.items[0].control_iface, "eth0");
    ck_assert_uint_eq(document.numa.items[0].rdma_devices.count, 0);
}

TEST(cpus_without_memory_use_the_nearest)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_cpu_node(&machine, 0, 0, 7);
    struct ath_numa_node *bare = add_cpu_node(&machine, 1, 8, 15);
    bare->memory_total_bytes = 0;
    struct ath_distance *distance =
        ath_push(&bare->distances, &bare->distance_count, sizeof *distance);
    *distance = (struct ath_distance){ 0, 21 };
    ath_machine_finish(&machine);
    free(propose(&machine, &document));
    expect_nodes(&document.numa.items[1], "0");
}

/* Old captures have no distances. */
TEST(cpus_without_memory_use_any_if_distances_are_unknown)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_cpu_node(&machine, 0, 0, 7)->memory_total_bytes = 0;
    add_cpu_node(&machine, 1, 8, 15);
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    expect_nodes(&document.numa.items[0], "1");
    ck_assert_ptr_nonnull(strstr(text, "# NUMA0: NUMA node 0 has no memory"));
}

/* A file that lstopo wrote on an AC922 does not say whose memory the nodes 252 to 255 are. */
TEST(all_gpu_memory_is_proposed_if_its_owners_are_unknown)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    make_ac922(&machine);
    for (size_t i = 0; i < machine.gpu_count; i++)
        machine.gpus[i].memory_node = ATH_UNKNOWN;
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    expect_nodes(&document.numa.items[0], "0,252-255");
    expect_nodes(&document.numa.items[1], "8,252-255");
    ck_assert_ptr_nonnull(
        strstr(text, "# NUMA1: the NUMA nodes of its GPUs' memory are not known"));
}

/* The PCI bus shows no GPU; the nodes of GPU memory show that there are some. */
TEST(gpu_memory_without_gpus_is_noted)
{
    ATH_AUTO(ath_machine) machine = { .profile = "ac922" };
    ATH_AUTO(ath_document) document = { 0 };
    add_cpu_node(&machine, 0, 0, 7);
    ath_machine_add_node(&machine, 255)->memory_total_bytes = 16LL << 30;
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    expect_nodes(&document.numa.items[0], "0");
    ck_assert_ptr_nonnull(strstr(text, "# Left out: NUMA node 255,"));
}

TEST(gpus_without_a_driver_are_noted)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    make_ac922(&machine);
    machine.gpus[0].knows_driver = true;
    machine.gpus[1].is_lost = true;
    ath_auto_free char *text = NULL;
    ck_assert_int_eq(ath_document_propose(&machine, NULL, &text, &(struct ath_err){ 0 }), 0);
    parse_good(text, &document);
    ck_assert_uint_eq(document.numa.items[0].gpus.count, 2);
    ck_assert_ptr_nonnull(strstr(text, "NVIDIA's driver does not run the GPU 0004:04:00.0."));
    ck_assert_ptr_nonnull(strstr(text, "NVIDIA's driver does not reach the GPU 0004:05:00.0."));
}

TEST(nodes_with_all_cpus_offline_are_left_out)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    make_ac922(&machine);
    ath_machine_node(&machine, 8)->has_cpus_online = true;
    ath_auto_free char *text = propose(&machine, &document);
    ck_assert_uint_eq(document.numa.count, 1);
    ck_assert_ptr_nonnull(
        strstr(text, "# Left out: NUMA node 8, because all its CPUs are offline"));
    ck_assert_ptr_nonnull(strstr(text, "the GPU 0035:03:00.0; its NUMA node has no CPUs online"));
}

/* A GPU whose node is not known belongs to the only node that can serve it. */
LOOP_TEST(a_gpu_without_a_node_belongs_to_the_only_usable_node, 0, 2)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_cpu_node(&machine, 0, 0, 7);
    struct ath_numa_node *other = add_cpu_node(&machine, 1, 8, 15);
    other->has_cpus_online = true;
    if (_i)
        ath_idset_add(&other->cpus_online, 8, 8);
    add_gpu(&machine, "0000:01:00.0", ATH_UNKNOWN, ATH_UNKNOWN);
    add_gpu(&machine, "0000:02:00.0", 0, ATH_UNKNOWN);
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);

    ck_assert_uint_eq(document.numa.count, 1);
    ck_assert_uint_eq(document.numa.items[0].gpus.count, _i ? 1 : 2);
    ck_assert_int_eq(strstr(text, "# Left out: the GPU 0000:01:00.0;") != NULL, _i);
}

TEST(gpus_of_other_vendors_are_left_out)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_cpu_node(&machine, 0, 0, 7);
    add_cpu_node(&machine, 1, 8, 15);
    add_gpu(&machine, "0000:81:00.0", 1, ATH_UNKNOWN);
    machine.gpus[0].vendor_id = ATH_VENDOR_AMD;
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    ck_assert_uint_eq(document.numa.count, 2);
    ck_assert_uint_eq(document.numa.items[1].gpus.count, 0);
    ck_assert_ptr_null(strstr(text, "No GPU was found"));
    ck_assert_ptr_nonnull(strstr(text, "# Left out: the GPU 0000:81:00.0; it is not from NVIDIA"));
}

TEST(shared_cpus_are_noted)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_cpu_node(&machine, 0, 0, 7);
    add_cpu_node(&machine, 1, 4, 11);
    add_cpu_node(&machine, 2, 6, 15);
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    ck_assert_ptr_nonnull(strstr(text, "# NUMA1: it shares CPUs 4-7 with NUMA0."));
    ck_assert_ptr_nonnull(strstr(text, "# NUMA2: it shares CPUs 6-7 with NUMA0."));
    ck_assert_ptr_null(strstr(text, "with NUMA1.")); /* one line for each entry */
}

static void add_distance(struct ath_numa_node *node, int to, int value)
{
    struct ath_distance *distance =
        ath_push(&node->distances, &node->distance_count, sizeof *distance);
    *distance = (struct ath_distance){ to, value };
}

/* Two nodes of one socket (SNC), and one of the other, whose port comes first. */
TEST(ports_of_the_same_socket_go_before_far_ones)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_numa_node *node = add_cpu_node(&machine, 0, 0, 7);
    add_distance(node, 0, 10);
    add_distance(node, 1, 12);
    add_distance(node, 2, 21);
    add_cpu_node(&machine, 1, 8, 15);
    add_cpu_node(&machine, 2, 16, 23);
    add_gpu(&machine, "0000:81:00.0", 0, ATH_UNKNOWN);
    add_nic(&machine, "0000:01:00.0", "far0", "mlx5_0", 2, 0x1017);
    add_nic(&machine, "0000:02:00.0", "near0", "mlx5_1", 1, 0x1017);
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    expect_links(&document.numa.items[0].data_iface, "near0");
    expect_devices(&document.numa.items[0], "mlx5_1");
    ck_assert_ptr_nonnull(strstr(text, "'near0' is on another NUMA node (1); there is no nearer "
                                       "RDMA port"));
}

/* Adds two GPUs of node 0 that share a switch each with a port of its own. */
static void add_switches(struct ath_machine *machine, bool has_rdma)
{
    add_cpu_node(machine, 0, 0, 7);
    for (int i = 0; i < 2; i++) {
        ath_auto_free char *pci = ath_xasprintf("0000:1%d:00.0", i);
        ath_auto_free char *port = ath_xasprintf("0000:2%d:00.0", i);
        ath_auto_free char *name = ath_xasprintf("ib%d", i);
        ath_auto_free char *rdma = ath_xasprintf("mlx5_%d", i);
        add_gpu(machine, pci, 0, ATH_UNKNOWN);
        machine->gpus[i].place = ath_xasprintf("pci0000:0%d/0000:0%d:01.0/%s", i, i, pci);
        struct ath_nic *nic = add_nic(machine, port, name, has_rdma ? rdma : NULL, 0, 0x1017);
        free(nic->place);
        nic->place = ath_xasprintf("pci0000:0%d/0000:0%d:01.0/%s", i, i, port);
    }
}

/* An entry has the nearest RDMA port of each of its GPUs, and notes which is whose. */
TEST(each_gpu_gets_its_nearest_rdma_ports)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_switches(&machine, true);
    add_nic(&machine, "0000:30:00.0", "other0", "mlx5_9", 0, 0x1017); /* on the node, but farther */
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    expect_links(&document.numa.items[0].data_iface, "ib0, ib1");
    expect_devices(&document.numa.items[0], "mlx5_0,mlx5_1");
    ck_assert_ptr_nonnull(strstr(text, "# NUMA0: nearest to the GPU 0000:10:00.0: mlx5_0.\n"
                                       "# NUMA0: nearest to the GPU 0000:11:00.0: mlx5_1.\n"));
    ck_assert_ptr_null(strstr(text, "is nearer to"));
    ck_assert_ptr_null(strstr(text, "No RDMA port"));
}

/* A port that is down serves no GPU: the GPU gets the next ones. */
TEST(ports_that_are_down_are_left_out)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_switches(&machine, true);
    struct ath_nic *down = ath_machine_nic_by_rdma(&machine, "mlx5_1");
    down->link = down->rdma_state = ATH_LINK_DOWN;
    ath_machine_finish(&machine);
    free(propose(&machine, &document));
    expect_devices(&document.numa.items[0], "mlx5_0");
}

/* If all are down, the entry gets the port that is nearest. */
TEST(a_port_that_is_down_is_better_than_none)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_switches(&machine, true);
    for (size_t i = 0; i < machine.nic_count; i++)
        machine.nics[i].link = ATH_LINK_DOWN;
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    expect_devices(&document.numa.items[0], "mlx5_0");
    ck_assert_ptr_nonnull(strstr(text, "# NUMA0: the link of 'ib0' was down.\n"));
}

/* A node without ports gets those of the other node, all of them, with a note. */
TEST(a_node_without_ports_gets_the_nearest_of_others)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_switches(&machine, true);
    add_cpu_node(&machine, 1, 8, 15);
    add_gpu(&machine, "0000:81:00.0", 1, ATH_UNKNOWN);
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    expect_devices(&document.numa.items[1], "mlx5_0,mlx5_1");
    ck_assert_ptr_nonnull(strstr(text, "# NUMA1: 'ib0' is on another NUMA node (0); there is no "
                                       "nearer RDMA port.\n"));
}

TEST(a_machine_without_rdma_is_noted)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_switches(&machine, false);
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    ck_assert_uint_eq(document.numa.items[0].rdma_devices.count, 0);
    ck_assert_ptr_nonnull(
        strstr(text, "# No RDMA port was found, so no entry has RDMA devices.\n"));
}

/* Without GPUs, the ports of the node count. */
TEST(a_node_without_gpus_gets_its_own_ports)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    for (int i = 0; i < 2; i++)
        add_cpu_node(&machine, i, 8 * i, 8 * i + 7);
    add_nic(&machine, "0000:01:00.0", "eth0", "mlx5_0", 0, 0x1017);
    add_nic(&machine, "0000:01:00.1", "eth1", "mlx5_1", 0, 0x1017);
    add_nic(&machine, "0000:81:00.0", "eth2", "mlx5_2", 1, 0x1017);
    ath_machine_finish(&machine);
    free(propose(&machine, &document));
    expect_devices(&document.numa.items[0], "mlx5_0,mlx5_1");
    expect_devices(&document.numa.items[1], "mlx5_2");
}

/* Ethernet ports: an entry has those that are as good as the best one, and notes a GPU that has a
 * nearer one. */
LOOP_TEST(nearer_ports_of_gpus_are_noted, 0, 6)
{
    static const struct {
        int64_t speed_mbps;
        const char *subnet; /* of the second port; the first has none */
        bool is_down, is_first_unknown;
        const char *links;
        bool is_noted;
    } cases[] = {
        { 1000, NULL, false, false, "ib0, ib1", false },
        { 100, NULL, false, false, "ib0", true },
        { 1000, "10.0.0.0/24", false, false, "ib0", true },
        { 1000, NULL, true, false, "ib0", false },
        { ATH_UNKNOWN, NULL, false, true, "ib0", true },
        { ATH_UNKNOWN, NULL, false, false, "ib0", true },
    };
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_switches(&machine, false);
    struct ath_nic *second = ath_machine_nic_by_netdev(&machine, "ib1");
    second->speed_mbps = cases[_i].speed_mbps;
    if (cases[_i].is_first_unknown)
        ath_machine_nic_by_netdev(&machine, "ib0")->speed_mbps = ATH_UNKNOWN;
    if (cases[_i].is_down)
        second->link = ATH_LINK_DOWN;
    if (cases[_i].subnet)
        *(char **)ath_push(&second->subnets, &second->subnet_count, sizeof(char *)) =
            ath_xstrdup(cases[_i].subnet);
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    expect_links(&document.numa.items[0].data_iface, cases[_i].links);
    ck_assert_int_eq(
        strstr(text, "# NUMA0: the GPU 0000:11:00.0 is nearer to 'ib1' than to 'ib0'.") != NULL,
        cases[_i].is_noted);
    ck_assert_ptr_null(strstr(text, "the GPU 0000:10:00.0 is nearer"));
}

TEST(an_entry_has_at_most_eight_data_interfaces)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_cpu_node(&machine, 0, 0, 7);
    add_gpu(&machine, "0000:81:00.0", 0, ATH_UNKNOWN);
    for (int i = 0; i < 10; i++) {
        ath_auto_free char *pci = ath_xasprintf("0000:%d0:00.0", i);
        ath_auto_free char *name = ath_xasprintf("ib%d", i);
        ath_auto_free char *rdma = ath_xasprintf("mlx5_%d", i);
        add_nic(&machine, pci, name, rdma, 0, 0x1017);
    }
    ath_machine_finish(&machine);
    free(propose(&machine, &document));
    expect_links(&document.numa.items[0].data_iface, "ib0, ib1, ib2, ib3, ib4, ib5, ib6, ib7");
}

/* A capture may hold any names; the document must load nevertheless. */
TEST(hostile_names_do_no_harm)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    machine.hostname = ath_xstrdup("a: b\n- c\033[2J");
    add_cpu_node(&machine, 0, 0, 7);
    struct ath_nic *nic = add_nic(&machine, "0000:02:00.0", "x\", y: {", "m\nlx", 0, 1);
    nic->model = ath_xstrdup("Card \"\\ \xff # 'x'");
    nic->card = ath_xstrdup("nonsense");
    add_nic(&machine, "0000:03:00.0", "no", "yes", 0, 1)->model = ath_xstrdup("a: #b \"c\" 卡");
    ath_machine_finish(&machine);

    struct ath_err err = { 0 };
    ath_auto_free char *text = NULL;
    ck_assert_msg(!ath_document_propose(&machine, "auto", &text, &err), "%s", err.message);
    parse_good(text, &document);
    ck_assert_ptr_null(document.node.name);
    ck_assert_str_eq(ath_document_card(&document, "3:0.0")->description, "a: #b \"c\" 卡 (yes)");
}

TEST(a_thousand_nodes_are_proposed)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    for (int i = 0; i < 1024; i++)
        add_cpu_node(&machine, i, i, i);
    ath_machine_finish(&machine);
    free(propose(&machine, &document));
    ck_assert_uint_eq(document.numa.count, 1024);
}

TEST(profiles_are_files)
{
    ATH_AUTO(ath_texts) names = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    struct ath_err err = { 0 };
    ath_auto_free char *text = NULL;
    ath_auto_free char *folder = source_path("etc");

    ath_profile_list(folder, &names);
    ck_assert_uint_ge(names.count, 1);
    ck_assert_str_eq(names.items[0], "ac922");
    ck_assert_int_eq(ath_profile_read(folder, "ac922", &text, &err), 0);
    parse_good(text, &document);
    ck_assert_int_lt(ath_profile_read(folder, "ac923", &text, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_PROFILE_UNKNOWN);
    ck_assert_str_eq(err.message, "there is no profile 'ac923'; there are: auto, ac922, "
                                  "ac922-6gpu, dgx2, minsky");
    ck_assert_int_lt(ath_profile_read(folder, "../etc/ac922", &text, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_PROFILE_UNKNOWN);
}

/* Returns the faults of a document on a machine as text; the caller frees it. */
static char *check_text(const char *text, const struct ath_machine *machine)
{
    ATH_AUTO(ath_document) document = { 0 };
    ATH_AUTO(ath_faults) faults = { 0 };
    parse_good(text, &document);
    ath_document_check(&document, machine, &faults);
    return faults_text(&faults);
}

#define FOREIGN                                                                                    \
    "schema: aitherion.topology/1\n"                                                               \
    "numa:\n"                                                                                      \
    "  - id: 0\n"                                                                                  \
    "    node: 1\n"                                                                                \
    "    memory_nodes: [1, 8, 251]\n"                                                              \
    "    control_iface: eth7\n"                                                                    \
    "    data_iface: macvlan0\n"                                                                   \
    "    gpus:\n"                                                                                  \
    "      - 0004:04:00.0\n"                                                                       \
    "      - 0004:09:00.0\n"                                                                       \
    "    rdma_devices: [mlx5_0, mlx5_9]\n"                                                         \
    "    control_port: 1\n"                                                                        \
    "    data_port: 2\n"                                                                           \
    "  - { id: 1, node: 252, control_port: 3, data_port: 4 }\n"                                    \
    "roce:\n"                                                                                      \
    "  cards: [ { pci: 0007:01:00.0 } ]\n"                                                         \
    "  macvlans:\n"                                                                                \
    "    - { name: macvlan0, parent: enP3p1s0f0, mtu: 9000 }\n"                                    \
    "    - { name: macvlan1, parent: eth8 }\n"

TEST(faults_on_a_machine_have_their_places)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    make_ac922(&machine);
    ath_auto_free char *found = check_text(FOREIGN, &machine);
    ck_assert_str_eq(found, "4:11 node-missing\n"
                            "6:20 interface-missing\n"
                            "9:9 gpu-other-node\n"
                            "9:9 gpu-memory-left-out\n"
                            "10:9 gpu-missing\n"
                            "11:28 rdma-device-missing\n"
                            "14:20 node-without-cpus\n"
                            "16:19 card-missing\n"
                            "18:50 mtu-above-parent\n"
                            "19:33 interface-missing\n");
}

TEST(infiniband_carries_no_macvlan)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    make_ac922(&machine);
    ath_machine_nic_by_netdev(&machine, "enP3p1s0f0")->link_layer = ATH_LAYER_INFINIBAND;
    ath_auto_free char *found =
        check_text("schema: aitherion.topology/1\nnuma: []\n"
                   "roce: { macvlans: [ { name: m, parent: enP3p1s0f0 } ] }\n",
                   &machine);
    ck_assert_str_eq(found, "3:40 parent-infiniband\n");
}

/* Virtual functions, subfunctions, bonds and soft RoCE are not ports, but they exist. */
TEST(devices_known_by_name_only_are_not_missing)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    struct ath_nic folded = { .netdev = (char *)"vf0", .rdma_device = (char *)"mlx5_9" };
    make_ac922(&machine);
    ath_nic_others_add(&machine.others, &folded);
    ath_auto_free char *found =
        check_text("schema: aitherion.topology/1\nnuma:\n"
                   "- {id: 0, node: 0, control_port: 1, data_port: 2, control_iface: vf0,\n"
                   "   data_iface: [vf0, vf1, lo], rdma_devices: [mlx5_9, mlx5_10]}\n",
                   &machine);
    ck_assert_str_eq(found, "4:22 interface-missing\n4:27 interface-loopback\n"
                            "4:55 rdma-device-missing\n");
}

/* An XML without PCI devices lists no GPUs and ports, and no nodes without CPUs. */
TEST(devices_that_a_source_cannot_list_are_not_missing)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    machine.source = ATH_SOURCE_XML;
    add_cpu_node(&machine, 0, 0, 7);
    ath_machine_finish(&machine);
    ath_auto_free char *found = check_text(
        "schema: aitherion.topology/1\nnuma:\n  - { id: 0, node: 0, memory_nodes: [0, 255], gpus: "
        "[\"4:4:0.0\"], data_iface: eth7, rdma_devices: [mlx5_0], control_port: 1, data_port: 2 }\n"
        "  - { id: 1, node: 8, control_port: 3, data_port: 4 }\n"
        "roce: { cards: [ { pci: 3:1:0.0 } ], macvlans: [ { name: m, parent: e } ] }\n",
        &machine);
    ck_assert_str_eq(found, "4:20 node-missing\n");
}

/* The live kernel has links that are not network cards; lo always exists. */
TEST(links_without_hardware_exist_too)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    machine.source = ATH_SOURCE_LIVE;
    add_cpu_node(&machine, 0, 0, 7);
    ath_machine_finish(&machine);
    ath_auto_free char *found =
        check_text("schema: aitherion.topology/1\nnuma:\n"
                   "- {id: 0, node: 0, control_port: 1, data_port: 2, control_iface: lo,\n"
                   "   data_iface: no-such-link}\n",
                   &machine);
    ck_assert_str_eq(found, "4:16 interface-missing\n");
}

TEST(the_shipped_profile_fits_its_machine)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    size_t length;
    ath_auto_free char *text = read_source("etc/ac922_topology.yaml", &length);
    make_ac922(&machine);
    for (size_t i = 0; i < machine.nic_count; i++)
        machine.nics[i].mtu = 9000;
    ath_auto_free char *found = check_text(text, &machine);
    ck_assert_str_eq(found, "");
}
