/* Topology XML files are read completely, and wrong ones are refused with an explanation. */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "numa/topology_xml.h"
#include "numa/warning.h"
#include "unit.h"

static const char *const captures[] = {
    "topologies/ac922-8335gtw-6gpu.hwloc1.xml",        "topologies/ac922-8335gtw-6gpu.hwloc2.xml",
    "topologies/azure-ndv5-8gpu-8nic.nccl.xml",        "topologies/dgx2-16gpu.hwloc2.xml",
    "topologies/power8-minsky-4gpu-nvlink.hwloc2.xml", "topologies/xeon-2numa-gpu-mlx5.hwloc2.xml",
    "topologies/xeon-sriov-many-vfs.hwloc2.xml",
};

/* Returns the path of a file below tests/data. The caller frees the path. */
static char *data_path(const char *name)
{
    const char *source = getenv("srcdir");
    return ath_xasprintf("%s/tests/data/%s", source ? source : ".", name);
}

static void read_machine(const char *name, struct ath_machine *machine)
{
    ath_auto_free char *path = data_path(name);
    struct ath_err err = { 0 };

    *machine = (struct ath_machine){ 0 };
    int status = ath_topology_read(path, machine, &err);
    ck_assert_msg(!status, "%s", err.message);
    ck_assert_int_eq(machine->source, ATH_SOURCE_XML);
}

static int parse(const char *text, struct ath_machine *machine, struct ath_err *err)
{
    *machine = (struct ath_machine){ 0 };
    *err = (struct ath_err){ 0 };
    return ath_topology_parse("x.xml", text, strlen(text), machine, err);
}

static void parse_well(const char *text, struct ath_machine *machine)
{
    struct ath_err err;
    int status = parse(text, machine, &err);
    ck_assert_msg(!status, "%s", err.message);
}

static const struct ath_numa_node *node_of(const struct ath_machine *machine, int id)
{
    for (size_t i = 0; i < machine->node_count; i++)
        if (machine->nodes[i].id == id)
            return &machine->nodes[i];
    ck_abort_msg("no node %d", id);
}

static const struct ath_gpu *gpu_of(const struct ath_machine *machine, const char *address)
{
    char text[ATH_PCI_TEXT];
    for (size_t i = 0; i < machine->gpu_count; i++)
        if (!strcmp(ath_pci_format(&machine->gpus[i].pci, text), address))
            return &machine->gpus[i];
    ck_abort_msg("no GPU %s", address);
}

static const struct ath_nic *nic_of(const struct ath_machine *machine, const char *address)
{
    char text[ATH_PCI_TEXT];
    for (size_t i = 0; i < machine->nic_count; i++)
        if (machine->nics[i].has_pci &&
            !strcmp(ath_pci_format(&machine->nics[i].pci, text), address))
            return &machine->nics[i];
    ck_abort_msg("no port %s", address);
}

static void assert_cpus(const struct ath_machine *machine, int id, const char *expected)
{
    ath_auto_free char *cpus = ath_idset_format(&node_of(machine, id)->cpus);
    ck_assert_str_eq(cpus, expected);
}

static int distance(const struct ath_machine *machine, int from, int to)
{
    const struct ath_numa_node *node = node_of(machine, from);
    for (size_t i = 0; i < node->distance_count; i++)
        if (node->distances[i].node == to)
            return node->distances[i].value;
    return ATH_UNKNOWN;
}

/* Returns the distance class of a GPU and a port, as `nvidia-smi topo -m` prints it. */
static const char *class_of(const struct ath_machine *machine, const char *gpu, const char *nic)
{
    const struct ath_gpu *a = gpu_of(machine, gpu);
    const struct ath_nic *b = nic_of(machine, nic);
    return ath_pci_class_word(
        ath_pci_class_between(a->place, a->numa_node, b->place, b->numa_node));
}

static bool has_warning(const struct ath_machine *machine, enum ath_warning_kind kind)
{
    for (size_t i = 0; i < machine->warning_count; i++)
        if (!strcmp(machine->warnings[i].code, ath_warning_word(kind)))
            return true;
    return false;
}

SECONDS(60);

TEST(dgx2_has_16_gpus_on_switches)
{
    ATH_AUTO(ath_machine) machine;
    read_machine("topologies/dgx2-16gpu.hwloc2.xml", &machine);

    ck_assert_uint_eq(machine.node_count, 2);
    ck_assert_uint_eq(machine.gpu_count, 16);
    ck_assert_uint_eq(machine.nic_count, 0);
    ck_assert_str_eq(machine.model, "NVIDIA DGX-2H");
    assert_cpus(&machine, 1, "24-25");
    ck_assert_int_eq(node_of(&machine, 0)->memory_total_bytes, 810234351616);
    ck_assert_uint_eq(node_of(&machine, 0)->hugepage_count, 2);
    ck_assert_int_eq(distance(&machine, 0, 1), 21);

    const struct ath_gpu *gpu = gpu_of(&machine, "0000:e7:00.0");
    ck_assert_str_eq(gpu->model, "Tesla V100-SXM3-32GB-H");
    ck_assert_str_eq(gpu->uuid, "GPU-bb4648d3-e72b-4bac-a32f-4c9f3e4eb547");
    ck_assert_str_eq(gpu->place, "pci0000:d7/0000:d7:00.0/0000:d8:00.0/0000:d9:0c.0/0000:e3:00.0/"
                                 "0000:e4:10.0");
    ck_assert_int_eq(gpu->numa_node, 1);
    ck_assert_int_eq(gpu->pcie_gen, ATH_UNKNOWN);
    ck_assert_uint_eq(gpu->nvlink_count, 6);
    for (size_t i = 0; i < gpu->nvlink_count; i++) {
        ck_assert_int_eq(gpu->nvlinks[i].kind, ATH_PEER_SWITCH);
        ck_assert_int_eq(gpu->nvlinks[i].speed_mbps, 200000);
        ck_assert_int_eq(gpu->nvlinks[i].count, ATH_UNKNOWN);
    }
}

