/* The machine model: look-ups, completion, discovery from a root, warnings. */
#include "config.h"

#include "numa/machine.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "numa/discover.h"
#include "numa/profile.h"
#include "numa/usable.h"
#include "numa/warning.h"
#include "tree.h"
#include "unit.h"

static struct tree tree;
static struct ath_machine machine;
static struct ath_err err;

static void setup(void)
{
    tree_make(&tree);
    machine = (struct ath_machine){ 0 };
    err = (struct ath_err){ 0 };
}

static void teardown(void)
{
    ath_machine_free(&machine);
    tree_remove(&tree);
}

static struct ath_pci pci_of(const char *text)
{
    struct ath_pci pci;
    ck_assert_int_eq(ath_pci_parse(text, &pci), 0);
    return pci;
}

static const struct ath_warning *find_warning(const char *code, const char *object)
{
    for (size_t i = 0; i < machine.warning_count; i++)
        if (!strcmp(machine.warnings[i].code, code) &&
            (!object ||
             (machine.warnings[i].object && !strcmp(machine.warnings[i].object, object))))
            return &machine.warnings[i];
    return NULL;
}

static struct ath_gpu *add_gpu(const char *address, int memory_node)
{
    struct ath_pci pci = pci_of(address);
    struct ath_gpu *gpu = ath_machine_add_gpu(&machine, &pci);
    gpu->memory_node = memory_node;
    return gpu;
}

static struct ath_nic *add_nic(const char *address, const char *netdev)
{
    struct ath_nic *nic = ath_machine_add_nic(&machine);
    nic->has_pci = true;
    nic->pci = pci_of(address);
    nic->netdev = ath_xstrdup(netdev);
    return nic;
}

static void add_node(int id, const char *cpus)
{
    struct ath_numa_node *node = ath_machine_add_node(&machine, id);
    node->is_online = true;
    ck_assert_int_eq(ath_idset_parse_list(cpus, &node->cpus), 0);
}

static void add_subnet(struct ath_nic *nic, const char *card, const char *subnet)
{
    if (!nic->card)
        nic->card = ath_xstrdup(card);
    *(char **)ath_push(&nic->subnets, &nic->subnet_count, sizeof *nic->subnets) =
        ath_xstrdup(subnet);
}

SECONDS(70);
FIXTURE(setup, teardown);

TEST(sorts_finds_and_links_memory_nodes)
{
    add_node(255, "");
    add_node(8, "64-127");
    add_node(254, "");
    add_node(0, "0-63");
    add_gpu("0035:03:00.0", 254);
    add_gpu("0004:04:00.0", 255)->numa_node = 0;
    add_nic("0033:01:00.0", "enP51p1s0f0")->rdma_device = ath_xstrdup("mlx5_4");
    add_nic("0003:01:00.0", "enP3p1s0f0");
    machine.nodes[0].memory_total_bytes = 15728640;
    ath_machine_finish(&machine);

    ck_assert_int_eq(machine.nodes[0].id, 0);
    ck_assert_int_eq(machine.nodes[3].id, 255);
    ck_assert_int_eq(ath_machine_node(&machine, 0)->kind, ATH_NODE_CPU);
    const struct ath_numa_node *memory = ath_machine_node(&machine, 255);
    ck_assert_int_eq(memory->kind, ATH_NODE_GPU);
    ck_assert(memory->has_gpu);
    ck_assert_uint_eq(memory->gpu.domain, 4);
    struct ath_pci first = pci_of("0004:04:00.0"), missing = pci_of("0004:06:00.0");
    ck_assert_ptr_eq(ath_machine_gpu(&machine, &first), &machine.gpus[0]);
    ck_assert_int_eq(machine.gpus[0].memory_total_bytes, 15728640);
    ck_assert_int_eq(machine.gpus[1].memory_total_bytes, ATH_UNKNOWN);
    ck_assert_ptr_null(ath_machine_gpu(&machine, &missing));
    ck_assert_ptr_null(ath_machine_node(&machine, 1));
    ck_assert_ptr_eq(ath_machine_nic_by_netdev(&machine, "enP51p1s0f0"), &machine.nics[1]);
    ck_assert_ptr_eq(ath_machine_nic_by_rdma(&machine, "mlx5_4"), &machine.nics[1]);
    ck_assert_ptr_null(ath_machine_nic_by_netdev(&machine, "eth0"));
    ck_assert_ptr_nonnull(find_warning("gpu-node-unknown", "0035:03:00.0"));
    ck_assert_ptr_null(find_warning("gpu-node-unknown", "0004:04:00.0"));
    ck_assert_str_eq(machine.profile, "generic");
    ck_assert_uint_eq(machine.pair_count, 4);
}

