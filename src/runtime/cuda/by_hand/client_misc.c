/*
 * Capture, lists of attributes, occupancy with a function of the program, graphs as text.
 *
 * Programs ask whether a stream is capturing before nearly every launch. While none of this process
 * is, the answer is known: captures begin and end by calls that pass here.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proto/cuda-client.h"
#include "runtime/cuda/by_hand/capture.h"
#include "runtime/cuda/by_hand/host.h"
#include "runtime/cuda/bytes.h"
#include "runtime/cuda/captures.h"
#include "runtime/cuda/client.h"
#include "runtime/cuda/handles.h"
#include "runtime/cuda/zeroed.h"
#include "runtime/switches.h"

/* ---- waiting ---- */

CUresult ath_cuda_by_hand_cuStreamSynchronize(CUstream stream)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuStreamSynchronize);
    if (status)
        return status;
    if (ath_cuda_stream_is_at_rest(stream)) {
        status = ath_cuda_end(&exchange, CUDA_SUCCESS);
        return status ? status : ath_cuda_host_pull(ATH_CUDA_METHOD_cuStreamSynchronize);
    }
    ath_cuda_wire_stream_synchronize_set_stream(
        ath_cuda_wire_call_init_stream_synchronize(exchange.call),
        ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    status = ath_cuda_ask(&exchange);
    if (!status)
        ath_cuda_stream_rests(&exchange, stream);
    return ath_cuda_end(&exchange, status);
}

/* ---- events ---- */

/* Without flags, as runtimes call it, it is cuEventRecord(), for which nobody waits; what is wrong
 * with others is said at once. */
CUresult ath_cuda_by_hand_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
    return flags ? ath_cuda_do_cuEventRecordWithFlags(event, stream, flags)
                 : ath_cuda_do_cuEventRecord(event, stream);
}

/* ---- capture ---- */

static struct ath_cuda_captures captures = { .lock = PTHREAD_MUTEX_INITIALIZER };

bool ath_cuda_is_capturing(void)
{
    return captures.count;
}

bool ath_cuda_captures_of(uint32_t thread)
{
    return ath_cuda_captures_by(&captures, thread);
}

void ath_cuda_captures_end_with(CUstream stream)
{
    if (captures.count)
        ath_cuda_capture_remove(&captures, stream, 0);
}

void ath_cuda_captures_end_in(CUcontext context)
{
    ath_cuda_captures_end(&captures, context);
}

static uint32_t thread_number(void)
{
    const struct ath_cuda_thread *thread = ath_cuda_this_thread();
    return thread ? thread->id : 0;
}

static CUresult begun(CUstream stream, CUresult status)
{
    if (!status)
        ath_cuda_capture_add(&captures, stream, ath_cuda_current_context(), thread_number());
    return status;
}

CUresult ath_cuda_by_hand_cuStreamBeginCapture(CUstream stream)
{
    return begun(stream, ath_cuda_do_cuStreamBeginCapture(stream));
}

CUresult ath_cuda_by_hand_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    return begun(stream, ath_cuda_do_cuStreamBeginCapture_v2(stream, mode));
}

CUresult ath_cuda_by_hand_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                                      const CUgraphNode *dependencies,
                                                      const CUgraphEdgeData *edges,
                                                      size_t dependency_count,
                                                      CUstreamCaptureMode mode)
{
    return begun(stream, ath_cuda_do_cuStreamBeginCaptureToGraph(stream, graph, dependencies, edges,
                                                                 dependency_count, mode));
}

/* A capture that was spoilt ends by this call too, with an error of its own. Who captured into a
 * graph need not ask for it. */
CUresult ath_cuda_by_hand_cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    CUgraph unwanted;
    CUresult status = ath_cuda_do_cuStreamEndCapture(stream, graph ? graph : &unwanted);
    bool is_ended = !status || status == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                    status == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    if (is_ended)
        ath_cuda_capture_remove(&captures, stream, thread_number());
    return status;
}

/* Libraries ask about one stream again and again. Of a lost server's none is known any more. */
static bool is_stream(CUstream stream)
{
    static _Thread_local CUstream found;
    static _Thread_local uint64_t found_at;
    CUcontext context;
    bool is_shared;
    uint64_t now = ath_cuda_handles_age();
    if ((uintptr_t)stream <= (uintptr_t)CU_STREAM_PER_THREAD || ath_cuda_is_lost())
        return true;
    if (stream == found && found_at == now)
        return true;
    if (!ath_cuda_handle_find((uintptr_t)stream, &context, &is_shared))
        return false;
    found = stream;
    found_at = now;
    return true;
}

/* CUDA_SUCCESS with *is_known where no answer of the server is needed. */
static CUresult known(CUstream stream, CUstreamCaptureStatus *status, bool *is_known)
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
    CUresult result = known(stream, status, &is_known);
    return result || is_known ? result : ath_cuda_do_cuStreamIsCapturing(stream, status);
}