TEST(minsky_has_links_to_gpu_and_cpu)
{
    ATH_AUTO(ath_machine) machine;
    read_machine("topologies/power8-minsky-4gpu-nvlink.hwloc2.xml", &machine);

    ck_assert_str_eq(machine.model, "8335-GTB");
    ck_assert_str_eq(machine.arch, "ppc64le");
    ck_assert_str_eq(machine.hostname, "drac-12.grenoble.grid5000.fr");
    ck_assert_str_eq(machine.profile, "generic");
    assert_cpus(&machine, 1, "80-81,88-89,96-97,104-105");

    const struct ath_gpu *gpu = gpu_of(&machine, "000a:01:00.0");
    ck_assert_int_eq(gpu->numa_node, 1);
    ck_assert_int_eq(gpu->memory_total_bytes, INT64_C(16671616) * 1024);
    ck_assert(gpu->has_nvlinks);
    ck_assert_uint_eq(gpu->nvlink_count, 2);
    ck_assert_int_eq(gpu->nvlinks[0].kind, ATH_PEER_GPU);
    ck_assert(ath_pci_equals(&gpu->nvlinks[0].peer, &gpu_of(&machine, "000b:01:00.0")->pci));
    ck_assert_int_eq(gpu->nvlinks[0].speed_mbps, 320000);
    ck_assert_int_eq(gpu->nvlinks[1].kind, ATH_PEER_CPU);
    ck_assert(!gpu->nvlinks[1].has_peer);
}

TEST(infiniband_port_with_its_gid)
{
    ATH_AUTO(ath_machine) machine;
    read_machine("topologies/xeon-2numa-gpu-mlx5.hwloc2.xml", &machine);

    ck_assert_uint_eq(machine.gpu_count, 4); /* the Matrox display does not count */
    ck_assert_uint_eq(machine.nic_count,
                      3); /* the disk controller at the same address does not count */
    const struct ath_nic *nic = nic_of(&machine, "0000:04:00.0");
    ck_assert_str_eq(nic->netdev, "ib0");
    ck_assert_str_eq(nic->rdma_device, "mlx5_0");
    ck_assert_int_eq(nic->port, 1);
    ck_assert_int_eq(nic->link, ATH_LINK_UP);
    ck_assert_int_eq(nic->link_layer, ATH_LAYER_INFINIBAND);
    ck_assert_int_eq(nic->numa_node, 1);
    ck_assert_uint_eq(nic->gid_count, 1);
    ck_assert_int_eq(nic->gids[0].type, ATH_GID_IB);
    ck_assert_str_eq(nic->gids[0].address, "fe80:0000:0000:0000:248a:0703:001e:39fe");
    ck_assert_int_eq(nic->best_gid_index, 0);
    ck_assert_int_eq(nic_of(&machine, "0000:81:00.1")->link_layer, ATH_LAYER_ETHERNET);
    ck_assert_str_eq(nic_of(&machine, "0000:81:00.1")->card, "0000:81:00.0");
    ck_assert_str_eq(class_of(&machine, "0000:84:00.0", "0000:04:00.0"), "PIX");
    ck_assert_str_eq(class_of(&machine, "0000:83:00.0", "0000:04:00.0"), "PHB");
    ck_assert_str_eq(class_of(&machine, "0000:03:00.0", "0000:04:00.0"), "SYS");
}

/* The lowest index is the best, at any place in the file. */
LOOP_TEST(infiniband_port_with_several_gids, 0, 4)
{
    static const char line[] = "<info name=\"Port1GID0\"";
    static const struct {
        int indexes[3], best;
    } orders[] = {
        { { 7, 3, 11 }, 3 },
        { { 3, 7, 11 }, 3 },
        { { 11, 7, 3 }, 3 },
        { { 1, 10, 2 }, 1 },
    };
    ATH_AUTO(ath_machine) machine;
    ath_auto_free char *path = data_path("topologies/xeon-2numa-gpu-mlx5.hwloc2.xml");
    ath_auto_free char *whole = NULL;
    ATH_AUTO(ath_text) text = { 0 };
    struct ath_err err;
    size_t length;

    ck_assert_int_eq(ath_file_read(path, 1 << 20, &whole, &length, &err), 0);
    const char *at = strstr(whole, line);
    ck_assert_ptr_nonnull(at);
    ath_text_add(&text, "%.*s", (int)(at - whole), whole);
    for (size_t i = 0; i < 3; i++)
        ath_text_add(
            &text, "<info name=\"Port1GID%d\" value=\"fe80:0000:0000:0000:0000:0000:0000:%04d\"/>",
            orders[_i].indexes[i], orders[_i].indexes[i]);
    ath_text_add(&text, "%s", strchr(at, '>') + 1);
    parse_well(text.data, &machine);
    const struct ath_nic *nic = nic_of(&machine, "0000:04:00.0");
    ck_assert_uint_eq(nic->gid_count, 3);
    ck_assert_int_eq(nic->best_gid_index, orders[_i].best);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(atoi(strrchr(nic->gids[i].address, ':') + 1), nic->gids[i].index);
}

TEST(virtual_functions_are_counted)
{
    ATH_AUTO(ath_machine) machine;
    read_machine("topologies/xeon-sriov-many-vfs.hwloc2.xml", &machine);

    ck_assert_uint_eq(machine.nic_count, 6);
    ck_assert_int_eq(nic_of(&machine, "0000:0b:00.0")->vfs, 3);
    ck_assert_int_eq(nic_of(&machine, "0000:0c:00.0")->vfs, 4);
    ck_assert_int_eq(nic_of(&machine, "0000:88:00.0")->vfs,
                     5); /* two of them have a wrong vendor id */
    ck_assert_int_eq(nic_of(&machine, "0000:89:00.0")->vfs, 0);
    ck_assert_uint_eq(nic_of(&machine, "0000:0b:00.0")->gid_count, 0); /* their type is unknown */
    ck_assert_int_eq(nic_of(&machine, "0000:0b:00.0")->best_gid_index, ATH_UNKNOWN);
}

