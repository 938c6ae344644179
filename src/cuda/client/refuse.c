/* Calls that are not supported. */
#include "config.h"

#include <stdatomic.h>
#include <stdio.h>

#include "cuda/client/client.h"
#include "remote/session/open.h"

CUresult ath_cuda_refuse(enum ath_cuda_method method)
{
    static atomic_bool is_said[ATH_CUDA_METHOD_COUNT];
    const struct ath_cuda_method_facts *facts = &ath_cuda_methods[method];
    if (ath_client_logs_calls() && !atomic_exchange(&is_said[method], true))
        fprintf(stderr, "aitherion: %s is not supported: %s\n", facts->name, facts->reason);
    return CUDA_ERROR_NOT_SUPPORTED;
}
