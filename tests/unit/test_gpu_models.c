/* The table of GPU models, exchange rates, requests, and fingerprints of made machines. */
#include "config.h"

#include "place/gpu_models.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/pci_names.h"
#include "base/unknown.h"
#include "place/equivalent.h"
#include "place/gpu_fingerprint.h"
#include "place/gpu_rates.h"
#include "unit.h"

#define GIB (INT64_C(1) << 30)
#define GB INT64_C(1000000000)

static const struct ath_gpu_model *named(const char *name)
{
    const struct ath_gpu_model *model = ath_gpu_model_named(name);
    ck_assert_msg(model != NULL, "no model '%s'", name);
    return model;
}

/* ---- the table ---- */

static void expect(const char *name, enum ath_gpu_figure figure, int64_t value)
{
    const struct ath_gpu_model *model = named(name);
    ck_assert_msg(model->figures[figure] == value, "%s: figure %d is %lld, not %lld", name, figure,
                  (long long)model->figures[figure], (long long)value);
}

TEST(figures_have_their_units)
{
    expect("A100 SXM4 80GB", ATH_GPU_MEMORY, 80 * GIB);
    expect("A100 SXM4 80GB", ATH_GPU_MEMORY_BANDWIDTH, 2039 * GB);
    expect("A100 SXM4 80GB", ATH_GPU_FP64, 9700);
    expect("A100 SXM4 80GB", ATH_GPU_FP32, 19500);
    expect("A100 SXM4 80GB", ATH_GPU_TF32, 156000);
    expect("A100 SXM4 80GB", ATH_GPU_FP16, 312000);
    expect("A100 SXM4 80GB", ATH_GPU_BF16, 312000);
    expect("A100 SXM4 80GB", ATH_GPU_FP8, 0);
    expect("A100 SXM4 80GB", ATH_GPU_TENSOR_CORES, 432);
    expect("A100 SXM4 80GB", ATH_GPU_NVLINK, 300 * GB); /* 600 both ways */
    expect("A40", ATH_GPU_NVLINK, 56250000000);
    expect("L40", ATH_GPU_FP16, 181050);
    expect("B200", ATH_GPU_FP4, 9000000);
    expect("T4", ATH_GPU_FP64, ATH_UNKNOWN);
    expect("T4", ATH_GPU_NVLINK, 0);
    expect("B300 SXM6", ATH_GPU_MEMORY, ATH_UNKNOWN);
    expect("V100 SXM2 16GB", ATH_GPU_FP16, 125000);
    expect("P100 SXM2 16GB", ATH_GPU_TENSOR_CORES, 0);
}

/* The sparse figure is twice the dense one: data sheets print both. */
TEST(throughputs_are_dense)
{
    expect("H100 SXM5 80GB", ATH_GPU_FP16, 1979000 / 2);
    expect("H100 SXM5 80GB", ATH_GPU_FP8, 3958000 / 2);
    expect("H200 SXM5", ATH_GPU_TF32, 989000 / 2);
    expect("L4", ATH_GPU_FP8, 485000 / 2);
    expect("L40S", ATH_GPU_FP8, 1466000 / 2);
    expect("RTX 5090", ATH_GPU_FP4, 3352000 / 2);
    expect("GB200", ATH_GPU_FP4, 20000000 / 2);
}

/* Returns whether the figures grow from format to format, where both are known. */
static bool grows(const struct ath_gpu_model *model)
{
    int64_t last = 0;
    for (int i = ATH_GPU_FP64; i <= ATH_GPU_FP4; i++) {
        int64_t figure = model->figures[i];
        if (figure <= 0)
            continue;
        if (figure < last)
            return false;
        last = figure;
    }
    return true;
}

