/* The server's side of functions and kernels: by name, where their parameters lie, and the facts
 * that programs ask for next. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/fingerprint.h"
#include "cuda/common/promise.h"
#include "cuda/server/kernel_layout.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-wire.h"

/* A library with more kernels is not looked at as a whole: a driver loads each one that it is asked
 * about, which takes 12 to 90 us and its memory on the GPU. The list and the names cost next to
 * nothing: 30 us for 524 kernels (driver 580, H200, 2026-11-28). */
enum { KERNELS_MAX = 64, LISTED_MAX = 1 << 16 };

static CUresult answer_layout(const struct ath_cuda_driver *driver,
                              struct ath_cuda_wire_layout_builder to, CUfunction function,
                              CUkernel kernel)
{
    struct ath_cuda_kernel_layout layout;
    CUresult status = ath_cuda_kernel_layout_ask(driver, function, kernel, &layout);
    if (!status)
        ath_cuda_kernel_layout_put(to, &layout);
    return status;
}

/* Puts all attributes of a kernel on a device. A kernel that does not compile has no layout: each
 * of these would compile it again. */
static void put_attributes(const struct ath_cuda_driver *driver,
                           struct ath_cuda_wire_library_get_kernel_result_builder to,
                           CUkernel kernel, CUdevice device)
{
    struct {
        uint32_t attribute;
        int value;
    } facts[CU_FUNC_ATTRIBUTE_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < CU_FUNC_ATTRIBUTE_MAX; i++) {
        facts[count].attribute = i;
        count += !driver->cuKernelGetAttribute(&facts[count].value, (CUfunction_attribute)i, kernel,
                                               device);
    }
    struct ath_wire_array list = ath_cuda_wire_library_get_kernel_result_init_facts(to, count);
    for (uint32_t i = 0; i < count; i++) {
        struct ath_cuda_wire_kernel_fact_builder fact = { ath_wire_array_struct(list, i) };
        ath_cuda_wire_kernel_fact_set_attribute(fact, facts[i].attribute);
        ath_cuda_wire_kernel_fact_set_value(fact, facts[i].value);
    }
}

/* Sends the facts that programs ask for next. */
static void put_facts(struct ath_cuda_served *served,
                      struct ath_cuda_wire_library_get_kernel_result_builder to, CUkernel kernel)
{
    const struct ath_cuda_driver *driver = served->driver;
    CUdevice device;
    CUfunction function;
    if (!driver->cuKernelGetFunction || !driver->cuKernelGetAttribute ||
        driver->cuCtxGetDevice(&device) || driver->cuKernelGetFunction(&function, kernel))
        return;
    ath_cuda_wire_library_get_kernel_result_set_function(
        to, ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_FUNCTION, (uintptr_t)function));
    put_attributes(driver, to, kernel, device);
}

void ath_cuda_serve_cuLibraryGetKernel(struct ath_cuda_served *served)
{
    NEEDS(served, cuLibraryGetKernel)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_library_get_kernel call =
        ath_cuda_wire_call_library_get_kernel(served->call);
    CUlibrary library = (CUlibrary)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_LIBRARY, ath_cuda_wire_library_get_kernel_library(call));
    CUkernel kernel = NULL;
    served->promised = ath_cuda_promise_of(ath_cuda_wire_library_get_kernel_promised(call));
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuLibraryGetKernel(
        &kernel, library, ath_cuda_wire_library_get_kernel_name(call));
    if (served->status)
        return;
    struct ath_cuda_wire_library_get_kernel_result_builder answer =
        ath_cuda_wire_answer_init_library_get_kernel(served->answer);
    ath_cuda_wire_library_get_kernel_result_set_kernel(
        answer, ath_cuda_to_wire(side, ATH_CUDA_KIND_KERNEL, (uintptr_t)kernel));
    if (!answer_layout(served->driver, ath_cuda_wire_library_get_kernel_result_init_layout(answer),
                       NULL, kernel))
        put_facts(served, answer, kernel);
}

