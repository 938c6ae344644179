/* NUMA nodes: sparse, offline, memory-only, and on a kernel without NUMA. */
#include "config.h"

#include "numa/node.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "tree.h"
#include "unit.h"

static struct tree tree;
static struct ath_root root;
static struct ath_machine machine;
static struct ath_err err;

static void setup(void)
{
    tree_make(&tree);
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    machine = (struct ath_machine){ 0 };
}

static void teardown(void)
{
    ath_machine_free(&machine);
    ath_root_free(&root);
    tree_remove(&tree);
}

static void read_nodes(size_t expected)
{
    ck_assert_int_eq(ath_nodes_read(&root, &machine, &err), 0);
    ck_assert_uint_eq(machine.node_count, expected);
    ath_machine_sort(&machine);
}

static void put_online(const char *nodes, const char *cpus)
{
    tree_put(&tree, nodes, "sys/devices/system/node/online");
    tree_put(&tree, cpus, "sys/devices/system/cpu/online");
}

static void put_distance(int id, const char *text)
{
    tree_put(&tree, text, "sys/devices/system/node/node%d/distance", id);
}

static bool has_warning(const char *code, const char *object)
{
    for (size_t i = 0; i < machine.warning_count; i++)
        if (!strcmp(machine.warnings[i].code, code) &&
            (!object || !strcmp(machine.warnings[i].object, object)))
            return true;
    return false;
}

static void expect_cpus(int id, const char *cpus, const char *online)
{
    const struct ath_numa_node *node = ath_machine_node(&machine, id);
    ck_assert_ptr_nonnull(node);
    ath_auto_free char *all = ath_idset_format(&node->cpus);
    ath_auto_free char *running = ath_idset_format(&node->cpus_online);
    ck_assert_str_eq(all, cpus);
    ck_assert_str_eq(running, online);
}

FIXTURE(setup, teardown);

/* Like an AC922 with two GPUs: ids far apart, and CPUs switched off. */
TEST(reads_sparse_nodes)
{
    put_online("0,8,254-255\n", "0-15,88-103\n");
    tree_put(&tree, "0-255\n", "sys/devices/system/node/possible");
    tree_node(&tree, 0, "0-87\n", "129839104");
    tree_node(&tree, 8, "88-175\n", "133952000");
    tree_node(&tree, 254, "\n", "15728640");
    tree_node(&tree, 255, "\n", "15728640");
    put_distance(0, "10 40 80 80\n");
    put_distance(8, "40 10 80 80\n");
    put_distance(254, "80 80 10 80\n");
    put_distance(255, "80 80 80 10\n");
    tree_put(&tree, "4\n",
             "sys/devices/system/node/node8/hugepages/hugepages-1048576kB/nr_hugepages");
    tree_put(&tree, "12\n",
             "sys/devices/system/node/node8/hugepages/hugepages-2048kB/nr_hugepages");
    tree_put(&tree, "7\n",
             "sys/devices/system/node/node8/hugepages/hugepages-2048kB/free_hugepages");
    read_nodes(4);
    expect_cpus(0, "0-87", "0-15");
    expect_cpus(8, "88-175", "88-103");
    expect_cpus(255, "", "");
    const struct ath_numa_node *node = ath_machine_node(&machine, 8);
    ck_assert(node->is_online);
    ck_assert_int_eq(node->memory_total_bytes, INT64_C(133952000) * 1024);
    ck_assert_int_eq(node->memory_free_bytes, 8 * 1024);
    ck_assert_uint_eq(node->hugepage_count, 2);
    ck_assert_int_eq(node->hugepages[0].size_bytes, 2048 * 1024);
    ck_assert_int_eq(node->hugepages[0].total, 12);
    ck_assert_int_eq(node->hugepages[0].free, 7);
    ck_assert_int_eq(node->hugepages[1].total, 4);
    ck_assert_int_eq(node->hugepages[1].free, ATH_UNKNOWN);
    ck_assert_int_eq(ath_machine_distance(&machine, 0, 8), 40);
    ck_assert_int_eq(ath_machine_distance(&machine, 8, 255), 80);
    ck_assert_int_eq(ath_machine_distance(&machine, 255, 255), 10);
    ck_assert_int_eq(ath_machine_distance(&machine, 0, 1), ATH_UNKNOWN);
}

TEST(works_without_optional_files)
{
    tree_put(&tree, "00000000,000000f0\n", "sys/devices/system/node/node3/cpumap");
    read_nodes(1);
    const struct ath_numa_node *node = ath_machine_node(&machine, 3);
    ath_auto_free char *cpus = ath_idset_format(&node->cpus);
    ck_assert_str_eq(cpus, "4-7");
    ck_assert(!node->has_cpus_online);
    ck_assert(node->is_online);
    ck_assert_int_eq(node->memory_total_bytes, ATH_UNKNOWN);
    ck_assert_uint_eq(node->distance_count, 0);
    ck_assert_uint_eq(machine.warning_count, 0);
}

