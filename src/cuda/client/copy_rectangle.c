/* Copies of two and three dimensions, all as CUDA_MEMCPY3D_PEER. Rows of the program's memory are
 * packed one after another and travel in messages. Copies of memory that the server reaches itself
 * are left to the driver. */
#include "config.h"

#include "cuda/client/copy_rectangle.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cuda/client/allocate.h"
#include "cuda/client/captured_copy.h"
#include "cuda/client/client.h"
#include "cuda/client/deferred_copy.h"
#include "cuda/client/mirror.h"
#include "cuda/client/program_memory.h"
#include "cuda/common/copy_box.h"
#include "proto/cuda-client.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire.h"

enum { CHUNK = 8 * 1024 * 1024, ROW_UNIT = 4096 };

CUDA_MEMCPY3D ath_cuda_box_to_3d(const CUDA_MEMCPY3D_PEER *copy)
{
    CUDA_MEMCPY3D made;
    memcpy(&made, copy, sizeof made);
    made.reserved0 = NULL;
    made.reserved1 = NULL;
    return made;
}

/* ---- the program's side ---- */

static size_t or_else(size_t value, size_t other)
{
    return value ? value : other;
}

static size_t extent_of(const struct ath_cuda_rows *rows, const CUDA_MEMCPY3D_PEER *copy)
{
    return (copy->Depth - 1) * rows->slice + (copy->Height - 1) * rows->pitch + copy->WidthInBytes;
}

static size_t bytes_of(const CUDA_MEMCPY3D_PEER *copy)
{
    return copy->WidthInBytes * copy->Height * copy->Depth;
}

/* Turns a unified address into a host or a device address. */
static void settle_source(CUDA_MEMCPY3D_PEER *copy)
{
    if (copy->srcMemoryType != CU_MEMORYTYPE_UNIFIED)
        return;
    copy->srcMemoryType = CU_MEMORYTYPE_DEVICE;
    if (ath_cuda_is_program_memory(copy->srcDevice, 1)) {
        copy->srcMemoryType = CU_MEMORYTYPE_HOST;
        copy->srcHost = (const void *)(uintptr_t)copy->srcDevice;
    }
}

static void settle_target(CUDA_MEMCPY3D_PEER *copy)
{
    if (copy->dstMemoryType != CU_MEMORYTYPE_UNIFIED)
        return;
    copy->dstMemoryType = CU_MEMORYTYPE_DEVICE;
    if (ath_cuda_is_program_memory(copy->dstDevice, 1)) {
        copy->dstMemoryType = CU_MEMORYTYPE_HOST;
        copy->dstHost = (void *)(uintptr_t)copy->dstDevice;
    }
}

void ath_cuda_settle_ends(CUDA_MEMCPY3D_PEER *copy)
{
    settle_source(copy);
    settle_target(copy);
}

/* Returns whether the rows must travel in messages. */
static bool source_travels(const CUDA_MEMCPY3D_PEER *copy)
{
    if (copy->srcMemoryType != CU_MEMORYTYPE_HOST)
        return false;
    struct ath_cuda_rows rows = ath_cuda_box_rows(copy, true);
    return !ath_cuda_host_reaches(rows.first, extent_of(&rows, copy));
}

static bool target_travels(const CUDA_MEMCPY3D_PEER *copy)
{
    if (copy->dstMemoryType != CU_MEMORYTYPE_HOST)
        return false;
    struct ath_cuda_rows rows = ath_cuda_box_rows(copy, false);
    return !ath_cuda_host_reaches(rows.first, extent_of(&rows, copy));
}

/* Returns whether the program may read and write the memory of its own that a copy names. */
static bool is_there(const CUDA_MEMCPY3D_PEER *copy, bool is_given, bool is_taken)
{
    struct ath_cuda_rows from = ath_cuda_box_rows(copy, true);
    struct ath_cuda_rows to = ath_cuda_box_rows(copy, false);
    return (!is_given || ath_cuda_can_read(from.first, extent_of(&from, copy))) &&
           (!is_taken || ath_cuda_can_write(to.first, extent_of(&to, copy)));
}

