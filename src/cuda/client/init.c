/* cuInit(), and the driver's version, which a program may ask before. */
#include "config.h"

#include <stdatomic.h>

#include "base/cleanup.h"
#include "cuda/client/client.h"
#include "cuda/client/code_facts.h"
#include "cuda/client/device_facts.h"
#include "cuda/client/prefetch.h"
#include "proto/cuda-client.h"
#include "proto/cuda-wire.h"

/* The devices of which all facts are asked at once: those that the name of the code's facts needs
 * (code_facts.h), or the first. */
static int count_devices(void)
{
    int count = ath_cuda_device_count();
    return count > 1 && count <= ATH_CUDA_DEVICE_FACTS_MAX && ath_cuda_promises_code() ? count : 1;
}

/* The first questions about the devices follow cuInit() in the same round trip. */
static CUresult initialize(unsigned int flags)
{
    const int count = count_devices();
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
    for (int i = 0; i < count; i++)
        ath_cuda_device_facts_begin(i, &ahead);
    ath_cuda_ask_early(false);
    status = ath_cuda_ask_end(&exchange);
    ath_cuda_prefetch_wait(&ahead);
    for (int i = 0; status && i < count; i++)
        ath_cuda_device_facts_undo(i);
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
