/* Graphs as wholes: making, asking, instantiating, launching, updating, user objects. */
#include "config.h"

#include "driver.h"

#include <string.h>

enum { NODES_MOST = 64 };

static void create(void)
{
    CUgraph handle = NULL;
    struct object *graph = vacant(GRAPH);
    unsigned int flags = chance(12);
    NEED(graph);
    say(" %s flags=%u", name_of(graph), flags);
    if (!CALL(cuGraphCreate, &handle, flags))
        born(graph, HANDLE(handle), NULL);
}

/* Not while a capture goes into it. */
static void destroy(void)
{
    struct object *graph = pick(GRAPH);
    NEED(graph);
    for (int i = 2; i < slots_of(STREAM); i++)
        NEED(!is_stream_capturing(slot_of(STREAM, i)));
    say(" %s", name_of(graph));
    END(graph, cuGraphDestroy, GRAPH_OF(graph));
}

static void clone(void)
{
    CUgraph handle = NULL;
    struct object *graph = vacant(GRAPH), *from = pick(GRAPH);
    NEED(graph && from && is_whole(from));
    say(" %s of %s", name_of(graph), name_of(from));
    if (CALL(cuGraphClone, &handle, GRAPH_OF(from)))
        return;
    born(graph, HANDLE(handle), NULL);
    memcpy(graph->uses, from->uses, sizeof graph->uses);
    graph->label = "clone"; /* its nodes have no slots, so that none can be ordered behind them */
}

static void find_in_clone(void)
{
    CUgraphNode handle = NULL;
    struct object *node = pick(NODE), *graph = pick(GRAPH);
    NEED(node && graph);
    say(" %s in %s", name_of(node), name_of(graph));
    if (!CALL(cuGraphNodeFindInClone, &handle, NODE_OF(node), GRAPH_OF(graph)))
        say(" %s", handle ? "found" : "null");
}

/* ---- questions ---- */

static void ask_nodes(void)
{
    CUgraphNode nodes[NODES_MOST];
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    size_t count = (size_t)ONE_OF(NODES_MOST, NODES_MOST, 1, 3);
    struct object *graph = pick(GRAPH);
    bool wants_roots = chance(3), wants_count = chance(3);
    NEED(graph);
    say(" %s room=%zu", name_of(graph), count);
    memset(nodes, 0, sizeof nodes);
    CUresult result =
        wants_roots ? CALL(cuGraphGetRootNodes, GRAPH_OF(graph), wants_count ? NULL : nodes, &count)
                    : CALL(cuGraphGetNodes, GRAPH_OF(graph), wants_count ? NULL : nodes, &count);
    if (result)
        return;
    say(" count=%zu", count);
    for (size_t i = 0; i < count && i < NODES_MOST && !wants_count; i++)
        if (nodes[i])
            say(" %s:%d", name_of_handle(NODE, HANDLE(nodes[i])),
                D(cuGraphNodeGetType)(nodes[i], &type) ? -1 : (int)type);
}

static void ask_edges(void)
{
    CUgraphNode from[NODES_MOST], to[NODES_MOST];
    CUgraphEdgeData edges[NODES_MOST];
    size_t count = (size_t)ONE_OF(NODES_MOST, NODES_MOST, 1);
    struct object *graph = pick(GRAPH);
    NEED(graph);
    say(" %s room=%zu", name_of(graph), count);
    memset(from, 0, sizeof from);
    memset(to, 0, sizeof to);
    memset(edges, 0, sizeof edges);
    CUresult result = chance(2) ? CALL(cuGraphGetEdges_v2, GRAPH_OF(graph), from, to, edges, &count)
                                : CALL(cuGraphGetEdges, GRAPH_OF(graph), from, to, &count);
    if (result)
        return;
    say(" count=%zu", count);
    for (size_t i = 0; i < count && i < NODES_MOST; i++)
        say(" %s>%s", name_of_handle(NODE, HANDLE(from[i])), name_of_handle(NODE, HANDLE(to[i])));
}

/* ---- executable graphs ---- */

static void instantiate(void)
{
    CUgraphExec handle = NULL;
    CUgraphNode node = NULL;
    CUDA_GRAPH_INSTANTIATE_PARAMS params;
    struct object *graph = pick(GRAPH), *exec = vacant(EXEC);
    unsigned long long flags = (unsigned long long)ONE_OF(0, 0, 0, 1, 8, 4, 16);
    NEED(graph && exec && is_whole(graph));
    say(" %s of %s flags=%llu", name_of(exec), name_of(graph), flags);
    memset(&params, 0, sizeof params);
    params.flags = flags;
    CUresult result;
    switch (below(3)) {
    case 0:
        result = CALL(cuGraphInstantiateWithFlags, &handle, GRAPH_OF(graph), flags);
        break;
    case 1:
        result = CALL(cuGraphInstantiateWithParams, &handle, GRAPH_OF(graph), &params);
        say(" result=%d %s", (int)params.result_out,
            name_of_handle(NODE, HANDLE(params.hErrNode_out)));
        break;
    default:
        result = CALL(cuGraphInstantiate_v2, &handle, GRAPH_OF(graph), &node, NULL, 0);
    }
    if (result)
        return;
    born(exec, HANDLE(handle), NULL);
    memcpy(exec->uses, graph->uses, sizeof exec->uses);
}

