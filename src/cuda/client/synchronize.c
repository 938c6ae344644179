/* Waits for streams, and records of events. */
#include "config.h"

#include "cuda/client/client.h"
#include "cuda/client/mirror.h"
#include "cuda/client/stream_rest.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

CUresult ath_cuda_by_hand_cuStreamSynchronize(CUstream stream)
{
    struct ath_cuda_exchange exchange;
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuStreamSynchronize);
    if (status)
        return status;
    enum ath_cuda_rest rest = ath_cuda_stream_rest(stream);
    if (rest == ATH_CUDA_AT_REST) {
        status = ath_cuda_end(&exchange, CUDA_SUCCESS);
        return status ? status : ath_cuda_mirror_pull(ATH_CUDA_METHOD_cuStreamSynchronize);
    }
    ath_cuda_check_handle(&exchange, ATH_CUDA_KIND_STREAM, (uintptr_t)stream);
    ath_cuda_wire_stream_synchronize_set_stream(
        ath_cuda_wire_call_init_stream_synchronize(exchange.call),
        ath_cuda_to_wire(&exchange.side, ATH_CUDA_KIND_STREAM, (uintptr_t)stream));
    if (rest == ATH_CUDA_HAS_COPIES) {
        status = ath_cuda_post(&exchange);
        if (!status)
            ath_cuda_stream_goes_on(&exchange, stream, true);
        return ath_cuda_end(&exchange, status);
    }
    status = ath_cuda_ask(&exchange);
    if (!status)
        ath_cuda_stream_rests(&exchange, stream);
    return ath_cuda_end(&exchange, status);
}

/* Without flags, as runtimes call it, this is cuEventRecord(), which is not waited for. With flags
 * the server reports errors at once. */
CUresult ath_cuda_by_hand_cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags)
{
    return flags ? ath_cuda_do_cuEventRecordWithFlags(event, stream, flags)
                 : ath_cuda_do_cuEventRecord(event, stream);
}
