/*
 * Statistics of many short durations, in a fixed amount of memory.
 *
 * Values are counted in buckets whose width is at most 1/256 of the value (exact below 256 ns), so
 * a percentile is off by at most 0.4 percent. Minimum, maximum, mean and deviation are exact. One
 * thread at a time.
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

/* Adds a value. A struct of zeroes is empty. */
void ath_perf_stats_add(struct ath_perf_stats *stats, uint64_t value_ns);

/*
 * Returns the smallest value that at least `percent` (0 to 100) of all values do not exceed, within
 * the width of its bucket, or 0 if there are no values.
 */
uint64_t ath_perf_stats_percentile(const struct ath_perf_stats *stats, double percent);

/* Returns the standard deviation of the population, or 0 for fewer than two values. */
double ath_perf_stats_deviation(const struct ath_perf_stats *stats);