CUresult ath_cuda_by_hand_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status,
                                                 uint64_t *id)
{
    bool is_known;
    CUresult result = known(stream, status, &is_known);
    return result || is_known ? result : ath_cuda_do_cuStreamGetCaptureInfo(stream, status, id);
}

CUresult ath_cuda_by_hand_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status,
                                                    uint64_t *id, CUgraph *graph,
                                                    const CUgraphNode **dependencies,
                                                    size_t *dependency_count)
{
    bool is_known;
    CUresult result = known(stream, status, &is_known);
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
    CUresult result = known(stream, status, &is_known);
    return result || is_known
               ? result
               : ath_cuda_do_cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies,
                                                       edges, dependency_count);
}

/* The mode is the thread's; each of its calls says which one it is. */
CUresult ath_cuda_by_hand_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (!thread)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!mode || (unsigned int)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_ERROR_INVALID_VALUE;
    CUstreamCaptureMode before = thread->mode;
    thread->mode = *mode;
    *mode = before;
    return CUDA_SUCCESS;
}

/* ---- lists of attributes ---- */

CUresult ath_cuda_by_hand_cuMemRangeGetAttributes(void **data, size_t *data_sizes,
                                                  CUmem_range_attribute *attributes,
                                                  size_t attribute_count, CUdeviceptr address,
                                                  size_t count)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemRangeGetAttributes);
    if (status)
        return status;
    if (!attribute_count || !attributes || !data || !data_sizes)
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    struct ath_cuda_wire_mem_range_get_attributes_builder call =
        ath_cuda_wire_call_init_mem_range_get_attributes(exchange.call);
    struct ath_wire_array list = ath_cuda_wire_mem_range_get_attributes_init_attributes(
        call, ath_cuda_items(attribute_count));
    struct ath_wire_array sizes =
        ath_cuda_wire_mem_range_get_attributes_init_sizes(call, ath_cuda_items(attribute_count));
    for (uint32_t i = 0; i < sizes.count; i++) {
        ath_wire_array_set_bits(list, i, (uint32_t)attributes[i]);
        ath_wire_array_set_bits(sizes, i, data_sizes[i]);
    }
    ath_cuda_wire_mem_range_get_attributes_set_address(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_ADDRESS, address));
    ath_cuda_wire_mem_range_get_attributes_set_count(call, count);
    status = ath_cuda_ask(&exchange);
    if (!status) {
        struct ath_wire_list values = ath_cuda_wire_mem_range_get_attributes_result_values(
            ath_cuda_wire_answer_mem_range_get_attributes(exchange.answer));
        for (uint32_t i = 0; i < values.count && i < attribute_count; i++)
            ath_cuda_copy_bytes(data[i], data_sizes[i], ath_wire_list_data(values, i));
    }
    return ath_cuda_end(&exchange, status);
}

/* ---- occupancy ---- */

static CUresult ask_block_size(int *min_grid_size, int *block_size, CUfunction function,
                               size_t dynamic_bytes, int limit, unsigned int flags)
{
    struct ath_cuda_exchange exchange;
    CUresult status =
        ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuOccupancyMaxPotentialBlockSizeWithFlags);
    if (status)
        return status;
    struct ath_cuda_wire_occupancy_max_potential_block_size_with_flags_builder call =
        ath_cuda_wire_call_init_occupancy_max_potential_block_size_with_flags(exchange.call);
    ath_cuda_wire_occupancy_max_potential_block_size_with_flags_set_function(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_FUNCTION, (uintptr_t)function));
    ath_cuda_wire_occupancy_max_potential_block_size_with_flags_set_dynamic_s_mem_size(
        call, dynamic_bytes);
    ath_cuda_wire_occupancy_max_potential_block_size_with_flags_set_block_size_limit(call, limit);
    ath_cuda_wire_occupancy_max_potential_block_size_with_flags_set_flags(call, flags);
    status = ath_cuda_ask(&exchange);
    if (!status) {
        struct ath_cuda_wire_occupancy_max_potential_block_size_with_flags_result answer =
            ath_cuda_wire_answer_occupancy_max_potential_block_size_with_flags(exchange.answer);
        *min_grid_size =
            ath_cuda_wire_occupancy_max_potential_block_size_with_flags_result_min_grid_size(
                answer);
        *block_size =
            ath_cuda_wire_occupancy_max_potential_block_size_with_flags_result_block_size(answer);
    }
    return ath_cuda_end(&exchange, status);
}

/* What the search goes through: whole warps, up to what device, kernel and caller allow. */
struct search {
    CUdevice device;
    int warp, threads_max, processors;
};

