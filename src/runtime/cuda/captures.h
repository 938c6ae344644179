/*
 * The captures that are under way: begun, and neither ended nor gone with their stream or context.
 * Each side of a connection keeps such a list of its own. Any thread.
 */
#pragma once
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/cuda/cuda_api.h"

struct ath_cuda_capture;

/* {} with a lock that is initialized is an empty one. */
struct ath_cuda_captures {
    pthread_mutex_t lock;
    struct ath_cuda_capture *first;
    atomic_uint count; /* may be read without the lock */
};

/* A stream that begins to capture for a thread of the program, whose number is the connection's.
 * Without memory for it, it is not noted. */
void ath_cuda_capture_add(struct ath_cuda_captures *captures, CUstream stream, CUcontext context,
                          uint32_t thread);

/* The stream's capture is over. A default stream per thread (CU_STREAM_PER_THREAD) is the thread's
 * own one; any other may be ended by another thread. */
void ath_cuda_capture_remove(struct ath_cuda_captures *captures, CUstream stream, uint32_t thread);

/* Those of a context are over; context NULL: all are. */
void ath_cuda_captures_end(struct ath_cuda_captures *captures, CUcontext context);

/* Whether a thread has captures under way. */
bool ath_cuda_captures_by(struct ath_cuda_captures *captures, uint32_t thread);