TEST(rows_are_plausible)
{
    for (size_t i = 0; i < ath_gpu_model_count; i++) {
        const struct ath_gpu_model *model = &ath_gpu_models[i];
        const int64_t *figures = model->figures;
        bool is_known = false;
        for (int j = 0; j < ATH_GPU_FIGURE_COUNT; j++) {
            ck_assert_msg(figures[j] >= ATH_UNKNOWN, "%s: figure %d", model->name, j);
            is_known = is_known || figures[j] >= 0;
        }
        ck_assert_msg(is_known == (model->source != NULL), "%s: source", model->name);
        ck_assert_msg(is_known || model->overall_percent > 0, "%s: empty row", model->name);
        ck_assert_msg(grows(model), "%s: a shorter format is slower", model->name);
        ck_assert_msg(figures[ATH_GPU_MEMORY] != 0 && figures[ATH_GPU_FP32] != 0, "%s: 0",
                      model->name);
        if (figures[ATH_GPU_BF16] > 0)
            ck_assert_int_eq(figures[ATH_GPU_BF16], figures[ATH_GPU_FP16]);
        if (figures[ATH_GPU_FP8] > 0) /* 2 by the number of bits; H100 PCIe's rounds */
            ck_assert_int_le(llabs(figures[ATH_GPU_FP8] - 2 * figures[ATH_GPU_FP16]),
                             figures[ATH_GPU_FP8] / 80);
    }
}

TEST(no_name_has_two_rows)
{
    for (size_t i = 0; i < ath_gpu_model_count; i++) {
        const struct ath_gpu_model *model = &ath_gpu_models[i];
        ath_auto_free char *id = ath_gpu_model_id(model);
        ck_assert_ptr_eq(ath_gpu_model_named(model->name), model);
        ck_assert_ptr_eq(ath_gpu_model_named(id), model);
        for (size_t j = 0; j < ATH_COUNT(model->other_names) && model->other_names[j]; j++)
            ck_assert_ptr_eq(ath_gpu_model_named(model->other_names[j]), model);
    }
}

/* ---- names ---- */

TEST(ids_are_for_command_lines)
{
    ath_auto_free char *a100 = ath_gpu_model_id(named("A100 SXM4 80GB"));
    ath_auto_free char *t4 = ath_gpu_model_id(named("T4"));
    ck_assert_str_eq(a100, "a100-sxm4-80gb");
    ck_assert_str_eq(t4, "t4");
}

TEST(names_of_drivers_find_their_rows)
{
    static const struct {
        const char *name, *row;
    } rows[] = {
        { "Tesla V100-SXM2-32GB", "V100 SXM2 32GB" },
        { "Tesla V100-PCIE-16GB", "V100 PCIe 16GB" },
        { "Tesla V100-SXM3-32GB-H", "V100 SXM3 32GB H" },
        { "Tesla P100-SXM2-16GB", "P100 SXM2 16GB" },
        { "Tesla T4", "T4" },
        { "NVIDIA A100-SXM4-40GB", "A100 SXM4 40GB" },
        { "A100-SXM4-40GB", "A100 SXM4 40GB" },
        { "NVIDIA A100 80GB PCIe", "A100 PCIe 80GB" },
        { "NVIDIA A800-SXM4-80GB", "A800 SXM4 80GB" },
        { "NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada" },
        { "NVIDIA GeForce RTX 4090", "RTX 4090" },
        { "NVIDIA H100 80GB HBM3", "H100 SXM5 80GB" },
        { "NVIDIA H100 PCIe", "H100 PCIe" },
        { "NVIDIA H200", "H200 SXM5" },
        { "NVIDIA H200 NVL", "H200 NVL" },
        { "NVIDIA GH200 480GB", "GH200 96GB" },
        { "NVIDIA GH200 144G HBM3e", "GH200 144GB" },
        { "NVIDIA B200", "B200" },
        { "NVIDIA B300 SXM6 AC", "B300 SXM6" },
        { "nvidia-a100-80g", "A100 SXM4 80GB" },
        { "nvidia_tesla_t4", "T4" },
        { "huawei-ascend910b", "Ascend 910B" },
        { "hygon-dcu-z100", "DCU Z100" },
        { "cambricon-mlu370", "MLU370" },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++)
        ck_assert_str_eq(named(rows[i].name)->name, rows[i].row);
}

