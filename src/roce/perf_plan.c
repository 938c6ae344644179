/* The plan of an RDMA test. */
#include "config.h"

#include "roce/perf_plan.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"
#include "base/text.h"

enum { GROUP_BYTES_MAX = 2 << 20 };

void ath_perf_plan_init(struct ath_perf_plan *plan)
{
    *plan = (struct ath_perf_plan){
        .op = ATH_PERF_WRITE,
        .has_bandwidth = true,
        .has_latency = true,
        .bandwidth_size_bytes = ATH_PERF_BANDWIDTH_SIZE,
        .latency_size_bytes = ATH_PERF_LATENCY_SIZE,
        .duration_ms = ATH_PERF_DURATION_MS,
        .depth = ATH_PERF_DEPTH,
    };
}

static int check_range(const char *name, uint64_t value, uint64_t min, uint64_t max,
                       struct ath_err *err)
{
    if (value >= min && value <= max)
        return 0;
    return ath_err_set(err, -EINVAL, ATH_E_VALUE_INVALID,
                       _("the %s %llu is out of range: use %llu to %llu"), _(name),
                       (unsigned long long)value, (unsigned long long)min, (unsigned long long)max);
}

int ath_perf_plan_check(const struct ath_perf_plan *plan, struct ath_err *err)
{
    const struct {
        const char *name;
        uint64_t value, min, max;
    } ranges[] = {
        { N_("operation"), plan->op, 0, ATH_PERF_OP_COUNT - 1 },
        { N_("number of measurements"), plan->has_bandwidth + plan->has_latency, 1, 2 },
        { N_("size in bytes"), plan->bandwidth_size_bytes, 1, ATH_PERF_SIZE_MAX },
        { N_("size in bytes"), plan->latency_size_bytes, 1, ATH_PERF_SIZE_MAX },
        { N_("duration in milliseconds"), plan->duration_ms, ATH_PERF_DURATION_MIN_MS,
          ATH_PERF_DURATION_MAX_MS },
        { N_("depth"), plan->depth, 1, ATH_PERF_DEPTH_MAX },
    };

    for (size_t i = 0; i < ATH_COUNT(ranges); i++) {
        int status =
            check_range(ranges[i].name, ranges[i].value, ranges[i].min, ranges[i].max, err);
        if (status)
            return status;
    }
    return 0;
}

uint32_t ath_perf_plan_group(const struct ath_perf_plan *plan)
{
    uint64_t by_bytes = GROUP_BYTES_MAX / plan->bandwidth_size_bytes;
    uint32_t group = plan->depth / 4;

    if (group > by_bytes)
        group = (uint32_t)by_bytes;
    return group ? group : 1;
}

uint64_t ath_perf_plan_size(const struct ath_perf_plan *plan)
{
    uint64_t size = plan->has_bandwidth ? plan->bandwidth_size_bytes : 0;
    if (plan->has_latency && plan->latency_size_bytes > size)
        size = plan->latency_size_bytes;
    return size;
}

const char *ath_perf_op_word(enum ath_perf_op op)
{
    static const char *const words[ATH_PERF_OP_COUNT] = { "write", "read", "send" };
    return words[op];
}
