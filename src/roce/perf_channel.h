/*
 * The control connection between the two sides of an RDMA test: TCP, or a socket pair within one
 * process.
 *
 * Every wait ends: by its timeout, when the other side closes, or when is_stopped() returns true. A
 * channel is used by one thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "roce/perf_exchange.h"

enum { ATH_PERF_TCP_PORT = 18516, ATH_PERF_ADDRESS_TEXT = 64 };

/* Called about ten times a second during a wait. is_stopped NULL: waits are never stopped. */
struct ath_perf_stop {
    bool (*is_stopped)(void *context);
    void *context;
};

struct ath_perf_channel {
    int fd; /* owned; -1 when closed */
    struct ath_perf_stop stop;
    char peer[ATH_PERF_ADDRESS_TEXT]; /* the other side's address, "" for a socket pair */
};

void ath_perf_channel_free(struct ath_perf_channel *channel);

/* Connects to a server. The caller frees *out with ath_perf_channel_free(). Returns 0, or a
 * negative errno with err: "peer-unreachable", "interrupted". */
int ath_perf_connect(const char *host, int port, const struct ath_perf_stop *stop,
                     struct ath_perf_channel *out, struct ath_err *err);

/* Listens on an address or host name (NULL: all addresses). The caller closes *out_fd. Returns 0
 * or a negative errno with err. */
int ath_perf_listen(const char *address, int port, int *out_fd, struct ath_err *err);

/* Waits for the next client, without a timeout. Returns 0, or a negative errno with err
 * ("interrupted"). */
int ath_perf_accept(int listen_fd, const struct ath_perf_stop *stop, struct ath_perf_channel *out,
                    struct ath_err *err);

/* Makes two channels that are connected to each other. Returns 0 or a negative errno with err. */
int ath_perf_pair(const struct ath_perf_stop *stop, struct ath_perf_channel out[2],
                  struct ath_err *err);

/* Sends one message; body as for ath_perf_encode(). Returns 0, or a negative errno with err. */
int ath_perf_say(const struct ath_perf_channel *channel, enum ath_perf_message type,
                 const union ath_perf_body *body, struct ath_err *err);

/*
 * Waits for one message of the given type. out may be NULL for types without a body. Returns 0, or
 * a negative errno with err: "peer-failed" with the other side's error message, "peer-protocol",
 * "peer-unreachable" (closed, or silent for timeout_ms), "interrupted".
 */
int ath_perf_hear(const struct ath_perf_channel *channel, enum ath_perf_message type,
                  int timeout_ms, union ath_perf_body *out, struct ath_err *err);

/* True if a message has arrived or the other side has closed; does not wait. */
bool ath_perf_has_news(const struct ath_perf_channel *channel);

/* Returns 0, or -EINTR "interrupted" with err if is_stopped() returns true. */
int ath_perf_check_stop(const struct ath_perf_stop *stop, struct ath_err *err);
