@0xc7f0a3d85e19b264;
# NVIDIA's management library: one method for each function of libnvidia-ml.so.1, and how it travels. proto/nvml_generate.py makes of it
# and of the prototypes in src/nvml/api/nvml_functions.h the client's functions, the server's, and docs/nvml.md. The messages are
# in nvml-wire.capnp. NVML's calls are all of one kind, so the parameters' forms come from C's types, and only facts that the types do not
# give stand here. An ordinal is the function's number on the wire.

annotation c @0xd1e4b7720a5c9f01 (method) :Text;        # the function's name
annotation class @0xd1e4b7720a5c9f02 (method) :Class;
enum Class {
  static @0;     # sent once for the same parameters, then answered on the client
  live @1;       # sent each time
  local @2;      # answered by hand on the client, nothing is sent
  refused @3;    # NVML_ERROR_NOT_SUPPORTED, with a reason for people
  forbidden @4;  # NVML_ERROR_NO_PERMISSION, with a reason for people
}
annotation byHand @0xd1e4b7720a5c9f03 (method) :Side;   # the side of a travelling method that is written by hand
enum Side {
  client @0;
  server @1;
}
annotation reason @0xd1e4b7720a5c9f04 (method) :Text;

annotation items @0xd1e4b7720a5c9f05 (method) :Text;    # "pids=count": lists that come back, and the parameter that says how long
annotation bytes @0xd1e4b7720a5c9f06 (method) :Text;    # the same for a list whose length in C is in bytes
annotation fills @0xd1e4b7720a5c9f07 (method) :Void;    # the length of its lists only comes back: NVML asks for room enough
annotation changed @0xd1e4b7720a5c9f08 (method) :Text;  # a list that goes as well as it comes
annotation room @0xd1e4b7720a5c9f09 (method) :Text;     # "version=64": the room that a text has in C
annotation holds @0xd1e4b7720a5c9f0a (method) :Text;    # "info.device": handles within a structure that comes back
annotation frees @0xd1e4b7720a5c9f0b (method) :Void;    # its handle is worth nothing afterwards

# The server that the function asks if there are several. Without this annotation: the server of its first handle, else the first server.
annotation several @0xd1e4b7720a5c9f0c (method) :Several;
enum Several {
  count @0;      # all: how many devices they have
  place @1;      # the one whose device has this place in the list of all
  index @2;      # the device's own, and the place is one in the list of all
  find @3;       # one after the other, until one knows it
  least @4;      # all: the least number
  sets @5;       # events: a set has a part at each
}
annotation apart @0xd1e4b7720a5c9f0d (method) :Int32;   # what its last parameter is for devices of two servers

const changes :Text = "changes the GPU for everybody who uses it: to be done on the server's machine";
const units :Text = "S-class units, which no machine has had for many years";
const virtualGpus :Text = "virtual GPUs are managed on the machine that has them";
const lists :Text = "a list that the structure only points to is not carried yet";
const samples :Text = "the samples of GPU performance monitoring are not carried yet";
const systemEvents :Text = "events of the whole system are those of the server's machine, and not carried";
const unknown :Text = "NVIDIA's header does not say what it takes";