/* Waits for earlier copies to rows that the client writes. */
static CUresult await_target(const CUDA_MEMCPY3D_PEER *copy)
{
    struct ath_cuda_rows to = ath_cuda_box_rows(copy, false);
    return copy->dstMemoryType == CU_MEMORYTYPE_HOST
               ? ath_cuda_deferred_copies_await(to.first, extent_of(&to, copy))
               : CUDA_SUCCESS;
}

static CUresult bring_source(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    struct ath_cuda_rows from = ath_cuda_box_rows(copy, true);
    return ath_cuda_host_bring(from.first, extent_of(&from, copy), stream);
}

/* ---- what travels ---- */

static CUresult gather_rows(const CUDA_MEMCPY3D_PEER *copy, uint8_t **out)
{
    CUDA_MEMCPY3D_PEER packed = *copy;
    *out = ath_cuda_allocate(bytes_of(copy));
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    ath_cuda_box_pack_target(&packed, *out);
    ath_cuda_box_move(&packed);
    return CUDA_SUCCESS;
}

static CUresult scatter_rows(const CUDA_MEMCPY3D_PEER *copy, struct ath_wire_bytes data)
{
    CUDA_MEMCPY3D_PEER packed = *copy;
    if (data.length != bytes_of(copy))
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    ath_cuda_box_pack_source(&packed, data.data);
    ath_cuda_box_move(&packed);
    return CUDA_SUCCESS;
}

/* Searches gathered rows for pointers, which are aligned where the rows go to. */
static CUresult open_pointers_in_rows(const CUDA_MEMCPY3D_PEER *copy, const uint8_t *bytes)
{
    const bool is_array = copy->dstMemoryType == CU_MEMORYTYPE_ARRAY;
    const struct ath_cuda_rows rows = ath_cuda_box_rows(copy, false);
    CUresult status = CUDA_SUCCESS;
    for (size_t z = 0; z < copy->Depth; z++)
        for (size_t y = 0; !status && y < copy->Height; y++, bytes += copy->WidthInBytes) {
            uint64_t to = is_array ? copy->dstXInBytes
                                   : copy->dstDevice + (uintptr_t)rows.first + z * rows.slice +
                                         y * rows.pitch;
            status = ath_cuda_host_open_pointers(bytes, copy->WidthInBytes, to);
        }
    return status;
}

/* Both ends are the program's memory. */
static CUresult copy_box_here(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    CUresult status = ath_cuda_do_cuStreamSynchronize(stream);
    if (!status)
        ath_cuda_box_move(copy);
    return status;
}

/* is_asked: the copy is complete, or its error known, on return. A target that travels is always
 * waited for. */
static CUresult send_one(const CUDA_MEMCPY3D_PEER *copy, CUstream stream, bool is_asked)
{
    ath_auto_free uint8_t *bytes = NULL;
    struct ath_cuda_exchange exchange;
    bool is_given = source_travels(copy), is_taken = target_travels(copy);
    CUDA_MEMCPY3D_PEER other = *copy;
    if (is_given)
        other.srcHost = NULL;
    if (is_taken)
        other.dstHost = NULL;
    CUresult status = is_given ? gather_rows(copy, &bytes) : await_target(copy);
    if (!status && is_given)
        status = open_pointers_in_rows(copy, bytes);
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_athHostCopy);
    if (status)
        return status;
    struct ath_cuda_wire_host_copy_builder call = ath_cuda_wire_call_init_host_copy(exchange.call);
    ath_cuda_put_memcpy3d_peer(&exchange.side, ath_cuda_wire_host_copy_init_copy(call), &other);
    ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
    ath_cuda_wire_host_copy_set_stream(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    if (is_given)
        ath_cuda_wire_host_copy_set_source(call, (struct ath_wire_bytes){ bytes, bytes_of(copy) });
    status = is_taken || is_asked ? ath_cuda_ask(&exchange) : ath_cuda_post(&exchange);
    if (!status && is_taken)
        status = scatter_rows(copy, ath_cuda_wire_host_copy_result_data(
                                        ath_cuda_wire_answer_host_copy(exchange.answer)));
    return ath_cuda_end(&exchange, status);
}

