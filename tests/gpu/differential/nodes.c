/*
 * Nodes of graphs. Nodes that use memory stand in one line in each graph: each depends on the one
 * before, so that what a graph computes is no chance.
 */
#include "config.h"

#include "nodes.h"

#include <string.h>

enum { ANY_DEVICE = ON_DEVICE | MANAGED };

/* The dependencies of a new node. */
struct before {
    CUgraphNode nodes[3];
    size_t count;
};

static void add_before(struct before *before, const struct object *node)
{
    for (size_t i = 0; i < before->count; i++)
        if (before->nodes[i] == NODE_OF(node))
            return;
    before->nodes[before->count++] = NODE_OF(node);
    say(" %s", name_of(node));
}

static struct before pick_before(const struct object *graph, bool uses_memory)
{
    struct before before = { { NULL }, 0 };
    struct object *other = graph->kind == GRAPH && chance(2) ? pick_child(NODE, graph) : NULL;
    say(" %s after", name_of(graph));
    if (uses_memory && graph->last)
        add_before(&before, graph->last);
    if (other)
        add_before(&before, other);
    return before;
}

static void note_node(struct object *node, CUgraphNode handle, struct object *graph, int type)
{
    born(node, HANDLE(handle), graph);
    node->type = type;
}

/* Nodes may use memory in graphs that were made by hand: others have nodes without slots. */
static struct object *pick_graph(struct object **out_node)
{
    struct object *graph = pick(GRAPH);
    *out_node = vacant(NODE);
    if (!graph || !*out_node || (graph->kind == GRAPH && graph->label))
        return NULL;
    for (int i = 0; graph->kind == GRAPH && !graph->last && i < SLOTS_MAX; i++)
        if (graph->uses[i])
            return NULL;
    return graph;
}

static void note_use(struct object *graph, struct object *node, const struct object *memory)
{
    if (!memory)
        return;
    mark_use(graph, memory);
    mark_use(node, memory);
    graph->last = node;
}

static void add_empty(void)
{
    CUgraphNode handle = NULL;
    struct object *node, *graph = pick_graph(&node);
    NEED(graph);
    say(" %s in", name_of(node));
    struct before before = pick_before(graph, false);
    if (!CALL(cuGraphAddEmptyNode, &handle, GRAPH_OF(graph), before.nodes, before.count))
        note_node(node, handle, graph, CU_GRAPH_NODE_TYPE_EMPTY);
}

CUDA_MEMSET_NODE_PARAMS some_set(struct object **out_memory)
{
    static const unsigned int sizes[] = { 1, 2, 4, 4, 3 };
    CUDA_MEMSET_NODE_PARAMS params = { 0 };
    struct object *memory = pick_memory(ANY_DEVICE);
    *out_memory = memory;
    if (!memory || memory->bytes < 64)
        return params;
    params.dst = memory->handle;
    params.elementSize = sizes[below(COUNT(sizes))];
    params.value = (unsigned int)below(params.elementSize == 4 ? 1u << 31
                                       : chance(10)            ? 70000
                                                               : 200);
    params.height = 1 + below(3) % 2;
    params.width = 1 + below(memory->bytes / 4 / params.height / 4);
    params.pitch = memory->bytes / params.height / 4 * 4;
    say(" %s value=%u size=%u width=%zu height=%zu", name_of(memory), params.value,
        params.elementSize, params.width, params.height);
    return params;
}

static void add_set(void)
{
    CUgraphNode handle = NULL;
    struct object *memory, *node, *graph = pick_graph(&node);
    NEED(graph);
    say(" %s in", name_of(node));
    struct before before = pick_before(graph, true);
    CUDA_MEMSET_NODE_PARAMS params = some_set(&memory);
    NEED(memory);
    if (CALL(cuGraphAddMemsetNode, &handle, GRAPH_OF(graph), before.nodes, before.count, &params,
             CONTEXT_OF(slot_of(CONTEXT, 0))))
        return;
    note_node(node, handle, graph, CU_GRAPH_NODE_TYPE_MEMSET);
    note_use(graph, node, memory);
}

bool some_copy(CUDA_MEMCPY3D *copy, struct object *memory[2])
{
    memset(copy, 0, sizeof *copy);
    memory[0] = pick_memory(ANY_DEVICE | PINNED);
    memory[1] = pick_memory(ANY_DEVICE | PINNED);
    if (!memory[0] || !memory[1] || memory[0] == memory[1])
        return false;
    size_t most = memory[0]->bytes < memory[1]->bytes ? memory[0]->bytes : memory[1]->bytes;
    copy->dstMemoryType = memory[0]->type & PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy->srcMemoryType = memory[1]->type & PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
    copy->dstDevice = memory[0]->handle, copy->srcDevice = memory[1]->handle;
    copy->dstHost = HOST(memory[0]->handle), copy->srcHost = HOST(memory[1]->handle);
    copy->dstPitch = copy->srcPitch = most;
    copy->dstHeight = copy->srcHeight = 1;
    copy->WidthInBytes = 1 + below(most);
    copy->Height = copy->Depth = 1;
    if (chance(20))
        copy->Height = 0;
    say(" %s from %s bytes=%zu height=%zu", name_of(memory[0]), name_of(memory[1]),
        copy->WidthInBytes, copy->Height);
    return true;
}

