/*
 * The table of GPU models: memory, throughput and links from data sheets.
 *
 * All throughputs are dense (without sparsity). If a data sheet has only a figure with sparsity,
 * the table has half of it. FP64 and FP32 are those of the ordinary cores. TF32 to FP4 are those of
 * the tensor cores with FP32 accumulation; for a GPU without tensor cores, FP16 is that of the
 * ordinary cores. NVLink is one direction of all links together. Memory is counted in 2^30 bytes,
 * as NVIDIA does when it writes GB: nvidia-smi shows 143771 MiB for the 141 GB of an H200.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "numa/machine.h"

/* The comment is the unit of the figure. */
enum ath_gpu_figure {
    ATH_GPU_MEMORY,           /* bytes */
    ATH_GPU_MEMORY_BANDWIDTH, /* bytes per second */
    ATH_GPU_FP64,             /* 10^9 operations per second, as the next six */
    ATH_GPU_FP32,
    ATH_GPU_TF32,
    ATH_GPU_FP16,
    ATH_GPU_BF16,
    ATH_GPU_FP8,
    ATH_GPU_FP4,
    ATH_GPU_TENSOR_CORES, /* a number */
    ATH_GPU_NVLINK,       /* bytes per second in one direction */
    ATH_GPU_FIGURE_COUNT
};

struct ath_gpu_model {
    const char *name;   /* "A100 SXM4 80GB" */
    const char *source; /* the document that has the figures; NULL: no figure is known */
    int64_t figures[ATH_GPU_FIGURE_COUNT]; /* 0: the GPU has none; ATH_UNKNOWN: not known */
    int overall_percent;                   /* of an A100 80GB, see gpu_rates.h; ATH_UNKNOWN */
    const char *other_names[4];            /* of drivers and pci.ids, up to a NULL */
};

extern const struct ath_gpu_model ath_gpu_models[];
extern const size_t ath_gpu_model_count;

/*
 * Find a model by its whole name; NULL if the table lacks it. The maker's name in front may be left
 * out, "-" and "_" are blanks, and case does not matter: "NVIDIA A100-SXM4-80GB",
 * "a100-sxm4-80gb". A part of a GPU ("GRID A100-10C", "A100 SXM4 40GB MIG 1g.5gb") and a variant
 * that the table lacks have no model.
 */
const struct ath_gpu_model *ath_gpu_model_named(const char *name);
const struct ath_gpu_model *ath_gpu_model_of(const struct ath_gpu *gpu);

/* Returns the model's name for a command line: "a100-sxm4-80gb". The caller frees it. */
char *ath_gpu_model_id(const struct ath_gpu_model *model);

/* True for ATH_GPU_FP64 to ATH_GPU_FP4. */
bool ath_gpu_figure_is_throughput(enum ath_gpu_figure figure);

/* Returns "FP64", ..., "FP4"; NULL for figures that are no throughput. */
const char *ath_gpu_format_word(enum ath_gpu_figure figure);