/* Parts of GPUs, and products whose names only begin alike. */
TEST(similar_names_have_no_model)
{
    static const char *const names[] = {
        "",
        "NVIDIA",
        "NVIDIA ",
        "A100",
        "NVIDIA A100-SXM4-40GB MIG 1g.5gb",
        "GRID A100-10C",
        "NVIDIA A100-SXM-64GB",
        "NVIDIA A10G",
        "NVIDIA A1",
        "NVIDIA GeForce RTX 3090 Ti",
        "NVIDIA GeForce RTX 4090 D",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "NVIDIA L40G",
        "NVIDIA H20-3e",
        "NVIDIA H100",
        "GH200",
        "Tesla V100-SXM2-16GB-LS",
        "NVIDIAT4",
        "NVIDIAxT4",
    };
    for (size_t i = 0; i < ATH_COUNT(names); i++)
        ck_assert_msg(!ath_gpu_model_named(names[i]), "'%s'", names[i]);
}

static struct ath_machine machine;

static void setup(void)
{
    machine = (struct ath_machine){ 0 };
}

static void teardown(void)
{
    ath_machine_free(&machine);
}

static struct ath_gpu *add_gpu(const char *model)
{
    const struct ath_pci pci = { .bus = (uint8_t)(machine.gpu_count + 1) };
    struct ath_gpu *gpu = ath_machine_add_gpu(&machine, &pci);
    gpu->vendor_id = ATH_VENDOR_NVIDIA;
    gpu->knows_driver = true;
    gpu->driver = ath_xstrdup("nvidia");
    gpu->model = model ? ath_xstrdup(model) : NULL;
    return gpu;
}

FIXTURE(setup, teardown);

TEST(pci_ids_find_a_model_without_a_driver)
{
    struct ath_gpu *gpu = add_gpu(NULL);
    ck_assert_ptr_null(ath_gpu_model_of(gpu));
    gpu->device_id = 0x233b;
    ck_assert_str_eq(ath_gpu_model_of(gpu)->name, "H200 NVL");
    gpu->device_id = 0x2339; /* pci.ids does not say which H100 */
    ck_assert_ptr_null(ath_gpu_model_of(gpu));
    gpu->device_id = 0x20b2;
    gpu->model = ath_xstrdup("GRID A100D-10C"); /* a part of the GPU: the driver's name counts */
    ck_assert_ptr_null(ath_gpu_model_of(gpu));
}

/* ---- exchange rates ---- */

static int64_t rate(const char *model, const char *base, enum ath_gpu_rate which)
{
    return ath_gpu_rate_thousandths(named(model), named(base), which);
}

TEST(rates_are_quotients)
{
    const char *a100 = ath_gpu_rate_base()->name;
    ck_assert_str_eq(a100, "A100 SXM4 80GB");
    for (int i = 0; i < ATH_RATE_COUNT; i++)
        ck_assert_int_eq(rate(a100, a100, (enum ath_gpu_rate)i), 1000);
    ck_assert_int_eq(rate("A800 SXM4 80GB", a100, ATH_RATE_COMPUTE), 1000);
    ck_assert_int_eq(rate("A800 SXM4 80GB", a100, ATH_RATE_LINKS), 667); /* 400 / 600 */
    ck_assert_int_eq(rate("A800 SXM4 80GB", a100, ATH_RATE_OVERALL), 700);
    ck_assert_int_eq(rate("V100 SXM2 32GB", a100, ATH_RATE_COMPUTE), 401); /* 125 / 312 */
    ck_assert_int_eq(rate("V100 SXM2 32GB", a100, ATH_RATE_MEMORY), 400);
    ck_assert_int_eq(rate("V100 SXM2 32GB", a100, ATH_RATE_MEMORY_BANDWIDTH), 441);
    ck_assert_int_eq(rate(a100, "V100 SXM2 32GB", ATH_RATE_MEMORY), 2500);
    ck_assert_int_eq(rate("T4", a100, ATH_RATE_LINKS), 0);
}

TEST(unknown_figures_have_no_rate)
{
    const char *a100 = ath_gpu_rate_base()->name;
    ck_assert_int_eq(rate(a100, "T4", ATH_RATE_LINKS), ATH_UNKNOWN); /* by 0 */
    ck_assert_int_eq(rate("Ascend 910B", a100, ATH_RATE_COMPUTE), ATH_UNKNOWN);
    ck_assert_int_eq(rate(a100, "Ascend 910B", ATH_RATE_COMPUTE), ATH_UNKNOWN);
    ck_assert_int_eq(rate("H100 PCIe", a100, ATH_RATE_OVERALL), ATH_UNKNOWN);
    ck_assert_int_eq(rate(a100, "H100 PCIe", ATH_RATE_OVERALL), ATH_UNKNOWN);
}

