/* Asks for all kernels of a library, and keeps what the server says about each. */
#include "config.h"

#include "cuda/client/library_kernels.h"

#include "base/cleanup.h"
#include "cuda/client/code_facts.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

void ath_cuda_library_kernels_put(struct ath_cuda_exchange *exchange, CUlibrary library,
                                  const char *name, uint64_t promised)
{
    struct ath_cuda_wire_library_get_kernel_builder call =
        ath_cuda_wire_call_init_library_get_kernel(exchange->call);
    ath_cuda_wire_library_get_kernel_set_library(
        call, ath_cuda_to_wire(&exchange->side, ATH_CUDA_KIND_LIBRARY, (uintptr_t)library));
    ath_cuda_wire_library_get_kernel_set_name(call, name);
    exchange->promised = promised;
    ath_cuda_wire_library_get_kernel_set_promised(call, promised);
}

void ath_cuda_library_kernels_begin(struct ath_cuda_library_kernels *asked, CUlibrary library)
{
    struct ath_fingerprint_value print;
    asked->is_asked = false;
    asked->library = library;
    if (!ath_cuda_promise_is_first((uintptr_t)library, &print) ||
        ath_cuda_begin(&asked->exchange, ATH_CUDA_METHOD_athLibraryKernels))
        return;
    struct ath_cuda_wire_library_kernels_builder call =
        ath_cuda_wire_call_init_library_kernels(asked->exchange.call);
    ath_cuda_wire_library_kernels_set_library(
        call, ath_cuda_to_wire(&asked->exchange.side, ATH_CUDA_KIND_LIBRARY, (uintptr_t)library));
    ath_cuda_wire_library_kernels_set_print_a(call, print.a);
    ath_cuda_wire_library_kernels_set_print_b(call, print.b);
    asked->is_asked = !ath_cuda_ask_begin(&asked->exchange);
}

/* Keeps the answer to the question for a kernel, as if the program had asked it. */
static void keep(CUlibrary library, const char *name, struct ath_wire_bytes answer)
{
    struct ath_cuda_exchange exchange;
    ATH_AUTO(ath_frame) key = { 0 };
    uint64_t promised = ath_cuda_promise_kernel((uintptr_t)library, name);
    if (!promised || answer.length < ATH_FRAME_HEAD ||
        ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuLibraryGetKernel))
        return;
    struct ath_frame *frame = &exchange.thread->answer;
    ath_cuda_library_kernels_put(&exchange, library, name, promised);
    if (ath_cuda_code_facts_key(&exchange, &key) &&
        !ath_frame_copy(frame, answer.data, answer.length) &&
        !ath_cuda_wire_answer_open(ath_frame_message(frame), ath_frame_message_length(frame),
                                   &exchange.answer))
        ath_cuda_code_facts_add(&exchange, &key, false);
    (void)ath_cuda_end(&exchange, CUDA_SUCCESS);
}

void ath_cuda_library_kernels_end(struct ath_cuda_library_kernels *asked)
{
    if (!asked->is_asked)
        return;
    CUresult status = ath_cuda_ask_end(&asked->exchange);
    struct ath_frame whole = asked->exchange.thread->answer; /* the list lies in it */
    asked->exchange.thread->answer = (struct ath_frame){ 0 };
    struct ath_wire_list list = { 0 };
    if (!status)
        list = ath_cuda_wire_library_kernels_result_kernels(
            ath_cuda_wire_answer_library_kernels(asked->exchange.answer));
    for (uint32_t i = 0; i < list.count; i++) {
        struct ath_cuda_wire_named_kernel kernel = { ath_wire_list_struct(list, i) };
        keep(asked->library, ath_cuda_wire_named_kernel_name(kernel),
             ath_cuda_wire_named_kernel_answer(kernel));
    }
    ath_frame_free(&whole);
    (void)ath_cuda_end(&asked->exchange, CUDA_SUCCESS);
}
