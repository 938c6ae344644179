/*
 * Graphs. A launch runs the nodes one after another in its stream, in an order that their edges
 * allow.
 */
#include "config.h"

#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* The list that a launch runs: works in order, followed by the works that hold objects. The list
 * does not change while a launch has a reference to it. */
struct sim_list {
    unsigned int refs;
    size_t count, hold_count;
    struct item {
        struct sim_work *work;
        const struct sim_node *node; /* identifies the node; never dereferenced */
        bool is_disabled;
        size_t inside; /* works of a child graph: the next items */
    } items[];
};

/* A reference that a graph, its copies and their launches keep to an object of the program. */
struct sim_hold {
    struct sim_work *work; /* its end() drops one reference */
    struct sim_hold *next;
};

struct sim_exec {
    struct sim_object object;
    struct sim_list *list;
    unsigned long long flags;
    struct sim_mark *last; /* of the newest launch; the next launch waits for it */
};

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

/* Numbers the nodes in an order that their edges allow. Returns false if there is a cycle. */
static bool sort(struct sim_graph *graph)
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

static CUresult copy_graph(const struct sim_graph *graph, struct sim_graph **out);

/* Makes work the work of a child graph; ends it on failure. */
static CUresult hold_copy(const struct sim_graph *graph, struct sim_work *work)
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

/* A child graph gets its own copy of nodes; all other work is shared. */
static CUresult copy_work(struct sim_work *work, struct sim_work **out)
{
    if (work->end != end_child) {
        *out = sim_work_ref(work);
        return CUDA_SUCCESS;
    }
    *out = sim_work_new(CU_GRAPH_NODE_TYPE_GRAPH, sim_run_nothing, NULL);
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    return hold_copy(work->graph, *out);
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

static CUresult find_node(CUgraphNode handle, struct sim_node **out)
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
    CUresult status = find_node(handle, &node);
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

static bool are_plain(const CUgraphEdgeData *edges, size_t count)
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
    CUresult status = find_node(handle, &node);
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
    CUresult status = find_node(handle, &node);
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
    CUresult status = find_node(handle, &node);
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
        !are_plain(edges, count))
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
        !are_plain(edges, count))
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

/* ---- adding nodes ---- */

/* Makes the work of one kind of node from the caller's structure. */
typedef CUresult make_work(const void *params, struct sim_work **out);

static CUresult make_kernel(const void *params, struct sim_work **out)
{
    return params ? sim_launch_work(params, out) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult make_kernel_v1(const void *params, struct sim_work **out)
{
    CUDA_KERNEL_NODE_PARAMS whole = { 0 };
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&whole, params, sizeof(CUDA_KERNEL_NODE_PARAMS_v1)); /* the same except for its end */
    return sim_launch_work(&whole, out);
}

static CUresult make_copy(const void *params, struct sim_work **out)
{
    return sim_copy_work(params, out);
}

static CUresult make_fill(const void *params, struct sim_work **out)
{
    const CUDA_MEMSET_NODE_PARAMS *asked = params;
    if (!asked)
        return CUDA_ERROR_INVALID_VALUE;
    const struct sim_fill fill = { asked->dst,    asked->pitch, asked->width,
                                   asked->height, asked->value, asked->elementSize };
    return sim_fill_work(&fill, out);
}

static CUresult make_host(const void *params, struct sim_work **out)
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
        if (work->type == type || (work->end == end_child && has_type(work->graph, type)))
            return true;
    }
    return false;
}

static bool has_memory(const struct sim_graph *graph)
{
    return has_type(graph, CU_GRAPH_NODE_TYPE_MEM_ALLOC) ||
           has_type(graph, CU_GRAPH_NODE_TYPE_MEM_FREE);
}

/* The child is moved (cuda.h, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE): its nodes keep their handles.
 */
