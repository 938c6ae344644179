/* The functions in the driver's table that proto/cuda_part.py names as written by hand. */
#include "config.h"

#include "proto/cuda-part.h"

#include "base/i18n.h"
#include "runtime/part/order.h"
#include "runtime/part/state.h"

#define raw ath_parts.raw

/* ---- primary contexts ---- */

static CUresult note_primary(struct ath_part *part, CUcontext context)
{
    pthread_mutex_lock(&part->lock);
    atomic_store(&part->primary, context);
    CUresult status = ath_part_make(part);
    part->retained += !status;
    pthread_mutex_unlock(&part->lock);
    return status;
}

CUresult ath_part_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    struct ath_part *part = ath_part_of(device);
    CUresult status = raw.cuDevicePrimaryCtxRetain(context, device);
    if (status || !part)
        return status;
    status = note_primary(part, *context);
    if (status)
        raw.cuDevicePrimaryCtxRelease_v2(device);
    return status;
}

/* The green context has a reference of its own, so it ends with the program's last one. */
CUresult ath_part_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    struct ath_part *part = ath_part_of(device);
    if (!part)
        return raw.cuDevicePrimaryCtxRelease_v2(device);
    pthread_mutex_lock(&part->lock);
    if (part->retained && !--part->retained)
        ath_part_end(part);
    CUresult status = raw.cuDevicePrimaryCtxRelease_v2(device);
    pthread_mutex_unlock(&part->lock);
    return status;
}

CUresult ath_part_cuDevicePrimaryCtxRelease(CUdevice device)
{
    return ath_part_cuDevicePrimaryCtxRelease_v2(device);
}

/* The references stay, and the context is made again when it is next used. */
CUresult ath_part_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    struct ath_part *part = ath_part_of(device);
    if (!part)
        return raw.cuDevicePrimaryCtxReset_v2(device);
    pthread_mutex_lock(&part->lock);
    ath_part_end(part);
    CUresult status = raw.cuDevicePrimaryCtxReset_v2(device);
    pthread_mutex_unlock(&part->lock);
    return status;
}

CUresult ath_part_cuDevicePrimaryCtxReset(CUdevice device)
{
    return ath_part_cuDevicePrimaryCtxReset_v2(device);
}

/* ---- other contexts: they would have all multiprocessors ---- */

static CUresult refuse_context(void)
{
    static atomic_bool is_said;
    if (!atomic_exchange(&is_said, true))
        ath_parts.setup.say(_("a program with a part of the multiprocessors (--sm-share) has only "
                              "primary contexts: cuCtxCreate() is refused"));
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult ath_part_cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device)
{
    (void)context;
    (void)flags;
    (void)device;
    return refuse_context();
}

CUresult ath_part_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    return ath_part_cuCtxCreate(context, flags, device);
}

CUresult ath_part_cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params, int count,
                                 unsigned int flags, CUdevice device)
{
    (void)params;
    (void)count;
    return ath_part_cuCtxCreate(context, flags, device);
}

CUresult ath_part_cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned int flags,
                                 CUdevice device)
{
    (void)params;
    return ath_part_cuCtxCreate(context, flags, device);
}

/* ---- streams ---- */

CUresult ath_part_cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority)
{
    struct ath_part *part;
    CUresult status = ath_part_enter_inside(&part);
    if (status)
        return status;
    status = raw.cuStreamCreateWithPriority(stream, flags, priority);
    if (!status && part && !(flags & CU_STREAM_NON_BLOCKING) &&
        !ath_part_order_add(part, *stream)) {
        raw.cuStreamDestroy_v2(*stream);
        status = CUDA_ERROR_OUT_OF_MEMORY;
    }
    ath_part_leave(part);
    return status;
}

CUresult ath_part_cuStreamCreate(CUstream *stream, unsigned int flags)
{
    return ath_part_cuStreamCreateWithPriority(stream, flags, 0);
}

static void forget(CUstream stream)
{
    for (size_t i = 0; i < ath_parts.setup.device_count; i++) {
        struct ath_part *part = &ath_parts.items[i];
        pthread_mutex_lock(&part->lock);
        ath_part_order_drop(part, stream);
        pthread_mutex_unlock(&part->lock);
    }
}

/* Its work goes on, and the null stream no longer waits for it; nor does a program that destroys a
 * stream before it has waited. */
CUresult ath_part_cuStreamDestroy_v2(CUstream stream)
{
    forget(stream);
    return raw.cuStreamDestroy_v2(stream);
}

CUresult ath_part_cuStreamDestroy(CUstream stream)
{
    return ath_part_cuStreamDestroy_v2(stream);
}

