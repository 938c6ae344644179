/* Copies in parts of PART bytes. */
#include "config.h"

#include "cuda/several/journey.h"

#include "base/cleanup.h"
#include "cuda/client/allocate.h"
#include "cuda/several/addresses.h"

enum { PART = 8 * 1024 * 1024 };

static struct ath_several_end end_of(unsigned int index, CUcontext context)
{
    struct ath_several_end end = { NULL, NULL };
    if (index < ath_several_count()) {
        end.at = &ath_several_all[index];
        end.context = context ? context : end.at->context;
    }
    return end;
}

/* An address that no server allocated is the program's memory. A unified address becomes a device
 * or a host address. */
static struct ath_several_end find_end(CUmemorytype *type, CUdeviceptr device, void **host,
                                       CUarray array, CUcontext context)
{
    struct ath_several_range range;
    if (*type == CU_MEMORYTYPE_ARRAY)
        return end_of(ath_several_of_handle((uintptr_t)array), context);
    if (*type == CU_MEMORYTYPE_HOST)
        return (struct ath_several_end){ NULL, NULL };
    if (*type == CU_MEMORYTYPE_DEVICE && context)
        return end_of(ath_several_of_handle((uintptr_t)context), context);
    if (ath_several_find(device, &range) && !range.is_host) {
        *type = CU_MEMORYTYPE_DEVICE;
        return end_of(range.index, context ? context : range.context);
    }
    *type = CU_MEMORYTYPE_HOST;
    *host = (void *)(uintptr_t)device;
    return (struct ath_several_end){ NULL, NULL };
}

struct ath_several_journey ath_several_journey_of(const CUDA_MEMCPY3D_PEER *box)
{
    struct ath_several_journey made = { .box = *box };
    CUDA_MEMCPY3D_PEER *own = &made.box;
    void *source = (void *)(uintptr_t)own->srcHost;
    made.from =
        find_end(&own->srcMemoryType, own->srcDevice, &source, own->srcArray, own->srcContext);
    made.to = find_end(&own->dstMemoryType, own->dstDevice, &own->dstHost, own->dstArray,
                       own->dstContext);
    own->srcHost = source;
    return made;
}

/* ---- through the program ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static CUresult wait_for_stream(struct ath_several *at, CUresult status, CUstream stream)
{
    return status ? status : at->calls.cuStreamSynchronize(stream);
}

/* Copies a part of the box into a buffer. */
static CUresult fetch_box(const struct ath_several_journey *journey, const CUDA_MEMCPY3D_PEER *part,
                          void *buffer, CUstream stream)
{
    struct ath_several *at;
    CUresult status = ath_several_enter_in(journey->from.context, &at);
    CUDA_MEMCPY3D box = { .srcXInBytes = part->srcXInBytes,
                          .srcY = part->srcY,
                          .srcZ = part->srcZ,
                          .srcLOD = part->srcLOD,
                          .srcMemoryType = part->srcMemoryType,
                          .srcDevice = part->srcDevice,
                          .srcArray = part->srcArray,
                          .srcPitch = part->srcPitch,
                          .srcHeight = part->srcHeight,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = buffer,
                          .dstPitch = part->WidthInBytes,
                          .dstHeight = part->Height,
                          .WidthInBytes = part->WidthInBytes,
                          .Height = part->Height,
                          .Depth = part->Depth };
    if (status)
        return status;
    if (part->Height * part->Depth == 1 && part->srcMemoryType == CU_MEMORYTYPE_DEVICE)
        return wait_for_stream(at,
                               at->calls.cuMemcpyDtoHAsync_v2(
                                   buffer,
                                   part->srcDevice + part->srcXInBytes +
                                       (part->srcY + part->srcZ * part->srcHeight) * part->srcPitch,
                                   part->WidthInBytes, stream),
                               stream);
    return wait_for_stream(at, at->calls.cuMemcpy3DAsync_v2(&box, stream), stream);
}

