/* Modules and libraries: sends images and options, and reads files on the program's side. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/i18n.h"
#include "cuda/client/allocate.h"
#include "cuda/client/answer_cache.h"
#include "cuda/client/client.h"
#include "cuda/client/code_facts.h"
#include "cuda/client/code_image.h"
#include "cuda/client/jit_options.h"
#include "cuda/client/kernel_facts.h"
#include "cuda/client/library_kernels.h"
#include "cuda/client/parameter_layout.h"
#include "cuda/common/bytes.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

/* ---- images ---- */

struct images {
    uint32_t count;
    struct ath_cuda_sent_image items[];
};

/* Collects an image and the images that nvcc linked to it. The caller frees *out. */
static CUresult gather_images(const void *image, struct images **out)
{
    const void *const *more = image ? ath_cuda_prelinked_images(image) : NULL;
    uint32_t count = 1;
    if (!image)
        return CUDA_ERROR_INVALID_VALUE;
    while (more && more[count - 1])
        count++;
    ath_auto_free struct images *made =
        ath_cuda_allocate(sizeof *made + count * sizeof made->items[0]);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    made->count = count;
    for (uint32_t i = 0; i < count; i++) {
        made->items[i].bytes = ath_cuda_unwrapped_image(i ? more[i - 1] : image);
        made->items[i].length = ath_cuda_bytes_of_image(made->items[i].bytes);
        if (!made->items[i].length)
            return CUDA_ERROR_INVALID_IMAGE;
    }
    *out = ath_steal(&made);
    return CUDA_SUCCESS;
}

static CUresult upload_images(struct images *images, bool is_posted)
{
    CUresult status = CUDA_SUCCESS;
    size_t total = 0;
    for (uint32_t i = 0; !status && i < images->count; i++) {
        total += images->items[i].length;
        if (total > ATH_CUDA_IMAGE_WITHIN_CALL)
            status = ath_cuda_upload_image(&images->items[i], is_posted);
    }
    return status;
}

static void put_images(struct ath_wire_array list, const struct images *images)
{
    for (uint32_t i = 0; i < list.count; i++)
        ath_cuda_put_image((struct ath_cuda_wire_image_builder){ ath_wire_array_struct(list, i) },
                           &images->items[i]);
}

/* ---- promises ---- */

/* Returns whether a library has machine code for every device, so that it loads unless memory runs
 * out. Two variables make the driver compile PTX in its place (CUDA C++ Programming Guide,
 * "Environment variables"). */
static bool has_code_for_all(const struct images *images)
{
    int count = 0, major, minor;
    if (images->count != 1 || getenv("CUDA_FORCE_JIT") || getenv("CUDA_FORCE_PTX_JIT") ||
        ath_cuda_do_cuDeviceGetCount(&count))
        return false;
    for (int i = 0; i < count; i++)
        if (ath_cuda_by_hand_cuDeviceGetAttribute(
                &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, i) ||
            ath_cuda_by_hand_cuDeviceGetAttribute(
                &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, i) ||
            !ath_cuda_has_code_for(images->items[0].bytes, (unsigned int)(10 * major + minor)))
            return false;
    return count > 0;
}

/* The compiler's options, and those of a library. */
struct options {
    const CUjit_option *jit;
    void **jit_values;
    unsigned int jit_count;
    const CUlibraryOption *library;
    void **library_values;
    unsigned int library_count;
};

/* Promises a handle for images. */
static struct ath_cuda_promised_code promise_images(enum ath_cuda_method method,
                                                    const struct images *images,
                                                    const struct options *options)
{
    struct ath_fingerprint print = ATH_FINGERPRINT_START;
    bool has_options = options->jit_count > 0;
    if (!ath_cuda_promises_code())
        return (struct ath_cuda_promised_code){ 0 };
    for (uint32_t i = 0; i < images->count; i++)
        ath_fingerprint_add(&print, images->items[i].bytes, images->items[i].length);
    for (unsigned int i = 0; i < options->library_count; i++) {
        const uint64_t option[] = { (uint64_t)options->library[i],
                                    options->library_values ? (uintptr_t)options->library_values[i]
                                                            : 0 };
        ath_fingerprint_add(&print, option, sizeof option);
    }
    if (has_options)
        ath_cuda_fingerprint_options(&print, options->jit, options->jit_values, options->jit_count);
    struct ath_cuda_promised_code code = ath_cuda_promise_code(method, &print, has_options);
    bool is_sure = method == ATH_CUDA_METHOD_cuLibraryLoadData && code.handle && !code.is_known &&
                   !has_options && has_code_for_all(images);
    code.is_posted = code.is_known || is_sure;
    return code;
}

/* Sends the call that loads code. An earlier run's code is not waited for, and no code that the GPU
 * can surely run. */
static CUresult load(struct ath_cuda_exchange *exchange, const struct ath_cuda_promised_code *code)
{
    exchange->promised = code->handle;
    CUresult status = code->answer.length ? ath_cuda_take_fact(exchange, &code->answer)
                      : code->is_posted   ? ath_cuda_post(exchange)
                                          : ath_cuda_ask(exchange);
    if (status)
        ath_cuda_promise_broken(code);
    else if (code->is_posted)
        ath_cuda_promise_kept(code, code->handle, NULL);
    return status;
}

