/* A library's code and options are kept for servers that load it later. */
#include "config.h"

#include "cuda/several/libraries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cuda/client/client.h"
#include "cuda/client/function_proxy.h"
#include "cuda/client/jit_options.h"
#include "cuda/common/bytes.h"
#include "cuda/several/handle_table.h"
#include "proto/cuda-client.h"

enum { OF_ALL = ATH_INSTANCE_MASK };

struct kernel {
    struct ath_several_handle object;
    struct kernel *next; /* in its library */
    struct library *library;
    _Atomic(CUkernel) there[ATH_SERVERS_MAX];
    char name[];
};

struct library {
    struct ath_several_handle object;
    pthread_mutex_t lock;
    const void *code;
    void *copy; /* owned; NULL if the program's own code stays */
    unsigned int jit_count, option_count;
    CUjit_option *jit_options;
    void **jit_values;
    CUlibraryOption *options;
    void **values;
    struct kernel *kernels;
    _Atomic(CUlibrary) there[ATH_SERVERS_MAX];
};

static void library_free(struct library *library)
{
    if (!library)
        return;
    for (struct kernel *one; (one = library->kernels);) {
        library->kernels = one->next;
        ath_several_handle_take(one, ATH_SEVERAL_KERNEL);
        free(one);
    }
    free(library->copy);
    free(library->jit_options);
    free(library->jit_values);
    free(library->options);
    free(library->values);
    pthread_mutex_destroy(&library->lock);
    free(library);
}

static void library_free_p(struct library **library)
{
    library_free(*library);
}

static bool is_of_all(uint64_t handle)
{
    return ath_instance_of(handle) == OF_ALL;
}

static uint64_t handle_of(const void *object)
{
    return (uintptr_t)object | (uint64_t)OF_ALL << ATH_INSTANCE_SHIFT;
}

static void *object_of(uint64_t handle)
{
    return (void *)(uintptr_t)(handle & ~((uint64_t)OF_ALL << ATH_INSTANCE_SHIFT));
}

/* Returns CUDA_ERROR_INVALID_HANDLE for an unloaded object. *out is NULL for a server's own
 * handle. */
static CUresult find_object(uint64_t handle, enum ath_several_kind kind, void **out)
{
    *out = NULL;
    if (!is_of_all(handle))
        return CUDA_SUCCESS;
    if (!ath_several_handle_is(object_of(handle), kind))
        return CUDA_ERROR_INVALID_HANDLE;
    *out = object_of(handle);
    return CUDA_SUCCESS;
}

static CUresult find_own_library(CUlibrary library, struct library **out)
{
    void *found;
    CUresult status = find_object((uintptr_t)library, ATH_SEVERAL_LIBRARY, &found);
    *out = found;
    return status;
}

static CUresult find_kernel(CUkernel kernel, struct kernel **out)
{
    void *found;
    CUresult status = find_object((uintptr_t)kernel, ATH_SEVERAL_KERNEL, &found);
    *out = found;
    return status;
}

/* ---- what is kept ---- */

/* Options with results belong only to the call that gave them. */
static bool is_written(CUjit_option option)
{
    switch ((int)option) {
    case CU_JIT_WALL_TIME:
    case CU_JIT_INFO_LOG_BUFFER:
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
    case CU_JIT_ERROR_LOG_BUFFER:
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        return true;
    default:
        return false;
    }
}

static CUresult keep_options(struct library *library, const CUjit_option *jit_options,
                             void **jit_values, unsigned int jit_count,
                             const CUlibraryOption *options, void **values, unsigned int count)
{
    library->jit_options = calloc(jit_count + 1, sizeof *library->jit_options);
    library->jit_values = calloc(jit_count + 1, sizeof *library->jit_values);
    library->options = calloc(count + 1, sizeof *library->options);
    library->values = calloc(count + 1, sizeof *library->values);
    if (!library->jit_options || !library->jit_values || !library->options || !library->values)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned int i = 0; i < jit_count; i++) {
        if (is_written(jit_options[i]))
            continue;
        library->jit_options[library->jit_count] = jit_options[i];
        library->jit_values[library->jit_count++] = jit_values[i];
    }
    for (; library->option_count < count; library->option_count++) {
        library->options[library->option_count] = options[library->option_count];
        library->values[library->option_count] = values ? values[library->option_count] : NULL;
    }
    return CUDA_SUCCESS;
}

