/* The first steps of ResNet-50 in PyTorch asked 2,003 of these questions about some 130 kernels and
 * waited for each (H200): one minute on a line of 30 ms. */
#include "config.h"

#include "cuda/client/kernel_facts.h"

#include "base/cleanup.h"
#include "cuda/client/connection.h"
#include "cuda/client/kernel_attribute.h"
#include "cuda/client/parameter_layout.h"
#include "cuda/client/prefetch.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"
#include "remote/switches.h"

/* Begins the program's question about an attribute. */
static bool begin_attribute(struct ath_cuda_exchange *begun, CUkernel kernel, CUdevice device,
                            uint32_t attribute)
{
    if (ath_cuda_begin(begun, ATH_CUDA_METHOD_cuKernelGetAttribute))
        return false;
    struct ath_cuda_wire_kernel_get_attribute_builder call =
        ath_cuda_wire_call_init_kernel_get_attribute(begun->call);
    begun->kernel = (uintptr_t)kernel;
    begun->attribute = (uint64_t)attribute + 1;
    ath_cuda_wire_kernel_get_attribute_set_attribute(call, attribute);
    ath_cuda_wire_kernel_get_attribute_set_kernel(
        call, ath_cuda_to_wire(&begun->side, ATH_CUDA_KIND_KERNEL, (uintptr_t)kernel));
    ath_cuda_wire_kernel_get_attribute_set_device(
        call, (int32_t)ath_cuda_to_wire(&begun->side, ATH_CUDA_KIND_DEVICE, (uint64_t)device));
    return true;
}

static void ask_attribute(struct ath_cuda_prefetch *ahead, CUkernel kernel, CUdevice device,
                          uint32_t attribute)
{
    struct ath_cuda_exchange exchange;
    if (begin_attribute(&exchange, kernel, device, attribute))
        ath_cuda_prefetch_ask(ahead, &exchange);
}

/* Reads the attribute and the device that the program asks for. */
static bool read_attribute(struct ath_cuda_exchange *exchange, const struct ath_frame *message,
                           CUdevice *device, uint32_t *attribute)
{
    struct ath_cuda_wire_call call;
    if (!exchange->kernel || ath_cuda_wire_call_open(ath_frame_message(message),
                                                     ath_frame_message_length(message), &call))
        return false;
    struct ath_cuda_wire_kernel_get_attribute about = ath_cuda_wire_call_kernel_get_attribute(call);
    *attribute = ath_cuda_wire_kernel_get_attribute_attribute(about);
    *device = (CUdevice)ath_cuda_to_own(&exchange->side, ATH_CUDA_KIND_DEVICE,
                                        (uint64_t)ath_cuda_wire_kernel_get_attribute_device(about));
    return true;
}

/* If a kernel's program does not compile, each attribute would try to compile again. So facts are
 * asked only for a kernel with a known layout, which compiled. */
static bool may_ask_behind_function(CUkernel kernel, CUdevice *device)
{
    return ath_cuda_parameter_layout_is_known(kernel) && !ath_cuda_by_hand_cuCtxGetDevice(device);
}

CUresult ath_cuda_ask_kernel_facts(struct ath_cuda_exchange *exchange,
                                   const struct ath_frame *message)
{
    ATH_AUTO(ath_cuda_prefetch) ahead = { 0 };
    CUkernel kernel = (CUkernel)(uintptr_t)exchange->kernel;
    CUdevice device = 0;
    uint32_t own = CU_FUNC_ATTRIBUTE_MAX;
    exchange->thread->ask_more = NULL; /* the questions from here on are not the program's */
    CUresult status = ath_cuda_ask_begin(exchange);
    if (status)
        return status;
    bool is_known = ath_cuda_methods[exchange->method].names_kernel
                        ? may_ask_behind_function(kernel, &device)
                        : read_attribute(exchange, message, &device, &own);
    for (uint32_t i = 0; is_known && i < CU_FUNC_ATTRIBUTE_MAX; i++)
        if (i != own)
            ask_attribute(&ahead, kernel, device, i);
    /* first, because the thread keeps only the answer of its last wait */
    ath_cuda_prefetch_wait(&ahead);
    return ath_cuda_ask_end(exchange);
}

/* Sets whether this thread's next question is one of the program's about a kernel. */
static void set_asks_facts(bool yes)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (thread)
        thread->ask_more = yes ? ath_cuda_ask_kernel_facts : NULL;
}

