/* Recognizing GPUs, the NUMA node that is a GPU's memory, and the node that a GPU is near. */
#include "config.h"

#include "numa/gpu.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "numa/node.h"
#include "tree.h"
#include "unit.h"

static struct tree tree;
static struct ath_root root;
static struct ath_machine machine;

/* Makes two nodes with CPUs and one with GPU memory, as on an AC922. */
static void setup(void)
{
    struct ath_err err;
    tree_make(&tree);
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    machine = (struct ath_machine){ 0 };
    tree_node(&tree, 0, "0-63", "1000");
    tree_node(&tree, 8, "64-127", "1000");
    tree_node(&tree, 255, "", "2000");
    ck_assert_int_eq(ath_nodes_read(&root, &machine, &err), 0);
}

static void teardown(void)
{
    ath_machine_free(&machine);
    ath_root_free(&root);
    tree_remove(&tree);
}

static const struct ath_gpu *read_one(void)
{
    ath_gpus_read(&root, &machine);
    ck_assert_uint_eq(machine.gpu_count, 1);
    return &machine.gpus[0];
}

FIXTURE(setup, teardown);

TEST(recognizes_accelerators_by_vendor_and_class)
{
    static const struct {
        const char *vendor, *class;
        bool is_one;
    } rows[] = {
        { "0x10de", "0x030200", true },  { "0x10de", "0x030000", true },
        { "0x10de", "0x068000", false }, /* NVSwitch */
        { "0x10de", "0x040300", false }, /* a GPU's audio function */
        { "0x1002", "0x038000", true },  { "0x1002", "0x120000", true },
        { "0x1002", "0x030000", true },  { "0x8086", "0x030000", true },
        { "0x8086", "0x038000", true },  { "0x1da3", "0x120000", true },
        { "0x8086", "0x120000", false },                                  /* NPU, FPGA */
        { "0x19e5", "0x120000", true },  { "0x19e5", "0x030000", false }, /* iBMC */
        { "0x1d94", "0x038000", true },  { "0xcabc", "0x030200", true },
        { "0x1a03", "0x030000", false }, /* ASPEED */
        { "0x102b", "0x030000", false }, /* Matrox */
        { "0x1a03", "0x030200", false }, { "", "0x030200", true },
        { "", "0x030000", false },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        char address[32];
        snprintf(address, sizeof address, "0000:%02zx:00.0", i + 1);
        tree_pci(&tree, "pci0000:00", address, rows[i].class, rows[i].vendor, "0x1234");
    }
    ath_gpus_read(&root, &machine);
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        struct ath_pci pci = { 0, (uint8_t)(i + 1), 0, 0 };
        ck_assert_msg(!ath_machine_gpu(&machine, &pci) == !rows[i].is_one, "%s %s", rows[i].vendor,
                      rows[i].class);
    }
}

TEST(skips_displays_that_cannot_compute)
{
    static const struct {
        const char *device;
        bool is_one;
    } rows[] = {
        { "0x515e", false }, /* ES1000 */ { "0x5159", false },       /* Radeon 7000 */
        { "0x4752", false }, /* Rage XL */ { "0x5b60", false },      /* Radeon X300 */
        { "0x7249", false }, /* Radeon X1900 */ { "0x791e", false }, /* Radeon X1200 */
        { "0x9712", false }, /* RS880M */ { "0x7300", true },        /* Fiji */
        { "0x7408", true },  /* MI250X */ { "0x9440", true },        /* RV770 */
        { "0x67df", true },                                          /* Polaris */
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        char address[32];
        snprintf(address, sizeof address, "0000:%02zx:00.0", i + 1);
        tree_pci(&tree, "pci0000:00", address, "0x030000", "0x1002", rows[i].device);
    }
    ath_gpus_read(&root, &machine);
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        struct ath_pci pci = { 0, (uint8_t)(i + 1), 0, 0 };
        ck_assert_msg(!ath_machine_gpu(&machine, &pci) == !rows[i].is_one, "%s", rows[i].device);
    }
}

