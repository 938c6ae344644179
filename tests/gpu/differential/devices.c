/* Questions about devices, the driver and errors. */
#include "config.h"

#include "driver.h"

#include <string.h>

/* Differ on purpose: docs/coverage.md says why. */
static bool is_ours(int attribute)
{
    return attribute == CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS ||
           attribute == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED ||
           attribute == CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS ||
           attribute == CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ||
           attribute == CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED ||
           attribute == CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED;
}

static CUdevice some_device(void)
{
    return (CUdevice)ONE_OF(0, 0, 0, 0, 9, -1);
}

static void ask_attribute(void)
{
    int value = 0, attribute = (int)below(150);
    CUdevice device = some_device();
    NEED(!is_ours(attribute));
    say(" %d of %d", attribute, device);
    if (!CALL(cuDeviceGetAttribute, &value, (CUdevice_attribute)attribute, device))
        say(" %d", value);
}

static void ask_name(void)
{
    char text[64];
    CUdevice device = some_device();
    int room = (int)ONE_OF(64, 64, 5, 1, 0);
    memset(text, 0, sizeof text);
    say(" %d room=%d", device, room);
    if (chance(2) ? CALL(cuDeviceGetName, text, room, device)
                  : CALL(cuDeviceGetPCIBusId, text, room, device))
        return;
    say(" '%.60s'", text);
}

static void ask_identity(void)
{
    CUuuid uuid;
    CUdevice device = -5;
    char luid[8];
    unsigned int mask = 0;
    memset(&uuid, 0, sizeof uuid);
    switch (below(4)) {
    case 0:
        if (!CALL(cuDeviceGetUuid_v2, &uuid, some_device()))
            say(" %08x", (unsigned int)hash_of(&uuid, sizeof uuid));
        break;
    case 1:
        if (!CALL(cuDeviceGet, &device, (int)ONE_OF(0, 0, 9, -1)))
            say(" %d", device);
        break;
    case 2:
        CALL(cuDeviceGetByPCIBusId, &device, chance(2) ? "ffff:ff:1f.7" : "nonsense");
        break;
    default:
        CALL(cuDeviceGetLuid, luid, &mask, some_device());
    }
}

static void ask_facts(void)
{
    CUdevprop properties;
    size_t bytes = 0;
    int major = 0, minor = 0;
    CUdevice device = some_device();
    memset(&properties, 0, sizeof properties);
    say(" %d", device);
    switch (below(4)) {
    case 0:
        if (!CALL(cuDeviceGetProperties, &properties, device))
            say(" %08x", (unsigned int)hash_of(&properties, sizeof properties));
        break;
    case 1:
        if (!CALL(cuDeviceTotalMem_v2, &bytes, device))
            say(" %zu", bytes);
        break;
    case 2:
        if (!CALL(cuDeviceComputeCapability, &major, &minor, device))
            say(" %d.%d", major, minor);
        break;
    default:
        if (!CALL(cuDeviceGetTexture1DLinearMaxWidth, &bytes, (CUarray_format)ONE_OF(32, 1, 99),
                  (unsigned int)ONE_OF(1, 4, 3), device))
            say(" %zu", bytes);
    }
}

static void ask_peers(void)
{
    int value = 0;
    CUdevice a = some_device(), b = some_device();
    say(" %d,%d", a, b);
    if (chance(2)) {
        if (!CALL(cuDeviceCanAccessPeer, &value, a, b))
            say(" %d", value);
    } else if (!CALL(cuDeviceGetP2PAttribute, &value, (CUdevice_P2PAttribute)below(7), a, b)) {
        say(" %d", value);
    }
}

static void ask_affinity(void)
{
    int value = 0;
    CUexecAffinityType type = (CUexecAffinityType)below(3);
    say(" %d", (int)type);
    if (!CALL(cuDeviceGetExecAffinitySupport, &value, type, some_device()))
        say(" %d", value);
}

static void ask_error(void)
{
    const char *text = NULL;
    CUresult error = (CUresult)ONE_OF(0, 1, 2, 3, 4, 34, 46, 100, 101, 200, 201, 209, 214, 218, 222,
                                      300, 304, 400, 401, 500, 600, 700, 701, 709, 716, 719, 800,
                                      801, 802, 900, 901, 906, 907, 910, 999, 1000, -1);
    say(" %d", (int)error);
    if (!(chance(2) ? CALL(cuGetErrorName, error, &text) : CALL(cuGetErrorString, error, &text)))
        say(" '%s'", text ? text : "null");
}

static void ask_driver(void)
{
    int version = 0;
    if (chance(8))
        CALL(cuDriverGetVersion, NULL);
    else if (!CALL(cuDriverGetVersion, &version))
        say(" %d", version);
    CALL(cuInit, chance(2));
}

static void ask_entry(void)
{
    static const char *const names[] = {
        "cuInit",           "cuMemAlloc", "cuGraphCreate",         "cuNoSuch", "cudaMalloc",
        "cuGetProcAddress", "",           "cuStreamGetCaptureInfo"
    };
    void *entry = NULL;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    const char *name = names[below(COUNT(names))];
    int version = (int)ONE_OF(13000, 12000, 11000, 2000, 1000, 99000);
    uint64_t flags = (uint64_t)ONE_OF(0, 1, 2, 3);
    say(" '%s' %d flags=%d", name, version, (int)flags);
    if (!CALL(cuGetProcAddress_v2, name, &entry, version, flags, &status))
        say(" %s", entry ? "found" : "null");
    say(" status=%d", (int)status);
}

static const struct operation operations[] = {
    { "attribute", 30, ask_attribute }, { "name", 6, ask_name },
    { "identity", 8, ask_identity },    { "facts", 8, ask_facts },
    { "peers", 6, ask_peers },          { "affinity", 2, ask_affinity },
    { "error", 10, ask_error },         { "driver", 3, ask_driver },
    { "entry point", 8, ask_entry },
};

const struct area device_area = { "devices", operations, COUNT(operations), 0 };