static CUresult hold_moved(struct sim_graph *graph, struct sim_work *work)
{
    graph->is_child = graph->is_moved = true;
    work->graph = graph;
    work->end = end_child;
    return CUDA_SUCCESS;
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
    return is_move ? hold_moved(graph, *out) : hold_copy(graph, *out);
}

/* A graph cannot be moved into itself or into a child of its own. */
static bool is_inside(const struct sim_graph *graph, const struct sim_graph *outer)
{
    bool found = graph == outer;
    for (size_t i = 0; i < outer->count && !found; i++)
        found = outer->nodes[i]->work->end == end_child &&
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

static CUresult make_record(const void *params, struct sim_work **out)
{
    return sim_event_work((CUevent)(uintptr_t)params, false, out);
}

static CUresult make_wait(const void *params, struct sim_work **out)
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
static bool is_refused(const struct sim_graph *graph, make_work *make)
{
    return graph->is_moved && (make == make_memory || make == make_free);
}

static CUresult add_node(CUgraphNode *out, CUgraph handle, const CUgraphNode *before, size_t count,
                         make_work *make, const void *params)
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

CUresult cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS *params)
{
    return add_node(out, graph, before, count, make_kernel, params);
}

CUresult cuGraphAddKernelNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                              size_t count, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    return add_node(out, graph, before, count, make_kernel_v1, params);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                              size_t count, const CUDA_MEMCPY3D *params, CUcontext context)
{
    (void)context;
    return add_node(out, graph, before, count, make_copy, params);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS *params,
                              CUcontext context)
{
    (void)context;
    return add_node(out, graph, before, count, make_fill, params);
}

CUresult cuGraphAddHostNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                            size_t count, const CUDA_HOST_NODE_PARAMS *params)
{
    return add_node(out, graph, before, count, make_host, params);
}

CUresult cuGraphAddEmptyNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                             size_t count)
{
    return add_node(out, graph, before, count, make_empty, NULL);
}

CUresult cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                                  size_t count, CUgraph child)
{
    const CUDA_CHILD_GRAPH_NODE_PARAMS params = { .graph = child };
    return add_node(out, graph, before, count, make_child, &params);
}

CUresult cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                                size_t count, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    return add_node(out, graph, before, count, make_memory, params);
}

CUresult cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                               size_t count, CUdeviceptr address)
{
    return add_node(out, graph, before, count, make_free, &address);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                                   size_t count, CUevent event)
{
    return add_node(out, graph, before, count, make_record, event);
}

CUresult cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph graph, const CUgraphNode *before,
                                 size_t count, CUevent event)
{
    return add_node(out, graph, before, count, make_wait, event);
}

/* Finds the function for a general description of a node; NULL: this kind is not simulated. */
static make_work *maker_of(const CUgraphNodeParams *params, const void **out)
{
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        *out = &params->kernel;
        return make_kernel;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        *out = &params->memcpy.copyParams;
        return make_copy;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        *out = &params->memset;
        return make_fill;
    case CU_GRAPH_NODE_TYPE_HOST:
        *out = &params->host;
        return make_host;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        *out = &params->graph;
        return make_child;
    case CU_GRAPH_NODE_TYPE_EMPTY:
        *out = NULL;
        return make_empty;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        *out = params->eventRecord.event;
        return make_record;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        *out = &params->conditional;
        return sim_condition_work;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        *out = params->eventWait.event;
        return make_wait;
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
    if (!params || !are_plain(edges, count) || is_moved_into_itself(graph, params))
        return CUDA_ERROR_INVALID_VALUE;
    make_work *make = maker_of(params, &inner);
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
    CUresult status = find_node(handle, out);
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
    if (status || node->work->end != end_child)
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

/* Memory nodes cannot be changed (cuda.h, cuGraphNodeSetParams). */
static bool is_fixed(make_work *make)
{
    return !make || make == make_memory || make == make_free || make == sim_condition_work;
}

static CUresult set_node(CUgraphNode handle, make_work *make, const void *params)
{
    SIM_LOCKED;
    struct sim_node *node;
    struct sim_work *work;
    CUresult status = find_node(handle, &node);
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

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    return set_node(node, make_kernel, params);
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    return set_node(node, make_kernel_v1, params);
}

CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params)
{
    return set_node(node, make_copy, params);
}

CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params)
{
    return set_node(node, make_fill, params);
}

CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params)
{
    return set_node(node, make_host, params);
}

CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
    return set_node(node, make_record, event);
}

CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
    return set_node(node, make_wait, event);
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params)
{
    const void *inner;
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH && params->graph.ownership)
        return CUDA_ERROR_INVALID_VALUE;
    make_work *make = maker_of(params, &inner);
    return is_fixed(make) ? CUDA_ERROR_NOT_SUPPORTED : set_node(node, make, inner);
}

/* ---- launching ---- */

void sim_list_drop(struct sim_list *list)
{
    if (!list || --list->refs)
        return;
    for (size_t i = 0; i < list->count + list->hold_count; i++)
        sim_work_drop(list->items[i].work);
    free(list);
}

/* Returns the number of works and holds of a graph and its children. */
static size_t count_works(const struct sim_graph *graph)
{
    size_t count = sim_graph_count_holds(graph, NULL);
    for (size_t i = 0; i < graph->count; i++) {
        const struct sim_work *work = graph->nodes[i]->work;
        count += 1 + (work->end == end_child ? count_works(work->graph) : 0);
    }
    return count;
}

/* Adds the graph's works, and in place of a child node the works of the child. Returns false if
 * there is a cycle. */
static bool flatten(struct sim_graph *graph, struct sim_list *list)
{
    if (!sort(graph))
        return false;
    struct sim_node **sorted = calloc(graph->count + 1, sizeof *sorted);
    if (!sorted)
        return false;
    for (size_t i = 0; i < graph->count; i++)
        sorted[graph->nodes[i]->order - 1] = graph->nodes[i];
    bool is_fine = true;
    for (size_t i = 0; is_fine && i < graph->count; i++) {
        struct sim_work *work = sorted[i]->work;
        struct item *item = &list->items[list->count++];
        *item = (struct item){ sim_work_ref(work), sorted[i], false, 0 };
        if (work->end == end_child)
            is_fine = flatten(work->graph, list);
        item->inside = (size_t)(&list->items[list->count] - item) - 1;
    }
    free(sorted);
    return is_fine;
}

static void add_holds(const struct sim_graph *graph, struct sim_list *list)
{
    for (const struct sim_hold *hold = graph->holds; hold; hold = hold->next)
        list->items[list->count + list->hold_count++].work = sim_work_ref(hold->work);
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->work->end == end_child)
            add_holds(graph->nodes[i]->work->graph, list);
}

static CUresult make_list(struct sim_graph *graph, struct sim_list **out)
{
    struct sim_list *list = calloc(1, sizeof *list + count_works(graph) * sizeof *list->items);
    if (!list)
        return CUDA_ERROR_OUT_OF_MEMORY;
    list->refs = 1;
    if (!flatten(graph, list)) {
        sim_list_drop(list);
        return CUDA_ERROR_INVALID_VALUE;
    }
    add_holds(graph, list);
    *out = list;
    return CUDA_SUCCESS;
}

void sim_exec_end(struct sim_exec *exec)
{
    sim_object_forget(&exec->object);
    sim_list_drop(exec->list);
    sim_mark_drop(exec->last);
    free(exec);
}

