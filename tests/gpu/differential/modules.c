/* Modules, libraries, their kernels and variables, and the linker. */
#include "config.h"

#include "driver.h"

#include <stdlib.h>
#include <string.h>

static const char *const function_names[] = { "fill", "saxpy", "vector_add", "reduce_sum" };

static const char *some_function(void)
{
    return function_names[below(COUNT(function_names))];
}

static const char *some_image(void)
{
    static char cut[4096];
    switch (below(12)) {
    case 0:
        return "";
    case 1:
        return "no code at all";
    case 2:
        return ".version 7.0\n.target sm_75\n.address_size 64\nnonsense\n";
    case 3:
        strncpy(cut, kernels_text(), sizeof cut - 1);
        return cut;
    default:
        return kernels_text();
    }
}

static const char *kind_of(const char *image)
{
    if (image == kernels_text())
        return "kernels";
    return !*image               ? "nothing"
           : *image == 'n'       ? "no code"
           : strlen(image) < 100 ? "nonsense"
                                 : "half";
}

static void load(void)
{
    CUmodule handle = NULL;
    struct object *module = vacant(MODULE);
    NEED(module && kernels_text());
    const char *image = some_image();
    say(" %s of %s", name_of(module), kind_of(image));
    if (!CALL(cuModuleLoadData, &handle, image))
        born(module, HANDLE(handle), NULL);
}

/* The text of a log differs by the driver's version alone, but not between two ways to one driver.
 */
static void load_with_options(void)
{
    char info[512] = "", error[512] = "";
    CUmodule handle = NULL;
    struct object *module = vacant(MODULE);
    NEED(module && kernels_text());
    const char *image = some_image();
    CUjit_option options[] = { CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                               CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                               CU_JIT_MAX_REGISTERS };
    void *values[] = { info, HOST(sizeof info), error, HOST(sizeof error), HOST(32) };
    unsigned int count = (unsigned int)ONE_OF(5, 4, 2, 0);
    say(" %s of %s options=%u", name_of(module), kind_of(image), count);
    CUresult result = CALL(cuModuleLoadDataEx, &handle, image, count, options, values);
    if (count >= 4)
        say(" error log %zu bytes", strlen(error));
    if (!result)
        born(module, HANDLE(handle), NULL);
}

static void load_file(void)
{
    CUmodule handle = NULL;
    say(" no file");
    CALL(cuModuleLoad, &handle, "/nonexistent/kernels.cubin");
}

static void unload(void)
{
    struct object *module = pick(MODULE);
    NEED(module && !module->is_kept);
    settle_all();
    say(" %s", name_of(module));
    END(module, cuModuleUnload, MODULE_OF(module));
}

static void get_function(void)
{
    CUfunction handle = NULL;
    struct object *module = pick(MODULE), *function = vacant(FUNCTION);
    const char *name = chance(8) ? (chance(2) ? "no_such" : "") : some_function();
    NEED(module && function);
    say(" %s '%s' of %s", name_of(function), name, name_of(module));
    if (CALL(cuModuleGetFunction, &handle, MODULE_OF(module), name))
        return;
    born(function, HANDLE(handle), module);
    function->label = name;
}

static void get_variable(void)
{
    CUdeviceptr address = 0;
    size_t bytes = 0;
    struct object *module = pick(MODULE);
    const char *name = chance(6) ? "no_such" : "table";
    NEED(module);
    say(" '%s' of %s", name, name_of(module));
    if (CALL(cuModuleGetGlobal_v2, chance(6) ? NULL : &address, &bytes, MODULE_OF(module), name))
        return;
    say(" bytes=%zu %s", bytes, address ? "somewhere" : "null");
    if (!address || bytes > 4096)
        return;
    unsigned int value = (unsigned int)below(1000), got[1024] = { 0 };
    settle_all();
    CALL(cuMemsetD32_v2, address, value, bytes / 4);
    if (!CALL(cuMemcpyDtoH_v2, got, address, bytes))
        say(" %x", got[0]);
}

static void count_functions(void)
{
    unsigned int count = 0;
    CUfunction functions[4];
    struct object *module = pick(MODULE);
    NEED(module);
    say(" %s", name_of(module));
    if (!CALL(cuModuleGetFunctionCount, &count, MODULE_OF(module)))
        say(" count=%u", count);
    CALL(cuModuleEnumerateFunctions, functions, (unsigned int)below(5), MODULE_OF(module));
}

/* ---- libraries ---- */

static void load_library(void)
{
    CUlibrary handle = NULL;
    struct object *library = vacant(LIBRARY);
    NEED(library && kernels_text());
    const char *image = some_image();
    say(" %s of %s", name_of(library), kind_of(image));
    if (!CALL(cuLibraryLoadData, &handle, image, NULL, NULL, 0, NULL, NULL, 0))
        born(library, HANDLE(handle), NULL);
}