/* Copies the buffer to the part's target. */
static CUresult deliver_box(const struct ath_several_journey *journey,
                            const CUDA_MEMCPY3D_PEER *part, const void *buffer, CUstream stream)
{
    struct ath_several *at;
    CUresult status = ath_several_enter_in(journey->to.context, &at);
    CUDA_MEMCPY3D box = { .srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = buffer,
                          .srcPitch = part->WidthInBytes,
                          .srcHeight = part->Height,
                          .dstXInBytes = part->dstXInBytes,
                          .dstY = part->dstY,
                          .dstZ = part->dstZ,
                          .dstLOD = part->dstLOD,
                          .dstMemoryType = part->dstMemoryType,
                          .dstDevice = part->dstDevice,
                          .dstArray = part->dstArray,
                          .dstPitch = part->dstPitch,
                          .dstHeight = part->dstHeight,
                          .WidthInBytes = part->WidthInBytes,
                          .Height = part->Height,
                          .Depth = part->Depth };
    if (status)
        return status;
    if (part->Height * part->Depth == 1 && part->dstMemoryType == CU_MEMORYTYPE_DEVICE)
        return wait_for_stream(at,
                               at->calls.cuMemcpyHtoDAsync_v2(
                                   part->dstDevice + part->dstXInBytes +
                                       (part->dstY + part->dstZ * part->dstHeight) * part->dstPitch,
                                   buffer, part->WidthInBytes, stream),
                               stream);
    return wait_for_stream(at, at->calls.cuMemcpy3DAsync_v2(&box, stream), stream);
}

/* A pitch or a height of 0 means the box's own. */
static void fill_in(CUDA_MEMCPY3D_PEER *box)
{
    box->Height = box->Height ? box->Height : 1;
    box->Depth = box->Depth ? box->Depth : 1;
    box->srcPitch = box->srcPitch ? box->srcPitch : box->WidthInBytes;
    box->dstPitch = box->dstPitch ? box->dstPitch : box->WidthInBytes;
    box->srcHeight = box->srcHeight ? box->srcHeight : box->Height;
    box->dstHeight = box->dstHeight ? box->dstHeight : box->Height;
}

/* Chooses the size of the parts: whole planes, else whole rows, else pieces of a row. */
static void choose_part(const CUDA_MEMCPY3D_PEER *box, size_t *x, size_t *y, size_t *z)
{
    *x = least(box->WidthInBytes, PART);
    *y = *x < box->WidthInBytes ? 1 : least(box->Height, PART / *x ? PART / *x : 1);
    *z = *y < box->Height ? 1 : least(box->Depth, PART / (*x * *y) ? PART / (*x * *y) : 1);
}

static CUDA_MEMCPY3D_PEER part_at(const CUDA_MEMCPY3D_PEER *box, const size_t at[3],
                                  const size_t size[3])
{
    CUDA_MEMCPY3D_PEER part = *box;
    part.srcXInBytes += at[0];
    part.dstXInBytes += at[0];
    part.srcY += at[1];
    part.dstY += at[1];
    part.srcZ += at[2];
    part.dstZ += at[2];
    part.WidthInBytes = least(size[0], box->WidthInBytes - at[0]);
    part.Height = least(size[1], box->Height - at[1]);
    part.Depth = least(size[2], box->Depth - at[2]);
    return part;
}

/* Moves on to the next part. Returns false after the last one. */
static bool next_part(const CUDA_MEMCPY3D_PEER *box, size_t at[3], const size_t size[3])
{
    const size_t all[3] = { box->WidthInBytes, box->Height, box->Depth };
    for (int i = 0; i < 3; i++) {
        at[i] += size[i];
        if (at[i] < all[i])
            return true;
        at[i] = 0;
    }
    return false;
}

CUresult ath_several_carry(const struct ath_several_journey *journey, CUstream from, CUstream to)
{
    CUDA_MEMCPY3D_PEER box = journey->box;
    size_t size[3], at[3] = { 0, 0, 0 };
    CUresult status = CUDA_SUCCESS;
    if (!box.WidthInBytes)
        return CUDA_SUCCESS;
    fill_in(&box);
    choose_part(&box, &size[0], &size[1], &size[2]);
    ath_auto_free void *buffer = ath_cuda_allocate(size[0] * size[1] * size[2]);
    if (!buffer)
        return CUDA_ERROR_OUT_OF_MEMORY;
    do {
        CUDA_MEMCPY3D_PEER part = part_at(&box, at, size);
        status = fetch_box(journey, &part, buffer, from);
        if (!status)
            status = deliver_box(journey, &part, buffer, to);
    } while (!status && next_part(&box, at, size));
    return status;
}

/* One end is the program's memory, so the other end's server makes the copy alone. */
CUresult ath_several_carry_own(const struct ath_several_journey *journey)
{
    struct ath_several *at;
    const struct ath_several_end *end = journey->from.at ? &journey->from : &journey->to;
    CUresult status = ath_several_enter_in(end->context, &at);
    return status ? status : at->calls.cuMemcpy3DPeer(&journey->box);
}