static CUresult instantiate(CUgraphExec *out, CUgraph handle, unsigned long long flags)
{
    SIM_LOCKED;
    struct sim_context *context;
    struct sim_graph *graph;
    struct sim_list *list;
    const unsigned long long known = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                     CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                                     CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    CUresult status = sim_enter(&context);
    if (!status)
        status = sim_graph_find(handle, &graph);
    if (!status && graph->is_moved)
        status = CUDA_ERROR_INVALID_VALUE;
    if (status)
        return status;
    if (!out || flags & ~known)
        return out && flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH ? CUDA_ERROR_NOT_SUPPORTED
                                                                        : CUDA_ERROR_INVALID_VALUE;
    status = make_list(graph, &list);
    if (status)
        return status;
    struct sim_exec *exec = sim_object_new(SIM_EXEC, context, sizeof *exec);
    if (!exec) {
        sim_list_drop(list);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    exec->list = list;
    exec->flags = flags;
    *out = (CUgraphExec)exec;
    return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    return instantiate(out, graph, flags);
}

CUresult cuGraphInstantiate_v2(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log,
                               size_t log_bytes)
{
    if (error_node)
        *error_node = NULL;
    if (log && log_bytes)
        *log = '\0';
    return instantiate(out, graph, 0);
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, CUgraphNode *error_node, char *log,
                            size_t log_bytes)
{
    return cuGraphInstantiate_v2(out, graph, error_node, log, log_bytes);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = instantiate(out, graph, params->flags);
    params->hErrNode_out = NULL;
    params->result_out = status ? CUDA_GRAPH_INSTANTIATE_ERROR : CUDA_GRAPH_INSTANTIATE_SUCCESS;
    return status;
}

CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *out, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
    return cuGraphInstantiateWithParams(out, graph, params);
}

static CUresult find_exec(CUgraphExec handle, struct sim_exec **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    *out = sim_object_find(SIM_EXEC, handle);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecDestroy(CUgraphExec handle)
{
    SIM_LOCKED;
    struct sim_exec *exec;
    CUresult status = find_exec(handle, &exec);
    if (!status)
        sim_exec_end(exec);
    return status;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, uint64_t *flags)
{
    SIM_LOCKED;
    struct sim_exec *exec;
    CUresult status = find_exec(handle, &exec);
    if (status)
        return status;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    return CUDA_SUCCESS;
}

static CUresult run_items(const struct sim_list *list, struct sim_context *context)
{
    CUresult status = CUDA_SUCCESS;
    for (size_t i = 0; i < list->count; i++)
        sim_condition_launch(list->items[i].work);
    for (size_t i = 0; i < list->count && !status; i++)
        if (!list->items[i].is_disabled)
            status = list->items[i].work->run(list->items[i].work, context);
    return status;
}

static CUresult run_list(struct sim_work *work, struct sim_context *context)
{
    return run_items(work->list, context);
}

CUresult sim_graph_run(struct sim_graph *graph, struct sim_context *context)
{
    struct sim_list *list = NULL;
    sim_lock();
    CUresult status = make_list(graph, &list);
    sim_unlock();
    if (!status)
        status = run_items(list, context);
    sim_lock();
    sim_list_drop(list);
    sim_unlock();
    return status;
}

static void end_launch(struct sim_work *work)
{
    sim_list_drop(work->list);
}

/* A launch of a graph waits for the graph's previous launch, in any stream. */
CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle)
{
    SIM_LOCKED;
    struct sim_exec *exec;
    struct sim_stream *stream;
    struct sim_mark *mark = NULL;
    CUresult status = find_exec(handle, &exec);
    if (!status)
        status = sim_enter_stream(stream_handle, &stream);
    if (!status && exec->last && !exec->last->is_done && !stream->capture)
        status = sim_submit(stream, sim_wait_work(exec->last), NULL);
    if (status)
        return status;
    struct sim_work *work = sim_work_new(CU_GRAPH_NODE_TYPE_GRAPH, run_list, end_launch);
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work->list = exec->list;
    exec->list->refs++;
    status = sim_submit(stream, work, &mark);
    if (!status && mark) {
        sim_mark_drop(exec->last);
        exec->last = sim_mark_ref(mark);
    }
    return status;
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream_handle)
{
    SIM_LOCKED;
    struct sim_exec *exec;
    struct sim_stream *stream;
    CUresult status = find_exec(handle, &exec);
    return status ? status : sim_enter_stream(stream_handle, &stream);
}