/* The table of the design: the rate of the wanted card by that of the card that is there. */
TEST(the_designs_six_rates_are_shipped)
{
    static const struct {
        const char *name;
        int64_t rate;
    } rows[] = {
        { "nvidia-a100-80g", 1000 },  { "nvidia-a800-80g", 700 }, { "huawei-ascend910b", 600 },
        { "huawei-ascend910a", 500 }, { "hygon-dcu-z100", 400 },  { "cambricon-mlu370", 350 },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++)
        ck_assert_int_eq(rate(rows[i].name, "nvidia-a100-80g", ATH_RATE_OVERALL), rows[i].rate);
    ck_assert_int_eq(rate("nvidia-a100-80g", "huawei-ascend910b", ATH_RATE_OVERALL), 1667);
}

/* ---- requests ---- */

static struct ath_needs needs;
static struct ath_err err;

static void expect_need(const char *text, enum ath_gpu_figure figure, int64_t amount)
{
    ck_assert_msg(!ath_needs_read(text, &needs, &err), "%s: %s", text, err.message);
    ck_assert_uint_eq(needs.count, 1);
    ck_assert_int_eq(needs.items[0].figure, figure);
    ck_assert_msg(needs.items[0].amount == amount, "%s: %lld", text,
                  (long long)needs.items[0].amount);
}

TEST(reads_requests)
{
    expect_need("100TFLOPS-fp16", ATH_GPU_FP16, 100000);
    expect_need("19.5tflops-FP32", ATH_GPU_FP32, 19500);
    expect_need("1PFLOPS-fp8", ATH_GPU_FP8, 1000000);
    expect_need("1GFLOPS-fp64", ATH_GPU_FP64, 1);
    expect_need("1gflops-tf32", ATH_GPU_TF32, 1);
    expect_need("3TFLOPS-bf16", ATH_GPU_BF16, 3000);
    expect_need("3TFLOPS-fp4", ATH_GPU_FP4, 3000);
    expect_need("80GiB", ATH_GPU_MEMORY, 80 * GIB);
    expect_need("80GB", ATH_GPU_MEMORY, 80 * GIB);
    expect_need("80Gi", ATH_GPU_MEMORY, 80 * GIB);
    expect_need("80G", ATH_GPU_MEMORY, 80 * GIB);
    expect_need("512M", ATH_GPU_MEMORY, GIB / 2);
    expect_need("512mib", ATH_GPU_MEMORY, GIB / 2);
    expect_need("1.5TB", ATH_GPU_MEMORY, 1536 * GIB);
    expect_need(" 2TB/s ", ATH_GPU_MEMORY_BANDWIDTH, 2000 * GB);
    expect_need("0.3TB/s", ATH_GPU_MEMORY_BANDWIDTH, 300 * GB);
    expect_need("900gB/s", ATH_GPU_MEMORY_BANDWIDTH, 900 * GB);
    expect_need("1MB/s", ATH_GPU_MEMORY_BANDWIDTH, 1000000);
    expect_need("0.5GFLOPS-fp16", ATH_GPU_FP16, 1);
    expect_need("1000000TB/s", ATH_GPU_MEMORY_BANDWIDTH, INT64_C(1000000000) * GB);
}

TEST(reads_several_parts)
{
    ck_assert_int_eq(ath_needs_read("100TFLOPS-fp16, 80GB,2TB/s", &needs, &err), 0);
    ck_assert_uint_eq(needs.count, 3);
    ck_assert_int_eq(needs.items[1].figure, ATH_GPU_MEMORY);
    ck_assert_int_eq(needs.items[2].figure, ATH_GPU_MEMORY_BANDWIDTH);
    ck_assert_int_eq(ath_needs_read("1TFLOPS-fp64,1TFLOPS-fp32,1TFLOPS-tf32,1TFLOPS-fp16,"
                                    "1TFLOPS-bf16,1TFLOPS-fp8,1TFLOPS-fp4,1G,1GB/s",
                                    &needs, &err),
                     0);
    ck_assert_uint_eq(needs.count, 9);
}

