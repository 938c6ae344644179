/*
 * Modules and libraries: their variables and their code.
 *
 * The bytes that an image declares are counted before the driver loads it (image.h). The bytes that
 * the driver has taken are measured after that, and count if they are more: a part of an image may
 * be compressed. The driver loads a module's variables with the module, and a library's when a
 * context first gets a kernel of it (seen with driver 580 on an H200). Code is loaded with a
 * kernel's first launch, where nothing is counted, so it counts as the image declares it.
 */
#include "config.h"

#include "runtime/quota/wrappers.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/unknown.h"
#include "runtime/quota/context_memory.h"
#include "runtime/quota/image.h"
#include "runtime/quota/kernels.h"
#include "runtime/quota/measure.h"
#include "runtime/quota/room.h"
#include "runtime/quota/session_quota.h"

static CUdevice current_device(void)
{
    CUdevice device;
    return ath_quota.driver.cuCtxGetDevice && !ath_quota.driver.cuCtxGetDevice(&device) ? device
                                                                                        : -1;
}

/* ---- modules ---- */

/* Counts what a new module has taken beyond its holding. Returns false if there is no room. */
static bool count_module(struct ath_holding *holding, int64_t measured)
{
    int64_t more = measured - holding->bytes;
    if (holding->device == SIZE_MAX || more <= 0)
        return true;
    if (!ath_room_make(holding->device, (uint64_t)more))
        return false;
    holding->bytes += more;
    return true;
}

/* Enters a module that the driver has loaded, unless it failed (status). Returns the status. */
static CUresult settle_module(const CUmodule *module, struct ath_holding *holding,
                              const struct ath_measure *before, CUresult status)
{
    if (!status && !count_module(holding, ath_measure_end(before))) {
        ath_quota.driver.cuModuleUnload(*module);
        status = CUDA_ERROR_OUT_OF_MEMORY;
    }
    return ath_ledger_settle(holding, ATH_HOLDING_MODULE, status ? 0 : (uintptr_t)*module, status);
}

CUresult ath_quota_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
                                      CUjit_option *options, void **values)
{
    struct ath_measure before;
    struct ath_holding *holding = ath_room_take(ath_quota_current_device(), ath_image_memory(image),
                                                ath_quota_current_context());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    ath_measure_begin(current_device(), &before);
    CUresult status = ath_quota.driver.cuModuleLoadDataEx(module, image, count, options, values);
    return settle_module(module, holding, &before, status);
}

CUresult ath_quota_cuModuleLoadData(CUmodule *module, const void *image)
{
    return image ? ath_quota_cuModuleLoadDataEx(module, image, 0, NULL, NULL)
                 : CUDA_ERROR_INVALID_VALUE;
}

CUresult ath_quota_cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
    return ath_quota_cuModuleLoadData(module, image);
}

/* A file's memory is only measured. */
CUresult ath_quota_cuModuleLoad(CUmodule *module, const char *path)
{
    struct ath_measure before;
    struct ath_holding *holding =
        ath_room_take(ath_quota_current_device(), 0, ath_quota_current_context());
    if (!holding)
        return CUDA_ERROR_OUT_OF_MEMORY;
    ath_measure_begin(current_device(), &before);
    return settle_module(module, holding, &before, ath_quota.driver.cuModuleLoad(module, path));
}

CUresult ath_quota_cuModuleUnload(CUmodule module)
{
    struct ath_holding *holding = ath_ledger_withdraw(ATH_HOLDING_MODULE, (uintptr_t)module);
    return ath_ledger_conclude(holding, ath_quota.driver.cuModuleUnload(module));
}

/* ---- libraries ---- */

struct library {
    struct ath_map_entry entry; /* by the driver's handle */
    int64_t bytes;              /* counted in each context */
    CUcontext measured;         /* the last context in which it was measured */
};

static struct {
    pthread_mutex_t lock; /* of what follows */
    struct ath_map all;
} libraries = { .lock = PTHREAD_MUTEX_INITIALIZER, .all = ATH_MAP(8) };

static void add_library(struct library *made, CUlibrary handle)
{
    pthread_mutex_lock(&libraries.lock);
    ath_map_add(&libraries.all, &made->entry, (uintptr_t)handle);
    pthread_mutex_unlock(&libraries.lock);
}

