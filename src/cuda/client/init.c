/* cuInit(), and the driver's version, which a program may ask before. */
#include "config.h"

#include <stdatomic.h>

#include "base/cleanup.h"
#include "cuda/client/client.h"
#include "cuda/client/device_facts.h"
#include "cuda/client/prefetch.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

/* The first questions about the device follow cuInit() in the same round trip. */
static CUresult initialize(unsigned int flags)
{
    struct ath_cuda_exchange exchange;
    ATH_AUTO(ath_cuda_prefetch) ahead = { 0 };
    CUresult status = ath_cuda_begin(&exchange, ATH_CUDA_METHOD_cuInit);
    if (status)
        return status;
    ath_cuda_wire_init_set_flags(ath_cuda_wire_call_init_init(exchange.call), flags);
    status = ath_cuda_ask_begin(&exchange);
    if (status)
        return ath_cuda_end(&exchange, status);
    ath_cuda_ask_early(true);
    ath_cuda_device_facts_begin(0, &ahead);
    ath_cuda_ask_early(false);
    status = ath_cuda_ask_end(&exchange);
    ath_cuda_prefetch_wait(&ahead);
    if (status)
        ath_cuda_device_facts_undo(0);
    return ath_cuda_end(&exchange, status);
}

CUresult ath_cuda_by_hand_cuInit(unsigned int flags)
{
    /* each library calls cuInit() again */
    if (!flags && !ath_cuda_may(ATH_CUDA_METHOD_cuCtxSynchronize))
        return CUDA_SUCCESS;
    CUresult status = ath_cuda_connect();
    if (!status)
        status = initialize(flags);
    if (!status)
        ath_cuda_set_ready();
    return status;
}

/* May be called before cuInit(); static runtimes do so. */
CUresult ath_cuda_by_hand_cuDriverGetVersion(int *version)
{
    static atomic_int known;
    if (!version)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = known ? CUDA_SUCCESS : ath_cuda_connect();
    if (!status && !known)
        known = ath_cuda_driver_version();
    if (!status && !known) { /* the server did not send it with the transport */
        int asked = 0;
        status = ath_cuda_do_cuDriverGetVersion(&asked);
        known = asked;
    }
    if (!status)
        *version = known;
    return status;
}