/* ---- changing an executable graph ---- */

/* Returns a list that only this executable uses; NULL: out of memory. */
static struct sim_list *own_list(struct sim_exec *exec)
{
    struct sim_list *list = exec->list;
    if (list->refs == 1)
        return list;
    size_t count = list->count + list->hold_count;
    size_t bytes = sizeof *list + count * sizeof *list->items;
    struct sim_list *copy = malloc(bytes);
    if (!copy)
        return NULL;
    memcpy(copy, list, bytes);
    copy->refs = 1;
    for (size_t i = 0; i < count; i++)
        sim_work_ref(copy->items[i].work);
    sim_list_drop(list);
    exec->list = copy;
    return copy;
}

static CUresult find_item(CUgraphExec exec_handle, CUgraphNode node, struct item **out)
{
    struct sim_exec *exec;
    CUresult status = find_exec(exec_handle, &exec);
    if (status)
        return status;
    struct sim_list *list = own_list(exec);
    if (!list)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < list->count; i++)
        if (node && list->items[i].node == (const struct sim_node *)node) {
            *out = &list->items[i];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult set_item(CUgraphExec exec, CUgraphNode node, make_work *make, const void *params)
{
    SIM_LOCKED;
    struct item *item;
    struct sim_work *work;
    CUresult status = find_item(exec, node, &item);
    if (!status)
        status = make(params, &work);
    if (status)
        return status;
    if (work->type != item->work->type) {
        sim_work_drop(work);
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_work_drop(item->work);
    item->work = work;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *params)
{
    return set_item(exec, node, make_kernel, params);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    return set_item(exec, node, make_kernel_v1, params);
}

/* "Zero-length operations are not supported" (cuda.h, cuGraphExecMemcpyNodeSetParams). */
static bool is_empty(const CUDA_MEMCPY3D *copy)
{
    return copy && !(copy->WidthInBytes && copy->Height && copy->Depth);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D *params, CUcontext context)
{
    (void)context;
    return is_empty(params) ? CUDA_ERROR_INVALID_VALUE : set_item(exec, node, make_copy, params);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    (void)context;
    return set_item(exec, node, make_fill, params);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS *params)
{
    return set_item(exec, node, make_host, params);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    return set_item(exec, node, make_record, event);
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    return set_item(exec, node, make_wait, event);
}

static bool is_alike(const struct item *items, const struct sim_list *list, size_t count)
{
    bool is_same = list->count == count;
    for (size_t i = 0; i < count && is_same; i++)
        is_same = items[i].work->type == list->items[i].work->type &&
                  items[i].inside == list->items[i].inside;
    return is_same;
}

/* Copies a list, with the objects that the other list holds: its works may use them. */
static struct sim_list *with_holds(const struct sim_list *list, const struct sim_list *other)
{
    size_t count = list->count + list->hold_count;
    size_t bytes = sizeof *list + count * sizeof *list->items;
    struct sim_list *grown = malloc(bytes + other->hold_count * sizeof *list->items);
    if (grown)
        memcpy(grown, list, bytes);
    for (size_t i = 0; grown && i < other->hold_count; i++) {
        grown->items[count + i] =
            (struct item){ .work = sim_work_ref(other->items[other->count + i].work) };
        grown->hold_count++;
    }
    return grown;
}

/* The executable's child gets the works of another graph of the same form. */
static CUresult set_child(CUgraphExec exec_handle, CUgraphNode node, CUgraph child)
{
    SIM_LOCKED;
    struct item *item;
    struct sim_graph *graph;
    struct sim_list *other;
    CUresult status = find_item(exec_handle, node, &item);
    if (!status)
        status = sim_graph_find(child, &graph);
    if (!status)
        status = item->work->end == end_child ? make_list(graph, &other) : CUDA_ERROR_INVALID_VALUE;
    if (status)
        return status;
    struct sim_exec *exec = (struct sim_exec *)exec_handle;
    size_t at = (size_t)(item - exec->list->items);
    bool fits = is_alike(item + 1, other, item->inside);
    struct sim_list *grown = fits ? with_holds(exec->list, other) : NULL;
    for (size_t i = 0; grown && i < other->count; i++) {
        struct item *inner = &grown->items[at + 1 + i];
        sim_work_drop(inner->work);
        inner->work = sim_work_ref(other->items[i].work);
    }
    if (grown) {
        free(exec->list);
        exec->list = grown;
    }
    sim_list_drop(other);
    return grown ? CUDA_SUCCESS : fits ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child)
{
    return set_child(exec, node, child);
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams *params)
{
    const void *inner;
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return params->graph.ownership ? CUDA_ERROR_INVALID_VALUE
                                       : set_child(exec, node, params->graph.graph);
    if (params->type == CU_GRAPH_NODE_TYPE_MEMCPY && is_empty(&params->memcpy.copyParams))
        return CUDA_ERROR_INVALID_VALUE;
    make_work *make = maker_of(params, &inner);
    return is_fixed(make) ? CUDA_ERROR_NOT_SUPPORTED : set_item(exec, node, make, inner);
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int *is_enabled)
{
    SIM_LOCKED;
    struct item *item;
    CUresult status = find_item(exec, node, &item);
    if (status)
        return status;
    if (!is_enabled)
        return CUDA_ERROR_INVALID_VALUE;
    *is_enabled = !item->is_disabled;
    return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned int is_enabled)
{
    SIM_LOCKED;
    struct item *item;
    CUresult status = find_item(exec, node, &item);
    if (status)
        return status;
    if (item->work->type != CU_GRAPH_NODE_TYPE_KERNEL &&
        item->work->type != CU_GRAPH_NODE_TYPE_MEMCPY &&
        item->work->type != CU_GRAPH_NODE_TYPE_MEMSET)
        return CUDA_ERROR_INVALID_VALUE;
    item->is_disabled = !is_enabled;
    return CUDA_SUCCESS;
}

/* Takes over the works of another graph of the same form. */
static CUresult update(CUgraphExec exec_handle, CUgraph handle, CUgraphExecUpdateResult *result,
                       CUgraphNode *error_node)
{
    SIM_LOCKED;
    struct sim_exec *exec;
    struct sim_graph *graph;
    struct sim_list *list;
    *result = CU_GRAPH_EXEC_UPDATE_ERROR;
    CUresult status = find_exec(exec_handle, &exec);
    if (!status)
        status = sim_graph_find(handle, &graph);
    if (!status && graph->is_moved)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = make_list(graph, &list);
    if (status)
        return status;
    bool is_same = list->count == exec->list->count;
    *result = is_same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; is_same && i < list->count; i++) {
        is_same = list->items[i].work->type == exec->list->items[i].work->type;
        if (!is_same) {
            *result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
            *error_node = (CUgraphNode)(uintptr_t)list->items[i].node;
        }
        list->items[i].is_disabled = exec->list->items[i].is_disabled;
        list->items[i].node = exec->list->items[i].node;
    }
    if (!is_same) {
        sim_list_drop(list);
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    sim_list_drop(exec->list);
    exec->list = list;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    if (!info)
        return CUDA_ERROR_INVALID_VALUE;
    *info = (CUgraphExecUpdateResultInfo){ 0 };
    return update(exec, graph, &info->result, &info->errorNode);
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node,
                           CUgraphExecUpdateResult *result)
{
    if (!result)
        return CUDA_ERROR_INVALID_VALUE;
    CUgraphNode node = NULL;
    CUresult status = update(exec, graph, result, &node);
    if (error_node)
        *error_node = node;
    return status;
}
