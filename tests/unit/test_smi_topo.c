/* NVLinks from the output of `nvidia-smi topo -m`. */
#include "config.h"

#include "numa/smi_topo.h"

#include "base/alloc.h"
#include "base/cleanup.h"
#include "numa/gpu_links.h"
#include "tree.h"
#include "unit.h"

static struct ath_machine machine;

/* GPUs of NVIDIA, the last address first: sysfs may list them in any order. */
static void begin(int count)
{
    ath_machine_free(&machine);
    machine = (struct ath_machine){ 0 };
    for (int i = count; i-- > 0;)
        ath_machine_add_gpu(&machine, &(struct ath_pci){ .bus = (uint8_t)(i + 1) })->vendor_id =
            ATH_VENDOR_NVIDIA;
}

static int parse(const char *text, struct ath_err *err)
{
    ath_auto_free char *copy = ath_xstrdup(text);
    return ath_smi_topo_parse(copy, &machine, err);
}

/* Returns the links between the GPUs of two buses; -2 if they are not known. */
static int links(size_t a, size_t b)
{
    int count, last = (int)machine.gpu_count - 1;
    return ath_gpu_links(&machine, (size_t)last - a, (size_t)last - b, &count) ? count : -2;
}

static void expect_fault(const char *text, const char *message)
{
    struct ath_err err = { 0 };
    ck_assert_int_eq(parse(text, &err), -EINVAL);
    ck_assert_str_eq(err.message, message);
    ck_assert(!machine.gpus[0].has_nvlinks);
}

TEST(reads_a_table)
{
    begin(3);
    ck_assert_int_eq(parse("\tGPU0\tGPU1\tGPU2\tmlx5_0\tCPU Affinity\tNUMA Affinity\n"
                           "GPU0\t X \tNV3\tSYS\tNODE\t0-63\t0\n"
                           "GPU1\tNV3\t X \tNV12\tNODE\t0-63\t0\n"
                           "GPU2\tSYS\tNV12\t X \tSYS\t64-127\t8\n"
                           "mlx5_0\tNODE\tNODE\tSYS\t X \n",
                           NULL),
                     0);
    ck_assert_int_eq(links(0, 1), 3);
    ck_assert_int_eq(links(0, 2), 0);
    ck_assert_int_eq(links(2, 1), 12);
    ck_assert_int_eq(machine.gpus[0].nvlinks[0].speed_mbps, ATH_UNKNOWN);
}

/* A copy from a terminal: blanks, colours, Windows' ends of lines, a prompt, the legend. */
TEST(reads_a_copy_of_a_screen)
{
    begin(2);
    ck_assert_int_eq(
        parse("$ nvidia-smi topo -m\r\n"
              "        \033[4mGPU0    GPU1    CPU Affinity    GPU NUMA ID\033[0m\r\n"
              "GPU0     X      NV18    0-55            N/A\r\n"
              "GPU1    NV18     X      0-55            N/A\r\n"
              "\r\nLegend:\r\n\r\n  X    = Self\r\n  SYS  = Connection traversing PCIe\r\n",
              NULL),
        0);
    ck_assert_int_eq(links(0, 1), 18);
}

TEST(reads_a_single_gpu)
{
    begin(1);
    ck_assert_int_eq(parse("\tGPU0\tCPU Affinity\nGPU0\t X \t0-7\n", NULL), 0);
    ck_assert(machine.gpus[0].has_nvlinks);
    ck_assert_uint_eq(machine.gpus[0].nvlink_count, 0);
}

/* No GPU has 36 links: on an HGX H100 it reaches every peer over the same 18. */
TEST(sees_switches)
{
    begin(3);
    ck_assert_int_eq(parse("\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV18\tNV18\nGPU1\tNV18\tX\tNV18\n"
                           "GPU2\tNV18\tNV18\tX\n",
                           NULL),
                     0);
    for (size_t i = 0; i < 3; i++) {
        const struct ath_gpu *gpu = &machine.gpus[i];
        ck_assert_uint_eq(gpu->nvlink_count, 3);
        ck_assert_int_eq(gpu->nvlinks[0].kind, ATH_PEER_SWITCH);
        ck_assert_int_eq(gpu->nvlinks[0].count, 18);
        ck_assert(!gpu->nvlinks[0].has_peer && !gpu->nvlinks[0].is_through_switch);
        ck_assert(gpu->nvlinks[1].is_through_switch && gpu->nvlinks[2].is_through_switch);
    }
    ck_assert_int_eq(links(0, 2), 18);
}