/* ---- loading with options ---- */

CUresult ath_cuda_by_hand_cuModuleLoadDataEx(CUmodule *module, const void *image,
                                             unsigned int option_count, CUjit_option *options,
                                             void **option_values)
{
    ath_auto_free struct images *images = NULL;
    CUresult status = ath_cuda_check_options(options, option_values, option_count);
    ATH_AUTO(ath_cuda_promised_code) code = { 0 };
    struct ath_cuda_exchange exchange;
    struct ath_cuda_log_rooms rooms = ath_cuda_log_rooms_of(options, option_values, option_count);
    if (!status && !module)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = gather_images(image, &images);
    if (!status)
        code = promise_images(ATH_CUDA_METHOD_cuModuleLoadDataEx, images,
                              &(struct options){ .jit = options,
                                                 .jit_values = option_values,
                                                 .jit_count = option_count });
    if (!status)
        status = upload_images(images, code.is_posted);
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuModuleLoadDataEx);
    if (status) {
        ath_cuda_promise_broken(&code);
        return status;
    }
    struct ath_cuda_wire_module_load_data_ex_builder call =
        ath_cuda_wire_call_init_module_load_data_ex(exchange.call);
    put_images(ath_cuda_wire_module_load_data_ex_init_images(call, images->count), images);
    ath_cuda_put_options(ath_cuda_wire_module_load_data_ex_init_options(call, option_count),
                         options, option_values, option_count);
    ath_cuda_wire_module_load_data_ex_set_promised(call, code.handle);
    status = load(&exchange, &code);
    if (!status && code.is_posted && !exchange.is_answered)
        *module =
            (CUmodule)(uintptr_t)ath_cuda_to_own(&exchange.side, ATH_CUDA_KIND_MODULE, code.handle);
    if (exchange.is_answered) {
        struct ath_cuda_wire_module_load_data_ex_result answer =
            ath_cuda_wire_answer_module_load_data_ex(exchange.answer);
        ath_cuda_take_options(ath_cuda_wire_module_load_data_ex_result_results(answer), options,
                              option_values, option_count, &rooms);
        if (!status)
            *module = (CUmodule)(uintptr_t)ath_cuda_to_own(
                &exchange.side, ATH_CUDA_KIND_MODULE,
                ath_cuda_wire_module_load_data_ex_result_module(answer));
        if (!status)
            ath_cuda_promise_kept(&code, ath_cuda_wire_module_load_data_ex_result_module(answer),
                                  &exchange.thread->answer);
    }
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_by_hand_cuModuleLoadData(CUmodule *module, const void *image)
{
    return ath_cuda_by_hand_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult ath_cuda_by_hand_cuModuleLoadFatBinary(CUmodule *module, const void *fat_cubin)
{
    return ath_cuda_by_hand_cuModuleLoadDataEx(module, fat_cubin, 0, NULL, NULL);
}

/* One library option is a pointer: the table of functions that host and GPU share. */
static CUresult check_library_options(const CUlibraryOption *options, void **values,
                                      unsigned int count)
{
    if (count && !options)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < count; i++)
        if (options[i] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE && values && values[i])
            return CUDA_ERROR_NOT_SUPPORTED;
    return CUDA_SUCCESS;
}

static void put_library_options(struct ath_wire_array list, const CUlibraryOption *options,
                                void **values)
{
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_cuda_wire_jit_option_builder to = { ath_wire_array_struct(list, i) };
        ath_cuda_wire_jit_option_set_option(to, (uint32_t)options[i]);
        ath_cuda_wire_jit_option_set_value(to, values ? (uintptr_t)values[i] : 0);
    }
}

