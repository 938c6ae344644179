/* Values that libraries keep with a context. */
#include "config.h"

#include "sim/context_local.h"

#include <stdlib.h>

#include "sim/context.h"
#include "sim/current_context.h"

struct sim_local {
    struct sim_local *next;
    void *key, *value;
    void (*end)(CUcontext, void *, void *);
};

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