static void add_copy(void)
{
    CUgraphNode handle = NULL;
    CUDA_MEMCPY3D copy;
    struct object *memory[2], *node, *graph = pick_graph(&node);
    NEED(graph);
    say(" %s in", name_of(node));
    struct before before = pick_before(graph, true);
    NEED(some_copy(&copy, memory));
    if (CALL(cuGraphAddMemcpyNode, &handle, GRAPH_OF(graph), before.nodes, before.count, &copy,
             CONTEXT_OF(slot_of(CONTEXT, 0))))
        return;
    note_node(node, handle, graph, CU_GRAPH_NODE_TYPE_MEMCPY);
    note_use(graph, node, memory[0]);
    note_use(graph, node, memory[1]);
}

bool some_fill(struct fill *fill, CUDA_KERNEL_NODE_PARAMS *params, struct object **out_memory)
{
    struct object *memory = pick_memory(ANY_DEVICE), *function = slot_of(FUNCTION, 0);
    *out_memory = memory;
    if (!memory || memory->bytes < 64 || !function->is_live)
        return false;
    *fill = (struct fill){
        memory->handle, (float)below(50), 1 + (int)below(memory->bytes / 4 / 2), { NULL }
    };
    fill->list[0] = &fill->p, fill->list[1] = &fill->value, fill->list[2] = &fill->n;
    *params = (CUDA_KERNEL_NODE_PARAMS){ 0 };
    params->func = FUNCTION_OF(function);
    params->gridDimX = (unsigned int)(fill->n + 255) / 256;
    params->gridDimY = params->gridDimZ = 1;
    params->blockDimX = chance(20) ? (unsigned int)ONE_OF(0, 2000) : 256;
    params->blockDimY = params->blockDimZ = 1;
    params->kernelParams = fill->list;
    say(" fill %s value=%g n=%d block=%u", name_of(memory), (double)fill->value, fill->n,
        params->blockDimX);
    return true;
}

static void add_kernel(void)
{
    CUgraphNode handle = NULL;
    struct fill fill;
    CUDA_KERNEL_NODE_PARAMS params;
    struct object *memory, *node, *graph = pick_graph(&node);
    NEED(graph);
    say(" %s in", name_of(node));
    struct before before = pick_before(graph, true);
    NEED(some_fill(&fill, &params, &memory));
    if (CALL(cuGraphAddKernelNode_v2, &handle, GRAPH_OF(graph), before.nodes, before.count,
             &params))
        return;
    note_node(node, handle, graph, CU_GRAPH_NODE_TYPE_KERNEL);
    note_use(graph, node, memory);
}

void count_up(void *memory)
{
    ++*(unsigned int *)HOST(((struct object *)memory)->handle);
}

static void add_host(void)
{
    CUgraphNode handle = NULL;
    struct object *memory = pick_memory(PAGEABLE), *node, *graph = pick_graph(&node);
    CUDA_HOST_NODE_PARAMS params = { count_up, memory };
    NEED(graph && memory);
    say(" %s in", name_of(node));
    struct before before = pick_before(graph, true);
    say(" %s", name_of(memory));
    if (CALL(cuGraphAddHostNode, &handle, GRAPH_OF(graph), before.nodes, before.count, &params))
        return;
    note_node(node, handle, graph, CU_GRAPH_NODE_TYPE_HOST);
    note_use(graph, node, memory);
}

static void add_event(void)
{
    CUgraphNode handle = NULL;
    bool is_record = chance(2);
    struct object *event = pick(EVENT), *node, *graph = pick_graph(&node);
    NEED(graph && event);
    say(" %s in", name_of(node));
    struct before before = pick_before(graph, false);
    say(" %s", name_of(event));
    CUresult result = is_record ? CALL(cuGraphAddEventRecordNode, &handle, GRAPH_OF(graph),
                                       before.nodes, before.count, EVENT_OF(event))
                                : CALL(cuGraphAddEventWaitNode, &handle, GRAPH_OF(graph),
                                       before.nodes, before.count, EVENT_OF(event));
    if (!result)
        note_node(node, handle, graph,
                  is_record ? CU_GRAPH_NODE_TYPE_EVENT_RECORD : CU_GRAPH_NODE_TYPE_WAIT_EVENT);
}

