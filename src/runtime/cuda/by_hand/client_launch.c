/*
 * Launches and kernel nodes: a kernel's parameters are put one after another, as the kernel wants
 * them, and travel as bytes; the server hands them to the driver by `extra`.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proto/cuda-client.h"
#include "proto/cuda-structs.h"
#include "runtime/cuda/by_hand/host.h"
#include "runtime/cuda/by_hand/kernel_node.h"
#include "runtime/cuda/by_hand/layout.h"
#include "runtime/cuda/client.h"
#include "runtime/cuda/zeroed.h"

struct packed {
    uint8_t *bytes; /* owned */
    size_t length;
};

static void packed_free(struct packed *packed)
{
    free(packed->bytes);
}

static CUresult pack_bytes(const void *bytes, size_t length, struct packed *out)
{
    out->bytes = ath_cuda_zeroed(length ? length : 1);
    if (!out->bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (length)
        memcpy(out->bytes, bytes, length);
    out->length = length;
    return CUDA_SUCCESS;
}

/* The list that `extra` is: where the bytes lie and how many there are, up to its end. */
static CUresult pack_extra(void **extra, struct packed *out)
{
    const void *bytes = NULL;
    size_t length = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            bytes = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            length = *(const size_t *)extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    return bytes || !length ? pack_bytes(bytes, length, out) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult pack_each(const struct ath_cuda_layout *layout, void **params, struct packed *out)
{
    if (layout->count && !params)
        return CUDA_ERROR_INVALID_VALUE;
    out->bytes = ath_cuda_zeroed(layout->bytes ? layout->bytes : 1);
    out->length = layout->bytes;
    for (size_t i = 0; out->bytes && i < layout->count; i++)
        memcpy(out->bytes + layout->parameters[i].offset, params[i], layout->parameters[i].size);
    return out->bytes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* threads are those of a block: CUDA says at once that they are too many. */
static CUresult pack(CUfunction function, uint64_t threads, void **params, void **extra,
                     struct packed *out)
{
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    if (params && extra)
        return CUDA_ERROR_INVALID_VALUE;
    ath_auto_free struct ath_cuda_layout *layout = NULL;
    CUresult status = ath_cuda_layout_of(function, &layout);
    if (layout && layout->max_threads && threads > layout->max_threads)
        return CUDA_ERROR_INVALID_VALUE;
    if (extra)
        status = pack_extra(extra, out);
    else if (layout)
        status = pack_each(layout, params, out);
    return status ? status : ath_cuda_host_map_parameters(out->bytes, out->length);
}

/* More dynamic shared memory than any kernel has without asking for it. */
static CUresult check_shared(CUfunction function, unsigned int bytes)
{
    enum { ALWAYS_THERE = 48 * 1024 };
    const CUfunction_attribute attribute = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    CUdevice device;
    int most = 0;
    if (bytes <= ALWAYS_THERE)
        return CUDA_SUCCESS;
    CUresult status = ath_cuda_do_cuCtxGetDevice(&device);
    if (!status)
        status = ath_cuda_is_kernel(function)
                     ? ath_cuda_do_cuKernelGetAttribute(&most, attribute,
                                                        (CUkernel)(void *)function, device)
                     : ath_cuda_do_cuFuncGetAttribute(&most, attribute, function);
    return !status && bytes > (unsigned int)most ? CUDA_ERROR_INVALID_VALUE : status;
}

static uint64_t threads_of(uint64_t x, uint64_t y, uint64_t z)
{
    return x < UINT32_MAX / 2 && y < 65536 && z < 65536 ? x * y * z : UINT64_MAX;
}

/* A handle of a CUfunction or of a CUkernel in its place. */
static uint64_t function_to_wire(struct ath_cuda_side *side, CUfunction function)
{
    return ath_cuda_to_wire(
        side, ath_cuda_is_kernel(function) ? ATH_CUDA_KIND_KERNEL : ATH_CUDA_KIND_FUNCTION,
        (uintptr_t)function);
}

static struct ath_wire_bytes bytes_of(const struct packed *packed)
{
    return (struct ath_wire_bytes){ packed->bytes, packed->length };
}

/* ---- launches ---- */

static uint64_t mixed(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/*
 * What clusters and cooperative launches must fit into differs between GPUs and kernels, and CUDA
 * says at once that one does not fit: the first launch of each shape waits for the answer. Returns
 * what stands for the shape, 0 for a launch of neither kind.
 */
static uint64_t shape_of(const CUlaunchConfig *config, CUfunction function)
{
    const uint64_t parts[] = { (uintptr_t)function, config->gridDimX,      config->gridDimY,
                               config->gridDimZ,    config->blockDimX,     config->blockDimY,
                               config->blockDimZ,   config->sharedMemBytes };
    uint64_t shape = 0;
    bool may_not_fit = false;
    for (unsigned int i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttributeValue *value = &config->attrs[i].value;
        if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && value->cooperative) {
            shape = mixed(shape, 1);
        } else if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            shape = mixed(mixed(shape, value->clusterDim.x), value->clusterDim.y);
            shape = mixed(shape, value->clusterDim.z);
        } else {
            continue;
        }
        may_not_fit = true;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        shape = mixed(shape, parts[i]);
    return may_not_fit ? shape | 1 : 0;
}

/*
 * Shapes that have fitted, without a lock: what is not found is only asked again. A network has
 * some hundreds; a place for one each would have two of them forget each other at every launch.
 */
enum { FITTED_ROWS = 512, FITTED_IN_A_ROW = 16 };
static _Atomic uint64_t fitted[FITTED_ROWS][FITTED_IN_A_ROW];

static _Atomic uint64_t *fitted_row(uint64_t shape)
{
    return fitted[(shape >> 32) % FITTED_ROWS];
}

static bool has_fitted(uint64_t shape)
{
    const _Atomic uint64_t *row = fitted_row(shape);
    for (size_t i = 0; i < FITTED_IN_A_ROW; i++)
        if (atomic_load_explicit(&row[i], memory_order_relaxed) == shape)
            return true;
    return false;
}

static void note_fitted(uint64_t shape)
{
    _Atomic uint64_t *row = fitted_row(shape);
    size_t i = 0;
    while (i < FITTED_IN_A_ROW && atomic_load_explicit(&row[i], memory_order_relaxed))
        i++;
    if (i == FITTED_IN_A_ROW) /* full: any may go */
        i = (shape >> 1) % FITTED_IN_A_ROW;
    atomic_store_explicit(&row[i], shape, memory_order_relaxed);
}

static CUresult post_or_ask(struct ath_cuda_exchange *exchange, uint64_t shape)
{
    if (!shape || has_fitted(shape))
        return ath_cuda_post(exchange);
    CUresult status = ath_cuda_ask(exchange);
    if (!status)
        note_fitted(shape);
    return status;
}

static CUresult launch(const CUlaunchConfig *config, CUfunction function,
                       const struct packed *packed)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLaunchKernelEx);
    if (status)
        return status;
    struct ath_cuda_wire_launch_kernel_ex_builder call =
        ath_cuda_wire_call_init_launch_kernel_ex(exchange.call);
    ath_cuda_put_launch_config(&exchange.side, ath_cuda_wire_launch_kernel_ex_init_config(call),
                               config);
    ath_cuda_wire_launch_kernel_ex_set_function(call, function_to_wire(&exchange.side, function));
    ath_cuda_wire_launch_kernel_ex_set_parameters(call, bytes_of(packed));
    return ath_cuda_end(&exchange, post_or_ask(&exchange, shape_of(config, function)));
}

/* The limits of every GPU since compute capability 3.0 (CUDA C++ Programming Guide, technical
 * specifications): what CUDA says at once, since nobody waits for what the server says. */
static CUresult check(const CUlaunchConfig *config)
{
    bool is_empty = !config->gridDimX || !config->gridDimY || !config->gridDimZ ||
                    !config->blockDimX || !config->blockDimY || !config->blockDimZ;
    bool is_large = config->gridDimX > INT32_MAX || config->gridDimY > UINT16_MAX ||
                    config->gridDimZ > UINT16_MAX || config->blockDimX > 1024 ||
                    config->blockDimY > 1024 || config->blockDimZ > 64;
    return is_empty || is_large || (config->numAttrs && !config->attrs) ? CUDA_ERROR_INVALID_VALUE
                                                                        : CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function,
                                           void **kernel_params, void **extra)
{
    __attribute__((cleanup(packed_free))) struct packed packed = { 0 };
    CUresult status = config ? check(config) : CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = pack(function, threads_of(config->blockDimX, config->blockDimY, config->blockDimZ),
                      kernel_params, extra, &packed);
    if (!status)
        status = check_shared(function, config->sharedMemBytes);
    return status ? status : launch(config, function, &packed);
}

CUresult ath_cuda_by_hand_cuLaunchKernel(CUfunction function, unsigned int grid_dim_x,
                                         unsigned int grid_dim_y, unsigned int grid_dim_z,
                                         unsigned int block_dim_x, unsigned int block_dim_y,
                                         unsigned int block_dim_z, unsigned int shared_mem_bytes,
                                         CUstream stream, void **kernel_params, void **extra)
{
    __attribute__((cleanup(packed_free))) struct packed packed = { 0 };
    const CUlaunchConfig config = {
        grid_dim_x,  grid_dim_y,       grid_dim_z, block_dim_x, block_dim_y,
        block_dim_z, shared_mem_bytes, stream,     NULL,        0
    };
    CUresult status = check(&config);
    if (!status)
        status = pack(function, threads_of(block_dim_x, block_dim_y, block_dim_z), kernel_params,
                      extra, &packed);
    if (!status)
        status = check_shared(function, shared_mem_bytes);
    if (status)
        return status;
    struct ath_cuda_exchange exchange;
    status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLaunchKernel);
    if (status)
        return status;
    struct ath_cuda_wire_launch_kernel_builder call =
        ath_cuda_wire_call_init_launch_kernel(exchange.call);
    ath_cuda_wire_launch_kernel_set_function(call, function_to_wire(&exchange.side, function));
    ath_cuda_wire_launch_kernel_set_grid_dim_x(call, grid_dim_x);
    ath_cuda_wire_launch_kernel_set_grid_dim_y(call, grid_dim_y);
    ath_cuda_wire_launch_kernel_set_grid_dim_z(call, grid_dim_z);
    ath_cuda_wire_launch_kernel_set_block_dim_x(call, block_dim_x);
    ath_cuda_wire_launch_kernel_set_block_dim_y(call, block_dim_y);
    ath_cuda_wire_launch_kernel_set_block_dim_z(call, block_dim_z);
    ath_cuda_wire_launch_kernel_set_shared_mem_bytes(call, shared_mem_bytes);
    ath_cuda_wire_launch_kernel_set_stream(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    ath_cuda_wire_launch_kernel_set_parameters(call, bytes_of(&packed));
    return ath_cuda_end(&exchange, ath_cuda_post(&exchange));
}

/* It is cuLaunchKernelEx() with an attribute; a driver that has the one has the other. */
CUresult ath_cuda_by_hand_cuLaunchCooperativeKernel(
    CUfunction function, unsigned int grid_dim_x, unsigned int grid_dim_y, unsigned int grid_dim_z,
    unsigned int block_dim_x, unsigned int block_dim_y, unsigned int block_dim_z,
    unsigned int shared_mem_bytes, CUstream stream, void **kernel_params)
{
    CUlaunchAttribute cooperative = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
                                      .value.cooperative = 1 };
    const CUlaunchConfig config = {
        grid_dim_x,  grid_dim_y,       grid_dim_z, block_dim_x,  block_dim_y,
        block_dim_z, shared_mem_bytes, stream,     &cooperative, 1
    };
    return ath_cuda_by_hand_cuLaunchKernelEx(&config, function, kernel_params, NULL);
}

