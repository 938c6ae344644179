/*
 * Conversion of handles between the program and the wire. The wire has the server's values; with
 * several servers the program's contain the server's number (instance.h). Handles are checked on
 * the way out, and new ones noted on the way in (handles.h).
 */
#include "config.h"

#include "cuda/client/capture_state.h"
#include "cuda/client/client.h"
#include "cuda/client/connection.h"
#include "cuda/client/function_proxy.h"
#include "cuda/client/handles.h"
#include "cuda/client/instance.h"
#include "cuda/client/kernel_attribute.h"
#include "cuda/client/lasting_results.h"
#include "cuda/client/mirror.h"

/* Finds the context of a stream or an event. Returns false if there is no such handle. */
static bool find_handle(struct ath_cuda_thread *thread, enum ath_cuda_kind kind, uint64_t handle,
                        CUcontext *out_context)
{
    uint64_t now = ath_cuda_handles_age();
    if (!handle)
        return false;
    if (thread->known_handle != handle || thread->known_age != now) {
        if (!ath_cuda_handle_find(handle, &thread->known))
            return false;
        thread->known_handle = handle;
        thread->known_age = now;
    }
    if (thread->known.kind != kind)
        return false;
    *out_context = thread->known.context;
    return true;
}

/* An event is recorded in streams of its own context (docs.nvidia.com/cuda/cuda-driver-api,
 * "cuEventRecord"). A kernel runs in a stream of its own context. That is nearly always the current
 * one; otherwise the driver judges (driver 580 takes function and stream of one context while
 * another one is current). Copies and waits may use any stream. */
static bool is_in_place(struct ath_cuda_exchange *exchange, CUcontext context)
{
    CUcontext wanted = ath_cuda_own_context();
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[exchange->method];
    if (!facts->records && !facts->in_context)
        return true;
    if (facts->records) {
        wanted = exchange->event_context;
        exchange->event_context = context;
        exchange->is_told_on = exchange->is_told_on || exchange->thread->known.is_shared;
    }
    bool is_same = !wanted || !context || wanted == context;
    exchange->is_told_on = exchange->is_told_on || (!is_same && !facts->records);
    return is_same || !facts->records;
}

/* Checks a handle of a call without an answer. For a call with an answer the server reports the
 * error, and so it does for one whose result must be known at once. */
static void find_wrong_handle(struct ath_cuda_exchange *exchange, enum ath_cuda_kind kind,
                              uint64_t handle)
{
    enum ath_cuda_class class = ath_cuda_methods[exchange->method].class;
    bool is_default = kind == ATH_CUDA_KIND_STREAM && handle <= (uintptr_t)CU_STREAM_PER_THREAD;
    CUcontext context = is_default ? ath_cuda_own_context() : NULL;
    bool is_known =
        is_default ? context != NULL : find_handle(exchange->thread, kind, handle, &context);
    if (context)
        exchange->place = context;
    if (ath_cuda_link_is_lost())
        return;
    /* The server has its own default streams. And a handle that ended with its context may name a
     * new object already, which the program has not received yet (stream_pool.h). */
    if (ath_cuda_methods[exchange->method].ends_handle && (is_default || !is_known))
        exchange->side.status =
            kind == ATH_CUDA_KIND_GRAPH_EXEC ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
    if ((class != ATH_CUDA_ASYNC && class != ATH_CUDA_CUSTOM) || exchange->is_told_on)
        return;
    if (is_default && handle != (uintptr_t)CU_STREAM_PER_THREAD && ath_cuda_is_any_capturing())
        exchange->is_told_on = true; /* it may break a capture, which ends before the next wait */
    if (!handle && class == ATH_CUDA_CUSTOM) /* a launch attribute without an event */
        return;
    if (is_default && !is_known)
        exchange->side.status = CUDA_ERROR_INVALID_CONTEXT;
    else if (!is_known || !is_in_place(exchange, context))
        exchange->side.status =
            kind == ATH_CUDA_KIND_GRAPH_EXEC ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
}

/* Notes a handle that a call made. Executable graphs have no context, and the streams of a green
 * context have none that the client knows. */
static void note_handle(enum ath_cuda_method method, enum ath_cuda_kind kind, uint64_t handle)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[method];
    if (!handle || !facts->makes)
        return;
    bool has_context = kind != ATH_CUDA_KIND_GRAPH_EXEC && !facts->in_green;
    ath_cuda_handle_add(handle, kind, has_context ? ath_cuda_own_context() : NULL);
    if (facts->shares)
        ath_cuda_handle_share(handle);
}

/* Notes a function or a module that the program receives: one of its own modules, or another name
 * of a kernel. */
static void note_name(const struct ath_cuda_exchange *exchange, uint64_t handle)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[exchange->method];
    if (facts->makes)
        return;
    if (!facts->names_kernel) {
        ath_cuda_attributes_mix();
        return;
    }
    ath_cuda_kernel_remove(handle);
    ath_cuda_attributes_name(exchange->kernel, handle);
}

/* The error for a handle of another server. */
static CUresult says_stranger(enum ath_cuda_kind kind)
{
    switch (kind) {
    case ATH_CUDA_KIND_DEVICE:
        return CUDA_ERROR_INVALID_DEVICE;
    case ATH_CUDA_KIND_CONTEXT:
        return CUDA_ERROR_INVALID_CONTEXT;
    case ATH_CUDA_KIND_GRAPH:
    case ATH_CUDA_KIND_GRAPH_EXEC:
    case ATH_CUDA_KIND_GRAPH_NODE:
        return CUDA_ERROR_INVALID_VALUE;
    default:
        return CUDA_ERROR_INVALID_HANDLE;
    }
}

void ath_cuda_refuse_stranger(struct ath_cuda_side *side, enum ath_cuda_kind kind)
{
    if (!side->status)
        side->status = says_stranger(kind);
}

uint64_t ath_cuda_client_to_wire(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t own)
{
    if (kind == ATH_CUDA_KIND_ADDRESS)
        return ath_cuda_host_device_address(own);
    return ath_cuda_as_server_has_it(
        side, kind, kind == ATH_CUDA_KIND_FUNCTION ? ath_cuda_function_proxy_target(own) : own);
}

uint64_t ath_cuda_client_to_own(struct ath_cuda_side *side, enum ath_cuda_kind kind, uint64_t wire)
{
    (void)side;
    return ath_instance_to_own(kind, wire);
}

void ath_cuda_check_handle(struct ath_cuda_exchange *exchange, enum ath_cuda_kind kind,
                           uint64_t handle)
{
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[exchange->method];
    find_wrong_handle(exchange, kind, handle);
    if (facts->ends_handle) {
        exchange->ending = handle;
        exchange->is_told_on =
            exchange->is_told_on || ath_cuda_is_any_capturing(); /* it may end one */
    }
    if (facts->shares)
        ath_cuda_handle_share(handle);
}

void ath_cuda_note_result(const struct ath_cuda_exchange *exchange, enum ath_cuda_kind kind,
                          uint64_t handle)
{
    if (!handle)
        return;
    if (kind == ATH_CUDA_KIND_KERNEL)
        ath_cuda_kernel_add(handle);
    else if (kind == ATH_CUDA_KIND_FUNCTION || kind == ATH_CUDA_KIND_MODULE)
        note_name(exchange, handle);
    else
        note_handle(exchange->method, kind, handle);
}
