/*
 * Contexts that the client knows, and the current context of each thread.
 *
 * The client keeps the stack of contexts. Each call names the current context, and the server's
 * thread that runs the call makes it current. So these functions send nothing.
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cuda/client/allocate.h"
#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "cuda/client/connection.h"
#include "cuda/client/context_locals.h"
#include "cuda/client/handles.h"
#include "cuda/client/mirror.h"
#include "cuda/client/stream_pool.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

/* ---- contexts that the client knows ---- */

enum { DEVICES_MAX = 256 };

static _Atomic(CUcontext) primaries[DEVICES_MAX]; /* NULL: ended, or never retained */
/* of the primaries; they stay when a primary context ends */
static _Atomic(CUcontext) handles[DEVICES_MAX];
/* one more than the last device with a primary context */
static atomic_int primary_end;
/* Retains that the program has not released: of those that the server counts, and of the others. */
static atomic_int retains[DEVICES_MAX], own_retains[DEVICES_MAX];

static bool find_device(_Atomic(CUcontext) *contexts, CUcontext context, CUdevice *device)
{
    for (int i = 0; context && device && i < primary_end; i++) {
        if (contexts[i] != context)
            continue;
        *device = i;
        return true;
    }
    return false;
}

/* The device of a primary context. */
static bool is_primary(CUcontext context, CUdevice *device)
{
    return find_device(primaries, context, device);
}

bool ath_cuda_device_of_primary(CUcontext context, CUdevice *device)
{
    return is_primary(context, device);
}

/*
 * The runtime asks by an entry of its own for the primary context of a device (export_tables.c). A
 * driver gives a handle even if the GPU has no memory for the context, and the runtime's
 * cuDevicePrimaryCtxRetain() then reports CUDA_ERROR_OUT_OF_MEMORY (the entry's failure would be
 * cudaErrorInitializationError). This is the handle: it may become current, and calls in it fail
 * until the context is made.
 */
static char unmade[DEVICES_MAX];

CUcontext ath_cuda_unmade_primary(CUdevice device)
{
    return device >= 0 && device < DEVICES_MAX ? (CUcontext)(void *)&unmade[device] : NULL;
}

static bool is_unmade(CUcontext context)
{
    return (uintptr_t)context - (uintptr_t)unmade < sizeof unmade;
}

/* Returns the primary context in place of the handle that stood for it. */
static CUcontext made_of(CUcontext context)
{
    CUcontext made = is_unmade(context) ? primaries[(char *)(void *)context - unmade] : NULL;
    return made ? made : context;
}

/* Contexts that are not primary: made here, or confirmed by the server when they became current.
 * Ended contexts stay in the list, because they may be current in another thread. */
static struct own {
    struct own *next;
    CUcontext context;
} * own;
static pthread_rwlock_t own_lock = PTHREAD_RWLOCK_INITIALIZER;

/* The caller holds the lock. */
static struct own **known_context(CUcontext context)
{
    struct own **at = &own;
    while (*at && (*at)->context != context)
        at = &(*at)->next;
    return at;
}

static bool is_own(CUcontext context)
{
    pthread_rwlock_rdlock(&own_lock);
    bool is_there = *known_context(context);
    pthread_rwlock_unlock(&own_lock);
    return is_there;
}

/* If memory runs out, the server is asked again next time. */
static void add_own(CUcontext context)
{
    pthread_rwlock_wrlock(&own_lock);
    struct own **at = known_context(context);
    if (!*at && (*at = ath_cuda_allocate(sizeof **at)))
        (*at)->context = context;
    pthread_rwlock_unlock(&own_lock);
}

/*
 * Returns CUDA_ERROR_INVALID_CONTEXT for an unknown context. A context that ended may still become
 * current, and the calls in it fail. The server is not asked about it, since a driver's behaviour
 * is then undefined. For other contexts the server is asked for the version, as UCX and CUDA's
 * runtime do.
 */
