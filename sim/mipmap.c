/* Mipmapped arrays: an array for each level, half as large in each dimension as the one before. */
#include "config.h"

#include "sim/sim.h"

#include <stdlib.h>

#include "sim/array.h"
#include "sim/capture.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"

enum { LEVELS_MAX = 32 };

struct sim_mipmap {
    struct sim_object object;
    unsigned int count;
    struct sim_array *levels[LEVELS_MAX];
};

static void end(struct sim_mipmap *mipmap)
{
    for (unsigned int i = 0; i < mipmap->count; i++) {
        sim_object_forget(&mipmap->levels[i]->object);
        sim_array_drop(mipmap->levels[i]);
    }
    sim_object_forget(&mipmap->object);
    free(mipmap);
}

static size_t half(size_t length)
{
    return length > 1 ? length / 2 : length;
}

/* The depth of a layered array is its number of layers, which does not shrink. */
static CUresult make_levels(struct sim_mipmap *mipmap, CUDA_ARRAY3D_DESCRIPTOR asked,
                            unsigned int count)
{
    CUresult status = CUDA_SUCCESS;
    while (mipmap->count < count && !status) {
        struct sim_array *array;
        status = sim_array_make(mipmap->object.context, &asked, &array);
        if (status)
            return status;
        array->is_level = true;
        mipmap->levels[mipmap->count++] = array;
        asked.Width = half(asked.Width);
        asked.Height = half(asked.Height);
        asked.Depth = asked.Flags & CUDA_ARRAY3D_LAYERED ? asked.Depth : half(asked.Depth);
    }
    return status;
}

/* Returns the number of levels until the longest dimension is one element. */
static unsigned int most_levels(const CUDA_ARRAY3D_DESCRIPTOR *asked)
{
    size_t longest = asked->Width > asked->Height ? asked->Width : asked->Height;
    unsigned int count = 1;
    if (!(asked->Flags & CUDA_ARRAY3D_LAYERED) && asked->Depth > longest)
        longest = asked->Depth;
    for (; longest > 1 && count < LEVELS_MAX; longest /= 2)
        count++;
    return count;
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *asked,
                                unsigned int count)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (!status)
        status = sim_capture_forbids();
    if (status)
        return status;
    if (!out || !asked || !count)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_mipmap *mipmap = sim_object_new(SIM_MIPMAP, context, sizeof *mipmap);
    if (!mipmap)
        return CUDA_ERROR_OUT_OF_MEMORY;
    unsigned int most = most_levels(asked);
    status = make_levels(mipmap, *asked, count < most ? count : most);
    if (status)
        end(mipmap);
    else
        *out = (CUmipmappedArray)mipmap;
    return status;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray handle)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_mipmap *mipmap = sim_object_find(SIM_MIPMAP, handle);
    if (!mipmap)
        return CUDA_ERROR_INVALID_HANDLE;
    end(mipmap);
    return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray *out, CUmipmappedArray handle, unsigned int level)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_mipmap *mipmap = sim_object_find(SIM_MIPMAP, handle);
    if (!mipmap)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!out || level >= mipmap->count)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUarray)mipmap->levels[level];
    return CUDA_SUCCESS;
}
