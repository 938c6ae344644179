/*
 * Turns a message into a call of the driver's function, and its results into the answer.
 *
 * In the driver, the default stream per thread (CU_STREAM_PER_THREAD) belongs to the calling
 * thread. Here it belongs to the client's thread: it is made when the thread first uses it, one for
 * each context. It is an ordinary stream, which synchronizes with the legacy default stream as
 * CUDA's does.
 */
#include "config.h"

#include "cuda/server/server.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "cuda/common/memory_token.h"
#include "cuda/common/promise.h"
#include "cuda/server/region.h"
#include "cuda/server/regions.h"

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
    pthread_mutex_t held; /* for a green context: held by the worker to which it is current */
};

void ath_cuda_driver_load(void *library, struct ath_cuda_driver *out)
{
    void **functions = (void **)out; /* pointers only, in the order of the names */
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
    ath_cuda_object_table_init(&session->objects);
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
    ath_cuda_capture_list_end_context(&session->captures, NULL);
    ath_cuda_shares_end(session);
    ath_cuda_regions_free(session);
    ath_cuda_images_free(session);
    ath_cuda_object_table_free(&session->objects);
    pthread_mutex_destroy(&session->lock);
}

/* ---- handles ---- */

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

/* Forgets the streams of a context that ended: they ended with it. */
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

/* Checks that a handle names an object that the client has received: the driver reads through any
 * handle. Notes the objects that a result may belong to. Returns the driver's handle. */
static uint64_t check_object(struct ath_cuda_served *served, struct ath_cuda_object_name name)
{
    bool is_default_stream =
        name.kind == ATH_CUDA_KIND_STREAM && name.handle <= (uintptr_t)CU_STREAM_PER_THREAD;
    uint64_t own = name.handle;
    if (!name.handle || is_default_stream)
        return own;
    if (!ath_cuda_object_serial(&served->session->objects, name, &own))
        served->side.status = ath_cuda_wrong_handle(name.kind);
    name.handle = own;
    if (!served->first.handle)
        served->first = name;
    if (name.kind == ATH_CUDA_KIND_GRAPH)
        served->graph = name;
    return own;
}

/* A program cannot destroy the default stream of its thread, which would be used again. */
static uint64_t own_stream_of_thread(struct ath_cuda_served *served)
{
    if (ath_cuda_methods[served->method].ends_subject != ATH_CUDA_KIND_STREAM)
        return (uintptr_t)stream_of_thread(served);
    served->side.status = CUDA_ERROR_INVALID_HANDLE;
    return 0;
}

static uint64_t to_own(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t wire)
{
    struct ath_cuda_served *served = (struct ath_cuda_served *)side;
    if (kind == ATH_CUDA_KIND_STREAM && wire == (uintptr_t)CU_STREAM_PER_THREAD)
        return own_stream_of_thread(served);
    if (kind == ATH_CUDA_KIND_HOST || kind == ATH_CUDA_KIND_ADDRESS)
        ath_cuda_region_open_at(served->session, wire);
    if (kind == ATH_CUDA_KIND_HOST && wire) {
        void *here = ath_cuda_region_at(served->session, wire, 1, false);
        if (!here)
            side->status = CUDA_ERROR_INVALID_VALUE; /* it would be this process's own */
        return (uintptr_t)here;
    }
    if (ath_cuda_is_object(kind))
        return check_object(served, (struct ath_cuda_object_name){ kind, wire });
    return wire;
}

/* Whether objects of a kind end with the context in which they were made. */
static bool is_of_context(enum ath_cuda_kind kind, const struct ath_cuda_method_facts *facts)
{
    switch (kind) {
    case ATH_CUDA_KIND_ARRAY:
    case ATH_CUDA_KIND_EVENT:
    case ATH_CUDA_KIND_MIPMAPPED_ARRAY:
    case ATH_CUDA_KIND_MODULE:
    case ATH_CUDA_KIND_STREAM:
        return facts->makes && !facts->in_green;
    default:
        return false;
    }
}

/* Returns the object that a result ends with. */
static struct ath_cuda_object_name parent_of(const struct ath_cuda_served *served,
                                             enum ath_cuda_kind kind)
{
    if (ath_cuda_object_ends_with(kind, served->first.kind))
        return served->first;
    if (ath_cuda_object_ends_with(kind, served->graph.kind))
        return served->graph;
    return (struct ath_cuda_object_name){ ATH_CUDA_KIND_CONTEXT,
                                          is_of_context(kind, &ath_cuda_methods[served->method])
                                              ? (uintptr_t)served->worker->context
                                              : 0 };
}

/* Returns the handle by which the client has a library, module, kernel or function: what the call
 * promises, or an earlier call promised. */
