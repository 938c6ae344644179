/*
 * The connection over which the two sides of an RDMA test talk: TCP, or a socket pair within one
 * process.
 *
 * Every wait has an end: its timeout, the other side's going, or is_stopped(). A channel belongs to
 * one thread.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "roce/perf_exchange.h"

enum { ATH_PERF_TCP_PORT = 18516, ATH_PERF_ADDRESS_TEXT = 64 };

/* Asked about ten times a second while something is waited for; NULL for never. */
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

/* Returns 0, or a negative errno with err: "peer-unreachable", "interrupted". */
int ath_perf_connect(const char *host, int port, const struct ath_perf_stop *stop,
                     struct ath_perf_channel *out, struct ath_err *err);

/* Listens on an address or host name (NULL: all). The caller closes *out_fd. Returns 0 or a
 * negative errno with err. */
int ath_perf_listen(const char *address, int port, int *out_fd, struct ath_err *err);

/* Waits for the next client without end. Returns 0, or a negative errno with err ("interrupted").
 */
int ath_perf_accept(int listen_fd, const struct ath_perf_stop *stop, struct ath_perf_channel *out,
                    struct ath_err *err);

/* Two channels that lead to each other. */
int ath_perf_pair(const struct ath_perf_stop *stop, struct ath_perf_channel out[2],
                  struct ath_err *err);

/* Returns 0 or a negative errno with err. body as ath_perf_encode() takes it. */
int ath_perf_say(const struct ath_perf_channel *channel, enum ath_perf_message type,
                 const union ath_perf_body *body, struct ath_err *err);

/*
 * Waits for one message of the type given. Returns 0, or a negative errno with err: "peer-failed"
 * with the other side's words, "peer-protocol", "peer-unreachable" (gone, or silent for
 * timeout_ms), "interrupted". out may be NULL for types without a body.
 */
int ath_perf_hear(const struct ath_perf_channel *channel, enum ath_perf_message type,
                  int timeout_ms, union ath_perf_body *out, struct ath_err *err);

/* True where the other side said something, or went; does not wait. */
bool ath_perf_has_news(const struct ath_perf_channel *channel);

/* Returns 0, or -EINTR "interrupted" with err. */
int ath_perf_check_stop(const struct ath_perf_stop *stop, struct ath_err *err);
