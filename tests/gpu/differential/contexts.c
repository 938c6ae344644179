/* Contexts: the current one, the primary one, flags, limits, and calls without any. */
#include "config.h"

#include "driver.h"

static void note_current(void)
{
    CUcontext context = NULL;
    current_context = D(cuCtxGetCurrent)(&context) ? 0 : HANDLE(context);
}

static void create(void)
{
    CUcontext handle = NULL;
    struct object *context = vacant(CONTEXT);
    unsigned int flags = (unsigned int)ONE_OF(0, 0, 1, 4, 8, 3, 0x300);
    CUdevice device = (CUdevice)ONE_OF(0, 0, 0, 9, -1);
    NEED(context);
    settle_all();
    say(" %s flags=%u device=%d", name_of(context), flags, device);
    if (chance(2) ? CALL(cuCtxCreate_v4, &handle, NULL, flags, device)
                  : CALL(cuCtxCreate_v2, &handle, flags, device))
        return;
    born(context, HANDLE(handle), NULL);
    note_current();
}

static void destroy(void)
{
    struct object *context = pick(CONTEXT);
    NEED(context && (!context->is_kept || chance(6)));
    settle_all();
    say(" %s", name_of(context));
    uint64_t handle = context->handle;
    if (context->is_kept) {
        CALL(cuCtxDestroy_v2, CONTEXT_OF(context));
    } else {
        END(context, cuCtxDestroy_v2, CONTEXT_OF(context));
        if (context->kind == CONTEXT && !context->is_live)
            dies_with_context(handle);
    }
    note_current();
}

static void set_current(void)
{
    struct object *context = pick(CONTEXT);
    NEED(context);
    say(" %s", name_of(context));
    CALL(cuCtxSetCurrent, CONTEXT_OF(context));
    note_current();
}

static void set_primary_current(void)
{
    struct object *context = slot_of(CONTEXT, 0);
    NEED(context->handle != current_context);
    say(" %s", name_of(context));
    CALL(cuCtxSetCurrent, CONTEXT_OF(context));
    note_current();
}

static void push(void)
{
    struct object *context = pick(CONTEXT);
    NEED(context);
    say(" %s", name_of(context));
    CALL(cuCtxPushCurrent_v2, CONTEXT_OF(context));
    note_current();
}

static void pop(void)
{
    CUcontext context = NULL;
    if (!CALL(cuCtxPopCurrent_v2, &context))
        say(" %s", name_of_handle(CONTEXT, HANDLE(context)));
    note_current();
}

static void ask_current(void)
{
    CUcontext context = NULL;
    CUdevice device = -5;
    unsigned int flags = 0;
    switch (below(3)) {
    case 0:
        if (!CALL(cuCtxGetCurrent, &context))
            say(" %s", name_of_handle(CONTEXT, HANDLE(context)));
        break;
    case 1:
        if (!CALL(cuCtxGetDevice, &device))
            say(" %d", device);
        break;
    default:
        if (!CALL(cuCtxGetFlags, &flags))
            say(" %u", flags);
    }
}

static void ask_context(void)
{
    unsigned int version = 0;
    unsigned long long id = 0;
    struct object *context = pick(CONTEXT);
    NEED(context);
    say(" %s", name_of(context));
    if (chance(2)) {
        if (!CALL(cuCtxGetApiVersion, CONTEXT_OF(context), &version))
            say(" %u", version);
    } else if (!CALL(cuCtxGetId, CONTEXT_OF(context), &id)) {
        say(" %s", id ? "some" : "none"); /* a number that the driver counts up */
    }
}

static void synchronize(void)
{
    CALL(cuCtxSynchronize);
}

/* ---- limits and settings ---- */

static void get_limit(void)
{
    size_t value = 0;
    CUlimit limit = (CUlimit)below(11);
    say(" %d", (int)limit);
    if (!CALL(cuCtxGetLimit, &value, limit))
        say(" %zu", value);
}

static void set_limit(void)
{
    CUlimit limit = (CUlimit)ONE_OF(0, 0, 1, 5, 6, 3, 11);
    size_t value = (size_t)ONE_OF(0, 1024, 2048, 4096, 32, 128, 8192); /* a stack for each thread */
    settle_all();
    say(" %d=%zu", (int)limit, value);
    CALL(cuCtxSetLimit, limit, value);
}

