/*
 * The captures that are under way: begun, not ended, and their stream and context still exist. Each
 * side of a connection keeps its own list. Any thread.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda/api/cuda_api.h"

struct ath_cuda_capture;

/* A list that is all zeros, with an initialized lock, is empty. */
struct ath_cuda_capture_list {
    pthread_mutex_t lock;
    struct ath_cuda_capture *first;
    atomic_uint count; /* may be read without the lock */
};

/* Notes that a stream begins to capture for a thread of the program, whose number is the
 * connection's. The capture is not noted if memory runs out. */
void ath_cuda_capture_list_add(struct ath_cuda_capture_list *captures, CUstream stream,
                               CUcontext context, uint32_t thread);

/* Notes that the stream's capture is over. A default stream per thread (CU_STREAM_PER_THREAD) is
 * the thread's own; another thread may end the capture of any other stream. */
void ath_cuda_capture_list_remove(struct ath_cuda_capture_list *captures, CUstream stream,
                                  uint32_t thread);

/* Notes that all captures of a context are over; context NULL: all captures. */
void ath_cuda_capture_list_end_context(struct ath_cuda_capture_list *captures, CUcontext context);

/* Returns whether a thread has captures under way. */
bool ath_cuda_capture_list_has_thread(struct ath_cuda_capture_list *captures, uint32_t thread);
