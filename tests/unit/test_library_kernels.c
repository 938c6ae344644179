/* All kernels of a library: what the server asks the driver, and the handles in its answer. */
#include "config.h"

#include <stdio.h>

#include "base/fingerprint.h"
#include "cuda/common/promise.h"
#include "proto/cuda-wire.h"
#include "session.h"

#define LIBRARY ((CUlibrary)(uintptr_t)0x7000)
enum { MOST = 64, FIRST_KERNEL = 0x8000 };

static unsigned int kernel_count, functions;
static const struct ath_fingerprint_value print = { 11, 22 };

static CUresult get_device(CUdevice *device)
{
    *device = 0;
    return CUDA_SUCCESS;
}

/* NOLINTBEGIN(readability-non-const-parameter): as CUDA declares it */
static CUresult load(CUlibrary *library, const void *code, CUjit_option *jit, void **jit_values,
                     unsigned int jit_count, CUlibraryOption *options, void **values,
                     unsigned int count)
{
    (void)code;
    (void)jit;
    (void)jit_values;
    (void)jit_count;
    (void)options;
    (void)values;
    (void)count;
    *library = LIBRARY;
    return CUDA_SUCCESS;
}
/* NOLINTEND(readability-non-const-parameter) */

static CUresult count_kernels(unsigned int *count, CUlibrary library)
{
    *count = kernel_count;
    return library == LIBRARY ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult enumerate(CUkernel *kernels, unsigned int count, CUlibrary library)
{
    (void)library;
    ck_assert_uint_eq(count, kernel_count);
    for (unsigned int i = 0; i < count; i++)
        kernels[i] = (CUkernel)(uintptr_t)(FIRST_KERNEL + i);
    return CUDA_SUCCESS;
}

/* Counts local memory, so it must not be called for kernels that the program does not have. */
static CUresult enumerate_counted(CUkernel *kernels, unsigned int count, CUlibrary library)
{
    (void)kernels;
    (void)count;
    (void)library;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult name_kernel(const char **name, CUkernel kernel)
{
    static char text[32];
    snprintf(text, sizeof text, "kernel%u", (unsigned int)((uintptr_t)kernel - FIRST_KERNEL));
    *name = text;
    return CUDA_SUCCESS;
}

static CUresult tell_parameter(CUkernel kernel, size_t index, size_t *offset, size_t *bytes)
{
    *offset = 0;
    *bytes = 8 + ((uintptr_t)kernel - FIRST_KERNEL);
    return index ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult tell_attribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                               CUdevice device)
{
    (void)device;
    *value = (int)attribute * 100 + (int)((uintptr_t)kernel - FIRST_KERNEL);
    return CUDA_SUCCESS;
}

static CUresult get_function(CUfunction *function, CUkernel kernel)
{
    *function = (CUfunction)(void *)kernel;
    functions++;
    return CUDA_SUCCESS;
}

#define ALIKE                                                                                      \
    .cuCtxGetDevice = get_device, .cuLibraryLoadData = load,                                       \
    .cuLibraryGetKernelCount = count_kernels, .cuKernelGetName = name_kernel,                      \
    .cuKernelGetParamInfo = tell_parameter, .cuKernelGetAttribute = tell_attribute,                \
    .cuKernelGetFunction = get_function
static const struct ath_cuda_driver counted = { ALIKE,
                                                .cuLibraryEnumerateKernels = enumerate_counted },
                                    uncounted = { ALIKE, .cuLibraryEnumerateKernels = enumerate };

static void setup(void)
{
    functions = 0;
    begin_session(&counted);
    session.uncounted = &uncounted;
    static const char text[] = ".version 7.0";
    struct ath_cuda_wire_library_load_data_builder call =
        ath_cuda_wire_call_init_library_load_data(begin(NULL));
    struct ath_cuda_wire_image_builder image = { ath_wire_array_struct(
        ath_cuda_wire_library_load_data_init_images(call, 1), 0) };
    ath_cuda_wire_image_set_data(image,
                                 (struct ath_wire_bytes){ (const uint8_t *)text, sizeof text });
    ck_assert_int_eq(serve_status(), CUDA_SUCCESS);
}

FIXTURE(setup, end_session);

static struct ath_cuda_wire_answer ask_near(CUlibrary library, const char *name)
{
    struct ath_cuda_wire_library_kernels_builder call =
        ath_cuda_wire_call_init_library_kernels(begin(NULL));
    ath_cuda_wire_library_kernels_set_library(call, (uintptr_t)library);
    ath_cuda_wire_library_kernels_set_print_a(call, print.a);
    ath_cuda_wire_library_kernels_set_print_b(call, print.b);
    ath_cuda_wire_library_kernels_set_name(call, name);
    return serve();
}

static struct ath_cuda_wire_answer ask(CUlibrary library)
{
    return ask_near(library, "");
}

static struct ath_wire_list kernels_of(struct ath_cuda_wire_answer answer)
{
    ck_assert_int_eq(ath_cuda_wire_answer_status(answer), CUDA_SUCCESS);
    return ath_cuda_wire_library_kernels_result_kernels(
        ath_cuda_wire_answer_library_kernels(answer));
}

/* The client promises the same handle for this name (client/code_facts.c). */
static uint64_t promised(const char *name)
{
    struct ath_fingerprint made = ATH_FINGERPRINT_START;
    ath_fingerprint_add(&made, &print, sizeof print);
    ath_fingerprint_add(&made, name, strlen(name));
    return ath_cuda_promise_from_hash(ath_fingerprint_end(&made).a, (uintptr_t)LIBRARY);
}

TEST(tells_about_each_kernel)
{
    kernel_count = MOST;
    struct ath_wire_list list = kernels_of(ask(LIBRARY));
    ck_assert_uint_eq(list.count, MOST);
    ck_assert_uint_eq(functions, 1); /* the library itself is counted, with its first kernel */
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_cuda_wire_named_kernel kernel = { ath_wire_list_struct(list, i) };
        struct ath_wire_bytes frame = ath_cuda_wire_named_kernel_answer(kernel);
        struct ath_cuda_wire_answer answer;
        char name[32];
        snprintf(name, sizeof name, "kernel%u", i);
        ck_assert_str_eq(ath_cuda_wire_named_kernel_name(kernel), name);
        ck_assert_uint_gt(frame.length, ATH_FRAME_HEAD);
        ck_assert_int_eq(ath_cuda_wire_answer_open(frame.data + ATH_FRAME_HEAD,
                                                   frame.length - ATH_FRAME_HEAD, &answer),
                         0);
        struct ath_cuda_wire_library_get_kernel_result of_one =
            ath_cuda_wire_answer_library_get_kernel(answer);
        ck_assert_uint_eq(ath_cuda_wire_library_get_kernel_result_kernel(of_one), promised(name));
        ck_assert_uint_eq(ath_cuda_wire_library_get_kernel_result_function(of_one),
                          ath_cuda_promise_function(promised(name)));
        struct ath_cuda_wire_layout layout = ath_cuda_wire_library_get_kernel_result_layout(of_one);
        ck_assert_uint_eq(ath_wire_u32(ath_wire_item(ath_cuda_wire_layout_sizes(layout), 0), 0, 0),
                          8 + i);
        struct ath_wire_list facts = ath_cuda_wire_library_get_kernel_result_facts(of_one);
        ck_assert_uint_eq(facts.count, CU_FUNC_ATTRIBUTE_MAX);
        struct ath_cuda_wire_kernel_fact last = { ath_wire_item(facts, facts.count - 1) };
        ck_assert_int_eq(ath_cuda_wire_kernel_fact_value(last),
                         (int)(CU_FUNC_ATTRIBUTE_MAX - 1) * 100 + (int)i);
    }
}

TEST(leaves_out_large_and_empty_libraries)
{
    for (int i = 0; i < 2; i++) {
        kernel_count = i ? 0 : MOST + 1;
        ck_assert_uint_eq(kernels_of(ask(LIBRARY)).count, 0);
        ck_assert_uint_eq(functions, 0);
    }
}

/* The names are kernel0 to kernel149. */
TEST(tells_about_those_of_a_large_library_that_are_named_alike)
{
    enum { OF_ONE = 61 /* begin with kernel1 */, OF_TWO = 11 /* with kernel12 */ };
    kernel_count = 150;
    struct ath_wire_list list = kernels_of(ask_near(LIBRARY, "kernel12345"));
    ck_assert_uint_eq(list.count, MOST);
    ck_assert_uint_eq(functions, 1);
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_cuda_wire_named_kernel kernel = { ath_wire_list_struct(list, i) };
        const char *name = ath_cuda_wire_named_kernel_name(kernel);
        ck_assert_msg(!strncmp(name,
                               i < OF_TWO   ? "kernel12"
                               : i < OF_ONE ? "kernel1"
                                            : "kernel",
                               i < OF_TWO   ? 8
                               : i < OF_ONE ? 7
                                            : 6),
                      "%s has place %u", name, i);
        ck_assert_uint_gt(ath_cuda_wire_named_kernel_answer(kernel).length, ATH_FRAME_HEAD);
    }
}

TEST(a_small_library_comes_as_a_whole_beside_any_name)
{
    kernel_count = MOST;
    ck_assert_uint_eq(kernels_of(ask_near(LIBRARY, "kernel12345")).count, MOST);
}

TEST(refuses_another_handle)
{
    ck_assert_int_eq(ath_cuda_wire_answer_status(ask((CUlibrary)(uintptr_t)0x1230)),
                     CUDA_ERROR_INVALID_HANDLE);
}