static void unload_library(void)
{
    struct object *library = pick(LIBRARY);
    NEED(library);
    settle_all();
    say(" %s", name_of(library));
    END(library, cuLibraryUnload, LIBRARY_OF(library));
}

static void get_kernel(void)
{
    CUkernel handle = NULL;
    struct object *library = pick(LIBRARY), *kernel = vacant(KERNEL);
    const char *name = chance(8) ? "no_such" : some_function();
    NEED(library && kernel);
    say(" %s '%s' of %s", name_of(kernel), name, name_of(library));
    if (CALL(cuLibraryGetKernel, &handle, LIBRARY_OF(library), name))
        return;
    born(kernel, HANDLE(handle), library);
    kernel->label = name;
}

static void ask_library(void)
{
    CUdeviceptr address = 0;
    CUmodule module = NULL;
    size_t bytes = 0;
    unsigned int count = 0;
    struct object *library = pick(LIBRARY);
    const char *name = chance(3) ? "no_such" : "table";
    NEED(library);
    say(" %s", name_of(library));
    switch (below(4)) {
    case 0:
        if (!CALL(cuLibraryGetKernelCount, &count, LIBRARY_OF(library)))
            say(" count=%u", count);
        break;
    case 1:
        say(" '%s'", name);
        if (!CALL(cuLibraryGetGlobal, &address, &bytes, LIBRARY_OF(library), name))
            say(" bytes=%zu", bytes);
        break;
    case 2:
        say(" '%s'", name);
        if (!CALL(cuLibraryGetManaged, &address, &bytes, LIBRARY_OF(library), name))
            say(" bytes=%zu", bytes);
        break;
    default:
        CALL(cuLibraryGetModule, &module, LIBRARY_OF(library));
    }
}

static void ask_kernel(void)
{
    const char *name = NULL;
    CUlibrary library = NULL;
    CUfunction function = NULL;
    int value = 0;
    size_t offset = 0, bytes = 0;
    struct object *kernel = pick(KERNEL);
    CUfunction_attribute attribute = (CUfunction_attribute)below(18);
    CUdevice device = (CUdevice)ONE_OF(0, 0, 0, 9);
    NEED(kernel);
    say(" %s", name_of(kernel));
    switch (below(6)) {
    case 0:
        if (!CALL(cuKernelGetName, &name, KERNEL_OF(kernel)))
            say(" %s", name);
        break;
    case 1:
        if (!CALL(cuKernelGetLibrary, &library, KERNEL_OF(kernel)))
            say(" %s", name_of_handle(LIBRARY, HANDLE(library)));
        break;
    case 2:
        CALL(cuKernelGetFunction, &function, KERNEL_OF(kernel));
        break;
    case 3:
        say(" %d", (int)attribute);
        if (!CALL(cuKernelGetAttribute, &value, attribute, KERNEL_OF(kernel), device))
            say(" %d", value);
        break;
    case 4:
        say(" %d", (int)attribute);
        CALL(cuKernelSetAttribute, attribute, (int)ONE_OF(0, 50, 1024), KERNEL_OF(kernel), device);
        break;
    default:
        if (!CALL(cuKernelGetParamInfo, KERNEL_OF(kernel), below(6), &offset, &bytes))
            say(" offset=%zu bytes=%zu", offset, bytes);
    }
}

/* ---- the linker ---- */

static void link_images(void)
{
    CUlinkState state = NULL;
    CUmodule handle = NULL;
    void *cubin = NULL;
    size_t bytes = 0;
    struct object *module = vacant(MODULE);
    NEED(module && kernels_text());
    const char *image = some_image();
    CUjitInputType type = (CUjitInputType)ONE_OF(1, 1, 1, 0, 9);
    say(" %s of %s type=%d", name_of(module), kind_of(image), (int)type);
    if (CALL(cuLinkCreate_v2, 0, NULL, NULL, &state))
        return;
    if (!CALL(cuLinkAddData_v2, state, type, (void *)(uintptr_t)image, strlen(image) + 1, "image",
              0, NULL, NULL) &&
        !CALL(cuLinkComplete, state, &cubin, &bytes) && !CALL(cuModuleLoadData, &handle, cubin))
        born(module, HANDLE(handle), NULL);
    CALL(cuLinkDestroy, state);
}

static const struct operation operations[] = {
    { "load", 12, load },
    { "load with options", 5, load_with_options },
    { "load a file", 1, load_file },
    { "unload", 8, unload },
    { "function", 20, get_function },
    { "variable", 8, get_variable },
    { "count functions", 3, count_functions },
    { "load a library", 12, load_library },
    { "unload a library", 4, unload_library },
    { "kernel", 15, get_kernel },
    { "ask a library", 6, ask_library },
    { "ask a kernel", 8, ask_kernel },
    { "link", 4, link_images },
};

const struct area module_area = { "modules", operations, COUNT(operations), 0 };
