/* Copies of all shapes, between memories of all types and arrays. */
#include "config.h"

#include "driver.h"

#include <string.h>

enum { MOST = 9 << 20, ANY_DEVICE = ON_DEVICE | MANAGED };

/* ---- a line of bytes ---- */

struct line {
    struct part to, from;
    size_t bytes;
};

/* Both use their memory in the stream. */
static bool pick_line(struct line *line, int to, int from, struct object *stream)
{
    line->to = pick_part(to, MOST);
    line->from = pick_part(from, MOST);
    if (!line->to.memory || !line->from.memory || line->to.memory == line->from.memory)
        return false;
    line->bytes = line->to.bytes < line->from.bytes ? line->to.bytes : line->from.bytes;
    return use(line->to.memory, stream) && use(line->from.memory, stream);
}

static void say_line(const struct line *line, const struct object *stream)
{
    say(" %s from %s, %zu bytes", name_of_address(line->to.address),
        name_of_address(line->from.address), line->bytes);
    if (stream)
        say(" %s", name_of(stream));
}

static void copy_in(void)
{
    struct line line;
    NEED(pick_line(&line, ANY_DEVICE | PINNED, ON_HOST, legacy_stream()));
    say_line(&line, NULL);
    CALL(cuMemcpyHtoD_v2, line.to.address, HOST(line.from.address), line.bytes);
}

static void copy_out(void)
{
    struct line line;
    NEED(pick_line(&line, ON_HOST, ANY_DEVICE | PINNED, legacy_stream()));
    say_line(&line, NULL);
    CALL(cuMemcpyDtoH_v2, HOST(line.to.address), line.from.address, line.bytes);
}

static void copy_within(void)
{
    struct line line;
    NEED(pick_line(&line, ANY_DEVICE | PINNED, ANY_DEVICE | PINNED, legacy_stream()));
    say_line(&line, NULL);
    CALL(cuMemcpyDtoD_v2, line.to.address, line.from.address, line.bytes);
}

static void copy_unified(void)
{
    struct line line;
    NEED(pick_line(&line, ANY_DEVICE | ON_HOST, ANY_DEVICE | ON_HOST, legacy_stream()));
    say_line(&line, NULL);
    CALL(cuMemcpy, line.to.address, line.from.address, line.bytes);
}

static void copy_in_stream(void)
{
    struct line line;
    struct object *stream = pick(STREAM);
    int side = (int)below(4);
    NEED(stream && pick_line(&line,
                             side == 1   ? ON_HOST
                             : side == 3 ? ANY_DEVICE | ON_HOST
                                         : ANY_DEVICE,
                             side == 0   ? ON_HOST
                             : side == 3 ? ANY_DEVICE | ON_HOST
                                         : ANY_DEVICE,
                             stream));
    say_line(&line, stream);
    if (side == 0)
        CALL(cuMemcpyHtoDAsync_v2, line.to.address, HOST(line.from.address), line.bytes,
             STREAM_OF(stream));
    else if (side == 1)
        CALL(cuMemcpyDtoHAsync_v2, HOST(line.to.address), line.from.address, line.bytes,
             STREAM_OF(stream));
    else if (side == 2)
        CALL(cuMemcpyDtoDAsync_v2, line.to.address, line.from.address, line.bytes,
             STREAM_OF(stream));
    else
        CALL(cuMemcpyAsync, line.to.address, line.from.address, line.bytes, STREAM_OF(stream));
}

/* The same memory, overlapping or not. */
static void copy_in_place(void)
{
    struct object *memory = pick_memory(ANY_DEVICE);
    NEED(memory && memory->bytes >= 64 && use(memory, legacy_stream()));
    size_t half = memory->bytes / 2, to = half + below(half / 2 + 1);
    say(" %s+%zu from its beginning, %zu bytes", name_of(memory), to, memory->bytes - to);
    CALL(cuMemcpyDtoD_v2, memory->handle + to, memory->handle, memory->bytes - to);
}

static void copy_wrongly(void)
{
    struct object *memory = pick_memory(ON_DEVICE), *host = pick_memory(ON_HOST);
    NEED(memory && host);
    settle(memory);
    settle(host);
    CUdeviceptr wrong = (CUdeviceptr)ONE_OF(0, 0x1000, 0x7fff00000000000);
    switch (below(4)) {
    case 0:
        say(" to %llx", wrong);
        CALL(cuMemcpyHtoD_v2, wrong, HOST(host->handle), 16);
        break;
    case 1:
        say(" from %llx", wrong);
        CALL(cuMemcpyDtoH_v2, HOST(host->handle), wrong, 16);
        break;
    case 2:
        say(" %s from %llx", name_of(memory), wrong);
        CALL(cuMemcpyDtoD_v2, memory->handle, wrong, 16);
        break;
    default:
        say(" far beyond %s", name_of(memory));
        CALL(cuMemcpyDtoH_v2, HOST(host->handle), memory->handle + ((uint64_t)1 << 42), 16);
    }
}