LOOP_TEST(gpu_memory_is_nodes_on_ac922, 0, 2)
{
    ATH_AUTO(ath_machine) machine;
    read_machine(captures[_i], &machine);

    ck_assert_str_eq(machine.profile, "ac922");
    ck_assert_uint_eq(machine.node_count, 8);
    assert_cpus(&machine, 0, "0-15");
    assert_cpus(&machine, 8, "88-103");
    assert_cpus(&machine, 255, "");
    ck_assert(node_of(&machine, 255)->has_gpu);
    ck_assert_int_eq(distance(&machine, 8, 250), 80);
    ck_assert_uint_eq(machine.gpu_count, 6);

    const struct ath_gpu *near = gpu_of(&machine, "0004:05:00.0");
    ck_assert_int_eq(near->memory_node, 255);
    ck_assert_int_eq(near->memory_state, ATH_MEMORY_ONLINE);
    ck_assert_int_eq(near->numa_node, 0);
    ck_assert_int_eq(gpu_of(&machine, "0035:04:00.0")->memory_node, 251);
    ck_assert_int_eq(gpu_of(&machine, "0035:04:00.0")->numa_node, 8);
}

/* Before nvidia-persistenced has run, the nodes of the GPUs are empty, and lstopo writes them so.
 */
TEST(an_empty_node_of_a_gpu_is_offline)
{
    static const char size[] = "local_memory=\"16106127360\"";
    ATH_AUTO(ath_machine) machine;
    ath_auto_free char *path = data_path(captures[1]);
    ath_auto_free char *text = NULL;
    struct ath_err err;
    size_t length;

    ck_assert_int_eq(ath_file_read(path, 1 << 20, &text, &length, &err), 0);
    for (char *at = text; (at = strstr(at, size)); at++)
        memcpy(at, "local_memory=\"00000000000\"", strlen(size));
    parse_well(text, &machine);
    ck_assert_int_eq(gpu_of(&machine, "0004:05:00.0")->memory_state, ATH_MEMORY_OFFLINE);
    ath_machine_finish(&machine);
    ck_assert(has_warning(&machine, ATH_W_GPU_MEMORY_OFFLINE));
}

TEST(azure_pairs_gpu_and_port_by_switch)
{
    ATH_AUTO(ath_machine) machine;
    read_machine("topologies/azure-ndv5-8gpu-8nic.nccl.xml", &machine);

    ck_assert_uint_eq(machine.node_count, 2);
    ck_assert_uint_eq(machine.gpu_count, 8);
    ck_assert_uint_eq(machine.nic_count, 8);
    assert_cpus(&machine, 0, "0-47");
    assert_cpus(&machine, 1, "48-95");
    ck_assert_int_eq(node_of(&machine, 0)->memory_total_bytes, ATH_UNKNOWN);
    const struct ath_gpu *gpu = gpu_of(&machine, "0008:00:00.0");
    ck_assert_int_eq(gpu->pcie_gen, 5);
    ck_assert_int_eq(gpu->pcie_width, 16);
    ck_assert_int_eq(gpu->vendor_id, ATH_UNKNOWN);
    ck_assert(!gpu->has_nvlinks);
    ck_assert_int_eq(nic_of(&machine, "0104:00:00.0")->vfs, ATH_UNKNOWN); /* not in the file */
    ck_assert_str_eq(class_of(&machine, "0008:00:00.0", "0104:00:00.0"), "PIX");
    ck_assert_str_eq(class_of(&machine, "0008:00:00.0", "0103:00:00.0"), "PHB");
    ck_assert_str_eq(class_of(&machine, "0008:00:00.0", "0105:00:00.0"), "SYS");
}

#define FUNCTION(address, class, children)                                                         \
    "<pci busid='" address "' class='" class "' vendor='0x1002' device='0x740c'"                   \
                                             " link_speed='16 GT/s' link_width='8'>" children      \
                                             "</pci>"
#define PORT(name, port, guid)                                                                     \
    "<nic><net name='" name "' dev='0' speed='200000' port='" port "' guid='" guid "'/></nic>"

LOOP_TEST(a_file_without_affinity_does_not_contain_cpus, 0, 2)
{
    static const char *const affinities[] = { "affinity='f'", "" };
    ATH_AUTO(ath_machine) machine;
    ath_auto_free char *text = ath_xasprintf(
        "<system version='2'><cpu numaid='0' affinity='f0'/><cpu numaid='1' %s/></system>",
        affinities[_i]);

    parse_well(text, &machine);
    ck_assert(has_warning(&machine, ATH_W_INCOMPLETE));
    for (size_t i = 0; i < machine.warning_count; i++)
        if (!strcmp(machine.warnings[i].code, "incomplete"))
            ck_assert_int_eq(strstr(machine.warnings[i].message, "CPUs") != NULL, _i);
}

/* Functions without a child: NCCL writes the console's display of a server too. */
TEST(displays_in_a_file_of_nccl_are_no_gpus)
{
    static const struct {
        const char *ids;
        size_t gpus;
    } functions[] = {
        { "class='0x030000' vendor='0x1002' device='0x515e'", 0 }, /* ES1000 */
        { "class='0x030000' vendor='0x1a03' device='0x2000'", 0 }, /* ASPEED */
        { "class='0x038000' vendor='0x1002' device='0x740c'", 1 },
        { "class='0x030200' vendor='0x10de' device='0x1db1'", 1 },
        { "class='0x120000' vendor='0x1002' device='0x74a0'", 1 },
        { "class='0x030200'", 1 },
        { "class='0x03'", 1 },
    };

    for (size_t i = 0; i < ATH_COUNT(functions); i++) {
        ATH_AUTO(ath_machine) machine;
        ath_auto_free char *text = ath_xasprintf("<system version='1'><cpu numaid='0' affinity='f'>"
                                                 "<pci busid='0000:03:00.0' %s/></cpu></system>",
                                                 functions[i].ids);
        parse_well(text, &machine);
        ck_assert_msg(machine.gpu_count == functions[i].gpus, "%s", functions[i].ids);
    }
}

