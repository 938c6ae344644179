/* Finding functions by name, and the names of errors. */
#include "config.h"

#include "sim/sim.h"

#include <string.h>

#include "cuda/api/symbols.h"
#include "proto/cuda-methods.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/export_tables.h"
#include "sim/facts.h"

static const struct ath_cuda_error *find_error(CUresult error)
{
    for (const struct ath_cuda_error *at = ath_cuda_errors; at->name; at++)
        if (at->value == (int)error)
            return at;
    return NULL;
}

CUresult cuGetErrorName(CUresult error, const char **out)
{
    const struct ath_cuda_error *found = find_error(error);
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = found ? found->name : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **out)
{
    const struct ath_cuda_error *found = find_error(error);
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = found ? found->text : NULL;
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUdriverProcAddressQueryResult find(const char *name, void **out, int version,
                                           uint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    const struct ath_cuda_symbol *found = ath_cuda_symbol_find(
        name, version, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status);
    *out = NULL;
    if (found)
        memcpy(out, &found->function, sizeof *out);
    return status;
}

/* If both streams are requested, the thread's wins (driver 580, tested). */
static bool are_flags(uint64_t flags)
{
    const uint64_t known =
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return !(flags & ~known);
}

/* Since CUDA 12 an unknown name is no error. A version above the driver's is one (580). */
CUresult cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult *out_status)
{
    if (!name || !*name || !out || !are_flags(flags) || version > SIM_DRIVER_VERSION)
        return CUDA_ERROR_INVALID_VALUE;
    CUdriverProcAddressQueryResult status = find(name, out, version, flags);
    if (out_status)
        *out_status = status;
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
    if (!name || !*name || !out || !are_flags(flags) || version > SIM_DRIVER_VERSION)
        return CUDA_ERROR_INVALID_VALUE;
    return find(name, out, version, flags) == CU_GET_PROC_ADDRESS_SUCCESS ? CUDA_SUCCESS
                                                                          : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetExportTable(const void **out, const CUuuid *id)
{
    if (!out || !id)
        return CUDA_ERROR_INVALID_VALUE;
    *out = sim_table(id);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* ---- profiling, without effect ---- */

CUresult cuProfilerStart(void)
{
    SIM_LOCKED;
    struct sim_context *context;
    return sim_enter(&context);
}

CUresult cuProfilerStop(void)
{
    SIM_LOCKED;
    struct sim_context *context;
    return sim_enter(&context);
}
