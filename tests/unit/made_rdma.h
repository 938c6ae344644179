/*
 * A libibverbs made up for tests: RDMA devices whose queue pairs copy memory within this process,
 * in a machine of two such devices. The program is linked with -Wl,--wrap=ath_late_load.
 *
 * A device is as strict as the hardware: what the InfiniBand Architecture forbids (a message before
 * "ready to send", memory that is not registered, more messages in flight than the queue takes,
 * inline data that is too long or read) is refused with EINVAL or ENOMEM.
 */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "roce/perf_port.h"
#include "roce/verbs.h"

enum { MADE_PAIRS = 8 };

struct made_pair {
    struct ibv_qp qp; /* first */
    struct ibv_qp_cap cap;
    struct ibv_qp_attr attributes; /* what ibv_modify_qp() set */
    struct ibv_recv_wr *receives;
    struct ibv_sge *areas;
    uint32_t receive_count, in_flight, unsignalled;
};

struct made_rdma {
    pthread_mutex_t lock;
    struct ibv_device devices[2];
    struct ibv_device_attr limits;
    struct ibv_mr *memory; /* all of one test: those of two sides */
    struct ibv_mr *other_memory;
    struct made_pair *pairs[MADE_PAIRS];
    /* Faults to make. */
    const char *fails; /* the function; of ibv_modify_qp() alone: the state, as in "RTR" */
    int code;          /* its errno */
    const struct ibv_device *fails_on; /* of ibv_post_send() alone: the device; NULL: each */
    bool has_no_inline, is_spoiling, has_no_devices;
    enum ibv_wc_status ends; /* of messages */
    /* Observations. */
    int alive, lists; /* objects, and lists of devices, that are not freed yet */
    unsigned inlined, inline_wish;
};

extern struct made_rdma rdma;

/* Sets rdma to two devices "rxe1" and "rxe2", and no faults. */
void made_rdma(void);