static const struct {
    const char *text, *message;
} other_texts[] = {
    { "schema: aitherion.topology/1\nnode:\n", "'t.xml' is a topology document, not a machine" },
    { "\t\x1b[4mGPU0\tGPU1\tCPU Affinity\x1b[0m\nGPU0\t X \tNV3\t0-63\n",
      "t.xml:1: the row GPU1 is missing" },
    { "  a: b\n", "'t.xml' is not XML: it does not begin with '<'" },
    { "GPU0: a\n", "'t.xml' has no table of `nvidia-smi topo -m`: no line names the columns" },
    { "\xef\xbb\xbf<system version='9'/>", "t.xml:1:2: version '9' of NCCL's format" },
};

LOOP_TEST(other_texts_are_named, 0, ATH_COUNT(other_texts))
{
    struct ath_machine machine;
    struct ath_err err = { 0 };
    const char *text = other_texts[_i].text;

    ck_assert_int_eq(ath_topology_parse("t.xml", text, strlen(text), &machine, &err), -EINVAL);
    ck_assert_int_eq(err.code, ATH_E_TOPOLOGY_INVALID);
    ck_assert_msg(strstr(err.message, other_texts[_i].message) == err.message, "%s", err.message);
}

TEST(nested_switches_of_rccl)
{
    ATH_AUTO(ath_machine) machine;
    parse_well(
        "<!-- a comment --><system version='2'>"
        "<cpu numaid='3' affinity='ffffffff,00000000' arch='arm64'>" FUNCTION(
            "0000:43:00.0", "0x060400",
            FUNCTION("0000:46:00.0", "0x060400",
                     FUNCTION("0000:4a:00.0", "0x038000",
                              "<gpu dev='0' gcn='908'><xgmi target='0000:50:00.0' count='2' "
                              "tclass='0x038000'/></gpu>"))
                FUNCTION("0000:50:00.0", "0x038000", "<gpu dev='1'/>")
                    FUNCTION("0000:45:00.0", "0x020700", PORT("mlx5_1", "1", "0x48b9")))
            FUNCTION("0000:61:00.0", "0x020000", PORT("mlx5_2", "1", "0x48b9")) "</cpu></system>",
        &machine);

    ck_assert_str_eq(machine.arch, "aarch64");
    assert_cpus(&machine, 3, "32-63");
    const struct ath_gpu *gpu = gpu_of(&machine, "0000:4a:00.0");
    ck_assert_int_eq(gpu->vendor_id, 0x1002);
    ck_assert_int_eq(gpu->pcie_gen, 4);
    ck_assert_int_eq(gpu->pcie_width, 8);
    ck_assert_uint_eq(gpu->nvlink_count, 1);
    ck_assert_int_eq(gpu->nvlinks[0].kind, ATH_PEER_GPU);
    ck_assert_int_eq(gpu->nvlinks[0].count, 2);
    ck_assert_int_eq(gpu->nvlinks[0].speed_mbps, ATH_UNKNOWN);
    ck_assert(gpu_of(&machine, "0000:50:00.0")->has_nvlinks); /* known: none */
    ck_assert_uint_eq(gpu_of(&machine, "0000:50:00.0")->nvlink_count, 0);
    ck_assert_str_eq(class_of(&machine, "0000:50:00.0", "0000:45:00.0"), "PIX");
    ck_assert_str_eq(class_of(&machine, "0000:4a:00.0", "0000:45:00.0"), "PXB");
    ck_assert_str_eq(class_of(&machine, "0000:4a:00.0", "0000:61:00.0"), "PHB");
    /* All functions with the same GUID are one card. */
    ck_assert_str_eq(nic_of(&machine, "0000:61:00.0")->card, "0000:45:00.0");
    ck_assert_int_eq(nic_of(&machine, "0000:61:00.0")->speed_mbps, 200000);
}

TEST(kernel_without_numa)
{
    ATH_AUTO(ath_machine) machine;
    parse_well("<system version='1'><cpu host_hash='0xc1a8d39608097de4' numaid='-1'>" FUNCTION(
                   "0000:05:00.0", "0x030200",
                   "<gpu dev='0'><nvlink target='fffffff:ff:ff.0' count='18' tclass='0x068000'/>"
                   "</gpu>") "<nic><net name='eth0' speed='100000' port='0' guid='0x1'/></nic>"
                             "</cpu></system>",
               &machine);

    ck_assert_uint_eq(machine.node_count, 1);
    ck_assert_int_eq(machine.nodes[0].id, 0);
    ck_assert(has_warning(&machine, ATH_W_NO_NUMA_KERNEL));
    ck_assert_int_eq(machine.gpus[0].numa_node, ATH_UNKNOWN);
    ck_assert_int_eq(machine.gpus[0].nvlinks[0].kind, ATH_PEER_SWITCH);
    ck_assert(!machine.gpus[0].nvlinks[0].has_peer);
    ck_assert_uint_eq(machine.nic_count, 1);
    ck_assert(!machine.nics[0].has_pci);
    ck_assert_str_eq(machine.nics[0].netdev, "eth0");
    ck_assert_ptr_null(machine.nics[0].rdma_device);
    ck_assert_int_eq(machine.nics[0].numa_node, ATH_UNKNOWN);
}

TEST(grace_link_shares_and_fused_ports)
{
    ATH_AUTO(ath_machine) machine;
    parse_well(
        "<system version='1'><cpu numaid='0'>" FUNCTION(
            "0009:06:00.0", "0x030200",
            "<gpu dev='1' mlopart='0'><c2c bw='44712' count='5'/></gpu>"
            "<gpu dev='1' mlopart='1'><c2c bw='44712' count='5'/></gpu>")
            FUNCTION("0001:03:00.0", "0x02",
                     "<nic><net name='mlx5_0' port='1' speed='-1'/><net name='mlx5_0' port='2'/>"
                     "<net name='mlx5_0+mlx5_1'/></nic>") "</cpu></system>",
        &machine);

    ck_assert_uint_eq(machine.gpu_count, 1);
    ck_assert_uint_eq(machine.gpus[0].nvlink_count, 1);
    ck_assert_int_eq(machine.gpus[0].nvlinks[0].kind, ATH_PEER_CPU);
    ck_assert_int_eq(machine.gpus[0].nvlinks[0].count, 5);
    ck_assert_int_eq(machine.gpus[0].nvlinks[0].speed_mbps, 44712 * 8 * 5);
    ck_assert_uint_eq(machine.nic_count, 2);
    ck_assert_int_eq(machine.nics[0].speed_mbps, ATH_UNKNOWN);
    ck_assert_int_eq(machine.nics[1].port, 2);
}

