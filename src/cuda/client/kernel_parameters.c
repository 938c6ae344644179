/* Packs the parameters of kernels. */
#include "config.h"

#include "cuda/client/kernel_parameters.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cuda/client/allocate.h"
#include "cuda/client/client.h"
#include "cuda/client/mirror.h"
#include "cuda/client/parameter_layout.h"

void ath_cuda_packed_free(struct ath_cuda_packed *packed)
{
    free(packed->bytes);
}

static CUresult pack_bytes(const void *bytes, size_t length, struct ath_cuda_packed *out)
{
    out->bytes = ath_cuda_allocate(length ? length : 1);
    if (!out->bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (length)
        memcpy(out->bytes, bytes, length);
    out->length = length;
    return CUDA_SUCCESS;
}

/* Reads the list `extra`, up to its end mark: the address of the packed parameters, and their
 * size. */
static CUresult pack_extra(void **extra, struct ath_cuda_packed *out)
{
    const void *bytes = NULL;
    size_t length = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            bytes = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            length = *(const size_t *)extra[1];
        else
            return CUDA_ERROR_INVALID_VALUE;
    }
    return bytes || !length ? pack_bytes(bytes, length, out) : CUDA_ERROR_INVALID_VALUE;
}

static CUresult pack_each(const struct ath_cuda_parameter_layout *layout, void **params,
                          struct ath_cuda_packed *out)
{
    if (layout->count && !params)
        return CUDA_ERROR_INVALID_VALUE;
    out->bytes = ath_cuda_allocate(layout->bytes ? layout->bytes : 1);
    out->length = layout->bytes;
    for (size_t i = 0; out->bytes && i < layout->count; i++)
        memcpy(out->bytes + layout->parameters[i].offset, params[i], layout->parameters[i].size);
    return out->bytes ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* A pointer lies in one parameter: two small ones side by side are none. */
static CUresult open_pointers(const struct ath_cuda_parameter_layout *layout,
                              const struct ath_cuda_packed *packed)
{
    CUresult status = CUDA_SUCCESS;
    if (!layout)
        return ath_cuda_host_open_pointers(packed->bytes, packed->length, 0);
    for (size_t i = 0; !status && i < layout->count; i++) {
        size_t offset = layout->parameters[i].offset, size = layout->parameters[i].size;
        if (size >= sizeof(uint64_t) && offset + size <= packed->length)
            status = ath_cuda_host_open_pointers(packed->bytes + offset, size, offset);
    }
    return status;
}

CUresult ath_cuda_pack(CUfunction function, uint64_t threads, void **params, void **extra,
                       struct ath_cuda_packed *out)
{
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    if (params && extra)
        return CUDA_ERROR_INVALID_VALUE;
    ath_auto_free struct ath_cuda_parameter_layout *layout = NULL;
    CUresult status = ath_cuda_parameter_layout_of(function, &layout);
    if (layout && layout->max_threads && threads > layout->max_threads)
        return CUDA_ERROR_INVALID_VALUE;
    if (extra)
        status = pack_extra(extra, out);
    else if (layout)
        status = pack_each(layout, params, out);
    return status ? status : open_pointers(layout, out);
}

uint64_t ath_cuda_function_to_wire(struct ath_cuda_side *side, CUfunction function)
{
    return ath_cuda_to_wire(
        side, ath_cuda_is_kernel(function) ? ATH_CUDA_KIND_KERNEL : ATH_CUDA_KIND_FUNCTION,
        (uintptr_t)function);
}
