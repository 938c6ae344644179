/* Events: marks that streams leave. */
#include "config.h"

#include "sim/event.h"

#include <stdlib.h>

#include "sim/capture.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/ipc.h"
#include "sim/pool.h"
#include "sim/stream.h"
#include "sim/work.h"

enum { FLAGS = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS };

static void forget_capture(struct sim_event *event)
{
    if (event->capture)
        sim_capture_drop(event->capture);
    event->capture = NULL;
    free(event->tips);
    event->tips = NULL;
}

void sim_event_end(struct sim_event *event)
{
    sim_object_forget(&event->object);
    forget_capture(event);
    sim_mark_drop(event->mark);
    sim_signal_drop(event->signal);
    free(event);
}

CUresult sim_event_of_signal(struct sim_context *context, struct sim_signal *signal, CUevent *out)
{
    struct sim_event *event = sim_object_new(SIM_EVENT, context, sizeof *event);
    if (!event) {
        sim_signal_drop(signal);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    event->flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;
    event->signal = signal;
    *out = (CUevent)event;
    return CUDA_SUCCESS;
}

CUresult sim_event_record(struct sim_event *event, struct sim_stream *stream, unsigned int flags)
{
    struct sim_mark *mark;
    if (stream->capture && flags != CU_EVENT_RECORD_EXTERNAL)
        return sim_capture_record(event, stream);
    if (stream->capture)
        return sim_capture_refuse(stream);
    if (event->signal)
        return sim_submit(stream, sim_signal_tell(event->signal), NULL);
    CUresult status =
        sim_submit(stream, sim_work_new(CU_GRAPH_NODE_TYPE_EMPTY, sim_run_nothing, NULL), &mark);
    if (status)
        return status;
    forget_capture(event);
    sim_mark_drop(event->mark);
    event->mark = sim_mark_ref(mark);
    return CUDA_SUCCESS;
}

/* For a node of a graph: records the event when the graph reaches it. */
static CUresult run_record(struct sim_work *work, struct sim_context *context)
{
    struct sim_mark *mark = calloc(1, sizeof *mark);
    (void)context;
    if (!mark)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *mark = (struct sim_mark){ .refs = 1, .is_done = true, .time_ns = sim_now_ns() };
    SIM_LOCKED;
    struct sim_event *event = sim_object_find(SIM_EVENT, work->event);
    if (event) {
        sim_mark_drop(event->mark);
        event->mark = sim_mark_ref(mark);
    }
    sim_mark_drop(mark);
    return CUDA_SUCCESS;
}

static CUresult run_wait(struct sim_work *work, struct sim_context *context)
{
    (void)context;
    SIM_LOCKED;
    struct sim_event *event = sim_object_find(SIM_EVENT, work->event);
    if (event)
        sim_mark_wait(event->mark);
    return CUDA_SUCCESS;
}

CUresult sim_event_work(CUevent handle, bool is_wait, struct sim_work **out)
{
    struct sim_event *event = sim_object_find(SIM_EVENT, handle);
    if (!event)
        return CUDA_ERROR_INVALID_VALUE;
    *out = is_wait ? sim_work_new(CU_GRAPH_NODE_TYPE_WAIT_EVENT, run_wait, NULL)
                   : sim_work_new(CU_GRAPH_NODE_TYPE_EVENT_RECORD, run_record, NULL);
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*out)->event = event;
    return CUDA_SUCCESS;
}

/* ---- the functions ---- */

CUresult cuEventCreate(CUevent *out, unsigned int flags)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    bool is_shared = flags & CU_EVENT_INTERPROCESS;
    if (!out || flags & ~(unsigned int)FLAGS || (is_shared && !(flags & CU_EVENT_DISABLE_TIMING)))
        return CUDA_ERROR_INVALID_VALUE;
    if (is_shared) {
        struct sim_signal *signal = sim_signal_new();
        return signal ? sim_event_of_signal(context, signal, out) : CUDA_ERROR_OUT_OF_MEMORY;
    }
    struct sim_event *event = sim_object_new(SIM_EVENT, context, sizeof *event);
    if (!event)
        return CUDA_ERROR_OUT_OF_MEMORY;
    event->flags = flags;
    *out = (CUevent)event;
    return CUDA_SUCCESS;
}