TEST(skips_graphics_in_the_processor)
{
    tree_pci(&tree, "pci0000:00", "0000:00:02.0", "0x030000", "0x8086", "0x3e92");
    tree_pci(&tree, "pci0001:00", "0001:00:02.0", "0x038000", "0x8086", "0x3e92");
    tree_pci(&tree, "pci0000:00", "0000:00:0b.0", "0x120000", "0x8086", "0x7d1d");
    tree_pci(&tree, "pci0000:00/0000:00:08.1", "0000:c1:00.0", "0x030000", "0x1002", "0x15bf");
    tree_pci(&tree, "pci0000:00/0000:00:08.1", "0000:c1:00.2", "0x108000", "0x1022", "0x15c7");
    tree_pci(&tree, "pci0000:00/0000:00:01.1", "0000:03:00.0", "0x030000", "0x1002", "0x744c");
    tree_pci(&tree, "pci0000:00/0000:00:01.1", "0000:03:00.1", "0x040300", "0x1002", "0xab30");
    ck_assert_uint_eq(read_one()->pci.bus, 3);
}

TEST(accepts_gpus_on_the_root_bus_of_a_virtual_machine)
{
    tree_pci(&tree, "pci0000:00", "0000:00:05.0", "0x030000", "0x8086", "0x56c0");
    ck_assert_uint_eq(read_one()->pci.device, 5);
}

TEST(skips_virtual_functions)
{
    tree_pci(&tree, "pci0000:00", "0000:41:00.0", "0x030200", "0x10de", "0x20b5");
    tree_pci(&tree, "pci0000:00", "0000:41:00.4", "0x030200", "0x10de", "0x20b5");
    tree_link(&tree, "../0000:41:00.0", "sys/devices/pci0000:00/0000:41:00.4/physfn");
    ck_assert_uint_eq(read_one()->pci.function, 0);
}

/* A virtual machine that has a virtual function does not have its parent. */
TEST(accepts_a_virtual_function_without_its_parent)
{
    tree_pci(&tree, "pci0000:00", "0000:41:00.4", "0x030200", "0x10de", "0x20b5");
    tree_link(&tree, "../0000:41:00.0", "sys/devices/pci0000:00/0000:41:00.4/physfn");
    ck_assert_uint_eq(read_one()->pci.function, 4);
}

/* The hwloc capture of an AC922 has class 0300 and no vendor, so the driver's list decides. */
TEST(trusts_the_drivers_list)
{
    tree_put(&tree, "0x030000", "sys/bus/pci/devices/0004:05:00.0/class");
    tree_put(&tree,
             "Node:      255\nStatus:    online\nAddress:   40000000000\nSize:      3f0000000\n",
             "proc/driver/nvidia/gpus/0004:05:00.0/numa_status");
    tree_put(&tree,
             "Model: \t\t Tesla V100-SXM2-16GB\nIRQ:   \t\t 467\n"
             "GPU UUID: \t GPU-a2e0bd3a-ff41-9b2f-0a8e-3b2c1d5e6f70\n",
             "proc/driver/nvidia/gpus/0004:05:00.0/information");
    tree_put(&tree,
             "NVRM version: NVIDIA UNIX ppc64le Kernel Module  440.33.01  Wed Nov 13 00:05:02\n"
             "GCC version:  gcc version 8.3.1\n",
             "proc/driver/nvidia/version");
    const struct ath_gpu *gpu = read_one();
    ck_assert_int_eq(gpu->vendor_id, 0x10de);
    ck_assert_int_eq(gpu->device_id, ATH_UNKNOWN);
    ck_assert_int_eq(gpu->memory_node, 255);
    ck_assert_int_eq(gpu->memory_state, ATH_MEMORY_ONLINE);
    ck_assert_int_eq(gpu->memory_total_bytes, 0x3f0000000);
    ck_assert_str_eq(gpu->model, "Tesla V100-SXM2-16GB");
    ck_assert_str_eq(gpu->uuid, "GPU-a2e0bd3a-ff41-9b2f-0a8e-3b2c1d5e6f70");
    ck_assert_str_eq(gpu->driver_version, "440.33.01");
    ck_assert_ptr_null(gpu->place);
    ck_assert_int_eq(gpu->numa_node, ATH_UNKNOWN);
}