/* Halves a copy that is too large for one message, until the parts fit. */
static CUresult send_in_parts(CUDA_MEMCPY3D_PEER copy, CUstream stream, bool is_asked)
{
    CUresult status = CUDA_SUCCESS;
    while (!status && bytes_of(&copy) > CHUNK) {
        CUDA_MEMCPY3D_PEER part = copy;
        if (copy.Depth > 1) {
            part.Depth = copy.Depth / 2;
            copy.srcZ += part.Depth;
            copy.dstZ += part.Depth;
            copy.Depth -= part.Depth;
        } else if (copy.Height > 1) {
            part.Height = copy.Height / 2;
            copy.srcY += part.Height;
            copy.dstY += part.Height;
            copy.Height -= part.Height;
        } else {
            part.WidthInBytes = copy.WidthInBytes / 2 / ROW_UNIT * ROW_UNIT;
            copy.srcXInBytes += part.WidthInBytes;
            copy.dstXInBytes += part.WidthInBytes;
            copy.WidthInBytes -= part.WidthInBytes;
        }
        status = send_in_parts(part, stream, is_asked);
    }
    return status ? status : send_one(&copy, stream, is_asked);
}

/* ---- a copy ---- */

static bool is_sane(const CUDA_MEMCPY3D_PEER *copy)
{
    size_t bytes;
    bool has_source = copy->srcMemoryType != CU_MEMORYTYPE_HOST || copy->srcHost;
    bool has_target = copy->dstMemoryType != CU_MEMORYTYPE_HOST || copy->dstHost;
    return has_source && has_target &&
           !__builtin_mul_overflow(copy->WidthInBytes, copy->Height, &bytes) &&
           !__builtin_mul_overflow(bytes, copy->Depth, &bytes);
}

/* A pitch or height of 0 means the copy's own. It is made explicit here, because a part of the copy
 * has less. */
static void fill_in_pitches(CUDA_MEMCPY3D_PEER *copy)
{
    copy->srcPitch = or_else(copy->srcPitch, copy->srcXInBytes + copy->WidthInBytes);
    copy->dstPitch = or_else(copy->dstPitch, copy->dstXInBytes + copy->WidthInBytes);
    copy->srcHeight = or_else(copy->srcHeight, copy->srcY + copy->Height);
    copy->dstHeight = or_else(copy->dstHeight, copy->dstY + copy->Height);
}

/* Rows of the program's memory must not overlap. The driver cannot check what travels in
 * messages. */
static bool has_sane_rows(const CUDA_MEMCPY3D_PEER *copy)
{
    bool is_one_row = copy->Height == 1 && copy->Depth == 1;
    bool is_source = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
    bool is_target = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
    return is_one_row ||
           ((!is_source || copy->srcPitch >= copy->srcXInBytes + copy->WidthInBytes) &&
            (!is_target || copy->dstPitch >= copy->dstXInBytes + copy->WidthInBytes));
}

static CUresult leave_to_driver(const CUDA_MEMCPY3D_PEER *copy, CUstream stream, bool is_asked)
{
    const CUDA_MEMCPY3D plain = ath_cuda_box_to_3d(copy);
    if (copy->srcContext || copy->dstContext)
        return is_asked ? ath_cuda_do_cuMemcpy3DPeer(copy)
                        : ath_cuda_do_cuMemcpy3DPeerAsync(copy, stream);
    return is_asked ? ath_cuda_do_cuMemcpy3D_v2(&plain)
                    : ath_cuda_do_cuMemcpy3DAsync_v2(&plain, stream);
}

