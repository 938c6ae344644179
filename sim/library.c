/* Libraries: code without a context, with a module in each context that uses it. */
#include "config.h"

#include "sim/library.h"

#include <stdlib.h>

#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/image.h"
#include "sim/jit_log.h"
#include "sim/kernel.h"
#include "sim/module.h"
#include "sim/variable.h"

static void end_library(struct sim_library *library)
{
    for (struct sim_module *at = library->modules, *next; at; at = next) {
        next = at->next;
        sim_module_end(at);
    }
    for (struct sim_kernel *at = library->kernels, *next; at; at = next) {
        next = at->next;
        sim_object_forget(&at->object);
        free(at->name);
        free(at);
    }
    sim_variables_end(library->managed);
    sim_image_free(&library->image);
    sim_object_forget(&library->object);
    free(library);
}

static CUresult load_library(CUlibrary *out, const void *code)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (!out || !code)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_library *library = sim_object_new(SIM_LIBRARY, NULL, sizeof *library);
    if (!library)
        return CUDA_ERROR_OUT_OF_MEMORY;
    status = sim_image_read(code, &library->image);
    if (status)
        end_library(library);
    else
        *out = (CUlibrary)library;
    return status;
}

/* NOLINTBEGIN(readability-non-const-parameter): as CUDA declares them */
CUresult cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *jit, void **jit_values,
                           unsigned int jit_count, CUlibraryOption *options, void **values,
                           unsigned int count)
{
    if ((jit_count && (!jit || !jit_values)) || (count && (!options || !values)))
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_jit_logs logs = sim_jit_logs_of(jit, jit_values, jit_count);
    CUresult status = load_library(out, code);
    sim_jit_loaded(&logs, status);
    return status;
}

CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *jit,
                               void **jit_values, unsigned int jit_count, CUlibraryOption *options,
                               void **values, unsigned int count)
{
    if ((jit_count && (!jit || !jit_values)) || (count && (!options || !values)))
        return CUDA_ERROR_INVALID_VALUE;
    size_t size;
    char *code = sim_read_file(path, &size);
    struct sim_jit_logs logs = sim_jit_logs_of(jit, jit_values, jit_count);
    CUresult status = code ? load_library(out, code) : CUDA_ERROR_FILE_NOT_FOUND;
    sim_jit_loaded(&logs, status);
    free(code);
    return status;
}
/* NOLINTEND(readability-non-const-parameter) */

CUresult sim_library_find(CUlibrary handle, struct sim_library **out)
{
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    *out = sim_object_find(SIM_LIBRARY, handle);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLibraryUnload(CUlibrary handle)
{
    SIM_LOCKED;
    struct sim_library *library;
    CUresult status = sim_library_find(handle, &library);
    if (status)
        return status;
    sim_drain_all();
    end_library(library);
    return CUDA_SUCCESS;
}

CUresult sim_library_module(struct sim_library *library, struct sim_module **out)
{
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if (context->whole)
        context = context->whole;
    for (*out = library->modules; *out; *out = (*out)->next)
        if ((*out)->object.context == context)
            return CUDA_SUCCESS;
    *out = sim_object_new(SIM_MODULE, context, sizeof **out);
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*out)->library = library;
    (*out)->next = library->modules;
    library->modules = *out;
    status = sim_module_charge(*out);
    if (status)
        sim_module_end(*out);
    return status;
}

CUresult cuLibraryGetModule(CUmodule *out, CUlibrary handle)
{
    SIM_LOCKED;
    struct sim_library *library;
    struct sim_module *module;
    CUresult status = sim_library_find(handle, &library);
    if (!status && !out)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = sim_library_module(library, &module);
    if (!status)
        *out = (CUmodule)module;
    return status;
}

CUresult cuLibraryGetUnifiedFunction(void **out, CUlibrary handle, const char *name)
{
    SIM_LOCKED;
    struct sim_library *library;
    CUresult status = sim_library_find(handle, &library);
    if (status)
        return status;
    return out && name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
}
