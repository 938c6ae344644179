/* The server's side of copies from and to the program's memory. */
#include "config.h"

#include <string.h>

#include "cuda/common/copy_box.h"
#include "cuda/server/call_rooms.h"
#include "cuda/server/copy_source.h"
#include "cuda/server/deferred_copy.h"
#include "cuda/server/regions.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire.h"

/* ---- copies ---- */

/* Returns whether a stream captures, with the status. A captured copy would have the graph read and
 * write this call's memory later. If the stream is the legacy stream beside a capture, the copy
 * itself must be refused by the driver, which breaks the capture; asking does not break it. */
static bool is_capturing(struct ath_cuda_served *served, CUstream stream)
{
    CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!served->driver->cuStreamIsCapturing)
        return false;
    served->status = served->driver->cuStreamIsCapturing(stream, &capture);
    if (served->status == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        served->status = CUDA_SUCCESS;
    if (!served->status && capture != CU_STREAM_CAPTURE_STATUS_NONE)
        served->status = CUDA_ERROR_NOT_SUPPORTED;
    return served->status;
}

/* Waits for a copy into this call's memory. */
static void wait_for(struct ath_cuda_served *served, CUstream stream)
{
    if (!served->status)
        served->status = served->driver->cuStreamSynchronize(stream);
}

/* Returns whether the client waits for a copy in the legacy stream. Such a copy is made by a
 * function that waits: while another stream captures, driver 580 may forbid a wait for the legacy
 * stream, but not a copy that waits. */
static bool is_waited(const struct ath_cuda_served *served, CUstream stream)
{
    return !stream && ath_cuda_wire_call_is_asked(served->call);
}

/* Returns where the client's host memory is in this process. Returns NULL and sets the status if
 * the address is no such memory. */
static void *reached(struct ath_cuda_served *served, uint64_t host, uint64_t bytes, bool is_target)
{
    void *here = ath_cuda_region_at(served->session, host, bytes, is_target);
    if (!here)
        served->status = CUDA_ERROR_INVALID_VALUE;
    return here;
}

static void copy_to_memory(struct ath_cuda_served *served, CUdeviceptr to, const void *from,
                           size_t bytes, CUstream stream)
{
    served->status = is_waited(served, stream)
                         ? served->driver->cuMemcpyHtoD_v2(to, from, bytes)
                         : served->driver->cuMemcpyHtoDAsync_v2(to, from, bytes, stream);
}

void ath_cuda_serve_cuMemcpyHtoDAsync_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemcpyHtoD_v2)
    NEEDS(served, cuMemcpyHtoDAsync_v2)
    struct ath_cuda_wire_memcpy_hto_d_async_v2 call =
        ath_cuda_wire_call_memcpy_hto_d_async_v2(served->call);
    CUdeviceptr target = ath_cuda_to_own(&served->side, ATH_CUDA_KIND_ADDRESS,
                                         ath_cuda_wire_memcpy_hto_d_async_v2_dst_device(call));
    CUstream stream =
        ath_cuda_stream_of(&served->side, ath_cuda_wire_memcpy_hto_d_async_v2_stream(call));
    struct ath_wire_bytes source = ath_cuda_wire_memcpy_hto_d_async_v2_source(call);
    uint64_t host = ath_cuda_wire_memcpy_hto_d_async_v2_host(call);
    if (host) {
        uint64_t bytes = ath_cuda_wire_memcpy_hto_d_async_v2_bytes(call);
        const void *here = ath_cuda_refused(served) ? NULL : reached(served, host, bytes, false);
        if (here)
            copy_to_memory(served, target, here, (size_t)bytes, stream);
        return;
    }
    struct ath_copy_source from = { .bytes = NULL };
    if (!ath_cuda_refused(served) && !is_capturing(served, stream))
        from = ath_copy_source_take(served, source, is_waited(served, stream));
    if (from.bytes)
        copy_to_memory(served, target, from.bytes, source.length, stream);
    ath_copy_source_leave(served, &from, stream);
}

