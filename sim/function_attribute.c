/* Attributes and settings of functions, and of the kernels of libraries. */
#include "config.h"

#include "sim/device.h"
#include "sim/facts.h"
#include "sim/function.h"
#include "sim/kernel.h"
#include "sim/occupancy.h"
#include "sim/programs.h"
#include "sim/sim.h"

enum {
    SHARED_MAX = 232448, /* of a block that opts in */
    BINARY_VERSION = 90,
};

static CUresult get_attribute(int *value, CUfunction_attribute attribute,
                              const struct sim_function_settings *settings)
{
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = SIM_THREADS_MAX;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)sim_facts_local_bytes();
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = SIM_REGISTERS;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = BINARY_VERSION;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = settings->dynamic_shared_max;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = settings->carveout;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *value = settings->large_clusters;
        return CUDA_SUCCESS;
    default:
        if ((unsigned int)attribute >= CU_FUNC_ATTRIBUTE_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        *value = 0;
        return CUDA_SUCCESS;
    }
}

static CUresult set_attribute(CUfunction_attribute attribute, int value,
                              struct sim_function_settings *settings)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > SHARED_MAX)
            return CUDA_ERROR_INVALID_VALUE;
        settings->dynamic_shared_max = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        if (value < -1 || value > 100)
            return CUDA_ERROR_INVALID_VALUE;
        settings->carveout = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: /* any value; it changes no size */
        settings->large_clusters = value;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        return CUDA_SUCCESS; /* without effect on the simulated device */
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction handle)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    return status ? status : get_attribute(value, attribute, code.settings);
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    return status ? status : set_attribute(attribute, value, code.settings);
}

static CUresult kernel_settings(CUkernel handle, CUdevice number,
                                struct sim_function_settings **out)
{
    struct sim_device *device;
    CUresult status = sim_enter_device(number, &device);
    if (status)
        return status;
    struct sim_kernel *kernel = sim_object_find(SIM_KERNEL, handle);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    *out = &kernel->settings[number];
    return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel handle,
                              CUdevice device)
{
    SIM_LOCKED;
    struct sim_function_settings *settings;
    CUresult status = kernel_settings(handle, device, &settings);
    return status ? status : get_attribute(value, attribute, settings);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle,
                              CUdevice device)
{
    SIM_LOCKED;
    struct sim_function_settings *settings;
    CUresult status = kernel_settings(handle, device, &settings);
    return status ? status : set_attribute(attribute, value, settings);
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    if (!status && (unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    return status;
}

CUresult cuKernelSetCacheConfig(CUkernel handle, CUfunc_cache config, CUdevice device)
{
    SIM_LOCKED;
    struct sim_function_settings *settings;
    CUresult status = kernel_settings(handle, device, &settings);
    if (!status && (unsigned int)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return CUDA_ERROR_INVALID_VALUE;
    return status;
}

CUresult cuFuncGetName(const char **name, CUfunction handle)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    if (status)
        return status;
    if (!name)
        return CUDA_ERROR_INVALID_VALUE;
    *name = code.name;
    return CUDA_SUCCESS;
}

static CUresult param_info(CUfunction handle, size_t index, size_t *offset, size_t *bytes)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    if (status)
        return status;
    if (!offset || index >= code.program->param_count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = code.program->params[index].offset;
    if (bytes)
        *bytes = code.program->params[index].bytes;
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *offset, size_t *bytes)
{
    return param_info(handle, index, offset, bytes);
}

/* The layout of a kernel is available without a context. */
CUresult cuKernelGetParamInfo(CUkernel handle, size_t index, size_t *offset, size_t *bytes)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_kernel *kernel = sim_object_find(SIM_KERNEL, handle);
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!offset || index >= kernel->program->param_count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = kernel->program->params[index].offset;
    if (bytes)
        *bytes = kernel->program->params[index].bytes;
    return CUDA_SUCCESS;
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction handle)
{
    SIM_LOCKED;
    struct sim_code code;
    CUresult status = sim_code_find(handle, &code);
    if (status)
        return status;
    if (!state)
        return CUDA_ERROR_INVALID_VALUE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction handle)
{
    SIM_LOCKED;
    struct sim_code code;
    return sim_code_find(handle, &code);
}