TEST(refuses_wrong_requests)
{
    static const struct {
        const char *text, *part;
    } rows[] = {
        { "", "empty" },
        { "80GB,", "empty" },
        { "80GB,,2TB/s", "empty" },
        { "80", "is no throughput" },
        { "GB", "does not begin with a number" },
        { "-80GB", "does not begin with a number" },
        { "1.2.3GB", "does not begin with a number" },
        { ".5GB", "does not begin with a number" },
        { "1e3GB", "is no throughput" },
        { "80GBx", "is no throughput" },
        { "80 GB", "is no throughput" },
        { "80GB-fp16", "is no throughput" },
        { "2TB/s-fp16", "is no throughput" },
        { "80Gb/s", "counts bits" },
        { "2tb/s", "counts bits" },
        { "100TFLOPS", "does not end with a format" },
        { "100TFLOPS-", "does not end with a format" },
        { "100TFLOPS-fp12", "does not end with a format" },
        { "100TFLOPS-memory", "does not end with a format" },
        { "0GB", "asks for nothing" },
        { "0.4GFLOPS-fp16", "asks for nothing" },
        { "1000001TB/s", "more than can be counted" },
        { "99999999999999TB", "more than can be counted" },
        { "80GB,40G", "a second time" },
        { "1TFLOPS-fp16,80GB,2TFLOPS-fp16", "a second time" },
    };
    for (size_t i = 0; i < ATH_COUNT(rows); i++) {
        needs.count = 77;
        ck_assert_msg(ath_needs_read(rows[i].text, &needs, &err) == -EINVAL, "'%s'", rows[i].text);
        ck_assert_msg(strstr(err.message, rows[i].part) != NULL, "'%s': %s", rows[i].text,
                      err.message);
        ck_assert_int_eq(err.code, ATH_E_USAGE);
        ck_assert_msg(strstr(err.hint, "100TFLOPS-fp16,80GB") != NULL, "%s", err.hint);
        ck_assert_uint_eq(needs.count, 77);
    }
}

static struct ath_equivalent equivalent(const char *request, const char *model)
{
    ck_assert_int_eq(ath_needs_read(request, &needs, &err), 0);
    return ath_equivalent_of(&needs, named(model)->figures);
}

static void expect_count(const char *request, const char *model, int64_t count,
                         enum ath_gpu_figure decides)
{
    struct ath_equivalent found = equivalent(request, model);
    ck_assert_int_eq(found.state, ATH_EQUIVALENT_FITS);
    ck_assert_int_eq(found.count, count);
    ck_assert_int_eq(found.decides, decides);
}

TEST(counts_to_the_exact_limit)
{
    expect_count("312TFLOPS-fp16", "A100 SXM4 80GB", 1, ATH_GPU_FP16);
    expect_count("312.001TFLOPS-fp16", "A100 SXM4 80GB", 2, ATH_GPU_FP16);
    expect_count("624TFLOPS-fp16", "A100 SXM4 80GB", 2, ATH_GPU_FP16);
    expect_count("80GB", "A100 SXM4 80GB", 1, ATH_GPU_MEMORY);
    expect_count("80.01GB", "A100 SXM4 80GB", 2, ATH_GPU_MEMORY);
    expect_count("1M", "A100 SXM4 80GB", 1, ATH_GPU_MEMORY);
    expect_count("2039GB/s", "A100 SXM4 80GB", 1, ATH_GPU_MEMORY_BANDWIDTH);
    expect_count("2040GB/s", "A100 SXM4 80GB", 2, ATH_GPU_MEMORY_BANDWIDTH);
}

TEST(the_scarcest_figure_decides)
{
    expect_count("100TFLOPS-fp16,80GB", "V100 SXM2 32GB", 3, ATH_GPU_MEMORY);
    expect_count("1000TFLOPS-fp16,80GB", "V100 SXM2 32GB", 8, ATH_GPU_FP16);
    expect_count("80GB,100TFLOPS-fp16,9TB/s", "V100 SXM2 32GB", 10, ATH_GPU_MEMORY_BANDWIDTH);
    expect_count("32GB,125TFLOPS-fp16", "V100 SXM2 32GB", 1, ATH_GPU_MEMORY); /* the first */
}

