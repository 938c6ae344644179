/* Turns a message into a call of the driver's function, and its results into the answer. Keeps what
 * the call did to contexts, captures and objects. */
#include "config.h"

#include "cuda/server/server.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "cuda/common/memory_token.h"
#include "cuda/server/call_rooms.h"
#include "cuda/server/code_image.h"
#include "cuda/server/current_context.h"
#include "cuda/server/handle_conversion.h"
#include "cuda/server/linker.h"
#include "cuda/server/region.h"
#include "cuda/server/regions.h"
#include "cuda/server/thread_stream.h"
#include "proto/cuda-wire.h"

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
        .uncounted = driver,
        .ungated = driver,
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .captures.lock = PTHREAD_MUTEX_INITIALIZER,
    };
    ath_cuda_object_table_init(&session->objects);
}

void ath_cuda_session_free(struct ath_cuda_session *session)
{
    ath_cuda_thread_streams_free(session);
    ath_cuda_noted_free(session);
    ath_cuda_capture_list_end_context(&session->captures, NULL);
    ath_cuda_shares_end(session);
    ath_cuda_regions_free(session);
    ath_cuda_linkers_free(session);
    ath_cuda_images_free(session);
    ath_cuda_object_table_free(&session->objects);
    pthread_mutex_destroy(&session->lock);
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

/* A context that has ended took its streams and captures with it. A reset device ends the captures
 * of all contexts: no program resets a device during captures that it wants to finish. */
static void after_end(struct ath_cuda_served *served, const struct ath_cuda_method_facts *facts,
                      uint64_t subject)
{
    struct ath_cuda_capture_list *captures = &served->session->captures;
    if (!ath_cuda_has_thread_streams(served->session) && !captures->count)
        return;
    if (facts->ends_context) {
        ath_cuda_thread_streams_drop(served->session, (CUcontext)(uintptr_t)subject, 0);
        ath_cuda_capture_list_end_context(captures, (CUcontext)(uintptr_t)subject);
    } else if (facts->resets_device) {
        ath_cuda_capture_list_end_context(captures, NULL);
        ath_cuda_thread_streams_drop(served->session, NULL, (CUdevice)subject);
    } else if (facts->releases_device && !is_primary_active(served->driver, (CUdevice)subject)) {
        ath_cuda_thread_streams_drop(served->session, NULL, (CUdevice)subject);
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
        ath_cuda_note_ended(served->session, made, false);
    if (!facts->forgets_all)
        return;
    uint64_t subject = ath_cuda_subject(served->call, (enum ath_cuda_method)method);
    if (facts->ends_context && !served->status)
        ath_cuda_note_ended(served->session, (CUcontext)(uintptr_t)subject, true);
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

/* Returns pinned memory for large data; NULL if there is none. */
static void *pinned_room(const struct ath_cuda_served *served, size_t bytes)
{
    struct ath_cuda_worker *worker = served->worker;
    ath_call_room_put(worker->pinned);
    worker->pinned = ath_call_room_take(bytes);
    if (!worker->pinned)
        return NULL;
    ath_call_room_pin(worker->pinned, served);
    return worker->pinned->memory;
}

void *ath_cuda_answer_room(struct ath_cuda_served *served, uint64_t bytes)
{
    enum { LEAST = 32 * 1024 };
    struct ath_cuda_worker *worker = served->worker;
    if (!worker->may_lend || bytes < LEAST || bytes > ATH_CUDA_ROOM_MAX)
        return ath_cuda_room(&served->side, bytes, 1);
    void *pinned = pinned_room(served, (size_t)bytes);
    if (pinned) {
        ath_wire_lend(served->answer.at.builder, LEAST);
        return pinned;
    }
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
    struct ath_cuda_served served = { .side = { .to_wire = ath_cuda_served_to_wire,
                                                .to_own = ath_cuda_served_to_own,
                                                .is_server = true },
                                      .session = worker->session,
                                      .worker = worker,
                                      .driver = worker->session->driver,
                                      .status = CUDA_ERROR_NOT_SUPPORTED };
    int method = -1;

    if (ath_cuda_wire_call_open(message, length, &served.call))
        return -EBADMSG;
    served.answer = ath_cuda_wire_answer_start(answer);
    const struct ath_cuda_dispatch *dispatch = dispatch_of(served.call, &method);
    uint64_t serial = 0;
    if (worker->refuses) {
        served.status = worker->refuses;
    } else if (dispatch && driver_has(served.driver, dispatch->needs)) {
        CUresult current = ath_cuda_become(&served);
        served.method = (enum ath_cuda_method)method;
        struct ath_cuda_region *held = hold_managed(&served, method);
        serial = ath_cuda_methods[method].ends_subject ? serial_of_subject(&served, method) : 0;
        served.status = current;
        if (!current || ath_cuda_has_no_context(current)) {
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
        ath_cuda_let_go_of_green(worker);
    }
    ath_cuda_side_free(&served.side);
    bool is_asked = ath_cuda_wire_call_is_asked(served.call);
    /* The program makes no call that overtakes: its thread for host functions does, and would
     * end. */
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
