/* Streams, and waiting for them. */
#include "config.h"

#include "sim/stream.h"

#include <stdlib.h>
#include <time.h>

#include "sim/capture.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/pool.h"
#include "sim/range.h"
#include "sim/thread.h"
#include "sim/work.h"

enum { PRIORITY_GREATEST = -5 };

static unsigned long long last_id;

CUresult sim_stream_start(struct sim_context *context, unsigned int flags, int priority,
                          struct sim_stream **out)
{
    struct sim_stream *stream = sim_object_new(SIM_STREAM, context, sizeof *stream);
    if (!stream)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->flags = flags;
    stream->priority = priority > 0                   ? 0
                       : priority < PRIORITY_GREATEST ? PRIORITY_GREATEST
                                                      : priority;
    stream->id = ++last_id;
    stream->last_link = &stream->first;
    stream->next = context->streams;
    context->streams = stream;
    *out = stream;
    return CUDA_SUCCESS;
}

void sim_stream_unlink(struct sim_stream *stream)
{
    struct sim_stream **at = &stream->object.context->streams;
    while (*at != stream)
        at = &(*at)->next;
    *at = stream->next;
    sim_mark_drop(stream->last);
    free(stream);
    sim_changed();
}

/* A stream with unfinished work stays in its context; its worker ends it when the work is done. */
void sim_stream_end(struct sim_stream *stream)
{
    if (stream->is_closing)
        return;
    sim_object_forget(&stream->object);
    sim_capture_leave(stream);
    stream->is_closing = true;
    if (stream->has_worker)
        sim_changed();
    else
        sim_stream_unlink(stream);
}

/* ---- by handle ---- */

static CUresult find_own(struct sim_context *context, struct sim_stream **out)
{
    uint64_t thread = sim_thread()->id;
    struct sim_stream *stream = context->streams;
    while (stream && (stream->thread != thread || stream->is_closing))
        stream = stream->next;
    CUresult status =
        stream ? CUDA_SUCCESS : sim_stream_start(context, CU_STREAM_DEFAULT, 0, &stream);
    if (status)
        return status;
    stream->thread = thread;
    *out = stream;
    return CUDA_SUCCESS;
}

CUresult sim_stream_find(CUstream handle, struct sim_stream **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) {
        *out = sim_object_find(SIM_STREAM, handle);
        return *out && *out != (*out)->object.context->legacy && !(*out)->thread
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_HANDLE;
    }
    struct sim_context *context = sim_current();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!context->is_alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (handle == CU_STREAM_PER_THREAD && context->processors)
        return CUDA_ERROR_INVALID_HANDLE; /* as cuda.h has it, and driver 580 does */
    if (handle == CU_STREAM_PER_THREAD)
        return find_own(context, out);
    *out = context->legacy;
    return CUDA_SUCCESS;
}

CUresult sim_enter_stream(CUstream handle, struct sim_stream **out)
{
    CUresult status = sim_stream_find(handle, out);
    return status ? status : (*out)->object.context->fault;
}

/* ---- waiting ---- */

/* Waiting for the legacy stream includes the work of all streams that block it. */
CUresult sim_stream_drain(struct sim_stream *stream)
{
    struct sim_context *context = stream->object.context;
    struct sim_mark *mark = stream->last;
    if (stream == context->legacy && !context->fault) {
        CUresult status = sim_submit(
            stream, sim_work_new(CU_GRAPH_NODE_TYPE_EMPTY, sim_run_nothing, NULL), &mark);
        if (status)
            return status;
    }
    sim_mark_wait(mark);
    sim_pools_trim(context->device);
    return context->fault;
}

/* A stream may end during the wait, so the search starts again. */
static void drain_streams(const struct sim_context *context)
{
    for (struct sim_stream *at = context->streams; at;) {
        if (at->last && !at->last->is_done) {
            sim_mark_wait(at->last);
            at = context->streams;
        } else {
            at = at->next;
        }
    }
}

