/* The whole machine: finding, completing, discovering a root, and its warnings. */
#include "config.h"

#include "numa/machine.h"

#include <check.h>
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "numa/discover.h"
#include "numa/profile.h"
#include "numa/warning.h"
#include "tree.h"

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

START_TEST(sorts_finds_and_ties)
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
END_TEST

START_TEST(finishes_an_empty_machine)
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
END_TEST

START_TEST(drops_doubles)
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
END_TEST

/* Everything is at the one node that has CPUs; with two, nothing is guessed. */
START_TEST(places_all_on_an_only_node)
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
END_TEST

START_TEST(warns_of_gpu_memory)
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
END_TEST

START_TEST(warns_of_one_subnet_on_one_card)
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
END_TEST

START_TEST(takes_a_bond_for_one_link)
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
END_TEST

START_TEST(warns_of_ports_that_rdma_cannot_use)
{
    struct ath_nic *nic = add_nic("0003:01:00.0", NULL);
    nic->link_layer = ATH_LAYER_INFINIBAND;
    nic->vendor_id = 0x15b3;
    nic->device_id = 0x1019;
    nic->rdma_device = ath_xstrdup("mlx5_0");
    nic->port = 1;
    nic = add_nic("0004:01:00.0", "ib9"); /* a Connect-IB knows no Ethernet */
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
    warning = find_warning("infiniband-mode", "mlx5_1"); /* the card's second port */
    ck_assert_ptr_nonnull(warning);
    ck_assert_ptr_nonnull(strstr(warning->hint, "mlxconfig -d 0003:01:00.1 set LINK_TYPE_P2=2"));
    ck_assert_ptr_null(find_warning("infiniband-mode", "ib9"));
    ck_assert_ptr_null(find_warning("no-usable-gid", "usnic_0"));
    ck_assert_ptr_nonnull(find_warning("no-usable-gid", "mlx5_5"));
    ck_assert_ptr_null(find_warning("no-usable-gid", "mlx5_6"));
}
END_TEST

START_TEST(warns_once_for_one_object)
{
    ath_warning_add(&machine, ATH_W_SAME_SUBNET, "a", "b", NULL);
    ath_warning_add(&machine, ATH_W_SAME_SUBNET, "a", "c", "10.0.0.0/8", NULL);
    ath_warning_add(&machine, ATH_W_SAME_SUBNET, "b", "{0}", "%s", NULL);
    ck_assert_uint_eq(machine.warning_count, 2);
    ck_assert_ptr_nonnull(strstr(machine.warnings[0].message, "(?)"));
    ck_assert_ptr_nonnull(strstr(machine.warnings[1].message, "'{0}'"));
    ck_assert_ptr_nonnull(strstr(machine.warnings[1].message, "(%s)"));
}
END_TEST

START_TEST(has_a_word_for_every_warning)
{
    for (int kind = 0; kind < ATH_W_COUNT; kind++) {
        const char *word = ath_warning_word((enum ath_warning_kind)kind);
        ck_assert_uint_eq(strspn(word, "abcdefghijklmnopqrstuvwxyz-"), strlen(word));
        ck_assert_uint_gt(strlen(ath_warning_message((enum ath_warning_kind)kind)), 10);
        for (int other = 0; other < kind; other++)
            ck_assert_str_ne(word, ath_warning_word((enum ath_warning_kind)other));
    }
}
END_TEST

START_TEST(knows_profiles)
{
    ck_assert_str_eq(ath_profile_of("8335-GTW", NULL), "ac922");
    ck_assert_str_eq(ath_profile_of("IBM Power System AC922", NULL), "ac922");
    ck_assert_str_eq(ath_profile_of("board", "ibm,witherspoon ibm,powernv"), "ac922");
    ck_assert_str_eq(ath_profile_of("8335-GCA", "ibm,firestone"), "generic");
    ck_assert_str_eq(ath_profile_of(NULL, NULL), "generic");
}
END_TEST

static int discover(const char *root)
{
    struct ath_machine_source source = { .root = root };
    return ath_machine_discover(&source, &machine, &err);
}

START_TEST(discovers_a_root)
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
END_TEST

START_TEST(reads_host_facts_of_pcs)
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
END_TEST

START_TEST(points_to_a_root_one_folder_down)
{
    char expected[128];
    tree_folder(&tree, "capture/sys");
    tree_folder(&tree, "other");
    ck_assert_int_lt(discover(tree.path), 0);
    ck_assert_int_eq(err.code, ATH_E_ROOT_INVALID);
    snprintf(expected, sizeof expected, "--root %s/capture", tree.path);
    ck_assert_str_eq(err.hint, expected);
    tree_folder(&tree, "second/sys");
    ck_assert_int_lt(discover(tree.path), 0);
    ck_assert_ptr_null(strstr(err.hint, "/capture"));
}
END_TEST

START_TEST(names_a_root_that_is_not_there)
{
    ck_assert_int_eq(discover("/nonexistent/capture"), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.message, "/nonexistent/capture"));
    tree_put(&tree, "x", "sys");
    ck_assert_int_lt(discover(tree.path), 0);
    ck_assert_int_eq(err.code, ATH_E_ROOT_INVALID);
}
END_TEST

START_TEST(discovers_this_machine)
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
END_TEST

int main(void)
{
    TCase *cases = tcase_create("machine");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 70);
    tcase_add_test(cases, sorts_finds_and_ties);
    tcase_add_test(cases, finishes_an_empty_machine);
    tcase_add_test(cases, drops_doubles);
    tcase_add_test(cases, places_all_on_an_only_node);
    tcase_add_test(cases, warns_of_gpu_memory);
    tcase_add_test(cases, warns_of_one_subnet_on_one_card);
    tcase_add_test(cases, takes_a_bond_for_one_link);
    tcase_add_test(cases, warns_of_ports_that_rdma_cannot_use);
    tcase_add_test(cases, warns_once_for_one_object);
    tcase_add_test(cases, has_a_word_for_every_warning);
    tcase_add_test(cases, knows_profiles);
    tcase_add_test(cases, discovers_a_root);
    tcase_add_test(cases, reads_host_facts_of_pcs);
    tcase_add_test(cases, points_to_a_root_one_folder_down);
    tcase_add_test(cases, names_a_root_that_is_not_there);
    tcase_add_test(cases, discovers_this_machine);
    return run_case(cases, "machine");
}
