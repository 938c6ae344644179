/* A first document for machines made by hand, and whether documents fit them. */
#include "config.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "config/check.h"
#include "config/profile.h"
#include "config/propose.h"
#include "documents.h"

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

/* Proposes, loads, and checks that the result fits the machine that it is from. */
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

START_TEST(ac922_is_served_by_socket)
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
    ck_assert_str_eq(zero->data_iface, "enP3p1s0f0");
    ck_assert_str_eq(zero->rdma_devices.items[0], "mlx5_0");
    ck_assert_str_eq(zero->control_iface, "enP5p1s0f0");
    ck_assert_int_eq(zero->control_port, 50051);
    ck_assert_int_eq(zero->data_port, 5555);
    ck_assert_int_eq(one->id, 1);
    ck_assert_int_eq(one->node, 8);
    expect_nodes(one, "8,252-253");
    ck_assert_str_eq(one->data_iface, "enP51p1s0f0");
    ck_assert_str_eq(one->rdma_devices.items[0], "mlx5_4");
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
END_TEST

/* Without links and speeds (a capture of a card in InfiniBand mode, say) it is the newer card. */
START_TEST(bonds_are_proposed_by_their_own_names)
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
    ck_assert_str_eq(document.numa.items[0].data_iface, "bond0");
    ck_assert_str_eq(document.numa.items[0].rdma_devices.items[0], "mlx5_0");
    ck_assert_str_eq(document.numa.items[0].control_iface, "br0");
    ck_assert_str_eq(document.numa.items[1].data_iface, "enP51p1s0f0");
}
END_TEST

START_TEST(near_card_is_found_without_link_states)
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
}
END_TEST

START_TEST(a_port_with_a_link_goes_first)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    make_ac922(&machine);
    ath_machine_nic_by_rdma(&machine, "mlx5_0")->link = ATH_LINK_DOWN;
    free(propose(&machine, &document));
    ck_assert_str_eq(document.numa.items[0].data_iface, "enP3p1s0f1");
}
END_TEST

START_TEST(nodes_without_gpus_are_left_out_with_a_word)
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
    ck_assert_str_eq(document.numa.items[0].data_iface, "ib0");
    ck_assert_str_eq(document.numa.items[0].control_iface, "ib0");
    ck_assert(ath_idset_has(&document.roce.cards.items[0].numa, 0));
}
END_TEST

START_TEST(a_machine_without_gpus_has_all_nodes)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_cpu_node(&machine, 0, 0, 7);
    add_cpu_node(&machine, 4, 8, 15);
    ath_machine_add_node(&machine, 9)->is_online = true; /* memory alone */
    ath_machine_finish(&machine);
    ath_auto_free char *text = propose(&machine, &document);
    ck_assert_uint_eq(document.numa.count, 2);
    ck_assert_int_eq(document.numa.items[1].node, 4);
    ck_assert_ptr_null(document.numa.items[0].control_iface);
    ck_assert_ptr_null(document.numa.items[0].data_iface);
    ck_assert_uint_eq(document.roce.cards.count, 0);
    ck_assert_ptr_nonnull(strstr(text, "\n    # data_iface:"));
}
END_TEST

START_TEST(one_node_owns_all_gpus)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    add_cpu_node(&machine, 0, 0, 7);
    add_gpu(&machine, "0000:01:00.0", ATH_UNKNOWN, ATH_UNKNOWN);
    add_nic(&machine, "0000:02:00.0", "eth0", NULL, ATH_UNKNOWN, 1);
    ath_machine_finish(&machine);
    free(propose(&machine, &document));
    ck_assert_str_eq(document.numa.items[0].gpus.items[0], "0000:01:00.0");
    ck_assert_str_eq(document.numa.items[0].data_iface, "eth0");
    ck_assert_str_eq(document.numa.items[0].control_iface, "eth0");
    ck_assert_uint_eq(document.numa.items[0].rdma_devices.count, 0);
}
END_TEST

