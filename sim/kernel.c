/* Kernels of libraries, which belong to no context. */
#include "config.h"

#include "sim/kernel.h"

#include <stdlib.h>
#include <string.h>

#include "sim/device.h"
#include "sim/facts.h"
#include "sim/function.h"
#include "sim/image_kernels.h"
#include "sim/library.h"
#include "sim/module.h"
#include "sim/programs.h"

static CUresult get_kernel(struct sim_library *library, const char *name, struct sim_kernel **out)
{
    for (struct sim_kernel *at = library->kernels; at; at = at->next)
        if (!strcmp(at->name, name)) {
            *out = at;
            return CUDA_SUCCESS;
        }
    const struct sim_program *program = sim_image_program(&library->image, name);
    if (!program)
        return CUDA_ERROR_NOT_FOUND;
    struct sim_kernel *kernel = sim_object_new(SIM_KERNEL, NULL, sizeof *kernel);
    char *copy = strdup(name);
    if (!kernel || !copy) {
        if (kernel)
            sim_object_forget(&kernel->object);
        free(kernel);
        free(copy);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    kernel->library = library;
    kernel->program = program;
    kernel->name = copy;
    for (int i = 0; i < SIM_DEVICES_MAX; i++)
        kernel->settings[i] =
            (struct sim_function_settings){ .dynamic_shared_max = 49152, .carveout = -1 };
    kernel->next = library->kernels;
    library->kernels = kernel;
    *out = kernel;
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary handle, const char *name)
{
    SIM_LOCKED;
    struct sim_library *library;
    struct sim_kernel *kernel;
    CUresult status = sim_library_find(handle, &library);
    if (!status && (!out || !name || !*name))
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = get_kernel(library, name, &kernel);
    if (!status)
        *out = (CUkernel)kernel;
    return status;
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary handle)
{
    SIM_LOCKED;
    struct sim_library *library;
    CUresult status = sim_library_find(handle, &library);
    if (status)
        return status;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = sim_image_count_kernels(&library->image);
    return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel *out, unsigned int count, CUlibrary handle)
{
    SIM_LOCKED;
    struct sim_library *library;
    CUresult status = sim_library_find(handle, &library);
    if (!status && (!out || !count))
        status = CUDA_ERROR_INVALID_VALUE;
    const char *name;
    for (unsigned int i = 0; !status && i < count && (name = sim_image_kernel(&library->image, i));
         i++) {
        struct sim_kernel *kernel;
        status = get_kernel(library, name, &kernel);
        if (!status)
            out[i] = (CUkernel)kernel;
    }
    return status;
}

static CUresult find_kernel(CUkernel handle, struct sim_kernel **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    *out = sim_object_find(SIM_KERNEL, handle);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetFunction(CUfunction *out, CUkernel handle)
{
    SIM_LOCKED;
    struct sim_kernel *kernel;
    struct sim_module *module;
    struct sim_function *function;
    CUresult status = find_kernel(handle, &kernel);
    if (!status && !out)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = sim_library_module(kernel->library, &module);
    if (!status)
        status = sim_function_get(module, kernel->name, kernel, &function);
    if (!status)
        *out = (CUfunction)function;
    return status;
}

CUresult cuKernelGetLibrary(CUlibrary *out, CUkernel handle)
{
    SIM_LOCKED;
    struct sim_kernel *kernel;
    CUresult status = find_kernel(handle, &kernel);
    if (status)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUlibrary)kernel->library;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetName(const char **out, CUkernel handle)
{
    SIM_LOCKED;
    struct sim_kernel *kernel;
    CUresult status = find_kernel(handle, &kernel);
    if (status)
        return status;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = kernel->name;
    return CUDA_SUCCESS;
}
