/*
 * The three steps of a test.
 *
 * Ping-pong by write: each side polls the last byte of the message in its own memory. On a reliable
 * connection, the device writes this byte last (perftest's ib_write_lat relies on it, too). The
 * byte counts from 1 to MARK_MAX and starts again; MARK_STOP ends the ping-pong.
 */
#include "config.h"

#include "roce/perf_run.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/i18n.h"
#include "roce/perf_stats.h"

enum {
    MARK_MAX = 100,
    MARK_STOP = 0xff,
    STEP_TIMEOUT_MS = 30000,
    STALL_MS = 10000, /* shorter than STEP_TIMEOUT_MS: the side that waits for a completion has the
                         better error message */
    SPINS_PER_CLOCK = 1024,
    LOOK_MS = 50,
    PROGRESS_MS = 100,
    WARM_UP_MAX_MS = 500,
    SLOWEST_BYTES_PER_MS = 1000, /* emulated devices move 10 MB/s; a tenth of that is stalled */
};

/* The limit of a busy wait. */
struct patience {
    uint64_t deadline_ms, looked_ms;
    unsigned spins;
};

static struct patience be_patient(uint64_t bytes)
{
    uint64_t now = ath_now_ms();
    return (struct patience){ .deadline_ms = now + STALL_MS + bytes / SLOWEST_BYTES_PER_MS,
                              .looked_ms = now };
}

/* Reads a message that arrived out of turn: a failure, or the end of the connection. */
static int hear_failure(const struct ath_perf_run *run, struct ath_err *err)
{
    int status = ath_perf_hear(run->channel, ATH_PERF_FAILURE, STEP_TIMEOUT_MS, NULL, err);
    return status ? status : -EPROTO;
}

/* Called for each idle turn of a busy wait; only one call in SPINS_PER_CLOCK is expensive.
 * may_speak: a message from the other side is allowed now. Returns 0, or a negative errno with
 * err. */
static int wait_on(const struct ath_perf_run *run, struct patience *patience, bool may_speak,
                   struct ath_err *err)
{
    if (++patience->spins % SPINS_PER_CLOCK)
        return 0;
    uint64_t now = ath_now_ms();
    if (now - patience->looked_ms < LOOK_MS)
        return 0;
    patience->looked_ms = now;
    int status = ath_perf_check_stop(&run->watch->stop, err);
    if (status)
        return status;
    if (!may_speak && ath_perf_has_news(run->channel))
        return hear_failure(run, err);
    if (now < patience->deadline_ms)
        return 0;
    return ath_qp_blame(run->qp, -ETIMEDOUT, _("no operation completes any more"), err);
}

/* Takes completions until `counter`, a field of the queue pair, has reached `target`. */
static int reap_until(const struct ath_perf_run *run, const uint64_t *counter, uint64_t target,
                      struct ath_err *err)
{
    struct patience patience = be_patient(run->qp->size_bytes * run->qp->depth);

    while (*counter < target) {
        int count = ath_qp_reap(run->qp, err);
        int status = count < 0 ? count : count ? 0 : wait_on(run, &patience, false, err);
        if (status)
            return status;
    }
    return 0;
}

/* ---- the check ---- */

/* The test pattern: pseudo-random bytes, which reveal misplaced data (xorshift64, Marsaglia
 * 2003). */
static uint8_t next_byte(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint8_t)(*state >> 32);
}

enum { PATTERN_SEED = 0x41544852 };

static void fill(uint8_t *area, uint64_t size)
{
    uint64_t state = PATTERN_SEED;
    for (uint64_t i = 0; i < size; i++)
        area[i] = next_byte(&state);
}

static int compare(const struct ath_perf_run *run, struct ath_err *err)
{
    const uint8_t *area = ath_qp_receive_area(run->qp);
    uint64_t state = PATTERN_SEED;

    atomic_thread_fence(memory_order_acquire);
    for (uint64_t i = 0; i < run->qp->size_bytes; i++)
        if (area[i] != next_byte(&state))
            return ath_err_set(err, -EIO, ATH_E_RDMA_FAILED,
                               _("'%s' moved wrong data: byte %llu of %llu differs"),
                               run->qp->where->device, (unsigned long long)i,
                               (unsigned long long)run->qp->size_bytes);
    return 0;
}

static void clear_marks(const struct ath_perf_run *run)
{
    memset(ath_qp_receive_area(run->qp), 0, run->qp->area_bytes);
    atomic_thread_fence(memory_order_release);
}

