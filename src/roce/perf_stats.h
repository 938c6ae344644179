/*
 * Statistics of many short times, in little memory.
 *
 * Counts fall into buckets that are at most 1/256 of their value wide (exact below 256), so a
 * percentile is off by at most 0.4 percent whatever the range; minimum, maximum, mean and deviation
 * are exact. One thread at a time.
 */
#pragma once
#include <stdint.h>

enum {
    ATH_PERF_SUB_BITS = 8,
    ATH_PERF_BUCKETS = (64 - ATH_PERF_SUB_BITS + 1) << ATH_PERF_SUB_BITS,
};

struct ath_perf_stats {
    uint64_t count, min_ns, max_ns;
    double mean_ns, squares; /* Welford's running mean and sum of squared differences */
    uint64_t buckets[ATH_PERF_BUCKETS];
};

/* All zero is empty. */
void ath_perf_stats_add(struct ath_perf_stats *stats, uint64_t value_ns);

/*
 * The smallest value that at least `percent` (0 to 100) of all values do not exceed, within the
 * width of its bucket; 0 for no values.
 */
uint64_t ath_perf_stats_percentile(const struct ath_perf_stats *stats, double percent);

/* Of the population; 0 for fewer than two values. */
double ath_perf_stats_deviation(const struct ath_perf_stats *stats);