static void launch(void)
{
    struct object *exec = pick(EXEC), *stream = pick(STREAM);
    NEED(exec && stream && use_for_graph(exec, stream));
    say(" %s %s", name_of(exec), name_of(stream));
    CALL(cuGraphLaunch, EXEC_OF(exec), STREAM_OF(stream));
}

static void upload(void)
{
    struct object *exec = pick(EXEC), *stream = pick(STREAM);
    NEED(exec && stream && use_for_graph(exec, stream));
    say(" %s %s", name_of(exec), name_of(stream));
    CALL(cuGraphUpload, EXEC_OF(exec), STREAM_OF(stream));
}

static void destroy_exec(void)
{
    struct object *exec = pick(EXEC);
    NEED(exec);
    settle_all();
    say(" %s", name_of(exec));
    END(exec, cuGraphExecDestroy, EXEC_OF(exec));
}

static void ask_flags(void)
{
    uint64_t flags = 0;
    struct object *exec = pick(EXEC);
    NEED(exec);
    say(" %s", name_of(exec));
    if (!CALL(cuGraphExecGetFlags, EXEC_OF(exec), &flags))
        say(" flags=%llu", (unsigned long long)flags);
}

static void update(void)
{
    CUgraphExecUpdateResultInfo info;
    struct object *exec = pick(EXEC), *graph = pick(GRAPH);
    NEED(exec && graph && is_whole(graph));
    settle_all();
    memset(&info, 0, sizeof info);
    say(" %s by %s", name_of(exec), name_of(graph));
    CUresult result = CALL(cuGraphExecUpdate_v2, EXEC_OF(exec), GRAPH_OF(graph), &info);
    say(" %d %s %s", (int)info.result, name_of_handle(NODE, HANDLE(info.errorNode)),
        name_of_handle(NODE, HANDLE(info.errorFromNode)));
    for (int i = 0; i < SLOTS_MAX; i++) /* a failed update may have changed some nodes */
        if (graph->uses[i])
            exec->uses[i] = graph->uses[i];
    if (result)
        dies(exec); /* "an undefined state" */
}

/* ---- objects that graphs hold ---- */

static void forget(void *unused)
{
    (void)unused;
}

static void create_user_object(void)
{
    CUuserObject handle = NULL;
    struct object *object = vacant(USER_OBJECT);
    unsigned int count = (unsigned int)ONE_OF(1, 1, 2, 0), flags = (unsigned int)ONE_OF(1, 1, 0, 2);
    NEED(object);
    say(" %s count=%u flags=%u", name_of(object), count, flags);
    if (CALL(cuUserObjectCreate, &handle, NULL, forget, count, flags))
        return;
    born(object, HANDLE(handle), NULL);
    object->bytes = count; /* references of the program's */
}

static void hold_user_object(void)
{
    struct object *object = pick(USER_OBJECT), *graph = pick(GRAPH);
    unsigned int count = (unsigned int)ONE_OF(1, 1, 2, 0), flags = (unsigned int)ONE_OF(0, 0, 2);
    NEED(object && graph);
    say(" %s by %s count=%u flags=%u", name_of(object), name_of(graph), count, flags);
    CALL(cuGraphRetainUserObject, GRAPH_OF(graph), (CUuserObject)(uintptr_t)object->handle, count,
         flags);
}

static void retain_user_object(void)
{
    struct object *object = pick(USER_OBJECT);
    NEED(object);
    say(" %s", name_of(object));
    if (!CALL(cuUserObjectRetain, (CUuserObject)(uintptr_t)object->handle, 1))
        object->bytes++;
}

static void release_user_object(void)
{
    struct object *object = pick_live(USER_OBJECT);
    NEED(object && object->bytes);
    say(" %s", name_of(object));
    if (!CALL(cuUserObjectRelease, (CUuserObject)(uintptr_t)object->handle, 1) && !--object->bytes)
        dies(object);
}

static const struct operation operations[] = {
    { "create", 20, create },
    { "destroy", 5, destroy },
    { "clone", 8, clone },
    { "find in a clone", 3, find_in_clone },
    { "nodes", 8, ask_nodes },
    { "edges", 6, ask_edges },
    { "instantiate", 18, instantiate },
    { "launch", 25, launch },
    { "upload", 3, upload },
    { "end an executable graph", 4, destroy_exec },
    { "flags", 2, ask_flags },
    { "update", 8, update },
    { "make a user object", 3, create_user_object },
    { "hold a user object", 4, hold_user_object },
    { "retain a user object", 2, retain_user_object },
    { "release a user object", 2, release_user_object },
};

const struct area graph_area = { "graphs", operations, COUNT(operations), 0 };
