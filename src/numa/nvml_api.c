/* Loading NVML. */
#include "config.h"

#include "numa/nvml_api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/alloc.h"
#include "base/i18n.h"

#define FUNCTION(name, is_needed)                                                                  \
    {                                                                                              \
#name, offsetof(struct nvml, name), is_needed                                              \
    }

static const struct {
    const char *name;
    size_t offset;
    bool is_needed;
} functions[] = {
    FUNCTION(nvmlInit_v2, true),
    FUNCTION(nvmlShutdown, true),
    FUNCTION(nvmlErrorString, true),
    FUNCTION(nvmlDeviceGetHandleByPciBusId_v2, true),
    FUNCTION(nvmlDeviceGetUUID, false),
    FUNCTION(nvmlDeviceGetName, false),
    FUNCTION(nvmlDeviceGetMemoryInfo, false),
    FUNCTION(nvmlSystemGetDriverVersion, false),
    FUNCTION(nvmlDeviceGetCurrPcieLinkGeneration, false),
    FUNCTION(nvmlDeviceGetCurrPcieLinkWidth, false),
    FUNCTION(nvmlDeviceGetNvLinkState, false),
    FUNCTION(nvmlDeviceGetNvLinkRemotePciInfo_v2, false),
    FUNCTION(nvmlDeviceGetNvLinkRemoteDeviceType, false),
    FUNCTION(nvmlDeviceGetFieldValues, false),
    FUNCTION(nvmlDeviceGetP2PStatus, false),
    FUNCTION(nvmlDeviceGetTopologyCommonAncestor, false),
    FUNCTION(nvmlDeviceGetMemoryAffinity, false),
};

const char *nvml_load(const char *library, struct nvml *nvml)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return dlerror();
    nvml->library = handle;
    for (size_t i = 0; i < ATH_COUNT(functions); i++) {
        void *function = dlsym(handle, functions[i].name);
        if (!function && functions[i].is_needed)
            return _("it lacks a function that every driver since 2013 has");
        memcpy((char *)nvml + functions[i].offset, &function, sizeof function);
    }
    return NULL;
}