/* Kernels before 2.6.28 have no list of the CPUs that are online. */
TEST(reads_online_cpus_one_by_one)
{
    tree_node(&tree, 0, "0-3", "1000");
    tree_folder(&tree, "sys/devices/system/cpu/cpu0");
    tree_put(&tree, "1\n", "sys/devices/system/cpu/cpu1/online");
    tree_put(&tree, "0\n", "sys/devices/system/cpu/cpu2/online");
    tree_put(&tree, "1\n", "sys/devices/system/cpu/cpu3/online");
    tree_folder(&tree, "sys/devices/system/cpu/cpuidle");
    read_nodes(1);
    const struct ath_numa_node *node = ath_machine_node(&machine, 0);
    ath_auto_free char *online = ath_idset_format(&node->cpus_online);
    ck_assert(node->has_cpus_online);
    ck_assert_str_eq(online, "0-1,3");
}

TEST(tells_the_kind_of_memory_from_dax_devices)
{
    static const struct {
        const char *device, *place, *kind;
        int node;
    } rows[] = {
        { "dax0.0", "platform/ACPI0017:00/root0/decoder0.0/region0/dax_region0/dax0.0", "CXL", 2 },
        { "dax1.0", "LNXSYSTM:00/ACPI0012:00/ndbus0/region1/dax1.1/dax1.0", "NVM", 3 },
        { "dax2.0", "platform/hmem.0/dax2.0", "SPM", 4 },
        { "dax3.0", "platform/hmem.1/dax3.0", NULL, 0 }, /* the node has CPUs */
        { "dax4.0", "platform/other/dax4.0", NULL, 5 },
    };
    tree_node(&tree, 0, "0-3", "1000");
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        char target[256], node[16];
        if (rows[i].node)
            tree_node(&tree, rows[i].node, "", "1000");
        snprintf(target, sizeof target, "../../../devices/%s", rows[i].place);
        snprintf(node, sizeof node, "%d\n", rows[i].node);
        tree_put(&tree, node, "sys/devices/%s/target_node", rows[i].place);
        tree_link(&tree, target, "sys/bus/dax/devices/%s", rows[i].device);
    }
    read_nodes(5);
    for (size_t i = 0; i < ATH_COUNT(rows); i++)
        ck_assert_pstr_eq(ath_machine_node(&machine, rows[i].node)->memory_kind, rows[i].kind);
}

TEST(ignores_distances_that_do_not_fit)
{
    put_online("0-1", "0-3");
    tree_node(&tree, 0, "0-1", "1");
    tree_node(&tree, 1, "2-3", "1");
    put_distance(0, "10 20 20");
    put_distance(1, "20 ten");
    read_nodes(2);
    ck_assert_int_eq(ath_machine_distance(&machine, 0, 0), ATH_UNKNOWN);
    ck_assert_int_eq(ath_machine_distance(&machine, 1, 0), ATH_UNKNOWN);
    ck_assert(has_warning("distance-unknown", "node 0"));
    ck_assert(has_warning("garbled", "sys/devices/system/node/node1/distance"));
}

TEST(warns_about_an_online_node_without_a_folder)
{
    put_online("0,5", "0-1");
    tree_node(&tree, 0, "0-1", "1");
    put_distance(0, "10 20");
    read_nodes(2);
    ck_assert_int_eq(ath_machine_node(&machine, 5)->memory_total_bytes, ATH_UNKNOWN);
    ck_assert(has_warning("unreadable", "sys/devices/system/node/node5"));
    ck_assert_int_eq(ath_machine_distance(&machine, 0, 5), 20);
}

TEST(survives_garbage)
{
    put_online("0-16777216\n", "not a list\n");
    tree_node(&tree, 0, "0-3", "99999999999999999999");
    tree_node(&tree, 2, "junk", "-4");
    tree_put(&tree, "x", "sys/devices/system/node/node99999999999/cpulist");
    tree_put(&tree, "x", "sys/devices/system/node/node-1/cpulist");
    tree_folder(&tree, "sys/devices/system/node/node2/hugepages/hugepages-kB");
    tree_folder(&tree, "sys/devices/system/node/node2/hugepages/hugepages-99999999999999999999kB");
    read_nodes(2);
    ck_assert_int_eq(ath_machine_node(&machine, 0)->memory_total_bytes, ATH_UNKNOWN);
    ck_assert_int_eq(ath_machine_node(&machine, 2)->memory_total_bytes, ATH_UNKNOWN);
    ck_assert_uint_eq(ath_machine_node(&machine, 2)->hugepage_count, 0);
    ck_assert(has_warning("garbled", "sys/devices/system/node/online"));
    ck_assert(has_warning("garbled", "sys/devices/system/cpu/online"));
    ck_assert(has_warning("garbled", "sys/devices/system/node/node2/cpulist"));
}

