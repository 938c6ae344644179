/*
 * A reliable connected queue pair with its context, protection domain, completion queue and memory.
 * Private to roce.
 *
 * The memory has two areas of equal size. The first one holds data to send, or data that the other
 * side reads. The second one takes data that arrives. One thread at a time.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "roce/nic.h"
#include "roce/perf_exchange.h"
#include "roce/perf_plan.h"
#include "roce/perf_port.h"
#include "roce/verbs.h"

struct ath_qp {
    const struct ath_verbs *verbs;
    const struct ath_perf_port *where; /* not owned */
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    struct ibv_device_attr limits;
    struct ibv_port_attr port;
    uint8_t *memory;
    uint64_t size_bytes; /* of the largest message */
    size_t area_bytes;   /* of each area, whole pages */
    uint32_t max_inline_bytes;
    uint32_t depth, receive_depth;
    struct ath_perf_endpoint ours, theirs; /* valid after ath_qp_connect() */
    uint64_t posted, completed;            /* number of messages sent, written or read */
    uint64_t received;                     /* number of messages that arrived in receives */
    uint32_t unposted_receives;            /* used receives that were not posted again yet */
};

/*
 * Opens where->device and creates an unconnected queue pair for messages of up to size bytes, depth
 * of them in flight. The caller releases *out with ath_qp_free(), also after a failure. Returns 0,
 * or a negative errno with err ("memlock-low", ...).
 */
int ath_qp_open(const struct ath_perf_port *where, uint64_t size, uint32_t depth,
                struct ath_qp *out, struct ath_err *err);
void ath_qp_free(struct ath_qp *qp);

static inline uint8_t *ath_qp_send_area(const struct ath_qp *qp)
{
    return qp->memory;
}

static inline uint8_t *ath_qp_receive_area(const struct ath_qp *qp)
{
    return qp->memory + qp->area_bytes;
}

/* Fills what the other side must know; the caller adds host and GID. op decides which area the
 * other side may reach. */
void ath_qp_describe(const struct ath_qp *qp, enum ath_perf_op op, struct ath_perf_endpoint *out);

/*
 * Brings the queue pair to "ready to send". `ours` is the endpoint that this side sent, `theirs`
 * the one that it received. Returns 0, or a negative errno with err ("rdma-unreachable") and a hint
 * that names the likely cause.
 */
int ath_qp_connect(struct ath_qp *qp, const struct ath_perf_endpoint *ours,
                   const struct ath_perf_endpoint *theirs, struct ath_err *err);

/* Sets the error that the two ends do not reach each other; sign is the symptom ("timed out"), and
 * the hint names the likely cause. Returns status. */
int ath_qp_blame(const struct ath_qp *qp, int status, const char *sign, struct ath_err *err);

/*
 * Posts one message of size bytes. covers: the number of messages that its completion stands for; 0
 * for a message without a completion. Returns 0, or a negative errno with err.
 */
int ath_qp_post(struct ath_qp *qp, enum ath_perf_op op, uint64_t size, uint32_t covers,
                struct ath_err *err);

/* Posts `count` receives, each of the whole receive area. Returns 0, or a negative errno with
 * err. */
int ath_qp_post_receives(struct ath_qp *qp, uint32_t count, struct ath_err *err);

/*
 * Takes completions and counts them in completed and received. Returns the number of completions,
 * or -EIO "rdma-failed" with err.
 */
int ath_qp_reap(struct ath_qp *qp, struct ath_err *err);
