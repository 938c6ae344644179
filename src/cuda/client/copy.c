/*
 * Copies between the program's memory and the GPU's. The bytes travel in messages of one chunk
 * each, or, if there are many and both sides share memory, through that memory (staging.h).
 *
 * A copy to the GPU has read its data when the call returns, so it needs no answer. (CUDA says the
 * same of pageable memory: it is staged first.) A copy from the GPU waits for its data even when
 * CUDA would not; pinned memory avoids the wait (deferred_copy.h). In a captured stream each launch
 * of the graph copies the data again (captured_copy.h). While any stream captures, each copy is
 * asked, so that the server can report the capture.
 */
#include "config.h"

#include <string.h>

#include "cuda/client/capture_state.h"
#include "cuda/client/captured_copy.h"
#include "cuda/client/client.h"
#include "cuda/client/deferred_copy.h"
#include "cuda/client/mirror.h"
#include "cuda/client/program_memory.h"
#include "cuda/client/staging.h"
#include "cuda/client/stream_rest.h"
#include "cuda/common/copy_box.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"
#include "remote/transport/team.h"

enum { CHUNK = 8 * 1024 * 1024 };

static size_t chunk_of(size_t left)
{
    return left < CHUNK ? left : CHUNK;
}

/* A copy of no bytes succeeds with any pointers, if a copy may be made at all. */
static CUresult check_source(const void *host, size_t byte_count, CUstream stream)
{
    if (!byte_count)
        return ath_cuda_ready_on(ATH_CUDA_METHOD_cuMemcpyAsync, stream);
    return ath_cuda_can_read(host, byte_count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult check_target(const void *host, size_t byte_count, CUstream stream)
{
    if (!byte_count)
        return ath_cuda_ready_on(ATH_CUDA_METHOD_cuMemcpyAsync, stream);
    return ath_cuda_can_write(host, byte_count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* Returns whether a copy failed because its stream captures. */
static bool is_captured(CUstream stream, CUresult status)
{
    return status == CUDA_ERROR_NOT_SUPPORTED && ath_cuda_is_stream_capturing(stream);
}

/* ---- memory that the server reaches itself ---- */

/* A mirror's bytes are searched when they are pushed. Bytes that both sides share are searched
 * here; memory whose addresses they may hold is mirrored, even if other memory is shared. */
static CUresult open_pointers_in_shared(const void *src_host, size_t byte_count, CUdeviceptr to)
{
    return ath_cuda_host_is_mirror((uintptr_t)src_host)
               ? CUDA_SUCCESS
               : ath_cuda_host_open_pointers(src_host, byte_count, to);
}

static CUresult copy_directly_to(CUdeviceptr dst_device, const void *src_host, size_t byte_count,
                                 CUstream stream, bool is_asked)
{
    struct ath_cuda_exchange exchange;
    CUresult status = open_pointers_in_shared(src_host, byte_count, dst_device);
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemcpyHtoDAsync_v2);
    if (status)
        return status;
    struct ath_cuda_wire_memcpy_hto_d_async_v2_builder call =
        ath_cuda_wire_call_init_memcpy_hto_d_async_v2(exchange.call);
    ath_cuda_wire_memcpy_hto_d_async_v2_set_dst_device(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_ADDRESS, dst_device));
    ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
    ath_cuda_wire_memcpy_hto_d_async_v2_set_stream(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    ath_cuda_wire_memcpy_hto_d_async_v2_set_host(call, (uintptr_t)src_host);
    ath_cuda_wire_memcpy_hto_d_async_v2_set_bytes(call, byte_count);
    return ath_cuda_end(&exchange, is_asked ? ath_cuda_ask(&exchange) : ath_cuda_post(&exchange));
}

CUresult ath_cuda_direct_to(CUdeviceptr dst_device, const void *src_host, size_t byte_count,
                            CUstream stream)
{
    return copy_directly_to(dst_device, src_host, byte_count, stream, false);
}

static CUresult copy_directly_from(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                                   CUstream stream, bool is_asked)
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
    return ath_cuda_end(&exchange, is_asked ? ath_cuda_ask(&exchange) : ath_cuda_post(&exchange));
}

CUresult ath_cuda_direct_from(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                              CUstream stream)
{
    return copy_directly_from(dst_host, src_device, byte_count, stream, false);
}

/* Waits for a copy that must be complete when the call returns. The answer to an asked copy in the
 * legacy stream comes when the copy is complete. */
static CUresult then_wait(CUresult status, bool is_asked)
{
    return status || is_asked ? status : ath_cuda_do_cuStreamSynchronize(NULL);
}

/* ---- to the GPU ---- */

static struct ath_wire_bytes chunk_at(const void *source, size_t offset, size_t length)
{
    return (struct ath_wire_bytes){ (const uint8_t *)source + offset, length };
}

/* The search in a part of a copy, with the rest of a word that begins in it. */
static struct ath_cuda_pointer_search search_of(const void *source, size_t offset, size_t all,
                                                uint64_t to)
{
    const size_t rest = sizeof(uint64_t) - 1, length = chunk_of(all - offset);
    const size_t left = all - offset - length;
    /* a number: a program may give no memory and wrong lengths */
    return (struct ath_cuda_pointer_search){ .all = (const void *)((uintptr_t)source + offset),
                                             .length = length + (left < rest ? left : rest),
                                             .at = to + offset };
}

/* While a part is sent, helpers search the next one. */
static CUresult to_memory(CUdeviceptr dst_device, const void *src_host, size_t byte_count,
                          CUstream stream, bool is_asked)
{
    CUresult status = check_source(src_host, byte_count, stream);
    if (!status)
        status = ath_cuda_host_bring(src_host, byte_count, stream);
    if (!status && ath_cuda_staging_take(byte_count))
        return ath_cuda_staged_to(dst_device, src_host, byte_count, stream);
    struct ath_cuda_pointer_search search = search_of(src_host, 0, byte_count, dst_device);
    for (size_t done = 0, part; !status && done < byte_count; done += part) {
        struct ath_cuda_exchange exchange;
        part = chunk_of(byte_count - done);
        status = ath_cuda_pointer_search_end(&search);
        if (!status)
            status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemcpyHtoDAsync_v2);
        if (status)
            break;
        search = search_of(src_host, done + part, byte_count, dst_device);
        ath_cuda_pointer_search_begin(&search);
        struct ath_cuda_wire_memcpy_hto_d_async_v2_builder call =
            ath_cuda_wire_call_init_memcpy_hto_d_async_v2(exchange.call);
        ath_cuda_wire_memcpy_hto_d_async_v2_set_dst_device(
            call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_ADDRESS, dst_device + done));
        ath_cuda_lend(&exchange);
        ath_cuda_wire_memcpy_hto_d_async_v2_set_source(call, chunk_at(src_host, done, part));
        ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
        ath_cuda_wire_memcpy_hto_d_async_v2_set_stream(
            call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
        status = is_asked ? ath_cuda_ask(&exchange) : ath_cuda_post(&exchange);
        if (!status)
            ath_cuda_stream_goes_on(&exchange, stream, false);
        status = ath_cuda_end(&exchange, status);
    }
    if (search.is_begun) /* the copy has failed */
        ath_cuda_pointer_search_end(&search);
    if (!is_captured(stream, status))
        return status;
    CUDA_MEMCPY3D_PEER row = ath_cuda_box_from_host(src_host, byte_count);
    row.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    row.dstDevice = dst_device;
    return ath_cuda_captured_copy(&row, stream);
}

static CUresult to_array(CUarray dst_array, size_t dst_offset, const void *src_host,
                         size_t byte_count, CUstream stream, bool is_asked)
{
    CUresult status = check_source(src_host, byte_count, stream);
    if (!status)
        status = ath_cuda_deferred_copies_await(src_host, byte_count);
    for (size_t done = 0, part; !status && done < byte_count; done += part) {
        struct ath_cuda_exchange exchange;
        struct ath_cuda_pointer_search search = search_of(src_host, done, byte_count, dst_offset);
        part = chunk_of(byte_count - done);
        status = ath_cuda_pointer_search_end(&search);
        if (!status)
            status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemcpyHtoAAsync_v2);
        if (status)
            break;
        struct ath_cuda_wire_memcpy_hto_a_async_v2_builder call =
            ath_cuda_wire_call_init_memcpy_hto_a_async_v2(exchange.call);
        ath_cuda_wire_memcpy_hto_a_async_v2_set_dst_array(
            call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_ARRAY, (uintptr_t)dst_array));
        ath_cuda_wire_memcpy_hto_a_async_v2_set_dst_offset(call, dst_offset + done);
        ath_cuda_wire_memcpy_hto_a_async_v2_set_source(call, chunk_at(src_host, done, part));
        ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
        ath_cuda_wire_memcpy_hto_a_async_v2_set_stream(
            call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
        status =
            ath_cuda_end(&exchange, is_asked ? ath_cuda_ask(&exchange) : ath_cuda_post(&exchange));
    }
    if (!is_captured(stream, status))
        return status;
    CUDA_MEMCPY3D_PEER row = ath_cuda_box_from_host(src_host, byte_count);
    row.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    row.dstArray = dst_array;
    row.dstXInBytes = dst_offset;
    return ath_cuda_captured_copy(&row, stream);
}

