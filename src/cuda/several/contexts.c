/* The current context of each thread. The stack is kept here. A server's library learns it only
 * when a call goes there and its own current context differs, so threads that use one server send
 * nothing. */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "cuda/client/client.h"
#include "cuda/client/context_locals.h"
#include "cuda/several/addresses.h"
#include "cuda/several/copies.h"
#include "cuda/several/several.h"
#include "proto/cuda-client.h"

/* Stands for a context that this file does not know. No context has this address. */
#define UNKNOWN_CONTEXT ((CUcontext)(uintptr_t)1)

struct thread {
    CUcontext *stack; /* the last one is current */
    size_t count, capacity;
    CUcontext told[ATH_SERVERS_MAX]; /* the current context of each library, as last set */
    unsigned int age;                /* `ended` when `told` was valid */
};

static _Thread_local struct thread *this_thread;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_uint ended; /* contexts that have ended; each makes `told` unknown in every thread */

static void free_switch_thread(void *memory)
{
    struct thread *thread = memory;
    free(thread->stack);
    free(thread);
    this_thread = NULL;
}

static void make_switch_key(void)
{
    pthread_key_create(&key, free_switch_thread);
}

/* Returns NULL if memory runs out. */
static struct thread *thread_of_caller(void)
{
    if (this_thread)
        return this_thread;
    pthread_once(&once, make_switch_key);
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

static CUresult tell_library(struct ath_several *to, CUcontext context)
{
    struct thread *thread = thread_of_caller();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (thread->age != ended) {
        thread->age = ended;
        for (size_t i = 0; i < ATH_SERVERS_MAX; i++)
            thread->told[i] = UNKNOWN_CONTEXT;
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
    return tell_library(*out, current);
}

CUresult ath_several_enter_in(CUcontext context, struct ath_several **out)
{
    unsigned int index = ath_instance_of((uintptr_t)context);
    if (index >= ath_several_count())
        return CUDA_ERROR_INVALID_CONTEXT;
    *out = &ath_several_all[index];
    return tell_library(*out, context);
}

static void note_existing(CUcontext context)
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

/* Makes a harmless call to the current context's library. Returns its error: before cuInit(), or in
 * a callback. */
static CUresult check_server(void)
{
    CUcontext ignored;
    unsigned int index = ath_several_here();
    return index < ath_several_count() ? ath_several_all[index].calls.cuCtxGetCurrent(&ignored)
                                       : CUDA_ERROR_NOT_INITIALIZED;
}

static CUresult push_switch_context(CUcontext context)
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
    note_existing(context);
    return CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuCtxGetCurrent(CUcontext *context)
{
    CUresult status = check_server();
    if (status)
        return status;
    if (!context)
        return CUDA_ERROR_INVALID_VALUE;
    *context = ath_cuda_current_context();
    return CUDA_SUCCESS;
}

/* Asks the context's library, which knows whether the context exists. */
static CUresult look_up_switch_context(CUcontext context)
{
    struct ath_several *to;
    return ath_several_enter_in(context, &to);
}

CUresult ath_cuda_by_hand_cuCtxSetCurrent(CUcontext context)
{
    CUresult status = check_server();
    if (status || context == ath_cuda_current_context())
        return status;
    if (context)
        status = look_up_switch_context(context);
    if (status)
        return status;
    if (this_thread && this_thread->count)
        this_thread->count--;
    return context ? push_switch_context(context) : CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult status = check_server();
    if (status)
        return status;
    status = context ? look_up_switch_context(context) : CUDA_ERROR_INVALID_CONTEXT;
    return status ? status : push_switch_context(context);
}

CUresult ath_cuda_by_hand_cuCtxPushCurrent(CUcontext context)
{
    return ath_cuda_by_hand_cuCtxPushCurrent_v2(context);
}

CUresult ath_cuda_by_hand_cuCtxPopCurrent_v2(CUcontext *context)
{
    CUresult status = check_server();
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

/* ---- making and ending contexts ---- */

/* The new context became current in its library. It is removed there, since only tell_library()
 * sets a library's context. */
static CUresult adopt_made(struct ath_several *to, CUresult status, const CUcontext *context)
{
    CUcontext popped;
    if (status)
        return status;
    to->calls.cuCtxPopCurrent_v2(&popped);
    return push_switch_context(*context);
}

CUresult ath_cuda_by_hand_cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_device(device), &to);
    return status ? status
                  : adopt_made(to, to->calls.cuCtxCreate_v2(context, flags, device), context);
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
    return status
               ? status
               : adopt_made(to,
                            to->calls.cuCtxCreate_v3(context, params, param_count, flags, device),
                            context);
}

CUresult ath_cuda_by_hand_cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params,
                                         unsigned int flags, CUdevice device)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_device(device), &to);
    return status
               ? status
               : adopt_made(to, to->calls.cuCtxCreate_v4(context, params, flags, device), context);
}

CUresult ath_cuda_by_hand_cuCtxDestroy_v2(CUcontext context)
{
    struct ath_several *to;
    CUresult status = ath_several_enter(ath_several_of_handle((uintptr_t)context), &to);
    if (!status)
        status = to->calls.cuCtxDestroy_v2(context);
    if (status)
        return status;
    if (context && ath_cuda_current_context() == context)
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
        note_existing(*context);
    }
    return status;
}

static void end_switch_primary(CUdevice device)
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
        end_switch_primary(device);
    return status;
}

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxReset(CUdevice device)
{
    return ath_cuda_by_hand_cuDevicePrimaryCtxReset_v2(device);
}

/* The last release ends the context. During exit the state is not asked: kernels may be left that
 * never end. */
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
        end_switch_primary(device);
    return status;
}

CUresult ath_cuda_by_hand_cuDevicePrimaryCtxRelease(CUdevice device)
{
    return ath_cuda_by_hand_cuDevicePrimaryCtxRelease_v2(device);
}

/* A context that could not be made has no server yet: the runtime gets the error itself. */
CUcontext ath_cuda_unmade_primary(CUdevice device)
{
    (void)device;
    return NULL;
}