TEST(finishes_an_empty_machine)
{
    ath_machine_finish(&machine);
    ck_assert_uint_eq(machine.pair_count, 0);
    const struct ath_warning *warning = find_warning("no-gpu", NULL);
    ck_assert_ptr_nonnull(warning);
    ck_assert_ptr_null(warning->object);
    ck_assert_str_eq(warning->message, "no GPU can be seen in this machine");
    ck_assert_int_eq(ath_machine_distance(&machine, 0, 0), ATH_UNKNOWN);
    ath_machine_free(NULL);
}

TEST(drops_duplicates)
{
    add_node(0, "0-3");
    add_node(0, "4-7");
    add_gpu("0000:03:00.0", ATH_UNKNOWN);
    add_gpu("0000:03:00.0", ATH_UNKNOWN);
    add_nic("0000:81:00.0", "eth0");
    add_nic("0000:81:00.0", "eth0");
    add_nic("0000:81:00.0", "eth1");
    ath_machine_finish(&machine);
    ck_assert_uint_eq(machine.node_count, 1);
    ck_assert_uint_eq(machine.gpu_count, 1);
    ck_assert_uint_eq(machine.nic_count, 2);
    ck_assert_ptr_nonnull(find_warning("duplicate-node", "node 0"));
    ck_assert_ptr_nonnull(find_warning("duplicate-pci", "0000:03:00.0"));
    ck_assert_ptr_nonnull(find_warning("duplicate-pci", "0000:81:00.0"));
}

TEST(drops_ports_that_are_listed_for_each_node)
{
    add_node(0, "0-3");
    add_node(1, "4-7");
    const char *const names[] = { "eth0", "eth0", "eth1", NULL, NULL };
    for (size_t i = 0; i < ATH_COUNT(names); i++)
        ath_machine_add_nic(&machine)->netdev = ath_xstrdup(names[i]);
    struct ath_nic *rdma = &machine.nics[3];
    rdma->rdma_device = ath_xstrdup("mlx5_0");
    rdma->port = 1;
    add_nic("0000:81:00.0", "eth1");
    ath_machine_finish(&machine);
    ck_assert_uint_eq(machine.nic_count, 4);
    ck_assert(machine.nics[0].has_pci);
    ck_assert_str_eq(machine.nics[0].netdev, "eth1");
    size_t named = 0;
    for (size_t i = 1; i < machine.nic_count; i++)
        named += machine.nics[i].netdev && !strcmp(machine.nics[i].netdev, "eth0");
    ck_assert_uint_eq(named, 1);
    ck_assert_ptr_null(find_warning("duplicate-pci", NULL));
}

TEST(computes_the_speed_of_pcie)
{
    struct ath_gpu *gpu = add_gpu("0000:03:00.0", ATH_UNKNOWN);
    gpu->pcie_gen = 5;
    gpu->pcie_width = 16;
    gpu = add_gpu("0000:04:00.0", ATH_UNKNOWN);
    gpu->pcie_gen = 9;
    gpu->pcie_width = 16;
    ath_machine_finish(&machine);
    ck_assert_int_eq(machine.gpus[0].pcie_mbps, 504128);
    ck_assert_int_eq(machine.gpus[1].pcie_mbps, ATH_UNKNOWN);
}

TEST(trims_names)
{
    struct ath_gpu *gpu = add_gpu("0000:03:00.0", ATH_UNKNOWN);
    gpu->model = ath_xstrdup("Tesla V100 \t ");
    add_nic("0000:81:00.0", "eth0")->model = ath_xstrdup("  ");
    machine.model = ath_xstrdup("PowerEdge R740  ");
    ath_machine_finish(&machine);
    ck_assert_str_eq(machine.gpus[0].model, "Tesla V100");
    ck_assert_ptr_null(machine.nics[0].model);
    ck_assert_str_eq(machine.model, "PowerEdge R740");
}

/* If only one node has CPUs, every device belongs to it. With two such nodes, nothing is
 * guessed. */
