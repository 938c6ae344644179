/*
 * The control messages of an RDMA test, as bytes.
 *
 * A frame is a header of 12 bytes (magic "ATRT", version, type, length of the body, all in network
 * byte order) and a body. Each type has a fixed body length; a frame with another length is refused
 * before its body is read. The header has the same form in all versions, so that sides of different
 * versions can report the mismatch. Everything received is checked here: afterwards texts are
 * terminated, and numbers are in range.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum { ATH_PERF_VERSION = 1, ATH_PERF_HEADER = 12, ATH_PERF_FRAME_MAX = 1024 };

enum ath_perf_message {
    ATH_PERF_HELLO = 1, /* struct ath_perf_hello: the client's plan */
    ATH_PERF_ENDPOINT, /* struct ath_perf_endpoint: a side's queue pair; the server's comes first */
    ATH_PERF_READY,    /* no body: the sender has finished this step */
    ATH_PERF_CHECK,    /* no body: the message to compare was sent */
    ATH_PERF_FIGURES,  /* struct ath_perf_figures: the client's measurements; ends the test */
    ATH_PERF_FAILURE,  /* struct ath_perf_failure, at any time; ends the test */
    ATH_PERF_MESSAGE_END,
};

/* Identifies where a side runs. Equal values mean the same host and network namespace. */
struct ath_perf_host {
    char boot_id[40];
    uint64_t netns; /* inode of /proc/self/ns/net */
};

struct ath_perf_hello {
    uint8_t op, has_bandwidth, has_latency;
    uint32_t duration_ms, depth;
    uint64_t bandwidth_size_bytes, latency_size_bytes;
    struct ath_perf_host host;
};

struct ath_perf_endpoint {
    uint8_t link_layer; /* enum ath_link_layer */
    uint8_t mtu;        /* enum ibv_mtu: 1 (256 bytes) to 5 (4096 bytes) */
    uint8_t read_depth; /* RDMA reads that this side can answer at the same time */
    uint8_t port;
    uint16_t lid;
    int32_t gid_index; /* -1 if none is used; for display only, like the texts */
    uint32_t qp_number, psn, rkey;
    uint64_t address, area_bytes; /* the memory that the other side writes to or reads from */
    uint8_t gid[16];
    char device[64], netdev[16];
    struct ath_perf_host host;
};

/* Values of a measurement that was not run are zero. */
struct ath_perf_figures {
    uint64_t messages, elapsed_ns;
    uint64_t samples, min_ns, p50_ns, p99_ns, max_ns, mean_ns, deviation_ns;
};

struct ath_perf_failure {
    char text[512];
};

union ath_perf_body {
    struct ath_perf_hello hello;
    struct ath_perf_endpoint endpoint;
    struct ath_perf_figures figures;
    struct ath_perf_failure failure;
};

struct ath_perf_header {
    enum ath_perf_message type;
    size_t length; /* of the body, at most ATH_PERF_FRAME_MAX - ATH_PERF_HEADER */
};

/* Writes a whole frame, and returns its length. body may be NULL for types without one. */
size_t ath_perf_encode(enum ath_perf_message type, const union ath_perf_body *body,
                       uint8_t out[ATH_PERF_FRAME_MAX]);

/* Returns 0, or -EPROTO "peer-protocol" with err: wrong magic, another version, an unknown type or
 * a wrong length. */
int ath_perf_decode_header(const uint8_t bytes[ATH_PERF_HEADER], struct ath_perf_header *out,
                           struct ath_err *err);

/* Decodes a body of header->length bytes; header comes from ath_perf_decode_header(). Returns 0,
 * or -EPROTO "peer-protocol" with err and *out unchanged. */
int ath_perf_decode_body(const struct ath_perf_header *header, const uint8_t *bytes,
                         union ath_perf_body *out, struct ath_err *err);