/* NCCL's file of an HGX B200: its switches have no address, and the link of the socket transport is
 * below each node. */
TEST(switches_without_an_address_and_links_of_each_node)
{
#define SOCKET "<nic><net name='eth0' dev='0' speed='10000' port='0' guid='0x0'/></nic>"
    ATH_AUTO(ath_machine) machine;
    parse_well("<system version='1'><cpu numaid='0'>" FUNCTION(
                   "0000:51:00.0", "0x030200",
                   "<gpu dev='0'><nvlink target='fffffff:ff:ff.0' count='18' "
                   "tclass='0x068000'/></gpu>") SOCKET "</cpu><cpu numaid='1'>" SOCKET
                                                       "</cpu></system>",
               &machine);

    ck_assert_uint_eq(machine.gpus[0].nvlink_count, 1);
    ck_assert_int_eq(machine.gpus[0].nvlinks[0].kind, ATH_PEER_SWITCH);
    ck_assert(!machine.gpus[0].nvlinks[0].has_peer);
    ck_assert_int_eq(machine.gpus[0].nvlinks[0].count, 18);
    ath_machine_finish(&machine);
    ck_assert_uint_eq(machine.nic_count, 1);
    ck_assert_str_eq(machine.nics[0].netdev, "eth0");
}

#define MACHINE(io)                                                                                \
    "<topology version='2.0'><object type='Machine' cpuset='0x1' complete_cpuset='0x1' "           \
    "allowed_cpuset='0x1' nodeset='0x1' complete_nodeset='0x1' allowed_nodeset='0x1' "             \
    "gp_index='1'><object type='NUMANode' os_index='0' cpuset='0x1' complete_cpuset='0x1' "        \
    "nodeset='0x1' complete_nodeset='0x1' gp_index='2' local_memory='4096'/><object type='PU' "    \
    "os_index='0' cpuset='0x1' complete_cpuset='0x1' nodeset='0x1' complete_nodeset='0x1' "        \
    "gp_index='3'/><object type='Bridge' gp_index='4' bridge_type='0-1' depth='0' "                \
    "bridge_pci='0000:[00-ff]'>" io "</object></object></topology>"

TEST(kinds_of_memory_and_speed_of_pcie)
{
    ATH_AUTO(ath_machine) machine;
    parse_well("<topology version='2.0'><object type='Machine' cpuset='0x1' complete_cpuset='0x1' "
               "allowed_cpuset='0x1' nodeset='0x3' complete_nodeset='0x3' allowed_nodeset='0x3' "
               "gp_index='1'><object type='NUMANode' os_index='0' cpuset='0x1' subtype='DRAM' "
               "complete_cpuset='0x1' nodeset='0x1' complete_nodeset='0x1' gp_index='2' "
               "local_memory='4096'/><object type='NUMANode' os_index='1' cpuset='0x1' "
               "subtype='HBM' complete_cpuset='0x1' nodeset='0x2' complete_nodeset='0x2' "
               "gp_index='6' local_memory='4096'/><object type='PU' os_index='0' cpuset='0x1' "
               "complete_cpuset='0x1' nodeset='0x3' complete_nodeset='0x3' gp_index='3'/>"
               "<object type='Bridge' gp_index='4' bridge_type='0-1' depth='0' "
               "bridge_pci='0000:[00-ff]'><object type='PCIDev' gp_index='5' "
               "pci_busid='0000:05:00.0' pci_type='0302 [10de:2330] [10de:0000] 00' "
               "pci_link_speed='63.015385'/></object></object></topology>",
               &machine);

    ck_assert_ptr_null(node_of(&machine, 0)->memory_kind);
    ck_assert_str_eq(node_of(&machine, 1)->memory_kind, "HBM");
    ck_assert_int_eq(machine.gpus[0].pcie_mbps, 504123);
    ath_machine_finish(&machine);
    ck_assert(!machine.lacks_pci);
}

#define MEMORY(id, subtype, cpus, bit)                                                             \
    "<object type='NUMANode' os_index='" id "' subtype='" subtype "' cpuset='" cpus                \
    "' complete_cpuset='" cpus "' nodeset='" bit "' complete_nodeset='" bit "' gp_index='1" id     \
    "' local_memory='4096'/>"
#define PACKAGE_OF(id, bit, memory)                                                                \
    "<object type='Package' os_index='" id "' cpuset='" bit "' complete_cpuset='" bit              \
    "' nodeset='0x7' complete_nodeset='0x7' gp_index='2" id "'>" memory                            \
    "<object type='PU' os_index='" id "' cpuset='" bit "' complete_cpuset='" bit                   \
    "' nodeset='0x7' complete_nodeset='0x7' gp_index='3" id "'/></object>"
#define PACKAGES(both, first, second)                                                              \
    "<topology version='2.0'><object type='Machine' cpuset='0x3' complete_cpuset='0x3' "           \
    "allowed_cpuset='0x3' nodeset='0x7' complete_nodeset='0x7' allowed_nodeset='0x7' "             \
    "gp_index='1'>" both PACKAGE_OF("0", "0x1", first)                                             \
        PACKAGE_OF("1", "0x2", second) "</object></topology>"

/* A CPU belongs to the node with the fewest CPUs, and to the lowest id of several such nodes. */
LOOP_TEST(a_cpu_belongs_to_one_node, 0, 2)
{
    static const struct {
        const char *text, *cpus[3];
    } files[] = {
        /* Memory of the whole machine has a lower id than the nodes of the packages. */
        { PACKAGES(MEMORY("0", "HBM", "0x3", "0x1"), MEMORY("1", "DRAM", "0x1", "0x2"),
                   MEMORY("2", "DRAM", "0x2", "0x4")),
          { "", "0", "1" } },
        { PACKAGES("", MEMORY("2", "HBM", "0x1", "0x4") MEMORY("0", "DRAM", "0x1", "0x1"),
                   MEMORY("1", "DRAM", "0x2", "0x2")),
          { "0", "1", "" } },
    };
    ATH_AUTO(ath_machine) machine;

    parse_well(files[_i].text, &machine);
    ck_assert_uint_eq(machine.node_count, 3);
    for (int id = 0; id < 3; id++)
        assert_cpus(&machine, id, files[_i].cpus[id]);
}

