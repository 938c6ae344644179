/*
 * NVML's types, for the calls that travel: docs.nvidia.com/deploy/nvml-api, as of CUDA 13.0.
 * tests/nvml/test_layout.py compares them with nvml.h if that is installed.
 *
 * A structure that this code never looks into is an array of bytes. A structure whose first member
 * is a version has its size in the version's low 24 bits (mostly): programs of an older NVML pass
 * the older and smaller structure.
 */
#pragma once

typedef enum nvmlReturn_t {
    NVML_SUCCESS = 0,
    NVML_ERROR_UNINITIALIZED = 1,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_ALREADY_INITIALIZED = 5,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_INSUFFICIENT_SIZE = 7,
    NVML_ERROR_INSUFFICIENT_POWER = 8,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_IRQ_ISSUE = 11,
    NVML_ERROR_LIBRARY_NOT_FOUND = 12,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,
    NVML_ERROR_CORRUPTED_INFOROM = 14,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
    NVML_ERROR_OPERATING_SYSTEM = 17,
    NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
    NVML_ERROR_IN_USE = 19,
    NVML_ERROR_MEMORY = 20,
    NVML_ERROR_NO_DATA = 21,
    NVML_ERROR_VGPU_ECC_NOT_SUPPORTED = 22,
    NVML_ERROR_INSUFFICIENT_RESOURCES = 23,
    NVML_ERROR_FREQ_NOT_SUPPORTED = 24,
    NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
    NVML_ERROR_DEPRECATED = 26,
    NVML_ERROR_NOT_READY = 27,
    NVML_ERROR_GPU_NOT_FOUND = 28,
    NVML_ERROR_INVALID_STATE = 29,
    NVML_ERROR_RESET_TYPE_NOT_SUPPORTED = 30,
    NVML_ERROR_UNKNOWN = 999,
} nvmlReturn_t;

/* Handles of NVML. */
typedef struct nvmlComputeInstance_st *nvmlComputeInstance_t;
typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlEventSet_st *nvmlEventSet_t;
typedef struct nvmlGpuInstance_st *nvmlGpuInstance_t;

/* Numbers, most of them enumerations. */
typedef unsigned int nvmlAffinityScope_t;
typedef unsigned int nvmlBrandType_t;
typedef unsigned int nvmlBusType_t;
typedef unsigned int nvmlClockId_t;
typedef unsigned int nvmlClockType_t;
typedef unsigned int nvmlComputeMode_t;
typedef unsigned int nvmlDeviceArchitecture_t;
typedef unsigned int nvmlDriverModel_t;
typedef unsigned int nvmlEccCounterType_t;
typedef unsigned int nvmlEnableState_t;
typedef unsigned int nvmlEncoderType_t;
typedef unsigned int nvmlFanControlPolicy_t;
typedef unsigned int nvmlGpuOperationMode_t;
typedef unsigned int nvmlGpuP2PCapsIndex_t;
typedef unsigned int nvmlGpuP2PStatus_t;
typedef unsigned int nvmlGpuTopologyLevel_t;
typedef unsigned int nvmlGpuVirtualizationMode_t;
typedef unsigned int nvmlInforomObject_t;
typedef unsigned int nvmlIntNvLinkDeviceType_t;
typedef unsigned int nvmlMemoryErrorType_t;
typedef unsigned int nvmlMemoryLocation_t;
typedef unsigned int nvmlNvLinkCapability_t;
typedef unsigned int nvmlNvLinkErrorCounter_t;
typedef unsigned int nvmlPageRetirementCause_t;
typedef unsigned int nvmlPcieUtilCounter_t;
typedef unsigned int nvmlPerfPolicyType_t;
typedef unsigned int nvmlPowerSource_t;
typedef unsigned int nvmlPstates_t;
typedef unsigned int nvmlRestrictedAPI_t;
typedef unsigned int nvmlSamplingType_t;
typedef unsigned int nvmlTemperatureSensors_t;
typedef unsigned int nvmlTemperatureThresholds_t;
typedef unsigned int nvmlValueType_t;

