/* Kernel nodes of graphs. Their parameters travel as one block of bytes, like a launch's. */
#include "config.h"

#include "base/cleanup.h"
#include "cuda/client/answer_cache.h"
#include "cuda/client/client.h"
#include "cuda/client/kernel_parameters.h"
#include "cuda/common/kernel_node.h"
#include "proto/cuda-client.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire.h"

/* Converts the older structure into the newer one, which adds a kernel and a context. */
static CUDA_KERNEL_NODE_PARAMS widened(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    return (CUDA_KERNEL_NODE_PARAMS){ .func = params->func,
                                      .gridDimX = params->gridDimX,
                                      .gridDimY = params->gridDimY,
                                      .gridDimZ = params->gridDimZ,
                                      .blockDimX = params->blockDimX,
                                      .blockDimY = params->blockDimY,
                                      .blockDimZ = params->blockDimZ,
                                      .sharedMemBytes = params->sharedMemBytes,
                                      .kernelParams = params->kernelParams,
                                      .extra = params->extra };
}

static CUresult pack_node(const CUDA_KERNEL_NODE_PARAMS *params, struct ath_cuda_packed *out)
{
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    CUfunction function = params->func ? params->func : (CUfunction)(void *)params->kern;
    return ath_cuda_pack(
        function, ath_cuda_block_threads(params->blockDimX, params->blockDimY, params->blockDimZ),
        params->kernelParams, params->extra, out);
}

static void put_node(struct ath_cuda_side *side, struct ath_cuda_wire_kernel_node_params_builder to,
                     const CUDA_KERNEL_NODE_PARAMS *from, const struct ath_cuda_packed *packed)
{
    ath_cuda_put_kernel_node(side, to, from, ath_cuda_function_to_wire(side, from->func),
                             ath_cuda_packed_bytes(packed));
}

CUresult ath_cuda_by_hand_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
                                                  const CUgraphNode *dependencies,
                                                  size_t dependency_count,
                                                  const CUDA_KERNEL_NODE_PARAMS *params)
{
    ATH_AUTO(ath_cuda_packed) packed = { 0 };
    struct ath_cuda_exchange exchange;
    CUresult status = pack_node(params, &packed);
    if (!status)
        status =
            node && (dependencies || !dependency_count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuGraphAddKernelNode_v2);
    if (status)
        return status;
    struct ath_cuda_side *side = &exchange.side;
    struct ath_cuda_wire_graph_add_kernel_node_v2_builder call =
        ath_cuda_wire_call_init_graph_add_kernel_node_v2(exchange.call);
    ath_cuda_wire_graph_add_kernel_node_v2_set_graph(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH, (uintptr_t)graph));
    struct ath_wire_array list = ath_cuda_wire_graph_add_kernel_node_v2_init_dependencies(
        call, ath_cuda_items(dependency_count));
    for (uint32_t i = 0; dependencies && i < list.count; i++)
        ath_wire_array_set_bits(
            list, i, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)dependencies[i]));
    put_node(side, ath_cuda_wire_graph_add_kernel_node_v2_init_kernel(call), params, &packed);
    status = ath_cuda_ask(&exchange);
    if (!status)
        *node = (CUgraphNode)(uintptr_t)ath_cuda_to_own(
            side, ATH_CUDA_KIND_GRAPH_NODE,
            ath_cuda_wire_graph_add_kernel_node_v2_result_node(
                ath_cuda_wire_answer_graph_add_kernel_node_v2(exchange.answer)));
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_by_hand_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph,
                                               const CUgraphNode *dependencies,
                                               size_t dependency_count,
                                               const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUDA_KERNEL_NODE_PARAMS wide = params ? widened(params) : (CUDA_KERNEL_NODE_PARAMS){ 0 };
    return ath_cuda_by_hand_cuGraphAddKernelNode_v2(node, graph, dependencies, dependency_count,
                                                    params ? &wide : NULL);
}

