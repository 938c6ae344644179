/* Graph nodes of any kind by one structure. Each kind has its own call, which is made here. Edges
 * with data are added afterwards. */
#include "config.h"

#include "cuda/client/child_graph_node.h"
#include "cuda/client/client.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

static CUDA_KERNEL_NODE_PARAMS kernel_params_of(const CUDA_KERNEL_NODE_PARAMS_v3 *params)
{
    return (CUDA_KERNEL_NODE_PARAMS){ .func = params->func,
                                      .gridDimX = params->gridDimX,
                                      .gridDimY = params->gridDimY,
                                      .gridDimZ = params->gridDimZ,
                                      .blockDimX = params->blockDimX,
                                      .blockDimY = params->blockDimY,
                                      .blockDimZ = params->blockDimZ,
                                      .sharedMemBytes = params->sharedMemBytes,
                                      .kernelParams = params->kernelParams,
                                      .extra = params->extra,
                                      .kern = params->kern,
                                      .ctx = params->ctx };
}

static CUDA_MEMSET_NODE_PARAMS memset_of(const CUDA_MEMSET_NODE_PARAMS_v2 *params)
{
    return (CUDA_MEMSET_NODE_PARAMS){ .dst = params->dst,
                                      .pitch = params->pitch,
                                      .value = params->value,
                                      .elementSize = params->elementSize,
                                      .width = params->width,
                                      .height = params->height };
}

static CUDA_HOST_NODE_PARAMS host_of(const CUDA_HOST_NODE_PARAMS_v2 *params)
{
    return (CUDA_HOST_NODE_PARAMS){ .fn = params->fn, .userData = params->userData };
}

static CUDA_BATCH_MEM_OP_NODE_PARAMS operations_of(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *params)
{
    return (CUDA_BATCH_MEM_OP_NODE_PARAMS){ .ctx = params->ctx,
                                            .count = params->count,
                                            .paramArray = params->paramArray,
                                            .flags = params->flags };
}

static CUcontext or_current(CUcontext context)
{
    return context ? context : ath_cuda_current_context();
}

/* The memory's address is returned in the structure. */
static CUresult add_alloc(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                          size_t count, CUDA_MEM_ALLOC_NODE_PARAMS_v2 *params)
{
    CUDA_MEM_ALLOC_NODE_PARAMS alloc = { .poolProps = params->poolProps,
                                         .accessDescs = params->accessDescs,
                                         .accessDescCount = params->accessDescCount,
                                         .bytesize = params->bytesize };
    CUresult status =
        ath_cuda_by_hand_cuGraphAddMemAllocNode(node, graph, dependencies, count, &alloc);
    if (!status)
        params->dptr = alloc.dptr;
    return status;
}

static CUresult add_child(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                          size_t count, const CUDA_CHILD_GRAPH_NODE_PARAMS *params)
{
    if (params->ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE)
        return ath_cuda_add_owned_graph(node, graph, dependencies, NULL, count, params);
    return ath_cuda_do_cuGraphAddChildGraphNode(node, graph, dependencies, count, params->graph);
}

static CUgraph graph_at(struct ath_cuda_side *side, struct ath_wire_list list, uint32_t i)
{
    return (CUgraph)(uintptr_t)ath_cuda_to_own(side, ATH_CUDA_KIND_GRAPH,
                                               ath_wire_u64(ath_wire_item(list, i), 0, 0));
}

/* Reads the answer about a conditional node. The program may use the list of its graphs as long as
 * the node exists. */