/* Structures. */
typedef struct nvmlAccountingStats_t {
    unsigned char bytes[56];
} nvmlAccountingStats_t;

typedef struct nvmlBAR1Memory_t {
    unsigned long long bar1Total; /* bytes */
    unsigned long long bar1Free;
    unsigned long long bar1Used;
} nvmlBAR1Memory_t;

typedef struct nvmlBridgeChipHierarchy_t {
    unsigned char bytes[1028];
} nvmlBridgeChipHierarchy_t;

typedef struct nvmlC2cModeInfo_v1_t {
    unsigned char bytes[4];
} nvmlC2cModeInfo_v1_t;

typedef struct nvmlClkMonStatus_t {
    unsigned char bytes[264];
} nvmlClkMonStatus_t;

typedef struct nvmlClockOffset_t {
    unsigned int version;
    unsigned char rest[20];
} nvmlClockOffset_t;

typedef struct nvmlComputeInstanceInfo_t {
    nvmlDevice_t device;
    nvmlGpuInstance_t gpuInstance;
    unsigned int id;
    unsigned int profileId;
    unsigned int placementStart;
    unsigned int placementSize;
} nvmlComputeInstanceInfo_t;

typedef struct nvmlComputeInstancePlacement_t {
    unsigned char bytes[8];
} nvmlComputeInstancePlacement_t;

typedef struct nvmlComputeInstanceProfileInfo_t {
    unsigned char bytes[36];
} nvmlComputeInstanceProfileInfo_t;

typedef struct nvmlComputeInstanceProfileInfo_v2_t {
    unsigned int version;
    unsigned char rest[132];
} nvmlComputeInstanceProfileInfo_v2_t;

typedef struct nvmlConfComputeGetKeyRotationThresholdInfo_t {
    unsigned int version;
    unsigned char rest[12];
} nvmlConfComputeGetKeyRotationThresholdInfo_t;

typedef struct nvmlConfComputeGpuAttestationReport_t {
    unsigned char bytes[12332];
} nvmlConfComputeGpuAttestationReport_t;

typedef struct nvmlConfComputeGpuCertificate_t {
    unsigned char bytes[9224];
} nvmlConfComputeGpuCertificate_t;

typedef struct nvmlConfComputeMemSizeInfo_t {
    unsigned char bytes[16];
} nvmlConfComputeMemSizeInfo_t;

typedef struct nvmlConfComputeSystemCaps_t {
    unsigned char bytes[8];
} nvmlConfComputeSystemCaps_t;

typedef struct nvmlConfComputeSystemState_t {
    unsigned char bytes[12];
} nvmlConfComputeSystemState_t;

typedef struct nvmlCoolerInfo_t {
    unsigned int version;
    unsigned char rest[12];
} nvmlCoolerInfo_t;

typedef struct nvmlDeviceAddressingMode_t {
    unsigned int version;
    unsigned char rest[4];
} nvmlDeviceAddressingMode_t;

typedef struct nvmlDeviceAttributes_t {
    unsigned char bytes[40];
} nvmlDeviceAttributes_t;

typedef struct nvmlDeviceCapabilities_t {
    unsigned int version;
    unsigned char rest[4];
} nvmlDeviceCapabilities_t;

typedef struct nvmlDeviceCurrentClockFreqs_t {
    unsigned int version;
    unsigned char rest[2048];
} nvmlDeviceCurrentClockFreqs_t;

typedef struct nvmlDevicePerfModes_t {
    unsigned int version;
    unsigned char rest[2048];
} nvmlDevicePerfModes_t;

typedef struct nvmlDevicePowerMizerModes_v1_t {
    unsigned char bytes[12];
} nvmlDevicePowerMizerModes_v1_t;

