/* The RDMA test between two ports, over devices that a made libibverbs has (made_rdma.h). */
#include "config.h"

#include "roce/perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma_machine.h"
#include "unit.h"

SECONDS(60);

static struct ath_perf_plan plan_of(enum ath_perf_op op)
{
    struct ath_perf_plan plan;
    ath_perf_plan_init(&plan);
    plan.op = op;
    plan.duration_ms = ATH_PERF_DURATION_MIN_MS;
    plan.depth = 16;
    return plan;
}

static int run(const struct ath_perf_plan *plan, const struct ath_perf_watch *watch,
               struct ath_perf_result *out)
{
    const struct ath_perf_local ours = { &ports[0], ATH_UNKNOWN },
                                other = { &ports[1], ATH_UNKNOWN };
    return ath_perf_test_pair(&root, plan, &ours, &other, watch, out, &err);
}

static struct {
    bool has_latency, has_bandwidth, is_wrong;
} told;

static void tell(void *context, const struct ath_perf_progress *progress)
{
    bool is_latency = !strcmp(progress->phase, "latency");

    told.has_latency |= is_latency;
    told.has_bandwidth |= !strcmp(progress->phase, "bandwidth");
    told.is_wrong |= context != &told || progress->fraction <= 0 || progress->fraction > 1 ||
                     is_latency != (progress->bytes_per_second == 0);
}

FIXTURE(make_machine, drop_machine);

/* The first test: the library is loaded once. */
TEST(needs_the_library)
{
    const struct ath_perf_watch watch = { 0 };
    const struct ath_perf_plan plan = plan_of(ATH_PERF_WRITE);
    struct ath_perf_result result;

    rdma.fails = "dlopen";
    ck_assert_int_eq(run(&plan, &watch, &result), -ENOENT);
    ck_assert_int_eq(err.code, ATH_E_LIBRARY);
}

static void check_end(const struct ath_perf_end *end, const char *device, const char *netdev,
                      const char *gid, int mtu_bytes)
{
    ck_assert_str_eq(end->device, device);
    ck_assert_str_eq(end->netdev, netdev);
    ck_assert_str_eq(end->gid, gid);
    ck_assert_int_eq(end->gid_index, 1);
    ck_assert_int_eq(end->lid, ATH_UNKNOWN);
    ck_assert_int_eq(end->mtu_bytes, mtu_bytes);
    ck_assert_int_eq(end->port, 1);
}

/* The figures are of a clock, but they keep their order. */
LOOP_TEST(measures_both, 0, ATH_PERF_OP_COUNT)
{
    const struct ath_perf_watch watch = { .progress = tell, .context = &told };
    struct ath_perf_plan plan = plan_of((enum ath_perf_op)_i);
    struct ath_perf_result result;

    memset(&told, 0, sizeof told);
    plan.duration_ms = 2 * ATH_PERF_DURATION_MIN_MS;
    int status = run(&plan, &watch, &result);
    ck_assert_msg(!status, "%s", err.message);
    ck_assert(result.is_verified);
    check_end(&result.local, "rxe1", "eth1", "fe80::ff:fe03:1", 4096);
    check_end(&result.remote, "rxe2", "eth2", "fe80::ff:fe03:2", 1024);

    const struct ath_perf_latency *latency = &result.latency;
    ck_assert_uint_gt(latency->samples, 0);
    ck_assert_double_gt(latency->min_us, 0);
    ck_assert_double_le(latency->min_us, latency->p50_us * 1.004);
    ck_assert_double_le(latency->p50_us, latency->p99_us);
    ck_assert_double_le(latency->p99_us, latency->max_us * 1.004);
    ck_assert(latency->mean_us >= latency->min_us && latency->mean_us <= latency->max_us);
    ck_assert(latency->samples < 2 || latency->deviation_us > 0);
    /* All samples lie within the measurement: a write takes half of its round trip. */
    double whole_us = latency->mean_us * (double)latency->samples;
    ck_assert_double_lt(whole_us, plan.duration_ms * 1e3 + latency->max_us);

    const struct ath_perf_bandwidth *bandwidth = &result.bandwidth;
    ck_assert_uint_gt(bandwidth->messages, 0);
    ck_assert_uint_eq(bandwidth->messages % ath_perf_plan_group(&plan), 0);
    ck_assert_uint_eq(bandwidth->bytes, bandwidth->messages * plan.bandwidth_size_bytes);
    ck_assert_double_ge(bandwidth->elapsed_seconds, plan.duration_ms / 1e3);
    ck_assert_double_eq_tol(bandwidth->message_rate_hz * bandwidth->elapsed_seconds,
                            (double)bandwidth->messages, 0.001);
    ck_assert_double_eq_tol(bandwidth->bytes_per_second,
                            bandwidth->message_rate_hz * (double)plan.bandwidth_size_bytes, 1);

    ck_assert(told.has_latency && told.has_bandwidth && !told.is_wrong);
    /* A mark is inline, data that is read never is. */
    ck_assert_int_eq(rdma.inlined > 0, plan.op != ATH_PERF_READ);
}