/* ---- a launch on several devices ---- */

struct parts {
    size_t count;
    struct packed *each;
};

static void parts_free(struct parts *parts)
{
    for (size_t i = 0; parts->each && i < parts->count; i++)
        packed_free(&parts->each[i]);
    free(parts->each);
}

static void put_part(struct ath_cuda_side *side, struct ath_cuda_wire_device_launch_builder to,
                     const CUDA_LAUNCH_PARAMS *from, const struct packed *packed)
{
    ath_cuda_wire_device_launch_set_function(to, function_to_wire(side, from->function));
    ath_cuda_wire_device_launch_set_grid_dim_x(to, from->gridDimX);
    ath_cuda_wire_device_launch_set_grid_dim_y(to, from->gridDimY);
    ath_cuda_wire_device_launch_set_grid_dim_z(to, from->gridDimZ);
    ath_cuda_wire_device_launch_set_block_dim_x(to, from->blockDimX);
    ath_cuda_wire_device_launch_set_block_dim_y(to, from->blockDimY);
    ath_cuda_wire_device_launch_set_block_dim_z(to, from->blockDimZ);
    ath_cuda_wire_device_launch_set_shared_mem_bytes(to, from->sharedMemBytes);
    ath_cuda_wire_device_launch_set_stream(
        to, ath_cuda_to_wire(side, ATH_CUDA_KIND_STREAM, (uintptr_t)from->hStream));
    ath_cuda_wire_device_launch_set_parameters(to, bytes_of(packed));
}

