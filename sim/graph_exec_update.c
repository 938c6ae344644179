/* Updating an executable graph from another graph of the same form. */
#include "config.h"

#include "sim/graph.h"
#include "sim/graph_exec.h"
#include "sim/graph_list.h"
#include "sim/sim.h"
#include "sim/work.h"

static CUgraphNode node_of(const struct sim_list_item *item)
{
    return (CUgraphNode)(uintptr_t)item->node;
}

/* Tells why an item cannot take the place of another (cuda.h, cuGraphExecUpdate). */
static void compare_items(const struct sim_list *list, const struct sim_list *old, size_t number,
                          CUgraphExecUpdateResultInfo *info)
{
    const struct sim_list_item *item = &list->items[number], *was = &old->items[number];
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
    CUresult status = sim_exec_find(exec_handle, &exec);
    if (!status)
        status = sim_graph_find(handle, &graph);
    if (!status && graph->is_moved)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = sim_list_make(graph, &list);
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
