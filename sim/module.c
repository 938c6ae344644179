/* Modules: loading and unloading them. */
#include "config.h"

#include "sim/module.h"

#include <stdlib.h>

#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/facts.h"
#include "sim/function.h"
#include "sim/image.h"
#include "sim/jit_log.h"
#include "sim/library.h"
#include "sim/stream.h"
#include "sim/variable.h"

struct sim_image *sim_module_image(struct sim_module *module)
{
    return module->library ? &module->library->image : &module->image;
}

CUresult sim_module_charge(struct sim_module *module)
{
    size_t bytes = sim_facts_module_bytes();
    if (!sim_charge(module->object.context->device, bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    module->charged_bytes = bytes;
    return CUDA_SUCCESS;
}

void sim_module_end(struct sim_module *module)
{
    sim_discharge(module->object.context->device, module->charged_bytes);
    for (struct sim_function *at = module->functions, *next; at; at = next) {
        next = at->next;
        sim_object_forget(&at->object);
        free(at->name);
        free(at);
    }
    sim_variables_end(module->variables);
    if (module->library) {
        struct sim_module **at = &module->library->modules;
        while (*at != module)
            at = &(*at)->next;
        *at = module->next;
    }
    sim_image_free(&module->image);
    sim_object_forget(&module->object);
    free(module);
}

static CUresult load_module(CUmodule *out, const void *code)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if (!out || !code)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_module *module = sim_object_new(SIM_MODULE, context, sizeof *module);
    if (!module)
        return CUDA_ERROR_OUT_OF_MEMORY;
    status = sim_image_read(code, &module->image);
    if (!status)
        status = sim_module_charge(module);
    if (status)
        sim_module_end(module);
    else
        *out = (CUmodule)module;
    return status;
}

CUresult cuModuleLoad(CUmodule *out, const char *path)
{
    size_t size;
    char *code = sim_read_file(path, &size);
    CUresult status = code ? load_module(out, code) : CUDA_ERROR_FILE_NOT_FOUND;
    free(code);
    return status;
}

CUresult cuModuleLoadData(CUmodule *out, const void *code)
{
    return load_module(out, code);
}

/* NOLINTBEGIN(readability-non-const-parameter): as CUDA declares them */
CUresult cuModuleLoadDataEx(CUmodule *out, const void *code, unsigned int count,
                            CUjit_option *options, void **values)
{
    if (count && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_jit_logs logs = sim_jit_logs_of(options, values, count);
    CUresult status = load_module(out, code);
    sim_jit_loaded(&logs, status);
    return status;
}
/* NOLINTEND(readability-non-const-parameter) */

CUresult cuModuleLoadFatBinary(CUmodule *out, const void *code)
{
    return load_module(out, code);
}

CUresult sim_module_find(CUmodule handle, struct sim_module **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    *out = sim_object_find(SIM_MODULE, handle);
    return *out ? (*out)->object.context->fault : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleUnload(CUmodule handle)
{
    SIM_LOCKED;
    struct sim_module *module;
    CUresult status = sim_module_find(handle, &module);
    if (status)
        return status;
    if (module->library)
        return CUDA_ERROR_NOT_PERMITTED;
    sim_context_drain(module->object.context);
    sim_module_end(module);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (!mode)
        return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}