TEST(reads_memory_that_is_offline_or_has_no_node)
{
    tree_put(&tree, "Node:      255\nStatus:    offline\n",
             "proc/driver/nvidia/gpus/0004:04:00.0/numa_status");
    tree_put(&tree, "Node:      -1\nStatus:    disabled\n",
             "proc/driver/nvidia/gpus/0004:05:00.0/numa_status");
    tree_put(&tree, "Node: 12 apples\nStatus\nSize: -3\n",
             "proc/driver/nvidia/gpus/0004:06:00.0/numa_status");
    tree_put(&tree, "Model: \t\t Unknown\nGPU UUID: \t GPU-?-?-?\n",
             "proc/driver/nvidia/gpus/0004:06:00.0/information");
    ath_gpus_read(&root, &machine);
    ck_assert_uint_eq(machine.gpu_count, 3);
    ck_assert_int_eq(machine.gpus[0].memory_node, 255);
    ck_assert_int_eq(machine.gpus[0].memory_state, ATH_MEMORY_OFFLINE);
    ck_assert_int_eq(machine.gpus[0].memory_total_bytes, ATH_UNKNOWN);
    ck_assert_int_eq(machine.gpus[1].memory_node, ATH_UNKNOWN);
    ck_assert_int_eq(machine.gpus[1].memory_state, ATH_MEMORY_UNKNOWN);
    ck_assert_int_eq(machine.gpus[2].memory_node, ATH_UNKNOWN);
    ck_assert_ptr_null(machine.gpus[2].uuid);
    ck_assert_ptr_null(machine.gpus[2].model);
}

/* A GPU that fell off the bus, as the driver shows it; -1 is a GPU without a node of memory. */
LOOP_TEST(knows_a_lost_gpu, 0, 4)
{
    static const struct {
        const char *text;
        bool is_lost;
    } cases[] = {
        { "Node:      ????\nStatus:    ????\n", true },
        { "Node:      255\nStatus:    ????\n", true },
        { "Node:      -1\nStatus:    disabled\n", false },
        { "Node:      255\nStatus:    offline\n", false },
    };
    tree_put(&tree, cases[_i].text, "proc/driver/nvidia/gpus/0004:04:00.0/numa_status");
    ck_assert_int_eq(read_one()->is_lost, cases[_i].is_lost);
}

/* In a capture without links to drivers, a GPU without one says nothing. */
LOOP_TEST(knows_the_driver, 0, 4)
{
    static const struct {
        bool has_folder;
        const char *link, *driver;
    } cases[] = {
        { false, NULL, NULL },
        { true, NULL, NULL },
        { true, "nvidia", "nvidia" },
        { true, "vfio-pci", "vfio-pci" },
    };
    tree_pci(&tree, "pci0000:00", "0000:41:00.0", "0x030200", "0x10de", "0x20b5");
    if (cases[_i].has_folder)
        tree_put(&tree, "", "sys/bus/pci/drivers/pcieport/bind");
    if (cases[_i].link) {
        ath_auto_free char *target = ath_xasprintf("../../../bus/pci/drivers/%s", cases[_i].link);
        tree_link(&tree, target, "sys/devices/pci0000:00/0000:41:00.0/driver");
    }
    const struct ath_gpu *gpu = read_one();
    ck_assert_int_eq(gpu->knows_driver, cases[_i].has_folder);
    if (cases[_i].driver)
        ck_assert_str_eq(gpu->driver, cases[_i].driver);
    else
        ck_assert_ptr_null(gpu->driver);
}

#define PLACE "pci0004:00/0004:00:00.0/0004:01:00.0"
#define GPU PLACE "/0004:04:00.0"

static void add_gpu(void)
{
    tree_pci(&tree, PLACE, "0004:04:00.0", "0x030200", "0x10de", "0x1db1");
}

TEST(uses_the_kernels_node)
{
    add_gpu();
    tree_put(&tree, "8\n", "sys/devices/" GPU "/numa_node");
    tree_put(&tree, "0-63\n", "sys/devices/" GPU "/local_cpulist");
    ck_assert_int_eq(read_one()->numa_node, 8);
}

TEST(uses_the_node_of_the_local_cpu_list)
{
    add_gpu();
    tree_put(&tree, "-1\n", "sys/devices/" GPU "/numa_node");
    tree_put(&tree, "64-71\n", "sys/devices/" GPU "/local_cpulist");
    ck_assert_int_eq(read_one()->numa_node, 8);
}

