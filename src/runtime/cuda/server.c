/*
 * From a message to the driver's function and back.
 *
 * The driver's default stream per thread (CU_STREAM_PER_THREAD, a stream of the thread that calls)
 * is here a stream of the client's thread: made for it when it is first used, one for each context.
 * It is an ordinary stream, which synchronizes with the legacy default stream, as CUDA's does.
 */
#include "config.h"

#include "runtime/cuda/server.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "runtime/cuda/by_hand/regions.h"
#include "runtime/cuda/by_hand/share.h"

struct ath_cuda_thread_stream {
    struct ath_cuda_thread_stream *next;
    CUcontext context;
    CUdevice device;
    bool is_primary; /* its context is the device's primary one */
    uint32_t thread;
    CUstream stream;
};

struct ath_cuda_noted {
    struct ath_cuda_noted *next;
    CUcontext context;
    pthread_mutex_t held; /* of a green one, by the worker that it is current to */
};

void ath_cuda_driver_load(void *library, struct ath_cuda_driver *out)
{
    void **functions = (void **)out; /* nothing but pointers, in the order of the names */
    for (size_t i = 0; i < ATH_CUDA_DRIVER_COUNT; i++)
        functions[i] = dlsym(library, ath_cuda_driver_names[i]);
}
_Static_assert(sizeof(struct ath_cuda_driver) == ATH_CUDA_DRIVER_COUNT * sizeof(void *),
               "one pointer for each name");

void ath_cuda_session_init(struct ath_cuda_session *session, const struct ath_cuda_driver *driver)
{
    *session = (struct ath_cuda_session){
        .driver = driver,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .captures.lock = PTHREAD_MUTEX_INITIALIZER,
    };
}

