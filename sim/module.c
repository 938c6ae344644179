/*
 * Modules and libraries, their kernels and variables.
 *
 * A library belongs to no context; each context that uses it has a module of it. A kernel exists if
 * the device knows it (programs.c) and the image contains it, or cannot be read. Variables are
 * memory of zeros: initializers are not read.
 */
#include "config.h"

#include "sim/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/context.h"
#include "sim/device.h"
#include "sim/device_memory.h"
#include "sim/facts.h"
#include "sim/host_memory.h"
#include "sim/image.h"
#include "sim/jit_log.h"
#include "sim/programs.h"
#include "sim/range.h"
#include "sim/stream.h"

enum { FILE_BYTES_MAX = 256 << 20 };

struct variable {
    struct variable *next;
    const char *name; /* of the image */
    uint64_t address;
};

struct sim_module {
    struct sim_object object;
    struct sim_library *library; /* NULL: loaded without a library */
    struct sim_module *next;     /* of the library */
    struct sim_image image;      /* empty for a module of a library */
    struct sim_function *functions;
    struct variable *variables;
    size_t charged_bytes; /* of the device's memory, for the module itself */
};

struct sim_library {
    struct sim_object object;
    struct sim_image image;
    struct sim_kernel *kernels;
    struct sim_module *modules;
    struct variable *managed;
};

static struct sim_image *image_of(struct sim_module *module)
{
    return module->library ? &module->library->image : &module->image;
}

static const struct sim_symbol *find_symbol(const struct sim_image *image, const char *name,
                                            bool is_kernel)
{
    for (size_t i = 0; i < image->count; i++)
        if (image->symbols[i].is_kernel == is_kernel && !strcmp(image->symbols[i].name, name))
            return &image->symbols[i];
    return NULL;
}

/*
 * Finds the simulated kernel of this name. Prints a line if the image has the kernel and the
 * simulated GPU cannot run it: with the error code alone the user would search in the program. A
 * server passes the line on to the program and to its own log, so it has only letters of
 * identifiers (PTX ISA, "Identifiers").
 */
static const struct sim_program *find_program(const struct sim_image *image, const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$%";
    const struct sim_program *program = sim_program_find(name);
    bool is_there = image->is_opaque || find_symbol(image, name, true);

    if (is_there && !program)
        fprintf(stderr,
                "aitherion: this program's GPU is simulated (aitherion start --sim) and has no "
                "kernel '%.*s': it runs only the kernels of aitherion's own examples and tests, by "
                "name\n",
                (int)strspn(name, letters), name);
    return is_there ? program : NULL;
}

/* Returns the name of the n-th kernel, or NULL. An unreadable image has all kernels of the device.
 */
static const char *kernel_name(const struct sim_image *image, size_t number)
{
    if (image->is_opaque) {
        const struct sim_program *program = sim_program_number(number);
        return program ? program->mangled : NULL;
    }
    for (size_t i = 0; i < image->count; i++)
        if (image->symbols[i].is_kernel && sim_program_find(image->symbols[i].name) && !number--)
            return image->symbols[i].name;
    return NULL;
}

static unsigned int count_kernels(const struct sim_image *image)
{
    unsigned int count = 0;
    while (kernel_name(image, count))
        count++;
    return count;
}

/* ---- modules ---- */

static void end_variables(struct variable *list)
{
    for (struct variable *at = list, *next; at; at = next) {
        struct sim_range *range = sim_range_at(at->address);
        next = at->next;
        if (range && range->base == at->address)
            sim_range_end(range);
        free(at);
    }
}

static CUresult charge(struct sim_module *module)
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
    end_variables(module->variables);
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
        status = charge(module);
    if (status)
        sim_module_end(module);
    else
        *out = (CUmodule)module;
    return status;
}

char *sim_read_file(const char *path, size_t *out_size)
{
    FILE *file = path ? fopen(path, "rbe") : NULL;
    char *bytes = NULL;
    if (file && !fseek(file, 0, SEEK_END)) {
        long length = ftell(file);
        rewind(file);
        bytes = length > 0 && length < FILE_BYTES_MAX ? malloc((size_t)length + 64) : NULL;
        if (bytes)
            memset(bytes + length, 0, 64);
        if (bytes && fread(bytes, 1, (size_t)length, file) != (size_t)length) {
            free(bytes);
            bytes = NULL;
        }
        *out_size = (size_t)length;
    }
    if (file)
        fclose(file);
    return bytes;
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
    if (status)
        sim_jit_say(&logs.error, "fatal   : the image cannot be loaded (error %d)", (int)status);
    return status;
}
/* NOLINTEND(readability-non-const-parameter) */

