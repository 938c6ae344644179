/*
 * NVML's answers, from a fake library (fake_nvml.c). The test loads the fake by its path. The code
 * under test then gets the same library, because the soname is the same.
 */
#include "config.h"

#include "numa/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "numa/pair.h"
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

static void add_gpu(const char *address, int vendor_id)
{
    struct ath_pci pci;
    ck_assert_int_eq(ath_pci_parse(address, &pci), 0);
    ath_machine_add_gpu(&machine, &pci)->vendor_id = vendor_id;
}

static void load(const char *library, const char *as)
{
    ck_assert_msg(dlopen(library, RTLD_NOW), "%s", dlerror());
    setenv("FAKE_NVML", as, 1);
}

static void load_new(const char *as)
{
    load("tests/unit/fake_nvml.so", as);
}

static void add_ac922(void)
{
    add_gpu("0004:04:00.0", 0x10de);
    add_gpu("0004:05:00.0", 0x10de);
}

static void expect_link(const struct ath_gpu *gpu, size_t index, enum ath_peer_kind kind,
                        const char *peer, int count, int64_t speed_mbps)
{
    char text[ATH_PCI_TEXT];
    ck_assert_uint_lt(index, gpu->nvlink_count);
    const struct ath_nvlink *link = &gpu->nvlinks[index];
    ck_assert_int_eq(link->kind, kind);
    ck_assert(link->has_peer);
    ck_assert_str_eq(ath_pci_format(&link->peer, text), peer);
    ck_assert_int_eq(link->count, count);
    ck_assert_int_eq(link->speed_mbps, speed_mbps);
}

static void expect_warning(const char *code, const char *part)
{
    ck_assert_uint_eq(machine.warning_count, 1);
    ck_assert_str_eq(machine.warnings[0].code, code);
    ck_assert_msg(!part || strstr(machine.warnings[0].message, part), "%s",
                  machine.warnings[0].message);
}

SECONDS(70);
FIXTURE(setup, teardown);

TEST(reads_an_ac922)
{
    add_ac922();
    load_new("ac922");
    ath_nvml_read(&machine, NULL, 10000);
    ck_assert_uint_eq(machine.warning_count, 0);
    const struct ath_gpu *gpu = &machine.gpus[0];
    ck_assert_str_eq(gpu->uuid, "GPU-00000004-04");
    ck_assert_str_eq(gpu->model, "Tesla V100-SXM2-32GB");
    ck_assert_str_eq(gpu->driver_version, "440.33.01");
    ck_assert_int_eq(gpu->memory_total_bytes, INT64_C(33822867456));
    ck_assert_int_eq(gpu->memory_free_bytes, INT64_C(33285996544));
    ck_assert_int_eq(gpu->pcie_gen, 3);
    ck_assert_int_eq(gpu->pcie_width, 2);
    ck_assert(gpu->has_nvlinks);
    ck_assert_uint_eq(gpu->nvlink_count, 2);
    expect_link(gpu, 0, ATH_PEER_GPU, "0004:05:00.0", 3, 3 * 25781 * 8);
    expect_link(gpu, 1, ATH_PEER_CPU, "0006:00:00.0", 3, 3 * 25781 * 8);
    expect_link(&machine.gpus[1], 0, ATH_PEER_GPU, "0004:04:00.0", 3, 3 * 25781 * 8);
    expect_link(&machine.gpus[1], 1, ATH_PEER_CPU, "0006:00:01.0", 3, 3 * 25781 * 8);
}

/* An older driver lacks the functions for types and speeds. The PCI ids then tell the kind of a
 * peer. */
TEST(works_with_an_older_driver)
{
    add_ac922();
    load("tests/unit/fake_nvml_old.so", "ac922");
    ath_nvml_read(&machine, NULL, 10000);
    expect_link(&machine.gpus[0], 0, ATH_PEER_GPU, "0004:05:00.0", 3, ATH_UNKNOWN);
    expect_link(&machine.gpus[0], 1, ATH_PEER_CPU, "0006:00:00.0", 3, ATH_UNKNOWN);
}

TEST(finds_gpus_behind_switches)
{
    static const char *const addresses[] = { "0000:1b:00.0", "0000:43:00.0", "0000:52:00.0",
                                             "0000:9d:00.0" };
    for (size_t i = 0; i < ATH_COUNT(addresses); i++)
        add_gpu(addresses[i], 0x10de);
    load_new("nvswitch");
    ath_nvml_read(&machine, NULL, 10000);
    const struct ath_gpu *gpu = &machine.gpus[0];
    ck_assert_uint_eq(gpu->nvlink_count, 3);
    ck_assert_int_eq(gpu->nvlinks[0].kind, ATH_PEER_SWITCH);
    ck_assert(!gpu->nvlinks[0].has_peer);
    ck_assert_int_eq(gpu->nvlinks[0].count, 18);
    expect_link(gpu, 1, ATH_PEER_GPU, "0000:43:00.0", 18, 18 * 26562 * 8);
    expect_link(gpu, 2, ATH_PEER_GPU, "0000:52:00.0", 18, 18 * 26562 * 8);
    ck_assert(gpu->nvlinks[1].is_through_switch);
    ck_assert(!gpu->nvlinks[0].is_through_switch);
}

/* Links to one GPU are one entry, links to different GPUs are not, and those whose end is unknown
 * are one more. */
TEST(counts_the_links_to_each_gpu)
{
    add_gpu("0000:06:00.0", 0x10de);
    load_new("mesh");
    ath_nvml_read(&machine, NULL, 10000);
    const struct ath_gpu *gpu = &machine.gpus[0];
    ck_assert_uint_eq(gpu->nvlink_count, 3);
    expect_link(gpu, 0, ATH_PEER_GPU, "0000:07:00.0", 2, 2 * 25781 * 8);
    expect_link(gpu, 1, ATH_PEER_GPU, "0000:08:00.0", 2, 2 * 25781 * 8);
    ck_assert_int_eq(gpu->nvlinks[2].kind, ATH_PEER_GPU);
    ck_assert(!gpu->nvlinks[2].has_peer);
    ck_assert_int_eq(gpu->nvlinks[2].count, 2);
}

