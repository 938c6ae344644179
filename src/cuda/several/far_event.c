/* Streams that wait for an event of another server. */
#include "config.h"

#include <stdlib.h>

#include "cuda/several/stream_gate.h"
#include "cuda/several/waiting_threads.h"
#include "proto/cuda-client.h"

struct event_job {
    struct ath_several_job job;
    CUcontext context;
    CUstream stream; /* a stream at the event's server, which waits for the event */
    struct ath_several_gate gate;
    struct ath_several *near; /* the server whose stream waits for the other stream */
};

static void run_event(struct ath_several_job *base)
{
    struct event_job *job = (struct event_job *)base;
    struct ath_several *at;
    CUresult status = ath_several_enter_in(job->context, &at);
    if (!status)
        status = at->calls.cuStreamSynchronize(job->stream);
    if (status)
        ath_several_job_failed(job->near, status);
    ath_several_gate_open(&job->gate);
    ath_several_return_stream(job->context, job->stream);
    ath_several_job_done(base);
}

/* CUDA waits for the event's state at the time of the call. So a stream of our own at the event's
 * server waits for it at once, and a thread waits for that stream. */
static CUresult await_there(struct event_job *job, CUevent event)
{
    struct ath_several *there;
    CUresult status = ath_several_enter(ath_several_of_handle((uintptr_t)event), &there);
    job->context = status ? NULL : there->context;
    if (!status && !job->context)
        status = CUDA_ERROR_INVALID_HANDLE;
    if (!status)
        status = ath_several_take_stream(there, job->context, &job->stream);
    if (status)
        return status;
    status = there->calls.cuStreamWaitEvent(job->stream, event, 0);
    if (status)
        ath_several_return_stream(job->context, job->stream);
    return status;
}

static CUresult wait_far(struct ath_several *near, CUstream stream, CUevent event)
{
    struct ath_several_gate gate;
    struct event_job *job = calloc(1, sizeof *job);
    if (!job || ath_several_threads_start()) {
        free(job);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    job->job.run = run_event;
    CUresult status = await_there(job, event);
    if (status) {
        free(job);
        return status;
    }
    status = ath_several_enter(near->self.index, &near);
    if (!status)
        status = ath_several_gate_take(near, stream, &gate);
    if (status) {
        ath_several_return_stream(job->context, job->stream);
        free(job);
        return status;
    }
    job->gate = gate;
    job->near = near;
    ath_several_job_start(&job->job);
    if (!ath_several_job_is_done_soon(&job->job))
        return ath_several_gate_close(near, stream, &gate);
    free(job);
    return CUDA_SUCCESS;
}

CUresult ath_cuda_do_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    struct ath_several *near;
    CUresult status = ath_several_enter(ath_several_of_stream(stream), &near);
    if (status || !event || ath_instance_of((uintptr_t)event) == near->self.index)
        return status ? status : near->calls.cuStreamWaitEvent(stream, event, flags);
    if (ath_several_captures(near, stream)) {
        ath_several_refuse("a captured wait", "the event is another server's");
        return ath_several_spoil_capture(near, stream);
    }
    return wait_far(near, stream, event);
}
