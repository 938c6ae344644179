/*
 * One reliable connected queue pair with all that it needs: context, protection domain, completion
 * queue, memory. Private to roce.
 *
 * The memory has two areas of one size: what is sent (or what the other side reads) lies in the
 * first, what arrives in the second. One thread at a time.
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
    struct ath_perf_endpoint ours, theirs; /* once connected */
    uint64_t posted, completed;            /* messages sent, written or read */
    uint64_t received;                     /* messages that arrived in receives */
    uint32_t unposted_receives;            /* of them not given back to the queue yet */
};

/*
 * Opens where->device and makes a queue pair, not connected yet, for messages of up to size bytes
 * of which depth are under way together. Returns 0, or a negative errno with err ("memlock-low",
 * ...). The caller releases *out with ath_qp_free(), also after a failure.
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

/* What the other side must know; host and GID are the caller's. op says which area it may reach. */
void ath_qp_describe(const struct ath_qp *qp, enum ath_perf_op op, struct ath_perf_endpoint *out);

/*
 * Brings the queue pair to "ready to send" against `theirs`; `ours` is what they were told. Returns
 * 0, or a negative errno with err ("rdma-unreachable") that names the likely cause.
 */
int ath_qp_connect(struct ath_qp *qp, const struct ath_perf_endpoint *ours,
                   const struct ath_perf_endpoint *theirs, struct ath_err *err);

/* Says that the two ends do not reach each other, how that shows ("timed out"), and as the hint
 * what the likely cause is. Returns status. */
int ath_qp_blame(const struct ath_qp *qp, int status, const char *sign, struct ath_err *err);

/*
 * Posts one message of size bytes. covers: 0 for one without completion, else how many messages its
 * completion stands for. Returns 0 or a negative errno with err.
 */
int ath_qp_post(struct ath_qp *qp, enum ath_perf_op op, uint64_t size, uint32_t covers,
                struct ath_err *err);

/* Gives `count` receives of the whole receive area to the queue. Returns 0 or a negative errno. */
int ath_qp_post_receives(struct ath_qp *qp, uint32_t count, struct ath_err *err);

/*
 * Takes what has completed and counts it in completed and received. Returns how many completions
 * there were, or -EIO "rdma-failed" with err.
 */
int ath_qp_reap(struct ath_qp *qp, struct ath_err *err);
