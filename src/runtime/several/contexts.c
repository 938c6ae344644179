/*
 * Which context is current in a thread. The stack is kept here; each server's library is told when
 * a call goes there and it has another one, so that threads which stay with one tell nobody.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "proto/cuda-client.h"
#include "runtime/cuda/by_hand/locals.h"
#include "runtime/cuda/client.h"
#include "runtime/several/addresses.h"
#include "runtime/several/copies.h"
#include "runtime/several/several.h"

#define NOBODY_KNOWS ((CUcontext)(uintptr_t)1)

struct thread {
    CUcontext *stack; /* the last is current */
    size_t count, capacity;
    CUcontext told[ATH_SERVERS_MAX]; /* what each library has as current */
    unsigned int age;                /* of what told says: see ended */
};

static _Thread_local struct thread *this_thread;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_uint ended; /* contexts so far, after which no thread knows what is current where */

static void thread_free(void *memory)
{
    struct thread *thread = memory;
    free(thread->stack);
    free(thread);
    this_thread = NULL;
}

static void make_key(void)
{
    pthread_key_create(&key, thread_free);
}

/* NULL without memory. */
static struct thread *thread_of_caller(void)
{
    if (this_thread)
        return this_thread;
    pthread_once(&once, make_key);
    struct thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return NULL;
    thread->age = ended;
    pthread_setspecific(key, thread);
    return this_thread = thread;
}

CUcontext ath_cuda_current_context(void)
{
    const struct thread *thread = this_thread;
    return thread && thread->count ? thread->stack[thread->count - 1] : NULL;
}

unsigned int ath_several_here(void)
{
    return ath_instance_of((uintptr_t)ath_cuda_current_context());
}

unsigned int ath_several_of_handle(uint64_t handle)
{
    return handle ? ath_instance_of(handle) : ath_several_here();
}

unsigned int ath_several_of_stream(CUstream stream)
{
    return (uintptr_t)stream > (uintptr_t)CU_STREAM_PER_THREAD ? ath_instance_of((uintptr_t)stream)
                                                               : ath_several_here();
}

/* ---- telling a library ---- */

static CUresult tell(struct ath_several *to, CUcontext context)
{
    struct thread *thread = thread_of_caller();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (thread->age != ended) {
        thread->age = ended;
        for (size_t i = 0; i < ATH_SERVERS_MAX; i++)
            thread->told[i] = NOBODY_KNOWS;
    }
    CUcontext *told = &thread->told[to->self.index];
    if (*told == context)
        return CUDA_SUCCESS;
    CUresult status = to->calls.cuCtxSetCurrent(context);
    if (!status)
        *told = context;
    return status;
}

CUresult ath_several_enter(unsigned int index, struct ath_several **out)
{
    CUresult status = ath_several_load();
    if (status)
        return status;
    if (index >= ath_several_count())
        return CUDA_ERROR_INVALID_HANDLE;
    CUcontext current = ath_cuda_current_context();
    *out = &ath_several_all[index];
    if (current && ath_instance_of((uintptr_t)current) != index)
        current = (*out)->context;
    return tell(*out, current);
}

CUresult ath_several_enter_in(CUcontext context, struct ath_several **out)
{
    unsigned int index = ath_instance_of((uintptr_t)context);
    if (index >= ath_several_count())
        return CUDA_ERROR_INVALID_CONTEXT;
    *out = &ath_several_all[index];
    return tell(*out, context);
}

static void is_there(CUcontext context)
{
    unsigned int index = ath_instance_of((uintptr_t)context);
    if (context && index < ath_several_count())
        ath_several_all[index].context = context;
}

void ath_several_context_ended(CUcontext context)
{
    CUcontext known = context;
    unsigned int index = ath_instance_of((uintptr_t)context);
    if (index < ath_several_count())
        atomic_compare_exchange_strong(&ath_several_all[index].context, &known, NULL);
    ended++;
    ath_several_addresses_end(context);
    ath_several_lanes_end(context);
    ath_cuda_locals_end(context);
}

/* ---- the current context ---- */

/* What the current one's library says where no call would do: before cuInit(), in a callback. */
static CUresult is_ready(void)
{
    CUcontext ignored;
    unsigned int index = ath_several_here();
    return index < ath_several_count() ? ath_several_all[index].calls.cuCtxGetCurrent(&ignored)
                                       : CUDA_ERROR_NOT_INITIALIZED;
}

