/* Changing the nodes of an executable graph. */
#include "config.h"

#include "sim/sim.h"

#include <stdlib.h>

#include "sim/graph.h"
#include "sim/graph_exec.h"
#include "sim/graph_list.h"
#include "sim/graph_node.h"
#include "sim/work.h"

/* Returns a list that only this executable uses; NULL: out of memory. */
static struct sim_list *own_list(struct sim_exec *exec)
{
    struct sim_list *list = exec->list;
    if (list->refs == 1)
        return list;
    struct sim_list *copy = sim_list_copy(list, 0);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < list->count + list->hold_count; i++)
        sim_work_ref(copy->items[i].work);
    sim_list_drop(list);
    exec->list = copy;
    return copy;
}

static CUresult find_item(CUgraphExec exec_handle, CUgraphNode node, struct sim_list_item **out)
{
    struct sim_exec *exec;
    CUresult status = sim_exec_find(exec_handle, &exec);
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
    struct sim_list_item *item;
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

static bool is_alike(const struct sim_list_item *items, const struct sim_list *list, size_t count)
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
    struct sim_list *grown = sim_list_copy(list, other->hold_count);
    for (size_t i = 0; grown && i < other->hold_count; i++) {
        grown->items[count + i] =
            (struct sim_list_item){ .work = sim_work_ref(other->items[other->count + i].work) };
        grown->hold_count++;
    }
    return grown;
}

/* The executable's child gets the works of another graph of the same form. */
static CUresult set_child(CUgraphExec exec_handle, CUgraphNode node, CUgraph child)
{
    SIM_LOCKED;
    struct sim_list_item *item;
    struct sim_graph *graph;
    struct sim_list *other;
    CUresult status = find_item(exec_handle, node, &item);
    if (!status)
        status = sim_graph_find(child, &graph);
    if (!status)
        status =
            sim_work_is_child(item->work) ? sim_list_make(graph, &other) : CUDA_ERROR_INVALID_VALUE;
    if (status)
        return status;
    struct sim_exec *exec = (struct sim_exec *)exec_handle;
    size_t at = (size_t)(item - exec->list->items);
    bool fits = is_alike(item + 1, other, item->inside);
    struct sim_list *grown = fits ? with_holds(exec->list, other) : NULL;
    for (size_t i = 0; grown && i < other->count; i++) {
        struct sim_list_item *inner = &grown->items[at + 1 + i];
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
    struct sim_list_item *item;
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
    struct sim_list_item *item;
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