static int return_receives(const struct ath_perf_run *run, struct ath_err *err)
{
    uint32_t count = run->qp->unposted_receives;
    run->qp->unposted_receives = 0;
    return ath_qp_post_receives(run->qp, count, err);
}

int ath_perf_prepare(const struct ath_perf_run *run, bool is_client, struct ath_err *err)
{
    bool is_source = is_client != (run->plan->op == ATH_PERF_READ);

    if (is_source)
        fill(ath_qp_send_area(run->qp), run->qp->size_bytes);
    return run->plan->op == ATH_PERF_SEND
               ? ath_qp_post_receives(run->qp, run->qp->receive_depth, err)
               : 0;
}

static int check_as_client(const struct ath_perf_run *run, struct ath_err *err)
{
    struct ath_qp *qp = run->qp;
    int status = ath_qp_post(qp, run->plan->op, qp->size_bytes, 1, err);
    if (!status)
        status = reap_until(run, &qp->completed, qp->posted, err);
    if (!status && run->plan->op == ATH_PERF_READ)
        status = compare(run, err);
    if (!status)
        status = ath_perf_say(run->channel, ATH_PERF_CHECK, NULL, err);
    clear_marks(run);
    return status ? status
                  : ath_perf_hear(run->channel, ATH_PERF_READY, STEP_TIMEOUT_MS, NULL, err);
}

/* Sends READY only after this side is prepared for the client's next step. */
static int check_as_server(const struct ath_perf_run *run, struct ath_err *err)
{
    int timeout_ms = STEP_TIMEOUT_MS + (int)(run->qp->size_bytes / SLOWEST_BYTES_PER_MS);
    int status = ath_perf_hear(run->channel, ATH_PERF_CHECK, timeout_ms, NULL, err);
    if (!status && run->plan->op == ATH_PERF_SEND) {
        status = reap_until(run, &run->qp->received, 1, err);
        status = status ? status : return_receives(run, err);
    }
    if (!status && run->plan->op != ATH_PERF_READ)
        status = compare(run, err);
    clear_marks(run);
    return status ? status : ath_perf_say(run->channel, ATH_PERF_READY, NULL, err);
}

/* ---- latency ---- */

static uint64_t warm_up_ns(const struct ath_perf_plan *plan)
{
    uint64_t fifth = plan->duration_ms / 5;
    return (fifth < WARM_UP_MAX_MS ? fifth : WARM_UP_MAX_MS) * 1000000u;
}

static void tell(const struct ath_perf_run *run, const char *phase, uint64_t elapsed_ns,
                 double bytes_per_second, uint64_t *told_ns)
{
    double fraction = (double)elapsed_ns / (run->plan->duration_ms * 1e6);

    if (!run->watch->progress || elapsed_ns - *told_ns < PROGRESS_MS * UINT64_C(1000000))
        return;
    *told_ns = elapsed_ns;
    const struct ath_perf_progress progress = { .phase = phase,
                                                .fraction = fraction < 1 ? fraction : 1,
                                                .bytes_per_second = bytes_per_second };
    run->watch->progress(run->watch->context, &progress);
}

static volatile uint8_t *mark_in(uint8_t *area, const struct ath_perf_plan *plan)
{
    return &area[plan->latency_size_bytes - 1];
}

/* Sends one message with a mark. Completions are taken on the way; the function waits for them
 * only if the queue is full. */
static int send_mark(const struct ath_perf_run *run, uint8_t mark, struct ath_err *err)
{
    struct ath_qp *qp = run->qp;

    *mark_in(ath_qp_send_area(qp), run->plan) = mark;
    int status = ath_qp_post(qp, run->plan->op, run->plan->latency_size_bytes, 1, err);
    if (!status && qp->posted - qp->completed >= qp->depth)
        status = reap_until(run, &qp->completed, qp->posted - qp->depth + 1, err);
    return status;
}

/* Waits for the other side's next message. Returns its mark, or a negative errno with err. */
static int wait_mark(const struct ath_perf_run *run, uint8_t last, struct ath_err *err)
{
    struct ath_qp *qp = run->qp;
    struct patience patience = be_patient(run->plan->latency_size_bytes);
    volatile uint8_t *mark = mark_in(ath_qp_receive_area(qp), run->plan);
    bool is_send = run->plan->op == ATH_PERF_SEND;

    while (is_send ? !qp->unposted_receives : *mark == last) {
        int count = is_send ? ath_qp_reap(qp, err) : 0;
        int status = count < 0 ? count : wait_on(run, &patience, false, err);
        if (status)
            return status;
    }
    atomic_thread_fence(memory_order_acquire);
    uint8_t got = *mark;
    int status = is_send ? return_receives(run, err) : ath_qp_reap(qp, err);
    return status < 0 ? status : got;
}