CUresult ath_cuda_by_hand_cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                                        const CUDA_KERNEL_NODE_PARAMS *params)
{
    ATH_AUTO(ath_cuda_packed) packed = { 0 };
    struct ath_cuda_exchange exchange;
    CUresult status = pack_node(params, &packed);
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuGraphKernelNodeSetParams_v2);
    if (status)
        return status;
    struct ath_cuda_wire_graph_kernel_node_set_params_v2_builder call =
        ath_cuda_wire_call_init_graph_kernel_node_set_params_v2(exchange.call);
    ath_cuda_wire_graph_kernel_node_set_params_v2_set_node(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
    put_node(&exchange.side, ath_cuda_wire_graph_kernel_node_set_params_v2_init_kernel(call),
             params, &packed);
    return ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
}

CUresult ath_cuda_by_hand_cuGraphKernelNodeSetParams(CUgraphNode node,
                                                     const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUDA_KERNEL_NODE_PARAMS wide = params ? widened(params) : (CUDA_KERNEL_NODE_PARAMS){ 0 };
    return ath_cuda_by_hand_cuGraphKernelNodeSetParams_v2(node, params ? &wide : NULL);
}

/*
 * Sets a node of an executable graph. A node that took this kernel with this grid takes it again
 * with other arguments, so only the first time waits for the answer: programs set all nodes before
 * each launch.
 */
static CUresult set_exec_node(struct ath_cuda_exchange *exchange, CUgraphExec graph_exec,
                              CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params)
{
    const uint64_t key[] = {
        UINT64_MAX, /* no message of a question begins so */
        (uintptr_t)graph_exec,
        (uintptr_t)node,
        (uintptr_t)params->func,
        (uintptr_t)params->kern,
        (uintptr_t)params->ctx,
        (uint64_t)params->gridDimX << 32 | params->gridDimY,
        (uint64_t)params->gridDimZ << 32 | params->blockDimX,
        (uint64_t)params->blockDimY << 32 | params->blockDimZ,
        params->sharedMemBytes,
    };
    struct ath_frame *answer = &exchange->thread->answer;
    if (ath_cuda_answer_cache_find((const void *)key, sizeof key, answer))
        return ath_cuda_post(exchange);
    uint64_t age = ath_cuda_answer_cache_age();
    CUresult status = ath_cuda_ask(exchange);
    if (!status)
        ath_cuda_answer_cache_add(exchange->method, (const void *)key, sizeof key, answer, age);
    return status;
}

CUresult ath_cuda_by_hand_cuGraphExecKernelNodeSetParams_v2(CUgraphExec graph_exec,
                                                            CUgraphNode node,
                                                            const CUDA_KERNEL_NODE_PARAMS *params)
{
    ATH_AUTO(ath_cuda_packed) packed = { 0 };
    struct ath_cuda_exchange exchange;
    CUresult status = pack_node(params, &packed);
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuGraphExecKernelNodeSetParams_v2);
    if (status)
        return status;
    struct ath_cuda_side *side = &exchange.side;
    struct ath_cuda_wire_graph_exec_kernel_node_set_params_v2_builder call =
        ath_cuda_wire_call_init_graph_exec_kernel_node_set_params_v2(exchange.call);
    ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_GRAPH_EXEC, (uintptr_t)graph_exec);
    ath_cuda_wire_graph_exec_kernel_node_set_params_v2_set_graph_exec(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_EXEC, (uintptr_t)graph_exec));
    ath_cuda_wire_graph_exec_kernel_node_set_params_v2_set_node(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
    put_node(side, ath_cuda_wire_graph_exec_kernel_node_set_params_v2_init_kernel(call), params,
             &packed);
    return ath_cuda_end(&exchange, set_exec_node(&exchange, graph_exec, node, params));
}

CUresult ath_cuda_by_hand_cuGraphExecKernelNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                                         const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUDA_KERNEL_NODE_PARAMS wide = params ? widened(params) : (CUDA_KERNEL_NODE_PARAMS){ 0 };
    return ath_cuda_by_hand_cuGraphExecKernelNodeSetParams_v2(graph_exec, node,
                                                              params ? &wide : NULL);
}

