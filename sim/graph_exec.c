/*
 * Executable graphs. A launch runs the nodes one after another in its stream, in an order that
 * their edges allow.
 */
#include "config.h"

#include "sim/graph_exec.h"

#include <stdlib.h>
#include <string.h>

#include "sim/condition.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/event.h"
#include "sim/graph.h"
#include "sim/graph_node.h"
#include "sim/stream.h"
#include "sim/work.h"

/* The dependencies of a list's works, each as the number of an item. */
struct shape {
    unsigned int refs;
    size_t count;
    size_t needs[];
};

/* The list that a launch runs: works in order, followed by the works that hold objects. The list
 * does not change while a launch has a reference to it. */
struct sim_list {
    unsigned int refs;
    size_t count, hold_count;
    struct shape *shape;
    struct item {
        struct sim_work *work;
        const struct sim_node *node; /* identifies the node; never dereferenced */
        bool is_disabled;
        size_t inside;                 /* works of a child graph: the next items */
        size_t first_need, need_count; /* of the shape */
    } items[];
};

struct sim_exec {
    struct sim_object object;
    struct sim_list *list;
    unsigned long long flags;
    struct sim_mark *last; /* of the newest launch; the next launch waits for it */
};

/* ---- launching ---- */

void sim_list_drop(struct sim_list *list)
{
    if (!list || --list->refs)
        return;
    for (size_t i = 0; i < list->count + list->hold_count; i++)
        sim_work_drop(list->items[i].work);
    if (!--list->shape->refs)
        free(list->shape);
    free(list);
}

/* Copies a list's bytes, with room for more items. The works are the caller's to reference. */
static struct sim_list *copy_list(const struct sim_list *list, size_t more)
{
    size_t bytes = sizeof *list + (list->count + list->hold_count) * sizeof *list->items;
    struct sim_list *copy = malloc(bytes + more * sizeof *list->items);
    if (!copy)
        return NULL;
    memcpy(copy, list, bytes);
    copy->refs = 1;
    copy->shape->refs++;
    return copy;
}

/* Returns the number of works and holds of a graph and its children. */
static size_t count_works(const struct sim_graph *graph)
{
    size_t count = sim_graph_count_holds(graph, NULL);
    for (size_t i = 0; i < graph->count; i++) {
        const struct sim_work *work = graph->nodes[i]->work;
        count += 1 + (sim_work_is_child(work) ? count_works(work->graph) : 0);
    }
    return count;
}

static size_t count_needs(const struct sim_graph *graph)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->count; i++) {
        const struct sim_work *work = graph->nodes[i]->work;
        count += graph->nodes[i]->need_count;
        count += sim_work_is_child(work) ? count_needs(work->graph) : 0;
    }
    return count;
}

/* Notes the dependencies of a work. numbers: the items of the graph's nodes, by their order. */
static void add_needs(const struct sim_node *node, const size_t *numbers, struct sim_list *list,
                      struct item *item)
{
    item->first_need = list->shape->count;
    item->need_count = node->need_count;
    for (size_t i = 0; i < node->need_count; i++)
        list->shape->needs[list->shape->count++] = numbers[node->needs[i]->order - 1];
}

/* Adds the graph's works, and in place of a child node the works of the child. Returns false if
 * there is a cycle. */
static bool flatten(struct sim_graph *graph, struct sim_list *list)
{
    if (!sim_graph_sort(graph))
        return false;
    struct sim_node **sorted = calloc(graph->count + 1, sizeof *sorted);
    size_t *numbers = calloc(graph->count + 1, sizeof *numbers);
    bool is_fine = sorted && numbers;
    for (size_t i = 0; is_fine && i < graph->count; i++)
        sorted[graph->nodes[i]->order - 1] = graph->nodes[i];
    for (size_t i = 0; is_fine && i < graph->count; i++) {
        struct sim_work *work = sorted[i]->work;
        numbers[i] = list->count;
        struct item *item = &list->items[list->count++];
        *item = (struct item){ .work = sim_work_ref(work), .node = sorted[i] };
        add_needs(sorted[i], numbers, list, item);
        if (sim_work_is_child(work))
            is_fine = flatten(work->graph, list);
        item->inside = (size_t)(&list->items[list->count] - item) - 1;
    }
    free(sorted);
    free(numbers);
    return is_fine;
}