static bool is_in_mirror(const CUDA_MEMCPY3D_PEER *copy)
{
    return (copy->dstMemoryType == CU_MEMORYTYPE_DEVICE &&
            ath_cuda_host_is_mirror(copy->dstDevice)) ||
           (copy->dstMemoryType == CU_MEMORYTYPE_HOST &&
            ath_cuda_host_is_mirror((uintptr_t)copy->dstHost));
}

CUresult ath_cuda_copy_box(CUDA_MEMCPY3D_PEER copy, CUstream stream, bool is_asked)
{
    if (!is_sane(&copy))
        return CUDA_ERROR_INVALID_VALUE;
    if (!bytes_of(&copy))
        return ath_cuda_ready_on(ATH_CUDA_METHOD_athHostCopy, stream);
    ath_cuda_settle_ends(&copy);
    fill_in_pitches(&copy);
    if (!has_sane_rows(&copy))
        return CUDA_ERROR_INVALID_VALUE;
    if (copy.srcMemoryType != CU_MEMORYTYPE_HOST)
        copy.srcHost = NULL;
    if (copy.dstMemoryType != CU_MEMORYTYPE_HOST)
        copy.dstHost = NULL;
    bool is_given = source_travels(&copy), is_taken = target_travels(&copy);
    if (!is_there(&copy, is_given, is_taken))
        return CUDA_ERROR_INVALID_VALUE;
    if ((is_given || is_taken) && ath_cuda_is_stream_capturing(stream))
        return ath_cuda_captured_copy(&copy, stream);
    if ((is_given || is_taken) && copy.srcMemoryType == copy.dstMemoryType)
        return copy_box_here(&copy, stream);
    CUresult status = is_given ? bring_source(&copy, stream) : CUDA_SUCCESS;
    if (!status)
        status = is_given || is_taken ? send_in_parts(copy, stream, is_asked)
                                      : leave_to_driver(&copy, stream, is_asked);
    return status || !is_asked || !is_in_mirror(&copy) ? status
                                                       : ath_cuda_do_cuStreamSynchronize(stream);
}

CUresult ath_cuda_by_hand_cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
    return copy ? ath_cuda_copy_box(ath_cuda_box_of_2d(copy), NULL, true)
                : CUDA_ERROR_INVALID_VALUE;
}

CUresult ath_cuda_by_hand_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
    bool is_own = copy && copy->srcMemoryType != CU_MEMORYTYPE_HOST &&
                  copy->dstMemoryType != CU_MEMORYTYPE_HOST &&
                  copy->srcMemoryType != CU_MEMORYTYPE_UNIFIED &&
                  copy->dstMemoryType != CU_MEMORYTYPE_UNIFIED;
    if (!is_own)
        return ath_cuda_by_hand_cuMemcpy2D_v2(copy);
    CUDA_MEMCPY2D used = *copy;
    used.srcHost = used.dstHost = NULL; /* unused members may have any value */
    return ath_cuda_do_cuMemcpy2DUnaligned_v2(&used);
}

CUresult ath_cuda_by_hand_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    return copy ? ath_cuda_copy_box(ath_cuda_box_of_2d(copy), stream, false)
                : CUDA_ERROR_INVALID_VALUE;
}

CUresult ath_cuda_by_hand_cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
    return copy ? ath_cuda_copy_box(ath_cuda_box_of_3d(copy), NULL, true)
                : CUDA_ERROR_INVALID_VALUE;
}

CUresult ath_cuda_by_hand_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    return copy ? ath_cuda_copy_box(ath_cuda_box_of_3d(copy), stream, false)
                : CUDA_ERROR_INVALID_VALUE;
}

CUresult ath_cuda_by_hand_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy)
{
    return copy ? ath_cuda_copy_box(*copy, NULL, true) : CUDA_ERROR_INVALID_VALUE;
}

CUresult ath_cuda_by_hand_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    return copy ? ath_cuda_copy_box(*copy, stream, false) : CUDA_ERROR_INVALID_VALUE;
}