static void free_noted(struct ath_cuda_noted **list)
{
    for (struct ath_cuda_noted *one = *list, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    *list = NULL;
}

void ath_cuda_session_free(struct ath_cuda_session *session)
{
    for (struct ath_cuda_thread_stream *one = session->streams, *next; one; one = next) {
        next = one->next;
        free(one);
    }
    session->streams = NULL;
    free_noted(&session->ended);
    free_noted(&session->green);
    ath_cuda_captures_end(&session->captures, NULL);
    ath_cuda_shares_end(session);
    ath_cuda_regions_free(session);
    ath_cuda_images_free(session);
    pthread_mutex_destroy(&session->lock);
}

/* ---- handles ---- */

/* The primary context keeps its handle when it is reset, but loses its streams. */
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

/* Forgets the streams of a context that ended, which went with it. */
static void drop_streams(struct ath_cuda_session *session, CUcontext context, CUdevice device)
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

static CUstream stream_of_thread(struct ath_cuda_served *served)
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

static uint64_t to_own(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t wire)
{
    struct ath_cuda_served *served = (struct ath_cuda_served *)side;
    if (kind == ATH_CUDA_KIND_STREAM && wire == (uintptr_t)CU_STREAM_PER_THREAD)
        return (uintptr_t)stream_of_thread(served);
    if (kind == ATH_CUDA_KIND_HOST && wire) {
        void *here = ath_cuda_region_at(served->session, wire, 1);
        if (!here)
            side->status = CUDA_ERROR_INVALID_VALUE; /* it would be this process's own */
        return (uintptr_t)here;
    }
    return wire;
}

static uint64_t to_wire(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t own)
{
    (void)side;
    (void)kind;
    return own;
}

/* ---- the state of a thread ---- */

/* Contexts of a kind. The caller has the lock. */
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

/* Its handle may be another one's later. */
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

/*
 * Of contexts that cuCtxDestroy() has ended: a thread of the client's may have one current still,
 * and its calls say so (CUDA_ERROR_CONTEXT_IS_DESTROYED, cuda.h); the driver is not given its
 * handle, since what it does with that is undefined (github.com/openucx/ucx/pull/10852). A primary
 * context keeps its handle.
 */
static bool has_ended(struct ath_cuda_session *session, CUcontext context)
{
    return is_noted(session, &session->ended, context);
}

/*
 * "A green context can be current to only one thread at a time" (cuda.h); a driver that has two
 * ends with a segmentation fault (580, H200). Calls of one thread of the client's may be served by
 * several, one after the other or, where it asks ahead, beside each other: each call holds such a
 * context from its begin to its end.
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

static void let_go_of_green(struct ath_cuda_worker *worker)
{
    if (!worker->green)
        return;
    worker->session->driver->cuCtxSetCurrent(NULL);
    pthread_mutex_unlock(&worker->green->held);
    worker->green = NULL;
    worker->context = NULL;
}

/* One that is destroyed stays noted: at worst another of its handle is taken up more often. */
CUresult ath_cuda_note_green(struct ath_cuda_session *session, CUcontext context)
{
    note(session, &session->green, context, true);
    session->has_green = true;
    return is_noted(session, &session->green, context) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Without cuInit() there is no context to take up, and none is wanted. */
static CUresult take_up(struct ath_cuda_served *served, CUcontext context)
{
    if (!context && !served->worker->context)
        return CUDA_SUCCESS;
    served->worker->green = green_of(served->session, context);
    if (served->worker->green)
        pthread_mutex_lock(&served->worker->green->held);
    CUresult status = context && has_ended(served->session, context)
                          ? CUDA_ERROR_CONTEXT_IS_DESTROYED
                          : served->driver->cuCtxSetCurrent(context);
    served->worker->context = status ? NULL : context;
    if (status) /* many calls need none: those that do are told what is wrong with it */
        served->driver->cuCtxSetCurrent(NULL);
    return status;
}

/* The client's thread's context and capture mode become this thread's. */
static CUresult become(struct ath_cuda_served *served)
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

/* A thread's context may have ended. What needs none works all the same, as with CUDA; what does
 * says so. */
static bool has_no_context(CUresult status)
{
    return status == CUDA_ERROR_CONTEXT_IS_DESTROYED || status == CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- a call ---- */

/* A method of the table that is served from the wire, or NULL. */
static const struct ath_cuda_dispatch *dispatch_of(struct ath_cuda_wire_call call, int *out_method)
{
    int method = (int)ath_cuda_wire_call_which(call) - 1;
    if (method < 0 || method >= ATH_CUDA_METHOD_COUNT || !ath_cuda_dispatch[method].serve)
        return NULL;
    *out_method = method;
    return &ath_cuda_dispatch[method];
}

static bool driver_has(const struct ath_cuda_driver *driver, size_t offset)
{
    void *function;
    if (offset == ATH_CUDA_NEEDS_NOTHING)
        return true;
    memcpy(&function, (const char *)driver + offset, sizeof function);
    return function;
}

static bool is_primary_active(const struct ath_cuda_driver *driver, CUdevice device)
{
    unsigned int flags;
    int is_active = 0;
    return driver->cuDevicePrimaryCtxGetState &&
           !driver->cuDevicePrimaryCtxGetState(device, &flags, &is_active) && is_active;
}

static bool has_streams(struct ath_cuda_session *session)
{
    pthread_mutex_lock(&session->lock);
    bool has = session->streams;
    pthread_mutex_unlock(&session->lock);
    return has;
}

static CUcontext destroyed(const struct ath_cuda_served *served)
{
    return (CUcontext)(uintptr_t)ath_cuda_wire_ctx_destroy_v2_context(
        ath_cuda_wire_call_ctx_destroy_v2(served->call));
}

/* A reset device takes the captures of all contexts off the list: nobody resets one amid captures
 * that are to go on. */
static void after_end(struct ath_cuda_served *served, int method)
{
    CUcontext context;
    CUdevice device;
    if (!has_streams(served->session) && !served->session->captures.count)
        return;
    switch (method) {
    case ATH_CUDA_METHOD_cuCtxDestroy_v2:
        context = destroyed(served);
        drop_streams(served->session, context, 0);
        ath_cuda_captures_end(&served->session->captures, context);
        break;
    case ATH_CUDA_METHOD_cuDevicePrimaryCtxReset_v2:
        ath_cuda_captures_end(&served->session->captures, NULL);
        drop_streams(served->session, NULL,
                     ath_cuda_wire_device_primary_ctx_reset_v2_device(
                         ath_cuda_wire_call_device_primary_ctx_reset_v2(served->call)));
        break;
    case ATH_CUDA_METHOD_cuDevicePrimaryCtxRelease_v2:
        device = ath_cuda_wire_device_primary_ctx_release_v2_device(
            ath_cuda_wire_call_device_primary_ctx_release_v2(served->call));
        if (!is_primary_active(served->driver, device))
            drop_streams(served->session, NULL, device);
        break;
    default:
        break;
    }
}

/* What a call did to contexts: a new one is current in this thread alone, which is not wanted; one
 * that went away may have been current anywhere. */
static void after_contexts(struct ath_cuda_served *served, int method)
{
    bool is_made =
        method == ATH_CUDA_METHOD_cuCtxCreate_v2 || method == ATH_CUDA_METHOD_cuCtxCreate_v3;
    CUcontext made;
    if (is_made && !served->status && served->driver->cuCtxPopCurrent_v2 &&
        !served->driver->cuCtxPopCurrent_v2(&made))
        note(served->session, &served->session->ended, made, false);
    if (method == ATH_CUDA_METHOD_cuCtxDestroy_v2 && !served->status)
        note(served->session, &served->session->ended, destroyed(served), true);
    if (!ath_cuda_methods[method].forgets_all)
        return;
    served->session->epoch++;
    if (!served->status)
        after_end(served, method);
}

bool ath_cuda_begins_capture(int method)
{
    return method == ATH_CUDA_METHOD_cuStreamBeginCapture ||
           method == ATH_CUDA_METHOD_cuStreamBeginCapture_v2 ||
           method == ATH_CUDA_METHOD_cuStreamBeginCaptureToGraph;
}

bool ath_cuda_ends_capture(int method)
{
    return method == ATH_CUDA_METHOD_cuStreamEndCapture;
}

/* The stream of a call that captures, or ends with its stream; 0 for others. */
static uint64_t captured_stream(struct ath_cuda_wire_call call, int method)
{
    switch (method) {
    case ATH_CUDA_METHOD_cuStreamBeginCapture:
        return ath_cuda_wire_stream_begin_capture_stream(
            ath_cuda_wire_call_stream_begin_capture(call));
    case ATH_CUDA_METHOD_cuStreamBeginCapture_v2:
        return ath_cuda_wire_stream_begin_capture_v2_stream(
            ath_cuda_wire_call_stream_begin_capture_v2(call));
    case ATH_CUDA_METHOD_cuStreamBeginCaptureToGraph:
        return ath_cuda_wire_stream_begin_capture_to_graph_stream(
            ath_cuda_wire_call_stream_begin_capture_to_graph(call));
    case ATH_CUDA_METHOD_cuStreamEndCapture:
        return ath_cuda_wire_stream_end_capture_stream(ath_cuda_wire_call_stream_end_capture(call));
    case ATH_CUDA_METHOD_cuStreamDestroy_v2:
        return ath_cuda_wire_stream_destroy_v2_stream(ath_cuda_wire_call_stream_destroy_v2(call));
    default:
        return 0;
    }
}

/* What a call did to the captures. One that was spoilt ends as well, with an error of its own, and
 * one whose stream is destroyed has no end. */
static void after_capture(struct ath_cuda_served *served, int method)
{
    struct ath_cuda_captures *captures = &served->session->captures;
    uint64_t wire = captured_stream(served->call, method);
    uint32_t thread = ath_cuda_wire_call_thread(served->call);
    if (!wire)
        return;
    CUstream stream =
        (CUstream)(uintptr_t)ath_cuda_to_own(&served->side, ATH_CUDA_KIND_STREAM, wire);
    bool is_over = !served->status || served->status == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                   served->status == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (!ath_cuda_begins_capture(method)) {
        if (is_over)
            ath_cuda_capture_remove(captures, stream, thread);
    } else if (!served->status) {
        ath_cuda_capture_add(captures, stream, served->worker->context, thread);
    }
}

/* A failure that nobody waits for is told by the next call that waits for the GPU. */
static CUresult settle(struct ath_cuda_session *session, int method, bool is_asked,
                       bool is_blocking, CUresult status)
{
    if (!status && !(is_asked && is_blocking)) /* nearly all */
        return CUDA_SUCCESS;
    pthread_mutex_lock(&session->lock);
    if (!is_asked && status && !session->failed) {
        session->failed_status = status;
        session->failed = method < 0 ? "?" : ath_cuda_methods[method].name;
    }
    if (!is_asked && status && !session->deferred) {
        session->deferred = status;
    } else if (is_asked && is_blocking && !status) {
        status = session->deferred;
        session->deferred = CUDA_SUCCESS;
    }
    pthread_mutex_unlock(&session->lock);
    return status;
}

void *ath_cuda_answer_room(struct ath_cuda_served *served, uint64_t bytes)
{
    enum { LEAST = 32 * 1024 };
    struct ath_cuda_worker *worker = served->worker;
    if (!worker->may_lend || bytes < LEAST || bytes > ATH_CUDA_ROOM_MAX)
        return ath_cuda_room(&served->side, bytes, 1);
    if (bytes > worker->room_bytes) {
        free(worker->room);
        worker->room = malloc((size_t)bytes);
        worker->room_bytes = worker->room ? (size_t)bytes : 0;
    }
    if (!worker->room)
        served->side.status = CUDA_ERROR_OUT_OF_MEMORY;
    ath_wire_lend(served->answer.at.builder, LEAST);
    return worker->room;
}

int ath_cuda_serve(struct ath_cuda_worker *worker, const uint8_t *message, size_t length,
                   struct ath_wire_builder *answer)
{
    struct ath_cuda_served served = { .side = { .to_wire = to_wire, .to_own = to_own },
                                      .session = worker->session,
                                      .worker = worker,
                                      .driver = worker->session->driver,
                                      .status = CUDA_ERROR_NOT_SUPPORTED };
    int method = -1;

    if (ath_cuda_wire_call_open(message, length, &served.call))
        return -EBADMSG;
    served.answer = ath_cuda_wire_answer_start(answer);
    const struct ath_cuda_dispatch *dispatch = dispatch_of(served.call, &method);
    if (dispatch && driver_has(served.driver, dispatch->needs)) {
        CUresult current = become(&served);
        served.status = current;
        if (!current || has_no_context(current)) {
            served.status = CUDA_SUCCESS;
            dispatch->serve(&served);
        }
        if (served.status == CUDA_ERROR_INVALID_CONTEXT && current)
            served.status = current;
        if (served.status == CUDA_ERROR_INVALID_CONTEXT && served.context_status)
            served.status = served.context_status;
        after_contexts(&served, method);
        after_capture(&served, method);
        let_go_of_green(worker);
    }
    ath_cuda_side_free(&served.side);
    bool is_asked = ath_cuda_wire_call_is_asked(served.call);
    bool is_blocking = dispatch && ath_cuda_methods[method].is_blocking;
    CUresult status = settle(worker->session, method, is_asked, is_blocking, served.status);
    if (answer->status) { /* its results were too much */
        served.answer = ath_cuda_wire_answer_start(answer);
        status = CUDA_ERROR_OUT_OF_MEMORY;
    }
    ath_cuda_wire_answer_set_number(served.answer, ath_cuda_wire_call_number(served.call));
    ath_cuda_wire_answer_set_status(served.answer, (int32_t)status);
    return is_asked;
}
