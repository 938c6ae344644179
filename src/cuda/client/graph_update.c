/* Updates of executable graphs: why one has failed. */
#include "config.h"

#include "cuda/client/client.h"
#include "proto/cuda-client.h"

/* "The update failed for an unexpected reason which is described in the return value of the
 * function" (cuda.h, CU_GRAPH_EXEC_UPDATE_ERROR): the driver was not asked, or has told no other
 * reason. */
static void complete(CUresult status, CUgraphExecUpdateResult *result)
{
    if (status && *result == CU_GRAPH_EXEC_UPDATE_SUCCESS)
        *result = CU_GRAPH_EXEC_UPDATE_ERROR;
}

CUresult ath_cuda_by_hand_cuGraphExecUpdate_v2(CUgraphExec graph_exec, CUgraph graph,
                                               CUgraphExecUpdateResultInfo *info)
{
    CUgraphExecUpdateResultInfo told = { .result = CU_GRAPH_EXEC_UPDATE_ERROR };
    CUresult status = ath_cuda_do_cuGraphExecUpdate_v2(graph_exec, graph, info ? &told : NULL);
    complete(status, &told.result);
    if (info)
        *info = told;
    return status;
}

CUresult ath_cuda_by_hand_cuGraphExecUpdate(CUgraphExec graph_exec, CUgraph graph,
                                            CUgraphNode *error_node,
                                            CUgraphExecUpdateResult *result)
{
    CUgraphNode node = NULL;
    CUgraphExecUpdateResult told = CU_GRAPH_EXEC_UPDATE_ERROR;
    CUresult status = ath_cuda_do_cuGraphExecUpdate(graph_exec, graph, &node, &told);
    complete(status, &told);
    if (error_node)
        *error_node = node;
    if (result)
        *result = told;
    return status;
}
