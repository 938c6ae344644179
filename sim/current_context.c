/* Each thread's stack of contexts, and finding the context of a call. */
#include "config.h"

#include "sim/current_context.h"

#include "sim/context.h"
#include "sim/device.h"
#include "sim/green.h"
#include "sim/thread.h"

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
