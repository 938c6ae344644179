/* Executable graphs: instantiating and launching them. */
#include "config.h"

#include "sim/graph_exec.h"

#include <stdlib.h>

#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/event.h"
#include "sim/graph.h"
#include "sim/graph_list.h"
#include "sim/stream.h"
#include "sim/work.h"

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
    status = sim_list_make(graph, &list);
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

CUresult sim_exec_find(CUgraphExec handle, struct sim_exec **out)
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
    CUresult status = sim_exec_find(handle, &exec);
    if (!status)
        sim_exec_end(exec);
    return status;
}

CUresult cuGraphExecGetFlags(CUgraphExec handle, uint64_t *flags)
{
    SIM_LOCKED;
    struct sim_exec *exec;
    CUresult status = sim_exec_find(handle, &exec);
    if (status)
        return status;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    return CUDA_SUCCESS;
}

static CUresult run_list(struct sim_work *work, struct sim_context *context)
{
    return sim_list_run(work->list, context);
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
    CUresult status = sim_exec_find(handle, &exec);
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
    CUresult status = sim_exec_find(handle, &exec);
    return status ? status : sim_enter_stream(stream_handle, &stream);
}
