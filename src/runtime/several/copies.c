/* All copies between two servers are boxes, as CUDA_MEMCPY3D_PEER has them. */
#include "config.h"

#include "runtime/several/copies.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "proto/cuda-client.h"
#include "runtime/cuda/box.h"
#include "runtime/cuda/zeroed.h"
#include "runtime/several/addresses.h"
#include "runtime/several/gates.h"
#include "runtime/several/jobs.h"

enum { PART = 8 * 1024 * 1024 };

/* One end of a copy: NULL is the program's own memory. */
struct end {
    struct ath_several *at;
    CUcontext context;
};

struct journey {
    CUDA_MEMCPY3D_PEER box;
    struct end from, to;
};

struct copy_job {
    struct ath_several_job job;
    struct journey journey;
    struct ath_several_gate gate;
    struct ath_several *near; /* whose stream it is in */
    struct copy_job *next_pending;
};

/* ---- where the ends are ---- */

static struct end end_of(unsigned int index, CUcontext context)
{
    struct end end = { NULL, NULL };
    if (index < ath_several_count()) {
        end.at = &ath_several_all[index];
        end.context = context ? context : end.at->context;
    }
    return end;
}

/* An address that nobody gave out counts as the program's. A unified one becomes what it is. */
static struct end find_end(CUmemorytype *type, CUdeviceptr device, void **host, CUarray array,
                           CUcontext context)
{
    struct ath_several_range range;
    if (*type == CU_MEMORYTYPE_ARRAY)
        return end_of(ath_several_of_handle((uintptr_t)array), context);
    if (*type == CU_MEMORYTYPE_HOST)
        return (struct end){ NULL, NULL };
    if (*type == CU_MEMORYTYPE_DEVICE && context)
        return end_of(ath_several_of_handle((uintptr_t)context), context);
    if (ath_several_find(device, &range) && !range.is_host) {
        *type = CU_MEMORYTYPE_DEVICE;
        return end_of(range.index, context ? context : range.context);
    }
    *type = CU_MEMORYTYPE_HOST;
    *host = (void *)(uintptr_t)device;
    return (struct end){ NULL, NULL };
}

static struct journey journey_of(const CUDA_MEMCPY3D_PEER *box)
{
    struct journey made = { .box = *box };
    CUDA_MEMCPY3D_PEER *own = &made.box;
    void *source = (void *)(uintptr_t)own->srcHost;
    made.from =
        find_end(&own->srcMemoryType, own->srcDevice, &source, own->srcArray, own->srcContext);
    made.to = find_end(&own->dstMemoryType, own->dstDevice, &own->dstHost, own->dstArray,
                       own->dstContext);
    own->srcHost = source;
    return made;
}

/* Enters the server that makes the copy alone: that of the stream, or of what both ends have. */
static CUresult enter_near(const struct journey *journey, const CUstream *stream, bool *out_is_far,
                           struct ath_several **out)
{
    const struct ath_several *from = journey->from.at, *to = journey->to.at;
    unsigned int near = stream ? ath_several_of_stream(*stream)
                        : to   ? to->self.index
                        : from ? from->self.index
                               : ath_several_here();
    *out_is_far = (from && from->self.index != near) || (to && to->self.index != near);
    return ath_several_enter(near, out);
}

/* ---- through the program ---- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static CUresult wait_for(struct ath_several *at, CUresult status, CUstream stream)
{
    return status ? status : at->calls.cuStreamSynchronize(stream);
}

/* The part of a box at x, y, z, from its place into a buffer. */
static CUresult fetch(const struct journey *journey, const CUDA_MEMCPY3D_PEER *part, void *buffer,
                      CUstream stream)
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
        return wait_for(at,
                        at->calls.cuMemcpyDtoHAsync_v2(
                            buffer,
                            part->srcDevice + part->srcXInBytes +
                                (part->srcY + part->srcZ * part->srcHeight) * part->srcPitch,
                            part->WidthInBytes, stream),
                        stream);
    return wait_for(at, at->calls.cuMemcpy3DAsync_v2(&box, stream), stream);
}

/* And out of it to where it shall be. */
static CUresult deliver(const struct journey *journey, const CUDA_MEMCPY3D_PEER *part,
                        const void *buffer, CUstream stream)
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
        return wait_for(at,
                        at->calls.cuMemcpyHtoDAsync_v2(
                            part->dstDevice + part->dstXInBytes +
                                (part->dstY + part->dstZ * part->dstHeight) * part->dstPitch,
                            buffer, part->WidthInBytes, stream),
                        stream);
    return wait_for(at, at->calls.cuMemcpy3DAsync_v2(&box, stream), stream);
}