/* Code in the program's own files stays as long as the library. The program may free other code,
 * unless an option says that it stays. */
static bool stays(const struct library *library, const void *code)
{
    Dl_info file;
    for (unsigned int i = 0; i < library->option_count; i++)
        if (library->options[i] == CU_LIBRARY_BINARY_IS_PRESERVED && library->values[i])
            return true;
    return dladdr(code, &file);
}

/* Images that nvcc linked cannot be copied. Code that has some, and that the program may free, is
 * loaded on all servers at once. */
static CUresult keep_code(struct library *library, const void *code, bool *out_stays)
{
    *out_stays = true;
    library->code = code;
    if (stays(library, code))
        return CUDA_SUCCESS;
    const void *const *linked = ath_cuda_prelinked_images(code);
    const void *image = ath_cuda_unwrapped_image(code);
    size_t bytes = ath_cuda_bytes_of_image(image);
    if (!bytes || (linked && *linked)) {
        *out_stays = false;
        return CUDA_SUCCESS;
    }
    /* ends a text, and leaves room to read a magic number */
    library->copy = calloc(1, bytes + sizeof(uint64_t));
    if (!library->copy)
        return CUDA_ERROR_OUT_OF_MEMORY;
    library->code = memcpy(library->copy, image, bytes);
    return CUDA_SUCCESS;
}

/* ---- loading ---- */

static CUresult load_there(struct library *library, struct ath_several *to, CUlibrary *out)
{
    _Atomic(CUlibrary) *place = &library->there[to->self.index];
    *out = *place;
    if (*out)
        return CUDA_SUCCESS;
    pthread_mutex_lock(&library->lock);
    CUresult status = CUDA_SUCCESS;
    *out = *place;
    if (!*out && !library->code)
        status = CUDA_ERROR_INVALID_HANDLE;
    else if (!*out)
        status = to->calls.cuLibraryLoadData(
            out, library->code, library->jit_options, library->jit_values, library->jit_count,
            library->options, library->values, library->option_count);
    if (!status)
        *place = *out;
    pthread_mutex_unlock(&library->lock);
    return status;
}

static CUresult load_everywhere(struct library *library)
{
    CUresult status = CUDA_SUCCESS;
    CUlibrary unused;
    for (unsigned int i = 0; !status && i < ath_several_count(); i++) {
        struct ath_several *to;
        status = ath_several_enter(i, &to);
        if (!status)
            status = load_there(library, to, &unused);
    }
    return status;
}

CUresult ath_cuda_by_hand_cuLibraryLoadData(CUlibrary *library, const void *code,
                                            CUjit_option *jit_options, void **jit_option_values,
                                            unsigned int jit_option_count,
                                            CUlibraryOption *library_options,
                                            void **library_option_values,
                                            unsigned int library_option_count)
{
    struct ath_several *to;
    CUlibrary loaded = NULL;
    bool is_kept = true;
    if (!library)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = ath_several_enter(ath_several_here(), &to);
    if (!status)
        status = to->calls.cuLibraryLoadData(&loaded, code, jit_options, jit_option_values,
                                             jit_option_count, library_options,
                                             library_option_values, library_option_count);
    if (status)
        return status;
    __attribute__((cleanup(library_free_p))) struct library *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&made->lock, NULL);
    made->there[to->self.index] = loaded;
    status = keep_options(made, jit_options, jit_option_values, jit_option_count, library_options,
                          library_option_values, library_option_count);
    if (!status)
        status = keep_code(made, code, &is_kept);
    if (!status && !is_kept) {
        status = load_everywhere(made);
        made->code = NULL;
    }
    if (status)
        return status;
    ath_several_handle_add(&made->object, ATH_SEVERAL_LIBRARY);
    *library = (CUlibrary)(uintptr_t)handle_of(made);
    made = NULL;
    return CUDA_SUCCESS;
}

