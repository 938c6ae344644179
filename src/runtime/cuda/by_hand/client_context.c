/*
 * Beginning, and which context is current in a thread.
 *
 * The stack of contexts is the client's own: each call says which one is current, and the server's
 * thread that serves it takes it up. So these calls cost nothing on the wire.
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "proto/cuda-client.h"
#include "runtime/cuda/ahead.h"
#include "runtime/cuda/by_hand/capture.h"
#include "runtime/cuda/by_hand/host.h"
#include "runtime/cuda/by_hand/locals.h"
#include "runtime/cuda/by_hand/snapshot.h"
#include "runtime/cuda/client.h"
#include "runtime/cuda/handles.h"
#include "runtime/cuda/spares.h"
#include "runtime/cuda/zeroed.h"

/* What programs ask of their device next goes behind it: one round trip for both. */
static CUresult initialize(unsigned int flags)
{
    struct ath_cuda_exchange exchange;
    ATH_AUTO(ath_cuda_ahead) ahead = { 0 };
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuInit);
    if (status)
        return status;
    ath_cuda_wire_init_set_flags(ath_cuda_wire_call_init_init(exchange.call), flags);
    status = ath_cuda_ask_begin(&exchange);
    if (status)
        return ath_cuda_end(&exchange, status);
    ath_cuda_ask_early(true);
    ath_cuda_snapshot_begin(0, &ahead);
    ath_cuda_ask_early(false);
    status = ath_cuda_ask_end(&exchange);
    ath_cuda_ahead_wait(&ahead);
    if (status)
        ath_cuda_snapshot_undo(0);
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_by_hand_cuInit(unsigned int flags)
{
    if (!flags && !ath_cuda_may(ATH_CUDA_METHOD_cuCtxSynchronize)) /* each library says it again */
        return CUDA_SUCCESS;
    CUresult status = ath_cuda_connect();
    if (!status)
        status = initialize(flags);
    if (!status)
        ath_cuda_set_ready();
    return status;
}

/* A program may ask before cuInit(), and static runtimes do. */
CUresult ath_cuda_by_hand_cuDriverGetVersion(int *version)
{
    static atomic_int known;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = known ? CUDA_SUCCESS : ath_cuda_connect();
    if (!status && !known)
        known = ath_cuda_driver_version();
    if (!status && !known) { /* the server did not say it by itself */
        int asked = 0;
        status = ath_cuda_do_cuDriverGetVersion(&asked);
        known = asked;
    }
    if (!status)
        *version = known;
    return status;
}

/* ---- contexts that are known here ---- */

enum { DEVICES_MAX = 256 };

static _Atomic(CUcontext) primaries[DEVICES_MAX]; /* NULL: ended, or never retained */
static _Atomic(CUcontext) handles[DEVICES_MAX];   /* theirs, which stay when they end */
static atomic_int primary_end;                    /* one more than the last device that has one */
static atomic_int retains[DEVICES_MAX];           /* that the program has not released */

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

/* Those that are not primary: made here, or that the server knew when they became current. One that
 * ends stays: another thread may have it. */
static struct own {
    struct own *next;
    CUcontext context;
} * own;
static pthread_rwlock_t own_lock = PTHREAD_RWLOCK_INITIALIZER;

/* The caller has the lock. */
static struct own **place_of(CUcontext context)
{
    struct own **at = &own;
    while (*at && (*at)->context != context)
        at = &(*at)->next;
    return at;
}

static bool is_own(CUcontext context)
{
    pthread_rwlock_rdlock(&own_lock);
    bool is_there = *place_of(context);
    pthread_rwlock_unlock(&own_lock);
    return is_there;
}

/* Without memory for it the server is asked again. */
static void add_own(CUcontext context)
{
    pthread_rwlock_wrlock(&own_lock);
    struct own **at = place_of(context);
    if (!*at && (*at = ath_cuda_zeroed(sizeof **at)))
        (*at)->context = context;
    pthread_rwlock_unlock(&own_lock);
}

/* CUDA_ERROR_INVALID_CONTEXT where there is no such one. One that ended becomes current, and the
 * calls in it say so: the server is not asked, since what a driver does with it is undefined. Of
 * others it knows whether they have a version (UCX and CUDA's runtime ask so, too). */