TEST(treats_a_kernel_without_numa_as_one_node)
{
    tree_put(&tree, "0-1\n", "sys/devices/system/cpu/online");
    tree_put(&tree, "0-3\n", "sys/devices/system/cpu/present");
    tree_put(&tree, "MemTotal:  4000 kB\nMemFree:   1000 kB\n", "proc/meminfo");
    read_nodes(1);
    expect_cpus(0, "0-3", "0-1");
    ck_assert_int_eq(machine.nodes[0].memory_total_bytes, 4000 * 1024);
    ck_assert_int_eq(machine.nodes[0].memory_free_bytes, 1000 * 1024);
    ck_assert(has_warning("no-numa-kernel", NULL));
}

TEST(reports_that_there_is_no_node)
{
    tree_folder(&tree, "sys/devices");
    ck_assert_int_lt(ath_nodes_read(&root, &machine, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_NO_NUMA);
    ck_assert_ptr_nonnull(strstr(err.message, tree.path));
    tree_folder(&tree, "sys/devices/system/node/power");
    ck_assert_int_lt(ath_nodes_read(&root, &machine, &err), 0);
    ck_assert_int_eq(err.code, ATH_E_NO_NUMA);
}

/* In a chroot without /sys, the scheduler and sysinfo() still answer. */
TEST(reads_a_live_machine_without_sysfs)
{
    root.is_live = true;
    read_nodes(1);
    ck_assert_uint_gt(ath_idset_count(&machine.nodes[0].cpus), 0);
    ck_assert_int_gt(machine.nodes[0].memory_total_bytes, 0);
    ck_assert(has_warning("no-sysfs", "/sys"));
}

TEST(warns_about_a_limited_cpuset)
{
    put_online("0-1", "0-7");
    tree_node(&tree, 0, "0-3", "1000");
    tree_node(&tree, 1, "4-7", "1000");
    tree_put(&tree, "Name:\tx\nCpus_allowed_list:\t0-2,4\nMems_allowed_list:\t0\n",
             "proc/self/status");
    read_nodes(2);
    ath_nodes_check_allowed(&root, &machine);
    ck_assert(has_warning("cpuset-limited", "CPUs"));
    ck_assert(has_warning("cpuset-limited", "NUMA nodes"));
    ck_assert_ptr_nonnull(strstr(machine.warnings[0].message, "CPUs 3,5-7"));
    ck_assert_ptr_nonnull(strstr(machine.warnings[1].message, "NUMA nodes 1"));
}

/* hwloc-gather-topology captures the cpuset of its process, not its status. */
LOOP_TEST(warns_about_a_captured_cpuset, 0, 4)
{
    static const char *const files[][3] = {
        { "/job", "sys/fs/cgroup/job/cpuset.cpus.effective",
          "sys/fs/cgroup/job/cpuset.mems.effective" },
        { "/job", "sys/fs/cgroup/cpuset/job/cpuset.cpus", "sys/fs/cgroup/cpuset/job/cpuset.mems" },
        { "/", "sys/fs/cgroup/cpuset/cpuset.cpus", "sys/fs/cgroup/cpuset/cpuset.mems" },
        { "/a/b", "dev/cpuset/a/b/cpus", "dev/cpuset/a/b/mems" },
    };
    machine.source = ATH_SOURCE_ROOT;
    put_online("0-1", "0-7");
    tree_node(&tree, 0, "0-3", "1000");
    tree_node(&tree, 1, "4-7", "1000");
    tree_put(&tree, files[_i][0], "proc/self/cpuset");
    tree_put(&tree, "0-3\n", "%s", files[_i][1]);
    tree_put(&tree, "0\n", "%s", files[_i][2]);
    read_nodes(2);
    ath_nodes_check_allowed(&root, &machine);
    ck_assert(has_warning("cpuset-limited", "CPUs"));
    ck_assert_ptr_nonnull(strstr(machine.warnings[0].message, "the process that took the capture"));
    ck_assert(has_warning("cpuset-limited", "NUMA nodes"));
}

/* Newer kernels leave offline CPUs out of cpulist, and keep their links. */
TEST(finds_offline_cpus_by_their_links)
{
    put_online("0-1", "0-3");
    tree_node(&tree, 0, "0-3", "1000");
    tree_node(&tree, 1, "", "1000");
    for (int cpu = 4; cpu < 8; cpu++)
        tree_link(&tree, "../../cpu/cpu4", "sys/devices/system/node/node1/cpu%d", cpu);
    read_nodes(2);
    expect_cpus(1, "4-7", "");
}

TEST(warns_about_unreadable_files)
{
    char path[256];
    put_online("0", "0-3");
    tree_node(&tree, 0, "0-3", "1000");
    snprintf(path, sizeof path, "%s/sys/devices/system/node/node0/meminfo", tree.path);
    ck_assert_int_eq(chmod(path, 0), 0);
    if (!access(path, R_OK)) /* root can read any file */
        return;
    read_nodes(1);
    ck_assert(has_warning("unreadable", "sys/devices/system/node/node0/meminfo"));
}