static CUresult find(CUevent handle, struct sim_event **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    *out = sim_object_find(SIM_EVENT, handle);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuEventDestroy_v2(CUevent handle)
{
    SIM_LOCKED;
    struct sim_event *event;
    CUresult status = find(handle, &event);
    if (!status)
        sim_event_end(event);
    return status;
}

CUresult cuEventRecordWithFlags(CUevent handle, CUstream stream_handle, unsigned int flags)
{
    SIM_LOCKED;
    struct sim_event *event;
    struct sim_stream *stream;
    CUresult status = find(handle, &event);
    if (!status)
        status = sim_enter_stream(stream_handle, &stream);
    if (status)
        return status;
    if (flags > CU_EVENT_RECORD_EXTERNAL)
        return CUDA_ERROR_INVALID_VALUE;
    if (sim_family(event->object.context) != sim_family(stream->object.context))
        return CUDA_ERROR_INVALID_HANDLE;
    return sim_event_record(event, stream, flags);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
    return cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT);
}

/* A query of an event that is only captured breaks the capture. */
static CUresult refuse_captured(struct sim_event *event)
{
    event->capture->is_valid = false;
    return CUDA_ERROR_CAPTURED_EVENT;
}

CUresult cuEventQuery(CUevent handle)
{
    SIM_LOCKED;
    struct sim_event *event;
    CUresult status = find(handle, &event);
    if (status)
        return status;
    if (event->capture)
        return refuse_captured(event);
    if (event->object.context->fault)
        return event->object.context->fault;
    if (event->signal)
        return sim_signal_is_done(event->signal) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    return !event->mark || event->mark->is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent handle)
{
    SIM_LOCKED;
    struct sim_event *event;
    CUresult status = find(handle, &event);
    if (status)
        return status;
    if (event->capture)
        return refuse_captured(event);
    struct sim_context *context = event->object.context;
    if (event->signal)
        sim_signal_wait(event->signal);
    else
        sim_mark_wait(event->mark);
    sim_pools_trim(context->device);
    return context->fault;
}

CUresult cuEventElapsedTime_v2(float *out_ms, CUevent from_handle, CUevent to_handle)
{
    SIM_LOCKED;
    struct sim_event *from, *to;
    CUresult status = find(from_handle, &from);
    if (!status)
        status = find(to_handle, &to);
    if (status)
        return status;
    if (!out_ms)
        return CUDA_ERROR_INVALID_VALUE;
    if ((from->flags | to->flags) & CU_EVENT_DISABLE_TIMING || !from->mark || !to->mark ||
        sim_family(from->object.context) != sim_family(to->object.context))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!from->mark->is_done || !to->mark->is_done)
        return CUDA_ERROR_NOT_READY;
    *out_ms = (float)((double)(to->mark->time_ns - from->mark->time_ns) / 1e6);
    return from->object.context->fault;
}

CUresult cuEventElapsedTime(float *out_ms, CUevent from, CUevent to)
{
    return cuEventElapsedTime_v2(out_ms, from, to);
}

/* A stream's wait. It holds the mark that the event had at the call. */
struct wait_work {
    struct sim_work work;
    struct sim_mark *mark;
};

static void end_wait(struct sim_work *work)
{
    sim_mark_drop(((struct wait_work *)work)->mark);
}

static CUresult run_mark(struct sim_work *work, struct sim_context *context)
{
    (void)context;
    SIM_LOCKED;
    sim_mark_wait(((struct wait_work *)work)->mark);
    return CUDA_SUCCESS;
}

struct sim_work *sim_wait_work(struct sim_mark *mark)
{
    struct wait_work *wait = calloc(1, sizeof *wait);
    if (!wait)
        return NULL;
    wait->work.refs = 1;
    wait->work.type = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    wait->work.run = run_mark;
    wait->work.end = end_wait;
    wait->mark = sim_mark_ref(mark);
    return &wait->work;
}

CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent handle, unsigned int flags)
{
    SIM_LOCKED;
    struct sim_event *event;
    struct sim_stream *stream;
    CUresult status = flags > CU_EVENT_WAIT_EXTERNAL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    if (!status)
        status = find(handle, &event);
    if (!status)
        status = sim_enter_stream(stream_handle, &stream);
    if (status)
        return status;
    if (event->capture)
        return sim_capture_wait(stream, event);
    if (stream->capture)
        return sim_capture_break(stream, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    if (event->signal)
        return sim_submit(stream, sim_signal_await(event->signal), NULL);
    if (!event->mark || event->mark->is_done)
        return CUDA_SUCCESS;
    return sim_submit(stream, sim_wait_work(event->mark), NULL);
}
