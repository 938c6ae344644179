/* Arrays and mipmapped arrays. */
#include "config.h"

#include "driver.h"

#include <string.h>

/* A new array has known contents: what it has by chance would be copied out. */
static void fill(struct object *array, const CUDA_ARRAY3D_DESCRIPTOR *shape, size_t element)
{
    static unsigned char zeros[1 << 18];
    CUDA_MEMCPY3D copy;
    memset(&copy, 0, sizeof copy);
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = zeros;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = ARRAY_OF(array);
    copy.WidthInBytes = shape->Width * element;
    copy.Height = shape->Height ? shape->Height : 1;
    copy.Depth = shape->Depth ? shape->Depth : 1;
    copy.srcPitch = copy.WidthInBytes;
    copy.srcHeight = copy.Height;
    if (copy.WidthInBytes * copy.Height * copy.Depth <= sizeof zeros)
        D(cuMemcpy3D_v2)(&copy);
}

static size_t element_of(CUarray_format format, unsigned int channels)
{
    bool is_wide = format == CU_AD_FORMAT_FLOAT || format == CU_AD_FORMAT_UNSIGNED_INT32 ||
                   format == CU_AD_FORMAT_SIGNED_INT32;
    bool is_narrow = format == CU_AD_FORMAT_UNSIGNED_INT8 || format == CU_AD_FORMAT_SIGNED_INT8;
    return (size_t)channels * (is_wide ? 4u : is_narrow ? 1u : 2u);
}

static CUDA_ARRAY3D_DESCRIPTOR some_shape(void)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    memset(&shape, 0, sizeof shape);
    shape.Width = chance(25) ? (size_t)ONE_OF(0, 1 << 30) : 64 + below(64);
    shape.Height = (size_t)ONE_OF(0, 16, 24, 32);
    shape.Depth = shape.Height && chance(3) ? (size_t)ONE_OF(4, 6) : 0;
    shape.Format = (CUarray_format)ONE_OF(32, 1, 2, 3, 10, 16, 0, 99);
    shape.NumChannels = (unsigned int)ONE_OF(1, 1, 2, 4, 4, 3);
    shape.Flags = (unsigned int)ONE_OF(0, 0, 0, 2, 1, 4, 0x400);
    say(" %zu,%zu,%zu format=%d channels=%u flags=%u", shape.Width, shape.Height, shape.Depth,
        (int)shape.Format, shape.NumChannels, shape.Flags);
    return shape;
}

static void create(void)
{
    CUarray handle = NULL;
    struct object *array = vacant(ARRAY);
    NEED(array);
    say(" %s", name_of(array));
    CUDA_ARRAY3D_DESCRIPTOR shape = some_shape();
    CUDA_ARRAY_DESCRIPTOR flat = { shape.Width, shape.Height, shape.Format, shape.NumChannels };
    bool is_flat = !shape.Depth && !shape.Flags && chance(2);
    if (is_flat ? CALL(cuArrayCreate_v2, &handle, &flat)
                : CALL(cuArray3DCreate_v2, &handle, &shape))
        return;
    born(array, HANDLE(handle), NULL);
    array->bytes = shape.Width * element_of(shape.Format, shape.NumChannels);
    array->type = 1;
    fill(array, &shape, element_of(shape.Format, shape.NumChannels));
}

static void destroy(void)
{
    struct object *array = pick(ARRAY);
    NEED(array && !array->parent);
    settle_all();
    say(" %s", name_of(array));
    END(array, cuArrayDestroy, ARRAY_OF(array));
}

static void ask(void)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    CUDA_ARRAY_DESCRIPTOR flat;
    CUDA_ARRAY_MEMORY_REQUIREMENTS needs;
    CUDA_ARRAY_SPARSE_PROPERTIES sparse;
    CUarray plane = NULL;
    struct object *array = pick(ARRAY);
    NEED(array);
    memset(&shape, 0, sizeof shape);
    memset(&flat, 0, sizeof flat);
    memset(&needs, 0, sizeof needs);
    say(" %s", name_of(array));
    switch (below(5)) {
    case 0:
        if (!CALL(cuArray3DGetDescriptor_v2, &shape, ARRAY_OF(array)))
            say(" %zu,%zu,%zu format=%d channels=%u flags=%u", shape.Width, shape.Height,
                shape.Depth, (int)shape.Format, shape.NumChannels, shape.Flags);
        break;
    case 1:
        if (!CALL(cuArrayGetDescriptor_v2, &flat, ARRAY_OF(array)))
            say(" %zu,%zu format=%d channels=%u", flat.Width, flat.Height, (int)flat.Format,
                flat.NumChannels);
        break;
    case 2:
        if (!CALL(cuArrayGetMemoryRequirements, &needs, ARRAY_OF(array), 0))
            say(" %zu,%zu", needs.size, needs.alignment);
        break;
    case 3:
        CALL(cuArrayGetSparseProperties, &sparse, ARRAY_OF(array));
        break;
    default:
        CALL(cuArrayGetPlane, &plane, ARRAY_OF(array), (unsigned int)below(2));
    }
}

