/*
 * Copies and fills.
 *
 * Every copy is a cuMemcpy3D. As with CUDA, memory that the driver does not know is refused at the
 * call (CUDA_ERROR_INVALID_VALUE); memory freed before the copy runs is a fault of the context. A
 * pageable source is read at the call (facts.h), a pageable target is written before the call
 * returns.
 */
#include "config.h"

#include "sim/copy.h"

#include <stdlib.h>
#include <string.h>

#include "sim/array.h"
#include "sim/capture.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/facts.h"
#include "sim/gpu_time.h"
#include "sim/range.h"
#include "sim/stream.h"
#include "sim/work.h"

/* ---- copying, without the lock ---- */

static size_t offset_of(const struct sim_place *place, size_t row, size_t slice)
{
    return place->x_bytes +
           (place->y + row + (place->z + slice) * place->height) * place->pitch_bytes;
}

/* Returns the address of a row, or of the rest of one, in this process; NULL if it is not
 * mapped. */
static unsigned char *reach(const struct sim_place *place, size_t offset, bool is_write,
                            size_t *out_bytes)
{
    if (place->type == CU_MEMORYTYPE_DEVICE)
        return sim_reach(place->device + offset, is_write, out_bytes);
    *out_bytes = SIZE_MAX;
    return (place->type == CU_MEMORYTYPE_ARRAY ? place->array->cells : place->host) + offset;
}

static bool copy_row(const struct sim_copy *copy, size_t row, size_t slice)
{
    size_t from_at = offset_of(&copy->from, row, slice), to_at = offset_of(&copy->to, row, slice);
    for (size_t done = 0, step; done < copy->width_bytes; done += step) {
        size_t from_bytes, to_bytes;
        const unsigned char *from = reach(&copy->from, from_at + done, false, &from_bytes);
        unsigned char *to = reach(&copy->to, to_at + done, true, &to_bytes);
        if (!from || !to)
            return false;
        step = copy->width_bytes - done;
        if (step > from_bytes)
            step = from_bytes;
        if (step > to_bytes)
            step = to_bytes;
        memmove(to, from, step);
    }
    return true;
}

static CUresult run_copy(struct sim_work *work, struct sim_context *context)
{
    const struct sim_copy *copy = &work->copy;
    (void)context;
    for (size_t slice = 0; slice < copy->depth; slice++)
        for (size_t row = 0; row < copy->height; row++)
            if (!copy_row(copy, row, slice))
                return CUDA_ERROR_ILLEGAL_ADDRESS;
    return CUDA_SUCCESS;
}

static void end_copy(struct sim_work *work)
{
    struct sim_copy *copy = &work->copy;
    if (copy->from.array)
        sim_array_drop(copy->from.array);
    if (copy->to.array)
        sim_array_drop(copy->to.array);
    free(copy->staged);
}

/* ---- checking arguments ---- */