static CUresult look_up_context(CUcontext context)
{
    unsigned int version;
    CUdevice device;
    if (find_device(handles, context, &device) || is_own(context) || is_unmade(context))
        return CUDA_SUCCESS;
    CUresult status = ath_cuda_do_cuCtxGetApiVersion(context, &version);
    if (!status)
        add_own(context);
    return status == CUDA_ERROR_INVALID_CONTEXT ? status : CUDA_SUCCESS;
}

/* ---- the current context ---- */

static CUresult push(CUcontext context)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (thread->context_count == thread->context_capacity) {
        size_t capacity = thread->context_capacity ? 2 * thread->context_capacity : 8;
        CUcontext *grown = realloc(thread->contexts, capacity * sizeof *grown);
        if (!grown)
            return CUDA_ERROR_OUT_OF_MEMORY;
        thread->contexts = grown;
        thread->context_capacity = capacity;
    }
    thread->contexts[thread->context_count++] = context;
    return CUDA_SUCCESS;
}

static CUresult pop(CUcontext *context)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (!thread || !thread->context_count)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUcontext popped = thread->contexts[--thread->context_count];
    if (context)
        *context = popped;
    return CUDA_SUCCESS;
}

/* These functions fail before cuInit(), as CUDA's do. */
static CUresult is_ready_for_contexts(void)
{
    return ath_cuda_may(ATH_CUDA_METHOD_cuCtxGetCurrent);
}

CUresult ath_cuda_by_hand_cuCtxGetCurrent(CUcontext *context)
{
    CUresult status = is_ready_for_contexts();
    if (status)
        return status;
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    *context = ath_cuda_current_context();
    return CUDA_SUCCESS;
}

/* Replaces the top of the stack; NULL removes it. */
CUresult ath_cuda_by_hand_cuCtxSetCurrent(CUcontext context)
{
    CUresult status = is_ready_for_contexts();
    if (status)
        return status;
    context = made_of(context);
    if (context)
        status = look_up_context(context);
    if (status)
        return status;
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (thread->context_count)
        thread->context_count--;
    return context ? push(context) : CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult status = is_ready_for_contexts();
    if (status)
        return status;
    context = made_of(context);
    status = context ? look_up_context(context) : CUDA_ERROR_INVALID_CONTEXT;
    return status ? status : push(context);
}

CUresult ath_cuda_by_hand_cuCtxPushCurrent(CUcontext context)
{
    return ath_cuda_by_hand_cuCtxPushCurrent_v2(context);
}

CUresult ath_cuda_by_hand_cuCtxPopCurrent_v2(CUcontext *context)
{
    CUresult status = is_ready_for_contexts();
    return status ? status : pop(context);
}

CUresult ath_cuda_by_hand_cuCtxPopCurrent(CUcontext *context)
{
    return ath_cuda_by_hand_cuCtxPopCurrent_v2(context);
}

/* ---- how the program wants to wait ---- */

static CUresult take_flags(CUresult status, unsigned int flags)
{
    if (!status)
        ath_cuda_link_sleeps_at_once((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_BLOCKING_SYNC);
    return status;
}

CUresult ath_cuda_by_hand_cuCtxSetFlags(unsigned int flags)
{
    return take_flags(ath_cuda_do_cuCtxSetFlags(flags), flags);
}

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
    return take_flags(ath_cuda_do_cuDevicePrimaryCtxSetFlags_v2(device, flags), flags);
}

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
    return take_flags(ath_cuda_do_cuDevicePrimaryCtxSetFlags(device, flags), flags);
}

/* ---- contexts that are made here become current here ---- */

static CUresult enter_made(CUresult status, const CUcontext *context, unsigned int flags)
{
    if (take_flags(status, flags))
        return status;
    add_own(*context);
    return push(*context);
}

CUresult ath_cuda_by_hand_cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params,
                                         int param_count, unsigned int flags, CUdevice device)
{
    return enter_made(ath_cuda_do_cuCtxCreate_v3(context, params, param_count, flags, device),
                      context, flags);
}

CUresult ath_cuda_by_hand_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    return enter_made(ath_cuda_do_cuCtxCreate_v2(context, flags, device), context, flags);
}