/* A primary context's green contexts, too. */
CUresult sim_context_drain(struct sim_context *context)
{
    drain_streams(context);
    for (struct sim_context *at = sim_contexts(); at; at = at->next)
        if (at->whole == context && at->is_alive)
            drain_streams(at);
    sim_pools_trim(context->device);
    return context->fault;
}

bool sim_stream_is_idle(const struct sim_stream *stream)
{
    const struct sim_context *context = stream->object.context;
    if (stream != context->legacy || context->processors)
        return !stream->last || stream->last->is_done;
    for (const struct sim_stream *at = context->streams; at; at = at->next)
        if (!(at->flags & CU_STREAM_NON_BLOCKING) && at->last && !at->last->is_done)
            return false;
    return true;
}

/* ---- the functions ---- */

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned int flags, int priority)
{
    SIM_LOCKED;
    struct sim_context *context;
    struct sim_stream *stream;
    CUresult status = sim_enter(&context);
    if (!status && (!out || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING))
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = sim_stream_start(context, flags, priority, &stream);
    if (!status)
        *out = (CUstream)stream;
    return status;
}

CUresult cuStreamCreate(CUstream *out, unsigned int flags)
{
    return cuStreamCreateWithPriority(out, flags, 0);
}

CUresult cuStreamDestroy_v2(CUstream handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = handle && handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD
                          ? sim_stream_find(handle, &stream)
                          : CUDA_ERROR_INVALID_HANDLE;
    if (status)
        return status;
    status = stream->object.context->fault;
    sim_stream_end(stream);
    return status;
}

/* Driver 580 forbids a wait for the legacy stream beside a capture, as it forbids to take
 * memory. */
CUresult cuStreamSynchronize(CUstream handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (!status && stream == stream->object.context->legacy)
        status = sim_capture_forbids();
    if (status)
        return status;
    return stream->capture ? sim_capture_refuse(stream) : sim_stream_drain(stream);
}

CUresult cuStreamQuery(CUstream handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (status)
        return status;
    if (stream->capture)
        return sim_capture_refuse(stream);
    return sim_stream_is_idle(stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamGetFlags(CUstream handle, unsigned int *flags)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_stream_find(handle, &stream);
    if (status)
        return status;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = stream->flags;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(CUstream handle, int *priority)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_stream_find(handle, &stream);
    if (status)
        return status;
    if (!priority)
        return CUDA_ERROR_INVALID_VALUE;
    *priority = stream->priority;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream handle, unsigned long long *id)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_stream_find(handle, &stream);
    if (status)
        return status;
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    *id = stream->id;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext *out)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_stream_find(handle, &stream);
    if (status)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUcontext)stream->object.context;
    return CUDA_SUCCESS;
}

/* For a green context's stream, returns the primary context and the green context (cuda.h). */
CUresult cuStreamGetCtx_v2(CUstream handle, CUcontext *out, CUgreenCtx *out_green)
{
    CUresult status = cuStreamGetCtx(handle, out);
    if (status)
        return status;
    SIM_LOCKED;
    const struct sim_context *context = (struct sim_context *)*out;
    bool is_green = context->processors;
    if (out_green)
        *out_green = is_green ? (CUgreenCtx)context : NULL;
    if (is_green)
        *out = (CUcontext)context->whole;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice *device)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_stream_find(handle, &stream);
    if (status)
        return status;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    *device = stream->object.context->device;
    return CUDA_SUCCESS;
}

/* ---- host functions ---- */

static CUresult call_host(struct sim_work *work, struct sim_context *context)
{
    struct sim_thread *thread = sim_thread();
    struct sim_host_call *call = &work->host;
    sim_lock();
    CUresult fault = context->fault;
    sim_unlock();
    thread->is_in_callback = true;
    if (call->callback)
        call->callback(call->stream, fault, call->data);
    else
        call->function(call->data);
    thread->is_in_callback = false;
    return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (status)
        return status;
    if (!function)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_work *work = sim_work_new(CU_GRAPH_NODE_TYPE_HOST, call_host, NULL);
    if (work)
        work->host = (struct sim_host_call){ .function = function, .data = data };
    return sim_submit(stream, work, NULL);
}

