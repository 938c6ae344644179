/* Graphs with their nodes and edges. */
#include "config.h"

#include "sim/graph.h"

#include <stdlib.h>
#include <string.h>

#include "sim/device.h"
#include "sim/work.h"

/* ---- graphs and nodes ---- */

CUresult sim_graph_new(struct sim_graph **out)
{
    *out = sim_object_new(SIM_GRAPH, NULL, sizeof **out);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void end_holds(struct sim_hold *holds)
{
    for (struct sim_hold *hold = holds, *next; hold; hold = next) {
        next = hold->next;
        sim_work_drop(hold->work);
        free(hold);
    }
}

/* Takes over the reference to work, also on failure. work NULL returns CUDA_ERROR_OUT_OF_MEMORY. */
CUresult sim_graph_hold(struct sim_graph *graph, struct sim_work *work)
{
    struct sim_hold *hold = work ? calloc(1, sizeof *hold) : NULL;
    if (!hold) {
        sim_work_drop(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *hold = (struct sim_hold){ work, graph->holds };
    graph->holds = hold;
    return CUDA_SUCCESS;
}

size_t sim_graph_count_holds(const struct sim_graph *graph, const struct sim_user_object *object)
{
    size_t count = 0;
    for (const struct sim_hold *hold = graph->holds; hold; hold = hold->next)
        count += !object || hold->work->user_object == object;
    return count;
}

void sim_graph_drop_hold(struct sim_graph *graph, const struct sim_user_object *object)
{
    struct sim_hold **at = &graph->holds;
    while (*at && (*at)->work->user_object != object)
        at = &(*at)->next;
    struct sim_hold *found = *at;
    if (!found)
        return;
    *at = found->next;
    found->next = NULL;
    end_holds(found);
}

static void free_node(struct sim_node *node)
{
    sim_object_forget(&node->object);
    sim_work_drop(node->work);
    free(node->needs);
    free(node);
}

void sim_graph_end(struct sim_graph *graph)
{
    for (size_t i = 0; i < graph->count; i++)
        free_node(graph->nodes[i]);
    end_holds(graph->holds);
    sim_object_forget(&graph->object);
    free(graph->nodes);
    free(graph);
}

static bool needs(const struct sim_node *node, const struct sim_node *other)
{
    for (size_t i = 0; i < node->need_count; i++)
        if (node->needs[i] == other)
            return true;
    return false;
}

static CUresult add_need(struct sim_node *node, struct sim_node *other)
{
    struct sim_node **grown = realloc(node->needs, (node->need_count + 1) * sizeof *node->needs);
    if (!grown)
        return CUDA_ERROR_OUT_OF_MEMORY;
    node->needs = grown;
    node->needs[node->need_count++] = other;
    return CUDA_SUCCESS;
}

static bool make_room(struct sim_graph *graph)
{
    if (graph->count < graph->room)
        return true;
    size_t room = graph->room ? 2 * graph->room : 16;
    struct sim_node **grown = realloc(graph->nodes, room * sizeof *grown);
    if (!grown)
        return false;
    graph->nodes = grown;
    graph->room = room;
    return true;
}

CUresult sim_node_add(struct sim_graph *graph, struct sim_node *const *before, size_t need_count,
                      struct sim_work *work, struct sim_node **out)
{
    struct sim_node *node = make_room(graph) ? sim_object_new(SIM_NODE, NULL, sizeof *node) : NULL;
    if (!node) {
        sim_work_drop(work);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    node->graph = graph;
    node->work = work;
    for (size_t i = 0; i < need_count; i++) {
        CUresult status = needs(node, before[i]) ? CUDA_SUCCESS : add_need(node, before[i]);
        if (status) {
            free_node(node);
            return status;
        }
    }
    graph->nodes[graph->count++] = node;
    *out = node;
    return CUDA_SUCCESS;
}

bool sim_nodes_are_of(const struct sim_graph *graph, const CUgraphNode *nodes, size_t count)
{
    if (count && !nodes)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct sim_node *node = sim_object_find(SIM_NODE, nodes[i]);
        if (!node || node->graph != graph)
            return false;
    }
    return true;
}

bool sim_graph_sort(struct sim_graph *graph)
{
    size_t placed = 0, before;
    for (size_t i = 0; i < graph->count; i++)
        graph->nodes[i]->order = 0;
    do {
        before = placed;
        for (size_t i = 0; i < graph->count; i++) {
            struct sim_node *node = graph->nodes[i];
            bool is_free = !node->order;
            for (size_t k = 0; k < node->need_count && is_free; k++)
                is_free = node->needs[k]->order != 0;
            if (is_free)
                node->order = ++placed;
        }
    } while (placed > before && placed < graph->count);
    return placed == graph->count;
}

static void end_child(struct sim_work *work)
{
    sim_graph_end(work->graph);
}

bool sim_work_is_child(const struct sim_work *work)
{
    return work->end == end_child;
}

static CUresult copy_graph(const struct sim_graph *graph, struct sim_graph **out);

CUresult sim_graph_hold_copy(const struct sim_graph *graph, struct sim_work *work)
{
    CUresult status = copy_graph(graph, &work->graph);
    if (status) {
        sim_work_drop(work);
        return status;
    }
    work->graph->is_child = true;
    work->end = end_child;
    return CUDA_SUCCESS;
}

CUresult sim_graph_hold_moved(struct sim_graph *graph, struct sim_work *work)
{
    graph->is_child = graph->is_moved = true;
    work->graph = graph;
    work->end = end_child;
    return CUDA_SUCCESS;
}

/* A child graph gets its own copy of nodes; all other work is shared. */
static CUresult copy_work(struct sim_work *work, struct sim_work **out)
{
    if (!sim_work_is_child(work)) {
        *out = sim_work_ref(work);
        return CUDA_SUCCESS;
    }
    *out = sim_work_new(CU_GRAPH_NODE_TYPE_GRAPH, sim_run_nothing, NULL);
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return sim_graph_hold_copy(work->graph, *out);
}

static CUresult copy_graph(const struct sim_graph *graph, struct sim_graph **out)
{
    struct sim_graph *copy;
    CUresult status = sim_graph_new(&copy);
    if (status)
        return status;
    for (size_t i = 0; !status && i < graph->count; i++) {
        struct sim_work *work;
        struct sim_node *node;
        graph->nodes[i]->order = i;
        status = copy_work(graph->nodes[i]->work, &work);
        if (!status)
            status = sim_node_add(copy, NULL, 0, work, &node);
        if (!status)
            node->copied_from = graph->nodes[i];
    }
    for (const struct sim_hold *hold = graph->holds; !status && hold; hold = hold->next)
        status = sim_graph_hold(copy, sim_work_ref(hold->work));
    for (size_t i = 0; !status && i < graph->count; i++)
        for (size_t k = 0; !status && k < graph->nodes[i]->need_count; k++)
            status = add_need(copy->nodes[i], copy->nodes[graph->nodes[i]->needs[k]->order]);
    if (status)
        sim_graph_end(copy);
    else
        *out = copy;
    return status;
}

CUresult sim_graph_find(CUgraph handle, struct sim_graph **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    *out = sim_object_find(SIM_GRAPH, handle);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_node_find(CUgraphNode handle, struct sim_node **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    *out = sim_object_find(SIM_NODE, handle);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphCreate(CUgraph *out, unsigned int flags)
{
    SIM_LOCKED;
    struct sim_graph *graph;
    CUresult status = sim_enter_driver();
    if (!status && (!out || flags))
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = sim_graph_new(&graph);
    if (!status)
        *out = (CUgraph)graph;
    return status;
}

CUresult cuGraphDestroy(CUgraph handle)
{
    SIM_LOCKED;
    struct sim_graph *graph;
    CUresult status = sim_graph_find(handle, &graph);
    if (!status && (graph->is_held || graph->is_body || graph->is_child))
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        sim_graph_end(graph);
    return status;
}

CUresult cuGraphClone(CUgraph *out, CUgraph handle)
{
    SIM_LOCKED;
    struct sim_graph *graph, *copy;
    CUresult status = sim_graph_find(handle, &graph);
    if (!status && !out)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = copy_graph(graph, &copy);
    if (!status)
        *out = (CUgraph)copy;
    return status;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode original, CUgraph handle)
{
    SIM_LOCKED;
    struct sim_graph *graph;
    CUresult status = sim_graph_find(handle, &graph);
    if (status)
        return status;
    for (size_t i = 0; out && i < graph->count; i++)
        if (graph->nodes[i]->copied_from == (const struct sim_node *)original) {
            *out = (CUgraphNode)graph->nodes[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphDestroyNode(CUgraphNode handle)
{
    SIM_LOCKED;
    struct sim_node *node;
    CUresult status = sim_node_find(handle, &node);
    if (status)
        return status;
    struct sim_graph *graph = node->graph;
    size_t kept = 0;
    for (size_t i = 0; i < graph->count; i++) {
        struct sim_node *other = graph->nodes[i];
        size_t need_count = 0;
        if (other == node)
            continue;
        for (size_t k = 0; k < other->need_count; k++)
            if (other->needs[k] != node)
                other->needs[need_count++] = other->needs[k];
        other->need_count = need_count;
        graph->nodes[kept++] = other;
    }
    graph->count = kept;
    free_node(node);
    return CUDA_SUCCESS;
}

/* ---- queries about a graph ---- */

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
        if (needs(node->graph->nodes[i], node))
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
        status = node == before || needs(node, before) ? CUDA_ERROR_INVALID_VALUE
                                                       : add_need(node, before);
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