static CUresult look_up(CUcontext context)
{
    unsigned int version;
    CUdevice device;
    if (find_device(handles, context, &device) || is_own(context))
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

/* None of these works before cuInit(), as CUDA's do not. */
static CUresult is_ready(void)
{
    return ath_cuda_may(ATH_CUDA_METHOD_cuCtxGetCurrent);
}

CUresult ath_cuda_by_hand_cuCtxGetCurrent(CUcontext *context)
{
    CUresult status = is_ready();
    if (status)
        return status;
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    *context = ath_cuda_current_context();
    return CUDA_SUCCESS;
}

/* The topmost is replaced; no context at all takes it away. */
CUresult ath_cuda_by_hand_cuCtxSetCurrent(CUcontext context)
{
    CUresult status = is_ready();
    if (status)
        return status;
    if (context)
        status = look_up(context);
    if (status)
        return status;
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (thread->context_count)
        thread->context_count--;
    return context ? push(context) : CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult status = is_ready();
    if (status)
        return status;
    status = context ? look_up(context) : CUDA_ERROR_INVALID_CONTEXT;
    return status ? status : push(context);
}

CUresult ath_cuda_by_hand_cuCtxPushCurrent(CUcontext context)
{
    return ath_cuda_by_hand_cuCtxPushCurrent_v2(context);
}

CUresult ath_cuda_by_hand_cuCtxPopCurrent_v2(CUcontext *context)
{
    CUresult status = is_ready();
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

static CUresult made(CUresult status, const CUcontext *context, unsigned int flags)
{
    if (take_flags(status, flags))
        return status;
    add_own(*context);
    return push(*context);
}

CUresult ath_cuda_by_hand_cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params,
                                         int param_count, unsigned int flags, CUdevice device)
{
    return made(ath_cuda_do_cuCtxCreate_v3(context, params, param_count, flags, device), context,
                flags);
}

CUresult ath_cuda_by_hand_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    return made(ath_cuda_do_cuCtxCreate_v2(context, flags, device), context, flags);
}

/* What cuda.h of CUDA 13 calls cuCtxCreate(). A context for graphics on the GPU is not to be had.
 */
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

/* What the program has of one here ends with it. */
static void end_context(CUcontext context)
{
    ath_cuda_spares_end(context);
    ath_cuda_locals_end(context);
    ath_cuda_handles_end(context);
    ath_cuda_captures_end_in(context);
}

/* A context that is destroyed is no longer current in the thread that does it; in others it stays,
 * and calls there fail. */
CUresult ath_cuda_by_hand_cuCtxDestroy_v2(CUcontext context)
{
    CUresult status = ath_cuda_may(ATH_CUDA_METHOD_cuCtxDestroy_v2);
    if (!status && context)
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

/* ---- primary contexts: what libraries keep with one ends with it ---- */

/* What the program has already is the same once more, and is only counted: each library retains it.
 */
static CUresult retain_again(CUdevice device)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuDevicePrimaryCtxRetain);
    if (status)
        return status;
    ath_cuda_wire_device_primary_ctx_retain_set_device(
        ath_cuda_wire_call_init_device_primary_ctx_retain(exchange.call),
        (int32_t)ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_DEVICE, (uint64_t)device));
    return ath_cuda_end(&exchange, ath_cuda_post(&exchange));
}

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUcontext had = device >= 0 && device < DEVICES_MAX ? primaries[device] : NULL;
    if (context && had && !retain_again(device)) {
        retains[device]++;
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

/* Without the server: whether the program had it. */
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

/* Without a context there is no device, and nothing to ask (PyTorch does so until it needs one). */
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

/* The limits from here on only a program can change, if at all (driver 580 refuses). Of those
 * before the driver itself changes the stack's: a launch that needed more made 32000 of 1024.
 * cuBLAS asks before each product whether the context is one of graphics. */
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

/* The last one's release ends it. */
CUresult ath_cuda_by_hand_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    unsigned int flags;
    int is_active = 1;
    CUresult status = ath_cuda_may(ATH_CUDA_METHOD_cuDevicePrimaryCtxRelease_v2);
    if (status)
        return status;
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

/* The server learns which context it is before anything is done in it, however the program gets at
 * that (cuCtxFromGreenCtx(), cuStreamGetCtx()). */
CUresult ath_cuda_by_hand_cuGreenCtxCreate(CUgreenCtx *context, CUdevResourceDesc descriptor,
                                           CUdevice device, unsigned int flags)
{
    CUcontext known;
    CUresult status = ath_cuda_do_cuGreenCtxCreate(context, descriptor, device, flags);
    return status ? status : ath_cuda_do_cuCtxFromGreenCtx(&known, *context);
}
