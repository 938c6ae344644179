/* Contexts, each thread's stack of contexts, and values that libraries keep with a context. */
#include "config.h"

#include "sim/context.h"

#include <stdlib.h>

#include "sim/array.h"
#include "sim/capture.h"
#include "sim/context_local.h"
#include "sim/device.h"
#include "sim/event.h"
#include "sim/facts.h"
#include "sim/graph_exec.h"
#include "sim/green.h"
#include "sim/module.h"
#include "sim/range.h"
#include "sim/stream.h"
#include "sim/thread.h"

struct sim_local {
    struct sim_local *next;
    void *key, *value;
    void (*end)(CUcontext, void *, void *);
};

/* CU_CTX_SCHED_MASK, MAP_HOST, LMEM_RESIZE_TO_MAX, COREDUMP_ENABLE, USER_COREDUMP_ENABLE,
 * SYNC_MEMOPS */
enum { FLAGS_MASK = 0xff & ~0x04, CONTEXT_BYTES = 1 << 20 /* the least */ };

static unsigned long long last_id;
static struct sim_context *contexts; /* also ended ones: a handle stays valid memory */
/* The first fault of any context. "To continue using CUDA, the process must be terminated and
 * relaunched" (docs.nvidia.com/cuda/cuda-driver-api, "CUDA_ERROR_ILLEGAL_ADDRESS"): a reset
 * succeeds, but no new context can be made after it (seen on an H200, 580.159). */
static CUresult first_fault;

static struct sim_context *new_context(void)
{
    struct sim_context *context = sim_object_new(SIM_CONTEXT, NULL, sizeof *context);
    if (context) {
        context->next = contexts;
        contexts = context;
    }
    return context;
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

static CUresult start(struct sim_context *context, int device, unsigned int flags)
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
    if (!context->fault)
        context->fault = fault;
    if (!first_fault)
        first_fault = fault;
}

/* Call without the lock: the libraries' functions may call the driver. */
void sim_context_end_locals(struct sim_context *context)
{
    for (;;) {
        sim_lock();
        struct sim_local *local = context->locals;
        if (local)
            context->locals = local->next;
        sim_unlock();
        if (!local)
            return;
        if (local->end)
            local->end((CUcontext)context, local->key, local->value);
        free(local);
    }
}

CUresult sim_context_make(int device, struct sim_context **out)
{
    struct sim_context *context = new_context();
    CUresult status = context ? start(context, device, 0) : CUDA_ERROR_OUT_OF_MEMORY;
    *out = context;
    return status;
}

