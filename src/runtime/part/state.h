/* Shared by the files of this folder: the parts of this process. */
#pragma once
#include <pthread.h>
#include <stdatomic.h>

#include "remote/session/device_list.h"
#include "runtime/part/part.h"

enum { ATH_PART_GROUPS_MAX = 64 /* as the books' bits */ };

struct ath_part_stream;

/* The part of a device. The lock is held while the green context is current in a thread. It is
 * taken before any lock of the driver's. */
struct ath_part {
    pthread_mutex_t lock;
    CUdevice device;
    _Atomic(CUcontext) primary; /* NULL: not known */
    unsigned int retained; /* references of the primary context by cuDevicePrimaryCtxRetain() */
    CUgreenCtx green;      /* NULL: not made */
    CUcontext context;     /* by which it can be current */
    unsigned int total, each, groups; /* multiprocessors; 0: not known */
    unsigned int mine;                /* of the session */
    uint64_t epoch;                   /* changes when the green context ends */
    struct ath_part_stream *streams;  /* in the order of the null stream (order.h) */
    CUevent null_event;               /* behind the work of the null stream; NULL: none */
    uint64_t null_work;               /* counts the calls that gave it work */
};

struct ath_parts {
    struct ath_part_setup setup;
    struct ath_cuda_driver raw;
    struct ath_part items[ATH_DEVICES_MAX];
};

extern struct ath_parts ath_parts;

/* The part of a device; NULL: the session has no such device. */
struct ath_part *ath_part_of(CUdevice device);

/* The part of the current context, if that is a primary one; else NULL. */
struct ath_part *ath_part_current(void);

/* Makes the green context unless it is there. The primary context is active. The caller has the
 * lock. */
CUresult ath_part_make(struct ath_part *part);

/* Ends the green context and gives the multiprocessors back. The caller has the lock. */
void ath_part_end(struct ath_part *part);

/* Finds out how many multiprocessors the session gets. The caller has the lock. */
CUresult ath_part_measure(struct ath_part *part);

/* The green context becomes current, and the one before again. The caller has the lock. */
CUresult ath_part_push(struct ath_part *part);
void ath_part_pop(void);