CUresult ath_cuda_by_hand_cuMemcpyHtoDAsync_v2(CUdeviceptr dst_device, const void *src_host,
                                               size_t byte_count, CUstream stream)
{
    if (ath_cuda_host_is_copied_here(dst_device, byte_count))
        return ath_cuda_by_hand_cuMemcpyAsync(dst_device, (uintptr_t)src_host, byte_count, stream);
    if (ath_cuda_host_reaches(src_host, byte_count))
        return ath_cuda_direct_to(dst_device, src_host, byte_count, stream);
    return to_memory(dst_device, src_host, byte_count, stream, ath_cuda_is_any_capturing());
}

/*
 * The copy runs on the legacy default stream, and its answer reports the error. A copy in several
 * parts waits once at the end, and this wait reports the error. The parts are not asked ahead of
 * their answers: the server answers in the order of the calls, and would wait for this thread to
 * read while this thread still writes.
 */
CUresult ath_cuda_by_hand_cuMemcpyHtoD_v2(CUdeviceptr dst_device, const void *src_host,
                                          size_t byte_count)
{
    if (ath_cuda_host_is_copied_here(dst_device, byte_count))
        return ath_cuda_by_hand_cuMemcpy(dst_device, (uintptr_t)src_host, byte_count);
    bool is_asked = ath_cuda_is_any_capturing();
    if (ath_cuda_host_reaches(src_host, byte_count))
        return then_wait(copy_directly_to(dst_device, src_host, byte_count, NULL, is_asked),
                         is_asked);
    is_asked |= byte_count <= CHUNK || ath_is_off(ATH_SWITCH_AHEAD);
    return then_wait(to_memory(dst_device, src_host, byte_count, NULL, is_asked), is_asked);
}