static uint64_t promised_of(const struct ath_cuda_served *served, struct ath_cuda_object_name name)
{
    switch (name.kind) {
    case ATH_CUDA_KIND_FUNCTION:
        return ath_cuda_object_promise(&served->session->objects, name,
                                       ath_cuda_promise_function(served->promised));
    case ATH_CUDA_KIND_KERNEL:
    case ATH_CUDA_KIND_LIBRARY:
    case ATH_CUDA_KIND_MODULE:
        return ath_cuda_object_promise(&served->session->objects, name, served->promised);
    default:
        return name.handle;
    }
}

static uint64_t to_wire(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t own)
{
    const struct ath_cuda_served *served = (const struct ath_cuda_served *)side;
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[served->method];
    struct ath_cuda_object_table *objects = &served->session->objects;
    const struct ath_cuda_object_name name = { kind, own };
    if (!ath_cuda_is_object(kind))
        return own;
    ath_cuda_object_note(objects, name, parent_of(served, kind), facts->makes);
    if (facts->retains_device)
        ath_cuda_object_note_primary(objects, own,
                                     (int)ath_cuda_subject(served->call, served->method));
    return own ? promised_of(served, name) : own;
}

/* ---- the state of a thread ---- */

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

static void let_go_of_green(struct ath_cuda_worker *worker)
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

/* Gives this thread the context and the capture mode of the client's thread. */
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

/* Returns whether a status says that the thread's context has ended. Calls that need no context
 * work all the same, as with CUDA, and the others say so. */
static bool has_no_context(CUresult status)
{
    return status == CUDA_ERROR_CONTEXT_IS_DESTROYED || status == CUDA_ERROR_INVALID_CONTEXT;
}

/* ---- a call ---- */

/* Returns the dispatch of a call's method, or NULL if no method of the wire has this number. */
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

/* A context that has ended took its streams and captures with it. A reset device ends the captures
 * of all contexts: no program resets a device during captures that it wants to finish. */
static void after_end(struct ath_cuda_served *served, const struct ath_cuda_method_facts *facts,
                      uint64_t subject)
{
    struct ath_cuda_capture_list *captures = &served->session->captures;
    if (!has_streams(served->session) && !captures->count)
        return;
    if (facts->ends_context) {
        drop_streams(served->session, (CUcontext)(uintptr_t)subject, 0);
        ath_cuda_capture_list_end_context(captures, (CUcontext)(uintptr_t)subject);
    } else if (facts->resets_device) {
        ath_cuda_capture_list_end_context(captures, NULL);
        drop_streams(served->session, NULL, (CUdevice)subject);
    } else if (facts->releases_device && !is_primary_active(served->driver, (CUdevice)subject)) {
        drop_streams(served->session, NULL, (CUdevice)subject);
    }
}

/* Takes the managed memory of the context that a call may end, before it ends. */
static struct ath_cuda_region *hold_managed(const struct ath_cuda_served *served, int method)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[method];
    if (!facts->forgets_all)
        return NULL;
    uint64_t subject = ath_cuda_subject(served->call, (enum ath_cuda_method)method);
    if (facts->ends_context)
        return ath_cuda_managed_hold(served->session, (CUcontext)(uintptr_t)subject, 0);
    return facts->resets_device || facts->releases_device
               ? ath_cuda_managed_hold(served->session, NULL, (CUdevice)subject)
               : NULL;
}

/* A call that fails may have ended the context all the same, after a fault of the GPU. The memory
 * is gone in any case if the driver does not know it any more. */
static bool is_over(const struct ath_cuda_served *served, int method, CUdeviceptr address)
{
    const struct ath_cuda_driver *driver = served->driver;
    CUmemorytype type;
    if (served->status)
        return !driver->cuPointerGetAttribute ||
               driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address);
    return !ath_cuda_methods[method].releases_device ||
           !is_primary_active(
               driver, (CUdevice)ath_cuda_subject(served->call, (enum ath_cuda_method)method));
}

/* Notes what a call did to contexts. A new context is current in this thread alone, where no other
 * call wants it; a context that ended may have been current in any thread. */
static void after_contexts(struct ath_cuda_served *served, int method)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[method];
    CUcontext made;
    if (facts->leaves_current && !served->status && served->driver->cuCtxPopCurrent_v2 &&
        !served->driver->cuCtxPopCurrent_v2(&made))
        note(served->session, &served->session->ended, made, false);
    if (!facts->forgets_all)
        return;
    uint64_t subject = ath_cuda_subject(served->call, (enum ath_cuda_method)method);
    if (facts->ends_context && !served->status)
        note(served->session, &served->session->ended, (CUcontext)(uintptr_t)subject, true);
    served->session->epoch++;
    if (!served->status)
        after_end(served, facts, subject);
}

/* Notes what a call did to the captures. A spoilt capture ends as well, with an error of its own,
 * and a capture whose stream is destroyed has no end. */
