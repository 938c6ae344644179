/* Captures streams: their calls become nodes of a graph. */
#include "config.h"

#include "sim/capture.h"

#include <stdlib.h>
#include <string.h>

#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/event.h"
#include "sim/graph.h"
#include "sim/stream.h"
#include "sim/thread.h"
#include "sim/work.h"

static struct sim_capture *captures; /* under way */
static unsigned long long last_id;

static struct sim_nodes *make_nodes(size_t count, struct sim_node *const *items)
{
    struct sim_nodes *nodes = malloc(sizeof *nodes + (count + 1) * sizeof *nodes->items);
    if (!nodes)
        return NULL;
    nodes->count = count;
    if (count)
        memcpy(nodes->items, items, count * sizeof *items);
    return nodes;
}

static bool has_node(const struct sim_nodes *nodes, const struct sim_node *node)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (nodes->items[i] == node)
            return true;
    return false;
}

/* Returns the nodes of both lists, each once. */
static struct sim_nodes *merge_nodes(const struct sim_nodes *a, struct sim_node *const *items,
                                     size_t count)
{
    struct sim_nodes *merged =
        malloc(sizeof *merged + (a->count + count + 1) * sizeof *merged->items);
    if (!merged)
        return NULL;
    merged->count = a->count;
    memcpy(merged->items, a->items, a->count * sizeof *a->items);
    for (size_t i = 0; i < count; i++)
        if (!has_node(merged, items[i]))
            merged->items[merged->count++] = items[i];
    return merged;
}

void sim_capture_drop(struct sim_capture *capture)
{
    if (!--capture->refs)
        free(capture);
}

static void leave(struct sim_stream *stream)
{
    struct sim_capture *capture = stream->capture;
    free(stream->tips);
    stream->tips = NULL;
    stream->capture = NULL;
    sim_capture_drop(capture);
}

static CUresult join(struct sim_stream *stream, struct sim_capture *capture,
                     struct sim_node *const *tips, size_t count)
{
    stream->tips = make_nodes(count, tips);
    if (!stream->tips)
        return CUDA_ERROR_OUT_OF_MEMORY;
    stream->capture = capture;
    capture->refs++;
    return CUDA_SUCCESS;
}

/* Removes all streams from a capture, which is no longer under way. */
static void end(struct sim_capture *capture)
{
    struct sim_capture **at = &captures;
    capture->refs++;
    while (*at != capture)
        at = &(*at)->next;
    *at = capture->next;
    for (struct sim_context *context = sim_contexts(); context; context = context->next)
        for (struct sim_stream *stream = context->streams; stream; stream = stream->next)
            if (stream->capture == capture)
                leave(stream);
    capture->origin = NULL;
    capture->graph->is_held = false;
    sim_capture_drop(capture);
}

CUresult sim_capture_break(struct sim_stream *stream, CUresult why)
{
    stream->capture->is_valid = false;
    return why;
}

/* Called for a stream that is destroyed. A capture cannot end without the stream that began it, so
 * it is given up. */
void sim_capture_leave(struct sim_stream *stream)
{
    struct sim_capture *capture = stream->capture;
    if (!capture)
        return;
    capture->is_valid = false;
    if (capture->origin != stream) {
        leave(stream);
        return;
    }
    struct sim_graph *graph = capture->graph;
    bool is_own = !capture->is_graph_borrowed;
    end(capture);
    if (is_own)
        sim_graph_end(graph);
}

/* ---- capturing calls ---- */

CUresult sim_capture_add(struct sim_stream *stream, struct sim_work *work)
{
    struct sim_capture *capture = stream->capture;
    struct sim_node *node;
    if (!capture->is_valid) {
        sim_work_drop(work);
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    }
    CUresult status =
        sim_node_add(capture->graph, stream->tips->items, stream->tips->count, work, &node);
    if (status)
        return sim_capture_break(stream, status);
    struct sim_nodes *tips = make_nodes(1, &node);
    if (!tips)
        return sim_capture_break(stream, CUDA_ERROR_OUT_OF_MEMORY);
    free(stream->tips);
    stream->tips = tips;
    return CUDA_SUCCESS;
}