/* Makes one end of a copy from a type and the members of CUDA_MEMCPY3D that belong to the type. */
static CUresult make_place(CUmemorytype type, const void *host, CUdeviceptr device, CUarray handle,
                           struct sim_place *place)
{
    bool is_any = type == CU_MEMORYTYPE_UNIFIED;
    const struct sim_range *range = is_any ? sim_range_at(device) : NULL;
    if (is_any)
        host = (const void *)(uintptr_t)device;
    place->type = is_any ? (range ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST) : type;
    switch (place->type) {
    case CU_MEMORYTYPE_HOST:
        place->host = (unsigned char *)(uintptr_t)host;
        return host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEMORYTYPE_DEVICE:
        place->device = device;
        return CUDA_SUCCESS;
    case CU_MEMORYTYPE_ARRAY:
        place->array = sim_object_find(SIM_ARRAY, handle);
        if (!place->array)
            return CUDA_ERROR_INVALID_HANDLE;
        place->array->refs++;
        place->pitch_bytes = place->array->row_bytes;
        place->height = place->array->height;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

/* A pitch or a height of 0 means the size of the copy. */
static void default_shape(const struct sim_copy *copy, struct sim_place *place)
{
    if (!place->pitch_bytes)
        place->pitch_bytes = place->x_bytes + copy->width_bytes;
    if (!place->height)
        place->height = place->y + copy->height;
}

/* A copy that begins in registered memory stays in it (driver 580). */
static bool stays_registered(uint64_t first, size_t bytes)
{
    const struct sim_range *range = sim_range_at(first);
    return !range || range->memory != SIM_REGISTERED_MEMORY ||
           bytes <= range->base + range->bytes - first;
}

static bool is_inside(const struct sim_copy *copy, const struct sim_place *place)
{
    if (!copy->width_bytes || !copy->height || !copy->depth)
        return true;
    bool has_rows = copy->height > 1 || copy->depth > 1;
    if ((has_rows && place->pitch_bytes < place->x_bytes + copy->width_bytes) ||
        (copy->depth > 1 && place->height < place->y + copy->height))
        return false;
    size_t end = offset_of(place, copy->height - 1, copy->depth - 1) + copy->width_bytes;
    size_t begin = offset_of(place, 0, 0);
    if (place->type == CU_MEMORYTYPE_ARRAY)
        return end <= place->array->bytes;
    if (place->type == CU_MEMORYTYPE_HOST)
        return stays_registered((uint64_t)(uintptr_t)place->host + begin, end - begin);
    return stays_registered(place->device + begin, end - begin) &&
           sim_is_known(place->device + begin, end - begin);
}

CUresult sim_copy_work(const CUDA_MEMCPY3D *asked, struct sim_work **out)
{
    if (!asked)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_work *work = sim_work_new(CU_GRAPH_NODE_TYPE_MEMCPY, run_copy, end_copy);
    if (!work)
        return CUDA_ERROR_OUT_OF_MEMORY;
    work->copy = (struct sim_copy){
        .from = { .x_bytes = asked->srcXInBytes,
                  .y = asked->srcY,
                  .z = asked->srcZ,
                  .pitch_bytes = asked->srcPitch,
                  .height = asked->srcHeight },
        .to = { .x_bytes = asked->dstXInBytes,
                .y = asked->dstY,
                .z = asked->dstZ,
                .pitch_bytes = asked->dstPitch,
                .height = asked->dstHeight },
        .width_bytes = asked->WidthInBytes,
        .height = asked->Height,
        .depth = asked->Depth,
        .asked = *asked,
    };
    struct sim_copy *copy = &work->copy;
    CUresult status = make_place(asked->srcMemoryType, asked->srcHost, asked->srcDevice,
                                 asked->srcArray, &copy->from);
    if (!status)
        status = make_place(asked->dstMemoryType, asked->dstHost, asked->dstDevice, asked->dstArray,
                            &copy->to);
    if (!status) {
        default_shape(copy, &copy->from);
        default_shape(copy, &copy->to);
        if (asked->srcLOD || asked->dstLOD || !is_inside(copy, &copy->from) ||
            !is_inside(copy, &copy->to))
            status = CUDA_ERROR_INVALID_VALUE;
    }
    if (status)
        sim_work_drop(work);
    else
        *out = work;
    return status;
}

/* ---- running ---- */

static bool is_pageable(const struct sim_place *place)
{
    return place->type == CU_MEMORYTYPE_HOST && !sim_range_at((uint64_t)(uintptr_t)place->host);
}

static bool is_device(const struct sim_place *place)
{
    const struct sim_range *range =
        place->type == CU_MEMORYTYPE_DEVICE ? sim_range_at(place->device) : NULL;
    return place->type == CU_MEMORYTYPE_ARRAY ||
           (range && (range->memory == SIM_DEVICE_MEMORY || range->memory == SIM_MAPPED_MEMORY ||
                      range->memory == SIM_FOREIGN_MEMORY));
}

static CUresult stage(struct sim_copy *copy)
{
    size_t rows = copy->height * copy->depth;
    copy->staged = malloc(copy->width_bytes * rows + 1);
    if (!copy->staged)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < rows; i++)
        memcpy(copy->staged + i * copy->width_bytes,
               copy->from.host + offset_of(&copy->from, i % copy->height, i / copy->height),
               copy->width_bytes);
    copy->from = (struct sim_place){
        .type = CU_MEMORYTYPE_HOST,
        .host = copy->staged,
        .pitch_bytes = copy->width_bytes,
        .height = copy->height,
    };
    return CUDA_SUCCESS;
}

static CUresult submit_and_wait(struct sim_stream *stream, struct sim_work *work)
{
    struct sim_context *context = stream->object.context;
    struct sim_mark *mark = NULL;
    CUresult status = sim_submit(stream, work, &mark);
    if (status)
        return status;
    sim_mark_wait(mark);
    return context->fault;
}

CUresult sim_copy(const CUDA_MEMCPY3D *asked, CUstream handle, enum sim_when when)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    struct sim_work *work;
    CUresult status = sim_enter_stream(handle, &stream);
    if (!status && when == SIM_NOW && stream->capture)
        status = sim_capture_refuse(stream);
    if (!status)
        status = sim_copy_work(asked, &work);
    if (status)
        return status;
    struct sim_copy *copy = &work->copy;
    bool is_empty = !copy->width_bytes || !copy->height || !copy->depth;
    bool is_on_device = is_device(&copy->from) && is_device(&copy->to);
    if (is_empty) {
        sim_work_drop(work);
        return CUDA_SUCCESS;
    }
    if (stream->capture)
        return sim_submit(stream, work, NULL);
    if (when == SIM_NOW && !is_on_device)
        return submit_and_wait(stream, work);
    if (is_pageable(&copy->from) && !sim_facts_copies_late())
        status = stage(copy);
    if (status) {
        sim_work_drop(work);
        return status;
    }
    return is_pageable(&copy->to) ? submit_and_wait(stream, work) : sim_submit(stream, work, NULL);
}