TEST(uses_the_node_of_the_local_cpu_mask)
{
    add_gpu();
    tree_put(&tree, "ffffffff,ffffffff,00000000,00000000\n", "sys/devices/" GPU "/local_cpus");
    ck_assert_int_eq(read_one()->numa_node, 8);
}

/* The kernel lists all CPUs if it does not know which ones are local. */
TEST(uses_the_node_of_a_bridge_above)
{
    add_gpu();
    tree_put(&tree, "-1\n", "sys/devices/" GPU "/numa_node");
    tree_put(&tree, "0-127\n", "sys/devices/" GPU "/local_cpulist");
    tree_put(&tree, "-1\n", "sys/bus/pci/devices/0004:01:00.0/numa_node");
    tree_put(&tree, "8\n", "sys/bus/pci/devices/0004:00:00.0/numa_node");
    ck_assert_int_eq(read_one()->numa_node, 8);
}

TEST(reports_an_unknown_node)
{
    add_gpu();
    tree_put(&tree, "77\n", "sys/devices/" GPU "/numa_node");
    tree_put(&tree, "0-127\n", "sys/devices/" GPU "/local_cpulist");
    ck_assert_int_eq(read_one()->numa_node, ATH_UNKNOWN);
}

TEST(ignores_its_own_memory_node)
{
    add_gpu();
    tree_put(&tree, "255\n", "sys/devices/" GPU "/numa_node");
    tree_put(&tree, "0-63\n", "sys/devices/" GPU "/local_cpulist");
    tree_put(&tree, "Node: 255\nStatus: online\n",
             "proc/driver/nvidia/gpus/0004:04:00.0/numa_status");
    const struct ath_gpu *gpu = read_one();
    ck_assert_int_eq(gpu->numa_node, 0);
    ck_assert_int_eq(gpu->memory_node, 255);
    ck_assert_str_eq(gpu->place, PLACE);
    ck_assert_str_eq(gpu->model, "Tesla V100 SXM2 16GB");
}

TEST(reads_the_pcie_link)
{
    add_gpu();
    tree_put(&tree, "8.0 GT/s PCIe\n", "sys/devices/" GPU "/current_link_speed");
    tree_put(&tree, "2\n", "sys/devices/" GPU "/current_link_width");
    const struct ath_gpu *gpu = read_one();
    ck_assert_int_eq(gpu->pcie_gen, 3);
    ck_assert_int_eq(gpu->pcie_width, 2);
    ck_assert_int_eq(ath_pcie_generation("2.5 GT/s"), 1);
    ck_assert_int_eq(ath_pcie_generation("8 GT/s"), 3);
    ck_assert_int_eq(ath_pcie_generation("64.0 GT/s PCIe"), 6);
    ck_assert_int_eq(ath_pcie_generation("Unknown"), ATH_UNKNOWN);
    ck_assert_int_eq(ath_pcie_generation("7.0 GT/s"), ATH_UNKNOWN);
    ck_assert_int_eq(ath_pcie_generation(""), ATH_UNKNOWN);
}

TEST(reads_memory_and_driver_of_amd)
{
    tree_pci(&tree, "pci0000:00", "0000:c1:00.0", "0x120000", "0x1002", "0x74a1");
    tree_put(&tree, "206141652992\n", "sys/devices/pci0000:00/0000:c1:00.0/mem_info_vram_total");
    tree_put(&tree, "141652992\n", "sys/devices/pci0000:00/0000:c1:00.0/mem_info_vram_used");
    tree_link(&tree, "../../../bus/pci/drivers/amdgpu",
              "sys/devices/pci0000:00/0000:c1:00.0/driver");
    tree_put(&tree, "6.8.5\n", "sys/module/amdgpu/version");
    const struct ath_gpu *gpu = read_one();
    ck_assert_int_eq(gpu->memory_total_bytes, INT64_C(206141652992));
    ck_assert_int_eq(gpu->memory_free_bytes, INT64_C(206000000000));
    ck_assert_str_eq(gpu->driver_version, "6.8.5");
    ck_assert_str_eq(gpu->model, "Instinct MI300X");
    ck_assert(!gpu->has_nvlinks);
}

