/* Texture and surface objects, and tensor maps. */
#include "config.h"

#include "driver.h"

#include <string.h>

static CUDA_RESOURCE_DESC some_resource(void)
{
    CUDA_RESOURCE_DESC resource;
    struct object *array = pick_live(ARRAY), *memory = pick_memory(DEVICE);
    memset(&resource, 0, sizeof resource);
    resource.resType = (CUresourcetype)ONE_OF(0, 0, 0, 2, 3, 1, 9);
    say(" type=%d", (int)resource.resType);
    if (resource.resType == CU_RESOURCE_TYPE_ARRAY && array) {
        resource.res.array.hArray = ARRAY_OF(array);
        say(" %s", name_of(array));
    } else if (resource.resType == CU_RESOURCE_TYPE_LINEAR && memory) {
        resource.res.linear.devPtr = memory->handle;
        resource.res.linear.format = (CUarray_format)ONE_OF(32, 1, 99);
        resource.res.linear.numChannels = (unsigned int)ONE_OF(1, 4, 3);
        resource.res.linear.sizeInBytes = memory->bytes;
        say(" %s", name_of(memory));
    } else if (resource.resType == CU_RESOURCE_TYPE_PITCH2D && memory) {
        resource.res.pitch2D.devPtr = memory->handle;
        resource.res.pitch2D.format = CU_AD_FORMAT_FLOAT;
        resource.res.pitch2D.numChannels = 1;
        resource.res.pitch2D.width = 16;
        resource.res.pitch2D.height = 4;
        resource.res.pitch2D.pitchInBytes = (size_t)ONE_OF(512, 64, 100);
        say(" %s pitch=%zu", name_of(memory), resource.res.pitch2D.pitchInBytes);
    }
    return resource;
}

static void create(void)
{
    CUtexObject handle = 0;
    CUDA_TEXTURE_DESC texture;
    struct object *object = vacant(TEXTURE);
    NEED(object);
    say(" %s", name_of(object));
    CUDA_RESOURCE_DESC resource = some_resource();
    memset(&texture, 0, sizeof texture);
    for (int i = 0; i < 3; i++)
        texture.addressMode[i] = (CUaddress_mode)ONE_OF(1, 1, 0, 3);
    texture.filterMode = (CUfilter_mode)below(2);
    texture.flags = (unsigned int)ONE_OF(0, 1, 2);
    texture.borderColor[0] = 2.5f;
    say(" filter=%d flags=%u", (int)texture.filterMode, texture.flags);
    if (!CALL(cuTexObjectCreate, &handle, &resource, &texture, NULL))
        born(object, handle, NULL);
}

static void say_resource(const CUDA_RESOURCE_DESC *resource)
{
    say(" type=%d", (int)resource->resType);
    if (resource->resType == CU_RESOURCE_TYPE_ARRAY)
        say(" %s", name_of_handle(ARRAY, HANDLE(resource->res.array.hArray)));
    if (resource->resType == CU_RESOURCE_TYPE_LINEAR)
        say(" %s bytes=%zu", name_of_address(resource->res.linear.devPtr),
            resource->res.linear.sizeInBytes);
}

static void ask(void)
{
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC texture;
    CUDA_RESOURCE_VIEW_DESC view;
    struct object *object = pick(TEXTURE);
    NEED(object);
    memset(&resource, 0, sizeof resource);
    memset(&texture, 0, sizeof texture);
    say(" %s", name_of(object));
    switch (below(3)) {
    case 0:
        if (!CALL(cuTexObjectGetResourceDesc, &resource, object->handle))
            say_resource(&resource);
        break;
    case 1:
        if (!CALL(cuTexObjectGetTextureDesc, &texture, object->handle))
            say(" modes=%d,%d,%d filter=%d flags=%u border=%g", (int)texture.addressMode[0],
                (int)texture.addressMode[1], (int)texture.addressMode[2], (int)texture.filterMode,
                texture.flags, (double)texture.borderColor[0]);
        break;
    default:
        CALL(cuTexObjectGetResourceViewDesc, &view, object->handle);
    }
}

static void destroy(void)
{
    struct object *object = pick(TEXTURE);
    NEED(object);
    settle_all();
    say(" %s", name_of(object));
    END(object, cuTexObjectDestroy, object->handle);
}

static void create_surface(void)
{
    CUsurfObject handle = 0;
    struct object *object = vacant(SURFACE);
    NEED(object);
    say(" %s", name_of(object));
    CUDA_RESOURCE_DESC resource = some_resource();
    if (!CALL(cuSurfObjectCreate, &handle, &resource))
        born(object, handle, NULL);
}

static void ask_surface(void)
{
    CUDA_RESOURCE_DESC resource;
    struct object *object = pick(SURFACE);
    NEED(object);
    memset(&resource, 0, sizeof resource);
    say(" %s", name_of(object));
    if (!CALL(cuSurfObjectGetResourceDesc, &resource, object->handle))
        say_resource(&resource);
}

static void destroy_surface(void)
{
    struct object *object = pick(SURFACE);
    NEED(object);
    settle_all();
    say(" %s", name_of(object));
    END(object, cuSurfObjectDestroy, object->handle);
}

static void encode_map(void)
{
    CUtensorMap map;
    struct object *memory = pick_memory(DEVICE);
    NEED(memory);
    uint64_t dims[2] = { 64, 8 }, strides[1] = { (uint64_t)ONE_OF(256, 256, 100) };
    uint32_t box[2] = { (uint32_t)ONE_OF(16, 32, 300, 0), 4 }, steps[2] = { 1, 1 };
    say(" %s stride=%llu box=%u", name_of(memory), (unsigned long long)strides[0], box[0]);
    CALL(cuTensorMapEncodeTiled, &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
         (uint32_t)ONE_OF(2, 2, 0, 9), HOST(memory->handle), dims, strides, box, steps,
         CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
         CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}

static const struct operation operations[] = {
    { "create", 20, create },
    { "ask", 12, ask },
    { "destroy", 6, destroy },
    { "create a surface", 12, create_surface },
    { "ask a surface", 5, ask_surface },
    { "destroy a surface", 4, destroy_surface },
    { "encode a tensor map", 5, encode_map },
};

const struct area texture_area = { "textures", operations, COUNT(operations), 0 };