CUresult sim_copy_2d(const CUDA_MEMCPY2D *asked, CUstream stream, enum sim_when when)
{
    if (!asked)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_MEMCPY3D copy = {
        .srcXInBytes = asked->srcXInBytes,
        .srcY = asked->srcY,
        .srcMemoryType = asked->srcMemoryType,
        .srcHost = asked->srcHost,
        .srcDevice = asked->srcDevice,
        .srcArray = asked->srcArray,
        .srcPitch = asked->srcPitch,
        .dstXInBytes = asked->dstXInBytes,
        .dstY = asked->dstY,
        .dstMemoryType = asked->dstMemoryType,
        .dstHost = asked->dstHost,
        .dstDevice = asked->dstDevice,
        .dstArray = asked->dstArray,
        .dstPitch = asked->dstPitch,
        .WidthInBytes = asked->WidthInBytes,
        .Height = asked->Height,
        .Depth = 1,
    };
    return sim_copy(&copy, stream, when);
}

/*
 * A copy between contexts is serialized with all work of both contexts. The function without Async
 * waits for that work first, and for the copy before it returns.
 */
static CUresult drain_ends(const CUDA_MEMCPY3D_PEER *asked)
{
    const CUcontext ends[] = { asked->srcContext, asked->dstContext };
    SIM_LOCKED;
    for (size_t i = 0; i < SIM_COUNT(ends); i++) {
        struct sim_context *context;
        CUresult status = sim_enter_context(ends[i], &context);
        if (!status)
            status = sim_context_drain(context);
        if (status)
            return status;
    }
    return CUDA_SUCCESS;
}

static CUresult drain_current(void)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    return status ? status : sim_context_drain(context);
}