typedef struct nvmlDramEncryptionInfo_t {
    unsigned int version;
    unsigned char rest[4];
} nvmlDramEncryptionInfo_t;

typedef struct nvmlEccErrorCounts_t {
    unsigned char bytes[32];
} nvmlEccErrorCounts_t;

typedef struct nvmlEccSramErrorStatus_t {
    unsigned int version;
    unsigned char rest[100];
} nvmlEccSramErrorStatus_t;

typedef struct nvmlEncoderSessionInfo_t {
    unsigned char bytes[32];
} nvmlEncoderSessionInfo_t;

typedef struct nvmlEventData_t {
    nvmlDevice_t device;
    unsigned long long eventType;
    unsigned long long eventData;
    unsigned int gpuInstanceId;
    unsigned int computeInstanceId;
} nvmlEventData_t;

typedef struct nvmlExcludedDeviceInfo_t {
    unsigned char bytes[148];
} nvmlExcludedDeviceInfo_t;

typedef struct nvmlFanSpeedInfo_t {
    unsigned int version;
    unsigned char rest[8];
} nvmlFanSpeedInfo_t;

typedef struct nvmlFieldValue_t {
    unsigned int fieldId;
    unsigned int scopeId;
    long long timestamp; /* microseconds since 1970 */
    long long latencyUsec;
    unsigned int valueType; /* the kind of number that value holds */
    unsigned int nvmlReturn;
    unsigned long long value;
} nvmlFieldValue_t;

typedef struct nvmlGpmSupport_t {
    unsigned int version;
    unsigned char rest[4];
} nvmlGpmSupport_t;

typedef struct nvmlGpuDynamicPstatesInfo_t {
    unsigned char bytes[132];
} nvmlGpuDynamicPstatesInfo_t;

typedef struct nvmlGpuFabricInfoV_t {
    unsigned int version;
    unsigned char rest[36];
} nvmlGpuFabricInfoV_t;

typedef struct nvmlGpuFabricInfo_t {
    unsigned char bytes[28];
} nvmlGpuFabricInfo_t;

typedef struct nvmlGpuInstanceInfo_t {
    nvmlDevice_t device;
    unsigned int id;
    unsigned int profileId;
    unsigned int placementStart;
    unsigned int placementSize;
} nvmlGpuInstanceInfo_t;

typedef struct nvmlGpuInstancePlacement_t {
    unsigned char bytes[8];
} nvmlGpuInstancePlacement_t;

typedef struct nvmlGpuInstanceProfileInfo_t {
    unsigned char bytes[48];
} nvmlGpuInstanceProfileInfo_t;

typedef struct nvmlGpuInstanceProfileInfo_v2_t {
    unsigned int version;
    unsigned char rest[148];
} nvmlGpuInstanceProfileInfo_v2_t;

typedef struct nvmlGpuThermalSettings_t {
    unsigned char bytes[64];
} nvmlGpuThermalSettings_t;

typedef struct nvmlGridLicensableFeatures_t {
    unsigned char bytes[860];
} nvmlGridLicensableFeatures_t;

typedef struct nvmlHostname_v1_t {
    unsigned char bytes[64];
} nvmlHostname_v1_t;

typedef struct nvmlHwbcEntry_t {
    unsigned char bytes[36];
} nvmlHwbcEntry_t;

typedef struct nvmlMarginTemperature_t {
    unsigned int version;
    unsigned char rest[4];
} nvmlMarginTemperature_t;

typedef struct nvmlMemory_t {
    unsigned long long total; /* bytes */
    unsigned long long free;
    unsigned long long used;
} nvmlMemory_t;

typedef struct nvmlMemory_v2_t {
    unsigned int version;
    unsigned long long total; /* bytes */
    unsigned long long reserved;
    unsigned long long free;
    unsigned long long used; /* without the reserved bytes */
} nvmlMemory_v2_t;

typedef struct nvmlNvLinkInfo_t {
    unsigned int version;
    unsigned char rest[1608];
} nvmlNvLinkInfo_t;

