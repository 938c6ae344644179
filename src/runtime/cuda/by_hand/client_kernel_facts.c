/*
 * PyTorch's first steps of ResNet-50 made 2,003 of these questions about some 130 kernels, each
 * with a wait of its own (H200): a minute, on a line of 30 ms.
 */
#include "config.h"

#include "runtime/cuda/by_hand/kernel_facts.h"

#include "base/cleanup.h"
#include "proto/cuda-client.h"
#include "runtime/cuda/ahead.h"
#include "runtime/cuda/by_hand/layout.h"

static void ask_attribute(struct ath_cuda_ahead *ahead, CUkernel kernel, CUdevice device,
                          uint32_t attribute)
{
    struct ath_cuda_exchange exchange;
    if (ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuKernelGetAttribute))
        return;
    struct ath_cuda_wire_kernel_get_attribute_builder call =
        ath_cuda_wire_call_init_kernel_get_attribute(exchange.call);
    ath_cuda_wire_kernel_get_attribute_set_attribute(call, attribute);
    ath_cuda_wire_kernel_get_attribute_set_kernel(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_KERNEL, (uintptr_t)kernel));
    ath_cuda_wire_kernel_get_attribute_set_device(
        call, (int32_t)ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_DEVICE, (uint64_t)device));
    ath_cuda_ahead_ask(ahead, &exchange);
}

/* The attribute that is asked for itself, and the device. */
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

/* Where the function cannot be had, as of a program that does not compile, each attribute would try
 * once more: so only of a kernel that is known to be whole, which its layout shows. */
static bool may_ask_behind_function(CUkernel kernel, CUdevice *device)
{
    return ath_cuda_layout_is_known(kernel) && !ath_cuda_by_hand_cuCtxGetDevice(device);
}

CUresult ath_cuda_ask_kernel_facts(struct ath_cuda_exchange *exchange,
                                   const struct ath_frame *message)
{
    ATH_AUTO(ath_cuda_ahead) ahead = { 0 };
    CUkernel kernel = (CUkernel)(uintptr_t)exchange->kernel;
    CUdevice device = 0;
    uint32_t own = CU_FUNC_ATTRIBUTE_MAX;
    exchange->thread->asks_facts = false; /* what is asked now is no program's question */
    CUresult status = ath_cuda_ask_begin(exchange);
    if (status)
        return status;
    bool is_known = exchange->method == ATH_CUDA_METHOD_cuKernelGetAttribute
                        ? read_attribute(exchange, message, &device, &own)
                        : may_ask_behind_function(kernel, &device);
    for (uint32_t i = 0; is_known && i < CU_FUNC_ATTRIBUTE_MAX; i++)
        if (i != own)
            ask_attribute(&ahead, kernel, device, i);
    ath_cuda_ahead_wait(&ahead); /* first: the thread keeps one answer, that of its last wait */
    return ath_cuda_ask_end(exchange);
}

/* What the thread asks next is a program's question about a kernel, or was. */
static void set_asks_facts(bool yes)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (thread)
        thread->asks_facts = yes;
}

CUresult ath_cuda_by_hand_cuKernelGetAttribute(int *value, CUfunction_attribute attribute,
                                               CUkernel kernel, CUdevice device)
{
    set_asks_facts(true);
    CUresult status = ath_cuda_do_cuKernelGetAttribute(value, attribute, kernel, device);
    set_asks_facts(false);
    return status;
}

CUresult ath_cuda_by_hand_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    set_asks_facts(true);
    CUresult status = ath_cuda_do_cuKernelGetFunction(function, kernel);
    set_asks_facts(false);
    return status;
}
