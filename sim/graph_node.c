/* Nodes of graphs: adding them, and reading and changing their work. */
#include "config.h"

#include "sim/graph_node.h"

#include <string.h>

#include "sim/condition.h"
#include "sim/copy.h"
#include "sim/event.h"
#include "sim/graph.h"
#include "sim/graph_edges.h"
#include "sim/graph_memory.h"
#include "sim/launch.h"
#include "sim/range.h"
#include "sim/stream.h"
#include "sim/work.h"

/* ---- adding nodes ---- */

CUresult sim_make_kernel(const void *params, struct sim_work **out)
{
    return params ? sim_launch_work(params, out) : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_make_kernel_v1(const void *params, struct sim_work **out)
{
    CUDA_KERNEL_NODE_PARAMS whole = { 0 };
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&whole, params, sizeof(CUDA_KERNEL_NODE_PARAMS_v1)); /* the same except for its end */
    return sim_launch_work(&whole, out);
}

CUresult sim_make_copy(const void *params, struct sim_work **out)
{
    return sim_copy_work(params, out);
}

CUresult sim_make_fill(const void *params, struct sim_work **out)
{
    const CUDA_MEMSET_NODE_PARAMS *asked = params;
    if (!asked)
        return CUDA_ERROR_INVALID_VALUE;
    const struct sim_fill fill = { asked->dst,    asked->pitch, asked->width,
                                   asked->height, asked->value, asked->elementSize };
    return sim_fill_work(&fill, out);
}

CUresult sim_make_host(const void *params, struct sim_work **out)
{
    return sim_host_work(params, out);
}

