/* The edges between the nodes of a graph, and lists of nodes for a program. */
#include "config.h"

#include "sim/graph_edges.h"

#include <stdlib.h>
#include <string.h>

#include "sim/graph.h"
#include "sim/work.h"

bool sim_node_needs(const struct sim_node *node, const struct sim_node *other)
{
    for (size_t i = 0; i < node->need_count; i++)
        if (node->needs[i] == other)
            return true;
    return false;
}

CUresult sim_node_add_need(struct sim_node *node, struct sim_node *other)
{
    struct sim_node **grown = realloc(node->needs, (node->need_count + 1) * sizeof *node->needs);
    if (!grown)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->needs = grown;
    node->needs[node->need_count++] = other;
    return CUDA_SUCCESS;
}

/*
 * Returns handles as CUDA does. On entry *count is the size of the caller's array, on return the
 * number of handles. Without an array only the number is returned. Unused places become NULL.
 */
struct handout {
    CUgraphNode *items;
    size_t room, count;
};

static struct handout begin_handout(CUgraphNode *items, const size_t *count)
{
    return (struct handout){ items, items ? *count : 0, 0 };
}

static void hand_out(struct handout *to, const struct sim_node *node)
{
    if (to->count < to->room)
        to->items[to->count] = (CUgraphNode)(uintptr_t)node;
    to->count++;
}

static void end_handout(const struct handout *to, size_t *count)
{
    for (size_t i = to->count; i < to->room; i++)
        to->items[i] = NULL;
    *count = to->items && to->count > to->room ? to->room : to->count;
}

static CUresult list_nodes(CUgraph handle, CUgraphNode *nodes, size_t *count, bool roots_only)
{
    SIM_LOCKED;
    struct sim_graph *graph;
    CUresult status = sim_graph_find(handle, &graph);
    if (status)
        return status;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    struct handout to = begin_handout(nodes, count);
    for (size_t i = 0; i < graph->count; i++)
        if (!roots_only || !graph->nodes[i]->need_count)
            hand_out(&to, graph->nodes[i]);
    end_handout(&to, count);
    return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return list_nodes(graph, nodes, count, false);
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
    return list_nodes(graph, nodes, count, true);
}

/* All edges are plain, without data. */
static void clear_edges(CUgraphEdgeData *edges, size_t count)
{
    if (edges)
        memset(edges, 0, count * sizeof *edges);
}

bool sim_edges_are_plain(const CUgraphEdgeData *edges, size_t count)
{
    static const CUgraphEdgeData plain;
    for (size_t i = 0; edges && i < count; i++)
        if (memcmp(&edges[i], &plain, sizeof plain) != 0)
            return false;
    return true;
}

CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *edges, size_t *count)
{
    SIM_LOCKED;
    struct sim_graph *graph;
    CUresult status = sim_graph_find(handle, &graph);
    if (status)
        return status;
    if (!count || !from != !to)
        return CUDA_ERROR_INVALID_VALUE;
    struct handout from_out = begin_handout(from, count), to_out = begin_handout(to, count);
    for (size_t i = 0; i < graph->count; i++)
        for (size_t k = 0; k < graph->nodes[i]->need_count; k++) {
            hand_out(&from_out, graph->nodes[i]->needs[k]);
            hand_out(&to_out, graph->nodes[i]);
        }
    end_handout(&from_out, count);
    end_handout(&to_out, count);
    clear_edges(from ? edges : NULL, *count);
    return CUDA_SUCCESS;
}

CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
    return cuGraphGetEdges_v2(graph, from, to, NULL, count);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode *nodes,
                                       CUgraphEdgeData *edges, size_t *count)
{
    SIM_LOCKED;
    struct sim_node *node;
    CUresult status = sim_node_find(handle, &node);
    if (status)
        return status;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    struct handout to = begin_handout(nodes, count);
    for (size_t i = 0; i < node->need_count; i++)
        hand_out(&to, node->needs[i]);
    end_handout(&to, count);
    clear_edges(nodes ? edges : NULL, *count);
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return cuGraphNodeGetDependencies_v2(node, nodes, NULL, count);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode *nodes,
                                         CUgraphEdgeData *edges, size_t *count)
{
    SIM_LOCKED;
    struct sim_node *node;
    CUresult status = sim_node_find(handle, &node);
    if (status)
        return status;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    struct handout to = begin_handout(nodes, count);
    for (size_t i = 0; i < node->graph->count; i++)
        if (sim_node_needs(node->graph->nodes[i], node))
            hand_out(&to, node->graph->nodes[i]);
    end_handout(&to, count);
    clear_edges(nodes ? edges : NULL, *count);
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count)
{
    return cuGraphNodeGetDependentNodes_v2(node, nodes, NULL, count);
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
    SIM_LOCKED;
    struct sim_node *node;
    CUresult status = sim_node_find(handle, &node);
    if (status)
        return status;
    if (!type)
        return CUDA_ERROR_INVALID_VALUE;
    *type = node->work->type;
    return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t count)
{
    SIM_LOCKED;
    struct sim_graph *graph;
    CUresult status = sim_graph_find(handle, &graph);
    if (status)
        return status;
    if (!sim_nodes_are_of(graph, from, count) || !sim_nodes_are_of(graph, to, count) ||
        !sim_edges_are_plain(edges, count))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !status && i < count; i++) {
        struct sim_node *node = (struct sim_node *)to[i], *before = (struct sim_node *)from[i];
        status = node == before || sim_node_needs(node, before) ? CUDA_ERROR_INVALID_VALUE
                                                                : sim_node_add_need(node, before);
    }
    return status;
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                size_t count)
{
    return cuGraphAddDependencies_v2(graph, from, to, NULL, count);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph handle, const CUgraphNode *from,
                                      const CUgraphNode *to, const CUgraphEdgeData *edges,
                                      size_t count)
{
    SIM_LOCKED;
    struct sim_graph *graph;
    CUresult status = sim_graph_find(handle, &graph);
    if (status)
        return status;
    if (!sim_nodes_are_of(graph, from, count) || !sim_nodes_are_of(graph, to, count) ||
        !sim_edges_are_plain(edges, count))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        struct sim_node *node = (struct sim_node *)to[i];
        size_t at = 0;
        while (at < node->need_count && node->needs[at] != (struct sim_node *)from[i])
            at++;
        if (at == node->need_count)
            return CUDA_ERROR_INVALID_VALUE;
        node->needs[at] = node->needs[--node->need_count];
    }
    return CUDA_SUCCESS;
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t count)
{
    return cuGraphRemoveDependencies_v2(graph, from, to, NULL, count);
}