/* A pitch or a height of zero is that of the box. */
static void fill_in(CUDA_MEMCPY3D_PEER *box)
{
    box->Height = box->Height ? box->Height : 1;
    box->Depth = box->Depth ? box->Depth : 1;
    box->srcPitch = box->srcPitch ? box->srcPitch : box->WidthInBytes;
    box->dstPitch = box->dstPitch ? box->dstPitch : box->WidthInBytes;
    box->srcHeight = box->srcHeight ? box->srcHeight : box->Height;
    box->dstHeight = box->dstHeight ? box->dstHeight : box->Height;
}

/* How large the parts are: whole planes, else whole rows, else pieces of a row. */
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

/* Moves on to the next part; false behind the last one. */
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

static CUresult carry(const struct journey *journey, CUstream from, CUstream to)
{
    CUDA_MEMCPY3D_PEER box = journey->box;
    size_t size[3], at[3] = { 0, 0, 0 };
    CUresult status = CUDA_SUCCESS;
    if (!box.WidthInBytes)
        return CUDA_SUCCESS;
    fill_in(&box);
    choose_part(&box, &size[0], &size[1], &size[2]);
    ath_auto_free void *buffer = ath_cuda_zeroed(size[0] * size[1] * size[2]);
    if (!buffer)
        return CUDA_ERROR_OUT_OF_MEMORY;
    do {
        CUDA_MEMCPY3D_PEER part = part_at(&box, at, size);
        status = fetch(journey, &part, buffer, from);
        if (!status)
            status = deliver(journey, &part, buffer, to);
    } while (!status && next_part(&box, at, size));
    return status;
}

/* ---- at once ---- */

/* One end is the program's memory: the other's server makes the copy alone. */
static CUresult carry_own(const struct journey *journey)
{
    struct ath_several *at;
    const struct end *end = journey->from.at ? &journey->from : &journey->to;
    CUresult status = ath_several_enter_in(end->context, &at);
    return status ? status : at->calls.cuMemcpy3DPeer(&journey->box);
}

/* In the order of the legacy default streams of both contexts. */
static CUresult carry_now(const struct journey *journey)
{
    return journey->from.at && journey->to.at ? carry(journey, NULL, NULL) : carry_own(journey);
}

/* ---- in a stream's order ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_done = PTHREAD_COND_INITIALIZER;
static struct copy_job *pending;

static void end_copy(struct copy_job *job)
{
    pthread_mutex_lock(&lock);
    struct copy_job **at = &pending;
    while (*at != job)
        at = &(*at)->next_pending;
    *at = job->next_pending;
    pthread_cond_broadcast(&is_done);
    pthread_mutex_unlock(&lock);
}

/* Before the stream goes on. */
static void fail(struct ath_several *near, CUresult status)
{
    ath_several_failed(near, status);
    if (getenv("AITHERION_CUDA_LOG"))
        fprintf(stderr, "aitherion: what a stream had of another server failed: error %d\n",
                (int)status);
}

static void run_copy(struct ath_several_job *base)
{
    struct copy_job *job = (struct copy_job *)base;
    const struct end *from = &job->journey.from, *to = &job->journey.to;
    CUstream reading = NULL, writing = NULL;
    CUresult status = ath_several_take_stream(from->at, from->context, &reading);
    if (!status)
        status = ath_several_take_stream(to->at, to->context, &writing);
    if (!status)
        status = carry(&job->journey, reading, writing);
    if (status)
        fail(job->near, status);
    if (reading)
        ath_several_return_stream(from->context, reading);
    if (writing)
        ath_several_return_stream(to->context, writing);
    ath_several_open_gate(&job->gate);
    end_copy(job);
    ath_several_job_done(base);
}

static void hand_over(void *job)
{
    ath_several_hand_over(job);
}

/* The stream is stopped only where something holds it up already: a GPU that stands still may keep
 * its driver from what the copy needs. */
static CUresult queue(struct copy_job *job, struct ath_several *near, CUstream stream)
{
    const struct ath_several_gate gate = job->gate;
    CUresult status = near->calls.cuLaunchHostFunc(stream, hand_over, job);
    if (status) {
        ath_several_open_gate(&gate);
        end_copy(job);
        free(job);
        return status;
    }
    if (!ath_several_is_done_soon(&job->job))
        return ath_several_close_gate(near, stream, &gate);
    free(job);
    return CUDA_SUCCESS;
}