/* cuCtxCreate() in cuda.h of CUDA 13. Contexts for graphics on the GPU are not supported. */
CUresult ath_cuda_by_hand_cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params,
                                         unsigned int flags, CUdevice device)
{
    if (params && params->cigParams)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (params && params->numExecAffinityParams)
        return ath_cuda_by_hand_cuCtxCreate_v3(context, params->execAffinityParams,
                                               params->numExecAffinityParams, flags, device);
    return ath_cuda_by_hand_cuCtxCreate_v2(context, flags, device);
}

CUresult ath_cuda_by_hand_cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device)
{
    return ath_cuda_by_hand_cuCtxCreate_v2(context, flags, device);
}

/* Ends the client's objects of a context. */
static void end_context(CUcontext context)
{
    ath_cuda_stream_pool_end(context);
    ath_cuda_locals_end(context);
    ath_cuda_handles_end(context);
    ath_cuda_capture_state_end_context(context);
}

/* A destroyed context is removed from the calling thread's stack. In other threads it stays
 * current, and calls there fail. A primary context cannot be destroyed so, and keeps its memory. */
CUresult ath_cuda_by_hand_cuCtxDestroy_v2(CUcontext context)
{
    CUdevice device;
    CUresult status = ath_cuda_may(ATH_CUDA_METHOD_cuCtxDestroy_v2);
    if (!status && context && !is_primary(context, &device))
        ath_cuda_host_end_in(context);
    if (!status)
        status = ath_cuda_do_cuCtxDestroy_v2(context);
    if (!status && ath_cuda_current_context() == context)
        pop(NULL);
    if (!status)
        end_context(context);
    return status;
}

CUresult ath_cuda_by_hand_cuCtxDestroy(CUcontext context)
{
    return ath_cuda_by_hand_cuCtxDestroy_v2(context);
}

/* ---- primary contexts ---- */

/* Each library retains the primary context again, and releases it when the program ends. Beside a
 * retain that the server counts, the others are counted here. */
static bool may_count_here(CUdevice device)
{
    return device >= 0 && device < DEVICES_MAX && !ath_cuda_is_lost() &&
           !(primaries[device] && ath_cuda_known_fault(primaries[device]));
}

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUcontext had = may_count_here(device) ? primaries[device] : NULL;
    if (context && had && !ath_cuda_may(ATH_CUDA_METHOD_cuDevicePrimaryCtxRetain)) {
        own_retains[device]++;
        *context = had;
        return CUDA_SUCCESS;
    }
    CUresult status = ath_cuda_do_cuDevicePrimaryCtxRetain(context, device);
    if (status || !context || device < 0 || device >= DEVICES_MAX)
        return status;
    handles[device] = *context;
    primaries[device] = *context;
    retains[device]++;
    for (int end = primary_end; end <= device;)
        if (atomic_compare_exchange_weak(&primary_end, &end, device + 1))
            break;
    return CUDA_SUCCESS;
}

/* If the server is lost, returns whether the program had the context. */
CUresult ath_cuda_by_hand_cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags,
                                                     int *active)
{
    CUresult status = ath_cuda_do_cuDevicePrimaryCtxGetState(device, flags, active);
    if (status != CUDA_ERROR_DEVICE_UNAVAILABLE || !ath_cuda_is_lost() || !flags || !active ||
        device < 0 || device >= DEVICES_MAX)
        return status;
    *flags = 0;
    *active = primaries[device] != NULL;
    return CUDA_SUCCESS;
}

/* Without a context there is no device, so the server is not asked. PyTorch asks until it needs a
 * device. */
static bool is_without(CUcontext context, const CUdevice *device)
{
    return !context && device && !ath_cuda_may(ATH_CUDA_METHOD_cuCtxGetDevice);
}

CUresult ath_cuda_by_hand_cuCtxGetDevice(CUdevice *device)
{
    CUcontext context = ath_cuda_current_context();
    if (is_without(context, device))
        return CUDA_ERROR_INVALID_CONTEXT;
    return is_primary(context, device) ? CUDA_SUCCESS : ath_cuda_do_cuCtxGetDevice(device);
}

