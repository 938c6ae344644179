/* Captures: beginning, ending, questions about them, and their dependencies. */
#include "config.h"

#include "driver.h"

static bool is_any_capturing(void)
{
    for (int i = 1; i < slots_of(STREAM); i++)
        if (slot_of(STREAM, i)->is_live && is_stream_capturing(slot_of(STREAM, i)))
            return true;
    return false;
}

static void begin(void)
{
    struct object *stream = pick(STREAM);
    CUstreamCaptureMode mode = (CUstreamCaptureMode)ONE_OF(0, 1, 2, 2, 2, 3);
    NEED(stream);
    if (!is_any_capturing())
        begin_capturing();
    settle_all();
    NEED(settle_stream(stream));
    say(" %s mode=%d", name_of(stream), (int)mode);
    CALL(cuStreamBeginCapture_v2, STREAM_OF(stream), mode);
}

static void begin_to_graph(void)
{
    struct object *stream = pick(STREAM), *graph = pick(GRAPH);
    struct object *node = graph ? pick_child(NODE, graph) : NULL;
    CUgraphNode dependency = node ? NODE_OF(node) : NULL;
    NEED(stream && graph && !graph->last &&
         !is_any_capturing()); /* its memory would be unordered */
    settle_all();
    begin_capturing();
    say(" %s %s after %s", name_of(stream), name_of(graph), node ? name_of(node) : "nothing");
    CALL(cuStreamBeginCaptureToGraph, STREAM_OF(stream), GRAPH_OF(graph), node ? &dependency : NULL,
         NULL, node != NULL, (CUstreamCaptureMode)ONE_OF(0, 2, 2));
}

static struct object *capturing_stream(void)
{
    struct object *stream = pick(STREAM);
    for (int i = 0; i < 8 && stream && !is_stream_capturing(stream); i++)
        stream = pick(STREAM);
    return stream;
}

static void end(void)
{
    CUgraph handle = NULL;
    struct object *stream = chance(6) ? pick(STREAM) : capturing_stream(), *graph = vacant(GRAPH);
    NEED(stream && graph);
    say(" %s", name_of(stream));
    CUresult result = CALL(cuStreamEndCapture, STREAM_OF(stream), &handle);
    if (result || !handle) {
        say(" %s", handle ? "a graph" : "null");
        return;
    }
    for (int i = 0; i < slots_of(GRAPH); i++)
        if (slot_of(GRAPH, i)->is_live && slot_of(GRAPH, i)->handle == HANDLE(handle)) {
            say(" %s", name_of(slot_of(GRAPH, i))); /* captured into */
            take_captured(slot_of(GRAPH, i));
            return;
        }
    born(graph, HANDLE(handle), NULL);
    take_captured(graph);
    say(" %s", name_of(graph));
}

static void ask_status(void)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    struct object *stream = chance(2) ? pick(STREAM) : capturing_stream();
    NEED(stream);
    say(" %s", name_of(stream));
    if (!CALL(cuStreamIsCapturing, STREAM_OF(stream), &status))
        say(" status=%d", (int)status);
}

static void ask_info(void)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    uint64_t id = 0;
    CUgraph graph = NULL;
    const CUgraphNode *dependencies = NULL;
    size_t count = 0;
    struct object *stream = chance(3) ? pick(STREAM) : capturing_stream();
    NEED(stream);
    say(" %s", name_of(stream));
    if (CALL(cuStreamGetCaptureInfo_v2, STREAM_OF(stream), &status, &id, &graph, &dependencies,
             &count))
        return;
    say(" status=%d", (int)status);
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        say(" id %s, graph %s, %zu dependencies", id ? "some" : "none", graph ? "some" : "none",
            count);
}

/* Both kinds keep the order of what uses memory: the same nodes again, or none before any use. */
static void update_dependencies(void)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    uint64_t id = 0;
    CUgraph graph = NULL;
    const CUgraphNode *dependencies = NULL;
    CUgraphNode again[8];
    size_t count = 0;
    struct object *stream = capturing_stream();
    unsigned int flags = (unsigned int)ONE_OF(0, 1, 1, 3);
    NEED(stream && stream->slot >= 0);
    if (D(cuStreamGetCaptureInfo_v2)(STREAM_OF(stream), &status, &id, &graph, &dependencies,
                                     &count))
        count = 0;
    NEED(count <= COUNT(again));
    for (size_t i = 0; i < count; i++)
        again[i] = dependencies[i];
    say(" %s count=%zu flags=%u", name_of(stream), count, flags);
    CALL(cuStreamUpdateCaptureDependencies, STREAM_OF(stream), again, count, flags);
}

static void exchange_mode(void)
{
    CUstreamCaptureMode mode = (CUstreamCaptureMode)ONE_OF(0, 1, 2, 7);
    say(" %d", (int)mode);
    if (!CALL(cuThreadExchangeStreamCaptureMode, &mode))
        say(" was %d", (int)mode);
}

static const struct operation operations[] = {
    { "begin", 18, begin },
    { "begin to a graph", 5, begin_to_graph },
    { "end", 22, end },
    { "status", 6, ask_status },
    { "info", 6, ask_info },
    { "update dependencies", 4, update_dependencies },
    { "exchange mode", 3, exchange_mode },
};

const struct area capture_area = { "captures", operations, COUNT(operations), 0 };
