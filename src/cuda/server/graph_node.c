/* The server's side of graph nodes that only cuGraphAddNode() makes: child graphs with an owner,
 * and conditional nodes. */
#include "config.h"

#include "cuda/server/served_call.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire.h"

static CUgraphNode node_of(struct ath_cuda_side *side, uint64_t wire)
{
    return (CUgraphNode)(uintptr_t)ath_cuda_to_own(side, ATH_CUDA_KIND_GRAPH_NODE, wire);
}

static CUgraph graph_of(struct ath_cuda_side *side, uint64_t wire)
{
    return (CUgraph)(uintptr_t)ath_cuda_to_own(side, ATH_CUDA_KIND_GRAPH, wire);
}

static CUgraphNode *nodes_of(struct ath_cuda_side *side, struct ath_wire_list list)
{
    CUgraphNode *nodes = ath_cuda_room(side, list.count, sizeof *nodes);
    for (uint32_t i = 0; nodes && i < list.count; i++)
        nodes[i] = node_of(side, ath_wire_u64(ath_wire_item(list, i), 0, 0));
    return nodes;
}

/* Returns NULL for an empty list: edges without data. */
static CUgraphEdgeData *edges_of(struct ath_cuda_side *side, struct ath_wire_list list)
{
    CUgraphEdgeData *edges = list.count ? ath_cuda_room(side, list.count, sizeof *edges) : NULL;
    for (uint32_t i = 0; edges && i < list.count; i++)
        ath_cuda_get_graph_edge_data(
            side, &edges[i],
            (struct ath_cuda_wire_graph_edge_data){ ath_wire_list_struct(list, i) });
    return edges;
}

/* ---- child graphs with an owner ---- */

static CUgraphNodeParams child_of(struct ath_cuda_side *side, uint64_t child, int32_t ownership)
{
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_GRAPH };
    params.graph.graph = graph_of(side, child);
    params.graph.ownership = (CUgraphChildGraphNodeOwnership)ownership;
    return params;
}

void ath_cuda_serve_athGraphAddOwnedNode(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphAddNode_v2)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_graph_add_owned_node call =
        ath_cuda_wire_call_graph_add_owned_node(served->call);
    struct ath_wire_list list = ath_cuda_wire_graph_add_owned_node_dependencies(call);
    struct ath_wire_list edge_list = ath_cuda_wire_graph_add_owned_node_edges(call);
    CUgraphNode *dependencies = nodes_of(side, list), node = NULL;
    CUgraphEdgeData *edges = edges_of(side, edge_list);
    CUgraph graph = graph_of(side, ath_cuda_wire_graph_add_owned_node_graph(call));
    CUgraphNodeParams params = child_of(side, ath_cuda_wire_graph_add_owned_node_child(call),
                                        ath_cuda_wire_graph_add_owned_node_ownership(call));
    if (edge_list.count && edge_list.count != list.count)
        side->status = CUDA_ERROR_INVALID_VALUE;
    if (ath_cuda_refused(served))
        return;
    served->status =
        served->driver->cuGraphAddNode_v2(&node, graph, dependencies, edges, list.count, &params);
    if (!served->status)
        ath_cuda_wire_graph_add_owned_node_result_set_node(
            ath_cuda_wire_answer_init_graph_add_owned_node(served->answer),
            ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
}

void ath_cuda_serve_athGraphSetChild(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphNodeSetParams)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_graph_set_child call = ath_cuda_wire_call_graph_set_child(served->call);
    CUgraphNode node = node_of(side, ath_cuda_wire_graph_set_child_node(call));
    CUgraphNodeParams params = child_of(side, ath_cuda_wire_graph_set_child_child(call),
                                        ath_cuda_wire_graph_set_child_ownership(call));
    if (!ath_cuda_refused(served))
        served->status = served->driver->cuGraphNodeSetParams(node, &params);
}

void ath_cuda_serve_athGraphExecSetChild(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphExecNodeSetParams)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_graph_exec_set_child call =
        ath_cuda_wire_call_graph_exec_set_child(served->call);
    CUgraphExec exec = (CUgraphExec)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_GRAPH_EXEC, ath_cuda_wire_graph_exec_set_child_graph_exec(call));
    CUgraphNode node = node_of(side, ath_cuda_wire_graph_exec_set_child_node(call));
    CUgraphNodeParams params = child_of(side, ath_cuda_wire_graph_exec_set_child_child(call),
                                        ath_cuda_wire_graph_exec_set_child_ownership(call));
    if (!ath_cuda_refused(served))
        served->status = served->driver->cuGraphExecNodeSetParams(exec, node, &params);
}

/* ---- conditional nodes ---- */

/* The driver makes the graphs of a conditional node and returns a pointer to their list. */
void ath_cuda_serve_athGraphAddConditionalNode(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphAddNode)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_graph_add_conditional_node call =
        ath_cuda_wire_call_graph_add_conditional_node(served->call);
    struct ath_wire_list list = ath_cuda_wire_graph_add_conditional_node_dependencies(call);
    CUgraphNode *dependencies = nodes_of(side, list), node = NULL;
    CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
    params.conditional = (CUDA_CONDITIONAL_NODE_PARAMS){
        .handle = ath_cuda_to_own(side, ATH_CUDA_KIND_GRAPH_CONDITIONAL_HANDLE,
                                  ath_cuda_wire_graph_add_conditional_node_handle(call)),
        .type = (CUgraphConditionalNodeType)ath_cuda_wire_graph_add_conditional_node_type(call),
        .size = ath_cuda_wire_graph_add_conditional_node_size(call),
        .ctx = (CUcontext)(uintptr_t)ath_cuda_to_own(
            side, ATH_CUDA_KIND_CONTEXT, ath_cuda_wire_graph_add_conditional_node_context(call)),
    };
    CUgraph graph = (CUgraph)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_GRAPH, ath_cuda_wire_graph_add_conditional_node_graph(call));
    if (ath_cuda_refused(served))
        return;
    served->status =
        served->driver->cuGraphAddNode(&node, graph, dependencies, list.count, &params);
    if (served->status)
        return;
    struct ath_cuda_wire_graph_add_conditional_node_result_builder answer =
        ath_cuda_wire_answer_init_graph_add_conditional_node(served->answer);
    ath_cuda_wire_graph_add_conditional_node_result_set_node(
        answer, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
    const CUgraph *graphs = params.conditional.phGraph_out;
    struct ath_wire_array answers = ath_cuda_wire_graph_add_conditional_node_result_init_graphs(
        answer, graphs ? ath_cuda_items(params.conditional.size) : 0);
    for (uint32_t i = 0; graphs && i < answers.count; i++)
        ath_wire_array_set_bits(answers, i,
                                ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH, (uintptr_t)graphs[i]));
}
