/* Divides figures of two models. */
#include "config.h"

#include "place/gpu_rates.h"

#include "base/unknown.h"

enum { THOUSAND = 1000 };

static int64_t figure_of(const struct ath_gpu_model *model, enum ath_gpu_rate rate)
{
    static const enum ath_gpu_figure figures[ATH_RATE_COUNT] = {
        [ATH_RATE_COMPUTE] = ATH_GPU_FP16,
        [ATH_RATE_MEMORY] = ATH_GPU_MEMORY,
        [ATH_RATE_MEMORY_BANDWIDTH] = ATH_GPU_MEMORY_BANDWIDTH,
        [ATH_RATE_LINKS] = ATH_GPU_NVLINK,
    };
    return rate == ATH_RATE_OVERALL ? model->overall_percent : model->figures[figures[rate]];
}

int64_t ath_gpu_rate_thousandths(const struct ath_gpu_model *model,
                                 const struct ath_gpu_model *base, enum ath_gpu_rate rate)
{
    int64_t figure = figure_of(model, rate), of_base = figure_of(base, rate);

    if (figure < 0 || of_base <= 0)
        return ATH_UNKNOWN;
    return (figure * THOUSAND + of_base / 2) / of_base;
}

const struct ath_gpu_model *ath_gpu_rate_base(void)
{
    return ath_gpu_model_named("A100 SXM4 80GB");
}
