/*
 * PyTorch's first steps of ResNet-50 made 2,003 of these questions about some 130 kernels, each
 * with a wait of its own (H200): a minute, on a line of 30 ms.
 */
#include "config.h"

#include "runtime/cuda/by_hand/kernel_facts.h"

#include "base/cleanup.h"
#include "proto/cuda-client.h"
#include "runtime/cuda/ahead.h"

static void ask_attribute(struct ath_cuda_ahead *ahead,
                          struct ath_cuda_wire_kernel_get_attribute about, uint64_t kernel,
                          uint32_t attribute)
{
    struct ath_cuda_exchange exchange;
    if (ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuKernelGetAttribute))
        return;
    struct ath_cuda_wire_kernel_get_attribute_builder call =
        ath_cuda_wire_call_init_kernel_get_attribute(exchange.call);
    ath_cuda_wire_kernel_get_attribute_set_attribute(call, attribute);
    ath_cuda_wire_kernel_get_attribute_set_kernel(call,
                                                  ath_cuda_wire_kernel_get_attribute_kernel(about));
    ath_cuda_wire_kernel_get_attribute_set_device(call,
                                                  ath_cuda_wire_kernel_get_attribute_device(about));
    exchange.kernel = kernel;
    ath_cuda_ahead_ask(ahead, &exchange);
}

CUresult ath_cuda_ask_kernel_facts(struct ath_cuda_exchange *exchange,
                                   const struct ath_frame *message)
{
    ATH_AUTO(ath_cuda_ahead) ahead = { 0 };
    struct ath_cuda_wire_call call;
    if (ath_cuda_wire_call_open(ath_frame_message(message), ath_frame_message_length(message),
                                &call))
        return ath_cuda_ask(exchange);
    struct ath_cuda_wire_kernel_get_attribute about = ath_cuda_wire_call_kernel_get_attribute(call);
    CUresult status = ath_cuda_ask_begin(exchange);
    if (status)
        return status;
    for (uint32_t i = 0; i < CU_FUNC_ATTRIBUTE_MAX; i++)
        if (i != ath_cuda_wire_kernel_get_attribute_attribute(about))
            ask_attribute(&ahead, about, exchange->kernel, i);
    ath_cuda_ahead_wait(&ahead); /* first: the thread keeps one answer, that of its last wait */
    return ath_cuda_ask_end(exchange);
}

CUresult ath_cuda_by_hand_cuKernelGetAttribute(int *value, CUfunction_attribute attribute,
                                               CUkernel kernel, CUdevice device)
{
    struct ath_cuda_thread *thread = ath_cuda_this_thread();
    if (thread)
        thread->asks_facts = true;
    CUresult status = ath_cuda_do_cuKernelGetAttribute(value, attribute, kernel, device);
    if (thread)
        thread->asks_facts = false;
    return status;
}
