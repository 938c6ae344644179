/* The server's side of launches and of kernel nodes. */
#include "config.h"

#include <string.h>

#include "cuda/common/kernel_node.h"
#include "cuda/server/kernel_layout.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire.h"

/* ---- the parameters that a call brings ---- */

/* The parameters as the driver takes them: pointers to each, or one buffer. */
struct parameters {
    void **pointers, **extra;
    size_t length;
    void *buffer[5]; /* what extra points to */
};

static void **extra_of(struct parameters *to, struct ath_wire_bytes bytes)
{
    to->length = bytes.length;
    to->buffer[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    to->buffer[1] = (void *)(uintptr_t)bytes.data;
    to->buffer[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    to->buffer[3] = &to->length;
    to->buffer[4] = CU_LAUNCH_PARAM_END;
    return bytes.length ? to->buffer : NULL;
}

static bool is_within(const struct ath_cuda_kernel_layout *layout, size_t length)
{
    for (uint32_t i = 0; i < layout->count; i++)
        if (layout->parameters[i].offset + layout->parameters[i].size > length)
            return false;
    return true;
}

/* The function may be a kernel. */
static bool finds_layout(const struct ath_cuda_served *served, CUfunction function,
                         struct ath_cuda_kernel_layout *out)
{
    const struct ath_cuda_object_name kernel = { ATH_CUDA_KIND_KERNEL, (uintptr_t)function };
    CUresult status =
        ath_cuda_object_serial(&served->session->objects, kernel, NULL)
            ? ath_cuda_kernel_layout_ask(served->driver, NULL, (CUkernel)(void *)function, out)
            : ath_cuda_kernel_layout_ask(served->driver, function, NULL, out);
    return !status && out->count;
}

/* Returns NULL if there are no parameters, if their places are unknown, or if there are so many
 * that drivers crash: github.com/openxla/xla/pull/19252. The driver is not asked about a wrong
 * handle. */
static void **pointers_of(struct ath_cuda_served *served, CUfunction function,
                          struct ath_wire_bytes bytes)
{
    enum { SAFE_BYTES = 4096 };
    struct ath_cuda_kernel_layout layout;
    if (served->side.status || !function || !bytes.length || bytes.length > SAFE_BYTES ||
        !finds_layout(served, function, &layout))
        return NULL;
    void **pointers = is_within(&layout, bytes.length)
                          ? ath_cuda_room(&served->side, layout.count, sizeof *pointers)
                          : NULL;
    for (uint32_t i = 0; pointers && i < layout.count; i++)
        pointers[i] = (void *)(uintptr_t)(bytes.data + layout.parameters[i].offset);
    return pointers;
}

/* A launch takes the buffer, which is faster. A graph gets pointers: the driver cannot tell the
 * parameters of a node that was made of a buffer. */
static void take_parameters(struct ath_cuda_served *served, struct parameters *out, bool is_node,
                            CUfunction function, struct ath_wire_bytes bytes)
{
    out->pointers = is_node ? pointers_of(served, function, bytes) : NULL;
    out->extra = out->pointers ? NULL : extra_of(out, bytes);
}

/* ---- launches ---- */

static bool may_capture(const struct ath_cuda_served *served)
{
    return served->session->captures.count;
}

void ath_cuda_serve_cuLaunchKernel(struct ath_cuda_served *served)
{
    NEEDS(served, cuLaunchKernel)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_launch_kernel call = ath_cuda_wire_call_launch_kernel(served->call);
    CUfunction function = ath_cuda_function_of(side, ath_cuda_wire_launch_kernel_function(call));
    CUstream stream = (CUstream)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_STREAM, ath_cuda_wire_launch_kernel_stream(call));
    struct parameters parameters;
    take_parameters(served, &parameters, may_capture(served), function,
                    ath_cuda_wire_launch_kernel_parameters(call));
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuLaunchKernel(
        function, ath_cuda_wire_launch_kernel_grid_dim_x(call),
        ath_cuda_wire_launch_kernel_grid_dim_y(call), ath_cuda_wire_launch_kernel_grid_dim_z(call),
        ath_cuda_wire_launch_kernel_block_dim_x(call),
        ath_cuda_wire_launch_kernel_block_dim_y(call),
        ath_cuda_wire_launch_kernel_block_dim_z(call),
        ath_cuda_wire_launch_kernel_shared_mem_bytes(call), stream, parameters.pointers,
        parameters.extra);
}

void ath_cuda_serve_cuLaunchKernelEx(struct ath_cuda_served *served)
{
    NEEDS(served, cuLaunchKernelEx)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_launch_kernel_ex call = ath_cuda_wire_call_launch_kernel_ex(served->call);
    CUfunction function = ath_cuda_function_of(side, ath_cuda_wire_launch_kernel_ex_function(call));
    CUlaunchConfig config;
    struct parameters parameters;
    ath_cuda_get_launch_config(side, &config, ath_cuda_wire_launch_kernel_ex_config(call));
    take_parameters(served, &parameters, may_capture(served), function,
                    ath_cuda_wire_launch_kernel_ex_parameters(call));
    if (ath_cuda_refused(served))
        return;
    served->status =
        served->driver->cuLaunchKernelEx(&config, function, parameters.pointers, parameters.extra);
}

/* ---- kernel nodes ---- */

static CUDA_KERNEL_NODE_PARAMS node_of(struct ath_cuda_served *served,
                                       struct ath_cuda_wire_kernel_node_params from,
                                       struct parameters *parameters)
{
    struct ath_cuda_side *side = &served->side;
    CUDA_KERNEL_NODE_PARAMS node = ath_cuda_kernel_node(
        side, from, ath_cuda_function_of(side, ath_cuda_wire_kernel_node_params_function(from)));
    take_parameters(served, parameters, true, node.func ? node.func : (CUfunction)(void *)node.kern,
                    ath_cuda_wire_kernel_node_params_parameters(from));
    node.kernelParams = parameters->pointers;
    node.extra = parameters->extra;
    return node;
}

void ath_cuda_serve_cuGraphAddKernelNode_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphAddKernelNode_v2)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_graph_add_kernel_node_v2 call =
        ath_cuda_wire_call_graph_add_kernel_node_v2(served->call);
    CUgraph graph = (CUgraph)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_GRAPH, ath_cuda_wire_graph_add_kernel_node_v2_graph(call));
    struct ath_wire_list list = ath_cuda_wire_graph_add_kernel_node_v2_dependencies(call);
    CUgraphNode *dependencies = ath_cuda_room(side, list.count, sizeof *dependencies);
    for (uint32_t i = 0; dependencies && i < list.count; i++)
        dependencies[i] = (CUgraphNode)(uintptr_t)ath_cuda_to_own(
            side, ATH_CUDA_KIND_GRAPH_NODE, ath_wire_u64(ath_wire_item(list, i), 0, 0));
    struct parameters parameters;
    CUDA_KERNEL_NODE_PARAMS params =
        node_of(served, ath_cuda_wire_graph_add_kernel_node_v2_kernel(call), &parameters);
    CUgraphNode node = NULL;
    if (ath_cuda_refused(served))
        return;
    served->status =
        served->driver->cuGraphAddKernelNode_v2(&node, graph, dependencies, list.count, &params);
    if (!served->status)
        ath_cuda_wire_graph_add_kernel_node_v2_result_set_node(
            ath_cuda_wire_answer_init_graph_add_kernel_node_v2(served->answer),
            ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
}