/* The part of a green context of ours; NULL: it is the program's. */
static const struct ath_part *part_of_context(CUcontext context)
{
    for (size_t i = 0; context && i < ath_parts.setup.device_count; i++)
        if (ath_parts.items[i].context == context)
            return &ath_parts.items[i];
    return NULL;
}

static void show_context(CUcontext *context)
{
    const struct ath_part *part = part_of_context(*context);
    if (part)
        *context = atomic_load(&part->primary);
}

static void hide_green(CUgreenCtx *green)
{
    for (size_t i = 0; *green && i < ath_parts.setup.device_count; i++)
        if (ath_parts.items[i].green == *green)
            *green = NULL;
}

CUresult ath_part_cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    struct ath_part *part;
    CUresult status = ath_part_enter(&stream, false, &part);
    if (status)
        return status;
    status = raw.cuStreamGetCtx(stream, context);
    ath_part_leave(part);
    if (!status)
        show_context(context);
    return status;
}

CUresult ath_part_cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green)
{
    struct ath_part *part;
    CUresult status = ath_part_enter(&stream, false, &part);
    if (status)
        return status;
    status = raw.cuStreamGetCtx_v2(stream, context, green);
    ath_part_leave(part);
    if (!status)
        show_context(context);
    if (!status && green)
        hide_green(green);
    return status;
}

CUresult ath_part_cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *green)
{
    struct ath_part *part;
    CUresult status = ath_part_enter(&stream, false, &part);
    if (status)
        return status;
    status = raw.cuStreamGetGreenCtx(stream, green);
    ath_part_leave(part);
    if (!status)
        hide_green(green);
    return status;
}

/* ---- what the program may divide further ---- */

static CUresult resource_of(struct ath_part *part, CUdevResource *resource, CUdevResourceType type)
{
    CUcontext primary;
    CUresult status = raw.cuDevicePrimaryCtxRetain(&primary, part->device);
    if (status)
        return status;
    pthread_mutex_lock(&part->lock);
    atomic_store(&part->primary, primary);
    status = ath_part_make(part); /* it keeps the primary context */
    if (!status)
        status = raw.cuGreenCtxGetDevResource(part->green, resource, type);
    pthread_mutex_unlock(&part->lock);
    raw.cuDevicePrimaryCtxRelease_v2(part->device);
    return status;
}

CUresult ath_part_cuDeviceGetDevResource(CUdevice device, CUdevResource *resource,
                                         CUdevResourceType type)
{
    struct ath_part *part = ath_part_of(device);
    return part && type == CU_DEV_RESOURCE_TYPE_SM
               ? resource_of(part, resource, type)
               : raw.cuDeviceGetDevResource(device, resource, type);
}

CUresult ath_part_cuCtxGetDevResource(CUcontext context, CUdevResource *resource,
                                      CUdevResourceType type)
{
    struct ath_part *part = context ? NULL : ath_part_current();
    for (size_t i = 0; context && i < ath_parts.setup.device_count; i++)
        if (atomic_load(&ath_parts.items[i].primary) == context)
            part = &ath_parts.items[i];
    return part && type == CU_DEV_RESOURCE_TYPE_SM
               ? resource_of(part, resource, type)
               : raw.cuCtxGetDevResource(context, resource, type);
}

/* ---- nodes of graphs: a kernel's node has a context among its parameters ---- */

static void show_node_context(CUDA_KERNEL_NODE_PARAMS *params)
{
    show_context(&params->ctx);
}

static CUresult change_node(CUDA_KERNEL_NODE_PARAMS *copy, const CUDA_KERNEL_NODE_PARAMS *params,
                            struct ath_part **out_held)
{
    *copy = *params;
    CUresult status = ath_part_enter_inside(out_held);
    copy->ctx = ath_part_inside(copy->ctx);
    return status;
}

CUresult ath_part_cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph,
                                          const CUgraphNode *dependencies, size_t count,
                                          const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUDA_KERNEL_NODE_PARAMS copy;
    struct ath_part *part;
    CUresult status = change_node(&copy, params, &part);
    if (status)
        return status;
    status = raw.cuGraphAddKernelNode_v2(node, graph, dependencies, count, &copy);
    ath_part_leave(part);
    return status;
}

CUresult ath_part_cuGraphKernelNodeSetParams_v2(CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUDA_KERNEL_NODE_PARAMS copy;
    struct ath_part *part;
    CUresult status = change_node(&copy, params, &part);
    if (status)
        return status;
    status = raw.cuGraphKernelNodeSetParams_v2(node, &copy);
    ath_part_leave(part);
    return status;
}

