/* Graphs: making, copying and ending them and their nodes. */
#include "config.h"

#include "sim/graph.h"

#include <stdlib.h>

#include "sim/device.h"
#include "sim/graph_edges.h"
#include "sim/work.h"

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
        CUresult status =
            sim_node_needs(node, before[i]) ? CUDA_SUCCESS : sim_node_add_need(node, before[i]);
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
            status =
                sim_node_add_need(copy->nodes[i], copy->nodes[graph->nodes[i]->needs[k]->order]);
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