void ath_cuda_serve_cuMemcpyHtoAAsync_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemcpyHtoA_v2)
    NEEDS(served, cuMemcpyHtoAAsync_v2)
    struct ath_cuda_wire_memcpy_hto_a_async_v2 call =
        ath_cuda_wire_call_memcpy_hto_a_async_v2(served->call);
    CUarray target = (CUarray)(uintptr_t)ath_cuda_to_own(
        &served->side, ATH_CUDA_KIND_ARRAY, ath_cuda_wire_memcpy_hto_a_async_v2_dst_array(call));
    CUstream stream =
        ath_cuda_stream_of(&served->side, ath_cuda_wire_memcpy_hto_a_async_v2_stream(call));
    struct ath_wire_bytes source = ath_cuda_wire_memcpy_hto_a_async_v2_source(call);
    struct ath_copy_source from = { .bytes = NULL };
    if (!ath_cuda_refused(served) && !is_capturing(served, stream))
        from = ath_copy_source_take(served, source, is_waited(served, stream));
    size_t offset = ath_cuda_wire_memcpy_hto_a_async_v2_dst_offset(call);
    if (from.bytes)
        served->status =
            is_waited(served, stream)
                ? served->driver->cuMemcpyHtoA_v2(target, offset, from.bytes, source.length)
                : served->driver->cuMemcpyHtoAAsync_v2(target, offset, from.bytes, source.length,
                                                       stream);
    ath_copy_source_leave(served, &from, stream);
}

static void copy_from_memory(struct ath_cuda_served *served, void *to, CUdeviceptr from,
                             size_t bytes, CUstream stream)
{
    served->status = is_waited(served, stream)
                         ? served->driver->cuMemcpyDtoH_v2(to, from, bytes)
                         : served->driver->cuMemcpyDtoHAsync_v2(to, from, bytes, stream);
}

void ath_cuda_serve_cuMemcpyDtoHAsync_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemcpyDtoH_v2)
    NEEDS(served, cuMemcpyDtoHAsync_v2)
    NEEDS(served, cuStreamSynchronize)
    struct ath_cuda_wire_memcpy_dto_h_async_v2 call =
        ath_cuda_wire_call_memcpy_dto_h_async_v2(served->call);
    CUdeviceptr source = ath_cuda_to_own(&served->side, ATH_CUDA_KIND_ADDRESS,
                                         ath_cuda_wire_memcpy_dto_h_async_v2_src_device(call));
    CUstream stream =
        ath_cuda_stream_of(&served->side, ath_cuda_wire_memcpy_dto_h_async_v2_stream(call));
    uint64_t bytes = ath_cuda_wire_memcpy_dto_h_async_v2_byte_count(call);
    uint64_t host = ath_cuda_wire_memcpy_dto_h_async_v2_host(call);
    if (host) {
        if (ath_cuda_wire_memcpy_dto_h_async_v2_deferred(call)) {
            if (!ath_cuda_refused(served) && !is_capturing(served, stream))
                ath_cuda_defer_copy(served, host, source, bytes, stream);
            return;
        }
        void *here = ath_cuda_refused(served) ? NULL : reached(served, host, bytes, true);
        if (here)
            copy_from_memory(served, here, source, (size_t)bytes, stream);
        return;
    }
    void *room = ath_cuda_answer_room(served, bytes);
    if (ath_cuda_refused(served) || is_capturing(served, stream))
        return;
    copy_from_memory(served, room, source, (size_t)bytes, stream);
    if (!is_waited(served, stream))
        wait_for(served, stream);
    if (served->status)
        ath_call_room_leave(room, served, stream);
    else
        ath_cuda_wire_memcpy_dto_h_async_v2_result_set_data(
            ath_cuda_wire_answer_init_memcpy_dto_h_async_v2(served->answer),
            (struct ath_wire_bytes){ room, (size_t)bytes });
}

/* Converts an address that may be host memory of both sides. Any other address must be the GPU's,
 * or the client could read and write the server's memory. Returns 0 if it is neither, or memory of
 * a graph, which the driver does not tell before the graph runs. */