/* All 18 links of a GPU may lead to two others. */
TEST(sees_direct_links)
{
    begin(3);
    ck_assert_int_eq(parse("\tGPU0\tGPU1\tGPU2\nGPU0\tX\tNV9\tNV9\nGPU1\tNV9\tX\tNV9\n"
                           "GPU2\tNV9\tNV9\tX\n",
                           NULL),
                     0);
    ck_assert_uint_eq(machine.gpus[0].nvlink_count, 2);
    ck_assert(!machine.gpus[0].nvlinks[0].is_through_switch);
}

/* A GPU that a virtual machine has is not in the table. */
TEST(leaves_gpus_of_other_drivers_out)
{
    begin(3);
    machine.gpus[1].knows_driver = true;
    machine.gpus[1].driver = ath_xstrdup("vfio-pci");
    ck_assert_int_eq(parse("\tGPU0\tGPU1\nGPU0\tX\tNV3\nGPU1\tNV3\tX\n", NULL), 0);
    ck_assert_int_eq(links(0, 2), 3);
    ck_assert(!machine.gpus[1].has_nvlinks);
}

TEST(refuses_what_does_not_fit)
{
    begin(2);
    expect_fault("", "no line names the columns GPU0, GPU1, ...");
    expect_fault("GPU0\tX\tNV1\nGPU1\tNV1\tX\n", "no line names the columns GPU0, GPU1, ...");
    expect_fault("\tGPU0\tGPU1\nGPU0\tX\tNV1\n", "the row GPU1 is missing");
    expect_fault("\tGPU0\tGPU1\nGPU0\tX\n", "the row GPU0 is cut");
    expect_fault("\tGPU0\tGPU1\nGPU0\tX\tNV0\nGPU1\tNV0\tX\n",
                 "the cell 'NV0' of GPU0 and GPU1 is no word of the legend");
    expect_fault("\tGPU0\tGPU1\nGPU0\tX\tNV100\nGPU1\tNV1\tX\n",
                 "the cell 'NV100' of GPU0 and GPU1 is no word of the legend");
    expect_fault("\tGPU0\tGPU1\nGPU0\tX\tNV2\nGPU1\tNV1\tX\n",
                 "GPU0 and GPU1 say different things about each other");
    expect_fault("\tGPU0\nGPU0\tX\n", "GPUs in the table: 1; GPUs that NVIDIA's driver runs: 2");
    machine.gpus[0].vendor_id = ATH_VENDOR_AMD;
    expect_fault("\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tSYS\tX\n",
                 "GPUs in the table: 2; GPUs that NVIDIA's driver runs: 1");
}

/* A captured root need not have the table. If it has one, a fault is a warning with a hint. */
TEST(warns_of_a_faulty_file)
{
    struct tree tree;
    ATH_AUTO(ath_root) root = { .fd = -1 };
    struct ath_err err;

    tree_make(&tree);
    ck_assert_int_eq(ath_root_open(tree.path, &root, &err), 0);
    begin(2);
    ath_smi_topo_read(&root, &machine);
    ck_assert_uint_eq(machine.warning_count, 0);
    tree_put(&tree, "\tGPU0\nGPU0\t X \n", ATH_SMI_TOPO_FILE);
    ath_smi_topo_read(&root, &machine);
    ck_assert_uint_eq(machine.warning_count, 1);
    ck_assert_str_eq(machine.warnings[0].code, "smi-topo-unusable");
    ck_assert_str_eq(machine.warnings[0].message,
                     "'nvidia-smi-topo.txt' cannot be used (GPUs in the table: 1; GPUs that "
                     "NVIDIA's driver runs: 2), so NVLinks are not known");
    ck_assert_str_eq(machine.warnings[0].hint,
                     "on that machine: nvidia-smi topo -m > nvidia-smi-topo.txt");
    tree_remove(&tree);
}