CUresult ath_cuda_by_hand_cuLibraryLoadFromFile(CUlibrary *library, const char *path,
                                                CUjit_option *jit_options, void **jit_option_values,
                                                unsigned int jit_option_count,
                                                CUlibraryOption *library_options,
                                                void **library_option_values,
                                                unsigned int library_option_count)
{
    ath_auto_free void *image = NULL;
    size_t size;
    CUresult status = ath_cuda_read_file(path, &image, &size);
    return status
               ? status
               : ath_cuda_by_hand_cuLibraryLoadData(library, image, jit_options, jit_option_values,
                                                    jit_option_count, library_options,
                                                    library_option_values, library_option_count);
}

CUresult ath_cuda_by_hand_cuLibraryUnload(CUlibrary library)
{
    struct library *gone = object_of((uintptr_t)library);
    CUresult status = CUDA_SUCCESS;
    if (!is_of_all((uintptr_t)library) || !ath_several_handle_take(gone, ATH_SEVERAL_LIBRARY))
        return CUDA_ERROR_INVALID_HANDLE;
    for (unsigned int i = 0; i < ath_several_count(); i++) {
        struct ath_several *to;
        CUlibrary there = gone->there[i];
        if (!there)
            continue;
        CUresult one = ath_several_enter(i, &to);
        if (!one)
            one = to->calls.cuLibraryUnload(there);
        status = status ? status : one;
    }
    library_free(gone);
    return status;
}

/* ---- kernels ---- */

/* Finds or makes the kernel of a name. there: its handle on one server. */
static CUresult own_kernel_of(struct library *library, const char *name, unsigned int index,
                              CUkernel there, CUkernel *out)
{
    size_t length = strlen(name) + 1;
    pthread_mutex_lock(&library->lock);
    struct kernel *found = library->kernels;
    while (found && strcmp(found->name, name) != 0)
        found = found->next;
    if (!found && (found = calloc(1, sizeof *found + length))) {
        memcpy(found->name, name, length);
        ath_several_handle_add(&found->object, ATH_SEVERAL_KERNEL);
        found->library = library;
        found->next = library->kernels;
        library->kernels = found;
    }
    pthread_mutex_unlock(&library->lock);
    if (!found)
        return CUDA_ERROR_OUT_OF_MEMORY;
    found->there[index] = there;
    *out = (CUkernel)(uintptr_t)handle_of(found);
    return CUDA_SUCCESS;
}

/* Enters the current context's server and converts *library to its handle there. */
static CUresult enter_with(CUlibrary *library, struct ath_several **out)
{
    CUresult status = ath_several_enter(ath_several_here(), out);
    return status ? status : ath_several_library_there(*out, library);
}

CUresult ath_cuda_by_hand_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    struct ath_several *to;
    struct library *from = NULL;
    CUkernel there = NULL;
    CUresult status = kernel ? find_own_library(library, &from) : CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = enter_with(&library, &to);
    if (status)
        return status;
    status = to->calls.cuLibraryGetKernel(&there, library, name);
    return status || !from ? status : own_kernel_of(from, name, to->self.index, there, kernel);
}

CUresult ath_cuda_do_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int kernel_count,
                                               CUlibrary library)
{
    struct ath_several *to;
    struct library *from;
    CUresult status = find_own_library(library, &from);
    if (!status)
        status = enter_with(&library, &to);
    if (status)
        return status;
    status = to->calls.cuLibraryEnumerateKernels(kernels, kernel_count, library);
    for (unsigned int i = 0; !status && from && i < kernel_count && kernels[i]; i++) {
        const char *name = "";
        status = to->calls.cuKernelGetName(&name, kernels[i]);
        if (!status)
            status = own_kernel_of(from, name, to->self.index, kernels[i], &kernels[i]);
    }
    return status;
}

