/* Copies as nodes of graphs. The server maps pinned memory; pageable memory is captured. */
#include "config.h"

#include <stdbool.h>

#include "cuda/client/captured_copy.h"
#include "cuda/client/client.h"
#include "cuda/client/copy_rectangle.h"
#include "cuda/client/mirror.h"
#include "cuda/common/copy_box.h"
#include "proto/cuda-client.h"

static CUresult map_sides(const CUDA_MEMCPY3D *copy)
{
    struct ath_cuda_host_memory host;
    const void *const memory[] = {
        copy->srcMemoryType == CU_MEMORYTYPE_HOST ? copy->srcHost : NULL,
        copy->dstMemoryType == CU_MEMORYTYPE_HOST ? copy->dstHost : NULL,
    };
    CUresult status = CUDA_SUCCESS;
    for (size_t i = 0; !status && i < 2; i++) {
        if (!memory[i])
            continue;
        status = ath_cuda_host_find(memory[i], &host) ? ath_cuda_host_map(memory[i])
                                                      : CUDA_ERROR_NOT_SUPPORTED;
    }
    return status;
}

/* Prepares a node: the server maps its pinned memory. Returns CUDA_ERROR_NOT_SUPPORTED for pageable
 * memory, which must be captured. The host pointer of an unused side may be anything, so it is
 * cleared. */
static CUresult prepare_node(const CUDA_MEMCPY3D *copy, CUDA_MEMCPY3D *out)
{
    if (!copy)
        return CUDA_ERROR_INVALID_VALUE;
    CUDA_MEMCPY3D_PEER made = ath_cuda_box_of_3d(copy);
    ath_cuda_settle_ends(&made);
    *out = ath_cuda_box_to_3d(&made);
    if (out->srcMemoryType != CU_MEMORYTYPE_HOST)
        out->srcHost = NULL;
    if (out->dstMemoryType != CU_MEMORYTYPE_HOST)
        out->dstHost = NULL;
    return map_sides(out);
}

static CUresult capture_in(CUstream stream, const CUDA_MEMCPY3D *copy, bool is_pageable,
                           CUgraph graph)
{
    CUresult status = ath_cuda_by_hand_cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
                                                                   CU_STREAM_CAPTURE_MODE_RELAXED);
    if (status)
        return status;
    status = ath_cuda_captured_node(copy, is_pageable, stream);
    CUresult ended = ath_cuda_by_hand_cuStreamEndCapture(stream, &graph);
    return status ? status : ended;
}

/* Captures the copy into a graph (captured_copy.h). */
static CUresult capture_copy(CUgraph graph, const CUDA_MEMCPY3D *copy, bool is_pageable)
{
    CUstream stream;
    CUresult status = ath_cuda_do_cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    if (status)
        return status;
    status = capture_in(stream, copy, is_pageable, graph);
    CUresult destroyed = ath_cuda_do_cuStreamDestroy_v2(stream);
    return status ? status : destroyed;
}

/* Makes a graph of the copy alone. */
static CUresult make_captured(const CUDA_MEMCPY3D *copy, bool is_pageable, CUgraph *out)
{
    CUresult status = ath_cuda_do_cuGraphCreate(out, 0);
    if (status)
        return status;
    status = capture_copy(*out, copy, is_pageable);
    if (status)
        ath_cuda_do_cuGraphDestroy(*out);
    return status;
}

/* The captured nodes become one child graph node, so that the program can depend on it as on one
 * copy. */
static CUresult add_captured(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                             size_t dependency_count, const CUDA_MEMCPY3D *copy)
{
    CUgraph captured;
    CUresult status = make_captured(copy, true, &captured);
    if (status)
        return status;
    status =
        ath_cuda_do_cuGraphAddChildGraphNode(node, graph, dependencies, dependency_count, captured);
    CUresult destroyed = ath_cuda_do_cuGraphDestroy(captured);
    return status ? status : destroyed;
}

CUresult ath_cuda_by_hand_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph,
                                               const CUgraphNode *dependencies,
                                               size_t dependency_count, const CUDA_MEMCPY3D *copy,
                                               CUcontext context)
{
    CUDA_MEMCPY3D prepared;
    CUresult status = prepare_node(copy, &prepared);
    if (status == CUDA_ERROR_NOT_SUPPORTED && node)
        return add_captured(node, graph, dependencies, dependency_count, &prepared);
    return status ? status
                  : ath_cuda_do_cuGraphAddMemcpyNode(node, graph, dependencies, dependency_count,
                                                     &prepared, context);
}

/* ---- nodes that were captured ---- */

enum { NODES_MAX = 2 }; /* of a captured copy: captured_copy.c */