static CUresult carry_later(const struct journey *journey, struct ath_several *near,
                            CUstream stream)
{
    CUresult status = ath_several_hire();
    struct copy_job *job = status ? NULL : calloc(1, sizeof *job);
    if (!job)
        return CUDA_ERROR_OUT_OF_MEMORY;
    job->job.run = run_copy;
    job->journey = *journey;
    job->near = near;
    status = ath_several_take_gate(near, stream, &job->gate);
    if (status) {
        free(job);
        return status;
    }
    pthread_mutex_lock(&lock);
    job->next_pending = pending;
    pending = job;
    pthread_mutex_unlock(&lock);
    return queue(job, near, stream);
}

/* A call that cannot be captured ends the capture's use; waiting is one. */
static CUresult spoil(struct ath_several *near, CUstream stream)
{
    CUresult status = near->calls.cuStreamSynchronize(stream);
    return status ? status : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

/* With the program's own memory at one end it is waited for: its bytes may change, or be wanted,
 * as soon as the call returns. */
static CUresult carry_in(const struct journey *journey, struct ath_several *near, CUstream stream)
{
    if (ath_several_captures(near, stream)) {
        ath_several_refuse("a captured copy", "its ends are at two servers");
        return spoil(near, stream);
    }
    if (journey->from.at && journey->to.at)
        return carry_later(journey, near, stream);
    CUresult status = near->calls.cuStreamSynchronize(stream);
    return status ? status : carry_own(journey);
}

static bool touches(const struct copy_job *job, const struct ath_several_range *range)
{
    const struct journey *journey = &job->journey;
    return (journey->from.at && journey->from.at->self.index == range->index &&
            journey->box.srcDevice - range->address < range->bytes) ||
           (journey->to.at && journey->to.at->self.index == range->index &&
            journey->box.dstDevice - range->address < range->bytes);
}

static struct copy_job *copy_of(const struct ath_several_range *range)
{
    struct copy_job *job = pending;
    while (job && !touches(job, range))
        job = job->next_pending;
    return job;
}

/* A second at most; false: nothing happened meanwhile. */
static bool something_ends(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    return !pthread_cond_timedwait(&is_done, &lock, &until);
}

/* A copy that waits in a stream of a server that is lost is never made. */
void ath_several_await_copies(CUdeviceptr address)
{
    struct ath_several_range range;
    struct copy_job *job;
    bool is_lost = false;
    pthread_mutex_lock(&lock);
    if (pending && ath_several_find(address, &range)) {
        while (!is_lost && (job = copy_of(&range)))
            is_lost = !something_ends() && copy_of(&range) == job && ath_several_is_lost(job->near);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- CUDA's copies ---- */

static CUDA_MEMCPY3D_PEER row(CUmemorytype to, CUdeviceptr dst, CUmemorytype from, CUdeviceptr src,
                              size_t byte_count)
{
    return (CUDA_MEMCPY3D_PEER){ .srcMemoryType = from,
                                 .srcDevice = src,
                                 .srcHost = (const void *)(uintptr_t)src,
                                 .dstMemoryType = to,
                                 .dstDevice = dst,
                                 .dstHost = (void *)(uintptr_t)dst,
                                 .WidthInBytes = byte_count,
                                 .Height = 1,
                                 .Depth = 1 };
}

/* NEAR is what one server does alone. stream NULL: a copy that has been made when it returns. */
#define GO(BOX, STREAM, NEAR)                                                                      \
    do {                                                                                           \
        const CUDA_MEMCPY3D_PEER box_ = (BOX);                                                     \
        const struct journey journey_ = journey_of(&box_);                                         \
        const CUstream *stream_ = (STREAM);                                                        \
        struct ath_several *to;                                                                    \
        bool is_far;                                                                               \
        CUresult status_ = enter_near(&journey_, stream_, &is_far, &to);                           \
        if (status_ || (!is_far && stream_))                                                       \
            return status_ ? status_ : to->calls.NEAR;                                             \
        if (!is_far)                                                                               \
            return ath_several_waited(to, to->calls.NEAR);                                         \
        return stream_ ? carry_in(&journey_, to, *stream_) : carry_now(&journey_);                 \
    } while (0)

CUresult ath_cuda_by_hand_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t byte_count,
                                        CUstream stream)
{
    GO(row(CU_MEMORYTYPE_UNIFIED, dst, CU_MEMORYTYPE_UNIFIED, src, byte_count), &stream,
       cuMemcpyAsync(dst, src, byte_count, stream));
}

CUresult ath_cuda_by_hand_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t byte_count)
{
    GO(row(CU_MEMORYTYPE_UNIFIED, dst, CU_MEMORYTYPE_UNIFIED, src, byte_count), NULL,
       cuMemcpy(dst, src, byte_count));
}

CUresult ath_cuda_do_cuMemcpyDtoDAsync_v2(CUdeviceptr dst_device, CUdeviceptr src_device,
                                          size_t byte_count, CUstream stream)
{
    GO(row(CU_MEMORYTYPE_UNIFIED, dst_device, CU_MEMORYTYPE_UNIFIED, src_device, byte_count),
       &stream, cuMemcpyDtoDAsync_v2(dst_device, src_device, byte_count, stream));
}

CUresult ath_cuda_do_cuMemcpyDtoD_v2(CUdeviceptr dst_device, CUdeviceptr src_device,
                                     size_t byte_count)
{
    GO(row(CU_MEMORYTYPE_UNIFIED, dst_device, CU_MEMORYTYPE_UNIFIED, src_device, byte_count), NULL,
       cuMemcpyDtoD_v2(dst_device, src_device, byte_count));
}

CUresult ath_cuda_by_hand_cuMemcpyHtoDAsync_v2(CUdeviceptr dst_device, const void *src_host,
                                               size_t byte_count, CUstream stream)
{
    GO(row(CU_MEMORYTYPE_UNIFIED, dst_device, CU_MEMORYTYPE_HOST, (uintptr_t)src_host, byte_count),
       &stream, cuMemcpyHtoDAsync_v2(dst_device, src_host, byte_count, stream));
}

CUresult ath_cuda_by_hand_cuMemcpyDtoHAsync_v2(void *dst_host, CUdeviceptr src_device,
                                               size_t byte_count, CUstream stream)
{
    GO(row(CU_MEMORYTYPE_HOST, (uintptr_t)dst_host, CU_MEMORYTYPE_UNIFIED, src_device, byte_count),
       &stream, cuMemcpyDtoHAsync_v2(dst_host, src_device, byte_count, stream));
}

/* The contexts say where the ends are, whatever else is at the same addresses. */
static CUDA_MEMCPY3D_PEER between(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
                                  CUcontext src_context, size_t byte_count)
{
    CUDA_MEMCPY3D_PEER box = row(CU_MEMORYTYPE_DEVICE, dst, CU_MEMORYTYPE_DEVICE, src, byte_count);
    box.dstContext = dst_context;
    box.srcContext = src_context;
    return box;
}

CUresult ath_cuda_do_cuMemcpyPeer(CUdeviceptr dst_device, CUcontext dst_context,
                                  CUdeviceptr src_device, CUcontext src_context, size_t byte_count)
{
    GO(between(dst_device, dst_context, src_device, src_context, byte_count), NULL,
       cuMemcpyPeer(dst_device, dst_context, src_device, src_context, byte_count));
}

CUresult ath_cuda_do_cuMemcpyPeerAsync(CUdeviceptr dst_device, CUcontext dst_context,
                                       CUdeviceptr src_device, CUcontext src_context,
                                       size_t byte_count, CUstream stream)
{
    GO(between(dst_device, dst_context, src_device, src_context, byte_count), &stream,
       cuMemcpyPeerAsync(dst_device, dst_context, src_device, src_context, byte_count, stream));
}

CUresult ath_cuda_by_hand_cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy)
{
    GO(copy ? ath_cuda_box_of_2d(copy) : (CUDA_MEMCPY3D_PEER){ 0 }, NULL, cuMemcpy2D_v2(copy));
}

