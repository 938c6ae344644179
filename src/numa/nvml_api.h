/*
 * The part of NVML's binary interface that aitherion uses.
 *
 * The interface is stable, but not every build machine has its header. So the prototypes are our
 * own, written after the NVML API Reference Guide (docs.nvidia.com/deploy/nvml-api). Private to
 * numa.
 */
#pragma once

enum {
    NVML_SUCCESS = 0,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_GPU_IS_LOST = 15,
    NVML_ENABLED = 1,
    NVML_REMOTE_GPU = 0, /* nvmlIntNvLinkDeviceType_t */
    NVML_REMOTE_NPU = 1,
    NVML_REMOTE_SWITCH = 2,
    NVML_P2P_NVLINK = 2, /* NVML_P2P_CAPS_INDEX_NVLINK */
    NVML_LEVEL_PIX = 10, /* NVML_TOPOLOGY_SINGLE, _MULTIPLE, _HOSTBRIDGE */
    NVML_LEVEL_PXB = 20,
    NVML_LEVEL_PHB = 30,
    NVML_SCOPE_NODE = 0,            /* NVML_AFFINITY_SCOPE_NODE */
    NVML_FIELD_SPEED_L0 = 84,       /* NVML_FI_DEV_NVLINK_SPEED_MBPS_L0 to _L5, megabytes/s */
    NVML_FIELD_SPEED_COMMON = 90,   /* ..._COMMON: the speed of every active link */
    NVML_FIELD_SPEED_L6 = 132,      /* ..._L6 to _L11 */
    NVML_FIELD_SPEED_OF_LINK = 164, /* NVML_FI_DEV_NVLINK_GET_SPEED, the link in scope_id */
};

typedef struct nvml_device *nvml_device;

struct nvml_pci {
    char bus_id_legacy[16];
    unsigned int domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_field {
    unsigned int field_id, scope_id;
    long long timestamp, latency_us;
    int value_type; /* 0 double, 1 unsigned, 2 unsigned long, 3 unsigned long long, 4 long long */
    int status;
    union {
        double real;
        unsigned int small;
        unsigned long large;
        unsigned long long larger;
        long long negative;
    } value;
};

/* The functions. All return 0 or an NVML error, except nvmlErrorString. */
struct nvml {
    void *library; /* from dlopen() */
    int (*nvmlInit_v2)(void);
    int (*nvmlShutdown)(void);
    const char *(*nvmlErrorString)(int);
    int (*nvmlDeviceGetHandleByPciBusId_v2)(const char *, nvml_device *);
    int (*nvmlDeviceGetUUID)(nvml_device, char *, unsigned int);
    int (*nvmlDeviceGetName)(nvml_device, char *, unsigned int);
    int (*nvmlDeviceGetMemoryInfo)(nvml_device, struct nvml_memory *);
    int (*nvmlSystemGetDriverVersion)(char *, unsigned int);
    int (*nvmlDeviceGetCurrPcieLinkGeneration)(nvml_device, unsigned int *);
    int (*nvmlDeviceGetCurrPcieLinkWidth)(nvml_device, unsigned int *);
    int (*nvmlDeviceGetNvLinkState)(nvml_device, unsigned int, unsigned int *);
    int (*nvmlDeviceGetNvLinkRemotePciInfo_v2)(nvml_device, unsigned int, struct nvml_pci *);
    int (*nvmlDeviceGetNvLinkRemoteDeviceType)(nvml_device, unsigned int, unsigned int *);
    int (*nvmlDeviceGetFieldValues)(nvml_device, int, struct nvml_field *);
    int (*nvmlDeviceGetP2PStatus)(nvml_device, nvml_device, unsigned int, unsigned int *);
    int (*nvmlDeviceGetTopologyCommonAncestor)(nvml_device, nvml_device, unsigned int *);
    int (*nvmlDeviceGetMemoryAffinity)(nvml_device, unsigned int, unsigned long *, unsigned int);
};

/*
 * Loads a library by name or path; it stays loaded. Returns NULL, or the reason why the library is
 * unusable. On success the first four functions exist; the others are NULL if the driver lacks
 * them.
 */
const char *nvml_load(const char *library, struct nvml *nvml);

#define NVML_LIBRARY "libnvidia-ml.so.1"