CUresult ath_cuda_do_cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
    struct kernel *known;
    struct ath_several *to;
    CUresult status = find_kernel(kernel, &known);
    if (status)
        return status;
    if (!known) {
        status = ath_several_enter(ath_several_of_handle((uintptr_t)kernel), &to);
        return status ? status : to->calls.cuKernelGetLibrary(library, kernel);
    }
    if (!library)
        return CUDA_ERROR_INVALID_VALUE;
    *library = (CUlibrary)(uintptr_t)handle_of(known->library);
    return CUDA_SUCCESS;
}

/* ---- handles on a server ---- */

CUresult ath_several_library_there(struct ath_several *to, CUlibrary *library)
{
    struct library *known;
    CUresult status = find_own_library(*library, &known);
    return known ? load_there(known, to, library) : status;
}

CUresult ath_several_kernel_there(struct ath_several *to, CUkernel *kernel)
{
    struct kernel *known;
    CUlibrary library;
    CUresult status = find_kernel(*kernel, &known);
    if (!known)
        return status;
    *kernel = known->there[to->self.index];
    if (*kernel)
        return CUDA_SUCCESS;
    status = load_there(known->library, to, &library);
    if (!status)
        status = to->calls.cuLibraryGetKernel(kernel, library, known->name);
    if (!status)
        known->there[to->self.index] = *kernel;
    return status;
}

CUresult ath_several_function_there(struct ath_several *to, CUfunction *function)
{
    if (!is_of_all((uintptr_t)*function)) {
        *function = (CUfunction)(uintptr_t)ath_cuda_function_proxy_target((uintptr_t)*function);
        return CUDA_SUCCESS;
    }
    CUkernel kernel = (CUkernel)(void *)*function;
    CUresult status = ath_several_kernel_there(to, &kernel);
    *function = (CUfunction)(void *)kernel;
    return status;
}

unsigned int ath_several_of_function(CUfunction function)
{
    return is_of_all((uintptr_t)function)
               ? ath_several_here()
               : ath_several_of_handle(ath_cuda_function_proxy_target((uintptr_t)function));
}

CUresult ath_several_node_there(struct ath_several *to, const CUDA_KERNEL_NODE_PARAMS **params,
                                CUDA_KERNEL_NODE_PARAMS *changed)
{
    if (!*params)
        return CUDA_SUCCESS;
    *changed = **params;
    *params = changed;
    CUresult status = ath_several_function_there(to, &changed->func);
    return status ? status : ath_several_kernel_there(to, &changed->kern);
}

CUresult ath_several_node_v1_there(struct ath_several *to,
                                   const CUDA_KERNEL_NODE_PARAMS_v1 **params,
                                   CUDA_KERNEL_NODE_PARAMS_v1 *changed)
{
    if (!*params)
        return CUDA_SUCCESS;
    *changed = **params;
    *params = changed;
    return ath_several_function_there(to, &changed->func);
}

CUresult ath_several_params_there(struct ath_several *to, CUgraphNodeParams *params,
                                  struct ath_several_put_back *put_back)
{
    if (!params || params->type != CU_GRAPH_NODE_TYPE_KERNEL)
        return CUDA_SUCCESS;
    *put_back = (struct ath_several_put_back){ params, params->kernel.func, params->kernel.kern };
    CUresult status = ath_several_function_there(to, &params->kernel.func);
    return status ? status : ath_several_kernel_there(to, &params->kernel.kern);
}

void ath_several_put_back(struct ath_several_put_back *put_back)
{
    if (!put_back->params)
        return;
    put_back->params->kernel.func = put_back->function;
    put_back->params->kernel.kern = put_back->kernel;
}
