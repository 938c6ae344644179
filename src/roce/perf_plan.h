/* The plan of an RDMA test: operation, sizes, duration. Both sides check it, because a server
 * receives it from an untrusted client. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum ath_perf_op { ATH_PERF_WRITE, ATH_PERF_READ, ATH_PERF_SEND, ATH_PERF_OP_COUNT };

enum {
    ATH_PERF_SIZE_MAX = 1 << 30,
    ATH_PERF_DEPTH_MAX = 8192,
    ATH_PERF_DURATION_MIN_MS = 100,
    ATH_PERF_DURATION_MAX_MS = 24 * 3600 * 1000,
    /* The defaults of perftest, so that the figures compare. */
    ATH_PERF_BANDWIDTH_SIZE = 65536,
    ATH_PERF_LATENCY_SIZE = 2,
    ATH_PERF_DEPTH = 128,
    ATH_PERF_DURATION_MS = 3000,
};

struct ath_perf_plan {
    enum ath_perf_op op;
    bool has_bandwidth, has_latency; /* at least one */
    uint64_t bandwidth_size_bytes, latency_size_bytes;
    uint32_t duration_ms; /* of each measurement, without its warm-up */
    uint32_t depth;       /* messages in flight during the bandwidth measurement */
};

/* Sets both measurements with the defaults above. */
void ath_perf_plan_init(struct ath_perf_plan *plan);

/* Returns 0, or -EINVAL "value-invalid" with err naming the first value out of range. */
int ath_perf_plan_check(const struct ath_perf_plan *plan, struct ath_err *err);

/*
 * Returns how many messages share one completion: a quarter of depth, but at most 2 MiB of data, so
 * that a slow link still completes often. Messages are posted in such groups.
 */
uint32_t ath_perf_plan_group(const struct ath_perf_plan *plan);

/* Returns the larger one of the measured sizes, in bytes. */
uint64_t ath_perf_plan_size(const struct ath_perf_plan *plan);

/* Returns "write", "read" or "send". */
const char *ath_perf_op_word(enum ath_perf_op op);
