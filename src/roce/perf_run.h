/*
 * What is done over a connected queue pair: checking that data arrives, latency, bandwidth. Private
 * to roce.
 *
 * The client acts, the server answers; both know the order (check, latency, bandwidth, figures)
 * from the plan. Data goes from client to server, for "read" the other way.
 */
#pragma once
#include "base/err.h"
#include "roce/perf.h"
#include "roce/perf_channel.h"
#include "roce/perf_exchange.h"
#include "roce/perf_plan.h"
#include "roce/qp.h"

struct ath_perf_run {
    const struct ath_perf_plan *plan;
    const struct ath_perf_channel *channel;
    const struct ath_perf_watch *watch; /* its progress is told where not NULL */
    struct ath_qp *qp;
};

/* To be called before the other side is told that this one is ready. Returns 0 or a negative errno.
 */
int ath_perf_prepare(const struct ath_perf_run *run, bool is_client, struct ath_err *err);

/* All of it; what was measured goes to *out. Return 0 or a negative errno with err. */
int ath_perf_measure(const struct ath_perf_run *run, struct ath_perf_figures *out,
                     struct ath_err *err);
int ath_perf_answer(const struct ath_perf_run *run, struct ath_perf_figures *out,
                    struct ath_err *err);