static CUdeviceptr known(const struct ath_cuda_served *served, CUdeviceptr address, uint64_t bytes,
                         bool is_target)
{
    CUmemorytype type = CU_MEMORYTYPE_HOST;
    const void *here = ath_cuda_region_at(served->session, address, bytes, is_target);
    if (here)
        return (uintptr_t)here;
    if (ath_cuda_region_is_gpus(served->session, address, bytes)) {
        ath_cuda_region_open_at(served->session, address);
        return address;
    }
    if (served->driver->cuPointerGetAttribute &&
        !served->driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) &&
        type != CU_MEMORYTYPE_HOST)
        return address;
    return 0;
}

static CUdeviceptr safe(struct ath_cuda_served *served, CUdeviceptr address, uint64_t bytes,
                        bool is_target)
{
    CUdeviceptr found = known(served, address, bytes, is_target);
    if (!found)
        served->status = CUDA_ERROR_INVALID_VALUE;
    return found;
}

/* At least one end is unknown, so it must be the GPU's: the driver refuses other memory there. */
static void copy_unknown(struct ath_cuda_served *served, CUdeviceptr to, CUdeviceptr from,
                         size_t bytes, CUstream stream)
{
    const struct ath_cuda_driver *driver = served->driver;
    void *to_host = ath_cuda_region_at(served->session, to, bytes, true);
    const void *from_host = ath_cuda_region_at(served->session, from, bytes, false);
    served->status = to_host     ? driver->cuMemcpyDtoHAsync_v2(to_host, from, bytes, stream)
                     : from_host ? driver->cuMemcpyHtoDAsync_v2(to, from_host, bytes, stream)
                                 : driver->cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

void ath_cuda_serve_cuMemcpyAsync(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemcpyAsync)
    NEEDS(served, cuMemcpyDtoHAsync_v2)
    NEEDS(served, cuMemcpyHtoDAsync_v2)
    NEEDS(served, cuMemcpyDtoDAsync_v2)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_memcpy_async call = ath_cuda_wire_call_memcpy_async(served->call);
    CUdeviceptr to = ath_cuda_wire_memcpy_async_dst(call);
    CUdeviceptr from = ath_cuda_wire_memcpy_async_src(call);
    uint64_t bytes = ath_cuda_wire_memcpy_async_byte_count(call);
    CUstream stream = ath_cuda_stream_of(side, ath_cuda_wire_memcpy_async_stream(call));
    if (ath_cuda_refused(served))
        return;
    CUdeviceptr known_to = known(served, to, bytes, true);
    CUdeviceptr known_from = known(served, from, bytes, false);
    if (known_to && known_from)
        served->status = served->driver->cuMemcpyAsync(known_to, known_from, (size_t)bytes, stream);
    else
        copy_unknown(served, to, from, (size_t)bytes, stream);
}

void ath_cuda_serve_cuMemcpyAtoHAsync_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemcpyAtoH_v2)
    NEEDS(served, cuMemcpyAtoHAsync_v2)
    NEEDS(served, cuStreamSynchronize)
    struct ath_cuda_wire_memcpy_ato_h_async_v2 call =
        ath_cuda_wire_call_memcpy_ato_h_async_v2(served->call);
    CUarray source = (CUarray)(uintptr_t)ath_cuda_to_own(
        &served->side, ATH_CUDA_KIND_ARRAY, ath_cuda_wire_memcpy_ato_h_async_v2_src_array(call));
    CUstream stream =
        ath_cuda_stream_of(&served->side, ath_cuda_wire_memcpy_ato_h_async_v2_stream(call));
    uint64_t bytes = ath_cuda_wire_memcpy_ato_h_async_v2_byte_count(call);
    void *room = ath_cuda_room(&served->side, bytes, 1);
    if (ath_cuda_refused(served) || is_capturing(served, stream))
        return;
    size_t offset = ath_cuda_wire_memcpy_ato_h_async_v2_src_offset(call);
    served->status =
        is_waited(served, stream)
            ? served->driver->cuMemcpyAtoH_v2(room, source, offset, (size_t)bytes)
            : served->driver->cuMemcpyAtoHAsync_v2(room, source, offset, (size_t)bytes, stream);
    if (!is_waited(served, stream))
        wait_for(served, stream);
    if (!served->status)
        ath_cuda_wire_memcpy_ato_h_async_v2_result_set_data(
            ath_cuda_wire_answer_init_memcpy_ato_h_async_v2(served->answer),
            (struct ath_wire_bytes){ room, (size_t)bytes });
}

