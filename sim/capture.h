/* Captures: calls to a stream that become nodes of a graph. */
#pragma once
#include "sim/sim.h"

struct sim_context;
struct sim_event;
struct sim_graph;
struct sim_stream;
struct sim_work;

struct sim_capture {
    struct sim_capture *next; /* of those under way */
    unsigned int refs;
    unsigned long long id;
    CUstreamCaptureMode mode;
    uint64_t thread;
    bool is_valid;
    struct sim_graph *graph;
    bool is_graph_borrowed;    /* cuStreamBeginCaptureToGraph */
    size_t first;              /* number of its first node in the graph */
    struct sim_stream *origin; /* NULL after its end */
};

/* Calls to a stream that captures. */
CUresult sim_capture_add(struct sim_stream *stream, struct sim_work *work);
CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event);
CUresult sim_capture_record(struct sim_event *event, struct sim_stream *stream);
/* Breaks the capture and returns why. */
CUresult sim_capture_break(struct sim_stream *stream, CUresult why);
/* Breaks the capture because a call cannot be captured. */
static inline CUresult sim_capture_refuse(struct sim_stream *stream)
{
    return sim_capture_break(stream, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}
/* Returns 0, or the error if a capture of this thread (or a global one of any thread) forbids the
 * call. */
CUresult sim_capture_forbids(void);
/* The same as sim_enter() for a call that a capture forbids. */
CUresult sim_enter_unless_captured(struct sim_context **out);

/* Returns an error if a stream of the context captures: waiting would spoil the capture. */
CUresult sim_capture_forbids_waiting(const struct sim_context *context);
/* Returns 0 if the legacy stream may be used, or CUDA_ERROR_STREAM_CAPTURE_IMPLICIT. */
CUresult sim_capture_legacy(struct sim_context *context);
void sim_capture_drop(struct sim_capture *capture);
void sim_capture_leave(struct sim_stream *stream); /* the stream is destroyed */