/* Format 3 has the host's infos at the root of the file, and kinds of devices as bits. */
TEST(files_of_hwloc_3)
{
    ATH_AUTO(ath_machine) machine;
    parse_well(
        "<topology version='3.0'><object type='Machine' cpuset='0x1' complete_cpuset='0x1' "
        "allowed_cpuset='0x1' nodeset='0x1' complete_nodeset='0x1' allowed_nodeset='0x1' "
        "gp_index='1'><info name='DMIProductName' value='R1'/><object type='NUMANode' "
        "os_index='0' cpuset='0x1' complete_cpuset='0x1' nodeset='0x1' "
        "complete_nodeset='0x1' gp_index='2' local_memory='4096'/><object type='PU' "
        "os_index='0' cpuset='0x1' complete_cpuset='0x1' nodeset='0x1' "
        "complete_nodeset='0x1' gp_index='3'/><object type='Bridge' gp_index='4' "
        "bridge_type='0-1' depth='0' bridge_pci='0000:[00-ff]'><object type='PCIDev' "
        "gp_index='5' pci_busid='0000:05:00.0' pci_type='0302 [10de:2330] [10de:0000] 00 00' "
        "pci_link_speed='63.015385'><object type='OSDev' gp_index='6' name='nvml0' "
        "osdev_type='12'><info name='Backend' value='NVML'/><info name='GPUModel' "
        "value='H100'/></object></object><object type='PCIDev' gp_index='7' "
        "pci_busid='0000:06:00.0' pci_type='0207 [15b3:1021] [15b3:0000] 00 00'><object "
        "type='OSDev' gp_index='8' name='ib0' osdev_type='16'/><object type='OSDev' "
        "gp_index='9' name='mlx5_0' osdev_type='48'><info name='Port1State' value='4'/>"
        "<info name='Port1LID' value='0x1'/></object></object><object type='PCIDev' "
        "gp_index='10' pci_busid='0000:07:00.0' pci_type='0106 [8086:2922] [8086:2922] 00 "
        "01'><object type='OSDev' gp_index='11' name='sda' osdev_type='1'/></object>"
        "</object></object><support name='discovery.pu'/><info name='OSRelease' "
        "value='6.8.0'/><info name='HostName' value='efi'/><info name='Architecture' "
        "value='x86_64'/></topology>",
        &machine);

    ck_assert_str_eq(machine.hostname, "efi");
    ck_assert_str_eq(machine.kernel, "6.8.0");
    ck_assert_str_eq(machine.arch, "x86_64");
    ck_assert_str_eq(machine.model, "R1");
    ck_assert_str_eq(gpu_of(&machine, "0000:05:00.0")->model, "H100");
    ck_assert_uint_eq(machine.nic_count, 1);
    ck_assert_str_eq(machine.nics[0].netdev, "ib0");
    ck_assert_str_eq(machine.nics[0].rdma_device, "mlx5_0");
    ck_assert_int_eq(machine.nics[0].link, ATH_LINK_UP);
}

TEST(a_file_without_io_says_so)
{
    ATH_AUTO(ath_machine) machine;
    parse_well("<topology version='2.0'><object type='Machine' cpuset='0x1' complete_cpuset='0x1' "
               "allowed_cpuset='0x1' nodeset='0x1' complete_nodeset='0x1' allowed_nodeset='0x1' "
               "gp_index='1'><object type='NUMANode' os_index='0' cpuset='0x1' "
               "complete_cpuset='0x1' nodeset='0x1' complete_nodeset='0x1' gp_index='2' "
               "local_memory='4096'/><object type='PU' os_index='0' cpuset='0x1' "
               "complete_cpuset='0x1' nodeset='0x1' complete_nodeset='0x1' gp_index='3'/>"
               "</object></topology>",
               &machine);
    ath_machine_finish(&machine);
    ck_assert_uint_eq(machine.warning_count, 1);
    ck_assert_str_eq(machine.warnings[0].code, "no-pci");
}

#define PARTITION(gpu, number, id)                                                                 \
    "<object type='OSDev' gp_index='" id "' name='rsmi" gpu number "' osdev_type='1'>"             \
    "<info name='Backend' value='RSMI'/><info name='AMDUUID' value='0000000000000000'/></object>"
#define SPLIT_GPU(gpu, id)                                                                         \
    "<object type='PCIDev' gp_index='" gpu "' pci_busid='0000:0" gpu                               \
    ":00.0' pci_type='1200 [1002:74a0] [1002:74a0] 00' "                                           \
    "pci_link_speed='63.015385'>" PARTITION(gpu, "0", id "0")                                      \
        PARTITION(gpu, "1", id "1") "</object>"

/* An MI300A in mode TPX or CPX has a row for each partition in the matrix of links. */
TEST(partitions_of_a_gpu_share_its_links)
{
    ATH_AUTO(ath_machine) machine;
    parse_well(
        "<topology version='2.0'><object type='Machine' cpuset='0x1' complete_cpuset='0x1' "
        "allowed_cpuset='0x1' nodeset='0x1' complete_nodeset='0x1' allowed_nodeset='0x1' "
        "gp_index='1'><object type='NUMANode' os_index='0' cpuset='0x1' "
        "complete_cpuset='0x1' nodeset='0x1' complete_nodeset='0x1' gp_index='2' "
        "local_memory='4096'/><object type='PU' os_index='0' cpuset='0x1' "
        "complete_cpuset='0x1' nodeset='0x1' complete_nodeset='0x1' gp_index='3'/>"
        "<object type='Bridge' gp_index='4' bridge_type='0-1' depth='0' "
        "bridge_pci='0000:[00-ff]'>" SPLIT_GPU("5", "5") SPLIT_GPU(
            "6",
            "6") "</object></object><distances2hetero nbobjs='4' kind='25' "
                 "name='XGMIBandwidth'><indexes length='36'>OSDev:50 OSDev:51 OSDev:60 OSDev:61 "
                 "</indexes><u64values length='40'>1 7 10 20 7 1 20 30 10 20 1 7 20 30 7 1 "
                 "</u64values></distances2hetero></topology>",
        &machine);

    ck_assert_uint_eq(machine.gpu_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct ath_gpu *gpu = &machine.gpus[i];
        ck_assert_int_eq(gpu->partitions, 2);
        ck_assert_uint_eq(gpu->nvlink_count, 1);
        ck_assert(ath_pci_equals(&gpu->nvlinks[0].peer, &machine.gpus[1 - i].pci));
        ck_assert_int_eq(gpu->nvlinks[0].speed_mbps, 30 * 8);
    }
    ath_machine_finish(&machine);
    ck_assert_ptr_null(machine.gpus[0].uuid);
}

