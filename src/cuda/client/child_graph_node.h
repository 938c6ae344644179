/* Child graph nodes that cuGraphAddNode() adds: its structure says who owns the child graph. The
 * driver checks the arguments. */
#pragma once
#include "cuda/api/cuda_api.h"

/* edges NULL: edges without data. */
CUresult ath_cuda_add_owned_graph(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  const CUgraphEdgeData *edges, size_t count,
                                  const CUDA_CHILD_GRAPH_NODE_PARAMS *params);
CUresult ath_cuda_set_child(CUgraphNode node, const CUDA_CHILD_GRAPH_NODE_PARAMS *params);
CUresult ath_cuda_exec_set_child(CUgraphExec graph_exec, CUgraphNode node,
                                 const CUDA_CHILD_GRAPH_NODE_PARAMS *params);
