/* Works, their marks, and the threads that run them. */
#include "config.h"

#include "sim/work.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "sim/capture.h"
#include "sim/context.h"
#include "sim/gpu_time.h"
#include "sim/stream.h"

/* Submitted work: it begins when the work before it in its stream and its waits are done. */
struct sim_op {
    struct sim_op *next;
    struct sim_work *work;
    struct sim_mark *mark;
    size_t wait_count;
    struct sim_mark *waits[];
};

int64_t sim_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct sim_mark *sim_mark_ref(struct sim_mark *mark)
{
    if (mark)
        mark->refs++;
    return mark;
}

void sim_mark_drop(struct sim_mark *mark)
{
    if (mark && !--mark->refs)
        free(mark);
}

void sim_mark_wait(struct sim_mark *mark)
{
    if (!mark)
        return;
    sim_mark_ref(mark);
    while (!mark->is_done)
        sim_wait();
    sim_mark_drop(mark);
}

struct sim_work *sim_work_new(CUgraphNodeType type,
                              CUresult (*run)(struct sim_work *, struct sim_context *),
                              void (*end)(struct sim_work *))
{
    struct sim_work *work = calloc(1, sizeof *work);
    if (!work)
        return NULL;
    work->refs = 1;
    work->type = type;
    work->run = run;
    work->end = end;
    return work;
}

struct sim_work *sim_work_ref(struct sim_work *work)
{
    work->refs++;
    return work;
}

void sim_work_drop(struct sim_work *work)
{
    if (!work || --work->refs)
        return;
    if (work->end)
        work->end(work);
    free(work);
}

CUresult sim_run_nothing(struct sim_work *work, struct sim_context *context)
{
    (void)work;
    (void)context;
    return CUDA_SUCCESS;
}

/* ---- the thread of a stream ---- */

static void end_op(struct sim_op *op)
{
    for (size_t i = 0; i < op->wait_count; i++)
        sim_mark_drop(op->waits[i]);
    sim_work_drop(op->work);
    sim_mark_drop(op->mark);
    free(op);
}

/* Returns whether a work may wait for something other than the GPU. */
static bool waits(const struct sim_work *work)
{
    return work->type == CU_GRAPH_NODE_TYPE_HOST || work->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT ||
           work->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
}

/* Call with the lock, which is released while the work runs. */
static void do_op(struct sim_op *op, struct sim_context *context)
{
    CUresult status = CUDA_SUCCESS;
    for (size_t i = 0; i < op->wait_count; i++)
        while (!op->waits[i]->is_done) {
            sim_gpu_waits();
            sim_wait();
        }
    if (!context->fault || op->work->runs_after_fault) {
        sim_unlock();
        status = op->work->run(op->work, context);
        if (waits(op->work))
            sim_gpu_waits();
        sim_lock();
    }
    if (status)
        sim_context_fail(context, status);
    op->mark->time_ns = sim_now_ns();
    op->mark->is_done = true;
    end_op(op);
    sim_changed();
}

static void *serve(void *argument)
{
    struct sim_stream *stream = argument;
    struct sim_context *context = stream->object.context;
    SIM_LOCKED;
    while (stream->first || !stream->is_closing || stream->submitting) {
        struct sim_op *op = stream->first;
        if (!op) {
            sim_gpu_waits();
            sim_wait();
            continue;
        }
        stream->first = op->next;
        if (!stream->first)
            stream->last_link = &stream->first;
        do_op(op, context);
        stream->queued--;
    }
    sim_stream_unlink(stream);
    return NULL;
}

/* Blocks all signals, so that the program's handlers do not run in the worker. */
static bool start_worker(struct sim_stream *stream)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t thread;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    stream->has_worker = !pthread_create(&thread, &attributes, serve, stream);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return stream->has_worker;
}

/* ---- submitting ---- */

static bool is_waited_for(const struct sim_stream *stream, const struct sim_stream *other)
{
    if (other == stream || !other->last || other->last->is_done)
        return false;
    if (stream->flags & CU_STREAM_NON_BLOCKING || other->flags & CU_STREAM_NON_BLOCKING)
        return false;
    struct sim_stream *legacy = stream->object.context->legacy;
    return stream == legacy || other == legacy;
}

/* The streams whose work a new one may wait for. The streams of a green context are apart, except
 * that its null stream waits for the primary context's (seen on an H200, driver 580.159). */
static struct sim_stream *others_of(const struct sim_stream *stream)
{
    const struct sim_context *context = stream->object.context;
    if (!context->processors)
        return context->streams;
    return stream == context->legacy ? context->whole->legacy : NULL;
}

static bool is_before(const struct sim_stream *stream, const struct sim_stream *other)
{
    const struct sim_context *context = stream->object.context;
    return context->processors
               ? other == context->whole->legacy && other->last && !other->last->is_done
               : is_waited_for(stream, other);
}

/* The legacy default stream and the blocking streams of a context wait for each other. */
static struct sim_op *new_op(const struct sim_stream *stream, struct sim_work *work)
{
    size_t count = 0;
    for (struct sim_stream *at = others_of(stream); at; at = at->next)
        count += is_before(stream, at);
    struct sim_op *op = calloc(1, sizeof *op + count * sizeof *op->waits);
    struct sim_mark *mark = calloc(1, sizeof *mark);
    if (!op || !mark) {
        free(op);
        free(mark);
        return NULL;
    }
    mark->refs = 1;
    op->mark = mark;
    op->work = work;
    for (struct sim_stream *at = others_of(stream); at; at = at->next)
        if (is_before(stream, at))
            op->waits[op->wait_count++] = sim_mark_ref(at->last);
    return op;
}

/* The worker does not free a destroyed stream while a caller waits here (`submitting`). */
static CUresult wait_for_room(struct sim_stream *stream)
{
    stream->submitting++;
    while (stream->queued >= SIM_QUEUE_MAX)
        sim_wait();
    stream->submitting--;
    if (!stream->is_closing)
        return CUDA_SUCCESS;
    sim_changed();
    return CUDA_ERROR_INVALID_HANDLE;
}

static CUresult submit(struct sim_stream *stream, struct sim_work *work)
{
    CUresult status = stream == stream->object.context->legacy
                          ? sim_capture_legacy(stream->object.context)
                          : CUDA_SUCCESS;
    if (status)
        return status;
    if (!stream->has_worker && !start_worker(stream))
        return CUDA_ERROR_OUT_OF_MEMORY;
    status = wait_for_room(stream);
    if (status)
        return status;
    struct sim_op *op = new_op(stream, work);
    if (!op)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->queued++;
    *stream->last_link = op;
    stream->last_link = &op->next;
    sim_mark_drop(stream->last);
    stream->last = sim_mark_ref(op->mark);
    sim_changed();
    return CUDA_SUCCESS;
}

CUresult sim_submit(struct sim_stream *stream, struct sim_work *work, struct sim_mark **out_mark)
{
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (stream->capture)
        return sim_capture_add(stream, work);
    CUresult status = submit(stream, work);
    if (status)
        sim_work_drop(work);
    else if (out_mark)
        *out_mark = stream->last;
    return status;
}
