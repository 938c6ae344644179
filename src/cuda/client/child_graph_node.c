/* Child graph nodes whose graph has an owner: CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE gives the child
 * to the parent, whose nodes keep their handles. The driver judges all other values. */
#include "config.h"

#include "cuda/client/child_graph_node.h"

#include "cuda/client/client.h"
#include "proto/cuda-client.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire.h"

static void put_edges(struct ath_cuda_side *side,
                      struct ath_cuda_wire_graph_add_owned_node_builder call,
                      const CUgraphEdgeData *edges, size_t count)
{
    struct ath_wire_array list =
        ath_cuda_wire_graph_add_owned_node_init_edges(call, ath_cuda_items(count));
    for (uint32_t i = 0; i < list.count; i++)
        ath_cuda_put_graph_edge_data(
            side, (struct ath_cuda_wire_graph_edge_data_builder){ ath_wire_array_struct(list, i) },
            &edges[i]);
}

CUresult ath_cuda_add_owned_graph(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  const CUgraphEdgeData *edges, size_t count,
                                  const CUDA_CHILD_GRAPH_NODE_PARAMS *params)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athGraphAddOwnedNode);
    if (status)
        return status;
    if (!node || (!dependencies && count))
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    struct ath_cuda_side *side = &exchange.side;
    struct ath_cuda_wire_graph_add_owned_node_builder call =
        ath_cuda_wire_call_init_graph_add_owned_node(exchange.call);
    ath_cuda_wire_graph_add_owned_node_set_graph(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH, (uintptr_t)graph));
    struct ath_wire_array list =
        ath_cuda_wire_graph_add_owned_node_init_dependencies(call, ath_cuda_items(count));
    for (uint32_t i = 0; dependencies && i < list.count; i++)
        ath_wire_array_set_bits(
            list, i, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)dependencies[i]));
    if (edges)
        put_edges(side, call, edges, count);
    ath_cuda_wire_graph_add_owned_node_set_child(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH, (uintptr_t)params->graph));
    ath_cuda_wire_graph_add_owned_node_set_ownership(call, (int32_t)params->ownership);
    status = ath_cuda_ask(&exchange);
    if (!status)
        *node = (CUgraphNode)(uintptr_t)ath_cuda_to_own(
            side, ATH_CUDA_KIND_GRAPH_NODE,
            ath_cuda_wire_graph_add_owned_node_result_node(
                ath_cuda_wire_answer_graph_add_owned_node(exchange.answer)));
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_set_child(CUgraphNode node, const CUDA_CHILD_GRAPH_NODE_PARAMS *params)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athGraphSetChild);
    if (status)
        return status;
    struct ath_cuda_side *side = &exchange.side;
    struct ath_cuda_wire_graph_set_child_builder call =
        ath_cuda_wire_call_init_graph_set_child(exchange.call);
    ath_cuda_wire_graph_set_child_set_node(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
    ath_cuda_wire_graph_set_child_set_child(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH, (uintptr_t)params->graph));
    ath_cuda_wire_graph_set_child_set_ownership(call, (int32_t)params->ownership);
    return ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
}

CUresult ath_cuda_exec_set_child(CUgraphExec graph_exec, CUgraphNode node,
                                 const CUDA_CHILD_GRAPH_NODE_PARAMS *params)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athGraphExecSetChild);
    if (status)
        return status;
    struct ath_cuda_side *side = &exchange.side;
    struct ath_cuda_wire_graph_exec_set_child_builder call =
        ath_cuda_wire_call_init_graph_exec_set_child(exchange.call);
    ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_GRAPH_EXEC, (uintptr_t)graph_exec);
    ath_cuda_wire_graph_exec_set_child_set_graph_exec(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_EXEC, (uintptr_t)graph_exec));
    ath_cuda_wire_graph_exec_set_child_set_node(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
    ath_cuda_wire_graph_exec_set_child_set_child(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH, (uintptr_t)params->graph));
    ath_cuda_wire_graph_exec_set_child_set_ownership(call, (int32_t)params->ownership);
    return ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
}