static void add_holds(const struct sim_graph *graph, struct sim_list *list)
{
    for (const struct sim_hold *hold = graph->holds; hold; hold = hold->next)
        list->items[list->count + list->hold_count++].work = sim_work_ref(hold->work);
    for (size_t i = 0; i < graph->count; i++)
        if (sim_work_is_child(graph->nodes[i]->work))
            add_holds(graph->nodes[i]->work->graph, list);
}

static CUresult make_list(struct sim_graph *graph, struct sim_list **out)
{
    struct sim_list *list = calloc(1, sizeof *list + count_works(graph) * sizeof *list->items);
    struct shape *shape = calloc(1, sizeof *shape + count_needs(graph) * sizeof *shape->needs);
    if (!list || !shape) {
        free(list);
        free(shape);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    list->refs = shape->refs = 1;
    list->shape = shape;
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
    struct sim_list *copy = copy_list(list, 0);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < list->count + list->hold_count; i++)
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

static CUresult set_item(CUgraphExec exec, CUgraphNode node, sim_make_work *make,
                         const void *params)
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
    return set_item(exec, node, sim_make_kernel, params);
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    return set_item(exec, node, sim_make_kernel_v1, params);
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
    return is_empty(params) ? CUDA_ERROR_INVALID_VALUE
                            : set_item(exec, node, sim_make_copy, params);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
    (void)context;
    return set_item(exec, node, sim_make_fill, params);
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS *params)
{
    return set_item(exec, node, sim_make_host, params);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    return set_item(exec, node, sim_make_record, event);
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event)
{
    return set_item(exec, node, sim_make_wait, event);
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
    struct sim_list *grown = copy_list(list, other->hold_count);
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
        status =
            sim_work_is_child(item->work) ? make_list(graph, &other) : CUDA_ERROR_INVALID_VALUE;
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
    if (grown) { /* it has the old list's works and shape now */
        grown->shape->refs--;
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
    sim_make_work *make = sim_maker_of(params, &inner);
    return sim_maker_is_fixed(make) ? CUDA_ERROR_NOT_SUPPORTED : set_item(exec, node, make, inner);
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

static CUgraphNode node_of(const struct item *item)
{
    return (CUgraphNode)(uintptr_t)item->node;
}

/* Tells why an item cannot take the place of another (cuda.h, cuGraphExecUpdate). */
static void compare_items(const struct sim_list *list, const struct sim_list *old, size_t number,
                          CUgraphExecUpdateResultInfo *info)
{
    const struct item *item = &list->items[number], *was = &old->items[number];
    const size_t *needs = &list->shape->needs[item->first_need];
    const size_t *needed = &old->shape->needs[was->first_need];
    if (item->work->type != was->work->type)
        info->result = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    else if (item->need_count != was->need_count || item->inside != was->inside)
        info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; !info->result && i < item->need_count; i++)
        if (needs[i] != needed[i]) {
            info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
            info->errorFromNode = node_of(&list->items[needs[i]]);
        }
    if (info->result)
        info->errorNode = node_of(item);
}

/* Takes over the works of another graph of the same form. */
static CUresult update(CUgraphExec exec_handle, CUgraph handle, CUgraphExecUpdateResultInfo *info)
{
    SIM_LOCKED;
    struct sim_exec *exec;
    struct sim_graph *graph;
    struct sim_list *list;
    *info = (CUgraphExecUpdateResultInfo){ .result = CU_GRAPH_EXEC_UPDATE_ERROR };
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
    info->result =
        is_same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; !info->result && i < list->count; i++)
        compare_items(list, exec->list, i, info);
    if (info->result) {
        sim_list_drop(list);
        return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
    for (size_t i = 0; i < list->count; i++) {
        list->items[i].is_disabled = exec->list->items[i].is_disabled;
        list->items[i].node = exec->list->items[i].node;
    }
    sim_list_drop(exec->list);
    exec->list = list;
    return CUDA_SUCCESS;
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    return info ? update(exec, graph, info) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *error_node,
                           CUgraphExecUpdateResult *result)
{
    CUgraphExecUpdateResultInfo info;
    if (!result)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = update(exec, graph, &info);
    *result = info.result;
    if (error_node)
        *error_node = info.errorNode;
    return status;
}
