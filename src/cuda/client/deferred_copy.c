/* The list of copies whose data have not arrived. It is short: all together have few bytes. */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "cuda/client/deferred_copy.h"
#include "cuda/client/mirror.h"
#include "cuda/common/deferred_limits.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct deferred {
    struct deferred *next;
    uintptr_t address;
    size_t bytes;
    CUstream stream;
    CUcontext context;
} * due, **last_due = &due; /* in the order of the calls, as they arrive */
static size_t due_bytes;
static atomic_int due_count;

bool ath_cuda_has_deferred_copies(void)
{
    return due_count;
}

/* Returns whether only the client has this memory. */
static bool is_clients(const void *memory, size_t bytes)
{
    struct ath_cuda_host_memory found;
    return ath_cuda_host_find(memory, &found) && !found.is_mapped && !found.shared &&
           (uintptr_t)memory - found.address + bytes <= found.bytes;
}

/* Adds a copy before it is sent. Returns false if there are too many bytes under way. */
static bool add(void *address, size_t bytes, CUstream stream)
{
    struct deferred *one = malloc(sizeof *one);
    if (!one)
        return false;
    *one = (struct deferred){ .address = (uintptr_t)address,
                              .bytes = bytes,
                              .stream = stream,
                              .context = ath_cuda_current_context() };
    pthread_mutex_lock(&lock);
    bool has_room = bytes <= ATH_CUDA_DEFERRED_MOST - due_bytes;
    if (has_room) {
        *last_due = one;
        last_due = &one->next;
        due_bytes += bytes;
        due_count++;
    }
    pthread_mutex_unlock(&lock);
    if (!has_room)
        free(one);
    return has_room;
}

/* Removes the first copy to an address. Returns false if there is none. */
static bool take(uintptr_t address, size_t bytes)
{
    pthread_mutex_lock(&lock);
    struct deferred **at = &due;
    while (*at && ((*at)->address != address || (*at)->bytes != bytes))
        at = &(*at)->next;
    struct deferred *one = *at;
    if (one) {
        *at = one->next;
        if (!one->next)
            last_due = at;
        due_bytes -= bytes;
        due_count--;
    }
    pthread_mutex_unlock(&lock);
    free(one);
    return one;
}

static CUresult post(void *dst_host, CUdeviceptr src_device, size_t byte_count, CUstream stream)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemcpyDtoHAsync_v2);
    if (status)
        return status;
    struct ath_cuda_wire_memcpy_dto_h_async_v2_builder call =
        ath_cuda_wire_call_init_memcpy_dto_h_async_v2(exchange.call);
    ath_cuda_wire_memcpy_dto_h_async_v2_set_src_device(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_ADDRESS, src_device));
    ath_cuda_wire_memcpy_dto_h_async_v2_set_byte_count(call, byte_count);
    ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
    ath_cuda_wire_memcpy_dto_h_async_v2_set_stream(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    ath_cuda_wire_memcpy_dto_h_async_v2_set_host(call, (uintptr_t)dst_host);
    ath_cuda_wire_memcpy_dto_h_async_v2_set_deferred(call, true);
    return ath_cuda_end(&exchange, ath_cuda_post(&exchange));
}

/* Another thread may have to wait for the copy, so its stream must be the same for all threads. */
bool ath_cuda_deferred_copy(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                            CUstream stream, CUresult *out_status)
{
    if (byte_count < ATH_CUDA_DEFERRED_LEAST || byte_count > ATH_CUDA_DEFERRED_MOST ||
        stream == CU_STREAM_PER_THREAD || ath_cuda_is_any_capturing() ||
        !is_clients(dst_host, byte_count) || !add(dst_host, byte_count, stream))
        return false;
    *out_status = post(dst_host, src_device, byte_count, stream);
    if (*out_status)
        take((uintptr_t)dst_host, byte_count);
    return true;
}

/* Finds a copy into any of these bytes, or of a context. */
static bool find(uintptr_t address, size_t bytes, CUcontext context, struct deferred *out)
{
    pthread_mutex_lock(&lock);
    const struct deferred *at = due;
    while (at && at->context != context &&
           (at->address >= address + bytes || address >= at->address + at->bytes))
        at = at->next;
    if (at)
        *out = *at;
    pthread_mutex_unlock(&lock);
    return at;
}

/* Waits for a stream as the copy's caller would. If that does not bring the copy, the stream has
 * ended by now, and its context is waited for. In a relaxed mode: natively nothing waits here, so a
 * capture of another stream must go on. */
static CUresult wait_for(const struct deferred *copy, bool has_ended)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    CUcontext popped;
    CUresult status = ath_cuda_by_hand_cuCtxPushCurrent_v2(copy->context);
    if (status)
        return status;
    CUstreamCaptureMode mode = thread->mode;
    thread->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    status = has_ended ? ath_cuda_do_cuCtxSynchronize()
                       : ath_cuda_by_hand_cuStreamSynchronize(copy->stream);
    thread->mode = mode;
    ath_cuda_by_hand_cuCtxPopCurrent_v2(&popped);
    return status;
}

/* A copy that does not arrive has failed. */
static CUresult await_one(const struct deferred *copy)
{
    struct deferred same;
    CUresult status = wait_for(copy, false);
    if (!find(copy->address, copy->bytes, NULL, &same))
        return status;
    if (!status || status == CUDA_ERROR_INVALID_HANDLE)
        status = wait_for(copy, true);
    take(copy->address, copy->bytes);
    return status;
}

static CUresult await_each(uintptr_t address, size_t bytes, CUcontext context)
{
    struct deferred one;
    CUresult status = CUDA_SUCCESS;
    while (due_count && !status && find(address, bytes, context, &one))
        status = await_one(&one);
    return status;
}

CUresult ath_cuda_deferred_copies_await(const void *address, size_t byte_count)
{
    return await_each((uintptr_t)address, byte_count, NULL);
}

void ath_cuda_deferred_copies_end_in(CUcontext context)
{
    await_each(0, 0, context);
}

void ath_cuda_deferred_copy_arrived(uintptr_t address, const void *data, size_t byte_count)
{
    if (take(address, byte_count))
        memcpy((void *)address, data, byte_count);
}

void ath_cuda_deferred_copies_clear(void)
{
    pthread_mutex_lock(&lock);
    for (struct deferred *next; due; due = next) {
        next = due->next;
        free(due);
    }
    last_due = &due;
    due_bytes = 0;
    due_count = 0;
    pthread_mutex_unlock(&lock);
}