CUresult ath_cuda_by_hand_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launches,
                                                               unsigned int device_count,
                                                               unsigned int flags)
{
    enum { DEVICES_MAX = 256 };
    __attribute__((cleanup(parts_free))) struct parts parts = { .count = device_count };
    struct ath_cuda_exchange exchange;
    CUresult status = CUDA_SUCCESS;
    if (!launches || !device_count || device_count > DEVICES_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    parts.each = ath_cuda_zeroed(device_count * sizeof *parts.each);
    if (!parts.each)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned int i = 0; i < device_count && !status; i++)
        status =
            pack(launches[i].function,
                 threads_of(launches[i].blockDimX, launches[i].blockDimY, launches[i].blockDimZ),
                 launches[i].kernelParams, NULL, &parts.each[i]);
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLaunchCooperativeKernelMultiDevice);
    if (status)
        return status;
    struct ath_cuda_wire_launch_cooperative_kernel_multi_device_builder call =
        ath_cuda_wire_call_init_launch_cooperative_kernel_multi_device(exchange.call);
    struct ath_wire_array list =
        ath_cuda_wire_launch_cooperative_kernel_multi_device_init_launches(call, device_count);
    for (uint32_t i = 0; i < list.count; i++)
        put_part(&exchange.side,
                 (struct ath_cuda_wire_device_launch_builder){ ath_wire_array_struct(list, i) },
                 &launches[i], &parts.each[i]);
    ath_cuda_wire_launch_cooperative_kernel_multi_device_set_flags(call, flags);
    return ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
}