CUresult ath_cuda_by_hand_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy)
{
    GO(copy ? ath_cuda_box_of_2d(copy) : (CUDA_MEMCPY3D_PEER){ 0 }, NULL,
       cuMemcpy2DUnaligned_v2(copy));
}

CUresult ath_cuda_by_hand_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream)
{
    GO(copy ? ath_cuda_box_of_2d(copy) : (CUDA_MEMCPY3D_PEER){ 0 }, &stream,
       cuMemcpy2DAsync_v2(copy, stream));
}

CUresult ath_cuda_by_hand_cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy)
{
    GO(copy ? ath_cuda_box_of_3d(copy) : (CUDA_MEMCPY3D_PEER){ 0 }, NULL, cuMemcpy3D_v2(copy));
}

CUresult ath_cuda_by_hand_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream)
{
    GO(copy ? ath_cuda_box_of_3d(copy) : (CUDA_MEMCPY3D_PEER){ 0 }, &stream,
       cuMemcpy3DAsync_v2(copy, stream));
}

CUresult ath_cuda_by_hand_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy)
{
    GO(copy ? *copy : (CUDA_MEMCPY3D_PEER){ 0 }, NULL, cuMemcpy3DPeer(copy));
}

CUresult ath_cuda_by_hand_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream)
{
    GO(copy ? *copy : (CUDA_MEMCPY3D_PEER){ 0 }, &stream, cuMemcpy3DPeerAsync(copy, stream));
}

