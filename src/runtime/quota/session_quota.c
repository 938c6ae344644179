/* The session of this process, as the wrapping functions see it. */
#include "config.h"

#include "runtime/quota/session_quota.h"

struct ath_session_quota ath_quota;

bool ath_quota_has_device(CUdevice device)
{
    return device >= 0 && (size_t)device < ath_quota.count;
}

size_t ath_quota_current_device(void)
{
    CUdevice device;
    if (!ath_quota.driver.cuCtxGetDevice || ath_quota.driver.cuCtxGetDevice(&device) ||
        !ath_quota_has_device(device))
        return SIZE_MAX;
    return ath_quota.devices[device];
}

size_t ath_quota_device_at(const CUmemLocation *location)
{
    bool is_device =
        location->type == CU_MEM_LOCATION_TYPE_DEVICE && ath_quota_has_device(location->id);
    return is_device ? ath_quota.devices[location->id] : SIZE_MAX;
}

CUcontext ath_quota_current_context(void)
{
    CUcontext context = NULL;
    return ath_quota.driver.cuCtxGetCurrent && !ath_quota.driver.cuCtxGetCurrent(&context) ? context
                                                                                           : NULL;
}
