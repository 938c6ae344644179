/*
 * Shared by link.c (calls and answers) and link_open.c.
 *
 * The functions on the path of a call are static in link.c, so that the compiler can inline them.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cuda/client/client.h"
#include "cuda/client/recording.h"
#include "remote/transport/stream.h"

struct ath_link_bytes {
    uint8_t *data;
    size_t length, capacity;
};

struct ath_link_waiter {
    struct ath_link_waiter *next;
    uint64_t number;
    struct ath_frame *answer;
    atomic_bool is_done; /* read by its thread without the lock, too */
    pthread_cond_t wake;
};

/* An answer that arrived before its thread began to wait. */
struct ath_link_early {
    struct ath_link_early *next;
    uint64_t number;
    struct ath_frame answer;
};

struct ath_stream_link {
    struct ath_cuda_link base; /* must be first */
    struct ath_stream *stream;
    atomic_int failure; /* negative errno; 0: none yet */
    struct ath_recording calls, answers;

    pthread_mutex_t out_lock; /* guards the fields for sending */
    pthread_cond_t to_send, sent;
    struct ath_link_bytes pending, writing;
    atomic_bool has_pending, is_closing; /* read by the sender without the lock */
    bool is_writing, sender_sleeps, has_sender;
    _Atomic uint32_t sender_patience_us;
    pthread_t sender;

    pthread_mutex_t in_lock; /* guards the fields for answers */
    struct ath_link_waiter *waiters;
    struct ath_link_early *early;
    size_t early_count;
    atomic_bool is_reading;
    unsigned int looking, looking_max; /* waiting threads that poll */
    _Atomic uint32_t waiter_patience_us;
    atomic_uint inside; /* threads in wait */
};

extern const struct ath_cuda_link_ops ath_link_ops;

/* Notes a failure; the first one stays. Returns the first one, a negative errno. Any thread. */
int ath_link_fail(struct ath_stream_link *link, int status);
/* Starts the thread that sends. Returns 0 or a negative errno. */
int ath_link_start_sender(struct ath_stream_link *link);
/* Closes the stream and frees the link. Threads that wait in the link fail. */
void ath_link_close(struct ath_cuda_link *base);
