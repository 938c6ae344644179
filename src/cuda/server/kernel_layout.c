/* Asks the driver where the parameters of a kernel lie. */
#include "config.h"

#include "cuda/server/kernel_layout.h"
#include "proto/cuda-wire.h"

static uint32_t max_threads_of(const struct ath_cuda_driver *driver, CUfunction function,
                               CUkernel kernel)
{
    const CUfunction_attribute threads = CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    CUdevice device = 0;
    int value = 0;
    CUresult status = CUDA_ERROR_NOT_SUPPORTED;
    if (function && driver->cuFuncGetAttribute)
        status = driver->cuFuncGetAttribute(&value, threads, function);
    else if (kernel && driver->cuKernelGetAttribute && !driver->cuCtxGetDevice(&device))
        status = driver->cuKernelGetAttribute(&value, threads, kernel, device);
    return status || value < 0 ? 0 : (uint32_t)value;
}

CUresult ath_cuda_kernel_layout_ask(const struct ath_cuda_driver *driver, CUfunction function,
                                    CUkernel kernel, struct ath_cuda_kernel_layout *out)
{
    bool is_known =
        kernel ? driver->cuKernelGetParamInfo != NULL : driver->cuFuncGetParamInfo != NULL;
    CUresult status = is_known ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    for (out->count = 0; !status && out->count < ATH_CUDA_PARAMETERS_MAX; out->count += !status) {
        size_t *offset = &out->parameters[out->count].offset;
        size_t *size = &out->parameters[out->count].size;
        status = kernel ? driver->cuKernelGetParamInfo(kernel, out->count, offset, size)
                        : driver->cuFuncGetParamInfo(function, out->count, offset, size);
    }
    out->max_threads = max_threads_of(driver, function, kernel);
    return status == CUDA_ERROR_INVALID_VALUE ? CUDA_SUCCESS : status; /* there is no such one */
}

void ath_cuda_kernel_layout_put(struct ath_cuda_wire_layout_builder to,
                                const struct ath_cuda_kernel_layout *layout)
{
    ath_cuda_wire_layout_set_is_known(to, true);
    ath_cuda_wire_layout_set_max_threads(to, layout->max_threads);
    struct ath_wire_array offsets = ath_cuda_wire_layout_init_offsets(to, layout->count);
    struct ath_wire_array sizes = ath_cuda_wire_layout_init_sizes(to, layout->count);
    for (uint32_t i = 0; i < layout->count; i++) {
        ath_wire_array_set_bits(offsets, i, layout->parameters[i].offset);
        ath_wire_array_set_bits(sizes, i, layout->parameters[i].size);
    }
}