typedef struct nvmlNvLinkUtilizationControl_t {
    unsigned char bytes[8];
} nvmlNvLinkUtilizationControl_t;

typedef struct nvmlNvlinkGetBwMode_t {
    unsigned int version;
    unsigned char rest[8];
} nvmlNvlinkGetBwMode_t;

typedef struct nvmlNvlinkSupportedBwModes_t {
    unsigned int version;
    unsigned char rest[24];
} nvmlNvlinkSupportedBwModes_t;

typedef struct nvmlPciInfoExt_t {
    unsigned int version;
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pciDeviceId;
    unsigned int pciSubSystemId;
    unsigned int baseClass;
    unsigned int subClass;
    char busId[32];
} nvmlPciInfoExt_t;

typedef struct nvmlPciInfo_t {
    char busIdLegacy[16]; /* "0000:04:00.0" */
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pciDeviceId; /* the device's id in the high half, the vendor's in the low half */
    unsigned int pciSubSystemId;
    char busId[32]; /* "00000000:04:00.0" */
} nvmlPciInfo_t;

typedef struct nvmlPdi_t {
    unsigned int version;
    unsigned char rest[12];
} nvmlPdi_t;

typedef struct nvmlPlatformInfo_t {
    unsigned int version;
    unsigned char rest[40];
} nvmlPlatformInfo_t;

typedef struct nvmlProcessInfo_t {
    unsigned int pid;
    unsigned long long usedGpuMemory; /* bytes */
    unsigned int gpuInstanceId;
    unsigned int computeInstanceId;
} nvmlProcessInfo_t;

typedef struct nvmlProcessInfo_v1_t {
    unsigned int pid;
    unsigned long long usedGpuMemory; /* bytes */
} nvmlProcessInfo_v1_t;

typedef struct nvmlProcessInfo_v2_t {
    unsigned int pid;
    unsigned long long usedGpuMemory; /* bytes */
    unsigned int gpuInstanceId;
    unsigned int computeInstanceId;
} nvmlProcessInfo_v2_t;

typedef struct nvmlProcessUtilizationSample_t {
    unsigned char bytes[32];
} nvmlProcessUtilizationSample_t;

typedef struct nvmlRepairStatus_t {
    unsigned int version;
    unsigned char rest[8];
} nvmlRepairStatus_t;

typedef struct nvmlRowRemapperHistogramValues_t {
    unsigned char bytes[20];
} nvmlRowRemapperHistogramValues_t;

typedef struct nvmlSample_t {
    unsigned char bytes[16];
} nvmlSample_t;

typedef struct nvmlSystemConfComputeSettings_t {
    unsigned int version;
    unsigned char rest[16];
} nvmlSystemConfComputeSettings_t;

typedef struct nvmlSystemDriverBranchInfo_t {
    unsigned int version;
    unsigned char rest[80];
} nvmlSystemDriverBranchInfo_t;

typedef struct nvmlTemperature_t {
    unsigned int version;
    unsigned char rest[8];
} nvmlTemperature_t;

typedef struct nvmlUUID_t {
    unsigned int version;
    unsigned int type; /* 1: a text, 2: its 16 bytes */
    char value[41];
} nvmlUUID_t;

typedef struct nvmlUtilization_t {
    unsigned int gpu; /* percent */
    unsigned int memory;
} nvmlUtilization_t;

typedef struct nvmlViolationTime_t {
    unsigned char bytes[16];
} nvmlViolationTime_t;

typedef struct nvmlWorkloadPowerProfileCurrentProfiles_t {
    unsigned int version;
    unsigned char rest[96];
} nvmlWorkloadPowerProfileCurrentProfiles_t;

typedef struct nvmlWorkloadPowerProfileProfilesInfo_t {
    unsigned int version;
    unsigned char rest[11252];
} nvmlWorkloadPowerProfileProfilesInfo_t;