void sim_context_end(struct sim_context *context)
{
    struct sim_object *object;
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

CUresult sim_primary_retain(int device, struct sim_context **out)
{
    struct sim_device *of = sim_device(device);
    if (!of->primary) {
        of->primary = new_context();
        if (!of->primary)
            return CUDA_ERROR_OUT_OF_MEMORY;
        of->primary->is_primary = true;
    }
    if (!of->primary->is_alive) {
        CUresult status = start(of->primary, device, of->primary->flags);
        if (status)
            return status;
    }
    of->primary_refs++;
    *out = of->primary;
    return CUDA_SUCCESS;
}

/* ---- finding the context of a call ---- */

struct sim_context *sim_current(void)
{
    struct sim_thread *thread = sim_thread();
    return thread->depth ? thread->stack[thread->depth - 1] : NULL;
}

static CUresult check(const struct sim_context *context)
{
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return context->is_alive ? context->fault : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult sim_enter(struct sim_context **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    *out = sim_current();
    return check(*out);
}

CUresult sim_enter_context(CUcontext handle, struct sim_context **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    *out = handle ? sim_object_find(SIM_CONTEXT, handle) : sim_current();
    return check(*out);
}

/* ---- making and ending ---- */

static CUresult create(CUcontext *out, unsigned int flags, CUdevice number)
{
    SIM_LOCKED;
    struct sim_device *device;
    struct sim_thread *thread = sim_thread();
    CUresult status = sim_enter_device(number, &device);
    if (status)
        return status;
    if (!out || flags & ~(unsigned int)FLAGS_MASK || thread->depth == (int)SIM_COUNT(thread->stack))
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_context *context = new_context();
    if (!context)
        return CUDA_ERROR_OUT_OF_MEMORY;
    status = start(context, number, flags);
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

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice number)
{
    SIM_LOCKED;
    struct sim_device *device;
    struct sim_context *context;
    CUresult status = sim_enter_device(number, &device);
    if (!status && !out)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = sim_primary_retain(number, &context);
    if (!status)
        *out = (CUcontext)context;
    return status;
}

/* "Resetting the primary context does not release it" (cuda.h, cuDevicePrimaryCtxReset()). */
static CUresult end_primary(CUdevice number, bool is_reset)
{
    struct sim_device *device;
    struct sim_context *context = NULL;
    sim_lock();
    CUresult status = sim_enter_device(number, &device);
    if (!status && !is_reset && !device->primary_refs)
        status = CUDA_ERROR_INVALID_CONTEXT;
    if (!status && !is_reset)
        device->primary_refs--;
    if (!status && device->primary && device->primary->is_alive &&
        (is_reset || !device->primary_refs))
        context = device->primary;
    sim_unlock();
    if (!context)
        return status;
    sim_context_end_locals(context);
    SIM_LOCKED;
    if (context->is_alive)
        sim_context_end(context);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    return end_primary(device, false);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    return end_primary(device, false);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    return end_primary(device, true);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    return end_primary(device, true);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice number, unsigned int *flags, int *is_active)
{
    SIM_LOCKED;
    struct sim_device *device;
    CUresult status = sim_enter_device(number, &device);
    if (status)
        return status;
    if (!flags || !is_active)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = device->primary ? device->primary->flags : 0;
    *is_active = device->primary && device->primary->is_alive;
    return CUDA_SUCCESS;
}

static CUresult set_primary_flags(CUdevice number, unsigned int flags)
{
    SIM_LOCKED;
    struct sim_device *device;
    CUresult status = sim_enter_device(number, &device);
    if (status)
        return status;
    if (flags & ~(unsigned int)FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device->primary) {
        device->primary = new_context();
        if (!device->primary)
            return CUDA_ERROR_OUT_OF_MEMORY;
        device->primary->is_primary = true;
    }
    device->primary->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
    return set_primary_flags(device, flags);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
    return set_primary_flags(device, flags);
}

/* ---- the thread's stack ---- */

/* Returns the context that may become current. An ended context (cuCtxDestroy()) may not: a GPU's
 * driver would use freed memory. */
static struct sim_context *find(CUcontext handle)
{
    struct sim_context *context = sim_object_find(SIM_CONTEXT, handle);
    return context && (context->is_alive || context->is_primary) ? context : NULL;
}

CUresult cuCtxPushCurrent_v2(CUcontext handle)
{
    SIM_LOCKED;
    struct sim_thread *thread = sim_thread();
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_context *context = find(handle);
    if (!context || thread->depth == (int)SIM_COUNT(thread->stack))
        return CUDA_ERROR_INVALID_CONTEXT;
    sim_green_moves(sim_current(), context, thread->id);
    thread->stack[thread->depth++] = context;
    return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *out)
{
    SIM_LOCKED;
    struct sim_thread *thread = sim_thread();
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (!thread->depth)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct sim_context *context = thread->stack[--thread->depth];
    sim_green_moves(context, sim_current(), thread->id);
    if (out)
        *out = (CUcontext)context;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle)
{
    SIM_LOCKED;
    struct sim_thread *thread = sim_thread();
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_context *context = handle ? find(handle) : NULL;
    if (handle && !context)
        return CUDA_ERROR_INVALID_CONTEXT;
    struct sim_context *before = sim_current();
    if (thread->depth)
        thread->depth--;
    if (context)
        thread->stack[thread->depth++] = context;
    sim_green_moves(before, sim_current(), thread->id);
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *out)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUcontext)sim_current();
    return CUDA_SUCCESS;
}

/* ---- facts and settings ---- */

CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext handle)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_context *context = handle ? sim_object_find(SIM_CONTEXT, handle) : sim_current();
    if (!context)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!device)
        return CUDA_ERROR_INVALID_VALUE;
    if (!context->is_alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *device = context->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    return cuCtxGetDevice_v2(device, NULL);
}

CUresult cuCtxGetFlags(unsigned int *flags)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if (!flags)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = context->flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if (flags & ~(unsigned int)FLAGS_MASK)
        return CUDA_ERROR_INVALID_VALUE;
    context->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext handle, unsigned long long *id)
{
    SIM_LOCKED;
    struct sim_context *context = NULL;
    CUresult status = sim_enter_context(handle, &context);
    if (status == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        return CUDA_ERROR_INVALID_CONTEXT; /* a GPU's driver may crash here */
    if (status)
        return status;
    if (!id)
        return CUDA_ERROR_INVALID_VALUE;
    *id = context->id;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned int *version)
{
    SIM_LOCKED;
    struct sim_context *context = NULL;
    CUresult status = sim_enter_context(handle, &context);
    /* The runtime also asks after a fault, to know whether a reset is needed. */
    if (status && context)
        status = context->is_alive ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
    if (status)
        return status;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    *version = context->api_version;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *value, CUlimit limit)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    if ((size_t)limit >= CU_LIMIT_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    *value = context->limits[limit];
    return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if ((size_t)limit >= CU_LIMIT_SHMEM_SIZE)
        return limit < CU_LIMIT_MAX ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
    context->limits[limit] = value;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCacheConfig(CUfunc_cache *config)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if (!config)
        return CUDA_ERROR_INVALID_VALUE;
    *config = context->cache;
    return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if ((unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    context->cache = config;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -5;
    return CUDA_SUCCESS;
}

CUresult cuCtxResetPersistingL2Cache(void)
{
    SIM_LOCKED;
    struct sim_context *context;
    return sim_enter(&context);
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

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned int flags)
{
    SIM_LOCKED;
    struct sim_context *context, *peer;
    CUresult status = sim_enter(&context);
    if (!status)
        status = sim_enter_context(handle, &peer);
    if (status)
        return status;
    if (!handle || flags || peer->device == context->device)
        return flags ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
    if (context->peers & 1u << peer->device)
        return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    context->peers |= 1u << peer->device;
    return CUDA_SUCCESS;
}

CUresult cuCtxDisablePeerAccess(CUcontext handle)
{
    SIM_LOCKED;
    struct sim_context *context, *peer;
    CUresult status = sim_enter(&context);
    if (!status)
        status = sim_enter_context(handle, &peer);
    if (status)
        return status;
    if (!(context->peers & 1u << peer->device))
        return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
    context->peers &= ~(1u << peer->device);
    return CUDA_SUCCESS;
}

/* ---- values that libraries keep with a context ---- */

CUresult sim_local_put(CUcontext handle, void *key, void *value,
                       void (*end_value)(CUcontext, void *, void *))
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter_context(handle, &context);
    if (status)
        return status;
    struct sim_local *local = calloc(1, sizeof *local);
    if (!local)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *local = (struct sim_local){ context->locals, key, value, end_value };
    context->locals = local;
    return CUDA_SUCCESS;
}

static struct sim_local **find_local(struct sim_context *context, const void *key)
{
    struct sim_local **at = &context->locals;
    while (*at && (*at)->key != key)
        at = &(*at)->next;
    return at;
}

CUresult sim_local_delete(CUcontext handle, void *key)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter_context(handle, &context);
    if (status)
        return status;
    struct sim_local **at = find_local(context, key), *local = *at;
    if (!local)
        return CUDA_ERROR_INVALID_HANDLE;
    *at = local->next;
    free(local);
    return CUDA_SUCCESS;
}

CUresult sim_local_get(CUcontext handle, void *key, void **out)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter_context(handle, &context);
    if (status)
        return status;
    struct sim_local *local = *find_local(context, key);
    if (!local)
        return CUDA_ERROR_INVALID_HANDLE;
    *out = local->value;
    return CUDA_SUCCESS;
}