interface Nvml {
  computeInstanceDestroy @0 () $c("nvmlComputeInstanceDestroy") $class(forbidden) $reason(.changes);
  computeInstanceGetInfo @1 () $c("nvmlComputeInstanceGetInfo") $class(live) $holds("info.device info.gpuInstance");
  computeInstanceGetInfoV2 @2 () $c("nvmlComputeInstanceGetInfo_v2") $class(live) $holds("info.device info.gpuInstance");
  deviceClearAccountingPids @3 () $c("nvmlDeviceClearAccountingPids") $class(forbidden) $reason(.changes);
  deviceClearCpuAffinity @4 () $c("nvmlDeviceClearCpuAffinity") $class(forbidden) $reason(.changes);
  deviceClearEccErrorCounts @5 () $c("nvmlDeviceClearEccErrorCounts") $class(forbidden) $reason(.changes);
  deviceClearFieldValues @6 () $c("nvmlDeviceClearFieldValues") $class(forbidden) $reason(.changes);
  deviceCreateGpuInstance @7 () $c("nvmlDeviceCreateGpuInstance") $class(forbidden) $reason(.changes);
  deviceCreateGpuInstanceWithPlacement @8 () $c("nvmlDeviceCreateGpuInstanceWithPlacement") $class(forbidden) $reason(.changes);
  deviceDiscoverGpus @9 () $c("nvmlDeviceDiscoverGpus") $class(forbidden) $reason(.changes);
  deviceFreezeNvLinkUtilizationCounter @10 ()
      $c("nvmlDeviceFreezeNvLinkUtilizationCounter") $class(forbidden) $reason(.changes);
  deviceGetAPIRestriction @11 () $c("nvmlDeviceGetAPIRestriction") $class(live);
  deviceGetAccountingBufferSize @12 () $c("nvmlDeviceGetAccountingBufferSize") $class(live);
  deviceGetAccountingMode @13 () $c("nvmlDeviceGetAccountingMode") $class(live);
  deviceGetAccountingPids @14 () $c("nvmlDeviceGetAccountingPids") $class(live) $items("pids=count");
  deviceGetAccountingStats @15 () $c("nvmlDeviceGetAccountingStats") $class(live);
  deviceGetActiveVgpus @16 () $c("nvmlDeviceGetActiveVgpus") $class(refused) $reason(.virtualGpus);
  deviceGetAdaptiveClockInfoStatus @17 () $c("nvmlDeviceGetAdaptiveClockInfoStatus") $class(live);
  deviceGetAddressingMode @18 () $c("nvmlDeviceGetAddressingMode") $class(live);
  deviceGetApplicationsClock @19 () $c("nvmlDeviceGetApplicationsClock") $class(live);
  deviceGetArchitecture @20 () $c("nvmlDeviceGetArchitecture") $class(static);
  deviceGetAttributes @21 () $c("nvmlDeviceGetAttributes") $class(live);
  deviceGetAttributesV2 @22 () $c("nvmlDeviceGetAttributes_v2") $class(live);
  deviceGetAutoBoostedClocksEnabled @23 () $c("nvmlDeviceGetAutoBoostedClocksEnabled") $class(live);
  deviceGetBAR1MemoryInfo @24 () $c("nvmlDeviceGetBAR1MemoryInfo") $class(live);
  deviceGetBoardId @25 () $c("nvmlDeviceGetBoardId") $class(static);
  deviceGetBoardPartNumber @26 () $c("nvmlDeviceGetBoardPartNumber") $class(static);
  deviceGetBrand @27 () $c("nvmlDeviceGetBrand") $class(static);
  deviceGetBridgeChipInfo @28 () $c("nvmlDeviceGetBridgeChipInfo") $class(static);
  deviceGetBusType @29 () $c("nvmlDeviceGetBusType") $class(static);
  deviceGetC2cModeInfoV @30 () $c("nvmlDeviceGetC2cModeInfoV") $class(live);
  deviceGetCapabilities @31 () $c("nvmlDeviceGetCapabilities") $class(static);
  deviceGetClkMonStatus @32 () $c("nvmlDeviceGetClkMonStatus") $class(live);
  deviceGetClock @33 () $c("nvmlDeviceGetClock") $class(live);
  deviceGetClockInfo @34 () $c("nvmlDeviceGetClockInfo") $class(live);
  deviceGetClockOffsets @35 () $c("nvmlDeviceGetClockOffsets") $class(live);
  deviceGetComputeInstanceId @36 () $c("nvmlDeviceGetComputeInstanceId") $class(live);
  deviceGetComputeMode @37 () $c("nvmlDeviceGetComputeMode") $class(live);
  deviceGetComputeRunningProcesses @38 () $c("nvmlDeviceGetComputeRunningProcesses") $class(live) $items("infos=infoCount");
  deviceGetComputeRunningProcessesV2 @39 ()
      $c("nvmlDeviceGetComputeRunningProcesses_v2") $class(live) $items("infos=infoCount");
  deviceGetComputeRunningProcessesV3 @40 ()
      $c("nvmlDeviceGetComputeRunningProcesses_v3") $class(live) $items("infos=infoCount");
  deviceGetConfComputeGpuAttestationReport @41 () $c("nvmlDeviceGetConfComputeGpuAttestationReport") $class(live);
  deviceGetConfComputeGpuCertificate @42 () $c("nvmlDeviceGetConfComputeGpuCertificate") $class(live);
  deviceGetConfComputeMemSizeInfo @43 () $c("nvmlDeviceGetConfComputeMemSizeInfo") $class(live);
  deviceGetConfComputeProtectedMemoryUsage @44 () $c("nvmlDeviceGetConfComputeProtectedMemoryUsage") $class(live);
  deviceGetCoolerInfo @45 () $c("nvmlDeviceGetCoolerInfo") $class(live);
  deviceGetCount @46 () $c("nvmlDeviceGetCount") $class(static) $byHand(server) $several(count);
  deviceGetCountV2 @47 () $c("nvmlDeviceGetCount_v2") $class(static) $byHand(server) $several(count);
  deviceGetCpuAffinity @48 () $c("nvmlDeviceGetCpuAffinity") $class(static) $items("cpuSet=cpuSetSize");
  deviceGetCpuAffinityWithinScope @49 () $c("nvmlDeviceGetCpuAffinityWithinScope") $class(static) $items("cpuSet=cpuSetSize");
  deviceGetCreatableVgpus @50 () $c("nvmlDeviceGetCreatableVgpus") $class(refused) $reason(.virtualGpus);
  deviceGetCudaComputeCapability @51 () $c("nvmlDeviceGetCudaComputeCapability") $class(static);
  deviceGetCurrPcieLinkGeneration @52 () $c("nvmlDeviceGetCurrPcieLinkGeneration") $class(live);
  deviceGetCurrPcieLinkWidth @53 () $c("nvmlDeviceGetCurrPcieLinkWidth") $class(live);
  deviceGetCurrentClockFreqs @54 () $c("nvmlDeviceGetCurrentClockFreqs") $class(live);
  deviceGetCurrentClocksEventReasons @55 () $c("nvmlDeviceGetCurrentClocksEventReasons") $class(live);
  deviceGetCurrentClocksThrottleReasons @56 () $c("nvmlDeviceGetCurrentClocksThrottleReasons") $class(live);
  deviceGetDecoderUtilization @57 () $c("nvmlDeviceGetDecoderUtilization") $class(live);
  deviceGetDefaultApplicationsClock @58 () $c("nvmlDeviceGetDefaultApplicationsClock") $class(live);
  deviceGetDefaultEccMode @59 () $c("nvmlDeviceGetDefaultEccMode") $class(live);
  deviceGetDetailedEccErrors @60 () $c("nvmlDeviceGetDetailedEccErrors") $class(live);
  deviceGetDeviceHandleFromMigDeviceHandle @61 () $c("nvmlDeviceGetDeviceHandleFromMigDeviceHandle") $class(live);
  deviceGetDisplayActive @62 () $c("nvmlDeviceGetDisplayActive") $class(live);
  deviceGetDisplayMode @63 () $c("nvmlDeviceGetDisplayMode") $class(live);
  deviceGetDramEncryptionMode @64 () $c("nvmlDeviceGetDramEncryptionMode") $class(live);
  deviceGetDriverModel @65 () $c("nvmlDeviceGetDriverModel") $class(live);
  deviceGetDriverModelV2 @66 () $c("nvmlDeviceGetDriverModel_v2") $class(live);
  deviceGetDynamicPstatesInfo @67 () $c("nvmlDeviceGetDynamicPstatesInfo") $class(live);
  deviceGetEccMode @68 () $c("nvmlDeviceGetEccMode") $class(live);
  deviceGetEncoderCapacity @69 () $c("nvmlDeviceGetEncoderCapacity") $class(live);
  deviceGetEncoderSessions @70 () $c("nvmlDeviceGetEncoderSessions") $class(live) $items("sessionInfos=sessionCount");
  deviceGetEncoderStats @71 () $c("nvmlDeviceGetEncoderStats") $class(live);
  deviceGetEncoderUtilization @72 () $c("nvmlDeviceGetEncoderUtilization") $class(live);
  deviceGetEnforcedPowerLimit @73 () $c("nvmlDeviceGetEnforcedPowerLimit") $class(live);
  deviceGetFBCSessions @74 () $c("nvmlDeviceGetFBCSessions") $class(refused) $reason(.virtualGpus);
  deviceGetFBCStats @75 () $c("nvmlDeviceGetFBCStats") $class(refused) $reason(.virtualGpus);
  deviceGetFanControlPolicyV2 @76 () $c("nvmlDeviceGetFanControlPolicy_v2") $class(live);
  deviceGetFanSpeed @77 () $c("nvmlDeviceGetFanSpeed") $class(live);
  deviceGetFanSpeedRPM @78 () $c("nvmlDeviceGetFanSpeedRPM") $class(live);
  deviceGetFanSpeedV2 @79 () $c("nvmlDeviceGetFanSpeed_v2") $class(live);
  deviceGetFieldValues @80 () $c("nvmlDeviceGetFieldValues") $class(live) $items("values=valuesCount") $changed("values");
  deviceGetGpcClkMinMaxVfOffset @81 () $c("nvmlDeviceGetGpcClkMinMaxVfOffset") $class(live);
  deviceGetGpcClkVfOffset @82 () $c("nvmlDeviceGetGpcClkVfOffset") $class(live);
  deviceGetGpuFabricInfo @83 () $c("nvmlDeviceGetGpuFabricInfo") $class(live);
  deviceGetGpuFabricInfoV @84 () $c("nvmlDeviceGetGpuFabricInfoV") $class(live);
  deviceGetGpuInstanceById @85 () $c("nvmlDeviceGetGpuInstanceById") $class(live);
  deviceGetGpuInstanceId @86 () $c("nvmlDeviceGetGpuInstanceId") $class(live);
  deviceGetGpuInstancePossiblePlacements @87 ()
      $c("nvmlDeviceGetGpuInstancePossiblePlacements") $class(live) $items("placements=count") $fills;
  deviceGetGpuInstancePossiblePlacementsV2 @88 ()
      $c("nvmlDeviceGetGpuInstancePossiblePlacements_v2") $class(live) $items("placements=count") $fills;
  deviceGetGpuInstanceProfileInfo @89 () $c("nvmlDeviceGetGpuInstanceProfileInfo") $class(live);
  deviceGetGpuInstanceProfileInfoByIdV @90 () $c("nvmlDeviceGetGpuInstanceProfileInfoByIdV") $class(live);
  deviceGetGpuInstanceProfileInfoV @91 () $c("nvmlDeviceGetGpuInstanceProfileInfoV") $class(live);
  deviceGetGpuInstanceRemainingCapacity @92 () $c("nvmlDeviceGetGpuInstanceRemainingCapacity") $class(live);
  deviceGetGpuInstances @93 () $c("nvmlDeviceGetGpuInstances") $class(live) $items("gpuInstances=count") $fills;
  deviceGetGpuMaxPcieLinkGeneration @94 () $c("nvmlDeviceGetGpuMaxPcieLinkGeneration") $class(static);
  deviceGetGpuOperationMode @95 () $c("nvmlDeviceGetGpuOperationMode") $class(live);
  deviceGetGraphicsRunningProcesses @96 () $c("nvmlDeviceGetGraphicsRunningProcesses") $class(live) $items("infos=infoCount");
  deviceGetGraphicsRunningProcessesV2 @97 ()
      $c("nvmlDeviceGetGraphicsRunningProcesses_v2") $class(live) $items("infos=infoCount");
  deviceGetGraphicsRunningProcessesV3 @98 ()
      $c("nvmlDeviceGetGraphicsRunningProcesses_v3") $class(live) $items("infos=infoCount");
  deviceGetGridLicensableFeatures @99 () $c("nvmlDeviceGetGridLicensableFeatures") $class(live);
  deviceGetGridLicensableFeaturesV2 @100 () $c("nvmlDeviceGetGridLicensableFeatures_v2") $class(live);
  deviceGetGridLicensableFeaturesV3 @101 () $c("nvmlDeviceGetGridLicensableFeatures_v3") $class(live);
  deviceGetGridLicensableFeaturesV4 @102 () $c("nvmlDeviceGetGridLicensableFeatures_v4") $class(live);
  deviceGetGspFirmwareMode @103 () $c("nvmlDeviceGetGspFirmwareMode") $class(live);
  deviceGetGspFirmwareVersion @104 () $c("nvmlDeviceGetGspFirmwareVersion") $class(static) $room("version=64");
  deviceGetHandleByIndex @105 () $c("nvmlDeviceGetHandleByIndex") $class(static) $byHand(server) $several(place);
  deviceGetHandleByIndexV2 @106 () $c("nvmlDeviceGetHandleByIndex_v2") $class(static) $byHand(server) $several(place);
  deviceGetHandleByPciBusId @107 () $c("nvmlDeviceGetHandleByPciBusId") $class(static) $byHand(server) $several(find);
  deviceGetHandleByPciBusIdV2 @108 () $c("nvmlDeviceGetHandleByPciBusId_v2") $class(static) $byHand(server) $several(find);
  deviceGetHandleBySerial @109 () $c("nvmlDeviceGetHandleBySerial") $class(static) $byHand(server) $several(find);
  deviceGetHandleByUUID @110 () $c("nvmlDeviceGetHandleByUUID") $class(static) $byHand(server) $several(find);
  deviceGetHandleByUUIDV @111 () $c("nvmlDeviceGetHandleByUUIDV") $class(static) $byHand(server) $several(find);
  deviceGetHostVgpuMode @112 () $c("nvmlDeviceGetHostVgpuMode") $class(refused) $reason(.virtualGpus);
  deviceGetHostnameV1 @113 () $c("nvmlDeviceGetHostname_v1") $class(live);
  deviceGetIndex @114 () $c("nvmlDeviceGetIndex") $class(static) $byHand(server) $several(index);
  deviceGetInforomConfigurationChecksum @115 () $c("nvmlDeviceGetInforomConfigurationChecksum") $class(live);
  deviceGetInforomImageVersion @116 () $c("nvmlDeviceGetInforomImageVersion") $class(static);
  deviceGetInforomVersion @117 () $c("nvmlDeviceGetInforomVersion") $class(static);
  deviceGetIrqNum @118 () $c("nvmlDeviceGetIrqNum") $class(static);
  deviceGetJpgUtilization @119 () $c("nvmlDeviceGetJpgUtilization") $class(live);
  deviceGetLastBBXFlushTime @120 () $c("nvmlDeviceGetLastBBXFlushTime") $class(live);
  deviceGetMPSComputeRunningProcesses @121 ()
      $c("nvmlDeviceGetMPSComputeRunningProcesses") $class(live) $items("infos=infoCount");
  deviceGetMPSComputeRunningProcessesV2 @122 ()
      $c("nvmlDeviceGetMPSComputeRunningProcesses_v2") $class(live) $items("infos=infoCount");
  deviceGetMPSComputeRunningProcessesV3 @123 ()
      $c("nvmlDeviceGetMPSComputeRunningProcesses_v3") $class(live) $items("infos=infoCount");
  deviceGetMarginTemperature @124 () $c("nvmlDeviceGetMarginTemperature") $class(live);
  deviceGetMaxClockInfo @125 () $c("nvmlDeviceGetMaxClockInfo") $class(static);
  deviceGetMaxCustomerBoostClock @126 () $c("nvmlDeviceGetMaxCustomerBoostClock") $class(static);
  deviceGetMaxMigDeviceCount @127 () $c("nvmlDeviceGetMaxMigDeviceCount") $class(static);
  deviceGetMaxPcieLinkGeneration @128 () $c("nvmlDeviceGetMaxPcieLinkGeneration") $class(static);
  deviceGetMaxPcieLinkWidth @129 () $c("nvmlDeviceGetMaxPcieLinkWidth") $class(static);
  deviceGetMemClkMinMaxVfOffset @130 () $c("nvmlDeviceGetMemClkMinMaxVfOffset") $class(live);
  deviceGetMemClkVfOffset @131 () $c("nvmlDeviceGetMemClkVfOffset") $class(live);
  deviceGetMemoryAffinity @132 () $c("nvmlDeviceGetMemoryAffinity") $class(static) $items("nodeSet=nodeSetSize");
  deviceGetMemoryBusWidth @133 () $c("nvmlDeviceGetMemoryBusWidth") $class(static);
  deviceGetMemoryErrorCounter @134 () $c("nvmlDeviceGetMemoryErrorCounter") $class(live);
  deviceGetMemoryInfo @135 () $c("nvmlDeviceGetMemoryInfo") $class(live) $byHand(server);
  deviceGetMemoryInfoV2 @136 () $c("nvmlDeviceGetMemoryInfo_v2") $class(live) $byHand(server);
  deviceGetMigDeviceHandleByIndex @137 () $c("nvmlDeviceGetMigDeviceHandleByIndex") $class(live);
  deviceGetMigMode @138 () $c("nvmlDeviceGetMigMode") $class(live);
  deviceGetMinMaxClockOfPState @139 () $c("nvmlDeviceGetMinMaxClockOfPState") $class(live);
  deviceGetMinMaxFanSpeed @140 () $c("nvmlDeviceGetMinMaxFanSpeed") $class(static);
  deviceGetMinorNumber @141 () $c("nvmlDeviceGetMinorNumber") $class(static);
  deviceGetModuleId @142 () $c("nvmlDeviceGetModuleId") $class(static);
  deviceGetMultiGpuBoard @143 () $c("nvmlDeviceGetMultiGpuBoard") $class(static);
  deviceGetName @144 () $c("nvmlDeviceGetName") $class(static);
  deviceGetNumFans @145 () $c("nvmlDeviceGetNumFans") $class(static);
  deviceGetNumGpuCores @146 () $c("nvmlDeviceGetNumGpuCores") $class(static);
  deviceGetNumaNodeId @147 () $c("nvmlDeviceGetNumaNodeId") $class(static);
  deviceGetNvLinkCapability @148 () $c("nvmlDeviceGetNvLinkCapability") $class(static);
  deviceGetNvLinkErrorCounter @149 () $c("nvmlDeviceGetNvLinkErrorCounter") $class(live);
  deviceGetNvLinkInfo @150 () $c("nvmlDeviceGetNvLinkInfo") $class(live);
  deviceGetNvLinkRemoteDeviceType @151 () $c("nvmlDeviceGetNvLinkRemoteDeviceType") $class(static);
  deviceGetNvLinkRemotePciInfo @152 () $c("nvmlDeviceGetNvLinkRemotePciInfo") $class(static);
  deviceGetNvLinkRemotePciInfoV2 @153 () $c("nvmlDeviceGetNvLinkRemotePciInfo_v2") $class(static);
  deviceGetNvLinkState @154 () $c("nvmlDeviceGetNvLinkState") $class(live);
  deviceGetNvLinkUtilizationControl @155 () $c("nvmlDeviceGetNvLinkUtilizationControl") $class(live);
  deviceGetNvLinkUtilizationCounter @156 () $c("nvmlDeviceGetNvLinkUtilizationCounter") $class(live);
  deviceGetNvLinkVersion @157 () $c("nvmlDeviceGetNvLinkVersion") $class(static);
  deviceGetNvlinkBwMode @158 () $c("nvmlDeviceGetNvlinkBwMode") $class(live);
  deviceGetNvlinkSupportedBwModes @159 () $c("nvmlDeviceGetNvlinkSupportedBwModes") $class(live);
  deviceGetOfaUtilization @160 () $c("nvmlDeviceGetOfaUtilization") $class(live);
  deviceGetP2PStatus @161 () $c("nvmlDeviceGetP2PStatus") $class(static) $apart(5);
  deviceGetPciInfo @162 () $c("nvmlDeviceGetPciInfo") $class(static);
  deviceGetPciInfoExt @163 () $c("nvmlDeviceGetPciInfoExt") $class(static);
  deviceGetPciInfoV2 @164 () $c("nvmlDeviceGetPciInfo_v2") $class(static);
  deviceGetPciInfoV3 @165 () $c("nvmlDeviceGetPciInfo_v3") $class(static);
  deviceGetPcieLinkMaxSpeed @166 () $c("nvmlDeviceGetPcieLinkMaxSpeed") $class(static);
  deviceGetPcieReplayCounter @167 () $c("nvmlDeviceGetPcieReplayCounter") $class(live);
  deviceGetPcieSpeed @168 () $c("nvmlDeviceGetPcieSpeed") $class(static);
  deviceGetPcieThroughput @169 () $c("nvmlDeviceGetPcieThroughput") $class(live);
  deviceGetPdi @170 () $c("nvmlDeviceGetPdi") $class(static);
  deviceGetPerformanceModes @171 () $c("nvmlDeviceGetPerformanceModes") $class(live);
  deviceGetPerformanceState @172 () $c("nvmlDeviceGetPerformanceState") $class(live);
  deviceGetPersistenceMode @173 () $c("nvmlDeviceGetPersistenceMode") $class(live);
  deviceGetPgpuMetadataString @174 () $c("nvmlDeviceGetPgpuMetadataString") $class(refused) $reason(.virtualGpus);
  deviceGetPlatformInfo @175 () $c("nvmlDeviceGetPlatformInfo") $class(static);
  deviceGetPowerManagementDefaultLimit @176 () $c("nvmlDeviceGetPowerManagementDefaultLimit") $class(static);
  deviceGetPowerManagementLimit @177 () $c("nvmlDeviceGetPowerManagementLimit") $class(live);
  deviceGetPowerManagementLimitConstraints @178 () $c("nvmlDeviceGetPowerManagementLimitConstraints") $class(static);
  deviceGetPowerManagementMode @179 () $c("nvmlDeviceGetPowerManagementMode") $class(live);
  deviceGetPowerMizerModeV1 @180 () $c("nvmlDeviceGetPowerMizerMode_v1") $class(live);
  deviceGetPowerSource @181 () $c("nvmlDeviceGetPowerSource") $class(live);
  deviceGetPowerState @182 () $c("nvmlDeviceGetPowerState") $class(live);
  deviceGetPowerUsage @183 () $c("nvmlDeviceGetPowerUsage") $class(live);
  deviceGetProcessUtilization @184 ()
      $c("nvmlDeviceGetProcessUtilization") $class(live) $items("utilization=processSamplesCount");
  deviceGetProcessesUtilizationInfo @185 () $c("nvmlDeviceGetProcessesUtilizationInfo") $class(refused) $reason(.lists);
  deviceGetRemappedRows @186 () $c("nvmlDeviceGetRemappedRows") $class(live);
  deviceGetRemappedRowsV2 @187 () $c("nvmlDeviceGetRemappedRows_v2") $class(refused) $reason(.unknown);
  deviceGetRepairStatus @188 () $c("nvmlDeviceGetRepairStatus") $class(live);
  deviceGetRetiredPages @189 () $c("nvmlDeviceGetRetiredPages") $class(live) $items("addresses=pageCount");
  deviceGetRetiredPagesPendingStatus @190 () $c("nvmlDeviceGetRetiredPagesPendingStatus") $class(live);
  deviceGetRetiredPagesV2 @191 ()
      $c("nvmlDeviceGetRetiredPages_v2") $class(live) $items("addresses=pageCount timestamps=pageCount");
  deviceGetRowRemapperHistogram @192 () $c("nvmlDeviceGetRowRemapperHistogram") $class(live);
  deviceGetRunningProcessDetailList @193 () $c("nvmlDeviceGetRunningProcessDetailList") $class(refused) $reason(.lists);
  deviceGetSamples @194 () $c("nvmlDeviceGetSamples") $class(live) $items("samples=sampleCount");
  deviceGetSerial @195 () $c("nvmlDeviceGetSerial") $class(static);
  deviceGetSramEccErrorStatus @196 () $c("nvmlDeviceGetSramEccErrorStatus") $class(live);
  deviceGetSramUniqueUncorrectedEccErrorCounts @197 ()
      $c("nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts") $class(refused) $reason(.lists);
  deviceGetSupportedClocksEventReasons @198 () $c("nvmlDeviceGetSupportedClocksEventReasons") $class(static);
  deviceGetSupportedClocksThrottleReasons @199 () $c("nvmlDeviceGetSupportedClocksThrottleReasons") $class(static);
  deviceGetSupportedEventTypes @200 () $c("nvmlDeviceGetSupportedEventTypes") $class(static);
  deviceGetSupportedGraphicsClocks @201 () $c("nvmlDeviceGetSupportedGraphicsClocks") $class(static) $items("clocksMHz=count");
  deviceGetSupportedMemoryClocks @202 () $c("nvmlDeviceGetSupportedMemoryClocks") $class(static) $items("clocksMHz=count");
  deviceGetSupportedPerformanceStates @203 () $c("nvmlDeviceGetSupportedPerformanceStates") $class(live) $bytes("pstates=size");
  deviceGetSupportedVgpus @204 () $c("nvmlDeviceGetSupportedVgpus") $class(refused) $reason(.virtualGpus);
  deviceGetTargetFanSpeed @205 () $c("nvmlDeviceGetTargetFanSpeed") $class(live);
  deviceGetTemperature @206 () $c("nvmlDeviceGetTemperature") $class(live);
  deviceGetTemperatureThreshold @207 () $c("nvmlDeviceGetTemperatureThreshold") $class(live);
  deviceGetTemperatureV @208 () $c("nvmlDeviceGetTemperatureV") $class(live);
  deviceGetThermalSettings @209 () $c("nvmlDeviceGetThermalSettings") $class(live);
  deviceGetTopologyCommonAncestor @210 () $c("nvmlDeviceGetTopologyCommonAncestor") $class(static) $apart(50);
  deviceGetTopologyNearestGpus @211 ()
      $c("nvmlDeviceGetTopologyNearestGpus") $class(static) $items("deviceArray=count");
  deviceGetTotalEccErrors @212 () $c("nvmlDeviceGetTotalEccErrors") $class(live);
  deviceGetTotalEnergyConsumption @213 () $c("nvmlDeviceGetTotalEnergyConsumption") $class(live);
  deviceGetUUID @214 () $c("nvmlDeviceGetUUID") $class(static);
  deviceGetUnrepairableMemoryFlagV1 @215 () $c("nvmlDeviceGetUnrepairableMemoryFlag_v1") $class(refused) $reason(.unknown);
  deviceGetUtilizationRates @216 () $c("nvmlDeviceGetUtilizationRates") $class(live);
  deviceGetVbiosVersion @217 () $c("nvmlDeviceGetVbiosVersion") $class(static);
  deviceGetVgpuCapabilities @218 () $c("nvmlDeviceGetVgpuCapabilities") $class(refused) $reason(.virtualGpus);
  deviceGetVgpuHeterogeneousMode @219 () $c("nvmlDeviceGetVgpuHeterogeneousMode") $class(refused) $reason(.virtualGpus);
  deviceGetVgpuInstancesUtilizationInfo @220 ()
      $c("nvmlDeviceGetVgpuInstancesUtilizationInfo") $class(refused) $reason(.virtualGpus);
  deviceGetVgpuMetadata @221 () $c("nvmlDeviceGetVgpuMetadata") $class(refused) $reason(.virtualGpus);
  deviceGetVgpuProcessUtilization @222 () $c("nvmlDeviceGetVgpuProcessUtilization") $class(refused) $reason(.virtualGpus);
  deviceGetVgpuProcessesUtilizationInfo @223 ()
      $c("nvmlDeviceGetVgpuProcessesUtilizationInfo") $class(refused) $reason(.virtualGpus);
  deviceGetVgpuSchedulerCapabilities @224 () $c("nvmlDeviceGetVgpuSchedulerCapabilities") $class(refused) $reason(.virtualGpus);
  deviceGetVgpuSchedulerLog @225 () $c("nvmlDeviceGetVgpuSchedulerLog") $class(refused) $reason(.virtualGpus);
  deviceGetVgpuSchedulerState @226 () $c("nvmlDeviceGetVgpuSchedulerState") $class(refused) $reason(.virtualGpus);
  deviceGetVgpuTypeCreatablePlacements @227 ()
      $c("nvmlDeviceGetVgpuTypeCreatablePlacements") $class(refused) $reason(.virtualGpus);
  deviceGetVgpuTypeSupportedPlacements @228 ()
      $c("nvmlDeviceGetVgpuTypeSupportedPlacements") $class(refused) $reason(.virtualGpus);
  deviceGetVgpuUtilization @229 () $c("nvmlDeviceGetVgpuUtilization") $class(refused) $reason(.virtualGpus);
  deviceGetViolationStatus @230 () $c("nvmlDeviceGetViolationStatus") $class(live);
  deviceGetVirtualizationMode @231 () $c("nvmlDeviceGetVirtualizationMode") $class(static);
  deviceIsMigDeviceHandle @232 () $c("nvmlDeviceIsMigDeviceHandle") $class(live);
  deviceModifyDrainState @233 () $c("nvmlDeviceModifyDrainState") $class(forbidden) $reason(.changes);
  deviceOnSameBoard @234 () $c("nvmlDeviceOnSameBoard") $class(static) $apart(0);
  devicePowerSmoothingActivatePresetProfile @235 ()
      $c("nvmlDevicePowerSmoothingActivatePresetProfile") $class(forbidden) $reason(.changes);
  devicePowerSmoothingSetState @236 () $c("nvmlDevicePowerSmoothingSetState") $class(forbidden) $reason(.changes);
  devicePowerSmoothingUpdatePresetProfileParam @237 ()
      $c("nvmlDevicePowerSmoothingUpdatePresetProfileParam") $class(forbidden) $reason(.changes);
  deviceQueryDrainState @238 () $c("nvmlDeviceQueryDrainState") $class(forbidden) $reason(.changes);
  deviceReadPRMCountersV1 @239 () $c("nvmlDeviceReadPRMCounters_v1") $class(forbidden) $reason(.changes);
  deviceReadWritePRMV1 @240 () $c("nvmlDeviceReadWritePRM_v1") $class(forbidden) $reason(.changes);
  deviceRegisterEvents @241 () $c("nvmlDeviceRegisterEvents") $class(live) $several(sets);
  deviceRemoveGpu @242 () $c("nvmlDeviceRemoveGpu") $class(forbidden) $reason(.changes);
  deviceRemoveGpuV2 @243 () $c("nvmlDeviceRemoveGpu_v2") $class(forbidden) $reason(.changes);
  deviceResetApplicationsClocks @244 () $c("nvmlDeviceResetApplicationsClocks") $class(forbidden) $reason(.changes);
  deviceResetGpuLockedClocks @245 () $c("nvmlDeviceResetGpuLockedClocks") $class(forbidden) $reason(.changes);
  deviceResetMemoryLockedClocks @246 () $c("nvmlDeviceResetMemoryLockedClocks") $class(forbidden) $reason(.changes);
  deviceResetNvLinkErrorCounters @247 () $c("nvmlDeviceResetNvLinkErrorCounters") $class(forbidden) $reason(.changes);
  deviceResetNvLinkUtilizationCounter @248 () $c("nvmlDeviceResetNvLinkUtilizationCounter") $class(forbidden) $reason(.changes);
  deviceSetAPIRestriction @249 () $c("nvmlDeviceSetAPIRestriction") $class(forbidden) $reason(.changes);
  deviceSetAccountingMode @250 () $c("nvmlDeviceSetAccountingMode") $class(forbidden) $reason(.changes);
  deviceSetApplicationsClocks @251 () $c("nvmlDeviceSetApplicationsClocks") $class(forbidden) $reason(.changes);
  deviceSetAutoBoostedClocksEnabled @252 () $c("nvmlDeviceSetAutoBoostedClocksEnabled") $class(forbidden) $reason(.changes);
  deviceSetClockOffsets @253 () $c("nvmlDeviceSetClockOffsets") $class(forbidden) $reason(.changes);
  deviceSetComputeMode @254 () $c("nvmlDeviceSetComputeMode") $class(forbidden) $reason(.changes);
  deviceSetConfComputeUnprotectedMemSize @255 ()
      $c("nvmlDeviceSetConfComputeUnprotectedMemSize") $class(forbidden) $reason(.changes);
  deviceSetCpuAffinity @256 () $c("nvmlDeviceSetCpuAffinity") $class(forbidden) $reason(.changes);
  deviceSetDefaultAutoBoostedClocksEnabled @257 ()
      $c("nvmlDeviceSetDefaultAutoBoostedClocksEnabled") $class(forbidden) $reason(.changes);
  deviceSetDefaultFanSpeedV2 @258 () $c("nvmlDeviceSetDefaultFanSpeed_v2") $class(forbidden) $reason(.changes);
  deviceSetDramEncryptionMode @259 () $c("nvmlDeviceSetDramEncryptionMode") $class(forbidden) $reason(.changes);
  deviceSetDriverModel @260 () $c("nvmlDeviceSetDriverModel") $class(forbidden) $reason(.changes);
  deviceSetEccMode @261 () $c("nvmlDeviceSetEccMode") $class(forbidden) $reason(.changes);
  deviceSetFanControlPolicy @262 () $c("nvmlDeviceSetFanControlPolicy") $class(forbidden) $reason(.changes);
  deviceSetFanSpeedV2 @263 () $c("nvmlDeviceSetFanSpeed_v2") $class(forbidden) $reason(.changes);
  deviceSetGpcClkVfOffset @264 () $c("nvmlDeviceSetGpcClkVfOffset") $class(forbidden) $reason(.changes);
  deviceSetGpuLockedClocks @265 () $c("nvmlDeviceSetGpuLockedClocks") $class(forbidden) $reason(.changes);
  deviceSetGpuOperationMode @266 () $c("nvmlDeviceSetGpuOperationMode") $class(forbidden) $reason(.changes);
  deviceSetHostnameV1 @267 () $c("nvmlDeviceSetHostname_v1") $class(forbidden) $reason(.changes);
  deviceSetMemClkVfOffset @268 () $c("nvmlDeviceSetMemClkVfOffset") $class(forbidden) $reason(.changes);
  deviceSetMemoryLockedClocks @269 () $c("nvmlDeviceSetMemoryLockedClocks") $class(forbidden) $reason(.changes);
  deviceSetMigMode @270 () $c("nvmlDeviceSetMigMode") $class(forbidden) $reason(.changes);
  deviceSetNvLinkDeviceLowPowerThreshold @271 ()
      $c("nvmlDeviceSetNvLinkDeviceLowPowerThreshold") $class(forbidden) $reason(.changes);
  deviceSetNvLinkUtilizationControl @272 () $c("nvmlDeviceSetNvLinkUtilizationControl") $class(forbidden) $reason(.changes);
  deviceSetNvlinkBwMode @273 () $c("nvmlDeviceSetNvlinkBwMode") $class(forbidden) $reason(.changes);
  deviceSetPersistenceMode @274 () $c("nvmlDeviceSetPersistenceMode") $class(forbidden) $reason(.changes);
  deviceSetPowerManagementLimit @275 () $c("nvmlDeviceSetPowerManagementLimit") $class(forbidden) $reason(.changes);
  deviceSetPowerManagementLimitV2 @276 () $c("nvmlDeviceSetPowerManagementLimit_v2") $class(forbidden) $reason(.changes);
  deviceSetPowerMizerModeV1 @277 () $c("nvmlDeviceSetPowerMizerMode_v1") $class(forbidden) $reason(.changes);
  deviceSetTemperatureThreshold @278 () $c("nvmlDeviceSetTemperatureThreshold") $class(forbidden) $reason(.changes);
  deviceSetVgpuCapabilities @279 () $c("nvmlDeviceSetVgpuCapabilities") $class(forbidden) $reason(.changes);
  deviceSetVgpuHeterogeneousMode @280 () $c("nvmlDeviceSetVgpuHeterogeneousMode") $class(forbidden) $reason(.changes);
  deviceSetVgpuSchedulerState @281 () $c("nvmlDeviceSetVgpuSchedulerState") $class(forbidden) $reason(.changes);
  deviceSetVirtualizationMode @282 () $c("nvmlDeviceSetVirtualizationMode") $class(forbidden) $reason(.changes);
  deviceValidateInforom @283 () $c("nvmlDeviceValidateInforom") $class(forbidden) $reason(.changes);
  deviceWorkloadPowerProfileClearRequestedProfiles @284 ()
      $c("nvmlDeviceWorkloadPowerProfileClearRequestedProfiles") $class(forbidden) $reason(.changes);
  deviceWorkloadPowerProfileGetCurrentProfiles @285 () $c("nvmlDeviceWorkloadPowerProfileGetCurrentProfiles") $class(live);
  deviceWorkloadPowerProfileGetProfilesInfo @286 () $c("nvmlDeviceWorkloadPowerProfileGetProfilesInfo") $class(live);
  deviceWorkloadPowerProfileSetRequestedProfiles @287 ()
      $c("nvmlDeviceWorkloadPowerProfileSetRequestedProfiles") $class(forbidden) $reason(.changes);
  errorString @288 () $c("nvmlErrorString") $class(local);
  eventSetCreate @289 () $c("nvmlEventSetCreate") $class(live) $several(sets);
  eventSetFree @290 () $c("nvmlEventSetFree") $class(live) $frees $several(sets);
  eventSetWait @291 () $c("nvmlEventSetWait") $class(live) $byHand(client) $holds("data.device") $several(sets);
  eventSetWaitV2 @292 () $c("nvmlEventSetWait_v2") $class(live) $byHand(client) $holds("data.device") $several(sets);
  getBlacklistDeviceCount @293 () $c("nvmlGetBlacklistDeviceCount") $class(live);
  getBlacklistDeviceInfoByIndex @294 () $c("nvmlGetBlacklistDeviceInfoByIndex") $class(live);
  getExcludedDeviceCount @295 () $c("nvmlGetExcludedDeviceCount") $class(static);
  getExcludedDeviceInfoByIndex @296 () $c("nvmlGetExcludedDeviceInfoByIndex") $class(static);
  getVgpuCompatibility @297 () $c("nvmlGetVgpuCompatibility") $class(refused) $reason(.virtualGpus);
  getVgpuDriverCapabilities @298 () $c("nvmlGetVgpuDriverCapabilities") $class(refused) $reason(.virtualGpus);
  getVgpuVersion @299 () $c("nvmlGetVgpuVersion") $class(refused) $reason(.virtualGpus);
  gpmMetricsGet @300 () $c("nvmlGpmMetricsGet") $class(refused) $reason(.samples);
  gpmMigSampleGet @301 () $c("nvmlGpmMigSampleGet") $class(refused) $reason(.samples);
  gpmQueryDeviceSupport @302 () $c("nvmlGpmQueryDeviceSupport") $class(live);
  gpmQueryIfStreamingEnabled @303 () $c("nvmlGpmQueryIfStreamingEnabled") $class(live);
  gpmSampleAlloc @304 () $c("nvmlGpmSampleAlloc") $class(refused) $reason(.samples);
  gpmSampleFree @305 () $c("nvmlGpmSampleFree") $class(refused) $reason(.samples);
  gpmSampleGet @306 () $c("nvmlGpmSampleGet") $class(refused) $reason(.samples);
  gpmSetStreamingEnabled @307 () $c("nvmlGpmSetStreamingEnabled") $class(forbidden) $reason(.changes);
  gpuInstanceCreateComputeInstance @308 () $c("nvmlGpuInstanceCreateComputeInstance") $class(forbidden) $reason(.changes);
  gpuInstanceCreateComputeInstanceWithPlacement @309 ()
      $c("nvmlGpuInstanceCreateComputeInstanceWithPlacement") $class(forbidden) $reason(.changes);
  gpuInstanceDestroy @310 () $c("nvmlGpuInstanceDestroy") $class(forbidden) $reason(.changes);
  gpuInstanceGetActiveVgpus @311 () $c("nvmlGpuInstanceGetActiveVgpus") $class(refused) $reason(.virtualGpus);
  gpuInstanceGetComputeInstanceById @312 () $c("nvmlGpuInstanceGetComputeInstanceById") $class(live);
  gpuInstanceGetComputeInstancePossiblePlacements @313 ()
      $c("nvmlGpuInstanceGetComputeInstancePossiblePlacements") $class(live) $items("placements=count") $fills;
  gpuInstanceGetComputeInstanceProfileInfo @314 () $c("nvmlGpuInstanceGetComputeInstanceProfileInfo") $class(live);
  gpuInstanceGetComputeInstanceProfileInfoV @315 () $c("nvmlGpuInstanceGetComputeInstanceProfileInfoV") $class(live);
  gpuInstanceGetComputeInstanceRemainingCapacity @316 () $c("nvmlGpuInstanceGetComputeInstanceRemainingCapacity") $class(live);
  gpuInstanceGetComputeInstances @317 ()
      $c("nvmlGpuInstanceGetComputeInstances") $class(live) $items("computeInstances=count") $fills;
  gpuInstanceGetCreatableVgpus @318 () $c("nvmlGpuInstanceGetCreatableVgpus") $class(refused) $reason(.virtualGpus);
  gpuInstanceGetInfo @319 () $c("nvmlGpuInstanceGetInfo") $class(live) $holds("info.device");
  gpuInstanceGetVgpuHeterogeneousMode @320 ()
      $c("nvmlGpuInstanceGetVgpuHeterogeneousMode") $class(refused) $reason(.virtualGpus);
  gpuInstanceGetVgpuSchedulerLog @321 () $c("nvmlGpuInstanceGetVgpuSchedulerLog") $class(refused) $reason(.virtualGpus);
  gpuInstanceGetVgpuSchedulerState @322 () $c("nvmlGpuInstanceGetVgpuSchedulerState") $class(refused) $reason(.virtualGpus);
  gpuInstanceGetVgpuTypeCreatablePlacements @323 ()
      $c("nvmlGpuInstanceGetVgpuTypeCreatablePlacements") $class(refused) $reason(.virtualGpus);
  gpuInstanceSetVgpuHeterogeneousMode @324 () $c("nvmlGpuInstanceSetVgpuHeterogeneousMode") $class(forbidden) $reason(.changes);
  gpuInstanceSetVgpuSchedulerState @325 () $c("nvmlGpuInstanceSetVgpuSchedulerState") $class(forbidden) $reason(.changes);
  init @326 () $c("nvmlInit") $class(local);
  initWithFlags @327 () $c("nvmlInitWithFlags") $class(local);
  initV2 @328 () $c("nvmlInit_v2") $class(live) $byHand(client);
  internalGetExportTable @329 () $c("nvmlInternalGetExportTable") $class(local);
  setVgpuVersion @330 () $c("nvmlSetVgpuVersion") $class(forbidden) $reason(.changes);
  shutdown @331 () $c("nvmlShutdown") $class(local);
  systemEventSetCreate @332 () $c("nvmlSystemEventSetCreate") $class(refused) $reason(.systemEvents);
  systemEventSetFree @333 () $c("nvmlSystemEventSetFree") $class(refused) $reason(.systemEvents);
  systemEventSetWait @334 () $c("nvmlSystemEventSetWait") $class(refused) $reason(.systemEvents);
  systemGetConfComputeCapabilities @335 () $c("nvmlSystemGetConfComputeCapabilities") $class(live);
  systemGetConfComputeGpusReadyState @336 () $c("nvmlSystemGetConfComputeGpusReadyState") $class(live);
  systemGetConfComputeKeyRotationThresholdInfo @337 () $c("nvmlSystemGetConfComputeKeyRotationThresholdInfo") $class(live);
  systemGetConfComputeSettings @338 () $c("nvmlSystemGetConfComputeSettings") $class(live);
  systemGetConfComputeState @339 () $c("nvmlSystemGetConfComputeState") $class(live);
  systemGetCudaDriverVersion @340 () $c("nvmlSystemGetCudaDriverVersion") $class(static) $several(least);
  systemGetCudaDriverVersionV2 @341 () $c("nvmlSystemGetCudaDriverVersion_v2") $class(static) $several(least);
  systemGetDriverBranch @342 () $c("nvmlSystemGetDriverBranch") $class(static);
  systemGetDriverVersion @343 () $c("nvmlSystemGetDriverVersion") $class(static);
  systemGetHicVersion @344 () $c("nvmlSystemGetHicVersion") $class(static) $items("hwbcEntries=hwbcCount");
  systemGetNVMLVersion @345 () $c("nvmlSystemGetNVMLVersion") $class(static);
  systemGetNvlinkBwMode @346 () $c("nvmlSystemGetNvlinkBwMode") $class(live);
  systemGetProcessName @347 () $c("nvmlSystemGetProcessName") $class(live) $several(find);
  systemGetTopologyGpuSet @348 () $c("nvmlSystemGetTopologyGpuSet") $class(static) $items("deviceArray=count");
  systemRegisterEvents @349 () $c("nvmlSystemRegisterEvents") $class(refused) $reason(.systemEvents);
  systemSetConfComputeGpusReadyState @350 () $c("nvmlSystemSetConfComputeGpusReadyState") $class(forbidden) $reason(.changes);
  systemSetConfComputeKeyRotationThresholdInfo @351 ()
      $c("nvmlSystemSetConfComputeKeyRotationThresholdInfo") $class(forbidden) $reason(.changes);
  systemSetNvlinkBwMode @352 () $c("nvmlSystemSetNvlinkBwMode") $class(forbidden) $reason(.changes);
  unitGetCount @353 () $c("nvmlUnitGetCount") $class(local);
  unitGetDevices @354 () $c("nvmlUnitGetDevices") $class(refused) $reason(.units);
  unitGetFanSpeedInfo @355 () $c("nvmlUnitGetFanSpeedInfo") $class(refused) $reason(.units);
  unitGetHandleByIndex @356 () $c("nvmlUnitGetHandleByIndex") $class(refused) $reason(.units);
  unitGetLedState @357 () $c("nvmlUnitGetLedState") $class(refused) $reason(.units);
  unitGetPsuInfo @358 () $c("nvmlUnitGetPsuInfo") $class(refused) $reason(.units);
  unitGetTemperature @359 () $c("nvmlUnitGetTemperature") $class(refused) $reason(.units);
  unitGetUnitInfo @360 () $c("nvmlUnitGetUnitInfo") $class(refused) $reason(.units);
  unitSetLedState @361 () $c("nvmlUnitSetLedState") $class(forbidden) $reason(.changes);
  vgpuInstanceClearAccountingPids @362 () $c("nvmlVgpuInstanceClearAccountingPids") $class(forbidden) $reason(.changes);
  vgpuInstanceGetAccountingMode @363 () $c("nvmlVgpuInstanceGetAccountingMode") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetAccountingPids @364 () $c("nvmlVgpuInstanceGetAccountingPids") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetAccountingStats @365 () $c("nvmlVgpuInstanceGetAccountingStats") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetEccMode @366 () $c("nvmlVgpuInstanceGetEccMode") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetEncoderCapacity @367 () $c("nvmlVgpuInstanceGetEncoderCapacity") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetEncoderSessions @368 () $c("nvmlVgpuInstanceGetEncoderSessions") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetEncoderStats @369 () $c("nvmlVgpuInstanceGetEncoderStats") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetFBCSessions @370 () $c("nvmlVgpuInstanceGetFBCSessions") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetFBCStats @371 () $c("nvmlVgpuInstanceGetFBCStats") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetFbUsage @372 () $c("nvmlVgpuInstanceGetFbUsage") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetFrameRateLimit @373 () $c("nvmlVgpuInstanceGetFrameRateLimit") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetGpuInstanceId @374 () $c("nvmlVgpuInstanceGetGpuInstanceId") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetGpuPciId @375 () $c("nvmlVgpuInstanceGetGpuPciId") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetLicenseInfo @376 () $c("nvmlVgpuInstanceGetLicenseInfo") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetLicenseInfoV2 @377 () $c("nvmlVgpuInstanceGetLicenseInfo_v2") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetLicenseStatus @378 () $c("nvmlVgpuInstanceGetLicenseStatus") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetMdevUUID @379 () $c("nvmlVgpuInstanceGetMdevUUID") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetMetadata @380 () $c("nvmlVgpuInstanceGetMetadata") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetPlacementId @381 () $c("nvmlVgpuInstanceGetPlacementId") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetRuntimeStateSize @382 () $c("nvmlVgpuInstanceGetRuntimeStateSize") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetType @383 () $c("nvmlVgpuInstanceGetType") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetUUID @384 () $c("nvmlVgpuInstanceGetUUID") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetVmDriverVersion @385 () $c("nvmlVgpuInstanceGetVmDriverVersion") $class(refused) $reason(.virtualGpus);
  vgpuInstanceGetVmID @386 () $c("nvmlVgpuInstanceGetVmID") $class(refused) $reason(.virtualGpus);
  vgpuInstanceSetEncoderCapacity @387 () $c("nvmlVgpuInstanceSetEncoderCapacity") $class(forbidden) $reason(.changes);
  vgpuTypeGetBAR1Info @388 () $c("nvmlVgpuTypeGetBAR1Info") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetCapabilities @389 () $c("nvmlVgpuTypeGetCapabilities") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetClass @390 () $c("nvmlVgpuTypeGetClass") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetDeviceID @391 () $c("nvmlVgpuTypeGetDeviceID") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetFbReservation @392 () $c("nvmlVgpuTypeGetFbReservation") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetFrameRateLimit @393 () $c("nvmlVgpuTypeGetFrameRateLimit") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetFramebufferSize @394 () $c("nvmlVgpuTypeGetFramebufferSize") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetGpuInstanceProfileId @395 () $c("nvmlVgpuTypeGetGpuInstanceProfileId") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetGspHeapSize @396 () $c("nvmlVgpuTypeGetGspHeapSize") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetLicense @397 () $c("nvmlVgpuTypeGetLicense") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetMaxInstances @398 () $c("nvmlVgpuTypeGetMaxInstances") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetMaxInstancesPerGpuInstance @399 ()
      $c("nvmlVgpuTypeGetMaxInstancesPerGpuInstance") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetMaxInstancesPerVm @400 () $c("nvmlVgpuTypeGetMaxInstancesPerVm") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetName @401 () $c("nvmlVgpuTypeGetName") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetNumDisplayHeads @402 () $c("nvmlVgpuTypeGetNumDisplayHeads") $class(refused) $reason(.virtualGpus);
  vgpuTypeGetResolution @403 () $c("nvmlVgpuTypeGetResolution") $class(refused) $reason(.virtualGpus);
}