CUresult cuModuleLoadFatBinary(CUmodule *out, const void *code)
{
    return load_module(out, code);
}

static CUresult find_module(CUmodule handle, struct sim_module **out)
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
    CUresult status = find_module(handle, &module);
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

/* ---- functions ---- */

static CUresult get_function(struct sim_module *module, const char *name, struct sim_kernel *kernel,
                             struct sim_function **out)
{
    for (struct sim_function *at = module->functions; at; at = at->next)
        if (!strcmp(at->name, name)) {
            *out = at;
            return CUDA_SUCCESS;
        }
    const struct sim_program *program = find_program(image_of(module), name);
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
    CUresult status = find_module(handle, &module);
    if (!status && (!out || !name || !*name))
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = get_function(module, name, NULL, &function);
    if (!status)
        *out = (CUfunction)function;
    return status;
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule handle)
{
    SIM_LOCKED;
    struct sim_module *module;
    CUresult status = find_module(handle, &module);
    if (status)
        return status;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = count_kernels(image_of(module));
    return CUDA_SUCCESS;
}

CUresult cuModuleEnumerateFunctions(CUfunction *out, unsigned int count, CUmodule handle)
{
    SIM_LOCKED;
    struct sim_module *module;
    CUresult status = find_module(handle, &module);
    if (!status && (!out || !count))
        status = CUDA_ERROR_INVALID_VALUE;
    const char *name;
    for (unsigned int i = 0; !status && i < count && (name = kernel_name(image_of(module), i));
         i++) {
        struct sim_function *function;
        status = get_function(module, name, NULL, &function);
        if (!status)
            out[i] = (CUfunction)function;
    }
    return status;
}

/* ---- variables ---- */

enum { UNKNOWN_BYTES = 1 << 16 };

static const struct sim_symbol *find_variable(struct sim_image *image, const char *name)
{
    const struct sim_symbol *found = find_symbol(image, name, false);
    if (found || !image->is_opaque || !sim_facts_ignores_unknown() ||
        sim_image_add_variable(image, name, UNKNOWN_BYTES))
        return found;
    return find_symbol(image, name, false);
}

static CUresult make_memory(struct sim_context *context, const struct sim_symbol *symbol,
                            uint64_t *out_address)
{
    struct sim_range *range;
    if (symbol->is_managed) {
        CUresult given = sim_managed_memory(symbol->bytes, out_address);
        if (!given)
            memset((void *)(uintptr_t)*out_address, 0, symbol->bytes);
        return given;
    }
    CUresult status = sim_device_memory(context, context->device, symbol->bytes, NULL, &range);
    if (status)
        return status;
    memset(range->backing, 0, range->bytes);
    *out_address = range->base;
    return CUDA_SUCCESS;
}

/* Managed variables of a library exist once for all contexts, and without any context. */
static CUresult get_variable(struct variable **list, const struct sim_symbol *symbol,
                             struct sim_context *context, CUdeviceptr *out, size_t *out_bytes)
{
    struct variable *at = *list;
    while (at && strcmp(at->name, symbol->name) != 0)
        at = at->next;
    if (!at) {
        uint64_t address;
        at = calloc(1, sizeof *at);
        CUresult status = at ? make_memory(context, symbol, &address) : CUDA_ERROR_OUT_OF_MEMORY;
        if (status) {
            free(at);
            return status;
        }
        *at = (struct variable){ *list, symbol->name, address };
        *list = at;
    }
    if (out)
        *out = at->address;
    if (out_bytes)
        *out_bytes = symbol->bytes;
    return CUDA_SUCCESS;
}

static CUresult get_global(struct sim_module *module, const char *name, CUdeviceptr *out,
                           size_t *out_bytes)
{
    const struct sim_symbol *symbol = find_variable(image_of(module), name);
    if (!symbol)
        return CUDA_ERROR_NOT_FOUND;
    struct variable **list =
        symbol->is_managed && module->library ? &module->library->managed : &module->variables;
    return get_variable(list, symbol, module->object.context, out, out_bytes);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *out, size_t *bytes, CUmodule handle, const char *name)
{
    SIM_LOCKED;
    struct sim_module *module;
    CUresult status = find_module(handle, &module);
    if (!status && !name)
        status = CUDA_ERROR_INVALID_VALUE;
    return status ? status : get_global(module, name, out, bytes);
}

