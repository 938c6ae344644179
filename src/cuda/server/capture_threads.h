/*
 * The threads that serve the calls of the client's threads that capture: one thread for each.
 * CUDA wants a capture ended by the thread that began it (cuStreamBeginCapture()), and decides by
 * threads what may not be called meanwhile.
 */
#pragma once
#include "cuda/server/call_answer.h"
#include "cuda/server/call_head.h"

enum { ATH_CAPTURE_THREADS_MOST = 64 };

struct ath_capture_threads {
    struct ath_answer_writer *writer;
    pthread_mutex_t *lock;
    struct ath_capturer *first; /* changed, with the lock, by the thread that serves alone */
    unsigned int count;         /* the same */
};

/* Returns whether a thread of the client captures. The caller has the lock, or serves alone. */
bool ath_capture_threads_has(struct ath_capture_threads *threads, uint32_t client_thread);

/* Serves a call of a thread that captures, or that begins to. Returns false for any other call. A
 * capture for which there is no thread, because the session has its most or the system has none,
 * fails with CUDA_ERROR_OUT_OF_MEMORY.
 * The caller serves alone, without the lock, and waits: the call has its place in the order of all
 * calls. The thread that captures is free for its next call, or ended, before the answer is sent:
 * the order may go on meanwhile. */
bool ath_capture_threads_serve(struct ath_capture_threads *threads, struct ath_call_thread *thread,
                               const struct ath_call_head *head, const struct ath_frame *call);
