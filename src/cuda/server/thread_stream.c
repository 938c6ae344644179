/*
 * The default streams of the client's threads.
 *
 * In the driver, the default stream per thread (CU_STREAM_PER_THREAD) belongs to the calling
 * thread. Here it belongs to the client's thread: it is made when the thread first uses it, one for
 * each context. It is an ordinary stream, which synchronizes with the legacy default stream as
 * CUDA's does.
 */
#include "config.h"

#include "cuda/server/thread_stream.h"
#include "proto/cuda-wire.h"

#include <stdlib.h>

struct ath_cuda_thread_stream {
    struct ath_cuda_thread_stream *next;
    CUcontext context;
    CUdevice device;
    bool is_primary; /* its context is the device's primary one */
    uint32_t thread;
    CUstream stream;
};

/* Notes whether a stream's context is its device's primary one, which keeps its handle when it is
 * reset but loses its streams. */
static void note_device(const struct ath_cuda_driver *driver, struct ath_cuda_thread_stream *made)
{
    CUcontext primary = NULL;
    unsigned int flags;
    int is_active = 0;
    if (!driver->cuCtxGetDevice || !driver->cuDevicePrimaryCtxGetState ||
        !driver->cuDevicePrimaryCtxRetain || !driver->cuDevicePrimaryCtxRelease_v2 ||
        driver->cuCtxGetDevice(&made->device) ||
        driver->cuDevicePrimaryCtxGetState(made->device, &flags, &is_active) || !is_active ||
        driver->cuDevicePrimaryCtxRetain(&primary, made->device))
        return;
    made->is_primary = primary == made->context;
    driver->cuDevicePrimaryCtxRelease_v2(made->device);
}

void ath_cuda_thread_streams_drop(struct ath_cuda_session *session, CUcontext context,
                                  CUdevice device)
{
    pthread_mutex_lock(&session->lock);
    for (struct ath_cuda_thread_stream **at = &session->streams; *at;) {
        struct ath_cuda_thread_stream *one = *at;
        bool is_gone = context ? one->context == context : one->is_primary && one->device == device;
        if (!is_gone) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        free(one);
    }
    pthread_mutex_unlock(&session->lock);
}

static CUstream make_stream(struct ath_cuda_served *served, uint32_t thread)
{
    struct ath_cuda_thread_stream *made = calloc(1, sizeof *made);
    CUresult status = CUDA_ERROR_OUT_OF_MEMORY;
    if (made) {
        *made = (struct ath_cuda_thread_stream){ .next = served->session->streams,
                                                 .context = served->worker->context,
                                                 .thread = thread };
        status = served->driver->cuStreamCreate(&made->stream, CU_STREAM_DEFAULT);
    }
    if (status) {
        free(made);
        served->side.status = status;
        return NULL;
    }
    note_device(served->driver, made);
    served->session->streams = made;
    return made->stream;
}

CUstream ath_cuda_stream_of_thread(struct ath_cuda_served *served)
{
    uint32_t thread = ath_cuda_wire_call_thread(served->call);
    pthread_mutex_lock(&served->session->lock);
    const struct ath_cuda_thread_stream *one = served->session->streams;
    while (one && (one->thread != thread || one->context != served->worker->context))
        one = one->next;
    CUstream stream = one ? one->stream : make_stream(served, thread);
    pthread_mutex_unlock(&served->session->lock);
    return stream;
}

bool ath_cuda_has_thread_streams(struct ath_cuda_session *session)
{
    pthread_mutex_lock(&session->lock);
    bool has = session->streams;
    pthread_mutex_unlock(&session->lock);
    return has;
}

void ath_cuda_thread_streams_free(struct ath_cuda_session *session)
{
    for (struct ath_cuda_thread_stream *one = session->streams, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    session->streams = NULL;
}
