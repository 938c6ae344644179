/* Names and texts of errors, and addresses of functions: what a driver library knows without a
 * server. */
#include "config.h"

#include <string.h>

#include "cuda/api/symbols.h"
#include "cuda/client/client.h"
#include "proto/cuda-client.h"

/* ---- errors ---- */

static const struct ath_cuda_error *error_of(CUresult status)
{
    for (const struct ath_cuda_error *one = ath_cuda_errors; one->name; one++)
        if (one->value == (int)status)
            return one;
    return NULL;
}

CUresult ath_cuda_by_hand_cuGetErrorName(CUresult error, const char **text)
{
    const struct ath_cuda_error *found = error_of(error);
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = found ? found->name : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult ath_cuda_by_hand_cuGetErrorString(CUresult error, const char **text)
{
    const struct ath_cuda_error *found = error_of(error);
    if (!text)
        return CUDA_ERROR_INVALID_VALUE;
    *text = found ? found->text : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- addresses of functions ---- */

/* If both stream flags are set, the per-thread one wins (seen with driver 580). */
static bool are_flags(uint64_t flags)
{
    const uint64_t known =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return !(flags & ~known);
}

/* A version that the driver does not have yet (580). Before cuInit() the driver is not known. */
static bool is_later(int version)
{
    int known = ath_cuda_driver_version();
    return known && version > known;
}

static const struct ath_cuda_symbol *look_up_symbol(const char *symbol, void **entry, int version,
                                                    uint64_t flags,
                                                    CUdriverProcAddressQueryResult *out_status)
{
    bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    const struct ath_cuda_symbol *found =
        ath_cuda_symbol_find(symbol, version, per_thread, out_status);
    *entry = NULL;
    if (found)
        memcpy(entry, &found->function, sizeof *entry);
    return found;
}

/* Before CUDA 12 an unknown symbol is an error. Since then the status and the NULL pointer say
 * it. */
CUresult ath_cuda_by_hand_cuGetProcAddress(const char *symbol, void **entry, int version,
                                           uint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    if (!symbol || !entry || !are_flags(flags) || is_later(version))
        return CUDA_ERROR_INVALID_VALUE;
    return look_up_symbol(symbol, entry, version, flags, &status) ? CUDA_SUCCESS
                                                                  : CUDA_ERROR_NOT_FOUND;
}

CUresult ath_cuda_by_hand_cuGetProcAddress_v2(const char *symbol, void **entry, int version,
                                              uint64_t flags,
                                              CUdriverProcAddressQueryResult *status)
{
    CUdriverProcAddressQueryResult found;
    if (!symbol || !entry || !are_flags(flags) || is_later(version))
        return CUDA_ERROR_INVALID_VALUE;
    look_up_symbol(symbol, entry, version, flags, &found);
    if (status)
        *status = found;
    return CUDA_SUCCESS;
}