CUresult ath_cuda_by_hand_cuMemcpyHtoAAsync_v2(CUarray dst_array, size_t dst_offset,
                                               const void *src_host, size_t byte_count,
                                               CUstream stream)
{
    return to_array(dst_array, dst_offset, src_host, byte_count, stream,
                    ath_cuda_is_any_capturing());
}

CUresult ath_cuda_by_hand_cuMemcpyHtoA_v2(CUarray dst_array, size_t dst_offset,
                                          const void *src_host, size_t byte_count)
{
    return to_array(dst_array, dst_offset, src_host, byte_count, NULL, true);
}

/* ---- from the GPU ---- */

/* Copies the data of an answer, which must have the requested length. */
static CUresult take_data(void *to, size_t length, struct ath_wire_bytes data)
{
    if (data.length != length)
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    ath_cuda_copy_widely(to, data.data, length);
    return CUDA_SUCCESS;
}

/* Data of an answer that helpers copy to the program's memory while the next answer comes. */
struct landing {
    uint8_t *to;
    const uint8_t *from;
    bool is_begun;
};

static void land_share(void *job, size_t begin, size_t end)
{
    const struct landing *landing = job;
    memcpy(landing->to + begin, landing->from + begin, end - begin);
}

static void land(struct landing *landing)
{
    if (landing->is_begun)
        ath_team_finish(ath_cuda_helpers());
    landing->is_begun = false;
}