TEST(an_unknown_figure_is_no_answer)
{
    struct ath_equivalent found = equivalent("1GB,1TFLOPS-fp64", "T4");
    ck_assert_int_eq(found.state, ATH_EQUIVALENT_UNKNOWN);
    ck_assert_int_eq(found.count, ATH_UNKNOWN);
    ck_assert_int_eq(found.decides, ATH_GPU_FP64);
    found = equivalent("1TFLOPS-fp64,1TFLOPS-fp8,1GB", "T4");
    ck_assert_int_eq(found.state, ATH_EQUIVALENT_NEVER); /* this much is certain */
    ck_assert_int_eq(found.count, ATH_UNKNOWN);
    ck_assert_int_eq(found.decides, ATH_GPU_FP8);
    found = equivalent("1TFLOPS-fp8,1TFLOPS-fp64", "T4");
    ck_assert_int_eq(found.decides, ATH_GPU_FP8);
}

/* ---- the machine's own GPUs ---- */

static struct ath_equivalents here;

static void look(const char *request)
{
    ck_assert_int_eq(ath_needs_read(request, &needs, &err), 0);
    ath_equivalents_here(&machine, &needs, &here);
}

TEST(kinds_of_gpus_are_counted_apart)
{
    add_gpu("Tesla V100-SXM2-32GB")->memory_total_bytes = 31 * GIB;
    add_gpu("NVIDIA A100-SXM4-80GB");
    add_gpu("Tesla V100-SXM2-32GB")->memory_total_bytes = 31 * GIB + 4096;
    add_gpu("Tesla V100-SXM2-32GB")->is_lost = true;
    look("64GB");
    ck_assert_uint_eq(here.count, 2);
    ck_assert_uint_eq(here.kinds[0].count, 2);
    ck_assert_uint_eq(here.kinds[0].gpus[0], 0);
    ck_assert_uint_eq(here.kinds[0].gpus[1], 2);
    ck_assert_int_eq(here.kinds[0].equivalent.count, 2); /* of 32 GiB, whatever the driver keeps */
    ck_assert_uint_eq(here.kinds[1].gpus[0], 1);
    ck_assert_int_eq(here.kinds[1].equivalent.count, 1);
    ath_equivalents_free(&here);
}

TEST(an_unknown_model_has_the_drivers_memory)
{
    add_gpu("NVIDIA X1")->memory_total_bytes = 10 * GIB;
    add_gpu("NVIDIA X1")->memory_total_bytes = 10 * GIB;
    add_gpu("NVIDIA X1")->memory_total_bytes = 20 * GIB;
    add_gpu("NVIDIA X2")->memory_total_bytes = 10 * GIB;
    look("11GB");
    ck_assert_uint_eq(here.count, 3);
    ck_assert_ptr_null(here.kinds[0].model);
    ck_assert_uint_eq(here.kinds[0].count, 2);
    ck_assert_int_eq(here.kinds[0].equivalent.count, 2);
    ck_assert_int_eq(here.kinds[1].equivalent.count, 1);
    ath_equivalents_free(&here);
    look("1TFLOPS-fp16");
    ck_assert_int_eq(here.kinds[0].equivalent.state, ATH_EQUIVALENT_UNKNOWN);
    ath_equivalents_free(&here);
}

TEST(a_machine_without_gpus_has_no_kinds)
{
    look("1GB");
    ck_assert_uint_eq(here.count, 0);
    ath_equivalents_free(&here);
}

/* ---- fingerprints ---- */

static struct ath_gpu_fingerprint fingerprint;

static void expect_figure(enum ath_gpu_figure figure, int64_t value, enum ath_figure_source source)
{
    ck_assert_int_eq(fingerprint.figures[figure].value, value);
    ck_assert_int_eq(fingerprint.figures[figure].source, source);
}

