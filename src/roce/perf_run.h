/*
 * The steps of a test over a connected queue pair: data check, latency, bandwidth. Private to roce.
 *
 * The client acts, the server answers. Both derive the order (check, latency, bandwidth, figures)
 * from the plan. Data goes from client to server; for "read" it goes from server to client.
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
    const struct ath_perf_watch *watch; /* watch->progress may be NULL */
    struct ath_qp *qp;
};

/* Prepares the data and the receives. Must be called before the other side learns that this side
 * is ready. Returns 0, or a negative errno with err. */
int ath_perf_prepare(const struct ath_perf_run *run, bool is_client, struct ath_err *err);

/* Run all steps as the client (measure) or the server (answer). *out takes the client's
 * measurements. Return 0 or a negative errno with err. */
int ath_perf_measure(const struct ath_perf_run *run, struct ath_perf_figures *out,
                     struct ath_err *err);
int ath_perf_answer(const struct ath_perf_run *run, struct ath_perf_figures *out,
                    struct ath_err *err);
