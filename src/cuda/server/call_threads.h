/*
 * Serves a program's calls from a stream, in their order, by as many threads as wait for the GPU.
 *
 * One thread at a time reads a call, serves and answers it, and reads the next. If a call waits for
 * the GPU while its thread of the client waits for the answer, another thread reads on. One thread
 * serves all calls of a client's thread that captures a stream: CUDA wants a capture ended by the
 * thread that began it (cuStreamBeginCapture()), and decides by threads what may not be called
 * meanwhile.
 */
#pragma once
#include "cuda/server/call_counts.h"
#include "cuda/server/server.h"
#include "remote/transport/stream.h"

struct ath_calls {
    struct ath_stream *stream;
    struct ath_cuda_session *session;
    /* Called once when there are no more calls, with a negative errno (-ENODATA if the client is
     * done), by any thread, while other threads may wait for the GPU. Does not return. */
    __attribute__((noreturn)) void (*over)(struct ath_calls *calls, int status);
    /* Called with what the driver wrote to standard error, one call at a time. NULL: not wanted. */
    void (*complained)(struct ath_calls *calls, const char *text, size_t length);
    struct ath_call_counts *counts; /* NULL: the counts go nowhere */
};

/* Does not return. */
void ath_calls_serve(struct ath_calls *calls) __attribute__((noreturn));