static void cache_settings(void)
{
    CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
    CUsharedconfig shared = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
    int value = (int)below(5);
    switch (below(4)) {
    case 0:
        if (!CALL(cuCtxGetCacheConfig, &cache))
            say(" %d", (int)cache);
        break;
    case 1:
        say(" %d", value);
        CALL(cuCtxSetCacheConfig, (CUfunc_cache)value);
        break;
    case 2:
        if (!CALL(cuCtxGetSharedMemConfig, &shared))
            say(" %d", (int)shared);
        break;
    default:
        say(" %d", value);
        CALL(cuCtxSetSharedMemConfig, (CUsharedconfig)value);
    }
}

static void ask_priorities(void)
{
    int least = 99, greatest = 99;
    if (!CALL(cuCtxGetStreamPriorityRange, chance(4) ? NULL : &least, chance(4) ? NULL : &greatest))
        say(" %d,%d", least, greatest);
}

static void set_flags(void)
{
    unsigned int flags = (unsigned int)ONE_OF(0, 1, 4, 8, 0x300);
    say(" %u", flags);
    CALL(cuCtxSetFlags, flags);
}

/* ---- the primary context ---- */

static void ask_primary(void)
{
    unsigned int flags = 0;
    int is_active = 0;
    CUdevice device = (CUdevice)ONE_OF(0, 0, 9, -1);
    say(" %d", device);
    if (!CALL(cuDevicePrimaryCtxGetState, device, &flags, &is_active))
        say(" flags=%u active=%d", flags, is_active);
}

static void set_primary_flags(void)
{
    unsigned int flags = (unsigned int)ONE_OF(0, 1, 4, 8, 3, 0x300);
    CUdevice device = (CUdevice)ONE_OF(0, 0, 9);
    say(" %d flags=%u", device, flags);
    CALL(cuDevicePrimaryCtxSetFlags_v2, device, flags);
}

/* Retained again, and given back: never the last reference. */
static void retain_primary(void)
{
    CUcontext context = NULL;
    CUdevice device = (CUdevice)ONE_OF(0, 0, 0, 9);
    say(" %d", device);
    if (CALL(cuDevicePrimaryCtxRetain, &context, device))
        return;
    say(" %s", name_of_handle(CONTEXT, HANDLE(context)));
    CALL(cuDevicePrimaryCtxRelease_v2, device);
}

/* ---- peers, events of contexts, green contexts ---- */

static void reach_peer(void)
{
    struct object *context = pick(CONTEXT);
    NEED(context);
    say(" %s", name_of(context));
    if (chance(2))
        CALL(cuCtxEnablePeerAccess, CONTEXT_OF(context), chance(6));
    else
        CALL(cuCtxDisablePeerAccess, CONTEXT_OF(context));
}

static void use_event(void)
{
    struct object *context = pick(CONTEXT), *event = pick(EVENT);
    NEED(context && event);
    say(" %s %s", name_of(context), name_of(event));
    if (chance(2))
        CALL(cuCtxRecordEvent, CONTEXT_OF(context), EVENT_OF(event));
    else
        CALL(cuCtxWaitEvent, CONTEXT_OF(context), EVENT_OF(event));
}

static void ask_resource(void)
{
    CUdevResource resource = { CU_DEV_RESOURCE_TYPE_INVALID, { 0 }, { { 0, 0, 0 } } };
    struct object *context = pick_live(CONTEXT);
    CUdevResourceType type = (CUdevResourceType)ONE_OF(1, 1, 0, 9);
    NEED(context);
    say(" %d of %s", (int)type, name_of(context));
    if (!CALL(cuCtxGetDevResource, CONTEXT_OF(context), &resource, type))
        say(" %u", resource.sm.smCount);
}

static const struct operation operations[] = {
    { "create", 8, create },
    { "destroy", 5, destroy },
    { "set current", 6, set_current },
    { "set the primary one current", 25, set_primary_current },
    { "push", 6, push },
    { "pop", 4, pop },
    { "ask for the current one", 8, ask_current },
    { "ask", 6, ask_context },
    { "synchronize", 8, synchronize },
    { "limit", 6, get_limit },
    { "set limit", 4, set_limit },
    { "cache settings", 6, cache_settings },
    { "priorities", 3, ask_priorities },
    { "set flags", 3, set_flags },
    { "ask the primary one", 4, ask_primary },
    { "set the primary one's flags", 3, set_primary_flags },
    { "retain the primary one", 4, retain_primary },
    { "peer", 3, reach_peer },
    { "event", 4, use_event },
    { "resource", 3, ask_resource },
};

const struct area context_area = { "contexts", operations, COUNT(operations), 0 };
