/* The server's side of launches, of kernel nodes, and of the layout of a kernel's parameters. */
#include "config.h"

#include <string.h>

#include "cuda/common/kernel_node.h"
#include "cuda/common/promise.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-structs.h"

/* ---- where the parameters of a kernel lie ---- */

enum { PARAMETERS_MAX = 4096 }; /* they have 32764 bytes in all: CUDA 12.1's limit */

struct layout {
    uint32_t count, max_threads;
    struct {
        size_t offset, size;
    } parameters[PARAMETERS_MAX];
};

static uint32_t max_threads_of(const struct ath_cuda_driver *driver, CUfunction function,
                               CUkernel kernel)
{
    const CUfunction_attribute threads = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    CUdevice device = 0;
    int value = 0;
    CUresult status = CUDA_ERROR_NOT_SUPPORTED;
    if (function && driver->cuFuncGetAttribute)
        status = driver->cuFuncGetAttribute(&value, threads, function);
    else if (kernel && driver->cuKernelGetAttribute && !driver->cuCtxGetDevice(&device))
        status = driver->cuKernelGetAttribute(&value, threads, kernel, device);
    return status || value < 0 ? 0 : (uint32_t)value;
}

/* A driver before CUDA 12.4 cannot tell the layout; launches then need `extra`. */
static CUresult ask_layout(const struct ath_cuda_driver *driver, CUfunction function,
                           CUkernel kernel, struct layout *out)
{
    bool is_known =
        kernel ? driver->cuKernelGetParamInfo != NULL : driver->cuFuncGetParamInfo != NULL;
    CUresult status = is_known ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    for (out->count = 0; !status && out->count < PARAMETERS_MAX; out->count += !status) {
        size_t *offset = &out->parameters[out->count].offset;
        size_t *size = &out->parameters[out->count].size;
        status = kernel ? driver->cuKernelGetParamInfo(kernel, out->count, offset, size)
                        : driver->cuFuncGetParamInfo(function, out->count, offset, size);
    }
    out->max_threads = max_threads_of(driver, function, kernel);
    return status == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : status; /* there is no such one */
}

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

static bool is_within(const struct layout *layout, size_t length)
{
    for (uint32_t i = 0; i < layout->count; i++)
        if (layout->parameters[i].offset + layout->parameters[i].size > length)
            return false;
    return true;
}

/* The function may be a kernel. */
static bool finds_layout(const struct ath_cuda_served *served, CUfunction function,
                         struct layout *out)
{
    const struct ath_cuda_object_name kernel = { ATH_CUDA_KIND_KERNEL, (uintptr_t)function };
    CUresult status = ath_cuda_object_serial(&served->session->objects, kernel, NULL)
                          ? ask_layout(served->driver, NULL, (CUkernel)(void *)function, out)
                          : ask_layout(served->driver, function, NULL, out);
    return !status && out->count;
}

/* Returns NULL if there are no parameters, if their places are unknown, or if there are so many
 * that drivers crash: github.com/openxla/xla/pull/19252. The driver is not asked about a wrong
 * handle. */
static void **pointers_of(struct ath_cuda_served *served, CUfunction function,
                          struct ath_wire_bytes bytes)
{
    enum { SAFE_BYTES = 4096 };
    struct layout layout;
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

/* ---- functions, and where their parameters lie ---- */

static void put_layout(struct ath_cuda_wire_layout_builder to, const struct layout *layout)
{
    ath_cuda_wire_layout_set_is_known(to, true);
    ath_cuda_wire_layout_set_max_threads(to, layout->max_threads);
    struct ath_wire_array offsets = ath_cuda_wire_layout_init_offsets(to, layout->count);
    struct ath_wire_array sizes = ath_cuda_wire_layout_init_sizes(to, layout->count);
    for (uint32_t i = 0; i < layout->count; i++) {
        ath_wire_array_set_bits(offsets, i, layout->parameters[i].offset);
        ath_wire_array_set_bits(sizes, i, layout->parameters[i].size);
    }
}

static CUresult answer_layout(const struct ath_cuda_driver *driver,
                              struct ath_cuda_wire_layout_builder to, CUfunction function,
                              CUkernel kernel)
{
    struct layout layout;
    CUresult status = ask_layout(driver, function, kernel, &layout);
    if (!status)
        put_layout(to, &layout);
    return status;
}

/* Sends the facts that programs ask for next. A kernel that does not compile has no layout: each of
 * these would compile it again. */
static void put_facts(struct ath_cuda_served *served,
                      struct ath_cuda_wire_library_get_kernel_result_builder to, CUkernel kernel)
{
    const struct ath_cuda_driver *driver = served->driver;
    CUdevice device;
    CUfunction function;
    struct {
        uint32_t attribute;
        int value;
    } facts[CU_FUNC_ATTRIBUTE_MAX];
    uint32_t count = 0;
    if (!driver->cuKernelGetFunction || !driver->cuKernelGetAttribute ||
        driver->cuCtxGetDevice(&device) || driver->cuKernelGetFunction(&function, kernel))
        return;
    ath_cuda_wire_library_get_kernel_result_set_function(
        to, ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_FUNCTION, (uintptr_t)function));
    for (uint32_t i = 0; i < CU_FUNC_ATTRIBUTE_MAX; i++) {
        facts[count].attribute = i;
        count += !driver->cuKernelGetAttribute(&facts[count].value, (CUfunction_attribute)i, kernel,
                                               device);
    }
    struct ath_wire_array list = ath_cuda_wire_library_get_kernel_result_init_facts(to, count);
    for (uint32_t i = 0; i < count; i++) {
        struct ath_cuda_wire_kernel_fact_builder fact = { ath_wire_array_struct(list, i) };
        ath_cuda_wire_kernel_fact_set_attribute(fact, facts[i].attribute);
        ath_cuda_wire_kernel_fact_set_value(fact, facts[i].value);
    }
}