TEST(assigns_everything_to_an_only_node)
{
    add_node(0, "0-3");
    add_node(2, "");
    add_gpu("0000:03:00.0", ATH_UNKNOWN);
    add_nic("0000:81:00.0", "eth0");
    ath_machine_finish(&machine);
    ck_assert_int_eq(machine.gpus[0].numa_node, 0);
    ck_assert_int_eq(machine.nics[0].numa_node, 0);
    ck_assert_int_eq(machine.nodes[1].kind, ATH_NODE_MEMORY);
    ck_assert_ptr_null(find_warning("gpu-node-unknown", NULL));
}

TEST(warns_about_gpu_memory)
{
    add_node(0, "0-3");
    add_node(255, "");
    add_gpu("0004:04:00.0", 255)->memory_state = ATH_MEMORY_OFFLINE;
    add_gpu("0004:05:00.0", 254)->memory_state = ATH_MEMORY_ONLINE;
    ath_machine_finish(&machine);
    const struct ath_warning *offline = find_warning("gpu-memory-offline", "0004:04:00.0");
    ck_assert_ptr_nonnull(offline);
    ck_assert_ptr_nonnull(strstr(offline->message, "'0004:04:00.0' (NUMA node 255)"));
    ck_assert_ptr_nonnull(strstr(offline->hint, "nvidia-persistenced"));
    ck_assert_ptr_nonnull(find_warning("memory-node-missing", "0004:05:00.0"));
    ck_assert_ptr_null(find_warning("memory-node-missing", "0004:04:00.0"));
}

static struct ath_gpu *add_v100(const char *address, int memory_node)
{
    struct ath_gpu *gpu = add_gpu(address, memory_node);
    gpu->vendor_id = ATH_VENDOR_NVIDIA;
    gpu->device_id = 0x1db5;
    return gpu;
}

static size_t count_warnings(const char *code)
{
    size_t count = 0;
    for (size_t i = 0; i < machine.warning_count; i++)
        count += !strcmp(machine.warnings[i].code, code);
    return count;
}

/* On an AC922 each V100 has a node of memory. A T4 in the same machine has none. */
TEST(warns_about_gpus_without_their_memory_node)
{
    machine.model = ath_xstrdup("8335-GTH");
    add_node(0, "0-3");
    add_node(254, "");
    add_node(255, "");
    add_v100("0004:04:00.0", 255);
    add_v100("0004:05:00.0", ATH_UNKNOWN);
    add_v100("0004:06:00.0", ATH_UNKNOWN)->device_id = 0x1eb8;
    ath_machine_finish(&machine);
    ck_assert_ptr_nonnull(find_warning("gpu-memory-unknown", "0004:05:00.0"));
    ck_assert_uint_eq(machine.warning_count, 1);
}

/* NCCL's files name no model, but the architecture and the GPUs. */
LOOP_TEST(knows_gpus_of_power_without_a_model, 0, 2)
{
    machine.arch = ath_xstrdup(_i ? "ppc64le" : "x86_64");
    add_node(0, "0-3");
    add_v100("0004:04:00.0", ATH_UNKNOWN);
    ath_machine_finish(&machine);
    ck_assert_int_eq(find_warning("gpu-memory-unknown", "0004:04:00.0") != NULL, _i);
}

/* GPUs of one model are alike: on Grace Hopper the driver says of each which node is its memory. */
TEST(warns_about_the_one_gpu_without_a_memory_node)
{
    add_node(0, "0-3");
    add_node(1, "");
    add_v100("0009:01:00.0", 1)->device_id = 0x2342;
    add_v100("0019:01:00.0", ATH_UNKNOWN)->device_id = 0x2342;
    add_v100("0029:01:00.0", ATH_UNKNOWN)->device_id = 0x20b5;
    ath_machine_finish(&machine);
    ck_assert_ptr_nonnull(find_warning("gpu-memory-unknown", "0019:01:00.0"));
    ck_assert_uint_eq(machine.warning_count, 1);
}