static CUresult begin_search(CUfunction function, int limit, struct search *out)
{
    int kernel_max = 0;
    CUresult status = ath_cuda_do_cuCtxGetDevice(&out->device);
    if (!status)
        status = ath_cuda_do_cuDeviceGetAttribute(&out->warp, CU_DEVICE_ATTRIBUTE_WARP_SIZE,
                                                  out->device);
    if (!status)
        status = ath_cuda_do_cuDeviceGetAttribute(
            &out->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, out->device);
    if (!status)
        status = ath_cuda_do_cuDeviceGetAttribute(
            &out->threads_max, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, out->device);
    if (!status)
        status = ath_cuda_do_cuFuncGetAttribute(&kernel_max,
                                                CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
    if (!status && out->threads_max > kernel_max)
        out->threads_max = kernel_max;
    if (!status && limit > 0 && out->threads_max > limit)
        out->threads_max = limit;
    return status;
}

/* The largest block with the most threads on a multiprocessor. */
static CUresult search_block_size(int *min_grid_size, int *block_size, CUfunction function,
                                  CUoccupancyB2DSize dynamic_bytes_of, int limit,
                                  unsigned int flags)
{
    struct search search = { 0 };
    int best_threads = 0;
    CUresult status = begin_search(function, limit, &search);
    int size = search.warp ? (search.threads_max + search.warp - 1) / search.warp * search.warp : 0;
    for (; !status && size > 0; size -= search.warp) {
        int tried = size < search.threads_max ? size : search.threads_max, blocks = 0;
        status = ath_cuda_do_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &blocks, function, tried, dynamic_bytes_of(tried), flags);
        if (!status && blocks * tried > best_threads) {
            best_threads = blocks * tried;
            *block_size = tried;
            *min_grid_size = blocks * search.processors;
        }
    }
    return status;
}

CUresult ath_cuda_by_hand_cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *min_grid_size, int *block_size, CUfunction function,
    CUoccupancyB2DSize block_size_to_dynamic_s_mem_size, size_t dynamic_s_mem_size,
    int block_size_limit, unsigned int flags)
{
    if (!min_grid_size || !block_size)
        return CUDA_ERROR_INVALID_VALUE;
    if (!block_size_to_dynamic_s_mem_size)
        return ask_block_size(min_grid_size, block_size, function, dynamic_s_mem_size,
                              block_size_limit, flags);
    return search_block_size(min_grid_size, block_size, function, block_size_to_dynamic_s_mem_size,
                             block_size_limit, flags);
}

CUresult ath_cuda_by_hand_cuOccupancyMaxPotentialBlockSize(
    int *min_grid_size, int *block_size, CUfunction function,
    CUoccupancyB2DSize block_size_to_dynamic_s_mem_size, size_t dynamic_s_mem_size,
    int block_size_limit)
{
    return ath_cuda_by_hand_cuOccupancyMaxPotentialBlockSizeWithFlags(
        min_grid_size, block_size, function, block_size_to_dynamic_s_mem_size, dynamic_s_mem_size,
        block_size_limit, CU_OCCUPANCY_DEFAULT);
}

/* ---- texts in a file of the program's side ---- */

static CUresult write_file(const char *path, struct ath_wire_bytes text)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return CUDA_ERROR_OPERATING_SYSTEM;
    bool is_written = fwrite(text.data, 1, text.length, file) == text.length;
    return !fclose(file) && is_written ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult ath_cuda_by_hand_cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuGraphDebugDotPrint);
    if (status)
        return status;
    if (!path)
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    struct ath_cuda_wire_graph_debug_dot_print_builder call =
        ath_cuda_wire_call_init_graph_debug_dot_print(exchange.call);
    ath_cuda_wire_graph_debug_dot_print_set_graph(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_GRAPH, (uintptr_t)graph));
    ath_cuda_wire_graph_debug_dot_print_set_flags(call, flags);
    status = ath_cuda_ask(&exchange);
    if (!status)
        status = write_file(path, ath_cuda_wire_graph_debug_dot_print_result_text(
                                      ath_cuda_wire_answer_graph_debug_dot_print(exchange.answer)));
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_by_hand_cuLogsDumpToFile(CUlogIterator *iterator, const char *path_to_file,
                                           unsigned int flags)
{
    enum { ALL = 25600 /* bytes that the driver keeps (docs.nvidia.com/cuda/cuda-driver-api) */ };
    size_t length = ALL;
    if (!path_to_file)
        return CUDA_ERROR_INVALID_VALUE;
    ath_auto_free char *text = ath_cuda_zeroed(length);
    if (!text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_cuda_do_cuLogsDumpToMemory(iterator, text, &length, flags);
    return status
               ? status
               : write_file(path_to_file, (struct ath_wire_bytes){ (const uint8_t *)text,
                                                                   length < ALL ? length : ALL });
}
