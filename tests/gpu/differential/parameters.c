/* The parameters of nodes: questions and changes. */
#include "config.h"

#include "nodes.h"

#include <string.h>

static void ask_type(void)
{
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    struct object *node = pick(NODE);
    NEED(node);
    say(" %s", name_of(node));
    if (!CALL(cuGraphNodeGetType, NODE_OF(node), &type))
        say(" %d", (int)type);
}

static void ask_set(struct object *node)
{
    CUDA_MEMSET_NODE_PARAMS params;
    memset(&params, 0, sizeof params);
    if (!CALL(cuGraphMemsetNodeGetParams, NODE_OF(node), &params))
        say(" %s value=%u size=%u width=%zu height=%zu", name_of_address(params.dst), params.value,
            params.elementSize, params.width, params.height);
}

static void ask_kernel(struct object *node)
{
    CUDA_KERNEL_NODE_PARAMS params;
    memset(&params, 0, sizeof params);
    if (CALL(cuGraphKernelNodeGetParams_v2, NODE_OF(node), &params))
        return;
    say(" %s grid=%u block=%u shared=%u", name_of_handle(FUNCTION, HANDLE(params.func)),
        params.gridDimX, params.blockDimX, params.sharedMemBytes);
    if (params.kernelParams && params.kernelParams[0])
        say(" %s", name_of_address(*(CUdeviceptr *)params.kernelParams[0]));
}

static void ask_copy(struct object *node)
{
    CUDA_MEMCPY3D params;
    memset(&params, 0, sizeof params);
    if (!CALL(cuGraphMemcpyNodeGetParams, NODE_OF(node), &params))
        say(" width=%zu height=%zu depth=%zu types=%d,%d", params.WidthInBytes, params.Height,
            params.Depth, (int)params.dstMemoryType, (int)params.srcMemoryType);
}

/* Also as a node of another type. */
static void ask_params(void)
{
    CUevent event = NULL;
    CUgraph child = NULL;
    CUDA_HOST_NODE_PARAMS host = { NULL, NULL };
    struct object *node = pick(NODE);
    NEED(node);
    int type = chance(6) ? (int)below(8) : node->type;
    say(" %s as %d", name_of(node), type);
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        ask_kernel(node);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        ask_copy(node);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        ask_set(node);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        if (!CALL(cuGraphHostNodeGetParams, NODE_OF(node), &host))
            say(" %s", host.fn == count_up ? "its function" : "another function");
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        if (!CALL(cuGraphChildGraphNodeGetGraph, NODE_OF(node), &child))
            say(" %s", child ? "a graph" : "null");
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        if (!CALL(cuGraphEventWaitNodeGetEvent, NODE_OF(node), &event))
            say(" %s", name_of_handle(EVENT, HANDLE(event)));
        break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        if (!CALL(cuGraphEventRecordNodeGetEvent, NODE_OF(node), &event))
            say(" %s", name_of_handle(EVENT, HANDLE(event)));
        break;
    default:
        NEED(false);
    }
}

/* Changes the node, or its copy in an executable graph. */
static void set_params(void)
{
    struct object *node = pick(NODE), *exec = chance(2) ? pick(EXEC) : NULL, *memory;
    struct fill fill;
    CUDA_KERNEL_NODE_PARAMS kernel;
    NEED(node && (!exec || exec->slot >= 0));
    int type = chance(8) ? (int)ONE_OF(0, 2) : node->type;
    say(" %s%s%s", name_of(node), exec ? " in " : "", exec ? name_of(exec) : "");
    settle_all();
    if (type == CU_GRAPH_NODE_TYPE_MEMSET) {
        CUDA_MEMSET_NODE_PARAMS set = some_set(&memory);
        NEED(memory);
        CUresult result = exec ? CALL(cuGraphExecMemsetNodeSetParams, EXEC_OF(exec), NODE_OF(node),
                                      &set, CONTEXT_OF(slot_of(CONTEXT, 0)))
                               : CALL(cuGraphMemsetNodeSetParams, NODE_OF(node), &set);
        if (!result)
            mark_use(exec ? exec : node->parent, memory);
    } else if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
        NEED(some_fill(&fill, &kernel, &memory));
        CUresult result =
            exec ? CALL(cuGraphExecKernelNodeSetParams_v2, EXEC_OF(exec), NODE_OF(node), &kernel)
                 : CALL(cuGraphKernelNodeSetParams_v2, NODE_OF(node), &kernel);
        if (!result)
            mark_use(exec ? exec : node->parent, memory);
    } else {
        leave_out();
    }
}

static void set_copy(void)
{
    CUDA_MEMCPY3D copy;
    struct object *node = pick_live(NODE), *exec = chance(2) ? pick_live(EXEC) : NULL, *memory[2];
    NEED(node && node->type == CU_GRAPH_NODE_TYPE_MEMCPY);
    settle_all();
    say(" %s%s%s", name_of(node), exec ? " in " : "", exec ? name_of(exec) : "");
    NEED(some_copy(&copy, memory));
    CUresult result = exec ? CALL(cuGraphExecMemcpyNodeSetParams, EXEC_OF(exec), NODE_OF(node),
                                  &copy, CONTEXT_OF(slot_of(CONTEXT, 0)))
                           : CALL(cuGraphMemcpyNodeSetParams, NODE_OF(node), &copy);
    for (int i = 0; i < 2 && !result; i++)
        mark_use(exec ? exec : node->parent, memory[i]);
}

static void set_event(void)
{
    struct object *node = pick(NODE), *exec = chance(2) ? pick(EXEC) : NULL, *event = pick(EVENT);
    NEED(node && event && (node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD || chance(4)));
    settle_all();
    say(" %s %s%s%s", name_of(node), name_of(event), exec ? " in " : "", exec ? name_of(exec) : "");
    if (exec)
        CALL(cuGraphExecEventRecordNodeSetEvent, EXEC_OF(exec), NODE_OF(node), EVENT_OF(event));
    else
        CALL(cuGraphEventRecordNodeSetEvent, NODE_OF(node), EVENT_OF(event));
}

static void enable(void)
{
    unsigned int is_enabled = 0, wanted = (unsigned int)below(2);
    struct object *node = pick(NODE), *exec = pick(EXEC);
    NEED(node && exec);
    settle_all();
    say(" %s in %s", name_of(node), name_of(exec));
    if (chance(2)) {
        say(" %u", wanted);
        CALL(cuGraphNodeSetEnabled, EXEC_OF(exec), NODE_OF(node), wanted);
    } else if (!CALL(cuGraphNodeGetEnabled, EXEC_OF(exec), NODE_OF(node), &is_enabled)) {
        say(" %u", is_enabled);
    }
}

static const struct operation operations[] = {
    { "type", 4, ask_type },
    { "parameters", 12, ask_params },
    { "set parameters", 10, set_params },
    { "set a copy's parameters", 5, set_copy },
    { "set an event", 3, set_event },
    { "enable", 6, enable },
};

const struct area parameter_area = { "parameters", operations, COUNT(operations), 0 };