/* ---- kernel nodes ---- */

/* The older structure as the newer one, which has a kernel and a context more. */
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

static CUresult pack_node(const CUDA_KERNEL_NODE_PARAMS *params, struct packed *out)
{
    if (!params)
        return CUDA_ERROR_INVALID_VALUE;
    CUfunction function = params->func ? params->func : (CUfunction)(void *)params->kern;
    return pack(function, threads_of(params->blockDimX, params->blockDimY, params->blockDimZ),
                params->kernelParams, params->extra, out);
}

static void put_node(struct ath_cuda_side *side, struct ath_cuda_wire_kernel_node_params_builder to,
                     const CUDA_KERNEL_NODE_PARAMS *from, const struct packed *packed)
{
    ath_cuda_put_kernel_node(side, to, from, function_to_wire(side, from->func), bytes_of(packed));
}

CUresult ath_cuda_by_hand_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
                                                  const CUgraphNode *dependencies,
                                                  size_t dependency_count,
                                                  const CUDA_KERNEL_NODE_PARAMS *params)
{
    __attribute__((cleanup(packed_free))) struct packed packed = { 0 };
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
    __attribute__((cleanup(packed_free))) struct packed packed = { 0 };
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

CUresult ath_cuda_by_hand_cuGraphExecKernelNodeSetParams_v2(CUgraphExec graph_exec,
                                                            CUgraphNode node,
                                                            const CUDA_KERNEL_NODE_PARAMS *params)
{
    __attribute__((cleanup(packed_free))) struct packed packed = { 0 };
    struct ath_cuda_exchange exchange;
    CUresult status = pack_node(params, &packed);
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuGraphExecKernelNodeSetParams_v2);
    if (status)
        return status;
    struct ath_cuda_side *side = &exchange.side;
    struct ath_cuda_wire_graph_exec_kernel_node_set_params_v2_builder call =
        ath_cuda_wire_call_init_graph_exec_kernel_node_set_params_v2(exchange.call);
    ath_cuda_wire_graph_exec_kernel_node_set_params_v2_set_graph_exec(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_EXEC, (uintptr_t)graph_exec));
    ath_cuda_wire_graph_exec_kernel_node_set_params_v2_set_node(
        call, ath_cuda_to_wire(side, ATH_CUDA_KIND_GRAPH_NODE, (uintptr_t)node));
    put_node(side, ath_cuda_wire_graph_exec_kernel_node_set_params_v2_init_kernel(call), params,
             &packed);
    return ath_cuda_end(&exchange, ath_cuda_ask(&exchange));
}

CUresult ath_cuda_by_hand_cuGraphExecKernelNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                                         const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
    CUDA_KERNEL_NODE_PARAMS wide = params ? widened(params) : (CUDA_KERNEL_NODE_PARAMS){ 0 };
    return ath_cuda_by_hand_cuGraphExecKernelNodeSetParams_v2(graph_exec, node,
                                                              params ? &wide : NULL);
}

/* ---- what a kernel node holds ---- */

/* The parameters' memory is the node's, in CUDA's words: here it stays until the node is asked
 * again. */
static CUresult unpack(struct ath_cuda_exchange *exchange, struct ath_wire_bytes bytes,
                       struct ath_cuda_wire_layout layout, CUgraphNode node,
                       CUDA_KERNEL_NODE_PARAMS *out)
{
    struct ath_wire_list offsets = ath_cuda_wire_layout_offsets(layout);
    ath_cuda_keep(exchange, (uintptr_t)node);
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