/* As take_data(). If helpers copy, the thread keeps the answer aside until they have ended. */
static CUresult land_data(struct landing *landing, struct ath_cuda_thread *thread, void *to,
                          size_t length, struct ath_wire_bytes data)
{
    *landing = (struct landing){ to, data.data, false };
    if (data.length == length)
        landing->is_begun = ath_team_begin(ath_cuda_helpers(), length, land_share, landing);
    if (!landing->is_begun)
        return take_data(to, length, data);
    const struct ath_frame answer = thread->answer;
    thread->answer = thread->landing;
    thread->landing = answer;
    return CUDA_SUCCESS;
}

/* A part of a copy from the GPU that was requested. */
struct asked {
    struct ath_cuda_exchange exchange;
    size_t offset, length;
};

static CUresult ask_for(struct asked *asked, CUdeviceptr src_device, CUstream stream)
{
    struct ath_cuda_exchange *exchange = &asked->exchange;
    CUresult status = ath_cuda_begin(exchange, ATH_CUDA_METHOD_cuMemcpyDtoHAsync_v2);
    if (status)
        return status;
    struct ath_cuda_wire_memcpy_dto_h_async_v2_builder call =
        ath_cuda_wire_call_init_memcpy_dto_h_async_v2(exchange->call);
    ath_cuda_wire_memcpy_dto_h_async_v2_set_src_device(
        call, ath_cuda_to_wire(&exchange->side, ATH_CUDA_KIND_ADDRESS, src_device + asked->offset));
    ath_cuda_wire_memcpy_dto_h_async_v2_set_byte_count(call, asked->length);
    ath_cuda_check_handle(exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
    ath_cuda_wire_memcpy_dto_h_async_v2_set_stream(
        call, ath_cuda_to_wire(&exchange->side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    status = ath_cuda_ask_begin(exchange);
    return status ? ath_cuda_end(exchange, status) : CUDA_SUCCESS;
}

static CUresult take_asked(struct asked *asked, void *dst_host, CUstream stream,
                           struct landing *landing, bool is_last)
{
    struct ath_cuda_exchange *exchange = &asked->exchange;
    void *to = (uint8_t *)dst_host + asked->offset;
    CUresult status = ath_cuda_ask_end(exchange);
    land(landing);
    if (!status) {
        struct ath_wire_bytes data = ath_cuda_wire_memcpy_dto_h_async_v2_result_data(
            ath_cuda_wire_answer_memcpy_dto_h_async_v2(exchange->answer));
        status = is_last ? take_data(to, asked->length, data)
                         : land_data(landing, exchange->thread, to, asked->length, data);
    }
    if (!status)
        ath_cuda_stream_rests(exchange, stream);
    return ath_cuda_end(exchange, status);
}

/* While one part travels, the server fetches the next ones. */
static CUresult from_memory(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                            CUstream stream)
{
    enum { AHEAD = 3 };
    struct asked asked[AHEAD];
    struct landing landing = { .is_begun = false };
    size_t begun = 0, offset = 0, ahead = ath_is_off(ATH_SWITCH_AHEAD) ? 1 : AHEAD;
    CUresult status = check_target(dst_host, byte_count, stream);
    if (!status)
        status = ath_cuda_deferred_copies_await(dst_host, byte_count);
    if (!status && ath_cuda_staging_take(byte_count))
        return ath_cuda_staged_from(dst_host, src_device, byte_count, stream);
    for (size_t ended = 0; (!status && offset < byte_count) || ended < begun; ended++) {
        while (!status && offset < byte_count && begun < ended + ahead) {
            struct asked *next = &asked[begun % AHEAD];
            next->offset = offset;
            next->length = chunk_of(byte_count - offset);
            status = ask_for(next, src_device, stream);
            offset += next->length;
            begun += !status;
        }
        if (ended < begun) {
            CUresult taken =
                take_asked(&asked[ended % AHEAD], dst_host, stream, &landing, ended + 1 == begun);
            status = status ? status : taken;
        }
    }
    land(&landing);
    if (!is_captured(stream, status))
        return status;
    CUDA_MEMCPY3D_PEER row = ath_cuda_box_to_host(dst_host, byte_count);
    row.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    row.srcDevice = src_device;
    return ath_cuda_captured_copy(&row, stream);
}

CUresult ath_cuda_by_hand_cuMemcpyDtoHAsync_v2(void *dst_host, CUdeviceptr src_device,
                                               size_t byte_count, CUstream stream)
{
    if (ath_cuda_host_is_copied_here(src_device, byte_count))
        return ath_cuda_by_hand_cuMemcpyAsync((uintptr_t)dst_host, src_device, byte_count, stream);
    if (ath_cuda_host_reaches(dst_host, byte_count))
        return ath_cuda_direct_from(dst_host, src_device, byte_count, stream);
    CUresult status;
    if (ath_cuda_deferred_copy(dst_host, src_device, byte_count, stream, &status))
        return status;
    return from_memory(dst_host, src_device, byte_count, stream);
}

CUresult ath_cuda_by_hand_cuMemcpyAtoHAsync_v2(void *dst_host, CUarray src_array, size_t src_offset,
                                               size_t byte_count, CUstream stream)
{
    CUresult status = check_target(dst_host, byte_count, stream);
    if (!status)
        status = ath_cuda_deferred_copies_await(dst_host, byte_count);
    for (size_t done = 0, part; !status && done < byte_count; done += part) {
        struct ath_cuda_exchange exchange;
        part = chunk_of(byte_count - done);
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuMemcpyAtoHAsync_v2);
        if (status)
            break;
        struct ath_cuda_wire_memcpy_ato_h_async_v2_builder call =
            ath_cuda_wire_call_init_memcpy_ato_h_async_v2(exchange.call);
        ath_cuda_wire_memcpy_ato_h_async_v2_set_src_array(
            call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_ARRAY, (uintptr_t)src_array));
        ath_cuda_wire_memcpy_ato_h_async_v2_set_src_offset(call, src_offset + done);
        ath_cuda_wire_memcpy_ato_h_async_v2_set_byte_count(call, part);
        ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
        ath_cuda_wire_memcpy_ato_h_async_v2_set_stream(
            call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
        status = ath_cuda_ask(&exchange);
        if (!status)
            status = take_data((uint8_t *)dst_host + done, part,
                               ath_cuda_wire_memcpy_ato_h_async_v2_result_data(
                                   ath_cuda_wire_answer_memcpy_ato_h_async_v2(exchange.answer)));
        status = ath_cuda_end(&exchange, status);
    }
    if (!is_captured(stream, status))
        return status;
    CUDA_MEMCPY3D_PEER row = ath_cuda_box_to_host(dst_host, byte_count);
    row.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    row.srcArray = src_array;
    row.srcXInBytes = src_offset;
    return ath_cuda_captured_copy(&row, stream);
}

CUresult ath_cuda_by_hand_cuMemcpyDtoH_v2(void *dst_host, CUdeviceptr src_device, size_t byte_count)
{
    if (ath_cuda_host_is_copied_here(src_device, byte_count))
        return ath_cuda_by_hand_cuMemcpy((uintptr_t)dst_host, src_device, byte_count);
    if (!ath_cuda_host_reaches(dst_host, byte_count))
        return from_memory(dst_host, src_device, byte_count, NULL);
    bool is_asked = ath_cuda_is_any_capturing();
    return then_wait(copy_directly_from(dst_host, src_device, byte_count, NULL, is_asked),
                     is_asked);
}

CUresult ath_cuda_by_hand_cuMemcpyAtoH_v2(void *dst_host, CUarray src_array, size_t src_offset,
                                          size_t byte_count)
{
    return ath_cuda_by_hand_cuMemcpyAtoHAsync_v2(dst_host, src_array, src_offset, byte_count, NULL);
}