/* A file may show the memory of GPUs without the GPUs. */
TEST(warns_about_gpu_memory_without_gpus)
{
    machine.model = ath_xstrdup("8335-GTW");
    add_node(0, "0-3");
    add_node(250, "");
    add_node(251, "");
    ath_machine_finish(&machine);
    ck_assert_ptr_nonnull(find_warning("memory-owner-unknown", "nodes 250-251"));

    ath_machine_free(&machine);
    machine.profile = "ac922";
    add_node(0, "0-3");
    add_node(250, "");
    ath_machine_finish(&machine);
    ck_assert_ptr_nonnull(find_warning("memory-owner-unknown", "node 250"));

    ath_machine_free(&machine);
    machine.profile = "ac922";
    add_node(0, "0-3");
    add_node(8, ""); /* sockets whose CPUs are all offline */
    add_node(16, "");
    add_v100("0035:03:00.0", ATH_UNKNOWN)->numa_node = 8;
    ath_machine_add_nic(&machine)->numa_node = 16;
    ath_machine_finish(&machine);
    ck_assert(!ath_node_has_no_owner(&machine, ath_machine_node(&machine, 8)));
    ck_assert(!ath_node_has_no_owner(&machine, ath_machine_node(&machine, 16)));

    ath_machine_free(&machine);
    add_node(0, "0-3");
    add_node(2, ""); /* CXL memory */
    ath_machine_finish(&machine);
    ck_assert_uint_eq(count_warnings("memory-owner-unknown"), 0);
}

TEST(warns_about_gpus_that_no_driver_reaches)
{
    add_node(0, "0-3");
    add_v100("0000:01:00.0", ATH_UNKNOWN)->knows_driver = true;
    struct ath_gpu *passed = add_v100("0000:02:00.0", ATH_UNKNOWN);
    passed->knows_driver = true;
    passed->driver = ath_xstrdup("vfio-pci");
    struct ath_gpu *fine = add_v100("0000:03:00.0", ATH_UNKNOWN);
    fine->knows_driver = true;
    fine->driver = ath_xstrdup("nvidia");
    add_v100("0000:04:00.0", ATH_UNKNOWN); /* the capture does not show drivers */
    add_v100("0000:05:00.0", ATH_UNKNOWN)->is_lost = true;
    ath_machine_finish(&machine);
    ck_assert_str_eq(find_warning("gpu-without-driver", "0000:01:00.0")->hint,
                     "lspci -k -s 0000:01:00.0; modprobe nvidia; dmesg | grep -i -e nvrm -e xid");
    const struct ath_warning *other = find_warning("gpu-without-driver", "0000:02:00.0");
    ck_assert_ptr_nonnull(strstr(other->message, "'vfio-pci'"));
    ck_assert_ptr_nonnull(strstr(other->hint, "echo 0000:02:00.0 > driver/unbind"));
    ck_assert_ptr_nonnull(find_warning("gpu-lost", "0000:05:00.0"));
    ck_assert_uint_eq(machine.warning_count, 3);
}

/* Without any size, the source does not know sizes. */
LOOP_TEST(warns_about_cpus_without_memory, 0, 2)
{
    add_node(0, "0-3");
    add_node(8, "4-7");
    machine.nodes[0].memory_total_bytes = _i ? 1 << 30 : 0;
    machine.nodes[1].memory_total_bytes = 0;
    ath_machine_finish(&machine);
    ck_assert_uint_eq(count_warnings("node-without-memory"), (size_t)_i);
    ck_assert_int_eq(find_warning("node-without-memory", "node 8") != NULL, _i);
}

TEST(warns_about_cpus_of_several_nodes)
{
    add_node(0, "0-3");
    add_node(1, "4-7");
    add_node(2, "6-9");
    ath_machine_finish(&machine);
    const struct ath_warning *warning = find_warning("cpus-shared", "node 2");
    ck_assert_ptr_nonnull(warning);
    ck_assert_ptr_nonnull(strstr(warning->message, "CPUs 6-7"));
    ck_assert_ptr_nonnull(strstr(warning->message, "node 1"));
    ck_assert_uint_eq(count_warnings("cpus-shared"), 1);
}

