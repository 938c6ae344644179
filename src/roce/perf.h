/*
 * The RDMA performance test: bandwidth with many messages in flight, latency with one.
 *
 * The test runs between two ports of this machine (each with a thread and a context), or between
 * two hosts that exchange control messages over TCP. Before any measurement, one message is
 * transferred and compared byte by byte.
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
    double bytes_per_second; /* average so far; 0 for latency */
};

/* The observer of a test. Both functions may be NULL. is_stopped() is called from several
 * threads. */
struct ath_perf_watch {
    struct ath_perf_stop stop;
    void (*progress)(void *context, const struct ath_perf_progress *progress);
    void *context;
};

/* One end of the test. */
struct ath_perf_end {
    char host[ATH_PERF_ADDRESS_TEXT]; /* "" for this machine */
    char device[64], netdev[16];      /* "" if unknown */
    int port;
    enum ath_link_layer link_layer;
    int gid_index; /* ATH_UNKNOWN if the LID was used */
    char gid[48];  /* in the usual short form; "" if no GID was used */
    int lid;       /* ATH_UNKNOWN for Ethernet */
    int mtu_bytes; /* RDMA MTU that this end supports; the smaller one of both ends is used */
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
    struct ath_perf_bandwidth bandwidth; /* valid if plan.has_bandwidth */
    /* Valid if plan.has_latency. For write and send: half of the round trip. For read: the whole
     * operation. */
    struct ath_perf_latency latency;
};

struct ath_perf_local {
    const struct ath_perf_port *port;
    int gid_index; /* ATH_UNKNOWN: choose */
};

/* All return 0, or a negative errno with err and *out unchanged. `root` is the live machine. */

/* Tests from `ours` (the client) to `other`, both on this machine. */
int ath_perf_test_pair(const struct ath_root *root, const struct ath_perf_plan *plan,
                       const struct ath_perf_local *ours, const struct ath_perf_local *other,
                       const struct ath_perf_watch *watch, struct ath_perf_result *out,
                       struct ath_err *err);

/* Tests against the server at the other end of the channel. */
int ath_perf_test_client(const struct ath_root *root, const struct ath_perf_plan *plan,
                         const struct ath_perf_local *ours, const struct ath_perf_channel *channel,
                         const struct ath_perf_watch *watch, struct ath_perf_result *out,
                         struct ath_err *err);

/* Serves one client. The client sends the plan. */
int ath_perf_test_server(const struct ath_root *root, const struct ath_perf_local *ours,
                         const struct ath_perf_channel *channel, const struct ath_perf_watch *watch,
                         struct ath_perf_result *out, struct ath_err *err);

/* Describes a port as a test would use it, without opening the device. is_same_host: the other end
 * is a port of this machine. */
int ath_perf_describe(const struct ath_root *root, const struct ath_perf_local *ours,
                      bool is_same_host, struct ath_perf_end *out, struct ath_err *err);