CUresult ath_cuda_by_hand_cuLibraryLoadData(CUlibrary *library, const void *code,
                                            CUjit_option *jit_options, void **jit_option_values,
                                            unsigned int jit_option_count,
                                            CUlibraryOption *library_options,
                                            void **library_option_values,
                                            unsigned int library_option_count)
{
    ath_auto_free struct images *images = NULL;
    CUresult status = ath_cuda_check_options(jit_options, jit_option_values, jit_option_count);
    ATH_AUTO(ath_cuda_promised_code) promised = { 0 };
    struct ath_cuda_exchange exchange;
    struct ath_cuda_log_rooms rooms =
        ath_cuda_log_rooms_of(jit_options, jit_option_values, jit_option_count);
    if (!status)
        status =
            check_library_options(library_options, library_option_values, library_option_count);
    if (!status && !library)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = gather_images(code, &images);
    if (!status)
        promised = promise_images(ATH_CUDA_METHOD_cuLibraryLoadData, images,
                                  &(struct options){ jit_options, jit_option_values,
                                                     jit_option_count, library_options,
                                                     library_option_values, library_option_count });
    if (!status)
        status = upload_images(images, promised.is_posted);
    if (!status)
        status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLibraryLoadData);
    if (status) {
        ath_cuda_promise_broken(&promised);
        return status;
    }
    struct ath_cuda_wire_library_load_data_builder call =
        ath_cuda_wire_call_init_library_load_data(exchange.call);
    put_images(ath_cuda_wire_library_load_data_init_images(call, images->count), images);
    ath_cuda_put_options(ath_cuda_wire_library_load_data_init_jit_options(call, jit_option_count),
                         jit_options, jit_option_values, jit_option_count);
    put_library_options(
        ath_cuda_wire_library_load_data_init_library_options(call, library_option_count),
        library_options, library_option_values);
    ath_cuda_wire_library_load_data_set_promised(call, promised.handle);
    status = load(&exchange, &promised);
    if (!status && promised.is_posted && !exchange.is_answered)
        *library = (CUlibrary)(uintptr_t)ath_cuda_to_own(&exchange.side, ATH_CUDA_KIND_LIBRARY,
                                                         promised.handle);
    if (exchange.is_answered) {
        struct ath_cuda_wire_library_load_data_result answer =
            ath_cuda_wire_answer_library_load_data(exchange.answer);
        ath_cuda_take_options(ath_cuda_wire_library_load_data_result_results(answer), jit_options,
                              jit_option_values, jit_option_count, &rooms);
        if (!status)
            *library = (CUlibrary)(uintptr_t)ath_cuda_to_own(
                &exchange.side, ATH_CUDA_KIND_LIBRARY,
                ath_cuda_wire_library_load_data_result_library(answer));
        if (!status)
            ath_cuda_promise_kept(&promised, ath_cuda_wire_library_load_data_result_library(answer),
                                  &exchange.thread->answer);
    }
    return ath_cuda_end(&exchange, status);
}

/* ---- files on the program's side ---- */

CUresult ath_cuda_by_hand_cuModuleLoad(CUmodule *module, const char *path)
{
    ath_auto_free void *image = NULL;
    size_t size;
    CUresult status = ath_cuda_read_file(path, &image, &size);
    return status ? status : ath_cuda_by_hand_cuModuleLoadData(module, image);
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

/* ---- functions and their parameter layouts ---- */

CUresult ath_cuda_by_hand_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    uint64_t promised = ath_cuda_promise_kernel((uintptr_t)library, name);
    const struct ath_cuda_library_kernel about = { library, name };
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLibraryGetKernel);
    if (status)
        return status;
    if (!kernel || !name)
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    ath_cuda_library_kernels_put(&exchange, library, name, promised);
    uint64_t age = ath_cuda_answer_cache_age();
    exchange.thread->ask_more = promised ? ath_cuda_ask_library_kernels : NULL;
    exchange.thread->more = &about;
    status = ath_cuda_ask_cached(&exchange);
    exchange.thread->ask_more = NULL;
    if (!status) {
        struct ath_cuda_wire_library_get_kernel_result answer =
            ath_cuda_wire_answer_library_get_kernel(exchange.answer);
        *kernel = (CUkernel)(uintptr_t)ath_cuda_to_own(
            &exchange.side, ATH_CUDA_KIND_KERNEL,
            ath_cuda_wire_library_get_kernel_result_kernel(answer));
        ath_cuda_note_result(&exchange, ATH_CUDA_KIND_KERNEL, (uintptr_t)*kernel);
        ath_cuda_parameter_layout_learn(*kernel,
                                        ath_cuda_wire_library_get_kernel_result_layout(answer));
        ath_cuda_kernel_facts_learn(*kernel, answer, age);
    }
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_by_hand_cuModuleGetFunction(CUfunction *function, CUmodule module,
                                              const char *name)
{
    uint64_t promised = ath_cuda_promise_kernel((uintptr_t)module, name);
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuModuleGetFunction);
    if (status)
        return status;
    if (!function || !name)
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    struct ath_cuda_wire_module_get_function_builder call =
        ath_cuda_wire_call_init_module_get_function(exchange.call);
    ath_cuda_wire_module_get_function_set_module(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_MODULE, (uintptr_t)module));
    ath_cuda_wire_module_get_function_set_name(call, name);
    exchange.promised = promised;
    ath_cuda_wire_module_get_function_set_promised(call, promised);
    status = ath_cuda_ask_cached(&exchange);
    if (!status) {
        struct ath_cuda_wire_module_get_function_result answer =
            ath_cuda_wire_answer_module_get_function(exchange.answer);
        *function = (CUfunction)(uintptr_t)ath_cuda_to_own(
            &exchange.side, ATH_CUDA_KIND_FUNCTION,
            ath_cuda_wire_module_get_function_result_function(answer));
        ath_cuda_note_result(&exchange, ATH_CUDA_KIND_FUNCTION, (uintptr_t)*function);
        ath_cuda_parameter_layout_learn(*function,
                                        ath_cuda_wire_module_get_function_result_layout(answer));
    }
    return ath_cuda_end(&exchange, status);
}