TEST(keeps_values_from_sysfs)
{
    add_ac922();
    machine.gpus[0].pcie_gen = 4;
    machine.gpus[0].pcie_width = 16;
    load_new("ac922");
    ath_nvml_read(&machine, NULL, 10000);
    ck_assert_int_eq(machine.gpus[0].pcie_gen, 4);
    ck_assert_int_eq(machine.gpus[0].pcie_width, 16);
}

TEST(reports_what_the_driver_refuses)
{
    add_gpu("0004:04:00.0", 0x10de);
    load_new("no-device");
    ath_nvml_read(&machine, NULL, 10000);
    expect_warning("nvml-failed", "Not Found");
    ck_assert(!machine.gpus[0].has_nvlinks);
}

TEST(reports_a_driver_that_does_not_start)
{
    add_ac922();
    load_new("init-fails");
    ath_nvml_read(&machine, NULL, 10000);
    expect_warning("nvml-missing", "Unknown Error");
}

TEST(survives_a_crash)
{
    add_ac922();
    load_new("crash");
    ath_nvml_read(&machine, NULL, 10000);
    expect_warning("nvml-missing", NULL);
    ck_assert(!machine.gpus[0].has_nvlinks);
    ck_assert_ptr_null(machine.gpus[0].uuid);
}

TEST(survives_a_hang)
{
    add_ac922();
    load_new("hang");
    ath_nvml_read(&machine, NULL, 100);
    expect_warning("nvml-missing", NULL);
    ck_assert(!machine.gpus[0].has_nvlinks);
}

/* A server's machine: no sysfs tells the places of its GPUs. */
TEST(places_gpus_by_their_common_ancestors)
{
    static const char *const addresses[] = { "0000:1b:00.0", "0000:1c:00.0", "0000:43:00.0",
                                             "0000:52:00.0", "0000:9d:00.0" };
    static const enum ath_pci_class classes[][5] = {
        { ATH_PCI_SAME, ATH_PCI_PIX, ATH_PCI_PXB, ATH_PCI_PHB, ATH_PCI_SYS },
        { ATH_PCI_PIX, ATH_PCI_SAME, ATH_PCI_PXB, ATH_PCI_PHB, ATH_PCI_SYS },
        { ATH_PCI_PXB, ATH_PCI_PXB, ATH_PCI_SAME, ATH_PCI_PHB, ATH_PCI_SYS },
        { ATH_PCI_PHB, ATH_PCI_PHB, ATH_PCI_PHB, ATH_PCI_SAME, ATH_PCI_SYS },
        { ATH_PCI_SYS, ATH_PCI_SYS, ATH_PCI_SYS, ATH_PCI_SYS, ATH_PCI_SAME },
    };
    for (size_t i = 0; i < ATH_COUNT(addresses); i++)
        add_gpu(addresses[i], 0x10de);
    load_new("tree");
    ath_nvml_read(&machine, NULL, 10000);
    ck_assert_int_eq(machine.gpus[0].numa_node, 0);
    ck_assert_int_eq(machine.gpus[4].numa_node, 70);
    for (size_t a = 0; a < ATH_COUNT(addresses); a++)
        for (size_t b = 0; b < ATH_COUNT(addresses); b++)
            ck_assert_msg(ath_class_of_gpus(&machine.gpus[a], &machine.gpus[b]) == classes[a][b],
                          "GPU%zu and GPU%zu", a, b);
}

/* sysfs tells more than NVML: names of bridges, and nodes that a driver does not know. */
TEST(keeps_places_from_sysfs)
{
    add_gpu("0000:1b:00.0", 0x10de);
    add_gpu("0000:1c:00.0", 0x10de);
    machine.gpus[0].place = ath_xstrdup("pci0000:00/0000:00:01.0");
    machine.gpus[1].numa_node = 3;
    load_new("tree");
    ath_nvml_read(&machine, NULL, 10000);
    ck_assert_str_eq(machine.gpus[0].place, "pci0000:00/0000:00:01.0");
    ck_assert_int_eq(machine.gpus[0].numa_node, ATH_UNKNOWN);
    ck_assert_int_eq(machine.gpus[1].numa_node, 3);
}

/* A driver that does not tell the levels gives no place. */
TEST(invents_no_place)
{
    add_ac922();
    load("tests/unit/fake_nvml_old.so", "ac922");
    ath_nvml_read(&machine, NULL, 10000);
    ck_assert_ptr_null(machine.gpus[0].place);
    ck_assert_int_eq(machine.gpus[0].numa_node, ATH_UNKNOWN);
}

/* Without NVIDIA GPUs the library is not loaded, and no warning appears. */
TEST(ignores_gpus_of_other_vendors)
{
    add_gpu("0000:c1:00.0", 0x1002);
    setenv("FAKE_NVML", "crash", 1);
    ath_nvml_read(&machine, NULL, 10000);
    ck_assert_uint_eq(machine.warning_count, 0);
}

/* No machine has a GPU at this address, with or without the library. */
TEST(warns_without_the_library)
{
    add_gpu("fffe:ff:1f.0", 0x10de);
    ath_nvml_read(&machine, NULL, 60000);
    ck_assert_uint_eq(machine.warning_count, 1);
    ck_assert_int_eq(strncmp(machine.warnings[0].code, "nvml-", 5), 0);
    ck_assert(!machine.gpus[0].has_nvlinks);
}