CUresult ath_cuda_by_hand_cuKernelGetAttribute(int *value, CUfunction_attribute attribute,
                                               CUkernel kernel, CUdevice device)
{
    if (value && !ath_cuda_may(ATH_CUDA_METHOD_cuKernelGetAttribute) &&
        ath_cuda_attributes_setting((uintptr_t)kernel, device, attribute, value))
        return CUDA_SUCCESS;
    set_asks_facts(true);
    CUresult status = ath_cuda_do_cuKernelGetAttribute(value, attribute, kernel, device);
    set_asks_facts(false);
    return status;
}

/* A function that names a kernel on this device has the kernel's code. */
CUresult ath_cuda_by_hand_cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                                             CUfunction function)
{
    CUdevice device;
    if (value && !ath_cuda_may(ATH_CUDA_METHOD_cuFuncGetAttribute) &&
        ath_cuda_attributes_setting_of_function(function, attribute, value))
        return CUDA_SUCCESS;
    uint64_t kernel = value ? ath_cuda_attributes_kernel_with((uintptr_t)function, attribute) : 0;
    return kernel && !ath_cuda_by_hand_cuCtxGetDevice(&device)
               ? ath_cuda_by_hand_cuKernelGetAttribute(value, attribute,
                                                       (CUkernel)(uintptr_t)kernel, device)
               : ath_cuda_do_cuFuncGetAttribute(value, attribute, function);
}

CUresult ath_cuda_by_hand_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    set_asks_facts(true);
    CUresult status = ath_cuda_do_cuKernelGetFunction(function, kernel);
    set_asks_facts(false);
    return status;
}

/* ---- facts that came with the kernel ---- */

struct fact {
    uint32_t attribute;
    int32_t value;
};

static void learn_attribute(CUkernel kernel, CUdevice device, struct fact fact, uint64_t age)
{
    ATH_AUTO(ath_wire_builder) builder = { .max_bytes = 4096 };
    struct ath_cuda_exchange exchange;
    if (!begin_attribute(&exchange, kernel, device, fact.attribute))
        return;
    ath_cuda_wire_kernel_get_attribute_result_set_value(
        ath_cuda_wire_answer_init_kernel_get_attribute(ath_cuda_wire_answer_start(&builder)),
        fact.value);
    ath_cuda_prefetch_told(&exchange, &builder, age);
}

static void learn_function(CUkernel kernel, uint64_t function, uint64_t age)
{
    ATH_AUTO(ath_wire_builder) builder = { .max_bytes = 4096 };
    struct ath_cuda_exchange exchange;
    if (ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuKernelGetFunction))
        return;
    ath_cuda_wire_kernel_get_function_set_kernel(
        ath_cuda_wire_call_init_kernel_get_function(exchange.call),
        ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_KERNEL, (uintptr_t)kernel));
    ath_cuda_wire_kernel_get_function_result_set_function(
        ath_cuda_wire_answer_init_kernel_get_function(ath_cuda_wire_answer_start(&builder)),
        function);
    ath_cuda_prefetch_told(&exchange, &builder, age);
}

/* Reads all first: the answer is gone with the thread's next call. */
static uint32_t read_facts(struct ath_wire_list from, struct fact out[CU_FUNC_ATTRIBUTE_MAX])
{
    uint32_t count = from.count < CU_FUNC_ATTRIBUTE_MAX ? from.count : CU_FUNC_ATTRIBUTE_MAX;
    for (uint32_t i = 0; i < count; i++) {
        struct ath_cuda_wire_kernel_fact fact = { ath_wire_item(from, i) };
        out[i] = (struct fact){ ath_cuda_wire_kernel_fact_attribute(fact),
                                ath_cuda_wire_kernel_fact_value(fact) };
    }
    return count;
}

void ath_cuda_kernel_facts_learn(CUkernel kernel,
                                 struct ath_cuda_wire_library_get_kernel_result from, uint64_t age)
{
    struct fact facts[CU_FUNC_ATTRIBUTE_MAX];
    uint64_t function = ath_cuda_wire_library_get_kernel_result_function(from);
    uint32_t count = read_facts(ath_cuda_wire_library_get_kernel_result_facts(from), facts);
    struct ath_cuda_wire_layout layout = ath_cuda_wire_library_get_kernel_result_layout(from);
    CUdevice device;
    if (ath_is_off(ATH_SWITCH_CACHES) || !function || ath_cuda_by_hand_cuCtxGetDevice(&device))
        return;
    struct ath_cuda_side side = { .to_own = ath_cuda_client_to_own };
    ath_cuda_parameter_layout_learn(
        (const void *)(uintptr_t)ath_cuda_to_own(&side, ATH_CUDA_KIND_FUNCTION, function), layout);
    learn_function(kernel, function, age);
    for (uint32_t i = 0; i < count; i++)
        learn_attribute(kernel, device, facts[i], age);
}