CUresult cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void *data,
                             unsigned int flags)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (status)
        return status;
    if (!callback || flags)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture)
        return sim_capture_refuse(stream);
    struct sim_work *work = sim_work_new(CU_GRAPH_NODE_TYPE_HOST, call_host, NULL);
    if (work) {
        work->runs_after_fault = true; /* and receives the fault */
        work->host = (struct sim_host_call){ .callback = callback, .stream = handle, .data = data };
    }
    return sim_submit(stream, work, NULL);
}

CUresult sim_host_work(const CUDA_HOST_NODE_PARAMS *asked, struct sim_work **out)
{
    if (!asked || !asked->fn)
        return CUDA_ERROR_INVALID_VALUE;
    *out = sim_work_new(CU_GRAPH_NODE_TYPE_HOST, call_host, NULL);
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*out)->host = (struct sim_host_call){ .function = asked->fn, .data = asked->userData };
    return CUDA_SUCCESS;
}

/* ---- waiting for, and writing, a value in memory ---- */

enum { POLL_NS = 20000 };

static bool holds(const struct sim_value_op *op, uint64_t seen)
{
    bool is_small = op->bytes == 4;
    uint64_t wanted = is_small ? (uint32_t)op->value : op->value;
    switch (op->flags & 3) {
    case CU_STREAM_WAIT_VALUE_GEQ:
        return is_small ? (int32_t)((uint32_t)seen - (uint32_t)wanted) >= 0
                        : (int64_t)(seen - wanted) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ:
        return seen == wanted;
    case CU_STREAM_WAIT_VALUE_AND:
        return seen & wanted;
    default: /* CU_STREAM_WAIT_VALUE_NOR */
        return (~(seen | wanted) & (is_small ? UINT32_MAX : UINT64_MAX)) != 0;
    }
}

static uint64_t load(const unsigned char *at, unsigned int bytes)
{
    return bytes == 4 ? __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE)
                      : __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

static CUresult run_value(struct sim_work *work, struct sim_context *context)
{
    const struct sim_value_op *op = &work->value;
    size_t reach;
    (void)context;
    for (;;) {
        unsigned char *at = sim_reach(op->address, !op->is_wait, &reach);
        if (!at || reach < op->bytes)
            return CUDA_ERROR_ILLEGAL_ADDRESS;
        if (op->is_wait && holds(op, load(at, op->bytes)))
            return CUDA_SUCCESS;
        if (!op->is_wait && op->bytes == 4)
            __atomic_store_n((uint32_t *)(void *)at, (uint32_t)op->value, __ATOMIC_RELEASE);
        else if (!op->is_wait)
            __atomic_store_n((uint64_t *)(void *)at, op->value, __ATOMIC_RELEASE);
        if (!op->is_wait)
            return CUDA_SUCCESS;
        nanosleep(&(struct timespec){ .tv_nsec = POLL_NS }, NULL);
    }
}

static CUresult submit_value(CUstream handle, struct sim_value_op op)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (status)
        return status;
    if (op.address % op.bytes || !sim_is_known(op.address, op.bytes) ||
        op.flags & ~(op.is_wait ? 3u | CU_STREAM_WAIT_VALUE_FLUSH
                                : (unsigned int)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER))
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_work *work = sim_work_new(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, run_value, NULL);
    if (work)
        work->value = op;
    return sim_submit(stream, work, NULL);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                unsigned int flags)
{
    return submit_value(stream, (struct sim_value_op){ address, value, 4, flags, true });
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
                                unsigned int flags)
{
    return submit_value(stream, (struct sim_value_op){ address, value, 8, flags, true });
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                 unsigned int flags)
{
    return submit_value(stream, (struct sim_value_op){ address, value, 4, flags, false });
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
                                 unsigned int flags)
{
    return submit_value(stream, (struct sim_value_op){ address, value, 8, flags, false });
}