/* Each alone, messages of a byte, and a queue for one message. */
LOOP_TEST(measures_one, 0, 2 * ATH_PERF_OP_COUNT)
{
    const struct ath_perf_watch watch = { 0 };
    struct ath_perf_plan plan = plan_of((enum ath_perf_op)(_i / 2));
    struct ath_perf_result result;

    plan.has_latency = _i % 2;
    plan.has_bandwidth = !plan.has_latency;
    plan.latency_size_bytes = plan.bandwidth_size_bytes = plan.depth = 1;
    int status = run(&plan, &watch, &result);
    ck_assert_msg(!status, "%s", err.message);
    ck_assert_int_eq(result.latency.samples > 0, plan.has_latency);
    ck_assert_int_eq(result.bandwidth.messages > 0, plan.has_bandwidth);
}

TEST(needs_no_inline_data)
{
    const struct ath_perf_watch watch = { 0 };
    struct ath_perf_plan plan = plan_of(ATH_PERF_WRITE);
    struct ath_perf_result result;

    rdma.has_no_inline = true;
    plan.has_bandwidth = false;
    ck_assert_int_eq(run(&plan, &watch, &result), 0);
    ck_assert_uint_eq(rdma.inlined, 0);
    ck_assert_uint_eq(rdma.inline_wish, 0);
}

LOOP_TEST(notices_wrong_data, 0, ATH_PERF_OP_COUNT)
{
    const struct ath_perf_watch watch = { 0 };
    const struct ath_perf_plan plan = plan_of((enum ath_perf_op)_i);
    struct ath_perf_result result;

    rdma.is_spoiling = true;
    ck_assert_int_eq(run(&plan, &watch, &result), -EIO);
    ck_assert_int_eq(err.code, ATH_E_RDMA_FAILED);
    ck_assert_msg(strstr(err.message, "moved wrong data: byte 32768 of 65536") != NULL, "%s",
                  err.message);
    ck_assert_ptr_nonnull(strstr(err.message, _i == ATH_PERF_READ ? "rxe1" : "rxe2"));
}

/* The first device waits for an answer that never comes: it ends when the other side fails, long
 * before its own patience, and the error is that of the side that failed. */
LOOP_TEST(ends_when_the_other_side_fails, 0, 2)
{
    const struct ath_perf_watch watch = { 0 };
    const struct ath_perf_plan plan = plan_of(_i ? ATH_PERF_SEND : ATH_PERF_WRITE);
    struct ath_perf_result result;

    rdma.fails = "ibv_post_send";
    rdma.code = EINVAL;
    rdma.fails_on = &rdma.devices[1];
    ck_assert_int_eq(run(&plan, &watch, &result), -EINVAL);
    ck_assert_msg(strstr(err.message, "cannot post a message on 'rxe2'") != NULL, "%s",
                  err.message);
}

static bool always(void *context)
{
    (void)context;
    return true;
}

TEST(stops_on_request)
{
    const struct ath_perf_watch watch = { .stop = { .is_stopped = always } };
    const struct ath_perf_plan plan = plan_of(ATH_PERF_WRITE);
    struct ath_perf_result result;

    ck_assert_int_eq(run(&plan, &watch, &result), -EINTR);
    ck_assert_int_eq(err.code, ATH_E_INTERRUPTED);
}