TEST(the_driver_counts_more_than_the_table)
{
    struct ath_gpu *gpu = add_gpu("NVIDIA H100 80GB HBM3");
    gpu->memory_total_bytes = 85520809984;
    gpu->memory_free_bytes = 0;
    ath_gpu_fingerprint_make(&machine, 0, &fingerprint);
    expect_figure(ATH_GPU_MEMORY, 85520809984, ATH_FIGURE_DRIVER);
    expect_figure(ATH_GPU_MEMORY_BANDWIDTH, 3350 * GB, ATH_FIGURE_TABLE);
    expect_figure(ATH_GPU_FP4, 0, ATH_FIGURE_TABLE);
    ck_assert_int_eq(fingerprint.memory_free_bytes.value, 0);
    ck_assert_int_eq(fingerprint.memory_free_bytes.source, ATH_FIGURE_DRIVER);
    ath_gpu_fingerprint_free(&fingerprint);
    gpu->memory_total_bytes = gpu->memory_free_bytes = ATH_UNKNOWN;
    ath_gpu_fingerprint_make(&machine, 0, &fingerprint);
    expect_figure(ATH_GPU_MEMORY, 80 * GIB, ATH_FIGURE_TABLE);
    ck_assert_int_eq(fingerprint.memory_free_bytes.source, ATH_FIGURE_UNKNOWN);
    ck_assert_int_eq(fingerprint.memory_free_bytes.value, ATH_UNKNOWN);
    ath_gpu_fingerprint_free(&fingerprint);
}

TEST(an_unknown_model_has_no_figures)
{
    add_gpu("NVIDIA X1");
    ath_gpu_fingerprint_make(&machine, 0, &fingerprint);
    ck_assert_ptr_null(fingerprint.model);
    for (int i = 0; i < ATH_GPU_FIGURE_COUNT; i++)
        expect_figure((enum ath_gpu_figure)i, ATH_UNKNOWN, ATH_FIGURE_UNKNOWN);
    ck_assert_uint_eq(fingerprint.link_count, 0);
    ath_gpu_fingerprint_free(&fingerprint);
}

/* The memory of an AC922's GPU is a NUMA node. */
TEST(a_node_tells_the_memory_of_its_gpu)
{
    struct ath_numa_node *node = ath_machine_add_node(&machine, 255);
    node->is_online = true;
    node->memory_total_bytes = 31 * GIB;
    node->memory_free_bytes = 7 * GIB;
    struct ath_gpu *gpu = add_gpu(NULL);
    gpu->memory_node = 255;
    ath_gpu_fingerprint_make(&machine, 0, &fingerprint);
    expect_figure(ATH_GPU_MEMORY, 31 * GIB, ATH_FIGURE_DRIVER);
    ck_assert_int_eq(fingerprint.memory_free_bytes.value, 7 * GIB);
    ath_gpu_fingerprint_free(&fingerprint);

    gpu->memory_free_bytes = 6 * GIB; /* the driver knows better */
    gpu->memory_total_bytes = 30 * GIB;
    ath_gpu_fingerprint_make(&machine, 0, &fingerprint);
    expect_figure(ATH_GPU_MEMORY, 30 * GIB, ATH_FIGURE_DRIVER);
    ck_assert_int_eq(fingerprint.memory_free_bytes.value, 6 * GIB);
    ath_gpu_fingerprint_free(&fingerprint);

    gpu->memory_free_bytes = ATH_UNKNOWN;
    gpu->memory_state = ATH_MEMORY_OFFLINE;
    ath_gpu_fingerprint_make(&machine, 0, &fingerprint);
    ck_assert_int_eq(fingerprint.memory_free_bytes.value, ATH_UNKNOWN);
    ath_gpu_fingerprint_free(&fingerprint);

    gpu->memory_state = ATH_MEMORY_ONLINE;
    node->is_online = false;
    ath_gpu_fingerprint_make(&machine, 0, &fingerprint);
    ck_assert_int_eq(fingerprint.memory_free_bytes.value, ATH_UNKNOWN);
    ath_gpu_fingerprint_free(&fingerprint);
}

