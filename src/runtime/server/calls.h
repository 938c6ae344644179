/*
 * Serving a program's calls from a stream, in their order, by as many threads as wait for the GPU.
 *
 * One thread at a time reads a call, serves and answers it, and reads the next. A call that waits
 * for the GPU, and for whose answer its client's thread waits, does not hold up the others: another
 * thread reads on first. Calls of a client's thread that captures a stream are all served by one
 * thread, since CUDA wants a capture ended by the thread that began it (cuStreamBeginCapture()) and
 * judges by threads what may not be called meanwhile.
 */
#pragma once
#include <stdatomic.h>

#include "runtime/cuda/server.h"
#include "runtime/transport/stream.h"

struct ath_calls {
    struct ath_stream *stream;
    struct ath_cuda_session *session;
    /* Is told once why there are no more calls (a negative errno: -ENODATA where the client is
     * done), by any thread, while others may be waiting for the GPU. Does not return. */
    __attribute__((noreturn)) void (*over)(struct ath_calls *calls, int status);
    _Atomic uint64_t served;
};

/* Does not return. */
void ath_calls_serve(struct ath_calls *calls) __attribute__((noreturn));
