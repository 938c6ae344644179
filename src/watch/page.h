/*
 * The page of metrics of one or more servers, in the format that the reader takes: OpenMetrics
 * (openmetrics.io, version 1.0.0) or Prometheus' text format 0.0.4.
 *
 * Unknown values have no line. A page tells the sessions that are there now, so the next page has
 * no series of a session that has ended.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "remote/session/figures.h"
#include "remote/session/sessions.h"

enum ath_metrics_format { ATH_METRICS_TEXT, ATH_METRICS_OPEN };

/* Texts are foreign: the page makes them harmless. NULL and "" have no label. */
struct ath_watch_device {
    const char *uuid, *pci;
};

/* The facts of a server that its page shows. Nothing is owned. Numbers are ATH_UNKNOWN if
 * unknown. */
struct ath_watch_server {
    const char *server; /* its name on a page of several servers */
    const char *node;   /* the id of its entry in the document */
    int64_t up;         /* 1, or 0 if it does not answer; then nothing else is known */
    int64_t uptime_ms;
    int64_t device_count; /* of devices as well */
    int64_t faults;       /* of its health */
    int64_t programs;     /* sessions of programs */
    const struct ath_watch_device *devices;
    const struct ath_runtime_sessions *sessions; /* NULL: unknown */
    const struct ath_figures *figures;           /* NULL: unknown */
};

/* The values that a page computes of each session and of all sessions of an identity. */
struct ath_watch_session_values {
    int64_t age_ms;
    int64_t share_percent; /* that it claims; ATH_UNKNOWN: a server without turns */
};
/* Sums over the connections of a session for large copies that reach the server at one address. */
struct ath_watch_channel_values {
    int64_t connections, sent_bytes, received_bytes, sent_again;
#define X(name) int64_t datagrams_##name;
    ATH_UDP_CHANNEL_COUNTS(X)
#undef X
};
struct ath_watch_identity_values {
    int64_t sessions, memory_used_bytes;
};

/* A network port of the machine that makes a page of several servers. Its counts begin with the
 * kernel. */
struct ath_watch_port {
    const char *port, *rdma; /* network device and RDMA device; NULL: none */
    int64_t up;              /* 1 or 0 */
    int64_t speed_bytes_s;
    int64_t received_bytes, sent_bytes;           /* of the network device */
    int64_t rdma_received_bytes, rdma_sent_bytes; /* of the RDMA device, which are not among them */
};

/* Measured copies from one GPU of that machine to another. */
struct ath_watch_copies {
    const char *from, *to; /* PCI addresses */
    int64_t bytes_s, latency_ns;
};

/* Nothing is owned. */
struct ath_watch_host {
    const struct ath_watch_port *ports;
    size_t port_count;
    const struct ath_watch_copies *copies;
    size_t copies_count;
    int64_t all_reduce_measured_ns, all_reduce_expected_ns; /* of 100 MiB by all GPUs */
};

/* The format for a request, by its header Accept (NULL: none): OpenMetrics if the header names it,
 * as Prometheus' does. */
enum ath_metrics_format ath_metrics_format_of(const char *accept);

/* The value of the header Content-Type. */
const char *ath_metrics_content_type(enum ath_metrics_format format);

/* host: NULL on the page of one server */
void ath_metrics_write(const struct ath_watch_server *servers, size_t count,
                       const struct ath_watch_host *host, enum ath_metrics_format format,
                       struct ath_text *out);