/* Threads that ppc64_cpu --smt=N or smt/control switch off are a setting; whole cores are not. */
LOOP_TEST(warns_about_offline_cores_not_about_smt, 0, 9)
{
    static const struct {
        const char *arch, *online;
        bool is_smt_off, is_warned;
    } cases[] = {
        { "ppc64le", "8,12,16,20", false, false },            /* --smt=off on POWER9 */
        { "ppc64le", "8-9,12-13,16-17,20-21", false, false }, /* --smt=2 */
        { "ppc64le", "8,16", false, false },                  /* --smt=off on POWER8 */
        { "ppc64le", "8-15", false, true },                   /* cores offline */
        { "ppc64le", "8,12,16", false, true },
        { "ppc64le", "8-11,13-23", false, true },
        { "ppc64le", "", false, true },
        { "x86_64", "8-15", true, false },
        { "x86_64", "8-15", false, true },
    };
    machine.arch = ath_xstrdup(cases[_i].arch);
    machine.is_smt_off = cases[_i].is_smt_off;
    add_node(8, "8-23");
    machine.nodes[0].has_cpus_online = true;
    ck_assert_int_eq(ath_idset_parse_list(cases[_i].online, &machine.nodes[0].cpus_online), 0);
    ath_machine_finish(&machine);
    ck_assert_int_eq(find_warning("cpus-offline", "node 8") != NULL, cases[_i].is_warned);
}

TEST(warns_about_two_links_of_a_card_in_one_subnet)
{
    add_subnet(add_nic("0003:01:00.0", "a"), "0003:01:00.0", "10.0.0.0/24");
    add_subnet(add_nic("0033:01:00.0", "b"), "0003:01:00.0", "10.0.0.0/24");
    add_subnet(&machine.nics[1], NULL, "10.7.0.0/24");
    add_subnet(add_nic("0033:01:00.1", "c"), "0003:01:00.0", "10.1.0.0/24");
    add_subnet(add_nic("0030:01:00.0", "d"), "0030:01:00.0", "10.1.0.0/24");
    ath_machine_finish(&machine);
    const struct ath_warning *warning = find_warning("same-subnet", "a");
    ck_assert_ptr_nonnull(warning);
    ck_assert_ptr_nonnull(strstr(warning->message, "'a' and 'b'"));
    ck_assert_ptr_nonnull(strstr(warning->message, "10.0.0.0/24"));
    ck_assert_ptr_null(find_warning("same-subnet", "c"));
}

TEST(counts_a_bond_as_one_link)
{
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = { "a", "b", "c" };
        struct ath_nic *nic = add_nic("0003:01:00.0", names[i]);
        add_subnet(nic, "0003:01:00.0", "10.0.0.0/24");
        nic->master = ath_xstrdup("bond0");
    }
    ath_machine_finish(&machine);
    ck_assert_ptr_null(find_warning("same-subnet", NULL));
    free(machine.nics[1].master);
    machine.nics[1].master = NULL;
    ath_machine_finish(&machine);
    const struct ath_warning *warning = find_warning("same-subnet", NULL);
    ck_assert_ptr_nonnull(warning);
    ck_assert_ptr_nonnull(strstr(warning->message, "'b' and 'bond0'"));
}

TEST(warns_about_ports_that_rdma_cannot_use)
{
    struct ath_nic *nic = add_nic("0003:01:00.0", NULL);
    nic->link_layer = ATH_LAYER_INFINIBAND;
    nic->vendor_id = 0x15b3;
    nic->device_id = 0x1019;
    nic->rdma_device = ath_xstrdup("mlx5_0");
    nic->port = 1;
    nic = add_nic("0004:01:00.0", "ib9"); /* a Connect-IB cannot do Ethernet */
    nic->link_layer = ATH_LAYER_INFINIBAND;
    nic->vendor_id = 0x15b3;
    nic->device_id = 0x1011;
    nic = add_nic("0005:01:00.0", "eth5");
    nic->link_layer = ATH_LAYER_ETHERNET;
    nic->rdma_device = ath_xstrdup("mlx5_5");
    nic->link = ATH_LINK_UP;
    nic->has_roce = true;
    nic = add_nic("0006:01:00.0", "eth6");
    nic->link_layer = ATH_LAYER_ETHERNET;
    nic->rdma_device = ath_xstrdup("mlx5_6");
    nic->link = ATH_LINK_UP;
    nic->has_roce = true;
    nic->best_gid_index = 3;
    nic = add_nic("0007:01:00.1", "eth8");
    nic->link_layer = ATH_LAYER_ETHERNET;
    nic->rdma_device = ath_xstrdup("mlx5_7");
    nic->link = ATH_LINK_UP;
    nic->rdma_state = ATH_LINK_DOWN;
    nic->has_roce = true;
    nic = add_nic("0007:01:00.0", "eth7"); /* usNIC, or a capture without GIDs */
    nic->link_layer = ATH_LAYER_ETHERNET;
    nic->rdma_device = ath_xstrdup("usnic_0");
    nic->link = ATH_LINK_UP;
    nic = add_nic("0003:01:00.1", NULL);
    nic->link_layer = ATH_LAYER_INFINIBAND;
    nic->vendor_id = 0x15b3;
    nic->device_id = 0x1019;
    nic->rdma_device = ath_xstrdup("mlx5_1");
    nic->port = 1;
    ath_machine_finish(&machine);
    const struct ath_warning *warning = find_warning("infiniband-mode", "mlx5_0");
    ck_assert_ptr_nonnull(warning);
    ck_assert_ptr_nonnull(strstr(warning->hint, "mlxconfig -d 0003:01:00.0 set LINK_TYPE_P1=2"));
    warning = find_warning("infiniband-mode", "mlx5_1");
    ck_assert_ptr_nonnull(warning);
    ck_assert_ptr_nonnull(strstr(warning->hint, "mlxconfig -d 0003:01:00.1 set LINK_TYPE_P2=2"));
    ck_assert_ptr_null(find_warning("infiniband-mode", "ib9"));
    ck_assert_ptr_null(find_warning("no-usable-gid", "usnic_0"));
    warning = find_warning("no-usable-gid", "mlx5_5");
    ck_assert_str_eq(warning->message, "'mlx5_5' has no usable GID: its link has no address");
    ck_assert_str_eq(warning->hint, "ip address add ADDRESS/PREFIX dev eth5");
    warning = find_warning("no-usable-gid", "mlx5_7");
    ck_assert_str_eq(warning->message, "'mlx5_7' has no usable GID: the RDMA port is not active");
    ck_assert_str_eq(warning->hint, "rdma link show mlx5_7");
    ck_assert_ptr_null(find_warning("no-usable-gid", "mlx5_6"));
}