void ath_cuda_serve_cuModuleGetFunction(struct ath_cuda_served *served)
{
    NEEDS(served, cuModuleGetFunction)
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_module_get_function call =
        ath_cuda_wire_call_module_get_function(served->call);
    CUmodule module = (CUmodule)(uintptr_t)ath_cuda_to_own(
        side, ATH_CUDA_KIND_MODULE, ath_cuda_wire_module_get_function_module(call));
    CUfunction function = NULL;
    served->promised = ath_cuda_promise_of(ath_cuda_wire_module_get_function_promised(call));
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuModuleGetFunction(
        &function, module, ath_cuda_wire_module_get_function_name(call));
    if (served->status)
        return;
    struct ath_cuda_wire_module_get_function_result_builder answer =
        ath_cuda_wire_answer_init_module_get_function(served->answer);
    ath_cuda_wire_module_get_function_result_set_function(
        answer, ath_cuda_to_wire(side, ATH_CUDA_KIND_FUNCTION, (uintptr_t)function));
    answer_layout(served->driver, ath_cuda_wire_module_get_function_result_init_layout(answer),
                  function, NULL);
}

void ath_cuda_serve_athFunctionLayout(struct ath_cuda_served *served)
{
    struct ath_cuda_side *side = &served->side;
    struct ath_cuda_wire_function_layout call = ath_cuda_wire_call_function_layout(served->call);
    uint64_t wire = ath_cuda_wire_function_layout_function(call);
    bool is_kernel = ath_cuda_wire_function_layout_is_kernel(call);
    CUkernel kernel = NULL;
    CUfunction function = NULL;
    if (is_kernel)
        kernel = (CUkernel)(uintptr_t)ath_cuda_to_own(side, ATH_CUDA_KIND_KERNEL, wire);
    else
        function = ath_cuda_function_of(side, wire);
    if (!kernel && !function)
        side->status = CUDA_ERROR_INVALID_HANDLE;
    if (ath_cuda_refused(served))
        return;
    served->status = answer_layout(served->driver,
                                   ath_cuda_wire_function_layout_result_init_layout(
                                       ath_cuda_wire_answer_init_function_layout(served->answer)),
                                   function, kernel);
}

/* ---- several kernels of a library ---- */

/* A library as the client has it. */
struct promised_library {
    struct ath_fingerprint_value print;
    uint64_t handle;
};

/* Writes the answer that cuLibraryGetKernel() would have for a kernel, with promised handles: the
 * client makes them of the library's fingerprint and the kernel's name (client/code_facts.c). */
static void put_kernel(struct ath_cuda_served *served, struct ath_cuda_wire_named_kernel_builder to,
                       const struct promised_library *library, CUkernel kernel, CUdevice device)
{
    ATH_AUTO(ath_wire_builder) builder = { .max_bytes = 1 << 16 };
    struct ath_fingerprint print = ATH_FINGERPRINT_START;
    const char *name = NULL;
    size_t length;
    int status;
    const struct ath_cuda_driver *driver = served->session->uncounted;
    if (driver->cuKernelGetName(&name, kernel) || !name)
        return;
    ath_fingerprint_add(&print, &library->print, sizeof library->print);
    ath_fingerprint_add(&print, name, strlen(name));
    uint64_t promised = ath_cuda_promise_from_hash(ath_fingerprint_end(&print).a, library->handle);
    struct ath_cuda_wire_library_get_kernel_result_builder answer =
        ath_cuda_wire_answer_init_library_get_kernel(ath_cuda_wire_answer_start(&builder));
    ath_cuda_wire_library_get_kernel_result_set_kernel(answer, promised);
    ath_cuda_wire_library_get_kernel_result_set_function(answer,
                                                         ath_cuda_promise_function(promised));
    if (answer_layout(driver, ath_cuda_wire_library_get_kernel_result_init_layout(answer), NULL,
                      kernel))
        return;
    put_attributes(driver, answer, kernel, device);
    const uint8_t *frame = ath_wire_finish(&builder, &length, &status);
    if (!frame)
        return;
    ath_cuda_wire_named_kernel_set_name(to, name);
    ath_cuda_wire_named_kernel_set_answer(to, (struct ath_wire_bytes){ frame, length });
}

