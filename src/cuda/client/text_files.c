/* Texts of the driver that the program wants in a file on its side. */
#include "config.h"

#include <stdio.h>

#include "base/cleanup.h"
#include "cuda/client/allocate.h"
#include "cuda/client/client.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

static CUresult write_file(const char *path, struct ath_wire_bytes text)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return CUDA_ERROR_OPERATING_SYSTEM;
    bool is_written = fwrite(text.data, 1, text.length, file) == text.length;
    return !fclose(file) && is_written ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult ath_cuda_by_hand_cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuGraphDebugDotPrint);
    if (status)
        return status;
    if (!path)
        return ath_cuda_end(&exchange, CUDA_ERROR_INVALID_VALUE);
    struct ath_cuda_wire_graph_debug_dot_print_builder call =
        ath_cuda_wire_call_init_graph_debug_dot_print(exchange.call);
    ath_cuda_wire_graph_debug_dot_print_set_graph(
        call, ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_GRAPH, (uintptr_t)graph));
    ath_cuda_wire_graph_debug_dot_print_set_flags(call, flags);
    status = ath_cuda_ask(&exchange);
    if (!status)
        status = write_file(path, ath_cuda_wire_graph_debug_dot_print_result_text(
                                      ath_cuda_wire_answer_graph_debug_dot_print(exchange.answer)));
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_by_hand_cuLogsDumpToFile(CUlogIterator *iterator, const char *path_to_file,
                                           unsigned int flags)
{
    enum { ALL = 25600 /* bytes that the driver keeps (docs.nvidia.com/cuda/cuda-driver-api) */ };
    size_t length = ALL;
    if (!path_to_file)
        return CUDA_ERROR_INVALID_VALUE;
    ath_auto_free char *text = ath_cuda_allocate(length);
    if (!text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_cuda_do_cuLogsDumpToMemory(iterator, text, &length, flags);
    return status
               ? status
               : write_file(path_to_file, (struct ath_wire_bytes){ (const uint8_t *)text,
                                                                   length < ALL ? length : ALL });
}
