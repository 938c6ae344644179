/* The rows of the table, and finding a row by name or by device. */
#include "config.h"

#include "place/gpu_models.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/pci_names.h"
#include "base/text.h"
#include "base/unknown.h"

/* The rows have the units of data sheets: GB (2^30 bytes), GB/s (NVLink: both directions together)
 * and TFLOPS. `no` is a figure that is not known. */
#define no ATH_UNKNOWN
#define SCALED(value, unit) ((value) < 0 ? (int64_t)ATH_UNKNOWN : (int64_t)((value) * (unit) + 0.5))
#define GIB(value) SCALED(value, 1073741824.0)
#define GB_PER_S(value) SCALED(value, 1e9)
#define TFLOPS(value) SCALED(value, 1e3)
#define BOTH_WAYS(value) SCALED(value, 0.5e9)

#define ROW(model, memory, bandwidth, fp64, fp32, tf32, fp16, bf16, fp8, fp4, cores, nvlink,       \
            overall, document, ...)                                                                \
    {                                                                                              \
        .name = (model), .source = (document),                                                     \
        .figures = { GIB(memory),  GB_PER_S(bandwidth), TFLOPS(fp64),                              \
                     TFLOPS(fp32), TFLOPS(tf32),        TFLOPS(fp16),                              \
                     TFLOPS(bf16), TFLOPS(fp8),         TFLOPS(fp4),                               \
                     (cores),      BOTH_WAYS(nvlink) },                                            \
        .overall_percent = (overall), .other_names = {                                             \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

/* clang-format off */
const struct ath_gpu_model ath_gpu_models[] = {
/* The data sheets of L4, H100, H200, H800, GH200 and Blackwell have only figures with sparsity,
 * which are halved here. A number of tensor cores that a data sheet leaves out follows from the SMs
 * that CUDA reports: eight to an SM of Volta and Turing, four since Ampere. */

/*  model               GB    GB/s  FP64   FP32  TF32   FP16    BF16    FP8     FP4   cores NVLink overall */

/* Tesla P100 data sheets (SXM2 and PCIe). Pascal has no tensor cores. */
ROW("P100 SXM2 16GB",   16,   732,  5.3,   10.6, 0,     21.2,   0,      0,      0,     0,   160,  no, "NVIDIA Tesla P100 data sheet", NULL),
ROW("P100 PCIe 16GB",   16,   732,  4.7,   9.3,  0,     18.7,   0,      0,      0,     0,   0,    no, "NVIDIA Tesla P100 for PCIe data sheet", NULL),
ROW("P100 PCIe 12GB",   12,   549,  4.7,   9.3,  0,     18.7,   0,      0,      0,     0,   0,    no, "NVIDIA Tesla P100 for PCIe data sheet", NULL),

/* Volta's tensor cores have FP16 alone. SXM3 is the DGX-2's: its data sheet has 2 petaFLOPS, 10,240
 * tensor cores and 16 GPUs; the faster DGX-2H's rounds to 2.1 petaFLOPS, so no throughput is known. */
ROW("V100 SXM2 16GB",   16,   900,  7.8,   15.7, 0,     125,    0,      0,      0,     640, 300,  no, "NVIDIA V100 data sheet", NULL),
ROW("V100 SXM2 32GB",   32,   900,  7.8,   15.7, 0,     125,    0,      0,      0,     640, 300,  no, "NVIDIA V100 data sheet", NULL),
ROW("V100 PCIe 16GB",   16,   900,  7,     14,   0,     112,    0,      0,      0,     640, 0,    no, "NVIDIA V100 data sheet", NULL),
ROW("V100 PCIe 32GB",   32,   900,  7,     14,   0,     112,    0,      0,      0,     640, 0,    no, "NVIDIA V100 data sheet", NULL),
ROW("V100S PCIe 32GB",  32,   1134, 8.2,   16.4, 0,     130,    0,      0,      0,     640, 0,    no, "NVIDIA V100 data sheet", NULL),
ROW("V100 SXM3 32GB",   32,   no,   no,    no,   0,     125,    0,      0,      0,     640, 300,  no, "NVIDIA DGX-2 data sheet", NULL),
ROW("V100 SXM3 32GB H", 32,   no,   no,    no,   0,     no,     0,      0,      0,     640, 300,  no, "NVIDIA DGX-2H data sheet", NULL),

ROW("T4",               16,   320,  no,    8.1,  0,     65,     0,      0,      0,     320, 0,    no, "NVIDIA T4 product page; Turing architecture white paper", NULL),

/* Ampere. Its tensor cores have no FP8. */
ROW("A100 SXM4 40GB",   40,   1555, 9.7,   19.5, 156,   312,    312,    0,      0,     432, 600,  no, "NVIDIA A100 data sheet", NULL),
ROW("A100 PCIe 40GB",   40,   1555, 9.7,   19.5, 156,   312,    312,    0,      0,     432, 600,  no, "NVIDIA A100 data sheet", NULL),
ROW("A100 SXM4 80GB",   80,   2039, 9.7,   19.5, 156,   312,    312,    0,      0,     432, 600,  100, "NVIDIA A100 data sheet", "A100 80G"),
ROW("A100 PCIe 80GB",   80,   1935, 9.7,   19.5, 156,   312,    312,    0,      0,     432, 600,  100, "NVIDIA A100 data sheet", "A100 80GB PCIe"),
ROW("A800 SXM4 80GB",   80,   2039, 9.7,   19.5, 156,   312,    312,    0,      0,     432, 400,  70, "NVIDIA A800 data sheet", "A800 80G"),
ROW("A800 PCIe 80GB",   80,   1935, 9.7,   19.5, 156,   312,    312,    0,      0,     432, 400,  70, "NVIDIA A800 data sheet", "A800 80GB PCIe"),
ROW("A30",              24,   933,  5.2,   10.3, 82,    165,    165,    0,      0,     224, 200,  no, "NVIDIA A30 data sheet", "A30 PCIe"),
ROW("A40",              48,   696,  no,    37.4, 74.8,  149.7,  149.7,  0,      0,     336, 112.5, no, "NVIDIA A40 data sheet", NULL),
ROW("A10",              24,   600,  no,    31.2, 62.5,  125,    125,    0,      0,     288, 0,    no, "NVIDIA A10 data sheet", NULL),
ROW("A2",               16,   200,  no,    4.5,  9,     18,     18,     0,      0,     40,  0,    no, "NVIDIA A2 data sheet", NULL),
ROW("RTX A6000",        48,   768,  no,    38.7, 77.4,  154.8,  154.8,  0,      0,     336, 112.5, no, "NVIDIA RTX A6000 data sheet; GA102 architecture white paper", NULL),
ROW("RTX 3090",         24,   936,  no,    35.6, 35.6,  71,     71,     0,      0,     328, 112.5, no, "NVIDIA GA102 architecture white paper", NULL),

/* Ada. No NVLink, no FP4. */
ROW("L4",               24,   300,  no,    30.3, 60,    121,    121,    242.5,  0,     232, 0,    no, "NVIDIA L4 data sheet", NULL),
ROW("L40",              48,   864,  no,    90.5, 90.5,  181.05, 181.05, 362,    0,     568, 0,    no, "NVIDIA L40 data sheet", NULL),
ROW("L40S",             48,   864,  no,    91.6, 183,   362.05, 362.05, 733,    0,     568, 0,    no, "NVIDIA L40S data sheet", NULL),
ROW("RTX 6000 Ada",     48,   960,  no,    91.1, 182.1, 364.2,  364.2,  728.5,  0,     568, 0,    no, "NVIDIA RTX 6000 Ada data sheet; Ada architecture white paper", "RTX 6000 Ada Generation"),
ROW("RTX 4090",         24,   1008, no,    82.6, 82.6,  165.2,  165.2,  330.3,  0,     512, 0,    no, "NVIDIA Ada architecture white paper", NULL),

/* Hopper. No FP4. The NVLinks of a GH200 are another matter than its link to the processor, and few
 * boards use them. NVIDIA publishes no data sheet of the H20; server makers agree about it. */
ROW("H100 SXM5 80GB",   80,   3350, 34,    67,   494.5, 989.5,  989.5,  1979,   0,     528, 900,  no, "NVIDIA H100 data sheet", "H100 80GB HBM3"),
ROW("H100 PCIe",        80,   2000, 26,    51,   378,   756.5,  756.5,  1513,   0,     456, 600,  no, "NVIDIA H100 data sheet (2022)", "H100 PCIe 80GB"),
ROW("H100 NVL",         94,   3900, 30,    60,   417.5, 835.5,  835.5,  1670.5, 0,     no,  600,  no, "NVIDIA H100 data sheet", NULL),
ROW("H200 SXM5",        141,  4800, 34,    67,   494.5, 989.5,  989.5,  1979,   0,     528, 900,  no, "NVIDIA H200 data sheet", "H200"),
ROW("H200 NVL",         141,  4800, 30,    60,   417.5, 835.5,  835.5,  1670.5, 0,     no,  900,  no, "NVIDIA H200 data sheet", NULL),
ROW("H20",              96,   4000, 1,     44,   74,    148,    148,    296,    0,     no,  900,  no, "data sheets of server makers for the HGX H20", NULL),
ROW("H800 SXM5",        80,   3350, 1,     67,   494.5, 989.5,  989.5,  1979,   0,     no,  400,  no, "NVIDIA H800 data sheet", "H800"),
ROW("H800 PCIe",        80,   2000, 0.8,   51,   378,   756.5,  756.5,  1513,   0,     no,  400,  no, "NVIDIA H800 data sheet", NULL),
ROW("GH200 96GB",       96,   4000, 34,    67,   494.5, 989.5,  989.5,  1979,   0,     528, no,   no, "NVIDIA GH200 data sheet", "GH200 480GB", "GH200 120GB"),
ROW("GH200 144GB",      144,  4900, 34,    67,   494.5, 989.5,  989.5,  1979,   0,     528, no,   no, "NVIDIA GH200 data sheet", "GH200 144G HBM3e"),

/* Blackwell. The B300's documents differ about its memory and FP4. */
ROW("B200",             180,  7700, 37,    75,   1100,  2250,   2250,   4500,   9000,  no,  1800, no, "NVIDIA Blackwell data sheet", NULL),
ROW("GB200",            186,  8000, 40,    80,   1250,  2500,   2500,   5000,   10000, no,  1800, no, "NVIDIA Blackwell data sheet", NULL),
ROW("B300 SXM6",        no,   8000, 1.25,  75,   1125,  2250,   2250,   4500,   no,    no,  1800, no, "NVIDIA HGX B300 specifications", "B300 SXM6 AC"),
ROW("RTX 5090",         32,   1792, no,    104.8, 104.8, 209.5, 209.5,  419,    1676,  680, 0,    no, "NVIDIA RTX Blackwell architecture white paper", NULL),

/* Other makers: only the overall rate is known. */
ROW("Ascend 910B",      no,   no,   no,    no,   no,    no,     no,     no,     no,    no,  no,   60, NULL, "Ascend910B"),
ROW("Ascend 910A",      no,   no,   no,    no,   no,    no,     no,     no,     no,    no,  no,   50, NULL, "Ascend910A"),
ROW("DCU Z100",         no,   no,   no,    no,   no,    no,     no,     no,     no,    no,  no,   40, NULL, NULL),
ROW("MLU370",           no,   no,   no,    no,   no,    no,     no,     no,     no,    no,  no,   35, NULL, NULL),
};
/* clang-format on */

const size_t ath_gpu_model_count = ATH_COUNT(ath_gpu_models);

/* ---- names ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '-' || c == '_' || c == '\t';
}

/* Returns the name without the maker's words in front: "A100-SXM4-80GB". */
static const char *without_maker(const char *name)
{
    static const char *const words[] = { "NVIDIA", "Tesla",     "GeForce",  "Huawei",
                                         "Hygon",  "HiSilicon", "Cambricon" };
    for (size_t i = 0; i < ATH_COUNT(words); i++) {
        size_t length = strlen(words[i]);
        if (!strncasecmp(name, words[i], length) && is_blank(name[length]))
            return without_maker(name + length + 1);
    }
    return name;
}

static bool is_same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b) &&
            !(is_blank(*a) && is_blank(*b)))
            return false;
    return *a == *b;
}