START_TEST(cpus_without_memory_use_the_nearest)
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
END_TEST

/* A capture may hold any names; the document must load all the same. */
START_TEST(hostile_names_do_no_harm)
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
END_TEST

START_TEST(a_thousand_nodes_are_proposed)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    ATH_AUTO(ath_document) document = { 0 };
    for (int i = 0; i < 1024; i++)
        add_cpu_node(&machine, i, i, i);
    ath_machine_finish(&machine);
    free(propose(&machine, &document));
    ck_assert_uint_eq(document.numa.count, 1024);
}
END_TEST

START_TEST(profiles_are_files)
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
    ck_assert_str_eq(err.message, "there is no profile 'ac923'; there are: auto, ac922");
    ck_assert_int_lt(ath_profile_read(folder, "../etc/ac922", &text, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_PROFILE_UNKNOWN);
}
END_TEST

/* The faults that a document has on a machine, as text. */
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

START_TEST(what_does_not_fit_is_named_with_its_place)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    make_ac922(&machine);
    ath_auto_free char *found = check_text(FOREIGN, &machine);
    ck_assert_str_eq(found, "4:11 node-missing\n"
                            "5:26 node-missing\n"
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
END_TEST

START_TEST(infiniband_carries_no_macvlan)
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
END_TEST

/* Virtual functions, subfunctions, bonds, soft RoCE: no ports, but there. */
START_TEST(what_is_known_by_name_alone_is_not_missing)
{
    ATH_AUTO(ath_machine) machine = { 0 };
    struct ath_nic folded = { .netdev = (char *)"vf0", .rdma_device = (char *)"mlx5_9" };
    make_ac922(&machine);
    ath_nic_others_add(&machine.others, &folded);
    ath_auto_free char *found =
        check_text("schema: aitherion.topology/1\nnuma:\n"
                   "- {id: 0, node: 0, control_port: 1, data_port: 2, control_iface: vf0,\n"
                   "   data_iface: vf1, rdma_devices: [mlx5_9, mlx5_10]}\n",
                   &machine);
    ck_assert_str_eq(found, "4:16 interface-missing\n4:44 rdma-device-missing\n");
}
END_TEST

/* An XML without PCI devices says nothing about GPUs and ports, nor about nodes without CPUs. */
START_TEST(what_a_source_cannot_tell_is_not_missing)
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
END_TEST

/* The live kernel has links that are no network cards: lo is always there. */
START_TEST(links_without_hardware_exist_too)
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
END_TEST

START_TEST(the_shipped_profile_fits_its_machine)
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
END_TEST

int main(void)
{
    TCase *cases = tcase_create("propose");
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, ac922_is_served_by_socket);
    tcase_add_test(cases, bonds_are_proposed_by_their_own_names);
    tcase_add_test(cases, near_card_is_found_without_link_states);
    tcase_add_test(cases, a_port_with_a_link_goes_first);
    tcase_add_test(cases, nodes_without_gpus_are_left_out_with_a_word);
    tcase_add_test(cases, a_machine_without_gpus_has_all_nodes);
    tcase_add_test(cases, one_node_owns_all_gpus);
    tcase_add_test(cases, cpus_without_memory_use_the_nearest);
    tcase_add_test(cases, hostile_names_do_no_harm);
    tcase_add_test(cases, a_thousand_nodes_are_proposed);
    tcase_add_test(cases, profiles_are_files);
    tcase_add_test(cases, what_does_not_fit_is_named_with_its_place);
    tcase_add_test(cases, infiniband_carries_no_macvlan);
    tcase_add_test(cases, what_is_known_by_name_alone_is_not_missing);
    tcase_add_test(cases, what_a_source_cannot_tell_is_not_missing);
    tcase_add_test(cases, links_without_hardware_exist_too);
    tcase_add_test(cases, the_shipped_profile_fits_its_machine);
    return run_suite(cases, "propose");
}