/* ---- parameters of a kernel node ---- */

/* In CUDA the parameters' memory belongs to the node. Here it stays until the program asks about
 * the node again. */
static CUresult unpack(struct ath_cuda_exchange *exchange, struct ath_wire_bytes bytes,
                       struct ath_cuda_wire_layout layout, CUgraphNode node,
                       CUDA_KERNEL_NODE_PARAMS *out)
{
    struct ath_wire_list offsets = ath_cuda_wire_layout_offsets(layout);
    ath_cuda_keep_results(exchange, (uintptr_t)node);
    uint8_t *memory = ath_cuda_room(&exchange->side, bytes.length, 1);
    void **pointers = ath_cuda_room(&exchange->side, offsets.count, sizeof *pointers);
    if (!memory || !pointers)
        return CUDA_ERROR_OUT_OF_MEMORY;
    ath_cuda_copy_bytes(memory, bytes.length, bytes);
    for (uint32_t i = 0; i < offsets.count; i++) {
        uint32_t offset = ath_wire_u32(ath_wire_item(offsets, i), 0, 0);
        if (offset > bytes.length)
            return CUDA_ERROR_DEVICE_UNAVAILABLE;
        pointers[i] = memory + offset;
    }
    out->kernelParams = offsets.count ? pointers : NULL;
    return CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuGraphKernelNodeGetParams_v2(CUgraphNode node,
                                                        CUDA_KERNEL_NODE_PARAMS *params)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuGraphKernelNodeGetParams_v2);
    if (status)
        return status;
    if (!params)
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    struct ath_cuda_side *side = &exchange.side;
    ath_cuda_wire_graph_kernel_node_get_params_v2_set_node(
        ath_cuda_wire_call_init_graph_kernel_node_get_params_v2(exchange.call),
        ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
    status = ath_cuda_ask(&exchange);
    if (status)
        return ath_cuda_end(&exchange, status);
    struct ath_cuda_wire_graph_kernel_node_get_params_v2_result answer =
        ath_cuda_wire_answer_graph_kernel_node_get_params_v2(exchange.answer);
    struct ath_cuda_wire_kernel_node_params from =
        ath_cuda_wire_graph_kernel_node_get_params_v2_result_kernel(answer);
    CUfunction function = (CUfunction)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_FUNCTION, ath_cuda_wire_kernel_node_params_function(from));
    CUDA_KERNEL_NODE_PARAMS taken = ath_cuda_kernel_node(side, from, function);
    ath_cuda_note_result(&exchange, ATH_CUDA_KIND_FUNCTION, (uintptr_t)function);
    ath_cuda_note_result(&exchange, ATH_CUDA_KIND_KERNEL, (uintptr_t)taken.kern);
    status =
        unpack(&exchange, ath_cuda_wire_kernel_node_params_parameters(from),
               ath_cuda_wire_graph_kernel_node_get_params_v2_result_layout(answer), node, &taken);
    if (!status)
        *params = taken;
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_by_hand_cuGraphKernelNodeGetParams(CUgraphNode node,
                                                     CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUDA_KERNEL_NODE_PARAMS wide;
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = ath_cuda_by_hand_cuGraphKernelNodeGetParams_v2(node, &wide);
    if (!status)
        *params = (CUDA_KERNEL_NODE_PARAMS_v1){ .func = wide.func,
                                                .gridDimX = wide.gridDimX,
                                                .gridDimY = wide.gridDimY,
                                                .gridDimZ = wide.gridDimZ,
                                                .blockDimX = wide.blockDimX,
                                                .blockDimY = wide.blockDimY,
                                                .blockDimZ = wide.blockDimZ,
                                                .sharedMemBytes = wide.sharedMemBytes,
                                                .kernelParams = wide.kernelParams };
    return status;
}