struct captured {
    CUgraph graph;
    CUgraphNode nodes[NODES_MAX];
    size_t count;
    CUDA_MEMCPY3D copy;
};

static bool is_marked(CUgraphNode node, CUDA_MEMCPY3D *out)
{
    CUgraphNodeType type;
    CUDA_HOST_NODE_PARAMS host;
    return !ath_cuda_do_cuGraphNodeGetType(node, &type) && type == CU_GRAPH_NODE_TYPE_HOST &&
           !ath_cuda_by_hand_cuGraphHostNodeGetParams(node, &host) &&
           ath_cuda_captured_node_of(host.fn, host.userData, out);
}

/* Finds the captured copy that a node is. Asks the node itself, so that nodes of clones are found,
 * too. Returns false if the node is something else. */
static bool find_captured(CUgraphNode node, struct captured *out)
{
    CUgraphNodeType type;
    if (!ath_cuda_is_any_node_captured() || ath_cuda_do_cuGraphNodeGetType(node, &type) ||
        type != CU_GRAPH_NODE_TYPE_GRAPH ||
        ath_cuda_do_cuGraphChildGraphNodeGetGraph(node, &out->graph))
        return false;
    out->count = 0;
    if (ath_cuda_do_cuGraphGetNodes(out->graph, NULL, &out->count) || out->count > NODES_MAX ||
        ath_cuda_do_cuGraphGetNodes(out->graph, out->nodes, &out->count))
        return false;
    for (size_t i = 0; i < out->count; i++)
        if (is_marked(out->nodes[i], &out->copy))
            return true;
    return false;
}

CUresult ath_cuda_by_hand_cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
    struct captured captured;
    CUresult status = ath_cuda_do_cuGraphNodeGetType(node, type);
    if (!status && *type == CU_GRAPH_NODE_TYPE_GRAPH && find_captured(node, &captured))
        *type = CU_GRAPH_NODE_TYPE_MEMCPY;
    return status;
}

CUresult ath_cuda_by_hand_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params)
{
    struct captured captured;
    if (!params || !find_captured(node, &captured))
        return ath_cuda_do_cuGraphMemcpyNodeGetParams(node, params);
    *params = captured.copy;
    return CUDA_SUCCESS;
}

/* The new copy is captured beside the old one, which ends if that succeeds. */
static CUresult change_captured(const struct captured *old, const CUDA_MEMCPY3D *copy,
                                bool is_pageable)
{
    CUresult status = capture_copy(old->graph, copy, is_pageable);
    for (size_t i = 0; !status && i < old->count; i++)
        status = ath_cuda_do_cuGraphDestroyNode(old->nodes[i]);
    return status;
}

CUresult ath_cuda_by_hand_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params)
{
    CUDA_MEMCPY3D prepared;
    struct captured captured;
    CUresult status = prepare_node(params, &prepared);
    bool is_pageable = status == CUDA_ERROR_NOT_SUPPORTED;
    if ((!status || is_pageable) && find_captured(node, &captured))
        return change_captured(&captured, &prepared, is_pageable);
    return status ? status : ath_cuda_do_cuGraphMemcpyNodeSetParams(node, &prepared);
}

static CUresult exec_set_captured(CUgraphExec graph_exec, CUgraphNode node,
                                  const CUDA_MEMCPY3D *copy, bool is_pageable)
{
    CUgraph captured;
    CUresult status = make_captured(copy, is_pageable, &captured);
    if (status)
        return status;
    status = ath_cuda_do_cuGraphExecChildGraphNodeSetParams(graph_exec, node, captured);
    CUresult destroyed = ath_cuda_do_cuGraphDestroy(captured);
    return status ? status : destroyed;
}

/* "Zero-length operations are not supported" (docs.nvidia.com/cuda/cuda-driver-api,
 * "cuGraphExecMemcpyNodeSetParams"). */
static bool is_empty(const CUDA_MEMCPY3D *copy)
{
    return !copy->WidthInBytes || !copy->Height || !copy->Depth;
}

CUresult ath_cuda_by_hand_cuGraphExecMemcpyNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                                         const CUDA_MEMCPY3D *copy,
                                                         CUcontext context)
{
    CUDA_MEMCPY3D prepared;
    struct captured captured;
    CUresult status =
        copy && is_empty(copy) ? CUDA_ERROR_INVALID_VALUE : prepare_node(copy, &prepared);
    bool is_pageable = status == CUDA_ERROR_NOT_SUPPORTED;
    if ((!status || is_pageable) && find_captured(node, &captured))
        return exec_set_captured(graph_exec, node, &prepared, is_pageable);
    return status
               ? status
               : ath_cuda_do_cuGraphExecMemcpyNodeSetParams(graph_exec, node, &prepared, context);
}