TEST(warns_once_for_each_object)
{
    ath_warning_add(&machine, ATH_W_SAME_SUBNET, "a", "b", NULL);
    ath_warning_add(&machine, ATH_W_SAME_SUBNET, "a", "c", "10.0.0.0/8", NULL);
    ath_warning_add(&machine, ATH_W_SAME_SUBNET, "b", "{0}", "%s", NULL);
    ck_assert_uint_eq(machine.warning_count, 2);
    ck_assert_ptr_nonnull(strstr(machine.warnings[0].message, "(?)"));
    ck_assert_ptr_nonnull(strstr(machine.warnings[1].message, "'{0}'"));
    ck_assert_ptr_nonnull(strstr(machine.warnings[1].message, "(%s)"));
}

TEST(has_a_word_for_every_warning)
{
    for (int kind = 0; kind < ATH_W_COUNT; kind++) {
        const char *word = ath_warning_word((enum ath_warning_kind)kind);
        ck_assert_uint_eq(strspn(word, "abcdefghijklmnopqrstuvwxyz-"), strlen(word));
        ck_assert_uint_gt(strlen(ath_warning_message((enum ath_warning_kind)kind)), 10);
        for (int other = 0; other < kind; other++)
            ck_assert_str_ne(word, ath_warning_word((enum ath_warning_kind)other));
    }
}

TEST(finds_profiles)
{
    ck_assert_str_eq(ath_profile_of("8335-GTW", NULL), "ac922");
    ck_assert_str_eq(ath_profile_of("IBM Power System AC922", NULL), "ac922");
    ck_assert_str_eq(ath_profile_of("board", "ibm,witherspoon ibm,powernv"), "ac922");
    ck_assert_str_eq(ath_profile_of("8335-GCA", "ibm,firestone"), "generic");
    ck_assert_str_eq(ath_profile_of(NULL, NULL), "generic");
}

static int discover(const char *root)
{
    struct ath_machine_source source = { .root = root };
    return ath_machine_discover(&source, &machine, &err);
}

