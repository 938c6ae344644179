/*
 * Measuring copies, with a fake driver library (fake_cuda.c) whose clock is its own. The test loads
 * the fake by its path. The code under test then gets the same library, because the soname is the
 * same.
 */
#include "config.h"

#include "measure/measurement.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "measure/apply.h"
#include "measure/record.h"
#include "patience.h"
#include "place/gpu_pair.h"
#include "place/matrix.h"
#include "tree.h"
#include "unit.h"

static struct ath_machine machine;
static struct ath_measurement *measured;
static struct ath_err err;

static void setup(void)
{
    machine = (struct ath_machine){ 0 };
    for (uint8_t i = 0; i < 3; i++) {
        const struct ath_pci pci = { .bus = (uint8_t)(0x41 + i) };
        struct ath_gpu *gpu = ath_machine_add_gpu(&machine, &pci);
        gpu->vendor_id = ATH_VENDOR_NVIDIA;
        gpu->driver_version = ath_xstrdup("550.54");
    }
    measured = NULL;
    err = (struct ath_err){ 0 };
    ck_assert_msg(dlopen("tests/unit/fake_cuda.so", RTLD_NOW), "%s", dlerror());
}

static void teardown(void)
{
    ath_machine_free(&machine);
    free(measured);
}

static int measure(const char *as, int timeout_ms)
{
    setenv("FAKE_CUDA", as, 1);
    return ath_measure(&machine, timeout_ms, &measured, &err);
}

static void expect_near(int64_t value, double wanted)
{
    ck_assert_msg((double)value > wanted * 0.99 && (double)value < wanted * 1.01, "%lld, not %f",
                  (long long)value, wanted);
}

SECONDS(3 * PATIENCE_MS / 1000);
FIXTURE(setup, teardown);

/* The largest size is 256 MiB: the copy's 1,000 ns vanish in it. */
TEST(measures_each_direction)
{
    ck_assert_int_eq(measure("works", PATIENCE_MS), 0);
    ck_assert_int_eq(measured->gpu_count, 3);
    ck_assert_int_eq(measured->cuda_version, 12080);
    ck_assert_str_eq(measured->driver_version, "550.54");
    ck_assert_str_eq(measured->gpus[1].uuid, "GPU-11111111-1111-1111-1111-111111111111");
    expect_near(measured->copies[0][1].bytes_per_s, 50e9);
    expect_near(measured->copies[1][0].bytes_per_s, 40e9);
    expect_near(measured->copies[1][2].bytes_per_s, 10e9);
    ck_assert_int_eq(measured->copies[0][1].latency_ns, 1000);
    ck_assert(measured->copies[0][1].is_direct && !measured->copies[1][2].is_direct);
    expect_near(measured->gpus[2].to_gpu_bytes_per_s, 20e9);
    expect_near(measured->gpus[2].from_gpu_bytes_per_s, 25e9);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(measured->copies[i][i].bytes_per_s, ATH_UNKNOWN);
}

/* Two of seven copies are slow: the median of times of two copies is that of quick ones. */
TEST(takes_the_median)
{
    ck_assert_int_eq(measure("noisy", PATIENCE_MS), 0);
    expect_near(measured->copies[0][1].bytes_per_s, 50e9);
    expect_near(measured->gpus[0].to_gpu_bytes_per_s, 20e9);
}

TEST(leaves_a_full_gpu_out)
{
    ck_assert_int_eq(measure("full", PATIENCE_MS), 0);
    ck_assert_str_eq(measured->gpus[1].error, "CUDA_ERROR_OUT_OF_MEMORY");
    ck_assert_int_eq(measured->copies[0][1].bytes_per_s, ATH_UNKNOWN);
    expect_near(measured->copies[0][2].bytes_per_s, 10e9);
}