/* ---- rectangles ---- */

/* One end of a copy: host memory of this process, or a unified address that may turn out to be
 * some. */
struct side {
    CUmemorytype type;
    const void *host;
    CUdeviceptr *unified;
    size_t x, y, z;
    size_t *pitch, *height; /* 0 means without gaps; filled in then */
    size_t width, rows, layers;
};

static bool add_steps(uint64_t *sum, uint64_t count, uint64_t step)
{
    uint64_t more;
    return !__builtin_mul_overflow(count, step, &more) && !__builtin_add_overflow(*sum, more, sum);
}

/* Computes the first byte that a copy reaches and how many follow. Returns false if the numbers
 * overflow. */
static bool reach_of(const struct side *side, uint64_t *out_begin, uint64_t *out_bytes)
{
    uint64_t slice;
    *out_begin = side->x;
    *out_bytes = side->width;
    return !__builtin_mul_overflow(*side->pitch, *side->height, &slice) &&
           add_steps(out_begin, side->y, *side->pitch) && add_steps(out_begin, side->z, slice) &&
           add_steps(out_bytes, side->rows - 1, *side->pitch) &&
           add_steps(out_bytes, side->layers - 1, slice);
}

static void check_side(struct ath_cuda_served *served, const struct side *side)
{
    uint64_t begin, bytes;
    bool is_host = side->type == CU_MEMORYTYPE_HOST;
    if ((!is_host && side->type != CU_MEMORYTYPE_UNIFIED) || !side->width || !side->rows ||
        !side->layers)
        return;
    if (!*side->pitch)
        *side->pitch = side->x + side->width;
    if (!*side->height)
        *side->height = side->y + side->rows;
    bool is_right = reach_of(side, &begin, &bytes);
    if (is_right && is_host) {
        is_right = ath_cuda_region_holds(served->session, (uintptr_t)side->host + begin, bytes);
    } else if (is_right) {
        CUdeviceptr address = safe(served, *side->unified + begin, bytes, true);
        *side->unified = address - begin;
        is_right = address;
    }
    if (!is_right)
        served->side.status = CUDA_ERROR_INVALID_VALUE;
}

static void check(struct ath_cuda_served *served, CUDA_MEMCPY3D_PEER *copy)
{
    const struct side source = { .type = copy->srcMemoryType,
                                 .host = copy->srcHost,
                                 .unified = &copy->srcDevice,
                                 .x = copy->srcXInBytes,
                                 .y = copy->srcY,
                                 .z = copy->srcZ,
                                 .pitch = &copy->srcPitch,
                                 .height = &copy->srcHeight,
                                 .width = copy->WidthInBytes,
                                 .rows = copy->Height,
                                 .layers = copy->Depth };
    const struct side target = { .type = copy->dstMemoryType,
                                 .host = copy->dstHost,
                                 .unified = &copy->dstDevice,
                                 .x = copy->dstXInBytes,
                                 .y = copy->dstY,
                                 .z = copy->dstZ,
                                 .pitch = &copy->dstPitch,
                                 .height = &copy->dstHeight,
                                 .width = copy->WidthInBytes,
                                 .rows = copy->Height,
                                 .layers = copy->Depth };
    check_side(served, &source);
    check_side(served, &target);
}

void ath_cuda_check_memcpy2d(struct ath_cuda_served *served, CUDA_MEMCPY2D *copy)
{
    CUDA_MEMCPY3D_PEER box = ath_cuda_box_of_2d(copy);
    check(served, &box);
    copy->srcDevice = box.srcDevice;
    copy->srcPitch = box.srcPitch;
    copy->dstDevice = box.dstDevice;
    copy->dstPitch = box.dstPitch;
}

void ath_cuda_check_memcpy3d(struct ath_cuda_served *served, CUDA_MEMCPY3D *copy)
{
    CUDA_MEMCPY3D_PEER box = ath_cuda_box_of_3d(copy);
    check(served, &box);
    memcpy(copy, &box, sizeof box);
}

