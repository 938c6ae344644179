/*
 * Parameters for cuLaunch(), the way to launch before CUDA 4.0. Driver 580 writes beyond its memory
 * if an offset is too large, which ends the process (seen on an H200). So offsets are checked here:
 * each parameter of such a kernel lies in 4 KiB (CUDA C++ Programming Guide, "Function
 * Parameters").
 */
#include "config.h"

#include "cuda/server/served_call.h"

enum { PARAMETERS_BYTES = 4096 };

/* Returns the function of a call. Sets the status if the bytes from offset on have no place. */
static CUfunction check(struct ath_cuda_served *served, uint64_t function, int32_t offset,
                        size_t bytes)
{
    bool fits =
        offset >= 0 && bytes <= PARAMETERS_BYTES && (size_t)offset <= PARAMETERS_BYTES - bytes;
    CUfunction own =
        (CUfunction)(uintptr_t)ath_cuda_to_own(&served->side, ATH_CUDA_KIND_FUNCTION, function);
    if (!fits && !served->side.status)
        served->side.status = CUDA_ERROR_INVALID_VALUE;
    return own;
}

void ath_cuda_serve_cuParamSetSize(struct ath_cuda_served *served)
{
    NEEDS(served, cuParamSetSize)
    struct ath_cuda_wire_param_set_size call = ath_cuda_wire_call_param_set_size(served->call);
    uint32_t bytes = ath_cuda_wire_param_set_size_bytes(call);
    CUfunction function = check(served, ath_cuda_wire_param_set_size_function(call), 0, bytes);
    if (!ath_cuda_refused(served))
        served->status = served->driver->cuParamSetSize(function, bytes);
}

void ath_cuda_serve_cuParamSetf(struct ath_cuda_served *served)
{
    NEEDS(served, cuParamSetf)
    struct ath_cuda_wire_param_setf call = ath_cuda_wire_call_param_setf(served->call);
    int32_t offset = ath_cuda_wire_param_setf_offset(call);
    CUfunction function =
        check(served, ath_cuda_wire_param_setf_function(call), offset, sizeof(float));
    if (!ath_cuda_refused(served))
        served->status =
            served->driver->cuParamSetf(function, offset, ath_cuda_wire_param_setf_value(call));
}

void ath_cuda_serve_cuParamSeti(struct ath_cuda_served *served)
{
    NEEDS(served, cuParamSeti)
    struct ath_cuda_wire_param_seti call = ath_cuda_wire_call_param_seti(served->call);
    int32_t offset = ath_cuda_wire_param_seti_offset(call);
    uint32_t value = ath_cuda_wire_param_seti_value(call);
    CUfunction function =
        check(served, ath_cuda_wire_param_seti_function(call), offset, sizeof value);
    if (!ath_cuda_refused(served))
        served->status = served->driver->cuParamSeti(function, offset, value);
}

void ath_cuda_serve_cuParamSetv(struct ath_cuda_served *served)
{
    NEEDS(served, cuParamSetv)
    struct ath_cuda_wire_param_setv call = ath_cuda_wire_call_param_setv(served->call);
    struct ath_wire_bytes bytes = ath_cuda_wire_param_setv_memory(call);
    int32_t offset = ath_cuda_wire_param_setv_offset(call);
    CUfunction function =
        check(served, ath_cuda_wire_param_setv_function(call), offset, bytes.length);
    if (!ath_cuda_refused(served))
        served->status = served->driver->cuParamSetv(
            function, offset, (void *)(uintptr_t)bytes.data, (unsigned int)bytes.length);
}