static CUresult push(CUcontext context)
{
    struct thread *thread = thread_of_caller();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (ath_instance_of((uintptr_t)context) >= ath_several_count())
        return CUDA_ERROR_INVALID_CONTEXT;
    if (thread->count == thread->capacity) {
        size_t capacity = thread->capacity ? 2 * thread->capacity : 8;
        CUcontext *grown = realloc(thread->stack, capacity * sizeof *grown);
        if (!grown)
            return CUDA_ERROR_OUT_OF_MEMORY;
        thread->stack = grown;
        thread->capacity = capacity;
    }
    thread->stack[thread->count++] = context;
    is_there(context);
    return CUDA_SUCCESS;
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

/* Its library knows whether there is such a context. */
static CUresult look_up(CUcontext context)
{
    struct ath_several *to;
    return ath_several_enter_in(context, &to);
}

CUresult ath_cuda_by_hand_cuCtxSetCurrent(CUcontext context)
{
    CUresult status = is_ready();
    if (status || context == ath_cuda_current_context())
        return status;
    if (context)
        status = look_up(context);
    if (status)
        return status;
    if (this_thread && this_thread->count)
        this_thread->count--;
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
    if (status)
        return status;
    if (!this_thread || !this_thread->count)
        return CUDA_ERROR_INVALID_CONTEXT;
    CUcontext popped = this_thread->stack[--this_thread->count];
    if (context)
        *context = popped;
    return CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuCtxPopCurrent(CUcontext *context)
{
    return ath_cuda_by_hand_cuCtxPopCurrent_v2(context);
}

/* ---- contexts that are made and end ---- */

/* It became current in its library, which is told by tell() alone. */
static CUresult made(struct ath_several *to, CUresult status, const CUcontext *context)
{
    CUcontext popped;
    if (status)
        return status;
    to->calls.cuCtxPopCurrent_v2(&popped);
    return push(*context);
}

CUresult ath_cuda_by_hand_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_device(device), &to);
    return status ? status : made(to, to->calls.cuCtxCreate_v2(context, flags, device), context);
}

CUresult ath_cuda_by_hand_cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device)
{
    return ath_cuda_by_hand_cuCtxCreate_v2(context, flags, device);
}

CUresult ath_cuda_by_hand_cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params,
                                         int param_count, unsigned int flags, CUdevice device)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_device(device), &to);
    return status ? status
                  : made(to, to->calls.cuCtxCreate_v3(context, params, param_count, flags, device),
                         context);
}

CUresult ath_cuda_by_hand_cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params,
                                         unsigned int flags, CUdevice device)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_device(device), &to);
    return status ? status
                  : made(to, to->calls.cuCtxCreate_v4(context, params, flags, device), context);
}

CUresult ath_cuda_by_hand_cuCtxDestroy_v2(CUcontext context)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_handle((uintptr_t)context), &to);
    if (!status)
        status = to->calls.cuCtxDestroy_v2(context);
    if (status)
        return status;
    if (ath_cuda_current_context() == context)
        this_thread->count--;
    ath_several_context_ended(context);
    return CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuCtxDestroy(CUcontext context)
{
    return ath_cuda_by_hand_cuCtxDestroy_v2(context);
}

enum { DEVICES_MAX = 256 };

static _Atomic(CUcontext) primaries[DEVICES_MAX];

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_device(device), &to);
    if (!status)
        status = to->calls.cuDevicePrimaryCtxRetain(context, device);
    if (!status && device >= 0 && device < DEVICES_MAX) {
        primaries[device] = *context;
        is_there(*context);
    }
    return status;
}

static void end_primary(CUdevice device)
{
    if (device >= 0 && device < DEVICES_MAX && primaries[device])
        ath_several_context_ended(primaries[device]);
}

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_device(device), &to);
    if (!status)
        status = to->calls.cuDevicePrimaryCtxReset_v2(device);
    if (!status)
        end_primary(device);
    return status;
}

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxReset(CUdevice device)
{
    return ath_cuda_by_hand_cuDevicePrimaryCtxReset_v2(device);
}

/* The last one's release ends it; at exit nobody asks, since work may be left that never ends. */
CUresult ath_cuda_by_hand_cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    struct ath_several *to;
    unsigned int flags;
    int is_active = 1;
    CUresult status = ath_several_enter(ath_several_of_device(device), &to);
    if (!status)
        status = to->calls.cuDevicePrimaryCtxRelease_v2(device);
    if (!status && !ath_several_is_exiting() &&
        !to->calls.cuDevicePrimaryCtxGetState(device, &flags, &is_active) && !is_active)
        end_primary(device);
    return status;
}

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxRelease(CUdevice device)
{
    return ath_cuda_by_hand_cuDevicePrimaryCtxRelease_v2(device);
}