static void add_child(void)
{
    CUgraphNode handle = NULL;
    struct object *child = pick(GRAPH), *node, *graph = pick_graph(&node);
    NEED(graph && child && is_whole(child));
    say(" %s in", name_of(node));
    struct before before = pick_before(graph, true);
    say(" %s", name_of(child));
    if (CALL(cuGraphAddChildGraphNode, &handle, GRAPH_OF(graph), before.nodes, before.count,
             GRAPH_OF(child)))
        return;
    note_node(node, handle, graph, CU_GRAPH_NODE_TYPE_GRAPH);
    for (int i = 0; i < SLOTS_MAX; i++)
        if (child->uses[i])
            note_use(graph, node, slot_of(MEMORY, i));
}

/* Memory that a graph allocates, sets and frees again. */
static void add_memory(void)
{
    CUgraphNode handle = NULL, freeing = NULL;
    CUDA_MEM_ALLOC_NODE_PARAMS params;
    struct object *node, *graph = pick_graph(&node);
    NEED(graph);
    say(" %s in", name_of(node));
    struct before before = pick_before(graph, false);
    memset(&params, 0, sizeof params);
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = (CUmemLocation){ (CUmemLocationType)ONE_OF(1, 1, 1, 0), 0 };
    params.bytesize = (size_t)ONE_OF(1024, 65536, 0);
    say(" bytes=%zu location=%d", params.bytesize, (int)params.poolProps.location.type);
    if (CALL(cuGraphAddMemAllocNode, &handle, GRAPH_OF(graph), before.nodes, before.count, &params))
        return;
    say(" %s", params.dptr ? "somewhere" : "null");
    note_node(node, handle, graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    CUDA_MEMSET_NODE_PARAMS set = { params.dptr, 0, 3, 1, 64, 1 };
    CUgraphNode setting = NULL;
    if (!CALL(cuGraphAddMemsetNode, &setting, GRAPH_OF(graph), &handle, 1, &set,
              CONTEXT_OF(slot_of(CONTEXT, 0))))
        CALL(cuGraphAddMemFreeNode, &freeing, GRAPH_OF(graph), &setting, 1, params.dptr);
    graph->label = "with memory"; /* and with nodes that have no slots */
}

/* ---- dependencies ---- */

static void add_dependency(void)
{
    struct object *to = pick(NODE), *from;
    NEED(to && (to->kind != NODE || (from = pick_child(NODE, to->parent))));
    if (to->kind != NODE)
        from = to;
    NEED(from->slot <= to->slot || chance(3)); /* also circles */
    CUgraphNode a = NODE_OF(from), b = NODE_OF(to);
    struct object *graph = to->kind == NODE ? to->parent : pick(GRAPH);
    NEED(graph);
    say(" %s>%s in %s", name_of(from), name_of(to), name_of(graph));
    CALL(cuGraphAddDependencies, GRAPH_OF(graph), &a, &b, 1);
}

static bool uses_memory(const struct object *node)
{
    for (int i = 0; i < SLOTS_MAX; i++)
        if (node->uses[i])
            return true;
    return node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC;
}

static void remove_dependency(void)
{
    struct object *to = pick_live(NODE), *from;
    NEED(to && (from = pick_child(NODE, to->parent)) && !uses_memory(to));
    CUgraphNode a = NODE_OF(from), b = NODE_OF(to);
    say(" %s>%s in %s", name_of(from), name_of(to), name_of(to->parent));
    CALL(cuGraphRemoveDependencies, GRAPH_OF(to->parent), &a, &b, 1);
}

static void ask_dependencies(void)
{
    CUgraphNode nodes[SLOTS_MAX];
    size_t count = (size_t)ONE_OF(SLOTS_MAX, 1);
    struct object *node = pick(NODE);
    bool wants_count = chance(3);
    NEED(node);
    say(" %s room=%zu", name_of(node), count);
    memset(nodes, 0, sizeof nodes);
    CUresult result =
        chance(2)
            ? CALL(cuGraphNodeGetDependencies, NODE_OF(node), wants_count ? NULL : nodes, &count)
            : CALL(cuGraphNodeGetDependentNodes, NODE_OF(node), wants_count ? NULL : nodes, &count);
    if (result)
        return;
    say(" count=%zu", count);
    for (size_t i = 0; i < count && i < SLOTS_MAX && !wants_count; i++)
        say(" %s", name_of_handle(NODE, HANDLE(nodes[i])));
}

static void destroy(void)
{
    struct object *node = pick(NODE);
    NEED(node && (node->kind != NODE || !uses_memory(node)));
    say(" %s", name_of(node));
    END(node, cuGraphDestroyNode, NODE_OF(node));
}

static const struct operation operations[] = {
    { "add an empty one", 10, add_empty },
    { "add a set", 15, add_set },
    { "add a copy", 15, add_copy },
    { "add a kernel", 20, add_kernel },
    { "add a host function", 6, add_host },
    { "add an event", 6, add_event },
    { "add a child", 6, add_child },
    { "add memory", 4, add_memory },
    { "add a dependency", 5, add_dependency },
    { "remove a dependency", 3, remove_dependency },
    { "dependencies", 5, ask_dependencies },
    { "destroy", 3, destroy },
};

const struct area node_area = { "nodes", operations, COUNT(operations), 0 };