/* The copies of a batch may run in any order. */
/* NOLINTBEGIN(readability-non-const-parameter): as CUDA declares them */
CUresult ath_cuda_by_hand_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                                size_t count, CUmemcpyAttributes *attributes,
                                                size_t *attribute_indexes, size_t attribute_count,
                                                CUstream stream)
{
    CUresult status = CUDA_SUCCESS;
    if (!count || !dsts || !srcs || !sizes || !stream ||
        (attribute_count && (!attributes || !attribute_indexes)))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; !status && i < count; i++)
        status = ath_cuda_by_hand_cuMemcpyAsync(dsts[i], srcs[i], sizes[i], stream);
    return status;
}

CUresult ath_cuda_by_hand_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                             size_t count, CUmemcpyAttributes *attributes,
                                             size_t *attribute_indexes, size_t attribute_count,
                                             size_t *fail_index, CUstream stream)
{
    CUresult status = ath_cuda_by_hand_cuMemcpyBatchAsync_v2(
        dsts, srcs, sizes, count, attributes, attribute_indexes, attribute_count, stream);
    if (status && fail_index)
        *fail_index = SIZE_MAX; /* none in particular */
    return status;
}
/* NOLINTEND(readability-non-const-parameter) */

/* ---- events ---- */

struct event_job {
    struct ath_several_job job;
    CUcontext context;
    CUstream stream; /* which waits for the event */
    struct ath_several_gate gate;
    struct ath_several *near; /* whose stream waits for that */
};

static void run_event(struct ath_several_job *base)
{
    struct event_job *job = (struct event_job *)base;
    struct ath_several *at;
    CUresult status = ath_several_enter_in(job->context, &at);
    if (!status)
        status = at->calls.cuStreamSynchronize(job->stream);
    if (status)
        fail(job->near, status);
    ath_several_open_gate(&job->gate);
    ath_several_return_stream(job->context, job->stream);
    ath_several_job_done(base);
}

/* What is waited for is what the event stands for now: a stream of the switch's own waits for it
 * there at once, a thread for that stream. */
static CUresult await_there(struct event_job *job, CUevent event)
{
    struct ath_several *there;
    CUresult status = ath_several_enter(ath_several_of_handle((uintptr_t)event), &there);
    job->context = status ? NULL : there->context;
    if (!status && !job->context)
        status = CUDA_ERROR_INVALID_HANDLE;
    if (!status)
        status = ath_several_take_stream(there, job->context, &job->stream);
    if (status)
        return status;
    status = there->calls.cuStreamWaitEvent(job->stream, event, 0);
    if (status)
        ath_several_return_stream(job->context, job->stream);
    return status;
}

static CUresult wait_far(struct ath_several *near, CUstream stream, CUevent event)
{
    struct ath_several_gate gate;
    struct event_job *job = calloc(1, sizeof *job);
    if (!job || ath_several_hire()) {
        free(job);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    job->job.run = run_event;
    CUresult status = await_there(job, event);
    if (status) {
        free(job);
        return status;
    }
    status = ath_several_enter(near->self.index, &near);
    if (!status)
        status = ath_several_take_gate(near, stream, &gate);
    if (status) {
        ath_several_return_stream(job->context, job->stream);
        free(job);
        return status;
    }
    job->gate = gate;
    job->near = near;
    ath_several_hand_over(&job->job);
    if (!ath_several_is_done_soon(&job->job))
        return ath_several_close_gate(near, stream, &gate);
    free(job);
    return CUDA_SUCCESS;
}

CUresult ath_cuda_do_cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    struct ath_several *near;
    CUresult status = ath_several_enter(ath_several_of_stream(stream), &near);
    if (status || !event || ath_instance_of((uintptr_t)event) == near->self.index)
        return status ? status : near->calls.cuStreamWaitEvent(stream, event, flags);
    if (ath_several_captures(near, stream)) {
        ath_several_refuse("a captured wait", "the event is another server's");
        return spoil(near, stream);
    }
    return wait_far(near, stream, event);
}