CUresult ath_cuda_by_hand_cuCtxGetDevice_v2(CUdevice *device, CUcontext context)
{
    CUcontext of = context ? context : ath_cuda_current_context();
    if (is_without(of, device))
        return CUDA_ERROR_INVALID_CONTEXT;
    return is_primary(of, device) ? CUDA_SUCCESS : ath_cuda_do_cuCtxGetDevice_v2(device, context);
}

/* Limits from CU_LIMIT_SHMEM_SIZE on change only by the program, if at all (driver 580 refuses).
 * The driver itself changes the stack limit: a launch that needed more made 32000 of 1024. cuBLAS
 * asks before each product whether the context is a graphics context. */
CUresult ath_cuda_by_hand_cuCtxGetLimit(size_t *value, CUlimit limit)
{
    struct ath_cuda_exchange exchange;
    if (limit >= CU_LIMIT_SHMEM_SIZE)
        return ath_cuda_do_cuCtxGetLimit(value, limit);
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuCtxGetLimit);
    if (status)
        return status;
    if (!value)
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    ath_cuda_wire_ctx_get_limit_set_limit(ath_cuda_wire_call_init_ctx_get_limit(exchange.call),
                                          (uint32_t)limit);
    status = ath_cuda_ask(&exchange);
    if (!status)
        *value = ath_cuda_wire_ctx_get_limit_result_value(
            ath_cuda_wire_answer_ctx_get_limit(exchange.answer));
    return ath_cuda_end(&exchange, status);
}

static void end_primary(CUdevice device)
{
    CUcontext ended =
        device >= 0 && device < DEVICES_MAX ? atomic_exchange(&primaries[device], NULL) : NULL;
    if (ended)
        end_context(ended);
}

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    CUresult status = ath_cuda_may(ATH_CUDA_METHOD_cuDevicePrimaryCtxReset_v2);
    if (!status && device >= 0 && device < DEVICES_MAX && primaries[device])
        ath_cuda_host_end_in(primaries[device]);
    if (!status)
        status = ath_cuda_do_cuDevicePrimaryCtxReset_v2(device);
    if (!status)
        end_primary(device);
    return status;
}

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxReset(CUdevice device)
{
    return ath_cuda_by_hand_cuDevicePrimaryCtxReset_v2(device);
}

static bool take_own_retain(CUdevice device)
{
    int count = own_retains[device];
    while (count > 0 && !atomic_compare_exchange_weak(&own_retains[device], &count, count - 1))
        ;
    return count > 0;
}

/* The last release ends the context. */
CUresult ath_cuda_by_hand_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    unsigned int flags;
    int is_active = 1;
    CUresult status = ath_cuda_may(ATH_CUDA_METHOD_cuDevicePrimaryCtxRelease_v2);
    if (status)
        return status;
    if (may_count_here(device) && take_own_retain(device))
        return CUDA_SUCCESS;
    bool is_counted = device >= 0 && device < DEVICES_MAX && retains[device] > 0;
    if (is_counted && retains[device]-- == 1 && primaries[device] && !ath_cuda_is_exiting())
        ath_cuda_host_end_in(primaries[device]);
    status = ath_cuda_do_cuDevicePrimaryCtxRelease_v2(device);
    if (!status && !ath_cuda_is_exiting() &&
        !ath_cuda_do_cuDevicePrimaryCtxGetState(device, &flags, &is_active) && !is_active)
        end_primary(device);
    return status;
}

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxRelease(CUdevice device)
{
    return ath_cuda_by_hand_cuDevicePrimaryCtxRelease_v2(device);
}

/* ---- green contexts ---- */

/* Asks for the green context's CUcontext at once. The server so learns it before any call uses it,
 * whether the program gets it by cuCtxFromGreenCtx() or cuStreamGetCtx(). */
CUresult ath_cuda_by_hand_cuGreenCtxCreate(CUgreenCtx *context, CUdevResourceDesc descriptor,
                                           CUdevice device, unsigned int flags)
{
    CUcontext known;
    CUresult status = ath_cuda_do_cuGreenCtxCreate(context, descriptor, device, flags);
    return status ? status : ath_cuda_do_cuCtxFromGreenCtx(&known, *context);
}