const struct ath_gpu_model *ath_gpu_model_named(const char *name)
{
    const char *own = without_maker(name);

    for (size_t i = 0; i < ath_gpu_model_count; i++) {
        const struct ath_gpu_model *model = &ath_gpu_models[i];
        if (is_same_name(own, model->name))
            return model;
        for (size_t j = 0; j < ATH_COUNT(model->other_names) && model->other_names[j]; j++)
            if (is_same_name(own, model->other_names[j]))
                return model;
    }
    return NULL;
}

const struct ath_gpu_model *ath_gpu_model_of(const struct ath_gpu *gpu)
{
    const char *name = gpu->model ? gpu->model : ath_pci_name(gpu->vendor_id, gpu->device_id);
    return name ? ath_gpu_model_named(name) : NULL;
}

char *ath_gpu_model_id(const struct ath_gpu_model *model)
{
    char *id = ath_xstrdup(model->name);
    for (char *c = id; *c; c++)
        *c = is_blank(*c) ? '-' : (char)tolower((unsigned char)*c);
    return id;
}

bool ath_gpu_figure_is_throughput(enum ath_gpu_figure figure)
{
    return figure >= ATH_GPU_FP64 && figure <= ATH_GPU_FP4;
}

const char *ath_gpu_format_word(enum ath_gpu_figure figure)
{
    static const char *const words[ATH_GPU_FIGURE_COUNT] = {
        [ATH_GPU_FP64] = "FP64", [ATH_GPU_FP32] = "FP32", [ATH_GPU_TF32] = "TF32",
        [ATH_GPU_FP16] = "FP16", [ATH_GPU_BF16] = "BF16", [ATH_GPU_FP8] = "FP8",
        [ATH_GPU_FP4] = "FP4",
    };
    return words[figure];
}