CUresult ath_quota_cuLibraryLoadData(CUlibrary *library, const void *code,
                                     CUjit_option *jit_options, void **jit_values,
                                     unsigned int jit_count, CUlibraryOption *options,
                                     void **values, unsigned int count)
{
    struct library *made = calloc(1, sizeof *made);
    int64_t bytes = ath_ledger_bytes(ath_image_memory(code));
    if (!made || ath_context_memory_add_library(bytes, false)) {
        free(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult status = ath_quota.driver.cuLibraryLoadData(library, code, jit_options, jit_values,
                                                         jit_count, options, values, count);
    if (status) {
        ath_context_memory_add_library(-bytes, false);
        free(made);
        return status;
    }
    made->bytes = bytes;
    add_library(made, *library);
    return status;
}

/* A file's memory is only measured, when a context first gets a kernel of it. */
CUresult ath_quota_cuLibraryLoadFromFile(CUlibrary *library, const char *path,
                                         CUjit_option *jit_options, void **jit_values,
                                         unsigned int jit_count, CUlibraryOption *options,
                                         void **values, unsigned int count)
{
    struct library *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_quota.driver.cuLibraryLoadFromFile(library, path, jit_options, jit_values,
                                                             jit_count, options, values, count);
    if (status)
        free(made);
    else
        add_library(made, *library);
    return status;
}

/* The driver may give the handle to another library as soon as it has unloaded this one. */
CUresult ath_quota_cuLibraryUnload(CUlibrary library)
{
    pthread_mutex_lock(&libraries.lock);
    struct library *ended =
        (struct library *)ath_map_take(ath_map_at(&libraries.all, (uintptr_t)library));
    pthread_mutex_unlock(&libraries.lock);
    CUresult status = ath_quota.driver.cuLibraryUnload(library);
    if (!ended)
        return status;
    if (!status) {
        ath_context_memory_add_library(-ended->bytes, false);
        free(ended);
        return status;
    }
    pthread_mutex_lock(&libraries.lock);
    ath_map_add(&libraries.all, &ended->entry, (uintptr_t)library);
    pthread_mutex_unlock(&libraries.lock);
    return status;
}

/* Begins to measure a call that may load a library into the current context. Returns false if the
 * library was measured there. */
static bool begin_loading(CUlibrary handle, struct ath_measure *out)
{
    CUcontext context = ath_quota_current_context();
    pthread_mutex_lock(&libraries.lock);
    const struct library *library =
        (struct library *)ath_map_find(&libraries.all, (uintptr_t)handle);
    bool is_new = context && library && library->measured != context;
    pthread_mutex_unlock(&libraries.lock);
    if (is_new)
        ath_measure_begin(current_device(), out);
    return is_new;
}

/* Counts what the library has taken beyond what is counted for it, even beyond the limits: the
 * driver cannot give it back before the program unloads the library. */
static void end_loading(CUlibrary handle, const struct ath_measure *before)
{
    int64_t measured = ath_measure_end(before), more = 0;
    pthread_mutex_lock(&libraries.lock);
    struct library *library = (struct library *)ath_map_find(&libraries.all, (uintptr_t)handle);
    if (library) {
        library->measured = ath_quota_current_context();
        more = measured > library->bytes ? measured - library->bytes : 0;
        library->bytes += more;
    }
    pthread_mutex_unlock(&libraries.lock);
    if (more)
        ath_context_memory_add_library(more, true);
}

/* Ends what begin_loading() began, after the driver's call returned `status`. A library that is
 * beyond a limit gives the program nothing that it could use. */
static CUresult check_loaded(CUlibrary handle, const struct ath_measure *before, CUresult status)
{
    if (status)
        return status;
    end_loading(handle, before);
    size_t device = ath_quota_current_device();
    if (device == SIZE_MAX || !ath_room_is_beyond(device))
        return CUDA_SUCCESS;
    ath_room_log_full(device, 0);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUlibrary library_of(CUkernel kernel)
{
    CUlibrary library = NULL;
    return ath_quota.driver.cuKernelGetLibrary &&
                   !ath_quota.driver.cuKernelGetLibrary(&library, kernel)
               ? library
               : NULL;
}

static CUresult load_kernel(CUfunction *function, CUkernel kernel, CUlibrary library)
{
    struct ath_measure before;
    bool is_new = begin_loading(library, &before);
    CUresult status = ath_quota.driver.cuKernelGetFunction(function, kernel);
    return is_new ? check_loaded(library, &before, status) : status;
}

CUresult ath_quota_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    return load_kernel(function, kernel, library_of(kernel));
}

/* Counts what a kernel needs before the program has it. A kernel that cannot be loaded has nothing
 * to count, and its launch fails. */
static CUresult count_kernel(CUkernel kernel, CUlibrary library)
{
    CUfunction function;
    CUdevice device = current_device();
    if (ath_quota.driver.cuKernelGetFunction && device >= 0 &&
        load_kernel(&function, kernel, library) == CUDA_ERROR_OUT_OF_MEMORY)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = CUDA_SUCCESS;
    if (device >= 0)
        return ath_kernels_count_kernel(kernel, device);
    for (size_t i = 0; i < ath_quota.count && !status; i++)
        status = ath_kernels_count_kernel(kernel, (CUdevice)i);
    return status;
}

CUresult ath_quota_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    CUresult status = ath_quota.driver.cuLibraryGetKernel(kernel, library, name);
    return status ? status : count_kernel(*kernel, library);
}

CUresult ath_quota_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int count,
                                             CUlibrary library)
{
    unsigned int exist = count;
    CUresult status = ath_quota.driver.cuLibraryEnumerateKernels(kernels, count, library);
    if (!status && ath_quota.driver.cuLibraryGetKernelCount)
        ath_quota.driver.cuLibraryGetKernelCount(&exist, library);
    for (unsigned int i = 0; !status && i < ath_kernels_filled(count, exist); i++)
        status = count_kernel(kernels[i], library);
    return status;
}

CUresult ath_quota_cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
    struct ath_measure before;
    bool is_new = begin_loading(library, &before);
    CUresult status = ath_quota.driver.cuLibraryGetModule(module, library);
    return is_new ? check_loaded(library, &before, status) : status;
}

CUresult ath_quota_cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library,
                                      const char *name)
{
    struct ath_measure before;
    bool is_new = begin_loading(library, &before);
    CUresult status = ath_quota.driver.cuLibraryGetGlobal(address, bytes, library, name);
    return is_new ? check_loaded(library, &before, status) : status;
}