/* ---- libraries ---- */

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
    end_variables(library->managed);
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
    return load_library(out, code);
}

CUresult cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *jit,
                               void **jit_values, unsigned int jit_count, CUlibraryOption *options,
                               void **values, unsigned int count)
{
    if ((jit_count && (!jit || !jit_values)) || (count && (!options || !values)))
        return CUDA_ERROR_INVALID_VALUE;
    size_t size;
    char *code = sim_read_file(path, &size);
    CUresult status = code ? load_library(out, code) : CUDA_ERROR_FILE_NOT_FOUND;
    free(code);
    return status;
}
/* NOLINTEND(readability-non-const-parameter) */

static CUresult find_library(CUlibrary handle, struct sim_library **out)
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
    CUresult status = find_library(handle, &library);
    if (status)
        return status;
    sim_drain_all();
    end_library(library);
    return CUDA_SUCCESS;
}

/* Returns the library's module in the current context, which it makes on first use. */
static CUresult module_of(struct sim_library *library, struct sim_module **out)
{
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    for (*out = library->modules; *out; *out = (*out)->next)
        if ((*out)->object.context == context)
            return CUDA_SUCCESS;
    *out = sim_object_new(SIM_MODULE, context, sizeof **out);
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    (*out)->library = library;
    (*out)->next = library->modules;
    library->modules = *out;
    status = charge(*out);
    if (status)
        sim_module_end(*out);
    return status;
}

CUresult cuLibraryGetModule(CUmodule *out, CUlibrary handle)
{
    SIM_LOCKED;
    struct sim_library *library;
    struct sim_module *module;
    CUresult status = find_library(handle, &library);
    if (!status && !out)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = module_of(library, &module);
    if (!status)
        *out = (CUmodule)module;
    return status;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *out, size_t *bytes, CUlibrary handle, const char *name)
{
    SIM_LOCKED;
    struct sim_library *library;
    struct sim_module *module;
    CUresult status = find_library(handle, &library);
    if (!status && !name)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = module_of(library, &module);
    return status ? status : get_global(module, name, out, bytes);
}

CUresult cuLibraryGetManaged(CUdeviceptr *out, size_t *bytes, CUlibrary handle, const char *name)
{
    SIM_LOCKED;
    struct sim_library *library;
    CUresult status = find_library(handle, &library);
    if (!status && (!name || (!out && !bytes)))
        status = CUDA_ERROR_INVALID_VALUE;
    if (status)
        return status;
    const struct sim_symbol *symbol = find_variable(&library->image, name);
    return symbol && symbol->is_managed ? get_variable(&library->managed, symbol, NULL, out, bytes)
                                        : CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryGetUnifiedFunction(void **out, CUlibrary handle, const char *name)
{
    SIM_LOCKED;
    struct sim_library *library;
    CUresult status = find_library(handle, &library);
    if (status)
        return status;
    return out && name ? CUDA_ERROR_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
}

/* ---- kernels of libraries ---- */

static CUresult get_kernel(struct sim_library *library, const char *name, struct sim_kernel **out)
{
    for (struct sim_kernel *at = library->kernels; at; at = at->next)
        if (!strcmp(at->name, name)) {
            *out = at;
            return CUDA_SUCCESS;
        }
    const struct sim_program *program = find_program(&library->image, name);
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
    CUresult status = find_library(handle, &library);
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
    CUresult status = find_library(handle, &library);
    if (status)
        return status;
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    *count = count_kernels(&library->image);
    return CUDA_SUCCESS;
}

CUresult cuLibraryEnumerateKernels(CUkernel *out, unsigned int count, CUlibrary handle)
{
    SIM_LOCKED;
    struct sim_library *library;
    CUresult status = find_library(handle, &library);
    if (!status && (!out || !count))
        status = CUDA_ERROR_INVALID_VALUE;
    const char *name;
    for (unsigned int i = 0; !status && i < count && (name = kernel_name(&library->image, i));
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
        status = module_of(kernel->library, &module);
    if (!status)
        status = get_function(module, kernel->name, kernel, &function);
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

/* ---- the function of a launch ---- */

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
