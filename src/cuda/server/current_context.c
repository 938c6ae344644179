/* The context of the client that is current in a worker's thread of the driver. */
#include "config.h"

#include "cuda/server/current_context.h"
#include "proto/cuda-wire.h"

#include <stdlib.h>

struct ath_cuda_noted {
    struct ath_cuda_noted *next;
    CUcontext context;
    pthread_mutex_t held; /* for a green context: held by the worker to which it is current */
};

/* Returns where a context is in a list. The caller has the lock. */
static struct ath_cuda_noted **noted_at(struct ath_cuda_noted **list, CUcontext context)
{
    while (*list && (*list)->context != context)
        list = &(*list)->next;
    return list;
}

static bool is_noted(struct ath_cuda_session *session, struct ath_cuda_noted **list,
                     CUcontext context)
{
    pthread_mutex_lock(&session->lock);
    bool is = *noted_at(list, context);
    pthread_mutex_unlock(&session->lock);
    return is;
}

/* Adds a context to a list or removes it: its handle may belong to another context later. */
static void note(struct ath_cuda_session *session, struct ath_cuda_noted **list, CUcontext context,
                 bool is)
{
    pthread_mutex_lock(&session->lock);
    struct ath_cuda_noted **at = noted_at(list, context), *one = *at;
    if (one && !is) {
        *at = one->next;
        free(one);
    } else if (!one && is && (one = malloc(sizeof *one))) {
        *one = (struct ath_cuda_noted){ .next = *list,
                                        .context = context,
                                        .held = PTHREAD_MUTEX_INITIALIZER };
        *list = one;
    }
    pthread_mutex_unlock(&session->lock);
}

void ath_cuda_note_ended(struct ath_cuda_session *session, CUcontext context, bool is)
{
    note(session, &session->ended, context, is);
}

/*
 * Returns whether cuCtxDestroy() has ended a context. A thread of the client's may still have it
 * current, and its calls then say so (CUDA_ERROR_CONTEXT_IS_DESTROYED, cuda.h). The driver is not
 * given its handle, since the result is undefined (github.com/openucx/ucx/pull/10852). A primary
 * context keeps its handle.
 */
static bool has_ended(struct ath_cuda_session *session, CUcontext context)
{
    return is_noted(session, &session->ended, context);
}

/* Returns why a context of the client's must not become current. */
static CUresult usable(struct ath_cuda_session *session, CUcontext context)
{
    const struct ath_cuda_object_name name = { ATH_CUDA_KIND_CONTEXT, (uintptr_t)context };
    if (has_ended(session, context))
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    return ath_cuda_object_serial(&session->objects, name, NULL) ? CUDA_SUCCESS
                                                                 : CUDA_ERROR_INVALID_CONTEXT;
}

/*
 * "A green context can be current to only one thread at a time" (cuda.h); a driver with two such
 * threads ends with a segmentation fault (580, H200). Several workers may serve the calls of one
 * thread of the client's, one after the other or, if the thread asks ahead, at the same time. So
 * each call holds such a context from its begin to its end.
 */
static struct ath_cuda_noted *green_of(struct ath_cuda_session *session, CUcontext context)
{
    if (!session->has_green || !context)
        return NULL;
    pthread_mutex_lock(&session->lock);
    struct ath_cuda_noted *green = *noted_at(&session->green, context);
    pthread_mutex_unlock(&session->lock);
    return green;
}

void ath_cuda_let_go_of_green(struct ath_cuda_worker *worker)
{
    if (!worker->green)
        return;
    worker->session->driver->cuCtxSetCurrent(NULL);
    pthread_mutex_unlock(&worker->green->held);
    worker->green = NULL;
    worker->context = NULL;
}

/* A destroyed context stays noted. At worst another context with its handle is made current more
 * often than needed. */
CUresult ath_cuda_note_green(struct ath_cuda_session *session, CUcontext context)
{
    note(session, &session->green, context, true);
    session->has_green = true;
    return is_noted(session, &session->green, context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Makes a context current. Before cuInit() there is none, and none is wanted. */
static CUresult take_up(struct ath_cuda_served *served, CUcontext context)
{
    if (!context && !served->worker->context)
        return CUDA_SUCCESS;
    served->worker->green = green_of(served->session, context);
    if (served->worker->green)
        pthread_mutex_lock(&served->worker->green->held);
    CUresult status = context ? usable(served->session, context) : CUDA_SUCCESS;
    if (!status)
        status = served->driver->cuCtxSetCurrent(context);
    served->worker->context = status ? NULL : context;
    if (status) /* many calls need no context; those that do say what is wrong with it */
        served->driver->cuCtxSetCurrent(NULL);
    return status;
}

CUresult ath_cuda_become(struct ath_cuda_served *served)
{
    struct ath_cuda_worker *worker = served->worker;
    CUcontext context = (CUcontext)(uintptr_t)ath_cuda_wire_call_context(served->call);
    CUstreamCaptureMode mode = (CUstreamCaptureMode)ath_cuda_wire_call_capture_mode(served->call);

    uint64_t epoch = worker->session->epoch;
    if (context != worker->context || epoch != worker->epoch) {
        served->context_status = take_up(served, context);
        worker->epoch = epoch;
    }
    if (mode != worker->mode && served->driver->cuThreadExchangeStreamCaptureMode) {
        CUstreamCaptureMode exchanged = mode;
        CUresult status = served->driver->cuThreadExchangeStreamCaptureMode(&exchanged);
        if (status)
            return status;
        worker->mode = mode;
    }
    return CUDA_SUCCESS;
}

static void free_noted(struct ath_cuda_noted **list)
{
    for (struct ath_cuda_noted *one = *list, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    *list = NULL;
}

void ath_cuda_noted_free(struct ath_cuda_session *session)
{
    free_noted(&session->ended);
    free_noted(&session->green);
}