static void after_capture(struct ath_cuda_served *served, int method)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[method];
    struct ath_cuda_capture_list *captures = &served->session->captures;
    if (!facts->begins_capture && !facts->ends_capture &&
        facts->ends_subject != ATH_CUDA_KIND_STREAM)
        return;
    uint64_t wire = ath_cuda_subject(served->call, (enum ath_cuda_method)method);
    uint32_t thread = ath_cuda_wire_call_thread(served->call);
    if (!wire)
        return;
    CUstream stream =
        (CUstream)(uintptr_t)ath_cuda_to_own(&served->side, ATH_CUDA_KIND_STREAM, wire);
    bool is_over = !served->status || served->status == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                   served->status == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (!facts->begins_capture) {
        if (is_over)
            ath_cuda_capture_list_remove(captures, stream, thread);
    } else if (!served->status) {
        ath_cuda_capture_list_add(captures, stream, served->worker->context, thread);
    }
}

/* Removes the objects that a call ended. `serial` is the one that the call's object had before the
 * call: another thread may have made an object of the same handle already. */
static void after_objects(struct ath_cuda_served *served, int method, uint64_t serial)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[method];
    struct ath_cuda_object_table *objects = &served->session->objects;
    if (served->status || !objects->map.buckets)
        return;
    uint64_t subject = ath_cuda_subject(served->call, (enum ath_cuda_method)method);
    if (serial)
        ath_cuda_object_end(objects, (struct ath_cuda_object_name){ facts->ends_subject, subject },
                            serial);
    else if (facts->resets_device ||
             (facts->releases_device && !is_primary_active(served->driver, (CUdevice)subject)))
        ath_cuda_object_end_primary(objects, (CUdevice)subject);
}

/* Returns the serial number of the object that a call ends, or 0. */
static uint64_t serial_of_subject(const struct ath_cuda_served *served, int method)
{
    const struct ath_cuda_object_name name = { ath_cuda_methods[method].ends_subject,
                                               ath_cuda_subject(served->call,
                                                                (enum ath_cuda_method)method) };
    return ath_cuda_object_serial(&served->session->objects, name, NULL);
}

/* A failure of a call without an answer is reported by the next call that waits for the GPU, also
 * if that call fails for the same reason: a copy of pinned memory is such a pair. */
static CUresult settle(struct ath_cuda_session *session, int method, bool is_asked, bool waits,
                       CUresult status)
{
    if (!status && !(is_asked && waits)) /* nearly all */
        return CUDA_SUCCESS;
    pthread_mutex_lock(&session->lock);
    if (!is_asked && status && !session->failed) {
        session->failed_status = status;
        session->failed = method < 0 ? "?" : ath_cuda_methods[method].name;
    }
    if (!is_asked && status && !session->deferred) {
        session->deferred = status;
    } else if (is_asked && waits && (!status || status == session->deferred)) {
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
    struct ath_cuda_served served = {
        .side = { .to_wire = to_wire, .to_own = to_own, .is_server = true },
        .session = worker->session,
        .worker = worker,
        .driver = worker->session->driver,
        .status = CUDA_ERROR_NOT_SUPPORTED
    };
    int method = -1;

    if (ath_cuda_wire_call_open(message, length, &served.call))
        return -EBADMSG;
    served.answer = ath_cuda_wire_answer_start(answer);
    const struct ath_cuda_dispatch *dispatch = dispatch_of(served.call, &method);
    uint64_t serial = 0;
    if (worker->refuses) {
        served.status = worker->refuses;
    } else if (dispatch && driver_has(served.driver, dispatch->needs)) {
        CUresult current = become(&served);
        served.method = (enum ath_cuda_method)method;
        struct ath_cuda_region *held = hold_managed(&served, method);
        serial = ath_cuda_methods[method].ends_subject ? serial_of_subject(&served, method) : 0;
        served.status = current;
        if (!current || has_no_context(current)) {
            served.status = CUDA_SUCCESS;
            dispatch->serve(&served);
        }
        if (served.status == CUDA_ERROR_INVALID_CONTEXT && current)
            served.status = current;
        if (served.status == CUDA_ERROR_INVALID_CONTEXT && served.context_status)
            served.status = served.context_status;
        if (held)
            ath_cuda_managed_settle(worker->session, held, is_over(&served, method, held->address));
        after_contexts(&served, method);
        after_capture(&served, method);
        after_objects(&served, method, serial);
        let_go_of_green(worker);
    }
    ath_cuda_side_free(&served.side);
    bool is_asked = ath_cuda_wire_call_is_asked(served.call);
    /* The program makes no call that overtakes: its thread for host functions does, and would end.
     */
    bool waits = dispatch && ath_cuda_methods[method].waits && !ath_cuda_methods[method].overtakes;
    CUresult status = settle(worker->session, method, is_asked, waits, served.status);
    if (answer->status) { /* its results were too much */
        served.answer = ath_cuda_wire_answer_start(answer);
        status = CUDA_ERROR_OUT_OF_MEMORY;
    }
    ath_cuda_wire_answer_set_number(served.answer, ath_cuda_wire_call_number(served.call));
    ath_cuda_wire_answer_set_status(served.answer, (int32_t)status);
    return is_asked;
}