static void copy_between_contexts(void)
{
    struct line line;
    struct object *to = pick(CONTEXT), *from = pick(CONTEXT);
    NEED(to && from && pick_line(&line, ON_DEVICE, ON_DEVICE, legacy_stream()));
    say_line(&line, NULL);
    say(" %s %s", name_of(to), name_of(from));
    CALL(cuMemcpyPeer, line.to.address, CONTEXT_OF(to), line.from.address, CONTEXT_OF(from),
         line.bytes);
}

/* ---- several lines in one call ---- */

static void copy_batch(void)
{
    enum { LINES = 3 };
    struct line lines[LINES];
    CUdeviceptr to[LINES], from[LINES];
    size_t sizes[LINES], index = 0, fail = 99, count = 1 + below(LINES);
    CUmemcpyAttributes attributes;
    struct object *stream = pick_live(STREAM);
    NEED(stream && !is_stream_capturing(stream));
    memset(&attributes, 0, sizeof attributes);
    attributes.srcAccessOrder = (CUmemcpySrcAccessOrder)ONE_OF(1, 1, 2, 3, 0);
    say(" %s order=%d", name_of(stream), (int)attributes.srcAccessOrder);
    for (size_t i = 0; i < count; i++) {
        NEED(pick_line(&lines[i], ON_DEVICE, ON_DEVICE | ON_HOST, stream));
        for (size_t j = 0; j < i; j++) /* lines of a batch have no order */
            NEED(lines[j].to.memory != lines[i].to.memory &&
                 lines[j].to.memory != lines[i].from.memory &&
                 lines[j].from.memory != lines[i].to.memory);
        to[i] = lines[i].to.address;
        from[i] = lines[i].from.address;
        sizes[i] = lines[i].bytes;
        say_line(&lines[i], NULL);
    }
    if (CALL(cuMemcpyBatchAsync, to, from, sizes, count, &attributes, &index, 1, &fail,
             STREAM_OF(stream)))
        say(" fail=%zu", fail);
}

/* ---- rectangles and boxes ---- */

struct side {
    struct object *object; /* memory or an array */
    size_t x, y, z, pitch, height;
};

struct box {
    size_t width, height, depth;
};

/* A box that fits into the side, or (rarely) one that does not. */
static bool pick_side(struct side *side, const struct box *box)
{
    memset(side, 0, sizeof *side);
    if (chance(4) && (side->object = pick_live(ARRAY)))
        return box->depth == 1;
    side->object = pick_memory(ON_DEVICE | ON_HOST | MANAGED);
    if (!side->object)
        return false;
    side->pitch = side->object->pitch ? side->object->pitch : box->width + below(3) * 16;
    side->x = below(3) * 4;
    side->y = below(3);
    side->z = below(2);
    side->height = box->height + side->y + below(3);
    if (side->pitch < side->x + box->width)
        side->pitch = side->x + box->width;
    return side->pitch * side->height * (side->z + box->depth) + 16 <= side->object->bytes;
}