struct listed {
    CUkernel kernel;
    size_t alike; /* characters with which its name and another one begin */
};

static size_t count_alike(const char *a, const char *b)
{
    size_t count = 0;
    while (a[count] && a[count] == b[count])
        count++;
    return count;
}

static int compare_alike(const void *a, const void *b)
{
    size_t first = ((const struct listed *)a)->alike, second = ((const struct listed *)b)->alike;
    return (first < second) - (first > second);
}

/* Leaves the kernels whose names are most like a name: the program's next ones are variants of the
 * kernel that it asks for. */
static CUresult keep_alike(const struct ath_cuda_driver *driver, const char *name,
                           CUkernel *kernels, unsigned int *count)
{
    ath_auto_free struct listed *list = calloc(*count, sizeof *list);
    const char *own = NULL;
    if (!list)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned int i = 0; i < *count; i++) {
        bool is_named = !driver->cuKernelGetName(&own, kernels[i]) && own;
        list[i] = (struct listed){ kernels[i], is_named ? count_alike(own, name) : 0 };
    }
    qsort(list, *count, sizeof *list, compare_alike);
    *count = KERNELS_MAX;
    for (unsigned int i = 0; i < *count; i++)
        kernels[i] = list[i].kernel;
    return CUDA_SUCCESS;
}

/* Lists the kernels of a library; of one with many those that are named most like `name`, or none
 * if that is empty. The caller frees *out. The local memory of kernels counts when the program has
 * them. The library itself counts now: the driver loads it into the context. */
static CUresult list_kernels(struct ath_cuda_served *served, CUlibrary library, const char *name,
                             CUkernel **out, unsigned int *count)
{
    const struct ath_cuda_driver *driver = served->session->uncounted;
    CUfunction function;
    CUresult status = driver->cuLibraryGetKernelCount(count, library);
    if (!status && (*count > LISTED_MAX || (*count > KERNELS_MAX && !*name)))
        *count = 0;
    if (status || !*count)
        return status;
    *out = calloc(*count, sizeof **out);
    if (!*out)
        return CUDA_ERROR_OUT_OF_MEMORY;
    status = driver->cuLibraryEnumerateKernels(*out, *count, library);
    if (!status && *count > KERNELS_MAX)
        status = keep_alike(driver, name, *out, count);
    return status ? status : served->driver->cuKernelGetFunction(&function, **out);
}

void ath_cuda_serve_athLibraryKernels(struct ath_cuda_served *served)
{
    NEEDS(served, cuLibraryGetKernelCount)
    NEEDS(served, cuLibraryEnumerateKernels)
    NEEDS(served, cuKernelGetName)
    NEEDS(served, cuKernelGetAttribute)
    NEEDS(served, cuKernelGetFunction)
    NEEDS(served, cuCtxGetDevice)
    struct ath_cuda_wire_library_kernels call = ath_cuda_wire_call_library_kernels(served->call);
    const struct promised_library promised = { { ath_cuda_wire_library_kernels_print_a(call),
                                                 ath_cuda_wire_library_kernels_print_b(call) },
                                               ath_cuda_wire_library_kernels_library(call) };
    CUlibrary library = (CUlibrary)(uintptr_t)ath_cuda_to_own(&served->side, ATH_CUDA_KIND_LIBRARY,
                                                              promised.handle);
    ath_auto_free CUkernel *kernels = NULL;
    CUdevice device;
    unsigned int count = 0;
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuCtxGetDevice(&device);
    if (!served->status)
        served->status = list_kernels(served, library, ath_cuda_wire_library_kernels_name(call),
                                      &kernels, &count);
    if (served->status)
        return;
    struct ath_wire_array list = ath_cuda_wire_library_kernels_result_init_kernels(
        ath_cuda_wire_answer_init_library_kernels(served->answer), count);
    for (uint32_t i = 0; kernels && i < list.count; i++)
        put_kernel(served,
                   (struct ath_cuda_wire_named_kernel_builder){ ath_wire_array_struct(list, i) },
                   &promised, kernels[i], device);
}