/* The program lives on, and says at which step the driver failed. */
TEST(survives_the_driver)
{
    ck_assert_int_eq(measure("crashes", PATIENCE_MS), -EFAULT);
    ck_assert_int_eq(err.code, ATH_E_DRIVER);
    ck_assert_str_eq(err.message, "the GPU driver crashed, at: the start of CUDA");
    ck_assert_int_eq(measure("refuses", PATIENCE_MS), -EIO);
    ck_assert_str_eq(err.message, "the GPU driver refuses to start: CUDA_ERROR_NO_DEVICE");
    ck_assert_int_eq(measure("hangs", 1000), -ETIMEDOUT);
    ck_assert_str_eq(err.message,
                     "the GPU driver did not return within 1 s, at: the start of CUDA");
    ck_assert_int_eq(measure("hangs-later", 2000), -ETIMEDOUT);
    ck_assert_str_eq(err.message, "the GPU driver did not return within 2 s, at: copies from GPU "
                                  "0000:41:00.0 to GPU 0000:42:00.0");
    ck_assert_ptr_null(measured);
}

TEST(refuses_a_machine_without_gpus)
{
    for (size_t i = 0; i < machine.gpu_count; i++)
        machine.gpus[i].pci.domain = 7; /* other GPUs than CUDA's */
    ck_assert_int_eq(measure("works", PATIENCE_MS), -ENODEV);
    ck_assert_str_eq(err.message, "CUDA shows none of the machine's GPUs");
    for (size_t i = 0; i < machine.gpu_count; i++)
        machine.gpus[i].vendor_id = ATH_VENDOR_AMD;
    ck_assert_int_eq(measure("works", PATIENCE_MS), -ENODEV);
    ck_assert_str_eq(err.message, "this machine has no GPU of NVIDIA to measure");
}

TEST(keeps_and_uses_the_figures)
{
    ath_auto_free struct ath_measurement *loaded = NULL;
    struct ath_gpu_pair pair;
    struct tree tree;

    tree_make(&tree);
    ath_auto_free char *path = ath_xasprintf("%s/new/measured.json", tree.path);
    ck_assert_int_eq(measure("works", PATIENCE_MS), 0);
    ck_assert(!ath_measurement_apply_file(path, &machine));
    ck_assert_int_eq(ath_measurement_save(path, measured, &err), 0);
    ck_assert_int_eq(ath_measurement_load(path, &loaded, &err), 0);
    ck_assert_str_eq(loaded->date, measured->date);
    ck_assert_int_eq(loaded->copies[1][0].bytes_per_s, measured->copies[1][0].bytes_per_s);
    ck_assert(ath_measurement_apply_file(path, &machine));
    ck_assert_uint_eq(machine.warning_count, 0);
    ath_gpu_pair_look(&machine, 0, 1, &pair);
    ck_assert_int_eq(pair.source, ATH_FIGURE_MEASURED);
    expect_near(pair.bandwidth_bytes_per_s, 40e9); /* of the slower direction */
    ck_assert_int_eq(pair.latency_ns, 1000);

    /* Values within 5 % become the lowest of them, others stay. */
    machine.measured[0 * 3 + 2].bytes_per_s = machine.measured[2 * 3 + 0].bytes_per_s = 1040;
    machine.measured[1 * 3 + 2].bytes_per_s = machine.measured[2 * 3 + 1].bytes_per_s = 1000;
    machine.measured[0 * 3 + 1].bytes_per_s = machine.measured[1 * 3 + 0].bytes_per_s = 1051;
    ath_auto_free int64_t *matrix = ath_place_matrix(&machine);
    ck_assert_int_eq(matrix[0 * 3 + 2], 1000);
    ck_assert_int_eq(matrix[0 * 3 + 1], 1051);
    tree_remove(&tree);
}

TEST(other_gpus_and_drivers)
{
    ck_assert_int_eq(measure("works", PATIENCE_MS), 0);
    machine.gpus[1].uuid = ath_xstrdup("GPU-other");
    ath_auto_free char *other = ath_measurement_apply(measured, &machine);
    ck_assert_str_eq(other, "GPU '0000:42:00.0' is another one now");
    ck_assert_int_eq(machine.measured[0 * 3 + 1].bytes_per_s, ATH_UNKNOWN);
    expect_near(machine.measured[0 * 3 + 2].bytes_per_s, 10e9);
    snprintf(measured->driver_version, sizeof measured->driver_version, "1.2");
    free(machine.measured);
    machine.measured = NULL;
    ath_auto_free char *driver = ath_measurement_apply(measured, &machine);
    ck_assert_str_eq(driver, "it was measured with driver 1.2, and now it is 550.54");
    ck_assert_ptr_null(machine.measured);
}