/* If a bus has two physical functions, the owner of a virtual function is unknown. A virtual
 * function without a physical one, as in a virtual machine, is a card. */
TEST(virtual_function_with_uncertain_owner)
{
    ATH_AUTO(ath_machine) machine;
    parse_well(MACHINE("<object type='PCIDev' gp_index='5' pci_busid='0000:3b:00.0' "
                       "pci_type='0200 [15b3:1017] [0000:0000] 00' pci_link_speed='1.0'/>"
                       "<object type='PCIDev' gp_index='6' pci_busid='0000:3b:00.1' "
                       "pci_type='0200 [15b3:1017] [0000:0000] 00' pci_link_speed='1.0'/>"
                       "<object type='PCIDev' gp_index='7' pci_busid='0000:3b:00.2' "
                       "pci_type='0200 [15b3:1018] [0000:0000] 00' pci_link_speed='1.0'/>"
                       "<object type='PCIDev' gp_index='8' pci_busid='0000:5e:00.0' "
                       "pci_type='0200 [15b3:101e] [0000:0000] 00' pci_link_speed='1.0'/>"),
               &machine);

    ck_assert_uint_eq(machine.nic_count, 3);
    ck_assert_int_eq(nic_of(&machine, "0000:3b:00.0")->vfs, ATH_UNKNOWN);
    ck_assert_int_eq(nic_of(&machine, "0000:3b:00.1")->vfs, ATH_UNKNOWN);
    ck_assert_int_eq(nic_of(&machine, "0000:5e:00.0")->vfs, 0);
}

/* hwloc's plain parser must cope with the changes that an editor or a pretty-printer makes. */
TEST(form_of_the_xml_does_not_matter)
{
    ATH_AUTO(ath_machine) machine;
    parse_well("<?xml version='1.0'?>\n<!-- mine -->\n<topology xmlns:a='b' version='2.0' >\n"
               "<object type='Machine' os_index='0' cpuset='0x3' complete_cpuset='0x3' "
               "allowed_cpuset='0x3' nodeset='0x20' complete_nodeset='0x20' "
               "allowed_nodeset='0x20' gp_index='1'><!-- > -->\n"
               "<info name='HostName' value='a&#62;&lt;&amp;&quot;&#10;b'></info>\n"
               "<object type='NUMANode' os_index='5' cpuset='0x3' complete_cpuset='0x3' "
               "nodeset='0x20' complete_nodeset='0x20' gp_index='2' local_memory='4096'\n></object>"
               "<object type='PU' os_index='0' cpuset='0x1' complete_cpuset='0x1' nodeset='0x20' "
               "complete_nodeset='0x20' gp_index='3'/>"
               "<object type='PU' os_index='1' cpuset='0x2' complete_cpuset='0x2' nodeset='0x20' "
               "complete_nodeset='0x20' gp_index='4'/>"
               "<object type='Misc' gp_index='5'><unheard of='it'>text</unheard></object>"
               "</object><support name='x'/></topology>",
               &machine);

    ck_assert_uint_eq(machine.node_count, 1);
    ck_assert_int_eq(machine.nodes[0].id, 5);
    assert_cpus(&machine, 5, "0-1");
    ck_assert_str_eq(machine.hostname, "a><&\"\nb");
}

/* lstopo in a container leaves out the CPUs that it may not use, as it does those that are
 * offline. */
TEST(cpus_that_the_file_leaves_out_are_named)
{
    ATH_AUTO(ath_machine) machine;
    parse_well("<topology version='2.0'><object type='Machine' os_index='0' cpuset='0x1' "
               "complete_cpuset='0xf' allowed_cpuset='0x1' nodeset='0x1' complete_nodeset='0x1' "
               "allowed_nodeset='0x1' gp_index='1'>"
               "<object type='NUMANode' os_index='0' cpuset='0x1' complete_cpuset='0xf' "
               "nodeset='0x1' complete_nodeset='0x1' gp_index='2' local_memory='4096'></object>"
               "<object type='PU' os_index='0' cpuset='0x1' complete_cpuset='0x1' nodeset='0x1' "
               "complete_nodeset='0x1' gp_index='3'/></object></topology>",
               &machine);
    ck_assert_str_eq(machine.warnings[0].code, "cpus-left-out");
    ck_assert_ptr_nonnull(strstr(machine.warnings[0].message, "CPUs 1-3"));
}

LOOP_TEST(environment_changes_nothing, 0, 9)
{
    static const char *const variables[][2] = {
        { "HWLOC_COMPONENTS", "-xml,stop" },
        { "HWLOC_XMLFILE", "/nonexistent" },
        { "HWLOC_FSROOT", "/" },
        { "HWLOC_SYNTHETIC", "node:7 pu:1" },
        { "HWLOC_THISSYSTEM", "1" },
        { "HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES", "0" },
        { "HWLOC_LIBXML_IMPORT", "1" },
        { "HWLOC_PLUGINS_PATH", "/nonexistent" },
        { "HWLOC_THISSYSTEM_ALLOWED_RESOURCES", "1" },
    };
    ATH_AUTO(ath_machine) machine;

    setenv(variables[_i][0], variables[_i][1], 1);
    read_machine("topologies/ac922-8335gtw-6gpu.hwloc2.xml", &machine);
    ck_assert_uint_eq(machine.node_count, 8);
    ck_assert_uint_eq(machine.gpu_count, 6);
    ck_assert_str_eq(getenv(variables[_i][0]), variables[_i][1]);
}

