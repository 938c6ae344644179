/*
 * The RDMA performance test: bandwidth with many messages under way, latency with one.
 *
 * Between two ports of this machine (a thread and a context for each), or between two hosts that
 * talk over TCP. Before anything is measured one message is moved and looked at byte by byte.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/root.h"
#include "roce/perf_channel.h"
#include "roce/perf_plan.h"
#include "roce/perf_port.h"

struct ath_perf_progress {
    const char *phase;       /* "latency", "bandwidth" */
    double fraction;         /* 0 to 1 */
    double bytes_per_second; /* so far; 0 for latency */
};

/* Who follows a test. Both functions may be NULL; is_stopped() is called from several threads. */
struct ath_perf_watch {
    struct ath_perf_stop stop;
    void (*progress)(void *context, const struct ath_perf_progress *progress);
    void *context;
};

/* One end of the test, as it was used. */
struct ath_perf_end {
    char host[ATH_PERF_ADDRESS_TEXT]; /* "" for this machine */
    char device[64], netdev[16];      /* "" where unknown */
    int port;
    enum ath_link_layer link_layer;
    int gid_index; /* ATH_UNKNOWN where the LID was used */
    char gid[48];  /* as people write it; "" without */
    int lid;       /* ATH_UNKNOWN for Ethernet */
    int mtu_bytes; /* of RDMA, what this end can; the smaller of both is used */
};

struct ath_perf_bandwidth {
    uint64_t messages, bytes;
    double elapsed_seconds;
    double bytes_per_second, message_rate_hz;
};

struct ath_perf_latency {
    uint64_t samples;
    double min_us, p50_us, p99_us, max_us, mean_us, deviation_us;
};

struct ath_perf_result {
    struct ath_perf_plan plan;
    struct ath_perf_end local, remote;
    bool is_verified;                    /* false only for a plan that was not run */
    struct ath_perf_bandwidth bandwidth; /* where plan.has_bandwidth */
    /* Where plan.has_latency; half of the way there and back for write and send, all of it for
     * read. */
    struct ath_perf_latency latency;
};

struct ath_perf_local {
    const struct ath_perf_port *port;
    int gid_index; /* ATH_UNKNOWN: choose */
};

/* All return 0 or a negative errno with err, *out untouched then. `root` is the live machine. */

/* From `ours` (the client) to `other`, both on this machine. */
int ath_perf_test_pair(const struct ath_root *root, const struct ath_perf_plan *plan,
                       const struct ath_perf_local *ours, const struct ath_perf_local *other,
                       const struct ath_perf_watch *watch, struct ath_perf_result *out,
                       struct ath_err *err);

/* Against a server that the channel leads to. */
int ath_perf_test_client(const struct ath_root *root, const struct ath_perf_plan *plan,
                         const struct ath_perf_local *ours, const struct ath_perf_channel *channel,
                         const struct ath_perf_watch *watch, struct ath_perf_result *out,
                         struct ath_err *err);

/* Answers one client; the plan is the client's. */
int ath_perf_test_server(const struct ath_root *root, const struct ath_perf_local *ours,
                         const struct ath_perf_channel *channel, const struct ath_perf_watch *watch,
                         struct ath_perf_result *out, struct ath_err *err);

/* Fills an end as it would be used between two ports of this machine, without touching it. */
int ath_perf_describe(const struct ath_root *root, const struct ath_perf_local *ours,
                      bool is_same_host, struct ath_perf_end *out, struct ath_err *err);
