/*
 * Serves one call and sends its answer. Kernels' output, the data of deferred copies and changes of
 * mirrors go ahead of the answer.
 */
#pragma once
#include <pthread.h>

#include "cuda/server/call_head.h"
#include "cuda/server/call_threads.h"

enum { ATH_CALL_MAX = 80 * 1024 * 1024 }; /* bytes of a frame */

/* Returns whether moving so many bytes takes so long that another thread is worth waking for the
 * next call. */
bool ath_call_is_large(size_t bytes);

/* A thread that serves calls, with its memory. */
struct ath_call_thread {
    struct ath_cuda_worker worker;
    struct ath_frame frame;
    struct ath_wire_builder builder; /* the answer */
};

/* The right to write to the client. One thread has it at a time. */
struct ath_answer_writer {
    struct ath_calls *calls;
    pthread_mutex_t write_lock;
    const struct ath_call_thread *thread;     /* writes; with write_lock */
    struct ath_wire_builder printed, changes; /* the same */
    /* Called before a thread waits for the lock or the client, or sends much: other threads go on
     * with the order of calls. Any thread. */
    void (*step_aside)(struct ath_answer_writer *writer, const struct ath_call_thread *thread);
};

/* Prepares a writer, also for waits of the calls' stream. The writer must stay where it is. */
void ath_answer_writer_init(struct ath_answer_writer *writer, struct ath_calls *calls,
                            void (*step_aside)(struct ath_answer_writer *writer,
                                               const struct ath_call_thread *thread));

struct ath_call_thread ath_call_thread_make(const struct ath_answer_writer *writer);
void ath_call_thread_free(struct ath_call_thread *thread);

/* Frees the memory of large calls, so that an idle thread does not keep it. */
void ath_call_thread_rest(struct ath_call_thread *thread);

/* Serves a call. Returns whether an answer is wanted, which is in the thread's builder then. Any
 * thread, each with a struct of its own. */
bool ath_answer_make(struct ath_answer_writer *writer, struct ath_call_thread *thread,
                     const struct ath_frame *frame);

/* Sends the answer in the thread's builder. waited_us: how long the call took, if it may have
 * waited for the GPU; else ATH_UNKNOWN. */
void ath_answer_send(struct ath_answer_writer *writer, struct ath_call_thread *thread,
                     const struct ath_frame *frame, int64_t waited_us);

/* Serves a call, and sends the answer if one is wanted. */
void ath_answer_serve(struct ath_answer_writer *writer, struct ath_call_thread *thread,
                      const struct ath_call_head *head, const struct ath_frame *frame);