void ath_cuda_serve_cuLibraryGetKernel(struct ath_cuda_served *served)
{
    NEEDS(served, cuLibraryGetKernel)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_library_get_kernel call =
        ath_cuda_wire_call_library_get_kernel(served->call);
    CUlibrary library = (CUlibrary)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_LIBRARY, ath_cuda_wire_library_get_kernel_library(call));
    CUkernel kernel = NULL;
    served->promised = ath_cuda_promise_of(ath_cuda_wire_library_get_kernel_promised(call));
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuLibraryGetKernel(
        &kernel, library, ath_cuda_wire_library_get_kernel_name(call));
    if (served->status)
        return;
    struct ath_cuda_wire_library_get_kernel_result_builder answer =
        ath_cuda_wire_answer_init_library_get_kernel(served->answer);
    ath_cuda_wire_library_get_kernel_result_set_kernel(
        answer, ath_cuda_to_wire(side, ATH_CUDA_KIND_KERNEL, (uintptr_t)kernel));
    if (!answer_layout(served->driver, ath_cuda_wire_library_get_kernel_result_init_layout(answer),
                       NULL, kernel))
        put_facts(served, answer, kernel);
}

void ath_cuda_serve_cuModuleGetFunction(struct ath_cuda_served *served)
{
    NEEDS(served, cuModuleGetFunction)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_module_get_function call =
        ath_cuda_wire_call_module_get_function(served->call);
    CUmodule module = (CUmodule)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_MODULE, ath_cuda_wire_module_get_function_module(call));
    CUfunction function = NULL;
    served->promised = ath_cuda_promise_of(ath_cuda_wire_module_get_function_promised(call));
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuModuleGetFunction(
        &function, module, ath_cuda_wire_module_get_function_name(call));
    if (served->status)
        return;
    struct ath_cuda_wire_module_get_function_result_builder answer =
        ath_cuda_wire_answer_init_module_get_function(served->answer);
    ath_cuda_wire_module_get_function_result_set_function(
        answer, ath_cuda_to_wire(side, ATH_CUDA_KIND_FUNCTION, (uintptr_t)function));
    answer_layout(served->driver, ath_cuda_wire_module_get_function_result_init_layout(answer),
                  function, NULL);
}

void ath_cuda_serve_athFunctionLayout(struct ath_cuda_served *served)
{
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_function_layout call = ath_cuda_wire_call_function_layout(served->call);
    uint64_t wire = ath_cuda_wire_function_layout_function(call);
    bool is_kernel = ath_cuda_wire_function_layout_is_kernel(call);
    CUkernel kernel = NULL;
    CUfunction function = NULL;
    if (is_kernel)
        kernel = (CUkernel)(uintptr_t)ath_cuda_to_own(side, ATH_CUDA_KIND_KERNEL, wire);
    else
        function = ath_cuda_function_of(side, wire);
    if (!kernel && !function)
        side->status = CUDA_ERROR_INVALID_HANDLE;
    if (ath_cuda_refused(served))
        return;
    served->status = answer_layout(served->driver,
                                   ath_cuda_wire_function_layout_result_init_layout(
                                       ath_cuda_wire_answer_init_function_layout(served->answer)),
                                   function, kernel);
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
                                           const struct layout *layout)
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
    struct layout layout = { .count = 0 };
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuGraphKernelNodeGetParams_v2(graph_node, &node);
    if (!served->status)
        served->status =
            ask_layout(served->driver, node.func, node.func ? NULL : node.kern, &layout);
    if (served->status)
        return;
    struct ath_cuda_wire_graph_kernel_node_get_params_v2_result_builder answer =
        ath_cuda_wire_answer_init_graph_kernel_node_get_params_v2(served->answer);
    ath_cuda_put_kernel_node(
        side, ath_cuda_wire_graph_kernel_node_get_params_v2_result_init_kernel(answer), &node,
        ath_cuda_to_wire(side, ATH_CUDA_KIND_FUNCTION, (uintptr_t)node.func),
        parameters_of(side, &node, &layout));
    put_layout(ath_cuda_wire_graph_kernel_node_get_params_v2_result_init_layout(answer), &layout);
}
