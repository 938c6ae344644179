/*
 * The captures of this process.
 *
 * Programs ask before nearly every launch whether a stream captures. As long as no stream of the
 * process captures, the client knows the answer, since captures begin and end by calls of this
 * file.
 */
#include "config.h"

#include "cuda/client/capture_state.h"

#include "cuda/client/client.h"
#include "cuda/client/deferred_copy.h"
#include "cuda/client/handles.h"
#include "cuda/common/capture_list.h"
#include "proto/cuda-client.h"
#include "remote/switches.h"

static struct ath_cuda_capture_list captures = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool ath_cuda_is_any_capturing(void)
{
    return captures.count;
}

bool ath_cuda_is_thread_capturing(uint32_t thread)
{
    return ath_cuda_capture_list_has_thread(&captures, thread);
}

void ath_cuda_capture_state_end_stream(CUstream stream)
{
    if (captures.count)
        ath_cuda_capture_list_remove(&captures, stream, 0);
}

void ath_cuda_capture_state_end_context(CUcontext context)
{
    ath_cuda_capture_list_end_context(&captures, context);
}

static uint32_t thread_number(void)
{
    const struct ath_cuda_thread *thread = ath_cuda_this_thread();
    return thread ? thread->id : 0;
}

static CUresult note_begun(CUstream stream, CUresult status)
{
    if (!status)
        ath_cuda_capture_list_add(&captures, stream, ath_cuda_current_context(), thread_number());
    return status;
}

/* While streams capture, nothing may wait for a copy whose call did not. */
static void await_copies(void)
{
    ath_cuda_deferred_copies_await(NULL, SIZE_MAX);
}

CUresult ath_cuda_by_hand_cuStreamBeginCapture(CUstream stream)
{
    await_copies();
    return note_begun(stream, ath_cuda_do_cuStreamBeginCapture(stream));
}

CUresult ath_cuda_by_hand_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    await_copies();
    return note_begun(stream, ath_cuda_do_cuStreamBeginCapture_v2(stream, mode));
}

CUresult ath_cuda_by_hand_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                                      const CUgraphNode *dependencies,
                                                      const CUgraphEdgeData *edges,
                                                      size_t dependency_count,
                                                      CUstreamCaptureMode mode)
{
    await_copies();
    return note_begun(stream, ath_cuda_do_cuStreamBeginCaptureToGraph(
                                  stream, graph, dependencies, edges, dependency_count, mode));
}

/* This call also ends an invalidated capture, and returns an error then. A program that captured
 * into its own graph need not pass graph. */
CUresult ath_cuda_by_hand_cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    CUgraph unwanted;
    CUresult status = ath_cuda_do_cuStreamEndCapture(stream, graph ? graph : &unwanted);
    bool is_ended = !status || status == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                    status == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (is_ended)
        ath_cuda_capture_list_remove(&captures, stream, thread_number());
    return status;
}

/* Libraries ask about the same stream repeatedly. After the server was lost any stream is
 * accepted. */
static bool is_stream(CUstream stream)
{
    static _Thread_local CUstream found;
    static _Thread_local uint64_t found_at;
    struct ath_cuda_handle_facts facts;
    uint64_t now = ath_cuda_handles_age();
    if ((uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD || ath_cuda_is_lost())
        return true;
    if (stream == found && found_at == now)
        return true;
    if (!ath_cuda_handle_find((uintptr_t)stream, &facts) || facts.kind != ATH_CUDA_KIND_STREAM)
        return false;
    found = stream;
    found_at = now;
    return true;
}

/* Sets *is_known if the client can answer without the server. */
static CUresult capture_is_known(CUstream stream, CUstreamCaptureStatus *status, bool *is_known)
{
    CUresult ready = ath_cuda_may(ATH_CUDA_METHOD_cuStreamIsCapturing);
    *is_known = ready || !(captures.count || ath_is_off(ATH_SWITCH_CAPTURES));
    if (!ready && !is_stream(stream))
        ready = CUDA_ERROR_INVALID_HANDLE;
    if (ready || !status)
        return ready ? ready : CUDA_ERROR_INVALID_VALUE;
    if (*is_known)
        *status = CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    bool is_known;
    CUresult result = capture_is_known(stream, status, &is_known);
    return result || is_known ? result : ath_cuda_do_cuStreamIsCapturing(stream, status);
}

CUresult ath_cuda_by_hand_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status,
                                                 uint64_t *id)
{
    bool is_known;
    CUresult result = capture_is_known(stream, status, &is_known);
    return result || is_known ? result : ath_cuda_do_cuStreamGetCaptureInfo(stream, status, id);
}

CUresult ath_cuda_by_hand_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status,
                                                    uint64_t *id, CUgraph *graph,
                                                    const CUgraphNode **dependencies,
                                                    size_t *dependency_count)
{
    bool is_known;
    CUresult result = capture_is_known(stream, status, &is_known);
    return result || is_known ? result
                              : ath_cuda_do_cuStreamGetCaptureInfo_v2(
                                    stream, status, id, graph, dependencies, dependency_count);
}

CUresult ath_cuda_by_hand_cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status,
                                                    uint64_t *id, CUgraph *graph,
                                                    const CUgraphNode **dependencies,
                                                    const CUgraphEdgeData **edges,
                                                    size_t *dependency_count)
{
    bool is_known;
    CUresult result = capture_is_known(stream, status, &is_known);
    return result || is_known
               ? result
               : ath_cuda_do_cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies,
                                                       edges, dependency_count);
}

/* The mode belongs to the thread. Each call of the thread carries it. Any number is accepted, and
 * one that is no mode forbids what the global one does (seen with driver 580). */
CUresult ath_cuda_by_hand_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode before = thread->mode;
    thread->mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}
