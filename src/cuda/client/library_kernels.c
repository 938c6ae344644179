/* Asks for kernels of a library, and keeps what the server says about each. */
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

/* A question for several kernels of a library. */
struct question {
    struct ath_cuda_exchange exchange;
    struct ath_cuda_promised_library about;
    bool is_asked;
};

/* Sends the question, if it is worth it. Not between ath_cuda_begin() and ath_cuda_end(). */
static void begin_question(struct question *out, const struct ath_cuda_library_kernel *near)
{
    out->is_asked = false;
    if (!ath_cuda_promise_wants_kernels((uintptr_t)near->library, &out->about) ||
        ath_cuda_begin(&out->exchange, ATH_CUDA_METHOD_athLibraryKernels))
        return;
    struct ath_cuda_wire_library_kernels_builder call =
        ath_cuda_wire_call_init_library_kernels(out->exchange.call);
    ath_cuda_wire_library_kernels_set_library(
        call,
        ath_cuda_to_wire(&out->exchange.side, ATH_CUDA_KIND_LIBRARY, (uintptr_t)near->library));
    ath_cuda_wire_library_kernels_set_print_a(call, out->about.print.a);
    ath_cuda_wire_library_kernels_set_print_b(call, out->about.print.b);
    if (out->about.is_large)
        ath_cuda_wire_library_kernels_set_name(call, near->name);
    out->is_asked = !ath_cuda_ask_begin(&out->exchange);
}

/* Takes the answer of a question that was sent. The same. */
static void end_question(struct question *asked, CUlibrary library)
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
        keep(library, ath_cuda_wire_named_kernel_name(kernel),
             ath_cuda_wire_named_kernel_answer(kernel));
    }
    if (!status && !list.count)
        ath_cuda_promise_note_large((uintptr_t)library);
    ath_frame_free(&whole);
    (void)ath_cuda_end(&asked->exchange, CUDA_SUCCESS);
}

CUresult ath_cuda_ask_library_kernels(struct ath_cuda_exchange *exchange,
                                      const struct ath_frame *message)
{
    const struct ath_cuda_library_kernel *near = exchange->thread->more;
    struct question more;
    (void)message;
    exchange->thread->ask_more = NULL; /* the questions from here on are not the program's */
    CUresult status = ath_cuda_ask_begin(exchange);
    if (status)
        return status;
    begin_question(&more, near);
    /* first, because the thread keeps only the answer of its last wait */
    end_question(&more, near->library);
    return ath_cuda_ask_end(exchange);
}