void ath_cuda_serve_cuGraphKernelNodeSetParams_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphKernelNodeSetParams_v2)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_graph_kernel_node_set_params_v2 call =
        ath_cuda_wire_call_graph_kernel_node_set_params_v2(served->call);
    CUgraphNode node = (CUgraphNode)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_GRAPH_NODE, ath_cuda_wire_graph_kernel_node_set_params_v2_node(call));
    struct parameters parameters;
    CUDA_KERNEL_NODE_PARAMS params =
        node_of(served, ath_cuda_wire_graph_kernel_node_set_params_v2_kernel(call), &parameters);
    if (!ath_cuda_refused(served))
        served->status = served->driver->cuGraphKernelNodeSetParams_v2(node, &params);
}

void ath_cuda_serve_cuGraphExecKernelNodeSetParams_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphExecKernelNodeSetParams_v2)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_graph_exec_kernel_node_set_params_v2 call =
        ath_cuda_wire_call_graph_exec_kernel_node_set_params_v2(served->call);
    CUgraphExec exec = (CUgraphExec)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_GRAPH_EXEC,
        ath_cuda_wire_graph_exec_kernel_node_set_params_v2_graph_exec(call));
    CUgraphNode node = (CUgraphNode)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_GRAPH_NODE,
        ath_cuda_wire_graph_exec_kernel_node_set_params_v2_node(call));
    struct parameters parameters;
    CUDA_KERNEL_NODE_PARAMS params = node_of(
        served, ath_cuda_wire_graph_exec_kernel_node_set_params_v2_kernel(call), &parameters);
    if (!ath_cuda_refused(served))
        served->status = served->driver->cuGraphExecKernelNodeSetParams_v2(exec, node, &params);
}

/* ---- a launch on several devices: it takes pointers to the parameters ---- */