static struct ath_nvlink *add_nvlink(struct ath_gpu *gpu, enum ath_peer_kind kind, int count,
                                     int64_t speed_mbps)
{
    struct ath_nvlink *link = ath_push(&gpu->nvlinks, &gpu->nvlink_count, sizeof *link);
    *link = (struct ath_nvlink){ .kind = kind, .count = count, .speed_mbps = speed_mbps };
    gpu->has_nvlinks = true;
    return link;
}

static void expect_link(size_t at, size_t ends, int count, int64_t bandwidth,
                        enum ath_figure_source source, int64_t latency_ns)
{
    ck_assert_uint_lt(at, fingerprint.link_count);
    const struct ath_gpu_link *link = &fingerprint.links[at];
    ck_assert_uint_eq(link->ends, ends);
    ck_assert_int_eq(link->count, count);
    ck_assert_int_eq(link->bandwidth_bytes_per_s.value, bandwidth);
    ck_assert_int_eq(link->bandwidth_bytes_per_s.source, source);
    ck_assert_int_eq(link->latency_ns.value, latency_ns);
    ck_assert_int_eq(link->latency_ns.source, ATH_FIGURE_TABLE);
}

TEST(links_have_bandwidths_of_driver_or_table)
{
    struct ath_gpu *gpu = add_gpu("Tesla V100-SXM2-32GB");
    gpu->device_id = 0x1db5;
    add_nvlink(gpu, ATH_PEER_GPU, 3, 600000);
    add_nvlink(gpu, ATH_PEER_CPU, 3, ATH_UNKNOWN);
    add_nvlink(gpu, ATH_PEER_GPU, ATH_UNKNOWN, ATH_UNKNOWN);
    gpu->pcie_width = 2;
    gpu->pcie_mbps = 16000;
    ath_gpu_fingerprint_make(&machine, 0, &fingerprint);
    ck_assert_uint_eq(fingerprint.link_count, 4);
    expect_link(0, 1, 3, 75 * GB, ATH_FIGURE_DRIVER, 600);
    ck_assert_ptr_eq(fingerprint.links[0].nvlink, &gpu->nvlinks[0]);
    expect_link(1, 1, 3, 75 * GB, ATH_FIGURE_TABLE, 600);
    expect_link(2, 1, ATH_UNKNOWN, ATH_UNKNOWN, ATH_FIGURE_UNKNOWN, 600);
    expect_link(3, 1, 2, 2 * GB, ATH_FIGURE_DRIVER, 1000);
    ck_assert_ptr_null(fingerprint.links[3].nvlink);
    ath_gpu_fingerprint_free(&fingerprint);

    gpu->device_id = ATH_UNKNOWN; /* the name tells the chip */
    ath_gpu_fingerprint_make(&machine, 0, &fingerprint);
    expect_link(1, 1, 3, 75 * GB, ATH_FIGURE_TABLE, 600);
    ath_gpu_fingerprint_free(&fingerprint);
}

TEST(all_switches_are_one_link)
{
    struct ath_gpu *gpu = add_gpu("Tesla V100-SXM3-32GB");
    add_nvlink(gpu, ATH_PEER_SWITCH, 1, 200000);
    add_nvlink(gpu, ATH_PEER_SWITCH, 2, 400000);
    add_nvlink(gpu, ATH_PEER_SWITCH, 3, 600000);
    add_nvlink(gpu, ATH_PEER_GPU, 6, 1200000)->is_through_switch = true;
    gpu->pcie_gen = 3; /* the width is not known */
    ath_gpu_fingerprint_make(&machine, 0, &fingerprint);
    ck_assert_uint_eq(fingerprint.link_count, 2);
    expect_link(0, 3, 6, 150 * GB, ATH_FIGURE_DRIVER, 600);
    expect_link(1, 1, ATH_UNKNOWN, ATH_UNKNOWN, ATH_FIGURE_UNKNOWN, 1000);
    ath_gpu_fingerprint_free(&fingerprint);

    gpu->nvlinks[1].speed_mbps = gpu->nvlinks[1].count = ATH_UNKNOWN;
    ath_gpu_fingerprint_make(&machine, 0, &fingerprint);
    expect_link(0, 3, ATH_UNKNOWN, ATH_UNKNOWN, ATH_FIGURE_UNKNOWN, 600);
    ath_gpu_fingerprint_free(&fingerprint);
}