void ath_cuda_check_memcpy3d_peer(struct ath_cuda_served *served, CUDA_MEMCPY3D_PEER *copy)
{
    check(served, copy);
}

/* ---- rectangles whose rows travel ---- */

static bool is_gpu(CUmemorytype type)
{
    return type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_ARRAY;
}

/* Computes the size of a copy. Returns false if it is more than a message holds. */
static bool measure(const CUDA_MEMCPY3D_PEER *copy, uint64_t *out)
{
    return !__builtin_mul_overflow(copy->WidthInBytes, copy->Height, out) &&
           !__builtin_mul_overflow(*out, copy->Depth, out) && *out <= ATH_CUDA_ROOM_MAX;
}

/* Makes the host memory of a copy this call's memory, without gaps between rows. */
static bool take_rows(struct ath_cuda_served *served, CUDA_MEMCPY3D_PEER *copy,
                      struct ath_wire_bytes source, uint64_t bytes, void **out_room,
                      struct ath_copy_source *out_source)
{
    bool is_given = copy->srcMemoryType == CU_MEMORYTYPE_HOST && !copy->srcHost;
    bool is_taken = copy->dstMemoryType == CU_MEMORYTYPE_HOST && !copy->dstHost;
    bool is_right = (is_given && source.length == bytes && is_gpu(copy->dstMemoryType)) ||
                    (is_taken && is_gpu(copy->srcMemoryType));
    if (!is_right)
        return false;
    if (is_given) {
        *out_source = ath_copy_source_take(served, source, false);
        copy->srcHost = out_source->bytes;
        copy->srcXInBytes = copy->srcY = copy->srcZ = copy->srcLOD = 0;
        copy->srcPitch = copy->WidthInBytes;
        copy->srcHeight = copy->Height;
        return copy->srcHost;
    }
    copy->dstHost = *out_room = ath_cuda_room(&served->side, bytes, 1);
    copy->dstXInBytes = copy->dstY = copy->dstZ = copy->dstLOD = 0;
    copy->dstPitch = copy->WidthInBytes;
    copy->dstHeight = copy->Height;
    return copy->dstHost;
}

static CUresult copy_rows(const struct ath_cuda_driver *driver, const CUDA_MEMCPY3D_PEER *copy,
                          CUstream stream)
{
    CUDA_MEMCPY3D plain;
    if (copy->srcContext || copy->dstContext)
        return driver->cuMemcpy3DPeerAsync(copy, stream);
    memcpy(&plain, copy, sizeof plain); /* it has reserved members in place of the contexts */
    return driver->cuMemcpy3DAsync_v2(&plain, stream);
}

void ath_cuda_serve_athHostCopy(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemcpy3DAsync_v2)
    NEEDS(served, cuMemcpy3DPeerAsync)
    NEEDS(served, cuStreamSynchronize)
    struct ath_cuda_wire_host_copy call = ath_cuda_wire_call_host_copy(served->call);
    CUstream stream = ath_cuda_stream_of(&served->side, ath_cuda_wire_host_copy_stream(call));
    CUDA_MEMCPY3D_PEER copy;
    uint64_t bytes;
    void *room = NULL;
    struct ath_copy_source source = { .bytes = NULL };
    ath_cuda_get_memcpy3d_peer(&served->side, &copy, ath_cuda_wire_host_copy_copy(call));
    if (ath_cuda_refused(served) || is_capturing(served, stream))
        return;
    if (!measure(&copy, &bytes) ||
        !take_rows(served, &copy, ath_cuda_wire_host_copy_source(call), bytes, &room, &source)) {
        if (!served->status)
            served->status = CUDA_ERROR_INVALID_VALUE;
        return;
    }
    served->status = copy_rows(served->driver, &copy, stream);
    ath_copy_source_leave(served, &source, stream);
    if (room || ath_cuda_wire_call_is_asked(served->call))
        wait_for(served, stream);
    if (!served->status && room)
        ath_cuda_wire_host_copy_result_set_data(ath_cuda_wire_answer_init_host_copy(served->answer),
                                                (struct ath_wire_bytes){ room, (size_t)bytes });
}