static CUresult take_conditional(struct ath_cuda_exchange *exchange, CUgraphNode *node,
                                 CUDA_CONDITIONAL_NODE_PARAMS *params)
{
    struct ath_cuda_side *side = &exchange->side;
    struct ath_cuda_wire_graph_add_conditional_node_result answer =
        ath_cuda_wire_answer_graph_add_conditional_node(exchange->answer);
    struct ath_wire_list list = ath_cuda_wire_graph_add_conditional_node_result_graphs(answer);
    if (list.count != params->size)
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    CUgraphNode made = (CUgraphNode)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_GRAPH_NODE,
        ath_cuda_wire_graph_add_conditional_node_result_node(answer));
    ath_cuda_keep_results(exchange, (uintptr_t)made);
    CUgraph *graphs = ath_cuda_room(side, list.count, sizeof *graphs);
    for (uint32_t i = 0; graphs && i < list.count; i++)
        graphs[i] = graph_at(side, list, i);
    if (!graphs)
        return side->status;
    *node = made;
    params->phGraph_out = graphs;
    return CUDA_SUCCESS;
}

static CUresult add_conditional(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                size_t count, CUDA_CONDITIONAL_NODE_PARAMS *params)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athGraphAddConditionalNode);
    if (status)
        return status;
    if (!node || (!dependencies && count))
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    struct ath_cuda_side *side = &exchange.side;
    struct ath_cuda_wire_graph_add_conditional_node_builder call =
        ath_cuda_wire_call_init_graph_add_conditional_node(exchange.call);
    ath_cuda_wire_graph_add_conditional_node_set_graph(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH, (uintptr_t)graph));
    struct ath_wire_array list =
        ath_cuda_wire_graph_add_conditional_node_init_dependencies(call, ath_cuda_items(count));
    for (uint32_t i = 0; dependencies && i < list.count; i++)
        ath_wire_array_set_bits(
            list, i, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)dependencies[i]));
    ath_cuda_wire_graph_add_conditional_node_set_handle(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_CONDITIONAL_HANDLE, params->handle));
    ath_cuda_wire_graph_add_conditional_node_set_type(call, (uint32_t)params->type);
    ath_cuda_wire_graph_add_conditional_node_set_size(call, params->size);
    ath_cuda_wire_graph_add_conditional_node_set_context(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_CONTEXT, (uintptr_t)or_current(params->ctx)));
    status = ath_cuda_ask(&exchange);
    if (!status)
        status = take_conditional(&exchange, node, params);
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_by_hand_cuGraphAddNode(CUgraphNode *node, CUgraph graph,
                                         const CUgraphNode *dependencies, size_t dependency_count,
                                         CUgraphNodeParams *params)
{
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params_of(&params->kernel);
    CUDA_MEMSET_NODE_PARAMS set = memset_of(&params->memset);
    CUDA_HOST_NODE_PARAMS host = host_of(&params->host);
    CUDA_BATCH_MEM_OP_NODE_PARAMS operations = operations_of(&params->memOp);
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return ath_cuda_by_hand_cuGraphAddKernelNode_v2(node, graph, dependencies, dependency_count,
                                                        &kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return ath_cuda_by_hand_cuGraphAddMemcpyNode(node, graph, dependencies, dependency_count,
                                                     &params->memcpy.copyParams,
                                                     or_current(params->memcpy.copyCtx));
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return ath_cuda_do_cuGraphAddMemsetNode(node, graph, dependencies, dependency_count, &set,
                                                or_current(params->memset.ctx));
    case CU_GRAPH_NODE_TYPE_HOST:
        return ath_cuda_by_hand_cuGraphAddHostNode(node, graph, dependencies, dependency_count,
                                                   &host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return add_child(node, graph, dependencies, dependency_count, &params->graph);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return ath_cuda_do_cuGraphAddEmptyNode(node, graph, dependencies, dependency_count);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return ath_cuda_do_cuGraphAddEventWaitNode(node, graph, dependencies, dependency_count,
                                                   params->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return ath_cuda_do_cuGraphAddEventRecordNode(node, graph, dependencies, dependency_count,
                                                     params->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return add_alloc(node, graph, dependencies, dependency_count, &params->alloc);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return ath_cuda_do_cuGraphAddMemFreeNode(node, graph, dependencies, dependency_count,
                                                 params->free.dptr);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return ath_cuda_do_cuGraphAddBatchMemOpNode(node, graph, dependencies, dependency_count,
                                                    &operations);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return add_conditional(node, graph, dependencies, dependency_count, &params->conditional);
    default: /* external semaphores */
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

static CUresult add_edges(CUgraph graph, CUgraphNode node, const CUgraphNode *dependencies,
                          const CUgraphEdgeData *edges, size_t count)
{
    CUresult status = CUDA_SUCCESS;
    for (size_t i = 0; !status && i < count; i++)
        status =
            ath_cuda_do_cuGraphAddDependencies_v2(graph, &dependencies[i], &node, &edges[i], 1);
    return status;
}

CUresult ath_cuda_by_hand_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph,
                                            const CUgraphNode *dependencies,
                                            const CUgraphEdgeData *edges, size_t dependency_count,
                                            CUgraphNodeParams *params)
{
    if (!edges || !params)
        return ath_cuda_by_hand_cuGraphAddNode(node, graph, dependencies, dependency_count, params);
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH && params->graph.ownership)
        return ath_cuda_add_owned_graph(node, graph, dependencies, edges, dependency_count,
                                        &params->graph);
    if (!node || (!dependencies && dependency_count))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = ath_cuda_by_hand_cuGraphAddNode(node, graph, NULL, 0, params);
    if (status)
        return status;
    status = add_edges(graph, *node, dependencies, edges, dependency_count);
    if (status)
        ath_cuda_do_cuGraphDestroyNode(*node);
    return status;
}

CUresult ath_cuda_by_hand_cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params_of(&params->kernel);
    CUDA_MEMSET_NODE_PARAMS set = memset_of(&params->memset);
    CUDA_HOST_NODE_PARAMS host = host_of(&params->host);
    CUDA_BATCH_MEM_OP_NODE_PARAMS operations = operations_of(&params->memOp);
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return ath_cuda_by_hand_cuGraphKernelNodeSetParams_v2(node, &kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return ath_cuda_by_hand_cuGraphMemcpyNodeSetParams(node, &params->memcpy.copyParams);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return ath_cuda_do_cuGraphMemsetNodeSetParams(node, &set);
    case CU_GRAPH_NODE_TYPE_HOST:
        return ath_cuda_by_hand_cuGraphHostNodeSetParams(node, &host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return ath_cuda_set_child(node, &params->graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return ath_cuda_do_cuGraphEventWaitNodeSetEvent(node, params->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return ath_cuda_do_cuGraphEventRecordNodeSetEvent(node, params->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return ath_cuda_do_cuGraphBatchMemOpNodeSetParams(node, &operations);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult ath_cuda_by_hand_cuGraphExecNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                                   CUgraphNodeParams *params)
{
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params_of(&params->kernel);
    CUDA_MEMSET_NODE_PARAMS set = memset_of(&params->memset);
    CUDA_HOST_NODE_PARAMS host = host_of(&params->host);
    CUDA_BATCH_MEM_OP_NODE_PARAMS operations = operations_of(&params->memOp);
    switch ((int)params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return ath_cuda_by_hand_cuGraphExecKernelNodeSetParams_v2(graph_exec, node, &kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return ath_cuda_by_hand_cuGraphExecMemcpyNodeSetParams(
            graph_exec, node, &params->memcpy.copyParams, or_current(params->memcpy.copyCtx));
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return ath_cuda_do_cuGraphExecMemsetNodeSetParams(graph_exec, node, &set,
                                                          or_current(params->memset.ctx));
    case CU_GRAPH_NODE_TYPE_HOST:
        return ath_cuda_by_hand_cuGraphExecHostNodeSetParams(graph_exec, node, &host);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return ath_cuda_exec_set_child(graph_exec, node, &params->graph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return ath_cuda_do_cuGraphExecEventWaitNodeSetEvent(graph_exec, node,
                                                            params->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return ath_cuda_do_cuGraphExecEventRecordNodeSetEvent(graph_exec, node,
                                                              params->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return ath_cuda_do_cuGraphExecBatchMemOpNodeSetParams(graph_exec, node, &operations);
    default:
        return CUDA_ERROR_NOT_SUPPORTED;
    }
}
