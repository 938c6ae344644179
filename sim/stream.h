/* Streams: queues of works, each with a worker thread while it has work. */
#pragma once
#include "sim/sim.h"

struct sim_capture;
struct sim_context;
struct sim_mark;
struct sim_nodes;
struct sim_op;
struct sim_work;

enum { SIM_QUEUE_MAX = 1024 /* works; further calls wait for room, as with a GPU */ };

struct sim_stream {
    struct sim_object object;
    struct sim_stream *next; /* of its context */
    unsigned int flags;
    int priority;
    unsigned long long id;
    uint64_t thread; /* with this default stream; 0: none */
    bool is_closing, has_worker;
    struct sim_op *first, **last_link; /* the queue */
    unsigned int queued, submitting;   /* its length; threads that wait for room */
    struct sim_mark *last;             /* of the newest work */
    struct sim_capture *capture;       /* NULL: none is under way */
    struct sim_nodes *tips;            /* dependencies of the capture's next node */
    CUstreamAttrValue attributes[CU_LAUNCH_ATTRIBUTE_MAX]; /* stored, without effect */
};

/* Finds the stream of a handle, also of 0, CU_STREAM_LEGACY and CU_STREAM_PER_THREAD. */
CUresult sim_stream_find(CUstream handle, struct sim_stream **out);
/* The same, but fails if the stream's context has a fault. */
CUresult sim_enter_stream(CUstream handle, struct sim_stream **out);
CUresult sim_stream_start(struct sim_context *context, unsigned int flags, int priority,
                          struct sim_stream **out);
void sim_stream_end(struct sim_stream *stream);
void sim_stream_unlink(struct sim_stream *stream); /* and frees it; it must have no work */
bool sim_stream_is_idle(const struct sim_stream *stream);
/* Waits for all submitted work. Returns 0, or the fault of the stream's context. */
CUresult sim_stream_drain(struct sim_stream *stream);
CUresult sim_context_drain(struct sim_context *context);

/* Replaces 0 by the calling thread's own default stream, as _ptsz and _ptds mean. */
static inline CUstream sim_own(CUstream stream)
{
    return stream ? stream : CU_STREAM_PER_THREAD;
}

CUresult sim_host_work(const CUDA_HOST_NODE_PARAMS *asked, struct sim_work **out);
