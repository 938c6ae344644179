/* Functions: the kernels of a module in its context; and the code of a launch. */
#include "config.h"

#include "sim/function.h"

#include <stdlib.h>
#include <string.h>

#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/image_kernels.h"
#include "sim/kernel.h"
#include "sim/module.h"
#include "sim/programs.h"

CUresult sim_function_get(struct sim_module *module, const char *name, struct sim_kernel *kernel,
                          struct sim_function **out)
{
    for (struct sim_function *at = module->functions; at; at = at->next)
        if (!strcmp(at->name, name)) {
            *out = at;
            return CUDA_SUCCESS;
        }
    const struct sim_program *program = sim_image_program(sim_module_image(module), name);
    if (!program)
        return CUDA_ERROR_NOT_FOUND;
    struct sim_function *function =
        sim_object_new(SIM_FUNCTION, module->object.context, sizeof *function);
    char *copy = strdup(name);
    if (!function || !copy) {
        if (function)
            sim_object_forget(&function->object);
        free(function);
        free(copy);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    function->module = module;
    function->kernel = kernel;
    function->program = program;
    function->name = copy;
    function->settings.carveout = -1;
    function->settings.dynamic_shared_max = 49152;
    function->next = module->functions;
    module->functions = function;
    *out = function;
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule handle, const char *name)
{
    SIM_LOCKED;
    struct sim_module *module;
    struct sim_function *function;
    CUresult status = sim_module_find(handle, &module);
    if (!status && (!out || !name || !*name))
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = sim_function_get(module, name, NULL, &function);
    if (!status)
        *out = (CUfunction)function;
    return status;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule handle)
{
    SIM_LOCKED;
    struct sim_module *module;
    CUresult status = sim_module_find(handle, &module);
    if (status)
        return status;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = sim_image_count_kernels(sim_module_image(module));
    return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *out, unsigned int count, CUmodule handle)
{
    SIM_LOCKED;
    struct sim_module *module;
    CUresult status = sim_module_find(handle, &module);
    if (!status && (!out || !count))
        status = CUDA_ERROR_INVALID_VALUE;
    const char *name;
    for (unsigned int i = 0;
         !status && i < count && (name = sim_image_kernel(sim_module_image(module), i)); i++) {
        struct sim_function *function;
        status = sim_function_get(module, name, NULL, &function);
        if (!status)
            out[i] = (CUfunction)function;
    }
    return status;
}

CUresult cuFuncGetModule(CUmodule *out, CUfunction handle)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_function *function = sim_object_find(SIM_FUNCTION, handle);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUmodule)function->module;
    return CUDA_SUCCESS;
}

CUresult sim_code_find(CUfunction handle, struct sim_code *out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_function *function = sim_object_find(SIM_FUNCTION, handle);
    if (function) {
        struct sim_context *context = function->object.context;
        struct sim_function_settings *settings =
            function->kernel ? &function->kernel->settings[context->device] : &function->settings;
        *out = (struct sim_code){ function->program, settings, context, function->name };
        return CUDA_SUCCESS;
    }
    struct sim_kernel *kernel = sim_object_find(SIM_KERNEL, handle);
    struct sim_context *context;
    if (!kernel)
        return CUDA_ERROR_INVALID_HANDLE;
    status = sim_enter(&context);
    if (!status)
        *out = (struct sim_code){ kernel->program, &kernel->settings[context->device], context,
                                  kernel->name };
    return status;
}
