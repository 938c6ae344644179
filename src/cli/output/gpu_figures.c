/* The table of figures with titles and units, and amounts in words. */
#include "config.h"

#include "cli/output/gpu_figures.h"

#include <inttypes.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "cli/output/words.h"

static const struct {
    const char *word, *title;
} figures[ATH_GPU_FIGURE_COUNT] = {
    [ATH_GPU_MEMORY] = { "memory", N_("memory") },
    [ATH_GPU_MEMORY_BANDWIDTH] = { "memory_bandwidth", N_("memory bandwidth") },
    [ATH_GPU_FP64] = { "fp64", NULL },
    [ATH_GPU_FP32] = { "fp32", NULL },
    [ATH_GPU_TF32] = { "tf32", NULL },
    [ATH_GPU_FP16] = { "fp16", NULL },
    [ATH_GPU_BF16] = { "bf16", NULL },
    [ATH_GPU_FP8] = { "fp8", NULL },
    [ATH_GPU_FP4] = { "fp4", NULL },
    [ATH_GPU_TENSOR_CORES] = { "tensor_cores", N_("tensor cores") },
    [ATH_GPU_NVLINK] = { "nvlink", N_("NVLink") },
};

const char *ath_gpu_figure_word(enum ath_gpu_figure figure)
{
    return figures[figure].word;
}

const char *ath_gpu_figure_title(enum ath_gpu_figure figure)
{
    const char *title = figures[figure].title;
    return title ? _(title) : ath_gpu_format_word(figure);
}

char *ath_gpu_figure_amount(enum ath_gpu_figure figure, int64_t amount)
{
    if (amount < 0)
        return ath_xstrdup(_("not known"));
    if (figure == ATH_GPU_MEMORY)
        return ath_words_size(amount);
    if (figure == ATH_GPU_MEMORY_BANDWIDTH || figure == ATH_GPU_NVLINK)
        return ath_words_bandwidth(amount);
    if (ath_gpu_figure_is_throughput(figure))
        return ath_xasprintf("%.10g TFLOPS", (double)amount / 1e3);
    return ath_xasprintf("%" PRId64, amount);
}

const char *ath_equivalent_state_word(enum ath_equivalent_state state)
{
    static const char *const words[ATH_EQUIVALENT_STATE_COUNT] = {
        [ATH_EQUIVALENT_FITS] = "fits",
        [ATH_EQUIVALENT_UNKNOWN] = "unknown",
        [ATH_EQUIVALENT_NEVER] = "never",
    };
    return words[state];
}