static CUresult make_empty(const void *params, struct sim_work **out)
{
    (void)params;
    *out = sim_work_new(CU_GRAPH_NODE_TYPE_EMPTY, sim_run_nothing, NULL);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static bool has_type(const struct sim_graph *graph, CUgraphNodeType type)
{
    for (size_t i = 0; i < graph->count; i++) {
        const struct sim_work *work = graph->nodes[i]->work;
        if (work->type == type || (sim_work_is_child(work) && has_type(work->graph, type)))
            return true;
    }
    return false;
}

static bool has_memory(const struct sim_graph *graph)
{
    return has_type(graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC) ||
           has_type(graph, CU_GRAPH_NODE_TYPE_MEM_FREE);
}

/* A copy has no memory nodes (cuda.h, cuGraphAddMemAllocNode), a child no conditional nodes. */
static CUresult make_child(const void *params, struct sim_work **out)
{
    const CUDA_CHILD_GRAPH_NODE_PARAMS *asked = params;
    struct sim_graph *graph;
    CUresult status = sim_graph_find(asked->graph, &graph);
    bool is_move = asked->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    if (status)
        return status;
    if ((!is_move && asked->ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) || graph->is_moved ||
        (is_move && (graph->is_held || graph->is_body || graph->is_child)))
        return CUDA_ERROR_INVALID_VALUE;
    if (has_type(graph, CU_GRAPH_NODE_TYPE_CONDITIONAL) || (!is_move && has_memory(graph)))
        return CUDA_ERROR_NOT_SUPPORTED;
    *out = sim_work_new(CU_GRAPH_NODE_TYPE_GRAPH, sim_run_nothing, NULL);
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return is_move ? sim_graph_hold_moved(graph, *out) : sim_graph_hold_copy(graph, *out);
}

/* A graph cannot be moved into itself or into a child of its own. */
static bool is_inside(const struct sim_graph *graph, const struct sim_graph *outer)
{
    bool found = graph == outer;
    for (size_t i = 0; i < outer->count && !found; i++)
        found = sim_work_is_child(outer->nodes[i]->work) &&
                is_inside(graph, outer->nodes[i]->work->graph);
    return found;
}

static bool is_moved_into_itself(CUgraph parent, const CUgraphNodeParams *params)
{
    SIM_LOCKED;
    if (params->type != CU_GRAPH_NODE_TYPE_GRAPH)
        return false;
    const struct sim_graph *graph = sim_object_find(SIM_GRAPH, parent);
    const struct sim_graph *child = sim_object_find(SIM_GRAPH, params->graph.graph);
    return graph && child && params->graph.ownership && is_inside(graph, child);
}

CUresult sim_make_record(const void *params, struct sim_work **out)
{
    return sim_event_work((CUevent)(uintptr_t)params, false, out);
}

CUresult sim_make_wait(const void *params, struct sim_work **out)
{
    return sim_event_work((CUevent)(uintptr_t)params, true, out);
}

static CUresult make_memory(const void *params, struct sim_work **out)
{
    return sim_graph_memory_work((CUDA_MEM_ALLOC_NODE_PARAMS *)(uintptr_t)params, out);
}

static CUresult make_free(const void *params, struct sim_work **out)
{
    const CUdeviceptr *address = params;
    const struct sim_range *range = sim_range_at(*address);
    if (!range || range->base != *address || !range->is_of_graph)
        return CUDA_ERROR_INVALID_VALUE;
    *out = sim_work_new(CU_GRAPH_NODE_TYPE_MEM_FREE, sim_run_nothing, NULL);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* A moved child gets no more memory nodes. */
static bool is_refused(const struct sim_graph *graph, sim_make_work *make)
{
    return graph->is_moved && (make == make_memory || make == make_free);
}

static CUresult add_node(CUgraphNode *out, CUgraph handle, const CUgraphNode *before, size_t count,
                         sim_make_work *make, const void *params)
{
    SIM_LOCKED;
    struct sim_graph *graph;
    struct sim_work *work;
    struct sim_node *node;
    CUresult status = sim_graph_find(handle, &graph);
    if (!status && (!out || !sim_nodes_are_of(graph, before, count) || is_refused(graph, make)))
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = make(params, &work);
    if (!status)
        status = sim_node_add(graph, (struct sim_node *const *)before, count, work, &node);
    if (!status)
        *out = (CUgraphNode)node;
    return status;
}

/* A function of the driver for each type of node: what makes its work, and of which parameter. */
#define PLACE CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count
#define ADDS(function, make, made_of, ...)                                                         \
    CUresult function(__VA_ARGS__)                                                                 \
    {                                                                                              \
        return add_node(out, graph, before, count, make, made_of);                                 \
    }
ADDS(cuGraphAddKernelNode_v2, sim_make_kernel, params, PLACE, const CUDA_KERNEL_NODE_PARAMS *params)
ADDS(cuGraphAddKernelNode, sim_make_kernel_v1, params, PLACE,
     const CUDA_KERNEL_NODE_PARAMS_v1 *params)
ADDS(cuGraphAddMemcpyNode, sim_make_copy, params, PLACE, const CUDA_MEMCPY3D *params,
     __attribute__((unused)) CUcontext context)
ADDS(cuGraphAddMemsetNode, sim_make_fill, params, PLACE, const CUDA_MEMSET_NODE_PARAMS *params,
     __attribute__((unused)) CUcontext context)
ADDS(cuGraphAddHostNode, sim_make_host, params, PLACE, const CUDA_HOST_NODE_PARAMS *params)
ADDS(cuGraphAddEmptyNode, make_empty, NULL, PLACE)
ADDS(cuGraphAddChildGraphNode, make_child, &(CUDA_CHILD_GRAPH_NODE_PARAMS){ .graph = child }, PLACE,
     CUgraph child)
ADDS(cuGraphAddMemAllocNode, make_memory, params, PLACE, CUDA_MEM_ALLOC_NODE_PARAMS *params)
ADDS(cuGraphAddMemFreeNode, make_free, &address, PLACE, CUdeviceptr address)
ADDS(cuGraphAddEventRecordNode, sim_make_record, event, PLACE, CUevent event)
ADDS(cuGraphAddEventWaitNode, sim_make_wait, event, PLACE, CUevent event)
#undef ADDS
#undef PLACE

sim_make_work *sim_maker_of(const CUgraphNodeParams *params, const void **out)
{
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        *out = &params->kernel;
        return sim_make_kernel;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        *out = &params->memcpy.copyParams;
        return sim_make_copy;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        *out = &params->memset;
        return sim_make_fill;
    case CU_GRAPH_NODE_TYPE_HOST:
        *out = &params->host;
        return sim_make_host;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        *out = &params->graph;
        return make_child;
    case CU_GRAPH_NODE_TYPE_EMPTY:
        *out = NULL;
        return make_empty;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        *out = params->eventRecord.event;
        return sim_make_record;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        *out = &params->conditional;
        return sim_condition_work;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        *out = params->eventWait.event;
        return sim_make_wait;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        *out = &params->alloc;
        return make_memory;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        *out = &params->free.dptr;
        return make_free;
    default:
        return NULL;
    }
}

CUresult cuGraphAddNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                           const CUgraphEdgeData *edges, size_t count, CUgraphNodeParams *params)
{
    const void *inner;
    if (!params || !sim_edges_are_plain(edges, count) || is_moved_into_itself(graph, params))
        return CUDA_ERROR_INVALID_VALUE;
    sim_make_work *make = sim_maker_of(params, &inner);
    CUresult status =
        make ? add_node(out, graph, before, count, make, inner) : CUDA_ERROR_NOT_SUPPORTED;
    if (!status && params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        params->conditional.phGraph_out =
            sim_condition_bodies(((const struct sim_node *)*out)->work);
    return status;
}

CUresult cuGraphAddNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before, size_t count,
                        CUgraphNodeParams *params)
{
    return cuGraphAddNode_v2(out, graph, before, NULL, count, params);
}

