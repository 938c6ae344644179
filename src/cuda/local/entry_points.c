/* The functions that do more than call the driver: cuInit() opens the session, cuGetProcAddress()
 * gives this library's functions. */
#include "config.h"

#include <string.h>

#include "cuda/api/symbols.h"
#include "cuda/local/local.h"

CUresult ath_local_cuInit(unsigned int flags)
{
    CUresult status = ath_local_open();
    if (status)
        return status;
    return ath_local.driver.cuInit ? ath_local.driver.cuInit(flags) : CUDA_ERROR_NOT_SUPPORTED;
}

/* ---- addresses of functions ---- */

enum { NEWEST = 13000 }; /* the CUDA version of proto/cuda-symbols.txt */

/* Asks the driver for a function. Drivers before CUDA 12 have cuGetProcAddress() only. */
static CUresult ask_driver(const char *symbol, void **entry, int version, uint64_t flags,
                           CUdriverProcAddressQueryResult *out)
{
    const struct ath_cuda_driver *driver = &ath_local.driver;
    *out = CU_GET_PROC_ADDRESS_SUCCESS;
    if (driver->cuGetProcAddress_v2)
        return driver->cuGetProcAddress_v2(symbol, entry, version, flags, out);
    return driver->cuGetProcAddress ? driver->cuGetProcAddress(symbol, entry, version, flags)
                                    : CUDA_ERROR_NOT_SUPPORTED;
}

/* Returns whether the driver gives a program of a newer CUDA another function than one of NEWEST.
 * This library does not know that function's parameters. */
static bool is_newer(const char *symbol, const void *given, int version, uint64_t flags)
{
    CUdriverProcAddressQueryResult unused;
    void *known = NULL;
    return version > NEWEST &&
           (ask_driver(symbol, &known, NEWEST, flags, &unused) || known != given);
}

/* Puts this library's function in place of the driver's, if it has one. */
static void replace(const char *symbol, void **entry, int version, uint64_t flags)
{
    CUdriverProcAddressQueryResult unused;
    bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    const struct ath_cuda_symbol *found =
        ath_cuda_symbol_find(symbol, version, per_thread, &unused);
    if (*entry && found && !is_newer(symbol, *entry, version, flags))
        memcpy(entry, &found->function, sizeof *entry);
}

CUresult ath_local_cuGetProcAddress_v2(const char *symbol, void **entry, int version,
                                       uint64_t flags, CUdriverProcAddressQueryResult *status)
{
    CUdriverProcAddressQueryResult found;
    if (!symbol || !entry)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult outcome = ask_driver(symbol, entry, version, flags, &found);
    if (outcome)
        return outcome;
    replace(symbol, entry, version, flags);
    if (status)
        *status = found;
    return CUDA_SUCCESS;
}

CUresult ath_local_cuGetProcAddress(const char *symbol, void **entry, int version, uint64_t flags)
{
    if (!symbol || !entry)
        return CUDA_ERROR_INVALID_VALUE;
    if (!ath_local.driver.cuGetProcAddress)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult outcome = ath_local.driver.cuGetProcAddress(symbol, entry, version, flags);
    if (!outcome)
        replace(symbol, entry, version, flags);
    return outcome;
}
