/*
 * Green contexts: a part of a device's processors with its own streams. A kernel of a part takes
 * longer, if it takes time at all (gpu_time.h).
 *
 * "A green context can be current to only one thread at a time" (cuda.h). A GPU's driver ends the
 * program with a segmentation fault otherwise (580, H200); this one ends it with a message.
 */
#include "config.h"

#include "sim/green.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/facts.h"
#include "sim/primary_context.h"
#include "sim/stream.h"

enum { PART = 2 /* the number of processors must be a multiple */ };

struct CUdevResourceDesc_st {
    struct CUdevResourceDesc_st *next;
    uint64_t processors;
};

/* CUDA has no function that frees one. */
static struct CUdevResourceDesc_st *descriptors;

/* The processors stand where the program must not look. */
static CUresult resource_of(uint64_t processors, CUdevResource *out)
{
    *out = (CUdevResource){ .type = CU_DEV_RESOURCE_TYPE_SM,
                            .sm = { .smCount = (unsigned int)__builtin_popcountll(processors),
                                    .minSmPartitionSize = PART,
                                    .smCoscheduledAlignment = PART } };
    memcpy(out->_internal_padding, &processors, sizeof processors);
    return CUDA_SUCCESS;
}

static uint64_t processors_of(const CUdevResource *resource)
{
    uint64_t processors;
    memcpy(&processors, resource->_internal_padding, sizeof processors);
    return processors;
}

static struct sim_context *find(CUgreenCtx handle)
{
    struct sim_context *context = sim_object_find(SIM_CONTEXT, handle);
    return context && context->is_alive && context->processors ? context : NULL;
}

void sim_green_ends(uint64_t thread)
{
    for (struct sim_context *context = sim_contexts(); context; context = context->next)
        if (context->holder == thread)
            context->holder = 0;
}

void sim_green_moves(struct sim_context *before, struct sim_context *now, uint64_t thread)
{
    if (before == now)
        return;
    if (before && before->processors && before->holder == thread)
        before->holder = 0;
    if (!now || !now->processors)
        return;
    if (now->holder && now->holder != thread) {
        fputs("simulated CUDA driver: a green context became current to two threads\n", stderr);
        abort();
    }
    now->holder = thread;
}

/* ---- resources ---- */

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
    SIM_LOCKED;
    struct sim_device *of;
    CUresult status = sim_enter_device(device, &of);
    if (status)
        return status;
    if (!resource || type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_facts_has_parts())
        return CUDA_ERROR_NOT_SUPPORTED;
    return resource_of(sim_processors(NULL), resource);
}

CUresult cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource *resource,
                                  CUdevResourceType type)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_context *context = find(handle);
    if (!context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!resource || type != CU_DEV_RESOURCE_TYPE_SM)
        return CUDA_ERROR_INVALID_VALUE;
    return resource_of(context->processors, resource);
}

CUresult cuCtxGetDevResource(CUcontext handle, CUdevResource *resource, CUdevResourceType type)
{
    struct sim_context *context;
    sim_lock();
    CUresult status = sim_enter_context(handle, &context);
    bool is_green = !status && context->processors;
    int device = status ? 0 : context->device;
    sim_unlock();
    if (status)
        return status;
    return is_green ? cuGreenCtxGetDevResource((CUgreenCtx)context, resource, type)
                    : cuDeviceGetDevResource(sim_device_number(device), resource, type);
}

/* Takes the lowest processors out of *from. */
static uint64_t take(uint64_t *from, unsigned int count)
{
    uint64_t taken = 0;
    for (; count && *from; count--) {
        taken |= *from & -*from;
        *from &= *from - 1;
    }
    return taken;
}

/* Returns as many of the requested groups as fit; without an array only their number. The smallest
 * groups of a whole device leave some processors over: 12 of 132 on an H200 (driver 580). */
CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *group_count,
                                     const CUdevResource *input, CUdevResource *remaining,
                                     unsigned int flags, unsigned int least)
{
    const unsigned int known = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING |
                               CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
    if (!group_count || !input || input->type != CU_DEV_RESOURCE_TYPE_SM || flags & ~known ||
        least > input->sm.smCount)
        return CUDA_ERROR_INVALID_VALUE;
    unsigned int each = least ? (least + PART - 1) / PART * PART : PART;
    bool is_whole = !least && processors_of(input) == sim_processors(NULL);
    unsigned int most = (input->sm.smCount - (is_whole ? PART : 0)) / each;
    unsigned int count = result && *group_count < most ? *group_count : most;
    uint64_t left = processors_of(input);
    for (unsigned int i = 0; result && i < count; i++)
        resource_of(take(&left, each), &result[i]);
    if (result && remaining)
        resource_of(left, remaining);
    *group_count = count;
    return CUDA_SUCCESS;
}

CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *descriptor, CUdevResource *resources,
                                   unsigned int count)
{
    uint64_t processors = 0;
    for (unsigned int i = 0; resources && i < count; i++) {
        if (resources[i].type != CU_DEV_RESOURCE_TYPE_SM)
            return CUDA_ERROR_INVALID_RESOURCE_TYPE;
        processors |= processors_of(&resources[i]);
    }
    if (!descriptor || !processors)
        return CUDA_ERROR_INVALID_VALUE;
    struct CUdevResourceDesc_st *made = malloc(sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    SIM_LOCKED;
    *made = (struct CUdevResourceDesc_st){ .next = descriptors, .processors = processors };
    descriptors = made;
    *descriptor = made;
    return CUDA_SUCCESS;
}

/* ---- contexts ---- */

CUresult cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc descriptor, CUdevice device,
                          unsigned int flags)
{
    SIM_LOCKED;
    struct sim_context *context;
    struct sim_device *of;
    CUresult status = sim_enter_device(device, &of);
    const struct CUdevResourceDesc_st *known = descriptors;
    while (known && known != descriptor)
        known = known->next;
    if (!status && (!out || !known || flags != CU_GREEN_CTX_DEFAULT_STREAM))
        status = CUDA_ERROR_INVALID_VALUE;
    struct sim_context *whole;
    if (!status)
        status = sim_primary_retain(device, &whole);
    if (status)
        return status;
    status = sim_context_make(device, &context);
    if (status) {
        of->primary_refs--;
        return status;
    }
    context->processors = known->processors;
    context->whole = whole;
    *out = (CUgreenCtx)context;
    return CUDA_SUCCESS;
}

static CUresult end_green(CUgreenCtx handle, CUdevice *out_device)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_context *context = find(handle);
    if (!context)
        return CUDA_ERROR_INVALID_HANDLE;
    *out_device = context->device;
    sim_context_end(context);
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxDestroy(CUgreenCtx handle)
{
    CUdevice device;
    CUresult status = end_green(handle, &device);
    if (!status)
        cuDevicePrimaryCtxRelease_v2(device);
    return status;
}

CUresult cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx handle)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_context *context = find(handle);
    if (!context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUcontext)context;
    return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx handle, unsigned int flags, int priority)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_context *context = find(handle);
    if (!context)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!out || flags != CU_STREAM_NON_BLOCKING)
        return CUDA_ERROR_INVALID_VALUE;
    status = sim_stream_start(context, flags, priority, &stream);
    if (!status)
        *out = (CUstream)stream;
    return status;
}

CUresult cuStreamGetGreenCtx(CUstream handle, CUgreenCtx *out)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_stream_find(handle, &stream);
    if (status)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_context *context = stream->object.context;
    *out = context->processors ? (CUgreenCtx)context : NULL;
    return CUDA_SUCCESS;
}
