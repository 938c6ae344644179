/* Rates, percentages and sums. */
#include "config.h"

#include "cli/top/rate.h"

#include "base/unknown.h"

int64_t ath_top_rate(int64_t before, int64_t now, uint64_t passed_ms)
{
    if (before < 0 || now < before || !passed_ms)
        return ATH_UNKNOWN;
    return (int64_t)((double)(now - before) * 1000 / (double)passed_ms + 0.5);
}

int64_t ath_top_percent(int64_t part, int64_t whole)
{
    return part < 0 || whole <= 0 ? ATH_UNKNOWN
                                  : (int64_t)((double)part * 100 / (double)whole + 0.5);
}

int64_t ath_top_sum(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 ? a : a + b;
}
