/*
 * The state of the client's connection, and the functions between the files that make up a call
 * (connection.c, thread.c, handle_conversion.c, call.c). client.h is for all other files.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda/client/client.h"
#include "cuda/client/instance.h"
#include "proto/cuda-wire-types.h"

enum {
    ATH_CUDA_LINK_NONE,
    ATH_CUDA_LINK_OPEN, /* before cuInit() */
    ATH_CUDA_LINK_GOOD,
    ATH_CUDA_LINK_LOST,
    ATH_CUDA_LINK_FORKED, /* a child of a process that had called cuInit(): CUDA does not work */
};

/* The lock `order` makes one order of all threads' calls: a call gets its number and is posted
 * under it. */
struct ath_cuda_connection {
    pthread_mutex_t order;
    struct ath_cuda_link *link; /* guarded by order, as is the next one */
    uint64_t last_number;
    atomic_int state;   /* ATH_CUDA_LINK_... */
    atomic_int waiting; /* threads of the program that wait for an answer */
    atomic_bool is_exiting;
};
extern struct ath_cuda_connection ath_cuda_connection;

/* Return CUDA_SUCCESS if a call of a method may be sent, else the error that the call returns. */
CUresult ath_cuda_link_status_if_not_good(enum ath_cuda_method method);
static inline CUresult ath_cuda_link_status(enum ath_cuda_method method)
{
    return ath_cuda_connection.state == ATH_CUDA_LINK_GOOD
               ? CUDA_SUCCESS
               : ath_cuda_link_status_if_not_good(method);
}

/* As ath_cuda_is_lost(). */
static inline bool ath_cuda_link_is_lost(void)
{
    return ath_cuda_connection.state == ATH_CUDA_LINK_LOST;
}

/* Notes that the server is lost, and prints that once. Returns CUDA_ERROR_DEVICE_UNAVAILABLE. */
CUresult ath_cuda_lose_link(void);

/* A call of the client's own, which no thread of the program makes or waits for: between
 * start and post the caller adds the method. It holds `order` throughout. A call that cannot be
 * sent is dropped. */
struct ath_cuda_wire_call_builder ath_cuda_own_call_start(struct ath_wire_builder *builder,
                                                          CUcontext context);
void ath_cuda_own_call_post(struct ath_wire_builder *builder, enum ath_cuda_method method);

/* Returns whether the calling thread's calls fail with CUDA_ERROR_DEINITIALIZED, as a driver's do
 * while another thread runs exit(). */
bool ath_cuda_is_refused_at_exit(void);
static inline bool ath_cuda_is_shutting_down(void)
{
    return ath_cuda_connection.is_exiting && ath_cuda_is_refused_at_exit();
}

/* ---- threads ---- */

/* The calling thread's state; NULL if it has made no call yet. */
extern _Thread_local struct ath_cuda_thread *ath_cuda_known_thread;

/* As ath_cuda_this_thread() and ath_cuda_current_context(), without a call in most cases. */
static inline struct ath_cuda_thread *ath_cuda_own_thread(void)
{
    return ath_cuda_known_thread ? ath_cuda_known_thread : ath_cuda_this_thread();
}

static inline CUcontext ath_cuda_own_context(void)
{
    const struct ath_cuda_thread *thread = ath_cuda_own_thread();
    return thread ? ath_cuda_thread_context(thread) : NULL;
}

/* The most threads so far that had a number at the same time. */
unsigned int ath_cuda_thread_count(void);

/* Around fork(). */
void ath_cuda_thread_numbers_lock(void);
void ath_cuda_thread_numbers_unlock(void);

/* ---- calls ---- */

/* Forgets sticky errors and counts that all cached answers were forgotten. */
void ath_cuda_calls_clear(void);

/* The sticky error that the server reported for a context. A call without an answer returns it at
 * once. */
CUresult ath_cuda_known_fault(CUcontext context);

/* Puts the current context into the call. ath_cuda_begin() does so. */
void ath_cuda_put_context(struct ath_cuda_exchange *exchange);

/* The two conversions of an exchange (struct ath_cuda_side). They also check and note handles. */
uint64_t ath_cuda_client_to_wire(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t own);
uint64_t ath_cuda_client_to_own(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t wire);

/* Sets the side's status for another server's handle. */
void ath_cuda_refuse_stranger(struct ath_cuda_side *side, enum ath_cuda_kind kind);

/* The server's value of a handle. */
static inline uint64_t ath_cuda_as_server_has_it(struct ath_cuda_side *side,
                                                 enum ath_cuda_kind kind, uint64_t own)
{
    uint64_t wire;
    if (!ath_instance_to_wire(kind, own, &wire))
        ath_cuda_refuse_stranger(side, kind);
    return wire;
}