static CUmemorytype type_of(const struct side *side)
{
    if (side->object->kind == ARRAY)
        return CU_MEMORYTYPE_ARRAY;
    if (chance(5))
        return CU_MEMORYTYPE_UNIFIED;
    return side->object->type & ON_HOST ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static void say_side(const struct side *side, CUmemorytype type)
{
    say(" %s(%d) at %zu,%zu,%zu pitch=%zu height=%zu", name_of(side->object), (int)type, side->x,
        side->y, side->z, side->pitch, side->height);
}

/* Fills a box's two sides. Arrays are used without an order of their own: those calls wait. */
static bool make_box(CUDA_MEMCPY3D *copy, struct object *stream, bool is_flat)
{
    struct side to, from;
    struct box box = { 4 * (1 + below(60)), 1 + below(12), is_flat ? 1 : 1 + below(3) };
    if (!pick_side(&to, &box) || !pick_side(&from, &box) || to.object == from.object)
        return false;
    if ((to.object->kind == ARRAY || from.object->kind == ARRAY) && is_stream_capturing(stream))
        return false;
    if ((to.object->kind == MEMORY && !use(to.object, stream)) ||
        (from.object->kind == MEMORY && !use(from.object, stream)))
        return false;
    memset(copy, 0, sizeof *copy);
    if (is_flat)
        to.z = from.z = 0;
    copy->dstMemoryType = type_of(&to);
    copy->srcMemoryType = type_of(&from);
    copy->dstXInBytes = to.x, copy->dstY = to.y, copy->dstZ = to.z;
    copy->srcXInBytes = from.x, copy->srcY = from.y, copy->srcZ = from.z;
    copy->dstPitch = to.pitch, copy->dstHeight = to.height;
    copy->srcPitch = from.pitch, copy->srcHeight = from.height;
    copy->dstHost = HOST(to.object->handle);
    copy->srcHost = HOST(from.object->handle);
    copy->dstDevice = to.object->handle;
    copy->srcDevice = from.object->handle;
    copy->dstArray = ARRAY_OF(to.object);
    copy->srcArray = ARRAY_OF(from.object);
    copy->WidthInBytes = box.width, copy->Height = box.height, copy->Depth = box.depth;
    if (chance(20) && box.height > 1)
        copy->dstPitch = box.width - 4; /* too small */
    if (chance(40))
        copy->dstMemoryType = (CUmemorytype)ONE_OF(0, 9);
    say_side(&to, copy->dstMemoryType);
    say(" from");
    say_side(&from, copy->srcMemoryType);
    say(" box %zu,%zu,%zu%s", box.width, box.height, box.depth,
        copy->dstPitch < box.width ? " small pitch" : "");
    return true;
}

static bool is_of_array(const CUDA_MEMCPY3D *box)
{
    return box->srcMemoryType == CU_MEMORYTYPE_ARRAY || box->dstMemoryType == CU_MEMORYTYPE_ARRAY;
}

static CUDA_MEMCPY2D flat(const CUDA_MEMCPY3D *box)
{
    return (
        CUDA_MEMCPY2D){ box->srcXInBytes, box->srcY,          box->srcMemoryType, box->srcHost,
                        box->srcDevice,   box->srcArray,      box->srcPitch,      box->dstXInBytes,
                        box->dstY,        box->dstMemoryType, box->dstHost,       box->dstDevice,
                        box->dstArray,    box->dstPitch,      box->WidthInBytes,  box->Height };
}

static void copy_rectangle(void)
{
    CUDA_MEMCPY3D box;
    NEED(make_box(&box, legacy_stream(), true));
    CUDA_MEMCPY2D copy = flat(&box);
    if (chance(2))
        CALL(cuMemcpy2D_v2, &copy);
    else
        CALL(cuMemcpy2DUnaligned_v2, &copy);
}

static void copy_rectangle_in_stream(void)
{
    CUDA_MEMCPY3D box;
    struct object *stream = pick(STREAM);
    NEED(stream && make_box(&box, stream, true));
    CUDA_MEMCPY2D copy = flat(&box);
    say(" %s", name_of(stream));
    if (!CALL(cuMemcpy2DAsync_v2, &copy, STREAM_OF(stream)) && is_of_array(&box))
        settle_stream(stream);
}

static void copy_box(void)
{
    CUDA_MEMCPY3D box;
    NEED(make_box(&box, legacy_stream(), chance(3)));
    CALL(cuMemcpy3D_v2, &box);
}

static void copy_box_in_stream(void)
{
    CUDA_MEMCPY3D box;
    struct object *stream = pick(STREAM);
    NEED(stream && make_box(&box, stream, chance(3)));
    say(" %s", name_of(stream));
    if (!CALL(cuMemcpy3DAsync_v2, &box, STREAM_OF(stream)) && is_of_array(&box))
        settle_stream(stream);
}

static const struct operation operations[] = {
    { "in", 15, copy_in },
    { "out", 15, copy_out },
    { "within", 12, copy_within },
    { "unified", 8, copy_unified },
    { "in a stream", 40, copy_in_stream },
    { "in place", 3, copy_in_place },
    { "wrongly", 5, copy_wrongly },
    { "between contexts", 3, copy_between_contexts },
    { "batch", 5, copy_batch },
    { "rectangle", 10, copy_rectangle },
    { "rectangle in a stream", 12, copy_rectangle_in_stream },
    { "box", 6, copy_box },
    { "box in a stream", 8, copy_box_in_stream },
};

const struct area copy_area = { "copies", operations, COUNT(operations), 0 };