CUresult sim_capture_record(struct sim_event *event, struct sim_stream *stream)
{
    if (!stream->capture->is_valid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    struct sim_nodes *tips = make_nodes(stream->tips->count, stream->tips->items);
    if (!tips)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (event->capture)
        sim_capture_drop(event->capture);
    free(event->tips);
    event->tips = tips;
    event->capture = stream->capture;
    event->capture->refs++;
    return CUDA_SUCCESS;
}

/* A stream that waits for an event of another stream's capture joins that capture. */
CUresult sim_capture_wait(struct sim_stream *stream, struct sim_event *event)
{
    struct sim_capture *capture = event->capture;
    if (!capture->origin)
        return CUDA_ERROR_INVALID_VALUE; /* the capture has ended */
    if (!capture->is_valid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (stream == stream->object.context->legacy) {
        capture->is_valid = false;
        return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    if (!stream->capture)
        return join(stream, capture, event->tips->items, event->tips->count);
    if (stream->capture != capture) {
        capture->is_valid = false;
        return sim_capture_break(stream, CUDA_ERROR_STREAM_CAPTURE_MERGE);
    }
    struct sim_nodes *merged = merge_nodes(stream->tips, event->tips->items, event->tips->count);
    if (!merged)
        return CUDA_ERROR_OUT_OF_MEMORY;
    free(stream->tips);
    stream->tips = merged;
    return CUDA_SUCCESS;
}

/* ---- calls that a capture forbids ---- */

CUresult sim_capture_forbids(void)
{
    const struct sim_thread *thread = sim_thread();
    if (thread->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    for (struct sim_capture *at = captures; at; at = at->next) {
        bool is_own = at->thread == thread->id && at->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
        bool is_global = at->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                         thread->capture_mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        if (is_own || is_global) {
            at->is_valid = false;
            return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
        }
    }
    return CUDA_SUCCESS;
}

CUresult sim_enter_unless_captured(struct sim_context **out)
{
    CUresult status = sim_enter(out);
    return status ? status : sim_capture_forbids();
}

/* "It is invalid to synchronize a broader handle that encompasses active stream capture, such as a
 * device or context handle" (cuda.h, stream capture). This holds for captures of every thread and
 * mode. */
CUresult sim_capture_forbids_waiting(const struct sim_context *context)
{
    CUresult status = CUDA_SUCCESS;
    for (struct sim_capture *at = captures; at; at = at->next) {
        const struct sim_context *of = at->origin ? at->origin->object.context : NULL;
        if (!of || (of != context && sim_family(of) != context))
            continue;
        at->is_valid = false;
        status = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return status;
}

/* Returns a blocking stream that captures, or NULL. */
static struct sim_stream *blocked_by(struct sim_context *context)
{
    struct sim_stream *stream = context->streams;
    while (stream && (!stream->capture || stream->flags & CU_STREAM_NON_BLOCKING))
        stream = stream->next;
    return stream;
}

CUresult sim_capture_legacy(struct sim_context *context)
{
    struct sim_stream *stream = blocked_by(context);
    return stream ? sim_capture_break(stream, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) : CUDA_SUCCESS;
}

/* ---- the functions ---- */

static CUresult begin(struct sim_stream *stream, struct sim_graph *graph, CUstreamCaptureMode mode,
                      const CUgraphNode *before, size_t count)
{
    if ((unsigned int)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (stream == stream->object.context->legacy)
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    struct sim_capture *capture = calloc(1, sizeof *capture);
    CUresult status = capture ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    bool is_borrowed = graph != NULL;
    if (!status && !graph)
        status = sim_graph_new(&graph);
    if (!status)
        status = join(stream, capture, (struct sim_node *const *)before, count);
    if (status) {
        if (graph && !is_borrowed)
            sim_graph_end(graph);
        free(capture);
        return status;
    }
    capture->id = ++last_id;
    capture->mode = mode;
    capture->thread = sim_thread()->id;
    capture->is_valid = true;
    capture->graph = graph;
    capture->is_graph_borrowed = is_borrowed;
    capture->first = graph->count;
    capture->origin = stream;
    capture->next = captures;
    captures = capture;
    graph->is_held = true;
    return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    return status ? status : begin(stream, NULL, mode, NULL, 0);
}

CUresult cuStreamBeginCapture(CUstream stream)
{
    return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph_handle,
                                     const CUgraphNode *before, const CUgraphEdgeData *edges,
                                     size_t count, CUstreamCaptureMode mode)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (status)
        return status;
    struct sim_graph *graph = sim_object_find(SIM_GRAPH, graph_handle);
    (void)edges;
    if (!graph || graph->is_held || !sim_nodes_are_of(graph, before, count))
        return CUDA_ERROR_INVALID_VALUE;
    return begin(stream, graph, mode, before, count);
}

/* Returns true if everything captured precedes the stream's next node. */
static bool is_joined(const struct sim_capture *capture, const struct sim_nodes *tips)
{
    const struct sim_graph *graph = capture->graph;
    for (size_t i = capture->first; i < graph->count; i++) {
        bool is_last = !has_node(tips, graph->nodes[i]);
        for (size_t k = 0; k < graph->count && is_last; k++)
            for (size_t n = 0; n < graph->nodes[k]->need_count && is_last; n++)
                is_last = graph->nodes[k]->needs[n] != graph->nodes[i];
        if (is_last)
            return false;
    }
    return true;
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *out)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (status)
        return status;
    struct sim_capture *capture = stream->capture;
    if (!capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (!out && !capture->is_graph_borrowed)
        return CUDA_ERROR_INVALID_VALUE;
    if (capture->origin != stream)
        return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != sim_thread()->id)
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    if (!capture->is_valid)
        status = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    else if (!is_joined(capture, stream->tips))
        status = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    struct sim_graph *graph = capture->graph;
    bool is_own = !capture->is_graph_borrowed;
    end(capture);
    if (status && is_own)
        sim_graph_end(graph);
    if (out)
        *out = status ? NULL : (CUgraph)graph;
    return status;
}

static CUstreamCaptureStatus status_of(const struct sim_stream *stream)
{
    if (!stream->capture)
        return CU_STREAM_CAPTURE_STATUS_NONE;
    return stream->capture->is_valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                     : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

/* Handles a query about the legacy stream while a stream that blocks it captures. */
static CUresult find_asked(CUstream handle, struct sim_stream **out)
{
    CUresult status = sim_enter_stream(handle, out);
    if (status)
        return status;
    struct sim_context *context = (*out)->object.context;
    return *out == context->legacy && blocked_by(context) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
                                                          : CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *out)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = find_asked(handle, &stream);
    if (status)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = status_of(stream);
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *out, uint64_t *id,
                                   CUgraph *graph, const CUgraphNode **tips,
                                   const CUgraphEdgeData **edges, size_t *count)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = find_asked(handle, &stream);
    if (status)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = status_of(stream);
    if (*out != CU_STREAM_CAPTURE_STATUS_ACTIVE)
        return CUDA_SUCCESS;
    if (id)
        *id = stream->capture->id;
    if (graph)
        *graph = (CUgraph)stream->capture->graph;
    if (tips)
        *tips = (const CUgraphNode *)stream->tips->items;
    if (edges)
        *edges = NULL; /* all edges are plain */
    if (count)
        *count = stream->tips->count;
    return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *out, uint64_t *id,
                                   CUgraph *graph, const CUgraphNode **tips, size_t *count)
{
    return cuStreamGetCaptureInfo_v3(stream, out, id, graph, tips, NULL, count);
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *out, uint64_t *id)
{
    return cuStreamGetCaptureInfo_v3(stream, out, id, NULL, NULL, NULL, NULL);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *nodes,
                                              const CUgraphEdgeData *edges, size_t count,
                                              unsigned int flags)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    (void)edges;
    if (status)
        return status;
    if (!stream->capture)
        return CUDA_ERROR_ILLEGAL_STATE;
    if (!sim_nodes_are_of(stream->capture->graph, nodes, count) ||
        flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_node *const *items = (struct sim_node *const *)nodes;
    struct sim_nodes *tips = flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES
                                 ? make_nodes(count, items)
                                 : merge_nodes(stream->tips, items, count);
    if (!tips)
        return CUDA_ERROR_OUT_OF_MEMORY;
    free(stream->tips);
    stream->tips = tips;
    return CUDA_SUCCESS;
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t count,
                                           unsigned int flags)
{
    return cuStreamUpdateCaptureDependencies_v2(stream, nodes, NULL, count, flags);
}

/* Takes any number, as driver 580 does. */
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    SIM_LOCKED;
    struct sim_thread *thread = sim_thread();
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode before = thread->capture_mode;
    thread->capture_mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