static uint8_t after(uint8_t mark)
{
    return (uint8_t)(mark % MARK_MAX + 1);
}

static int ping(const struct ath_perf_run *run, uint8_t mark, uint8_t last, struct ath_err *err)
{
    int status = send_mark(run, mark, err);
    int got = status ? status : wait_mark(run, last, err);
    if (got < 0 || got == mark)
        return got < 0 ? got : 0;
    return ath_err_set(err, -EPROTO, ATH_E_RDMA_FAILED,
                       _("'%s' received a wrong answer: mark %d instead of %d"),
                       run->qp->where->device, got, mark);
}

static int read_once(const struct ath_perf_run *run, struct ath_err *err)
{
    int status = ath_qp_post(run->qp, run->plan->op, run->plan->latency_size_bytes, 1, err);
    return status ? status : reap_until(run, &run->qp->completed, run->qp->posted, err);
}

static void take_latency(const struct ath_perf_stats *stats, struct ath_perf_figures *out)
{
    out->samples = stats->count;
    out->min_ns = stats->min_ns;
    out->p50_ns = ath_perf_stats_percentile(stats, 50);
    out->p99_ns = ath_perf_stats_percentile(stats, 99);
    out->max_ns = stats->max_ns;
    out->mean_ns = (uint64_t)(stats->mean_ns + 0.5);
    out->deviation_ns = (uint64_t)(ath_perf_stats_deviation(stats) + 0.5);
}

/* The latency of a write or send is half of the round trip. A read is a whole round trip by
 * itself. */
static int latency_as_client(const struct ath_perf_run *run, struct ath_perf_figures *out,
                             struct ath_err *err)
{
    ath_auto_free struct ath_perf_stats *stats = ath_xalloc(sizeof *stats);
    bool is_read = run->plan->op == ATH_PERF_READ;
    uint64_t start = ath_now_ns() + warm_up_ns(run->plan), told = 0;
    uint64_t end = start + run->plan->duration_ms * UINT64_C(1000000);
    uint8_t last = 0;
    int status = 0;

    for (uint64_t before = ath_now_ns(); !status && (before < end || !stats->count);) {
        uint8_t mark = after(last);
        status = is_read ? read_once(run, err) : ping(run, mark, last, err);
        uint64_t now = ath_now_ns();
        if (before >= start)
            ath_perf_stats_add(stats, is_read ? now - before : (now - before) / 2);
        if (now > start)
            tell(run, "latency", now - start, 0, &told);
        if (!status && now / 100000000 != before / 100000000) /* ten times a second */
            status = ath_perf_check_stop(&run->watch->stop, err);
        last = mark;
        before = ath_now_ns();
    }
    if (!status && !is_read)
        status = send_mark(run, MARK_STOP, err);
    if (!status)
        status = reap_until(run, &run->qp->completed, run->qp->posted, err);
    if (!status)
        take_latency(stats, out);
    return status;
}

static int latency_as_server(const struct ath_perf_run *run, struct ath_err *err)
{
    uint8_t last = 0;

    for (;;) {
        int mark = wait_mark(run, last, err);
        if (mark < 0)
            return mark;
        if (mark == MARK_STOP)
            return reap_until(run, &run->qp->completed, run->qp->posted, err);
        last = (uint8_t)mark;
        int status = send_mark(run, last, err);
        if (status)
            return status;
    }
}

/* ---- bandwidth ---- */

/* Fills the queue with whole groups. Only the last message of a group is signalled. */
static int post_groups(const struct ath_perf_run *run, uint32_t group, struct ath_err *err)
{
    struct ath_qp *qp = run->qp;

    while (qp->posted - qp->completed + group <= qp->depth)
        for (uint32_t i = 1; i <= group; i++) {
            int status = ath_qp_post(qp, run->plan->op, run->plan->bandwidth_size_bytes,
                                     i == group ? group : 0, err);
            if (status)
                return status;
        }
    return 0;
}

