/* The life of contexts. */
#include "config.h"

#include "sim/context.h"

#include <stdlib.h>

#include "sim/array.h"
#include "sim/capture.h"
#include "sim/context_local.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/event.h"
#include "sim/facts.h"
#include "sim/graph_exec.h"
#include "sim/green.h"
#include "sim/module.h"
#include "sim/occupancy.h"
#include "sim/range.h"
#include "sim/stream.h"
#include "sim/thread.h"

enum { CONTEXT_BYTES = 1 << 20 /* the least */ };

static unsigned long long last_id;
static struct sim_context *contexts; /* also ended ones: a handle stays valid memory */
/* The first fault of any context. "To continue using CUDA, the process must be terminated and
 * relaunched" (docs.nvidia.com/cuda/cuda-driver-api, "CUDA_ERROR_ILLEGAL_ADDRESS"): a reset
 * succeeds, but no new context can be made after it (seen on an H200, 580.159). */
static CUresult first_fault;

struct sim_context *sim_context_new(void)
{
    struct sim_context *context = sim_object_new(SIM_CONTEXT, NULL, sizeof *context);
    if (context) {
        context->next = contexts;
        contexts = context;
    }
    return context;
}

uint64_t sim_processors(const struct sim_context *context)
{
    return context && context->processors ? context->processors : (UINT64_C(1) << SIM_SM_COUNT) - 1;
}

struct sim_context *sim_contexts(void)
{
    return contexts;
}

void sim_drain_all(void)
{
    for (struct sim_context *context = contexts; context; context = context->next)
        if (context->is_alive)
            sim_context_drain(context);
}

CUresult sim_context_start(struct sim_context *context, int device, unsigned int flags)
{
    static const size_t limits[] = {
        [CU_LIMIT_STACK_SIZE] = 1024,
        [CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20,
        [CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20,
        [CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = 2,
        [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048,
        [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64,
    };
    const size_t bytes = sim_facts_context_bytes();
    if (first_fault)
        return first_fault;
    if (sim_facts_memory_bytes() < CONTEXT_BYTES || !sim_charge(device, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    context->charged_bytes = bytes;
    context->device = device;
    context->flags = flags;
    context->api_version = 3020;
    context->id = ++last_id;
    context->is_alive = true;
    context->fault = CUDA_SUCCESS;
    for (size_t i = 0; i < SIM_COUNT(limits); i++)
        context->limits[i] = limits[i];
    return sim_stream_start(context, CU_STREAM_DEFAULT, 0, &context->legacy);
}

void sim_context_fail(struct sim_context *context, CUresult fault)
{
    for (struct sim_context *at = contexts; at; at = at->next)
        if (at->is_alive && sim_family(at) == sim_family(context) && !at->fault)
            at->fault = fault;
    if (!first_fault)
        first_fault = fault;
}

CUresult sim_context_make(int device, struct sim_context **out)
{
    struct sim_context *context = sim_context_new();
    CUresult status = context ? sim_context_start(context, device, 0) : CUDA_ERROR_OUT_OF_MEMORY;
    *out = context;
    return status;
}

void sim_context_end(struct sim_context *context)
{
    struct sim_object *object;
    for (struct sim_context *green = contexts; green; green = green->next)
        if (green->whole == context && green->is_alive)
            sim_context_end(green);
    sim_context_drain(context);
    context->is_alive = false;
    while ((object = sim_object_of(context, SIM_EXEC)))
        sim_exec_end((struct sim_exec *)object);
    while ((object = sim_object_of(context, SIM_MODULE)))
        sim_module_end((struct sim_module *)object);
    while ((object = sim_object_of(context, SIM_EVENT)))
        sim_event_end((struct sim_event *)object);
    for (struct sim_stream *stream = context->streams, *next; stream; stream = next) {
        next = stream->next;
        sim_stream_end(stream);
    }
    while (context->streams)
        sim_wait();
    while ((object = sim_object_of(context, SIM_ARRAY))) {
        sim_object_forget(object);
        sim_array_drop((struct sim_array *)object);
    }
    while ((object = sim_object_of(context, SIM_MIPMAP))) {
        sim_object_forget(object); /* its levels were freed as arrays */
        free(object);
    }
    sim_context_end_memory(context);
    sim_discharge(context->device, context->charged_bytes);
    context->charged_bytes = 0;
    context->legacy = NULL;
    context->fault = CUDA_SUCCESS;
    context->peers = 0;
}

static CUresult create(CUcontext *out, unsigned int flags, CUdevice number)
{
    SIM_LOCKED;
    struct sim_device *device;
    struct sim_thread *thread = sim_thread();
    CUresult status = sim_enter_device(number, &device);
    if (status)
        return status;
    if (!out || flags & ~(unsigned int)SIM_CONTEXT_FLAGS ||
        thread->depth == (int)SIM_COUNT(thread->stack))
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_context *context = sim_context_new();
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    status = sim_context_start(context, number, flags);
    if (status)
        return status;
    sim_green_moves(sim_current(), context, thread->id);
    thread->stack[thread->depth++] = context;
    *out = (CUcontext)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *out, unsigned int flags, CUdevice device)
{
    return create(out, flags, device);
}

CUresult cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinities, int count,
                        unsigned int flags, CUdevice device)
{
    return affinities || count ? CUDA_ERROR_NOT_SUPPORTED : create(out, flags, device);
}

CUresult cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned int flags,
                        CUdevice device)
{
    if (params && (params->numExecAffinityParams || params->cigParams))
        return CUDA_ERROR_NOT_SUPPORTED;
    return create(out, flags, device);
}

CUresult cuCtxDestroy_v2(CUcontext handle)
{
    struct sim_context *context;
    sim_lock();
    CUresult status = sim_enter_driver();
    context = status ? NULL : sim_object_find(SIM_CONTEXT, handle);
    if (!status && (!context || context->is_primary || context->processors))
        status = CUDA_ERROR_INVALID_CONTEXT;
    else if (!status && !context->is_alive)
        status = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    sim_unlock();
    if (status)
        return status;
    sim_context_end_locals(context);
    SIM_LOCKED;
    struct sim_thread *thread = sim_thread();
    if (thread->depth && thread->stack[thread->depth - 1] == context) {
        thread->depth--;
        sim_green_moves(context, sim_current(), thread->id);
    }
    if (context->is_alive)
        sim_context_end(context);
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize_v2(CUcontext handle)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter_context(handle, &context);
    if (!status)
        status = sim_capture_forbids_waiting(context);
    return status ? status : sim_context_drain(context);
}

CUresult cuCtxSynchronize(void)
{
    return cuCtxSynchronize_v2(NULL);
}