CUresult sim_copy_peer(const CUDA_MEMCPY3D_PEER *asked, CUstream stream, enum sim_when when)
{
    if (!asked)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = when == SIM_NOW ? drain_ends(asked) : CUDA_SUCCESS;
    if (status)
        return status;
    const CUDA_MEMCPY3D copy = {
        .srcXInBytes = asked->srcXInBytes,
        .srcY = asked->srcY,
        .srcZ = asked->srcZ,
        .srcLOD = asked->srcLOD,
        .srcMemoryType = asked->srcMemoryType,
        .srcHost = asked->srcHost,
        .srcDevice = asked->srcDevice,
        .srcArray = asked->srcArray,
        .srcPitch = asked->srcPitch,
        .srcHeight = asked->srcHeight,
        .dstXInBytes = asked->dstXInBytes,
        .dstY = asked->dstY,
        .dstZ = asked->dstZ,
        .dstLOD = asked->dstLOD,
        .dstMemoryType = asked->dstMemoryType,
        .dstHost = asked->dstHost,
        .dstDevice = asked->dstDevice,
        .dstArray = asked->dstArray,
        .dstPitch = asked->dstPitch,
        .dstHeight = asked->dstHeight,
        .WidthInBytes = asked->WidthInBytes,
        .Height = asked->Height,
        .Depth = asked->Depth,
    };
    status = sim_copy(&copy, stream, when);
    return status || when != SIM_NOW ? status : drain_current();
}

/* ---- fills ---- */

/* Fills byte by byte: an element may lie across two pieces of memory that are mapped side by
 * side. */
static bool fill_row(const struct sim_fill *fill, uint64_t at)
{
    unsigned char element[4];
    memcpy(element, &fill->value,
           sizeof element); /* the first bytes are the low ones in little-endian order */
    if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
        for (unsigned int i = 0; i < fill->element_bytes; i++)
            element[i] = (unsigned char)(fill->value >> 8 * (fill->element_bytes - 1 - i));
    size_t bytes = fill->width * fill->element_bytes;
    for (size_t done = 0, step; done < bytes; done += step) {
        unsigned char *to = sim_reach(at + done, true, &step);
        if (!to)
            return false;
        if (step > bytes - done)
            step = bytes - done;
        if (fill->element_bytes == 1)
            memset(to, element[0], step);
        else
            for (size_t i = 0; i < step; i++)
                to[i] = element[(done + i) % fill->element_bytes];
    }
    return true;
}

static CUresult run_fill(struct sim_work *work, struct sim_context *context)
{
    const struct sim_fill *fill = &work->fill;
    for (size_t row = 0; fill->width && row < fill->height; row++)
        if (!fill_row(fill, fill->to + row * fill->pitch_bytes))
            return CUDA_ERROR_ILLEGAL_ADDRESS;
    sim_gpu_fill(context->device, fill->width * fill->element_bytes * fill->height);
    return CUDA_SUCCESS;
}

CUresult sim_fill_work(const struct sim_fill *fill, struct sim_work **out)
{
    size_t row_bytes, bytes = 0;
    bool is_size = fill->element_bytes == 1 || fill->element_bytes == 2 || fill->element_bytes == 4;
    if (!is_size || fill->to % fill->element_bytes ||
        __builtin_mul_overflow(fill->width, fill->element_bytes, &row_bytes) ||
        (fill->height > 1 &&
         (fill->pitch_bytes < row_bytes || fill->pitch_bytes % fill->element_bytes)))
        return CUDA_ERROR_INVALID_VALUE;
    if (fill->width && fill->height &&
        (__builtin_mul_overflow(fill->height - 1, fill->pitch_bytes, &bytes) ||
         __builtin_add_overflow(bytes, row_bytes, &bytes) || !sim_is_known(fill->to, bytes)))
        return CUDA_ERROR_INVALID_VALUE;
    *out = sim_work_new(CU_GRAPH_NODE_TYPE_MEMSET, run_fill, NULL);
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*out)->fill = *fill;
    return CUDA_SUCCESS;
}

CUresult sim_fill(struct sim_fill fill, CUstream handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    struct sim_work *work;
    CUresult status = sim_enter_stream(handle, &stream);
    if (!status)
        status = sim_fill_work(&fill, &work);
    return status ? status : sim_submit(stream, work, NULL);
}