/* Posts groups, and waits until one more has completed. */
static int turn(const struct ath_perf_run *run, uint32_t group, struct ath_err *err)
{
    int status = post_groups(run, group, err);
    return status ? status : reap_until(run, &run->qp->completed, run->qp->completed + 1, err);
}

/*
 * The clock starts and stops at a completion, so that only whole groups count. Messages still in
 * flight at the end are abandoned: this is the last step, and a deep queue of large messages would
 * take long to drain.
 */
static int bandwidth_as_client(const struct ath_perf_run *run, struct ath_perf_figures *out,
                               struct ath_err *err)
{
    struct ath_qp *qp = run->qp;
    uint32_t group = ath_perf_plan_group(run->plan);
    uint64_t warm = ath_now_ns() + warm_up_ns(run->plan), start = 0, now = 0, first = 0, told = 0;
    uint64_t duration = run->plan->duration_ms * UINT64_C(1000000);
    int status = 0;

    while (!status && (!start || now - start < duration)) {
        status = turn(run, group, err);
        now = ath_now_ns();
        if (!status)
            status = ath_perf_check_stop(&run->watch->stop, err);
        if (!start && now >= warm) {
            start = now;
            first = qp->completed;
        } else if (start && now > start)
            tell(run, "bandwidth", now - start,
                 (double)((qp->completed - first) * run->plan->bandwidth_size_bytes) * 1e9 /
                     (double)(now - start),
                 &told);
    }
    out->messages = qp->completed - first;
    out->elapsed_ns = now - start;
    return status;
}

/* Posts used receives again, until the client says that the measurement has ended. */
static int bandwidth_as_server(const struct ath_perf_run *run, struct ath_err *err)
{
    uint64_t bytes = run->plan->bandwidth_size_bytes * run->plan->depth;
    struct patience patience = be_patient(bytes);

    if (run->plan->op != ATH_PERF_SEND)
        return 0;
    int begun = return_receives(run, err); /* receives that were used while the last step ended */
    if (begun)
        return begun;
    for (unsigned turns = 1; turns % SPINS_PER_CLOCK || !ath_perf_has_news(run->channel); turns++) {
        int count = ath_qp_reap(run->qp, err);
        int status = count < 0 ? count : 0;
        if (count > 0) {
            patience = be_patient(bytes);
            status = return_receives(run, err);
        } else if (!status)
            status = wait_on(run, &patience, true, err);
        if (status)
            return status;
    }
    return 0;
}

/* ---- all of it ---- */

int ath_perf_measure(const struct ath_perf_run *run, struct ath_perf_figures *out,
                     struct ath_err *err)
{
    struct ath_perf_figures figures = { 0 };
    int status = check_as_client(run, err);

    if (!status && run->plan->has_latency)
        status = latency_as_client(run, &figures, err);
    if (!status && run->plan->has_bandwidth)
        status = bandwidth_as_client(run, &figures, err);
    if (!status)
        status = ath_perf_say(run->channel, ATH_PERF_FIGURES,
                              &(union ath_perf_body){ .figures = figures }, err);
    if (!status)
        status = ath_perf_hear(run->channel, ATH_PERF_READY, STEP_TIMEOUT_MS, NULL, err);
    if (!status)
        *out = figures;
    return status;
}

/* Returns how long the client may measure, at most, before it must send a message. */
static int figures_timeout_ms(const struct ath_perf_plan *plan)
{
    uint64_t most = 2 * (uint64_t)plan->duration_ms + UINT64_C(4) * STEP_TIMEOUT_MS +
                    ath_perf_plan_size(plan) * plan->depth / SLOWEST_BYTES_PER_MS;
    return most < INT32_MAX ? (int)most : INT32_MAX;
}

int ath_perf_answer(const struct ath_perf_run *run, struct ath_perf_figures *out,
                    struct ath_err *err)
{
    union ath_perf_body body;
    int status = check_as_server(run, err);

    if (!status && run->plan->has_latency && run->plan->op != ATH_PERF_READ)
        status = latency_as_server(run, err);
    if (!status && run->plan->has_bandwidth)
        status = bandwidth_as_server(run, err);
    if (!status)
        status = ath_perf_hear(run->channel, ATH_PERF_FIGURES, figures_timeout_ms(run->plan), &body,
                               err);
    if (!status)
        status = ath_perf_say(run->channel, ATH_PERF_READY, NULL, err);
    if (!status)
        *out = body.figures;
    return status;
}