static CUDA_LAUNCH_PARAMS device_launch_of(struct ath_cuda_served *served,
                                           struct ath_cuda_wire_device_launch from)
{
    struct ath_cuda_side *side = &served->side;
    CUfunction function = ath_cuda_function_of(side, ath_cuda_wire_device_launch_function(from));
    struct ath_wire_bytes bytes = ath_cuda_wire_device_launch_parameters(from);
    void **pointers = pointers_of(served, function, bytes);
    if (bytes.length && !pointers)
        side->status = CUDA_ERROR_INVALID_VALUE;
    return (CUDA_LAUNCH_PARAMS){
        .function = function,
        .gridDimX = ath_cuda_wire_device_launch_grid_dim_x(from),
        .gridDimY = ath_cuda_wire_device_launch_grid_dim_y(from),
        .gridDimZ = ath_cuda_wire_device_launch_grid_dim_z(from),
        .blockDimX = ath_cuda_wire_device_launch_block_dim_x(from),
        .blockDimY = ath_cuda_wire_device_launch_block_dim_y(from),
        .blockDimZ = ath_cuda_wire_device_launch_block_dim_z(from),
        .sharedMemBytes = ath_cuda_wire_device_launch_shared_mem_bytes(from),
        .hStream = (CUstream)(uintptr_t)ath_cuda_to_own(side, ATH_CUDA_KIND_STREAM,
                                                        ath_cuda_wire_device_launch_stream(from)),
        .kernelParams = pointers,
    };
}

void ath_cuda_serve_cuLaunchCooperativeKernelMultiDevice(struct ath_cuda_served *served)
{
    NEEDS(served, cuLaunchCooperativeKernelMultiDevice)
    struct ath_cuda_wire_launch_cooperative_kernel_multi_device call =
        ath_cuda_wire_call_launch_cooperative_kernel_multi_device(served->call);
    struct ath_wire_list list = ath_cuda_wire_launch_cooperative_kernel_multi_device_launches(call);
    CUDA_LAUNCH_PARAMS *launches = ath_cuda_room(&served->side, list.count, sizeof *launches);
    for (uint32_t i = 0; launches && i < list.count; i++)
        launches[i] = device_launch_of(
            served, (struct ath_cuda_wire_device_launch){ ath_wire_list_struct(list, i) });
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuLaunchCooperativeKernelMultiDevice(
        launches, list.count, ath_cuda_wire_launch_cooperative_kernel_multi_device_flags(call));
}

/* ---- what a kernel node holds ---- */

/* The buffer of a node that was made of one. Its length may be unknown. */
static struct ath_wire_bytes buffer_of(void **extra, size_t bytes)
{
    const void *data = NULL;
    for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            data = extra[1];
        else if (*extra != CU_LAUNCH_PARAM_BUFFER_SIZE)
            break;
    }
    return (struct ath_wire_bytes){ data, data ? bytes : 0 };
}

/* The node's parameters one after another. The driver gives them by pointers, or in a buffer. */
static struct ath_wire_bytes parameters_of(struct ath_cuda_side *side,
                                           const CUDA_KERNEL_NODE_PARAMS *node,
                                           const struct ath_cuda_kernel_layout *layout)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        size_t end = layout->parameters[i].offset + layout->parameters[i].size;
        bytes = end > bytes ? end : bytes;
    }
    if (!node->kernelParams)
        return buffer_of(node->extra, bytes);
    uint8_t *room = ath_cuda_room(side, bytes, 1);
    for (uint32_t i = 0; room && i < layout->count; i++)
        memcpy(room + layout->parameters[i].offset, node->kernelParams[i],
               layout->parameters[i].size);
    return (struct ath_wire_bytes){ room, room ? bytes : 0 };
}

void ath_cuda_serve_cuGraphKernelNodeGetParams_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuGraphKernelNodeGetParams_v2)
    struct ath_cuda_side *side = &served->side;
    CUgraphNode graph_node = (CUgraphNode)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_GRAPH_NODE,
        ath_cuda_wire_graph_kernel_node_get_params_v2_node(
            ath_cuda_wire_call_graph_kernel_node_get_params_v2(served->call)));
    CUDA_KERNEL_NODE_PARAMS node = { 0 };
    struct ath_cuda_kernel_layout layout = { .count = 0 };
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuGraphKernelNodeGetParams_v2(graph_node, &node);
    if (!served->status)
        served->status = ath_cuda_kernel_layout_ask(served->driver, node.func,
                                                    node.func ? NULL : node.kern, &layout);
    if (served->status)
        return;
    struct ath_cuda_wire_graph_kernel_node_get_params_v2_result_builder answer =
        ath_cuda_wire_answer_init_graph_kernel_node_get_params_v2(served->answer);
    ath_cuda_put_kernel_node(
        side, ath_cuda_wire_graph_kernel_node_get_params_v2_result_init_kernel(answer), &node,
        ath_cuda_to_wire(side, ATH_CUDA_KIND_FUNCTION, (uintptr_t)node.func),
        parameters_of(side, &node, &layout));
    ath_cuda_kernel_layout_put(
        ath_cuda_wire_graph_kernel_node_get_params_v2_result_init_layout(answer), &layout);
}