/* ---- the work of a node ---- */

static CUresult find_typed(CUgraphNode handle, CUgraphNodeType type, const void *params,
                           struct sim_node **out)
{
    CUresult status = sim_node_find(handle, out);
    return status                                 ? status
           : params && (*out)->work->type == type ? CUDA_SUCCESS
                                                  : CUDA_ERROR_INVALID_VALUE;
}

/* A node that was made of a buffer gives the buffer. */
static CUDA_KERNEL_NODE_PARAMS tell_launch(struct sim_launch *launch)
{
    bool has_buffer = launch->extra[0];
    return (CUDA_KERNEL_NODE_PARAMS){
        .func = launch->function,
        .gridDimX = launch->grid[0],
        .gridDimY = launch->grid[1],
        .gridDimZ = launch->grid[2],
        .blockDimX = launch->block[0],
        .blockDimY = launch->block[1],
        .blockDimZ = launch->block[2],
        .sharedMemBytes = launch->shared_bytes,
        .kernelParams = has_buffer ? NULL : launch->pointers,
        .extra = has_buffer ? launch->extra : NULL,
    };
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS *out)
{
    SIM_LOCKED;
    struct sim_node *node;
    CUresult status = find_typed(handle, CU_GRAPH_NODE_TYPE_KERNEL, out, &node);
    if (!status)
        *out = tell_launch(&node->work->launch);
    return status;
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode handle, CUDA_KERNEL_NODE_PARAMS_v1 *out)
{
    CUDA_KERNEL_NODE_PARAMS whole;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = cuGraphKernelNodeGetParams_v2(handle, &whole);
    if (!status)
        memcpy(out, &whole, sizeof *out);
    return status;
}

CUresult cuGraphMemcpyNodeGetParams(CUgraphNode handle, CUDA_MEMCPY3D *out)
{
    SIM_LOCKED;
    struct sim_node *node;
    CUresult status = find_typed(handle, CU_GRAPH_NODE_TYPE_MEMCPY, out, &node);
    if (!status)
        *out = node->work->copy.asked;
    return status;
}