/* ---- copies of a row ---- */

static void copy(void)
{
    struct object *array = pick_live(ARRAY), *other = pick_live(ARRAY);
    struct object *host = pick_memory(ON_HOST), *device = pick_memory(ON_DEVICE | MANAGED);
    NEED(array && other && host && device && array->bytes >= 64 && other->bytes >= 64);
    size_t offset = below(array->bytes / 2), bytes = 1 + below(array->bytes - offset);
    NEED(bytes <= host->bytes && bytes <= device->bytes);
    settle(host);
    settle(device);
    say(" %s+%zu bytes=%zu", name_of(array), offset, bytes);
    switch (below(5)) {
    case 0:
        say(" from %s", name_of(host));
        CALL(cuMemcpyHtoA_v2, ARRAY_OF(array), offset, HOST(host->handle), bytes);
        break;
    case 1:
        say(" to %s", name_of(host));
        CALL(cuMemcpyAtoH_v2, HOST(host->handle), ARRAY_OF(array), offset, bytes);
        break;
    case 2:
        say(" from %s", name_of(device));
        CALL(cuMemcpyDtoA_v2, ARRAY_OF(array), offset, device->handle, bytes);
        D(cuCtxSynchronize)();
        break;
    case 3:
        say(" to %s", name_of(device));
        CALL(cuMemcpyAtoD_v2, device->handle, ARRAY_OF(array), offset, bytes);
        D(cuCtxSynchronize)();
        break;
    default:
        NEED(other != array && bytes <= other->bytes);
        say(" from %s", name_of(other));
        CALL(cuMemcpyAtoA_v2, ARRAY_OF(array), offset, ARRAY_OF(other), 0, bytes);
        D(cuCtxSynchronize)();
    }
}

/* ---- mipmapped arrays ---- */

static void create_mipmap(void)
{
    CUmipmappedArray handle = NULL;
    struct object *mipmap = vacant(MIPMAP);
    unsigned int levels = (unsigned int)ONE_OF(1, 2, 3, 4, 0, 30);
    NEED(mipmap);
    say(" %s levels=%u", name_of(mipmap), levels);
    CUDA_ARRAY3D_DESCRIPTOR shape = some_shape();
    if (!CALL(cuMipmappedArrayCreate, &handle, &shape, levels))
        born(mipmap, HANDLE(handle), NULL);
}

static void destroy_mipmap(void)
{
    struct object *mipmap = pick(MIPMAP);
    NEED(mipmap);
    settle_all();
    say(" %s", name_of(mipmap));
    END(mipmap, cuMipmappedArrayDestroy, MIPMAP_OF(mipmap));
}

static void ask_level(void)
{
    CUDA_ARRAY3D_DESCRIPTOR shape;
    CUarray handle = NULL;
    struct object *mipmap = pick(MIPMAP);
    unsigned int level = (unsigned int)below(4);
    NEED(mipmap);
    memset(&shape, 0, sizeof shape);
    say(" %s level=%u", name_of(mipmap), level);
    if (!CALL(cuMipmappedArrayGetLevel, &handle, MIPMAP_OF(mipmap), level) &&
        !CALL(cuArray3DGetDescriptor_v2, &shape, handle))
        say(" %zu,%zu,%zu", shape.Width, shape.Height, shape.Depth);
}

static const struct operation operations[] = {
    { "create", 30, create },
    { "destroy", 6, destroy },
    { "ask", 12, ask },
    { "copy", 30, copy },
    { "create mipmapped", 10, create_mipmap },
    { "destroy mipmapped", 3, destroy_mipmap },
    { "level", 8, ask_level },
};

const struct area array_area = { "arrays", operations, COUNT(operations), 0 };
