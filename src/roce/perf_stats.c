/* Log-linear buckets: the highest ATH_PERF_SUB_BITS + 1 bits of a value choose its bucket. */
#include "config.h"

#include "roce/perf_stats.h"

#include <math.h>
#include <stddef.h>

enum { SUB_COUNT = 1 << ATH_PERF_SUB_BITS };

static size_t bucket_of(uint64_t value)
{
    if (value < SUB_COUNT)
        return (size_t)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - ATH_PERF_SUB_BITS;
    return ((size_t)(shift + 1) << ATH_PERF_SUB_BITS) + (size_t)(value >> shift) - SUB_COUNT;
}

/* Returns the middle of a bucket. */
static uint64_t value_of(size_t bucket)
{
    if (bucket < SUB_COUNT)
        return bucket;
    unsigned shift = (unsigned)(bucket >> ATH_PERF_SUB_BITS) - 1;
    uint64_t low = ((uint64_t)(bucket & (SUB_COUNT - 1)) + SUB_COUNT) << shift;
    return low + ((UINT64_C(1) << shift) >> 1);
}

void ath_perf_stats_add(struct ath_perf_stats *stats, uint64_t value_ns)
{
    double difference = (double)value_ns - stats->mean_ns;

    if (!stats->count || value_ns < stats->min_ns)
        stats->min_ns = value_ns;
    if (value_ns > stats->max_ns)
        stats->max_ns = value_ns;
    stats->count++;
    stats->mean_ns += difference / (double)stats->count;
    stats->squares += difference * ((double)value_ns - stats->mean_ns);
    stats->buckets[bucket_of(value_ns)]++;
}

uint64_t ath_perf_stats_percentile(const struct ath_perf_stats *stats, double percent)
{
    double wanted = ceil((double)stats->count * percent / 100);
    uint64_t rank = wanted < 1 ? 1 : (uint64_t)wanted, seen = 0;

    for (size_t i = 0; i < ATH_PERF_BUCKETS; i++) {
        seen += stats->buckets[i];
        if (stats->count && seen >= rank) {
            uint64_t value = value_of(i);
            return value < stats->min_ns   ? stats->min_ns
                   : value > stats->max_ns ? stats->max_ns
                                           : value;
        }
    }
    return 0;
}

double ath_perf_stats_deviation(const struct ath_perf_stats *stats)
{
    return stats->count < 2 ? 0 : sqrt(stats->squares / (double)stats->count);
}