CUresult ath_part_cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                    const CUDA_KERNEL_NODE_PARAMS *params)
{
    CUDA_KERNEL_NODE_PARAMS copy;
    struct ath_part *part;
    CUresult status = change_node(&copy, params, &part);
    if (status)
        return status;
    status = raw.cuGraphExecKernelNodeSetParams_v2(exec, node, &copy);
    ath_part_leave(part);
    return status;
}

CUresult ath_part_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params)
{
    CUresult status = raw.cuGraphKernelNodeGetParams_v2(node, params);
    if (!status)
        show_node_context(params);
    return status;
}

/* A node of a kind that may name a context. NULL: it names none. */
static CUcontext *context_of(CUgraphNodeParams *params)
{
    switch (params->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return &params->kernel.ctx;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return &params->memset.ctx;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return &params->memOp.ctx;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return &params->conditional.ctx;
    default:
        return NULL;
    }
}

/* The driver writes results into *params, so the program's own are changed for the call. */
struct node {
    CUcontext *at, before;
    struct ath_part *held;
};

static CUresult begin_node(CUgraphNodeParams *params, struct node *node)
{
    *node = (struct node){ .at = params ? context_of(params) : NULL };
    CUresult status = ath_part_enter_inside(&node->held);
    if (status || !node->at)
        return status;
    node->before = *node->at;
    *node->at = ath_part_inside(node->before);
    return CUDA_SUCCESS;
}

static void end_node(const struct node *node)
{
    if (node->at)
        *node->at = node->before;
    ath_part_leave(node->held);
}

CUresult ath_part_cuGraphAddNode(CUgraphNode *made, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t count, CUgraphNodeParams *params)
{
    struct node node;
    CUresult status = begin_node(params, &node);
    if (status)
        return status;
    status = raw.cuGraphAddNode(made, graph, dependencies, count, params);
    end_node(&node);
    return status;
}

CUresult ath_part_cuGraphAddNode_v2(CUgraphNode *made, CUgraph graph,
                                    const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
                                    size_t count, CUgraphNodeParams *params)
{
    struct node node;
    CUresult status = begin_node(params, &node);
    if (status)
        return status;
    status = raw.cuGraphAddNode_v2(made, graph, dependencies, edges, count, params);
    end_node(&node);
    return status;
}

CUresult ath_part_cuGraphNodeSetParams(CUgraphNode of, CUgraphNodeParams *params)
{
    struct node node;
    CUresult status = begin_node(params, &node);
    if (status)
        return status;
    status = raw.cuGraphNodeSetParams(of, params);
    end_node(&node);
    return status;
}

CUresult ath_part_cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode of,
                                           CUgraphNodeParams *params)
{
    struct node node;
    CUresult status = begin_node(params, &node);
    if (status)
        return status;
    status = raw.cuGraphExecNodeSetParams(exec, of, params);
    end_node(&node);
    return status;
}

/* ---- the number of multiprocessors ---- */

static CUresult (*get_attribute)(int *value, CUdevice_attribute attribute, CUdevice device);

static CUresult show_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult status = get_attribute(value, attribute, device);
    struct ath_part *part = ath_part_of(device);
    if (status || !part || attribute != CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        return status;
    pthread_mutex_lock(&part->lock);
    if (!ath_part_measure(part))
        *value = (int)part->mine;
    pthread_mutex_unlock(&part->lock);
    return status;
}

/* The grid of these is for the whole device; the function that they call is the program's, so no
 * lock is held. */
static void fit_grid(int *grid)
{
    struct ath_part *part = ath_part_current();
    if (!part)
        return;
    pthread_mutex_lock(&part->lock);
    if (!ath_part_measure(part))
        *grid = (int)((uint64_t)*grid * part->mine / part->total);
    pthread_mutex_unlock(&part->lock);
}

CUresult ath_part_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block,
                                                            CUfunction function,
                                                            CUoccupancyB2DSize shared_of_block,
                                                            size_t shared_bytes, int limit,
                                                            unsigned int flags)
{
    CUresult status = raw.cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid, block, function, shared_of_block, shared_bytes, limit, flags);
    if (!status)
        fit_grid(grid);
    return status;
}

CUresult ath_part_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction function,
                                                   CUoccupancyB2DSize shared_of_block,
                                                   size_t shared_bytes, int limit)
{
    CUresult status = raw.cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_of_block,
                                                           shared_bytes, limit);
    if (!status)
        fit_grid(grid);
    return status;
}

void ath_part_show(struct ath_cuda_driver *driver)
{
    if (!ath_parts.setup.percent || !driver->cuDeviceGetAttribute)
        return;
    get_attribute = driver->cuDeviceGetAttribute;
    driver->cuDeviceGetAttribute = show_attribute;
}