static const struct {
    const char *file, *message, *hint;
} refused[] = {
    { "billion-laughs.xml", ":3:12: the document declares an entity, 'a'", NULL },
    { "binary.xml", "is not XML: it does not begin with '<'", NULL },
    { "channels.nccl.xml", ":1:1: this is NCCL's graph of channels", "NCCL_TOPO_DUMP_FILE" },
    { "cut-off.nccl.xml", ":4:1: the file ends in the middle: 3 elements are still open", NULL },
    { "deep.xml", "elements are nested deeper than 256", NULL },
    { "empty.xml", "is empty", NULL },
    { "external-entity.xml", ":3:35: the document declares an entity, 'file'", NULL },
    { "garbled-address.nccl.xml", ":3:5: busid 'zz:00.0' is not a PCI address", NULL },
    { "garbled-affinity.nccl.xml", ":2:3: affinity '0-3' is not a mask of CPUs", NULL },
    { "garbled-node.nccl.xml", ":2:3: numaid 'zero' is not", NULL },
    { "garbled-set.hwloc2.xml", ":4:1: 'cpuset' is not a set of ids", NULL },
    { "huge-index.hwloc2.xml", ":5:1: 'os_index' of this NUMANode is not a number below", NULL },
    { "huge-matrix.hwloc2.xml", ":8:1: 'nbobjs' of this matrix", NULL },
    { "huge-set.hwloc2.xml", ":4:1: 'cpuset' is not a set of ids", NULL },
    { "no-cpu.nccl.xml", "has no NUMA node", NULL },
    { "no-index.hwloc2.xml", ":6:1: 'os_index' of this PU is not a number below", NULL },
    { "nonsense.hwloc2.xml", "hwloc does not accept it", NULL },
    { "other-root.xml", ":1:1: the root element is 'html'", "lstopo" },
    { "several-hosts.nccl.xml", ":3:3: the file describes several machines", NULL },
    { "version-4.hwloc4.xml", ":3:1: version '4.0' of hwloc's XML", "--export-xml-flags v2" },
    { "version-9.nccl.xml", ":1:1: version '9' of NCCL's format", NULL },
};

LOOP_TEST(wrong_files_are_refused_with_a_reason, 0, ATH_COUNT(refused))
{
    ath_auto_free char *name = ath_xasprintf("hostile/%s", refused[_i].file);
    ath_auto_free char *path = data_path(name);
    struct ath_machine machine = { 0 };
    struct ath_err err = { 0 };

    ck_assert_int_lt(ath_topology_read(path, &machine, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_TOPOLOGY_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, refused[_i].file));
    ck_assert_msg(strstr(err.message, refused[_i].message), "%s", err.message);
    ck_assert_msg(!refused[_i].hint || strstr(err.hint, refused[_i].hint), "%s", err.hint);
    ck_assert_ptr_null(machine.nodes);
}

TEST(only_plain_files_are_read)
{
    char folder[] = "/tmp/topology-xml-XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ath_auto_free char *fifo = ath_xasprintf("%s/fifo", folder);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);

    struct ath_machine machine = { 0 };
    struct ath_err err = { 0 };
    ck_assert_int_lt(ath_topology_read(fifo, &machine, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_IO);
    ck_assert_int_lt(ath_topology_read(folder, &machine, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_IO);
    unlink(fifo);
    ck_assert_int_lt(ath_topology_read(fifo, &machine, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_NOT_FOUND);
    rmdir(folder);
}

/* A document that was cut anywhere before its end is refused. */
LOOP_TEST(truncated_captures_are_refused, 0, ATH_COUNT(captures))
{
    enum { CUTS = 150 };
    ath_auto_free char *path = data_path(captures[_i]);
    ath_auto_free char *text = NULL;
    struct ath_machine machine;
    struct ath_err err;
    size_t length;

    ck_assert_int_eq(ath_file_read(path, 1 << 20, &text, &length, &err), 0);
    for (size_t cut = 0; cut < CUTS; cut++) {
        err = (struct ath_err){ 0 };
        machine = (struct ath_machine){ 0 };
        size_t kept = (length - strlen("</system>\n")) * cut / CUTS;
        ck_assert_int_lt(ath_topology_parse("cut.xml", text, kept, &machine, &err), 0);
        ck_assert_int_eq(err.code, ATH_E_TOPOLOGY_INVALID);
    }
}

LOOP_TEST(absurdly_large_machines_are_refused, 0, 3)
{
    static const struct {
        const char *element;
        const char *message;
    } floods[] = {
        { "<cpu numaid='%d'/>", "more than 1024 NUMA nodes" },
        { "<cpu numaid='0'><pci busid='%04x:00:00.0' class='0x03'/></cpu>", "GPUs and" },
        { "<cpu numaid='0'><pci busid='%04x:00:00.0' class='0x02'/></cpu>", "GPUs and" },
    };
    struct ath_text text = { 0 };
    struct ath_machine machine;
    struct ath_err err;

    ath_text_add(&text, "<system version='1'>");
    for (int i = 0; i < 20000; i++) {
        const char *percent = strchr(floods[_i].element, '%');
        size_t before = (size_t)(percent - floods[_i].element);
        ath_text_add_bytes(&text, floods[_i].element, before);
        bool is_hexadecimal = percent[1] == '0';
        if (is_hexadecimal)
            ath_text_add(&text, "%04x", (unsigned int)i);
        else
            ath_text_add(&text, "%d", i);
        ath_text_add(&text, "%s", percent + (is_hexadecimal ? 4 : 2));
    }
    ath_text_add(&text, "</system>");
    ck_assert_int_lt(parse(text.data, &machine, &err), 0);
    ck_assert_msg(strstr(err.message, floods[_i].message), "%s", err.message);
    ath_text_free(&text);
}
