/* Arrays: rows of elements without an address. Textures and surfaces are not simulated. */
#include "config.h"

#include "sim/array.h"

#include <stdlib.h>

#include "sim/capture.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"

static size_t format_bytes(CUarray_format format)
{
    switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0;
    }
}

static bool is_description(const CUDA_ARRAY3D_DESCRIPTOR *asked)
{
    const size_t most = (size_t)1 << 20;
    return asked->Width && asked->Width <= most && asked->Height <= most && asked->Depth <= most &&
           format_bytes(asked->Format) &&
           (asked->NumChannels == 1 || asked->NumChannels == 2 || asked->NumChannels == 4);
}

void sim_array_drop(struct sim_array *array)
{
    if (--array->refs)
        return;
    sim_discharge(array->device, array->bytes);
    free(array->cells);
    free(array);
}

CUresult sim_array_make(struct sim_context *context, const CUDA_ARRAY3D_DESCRIPTOR *asked,
                        struct sim_array **out)
{
    if (!is_description(asked))
        return CUDA_ERROR_INVALID_VALUE;
    if (asked->Flags & ~(unsigned int)(CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST |
                                       CUDA_ARRAY3D_TEXTURE_GATHER))
        return CUDA_ERROR_NOT_SUPPORTED;
    size_t row_bytes = asked->Width * asked->NumChannels * format_bytes(asked->Format);
    size_t height = asked->Height ? asked->Height : 1, depth = asked->Depth ? asked->Depth : 1;
    size_t bytes;
    if (__builtin_mul_overflow(row_bytes * height, depth, &bytes) ||
        !sim_charge(context->device, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct sim_array *array = sim_object_new(SIM_ARRAY, context, sizeof *array);
    unsigned char *cells = calloc(bytes, 1);
    if (!array || !cells) {
        sim_discharge(context->device, bytes);
        if (array)
            sim_object_forget(&array->object);
        free(array);
        free(cells);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    array->refs = 1;
    array->asked = *asked;
    array->row_bytes = row_bytes;
    array->height = height;
    array->depth = depth;
    array->bytes = bytes;
    array->cells = cells;
    array->device = context->device;
    *out = array;
    return CUDA_SUCCESS;
}

static CUresult create(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *asked)
{
    SIM_LOCKED;
    struct sim_context *context;
    struct sim_array *array;
    CUresult status = sim_enter(&context);
    if (!status)
        status = sim_capture_forbids();
    if (!status)
        status = out ? sim_array_make(context, asked, &array) : CUDA_ERROR_INVALID_VALUE;
    if (!status)
        *out = (CUarray)array;
    return status;
}

CUresult cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *asked)
{
    return asked ? create(out, asked) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *asked)
{
    if (!asked)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR flat = { .Width = asked->Width,
                                           .Height = asked->Height,
                                           .Format = asked->Format,
                                           .NumChannels = asked->NumChannels };
    return create(out, &flat);
}

CUresult cuArrayDestroy(CUarray handle)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_array *array = sim_object_find(SIM_ARRAY, handle);
    if (!array || array->is_level)
        return CUDA_ERROR_INVALID_HANDLE;
    sim_object_forget(&array->object);
    sim_array_drop(array);
    return CUDA_SUCCESS;
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray handle)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_array *array = sim_object_find(SIM_ARRAY, handle);
    if (!array)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = array->asked;
    return CUDA_SUCCESS;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *out, CUarray handle)
{
    CUDA_ARRAY3D_DESCRIPTOR whole;
    CUresult status = cuArray3DGetDescriptor_v2(&whole, handle);
    if (status)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUDA_ARRAY_DESCRIPTOR){ .Width = whole.Width,
                                    .Height = whole.Height,
                                    .Format = whole.Format,
                                    .NumChannels = whole.NumChannels };
    return CUDA_SUCCESS;
}