CUresult cuGraphMemsetNodeGetParams(CUgraphNode handle, CUDA_MEMSET_NODE_PARAMS *out)
{
    SIM_LOCKED;
    struct sim_node *node;
    CUresult status = find_typed(handle, CU_GRAPH_NODE_TYPE_MEMSET, out, &node);
    if (status)
        return status;
    const struct sim_fill *fill = &node->work->fill;
    *out = (CUDA_MEMSET_NODE_PARAMS){ .dst = fill->to,
                                      .pitch = fill->pitch_bytes,
                                      .value = fill->value,
                                      .elementSize = fill->element_bytes,
                                      .width = fill->width,
                                      .height = fill->height };
    return CUDA_SUCCESS;
}

CUresult cuGraphHostNodeGetParams(CUgraphNode handle, CUDA_HOST_NODE_PARAMS *out)
{
    SIM_LOCKED;
    struct sim_node *node;
    CUresult status = find_typed(handle, CU_GRAPH_NODE_TYPE_HOST, out, &node);
    if (!status)
        *out = (CUDA_HOST_NODE_PARAMS){ node->work->host.function, node->work->host.data };
    return status;
}

CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode handle, CUgraph *out)
{
    SIM_LOCKED;
    struct sim_node *node;
    CUresult status = find_typed(handle, CU_GRAPH_NODE_TYPE_GRAPH, out, &node);
    if (status || !sim_work_is_child(node->work))
        return status ? status : CUDA_ERROR_INVALID_VALUE;
    *out = (CUgraph)node->work->graph;
    return CUDA_SUCCESS;
}

static CUresult event_of(CUgraphNode handle, CUgraphNodeType type, CUevent *out)
{
    SIM_LOCKED;
    struct sim_node *node;
    CUresult status = find_typed(handle, type, out, &node);
    if (!status)
        *out = (CUevent)node->work->event;
    return status;
}

CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *out)
{
    return event_of(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, out);
}

CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *out)
{
    return event_of(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, out);
}

bool sim_maker_is_fixed(sim_make_work *make)
{
    return !make || make == make_memory || make == make_free || make == sim_condition_work;
}

static CUresult set_node(CUgraphNode handle, sim_make_work *make, const void *params)
{
    SIM_LOCKED;
    struct sim_node *node;
    struct sim_work *work;
    CUresult status = sim_node_find(handle, &node);
    if (!status)
        status = make(params, &work);
    if (status)
        return status;
    if (work->type != node->work->type) {
        sim_work_drop(work);
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_work_drop(node->work);
    node->work = work;
    return CUDA_SUCCESS;
}

#define SETS(function, make, type)                                                                 \
    CUresult function(CUgraphNode node, type made_of)                                              \
    {                                                                                              \
        return set_node(node, make, made_of);                                                      \
    }
SETS(cuGraphKernelNodeSetParams_v2, sim_make_kernel, const CUDA_KERNEL_NODE_PARAMS *)
SETS(cuGraphKernelNodeSetParams, sim_make_kernel_v1, const CUDA_KERNEL_NODE_PARAMS_v1 *)
SETS(cuGraphMemcpyNodeSetParams, sim_make_copy, const CUDA_MEMCPY3D *)
SETS(cuGraphMemsetNodeSetParams, sim_make_fill, const CUDA_MEMSET_NODE_PARAMS *)
SETS(cuGraphHostNodeSetParams, sim_make_host, const CUDA_HOST_NODE_PARAMS *)
SETS(cuGraphEventRecordNodeSetEvent, sim_make_record, CUevent)
SETS(cuGraphEventWaitNodeSetEvent, sim_make_wait, CUevent)
#undef SETS

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
    const void *inner;
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH && params->graph.ownership)
        return CUDA_ERROR_INVALID_VALUE;
    sim_make_work *make = sim_maker_of(params, &inner);
    return sim_maker_is_fixed(make) ? CUDA_ERROR_NOT_SUPPORTED : set_node(node, make, inner);
}