TEST(discovers_a_root)
{
    tree_node(&tree, 0, "0-3", "1000");
    tree_put(&tree, "HostName: c685f8n02\nOSRelease: 4.14.0\nArchitecture: ppc64le\n",
             "proc/hwloc-nofile-info");
    tree_put(&tree, "processor : 0\n\nmodel\t\t: 8335-GTW\nmachine\t\t: PowerNV 8335-GTW\n",
             "proc/cpuinfo");
    tree_pci(&tree, "pci0000:00", "0000:03:00.0", "0x030200", "0x10de", "0x1db1");
    tree_pci(&tree, "pci0000:00", "0000:04:00.0", "0x020000", "0x15b3", "0x1019");
    ck_assert_int_eq(discover(tree.path), 0);
    ck_assert_str_eq(machine.hostname, "c685f8n02");
    ck_assert_str_eq(machine.kernel, "4.14.0");
    ck_assert_str_eq(machine.arch, "ppc64le");
    ck_assert_str_eq(machine.model, "8335-GTW");
    ck_assert_str_eq(machine.profile, "ac922");
    ck_assert_int_eq(machine.source, ATH_SOURCE_ROOT);
    ck_assert_uint_eq(machine.gpu_count, 1);
    ck_assert_uint_eq(machine.nic_count, 1);
    ck_assert_uint_eq(machine.pair_count, 1);
    ck_assert_int_eq(machine.gpus[0].numa_node, 0);
}

TEST(reads_host_facts_of_pcs)
{
    tree_node(&tree, 0, "0-3", "1000");
    tree_put(&tree, "node7\n", "proc/sys/kernel/hostname");
    tree_put(&tree, "Linux version 6.1.0-18-amd64 (x@y) #1 SMP\n", "proc/version");
    tree_put(&tree, "processor : 0\nmodel\t\t: 143\nmodel name : Xeon\n", "proc/cpuinfo");
    tree_put(&tree, "Dell Inc.\n", "sys/class/dmi/id/sys_vendor");
    tree_put(&tree, "PowerEdge XE9680\n", "sys/class/dmi/id/product_name");
    ck_assert_int_eq(discover(tree.path), 0);
    ck_assert_str_eq(machine.hostname, "node7");
    ck_assert_str_eq(machine.kernel, "6.1.0-18-amd64");
    ck_assert_str_eq(machine.model, "Dell Inc. PowerEdge XE9680");
    ck_assert_ptr_null(machine.arch);
    ath_machine_free(&machine);
    tree_put(&tree, "To be filled by O.E.M.\n", "sys/class/dmi/id/product_name");
    ck_assert_int_eq(discover(tree.path), 0);
    ck_assert_ptr_null(machine.model);
}

TEST(suggests_a_root_one_folder_down)
{
    char expected[128];
    tree_folder(&tree, "capture/sys");
    tree_folder(&tree, "other");
    ck_assert_int_lt(discover(tree.path), 0);
    ck_assert_int_eq(err.code, ATH_E_ROOT_INVALID);
    snprintf(expected, sizeof expected, "--root %s/capture", tree.path);
    ck_assert_str_eq(err.hint, expected);
    tree_folder(&tree, "proc/sys"); /* the folder itself lacks its 'sys' */
    ck_assert_int_lt(discover(tree.path), 0);
    ck_assert_str_eq(err.hint, expected);
    tree_folder(&tree, "second/sys");
    ck_assert_int_lt(discover(tree.path), 0);
    ck_assert_ptr_null(strstr(err.hint, "/capture"));
}

LOOP_TEST(says_that_a_capture_lacks_proc, 0, 2)
{
    tree_put(&tree, "0\n", "sys/devices/system/node/online");
    tree_put(&tree, "0-3\n", "sys/devices/system/node/node0/cpulist");
    if (_i)
        tree_folder(&tree, "proc");
    ck_assert_int_eq(discover(tree.path), 0);
    ck_assert_int_eq(find_warning("incomplete", tree.path) == NULL, _i);
}

TEST(reports_a_missing_root)
{
    ck_assert_int_eq(discover("/nonexistent/capture"), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.message, "/nonexistent/capture"));
    tree_put(&tree, "x", "sys");
    ck_assert_int_lt(discover(tree.path), 0);
    ck_assert_int_eq(err.code, ATH_E_ROOT_INVALID);
}

TEST(discovers_this_machine)
{
    int status = discover(NULL);
    ck_assert_msg(status == 0 || err.code == ATH_E_NO_NUMA, "%s", err.message);
    if (status)
        return;
    ck_assert_int_eq(machine.source, ATH_SOURCE_LIVE);
    ck_assert_ptr_nonnull(machine.hostname);
    ck_assert_ptr_nonnull(machine.arch);
    ck_assert_uint_gt(machine.node_count, 0);
    ck_assert_str_eq(ath_source_word(machine.source), "live");
    ck_assert_str_eq(ath_node_kind_word(machine.nodes[0].kind),
                     machine.nodes[0].cpus.range_count ? "cpu" : "memory");
}