TEST(reads_the_partitions_of_an_instinct)
{
    static const struct {
        const char *mode;
        int count;
    } rows[] = { { "SPX", 1 }, { "TPX", 3 }, { "CPX", ATH_UNKNOWN } };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        char address[32];
        snprintf(address, sizeof address, "0000:%02zx:00.0", i + 1);
        tree_pci(&tree, "pci0000:00", address, "0x120000", "0x1002", "0x74a0");
        tree_put(&tree, rows[i].mode, "sys/bus/pci/devices/%s/current_compute_partition", address);
    }
    ath_gpus_read(&root, &machine);
    ck_assert_uint_eq(machine.gpu_count, ATH_COUNT(rows));
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        ck_assert_str_eq(machine.gpus[i].partition_mode, rows[i].mode);
        ck_assert_int_eq(machine.gpus[i].partitions, rows[i].count);
    }
}

/* Puts a bridge of each socket. The CPUs 64-127 of the second one, which is node 8, are offline. */
static void put_offline_socket(const char *node0, const char *online)
{
    struct ath_err err;

    ath_machine_free(&machine);
    machine = (struct ath_machine){ 0 };
    tree_node(&tree, 0, node0, "1000");
    tree_node(&tree, 8, "", "1000");
    tree_put(&tree, "0-127\n", "sys/devices/system/cpu/present");
    tree_put(&tree, online, "sys/devices/system/cpu/online");
    tree_pci(&tree, "pci0030:00", "0030:00:00.0", "0x060400", "0x1014", "0x04c1");
    tree_put(&tree, "8\n", "sys/devices/pci0030:00/0030:00:00.0/numa_node");
    tree_pci(&tree, "pci0000:00", "0000:00:00.0", "0x060400", "0x1014", "0x04c1");
    tree_put(&tree, "0\n", "sys/devices/pci0000:00/0000:00:00.0/numa_node"); /* the first one */
    ck_assert_int_eq(ath_nodes_read(&root, &machine, &err), 0);
}

static void put_local_cpus(const char *list)
{
    tree_put(&tree, list, "sys/devices/pci0030:00/0030:00:00.0/local_cpulist");
}

static void expect_offline_cpus(const char *expected)
{
    ath_gpus_read(&root, &machine);
    const struct ath_numa_node *node = ath_machine_node(&machine, 8);
    ath_auto_free char *cpus = ath_idset_format(&node->cpus);
    ck_assert_str_eq(cpus, expected);
    ck_assert_uint_eq(node->cpus_online.range_count, 0);
    ck_assert_uint_eq(ath_machine_node(&machine, 255)->cpus.range_count, 0);
}

TEST(finds_offline_cpus_of_a_socket_near_its_devices)
{
    put_offline_socket("0,4,8,12", "0,4,8,12\n");
    put_local_cpus("64-127\n");
    expect_offline_cpus("64-127");
}

TEST(takes_no_cpus_of_another_node_for_a_socket)
{
    put_offline_socket("0,4,8,12", "0,4,8,12\n");
    put_local_cpus("12,64-127\n");
    expect_offline_cpus("");
}

/* Node 255 has no CPUs either, until a GPU names it. */
TEST(takes_all_missing_cpus_for_the_only_socket_without_any)
{
    put_offline_socket("0-63", "0-63\n");
    tree_put(&tree, "Node: 255\nStatus: online\n",
             "proc/driver/nvidia/gpus/0004:04:00.0/numa_status");
    expect_offline_cpus("64-127");
}

TEST(takes_no_missing_cpus_if_two_nodes_have_none)
{
    put_offline_socket("0-63", "0-63\n");
    expect_offline_cpus("");
}

/* The same, if the other one comes first, and the one with the bridge last. */
TEST(takes_no_missing_cpus_if_an_earlier_node_has_none)
{
    tree_node(&tree, 4, "", "1000");
    put_offline_socket("0-63", "0-63\n");
    tree_put(&tree, "Node: 255\nStatus: online\n",
             "proc/driver/nvidia/gpus/0004:04:00.0/numa_status");
    expect_offline_cpus("");
}

TEST(takes_no_missing_cpus_if_they_may_be_threads_of_other_cores)
{
    put_offline_socket("0,4,8,12", "0,4,8,12\n");
    tree_put(&tree, "Node: 255\nStatus: online\n",
             "proc/driver/nvidia/gpus/0004:04:00.0/numa_status");
    expect_offline_cpus("");
}
