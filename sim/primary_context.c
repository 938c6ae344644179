/* The primary context of each device, which runtimes share. */
#include "config.h"

#include "sim/primary_context.h"

#include "sim/context.h"
#include "sim/context_local.h"
#include "sim/device.h"

CUresult sim_primary_retain(int device, struct sim_context **out)
{
    struct sim_device *of = sim_device(device);
    if (!of->primary) {
        of->primary = sim_context_new();
        if (!of->primary)
            return CUDA_ERROR_OUT_OF_MEMORY;
        of->primary->is_primary = true;
    }
    if (!of->primary->is_alive) {
        CUresult status = sim_context_start(of->primary, device, of->primary->flags);
        if (status)
            return status;
    }
    of->primary_refs++;
    *out = of->primary;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice number)
{
    SIM_LOCKED;
    struct sim_device *device;
    struct sim_context *context;
    CUresult status = sim_enter_device(number, &device);
    if (!status && !out)
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = sim_primary_retain(number, &context);
    if (!status)
        *out = (CUcontext)context;
    return status;
}

/* "Resetting the primary context does not release it" (cuda.h, cuDevicePrimaryCtxReset()). */
static CUresult end_primary(CUdevice number, bool is_reset)
{
    struct sim_device *device;
    struct sim_context *context = NULL;
    sim_lock();
    CUresult status = sim_enter_device(number, &device);
    if (!status && !is_reset && !device->primary_refs)
        status = CUDA_ERROR_INVALID_CONTEXT;
    if (!status && !is_reset)
        device->primary_refs--;
    if (!status && device->primary && device->primary->is_alive &&
        (is_reset || !device->primary_refs))
        context = device->primary;
    sim_unlock();
    if (!context)
        return status;
    sim_context_end_locals(context);
    SIM_LOCKED;
    if (context->is_alive)
        sim_context_end(context);
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    return end_primary(device, false);
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
    return end_primary(device, false);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
    return end_primary(device, true);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
    return end_primary(device, true);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice number, unsigned int *flags, int *is_active)
{
    SIM_LOCKED;
    struct sim_device *device;
    CUresult status = sim_enter_device(number, &device);
    if (status)
        return status;
    if (!flags || !is_active)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = device->primary ? device->primary->flags : 0;
    *is_active = device->primary && device->primary->is_alive;
    return CUDA_SUCCESS;
}

static CUresult set_primary_flags(CUdevice number, unsigned int flags)
{
    SIM_LOCKED;
    struct sim_device *device;
    CUresult status = sim_enter_device(number, &device);
    if (status)
        return status;
    if (flags & ~(unsigned int)SIM_CONTEXT_FLAGS)
        return CUDA_ERROR_INVALID_VALUE;
    if (!device->primary) {
        device->primary = sim_context_new();
        if (!device->primary)
            return CUDA_ERROR_OUT_OF_MEMORY;
        device->primary->is_primary = true;
    }
    device->primary->flags = flags;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags)
{
    return set_primary_flags(device, flags);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags)
{
    return set_primary_flags(device, flags);
}
