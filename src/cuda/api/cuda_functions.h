/*
 * CUDA's driver interface: the functions that libcuda.so.1 of CUDA 13.0 exports, one line each, in
 * the order of proto/cuda-symbols.txt; parameter names are ours. proto/cuda_generate.py reads this
 * file too: the parameters of a function stand only here. tests/cuda/test_layout.py compares
 * it with NVIDIA's cuda.h if it is installed.
 *
 * _ptsz and _ptds are a function whose default stream is the calling thread's.
 */
#pragma once
#ifndef ATH_CUDA_TYPES_KNOWN /* a test has NVIDIA's */
#include "cuda/api/cuda_types.h"
#endif

CUresult cuArray3DCreate(CUarray *handle, const CUDA_ARRAY3D_DESCRIPTOR_v1 *descriptor);
CUresult cuArray3DCreate_v2(CUarray *handle, const CUDA_ARRAY3D_DESCRIPTOR *descriptor);
CUresult cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1 *descriptor, CUarray array);
CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *descriptor, CUarray array);
CUresult cuArrayCreate(CUarray *handle, const CUDA_ARRAY_DESCRIPTOR_v1 *descriptor);
CUresult cuArrayCreate_v2(CUarray *handle, const CUDA_ARRAY_DESCRIPTOR *descriptor);
CUresult cuArrayDestroy(CUarray array);
CUresult cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1 *descriptor, CUarray array);
CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *descriptor, CUarray array);
CUresult cuArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memory_requirements,
                                      CUarray array, CUdevice device);
CUresult cuArrayGetPlane(CUarray *plane_array, CUarray array, unsigned int plane_idx);
CUresult cuArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparse_properties, CUarray array);
CUresult cuCheckpointProcessCheckpoint(int pid, CUcheckpointCheckpointArgs *args);
CUresult cuCheckpointProcessGetRestoreThreadId(int pid, int *thread);
CUresult cuCheckpointProcessGetState(int pid, CUprocessState *state);
CUresult cuCheckpointProcessLock(int pid, CUcheckpointLockArgs *args);
CUresult cuCheckpointProcessRestore(int pid, CUcheckpointRestoreArgs *args);
CUresult cuCheckpointProcessUnlock(int pid, CUcheckpointUnlockArgs *args);
CUresult cuCoredumpGetAttribute(CUcoredumpSettings attribute, void *value, size_t *size);
CUresult cuCoredumpGetAttributeGlobal(CUcoredumpSettings attribute, void *value, size_t *size);
CUresult cuCoredumpSetAttribute(CUcoredumpSettings attribute, void *value, size_t *size);
CUresult cuCoredumpSetAttributeGlobal(CUcoredumpSettings attribute, void *value, size_t *size);
CUresult cuCtxAttach(CUcontext *context, unsigned int flags);
CUresult cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuCtxCreate_v3(CUcontext *context, CUexecAffinityParam *params, int param_count,
                        unsigned int flags, CUdevice device);
CUresult cuCtxCreate_v4(CUcontext *context, CUctxCreateParams *params, unsigned int flags,
                        CUdevice device);
CUresult cuCtxDestroy(CUcontext context);
CUresult cuCtxDestroy_v2(CUcontext context);
CUresult cuCtxDetach(CUcontext context);
CUresult cuCtxDisablePeerAccess(CUcontext peer_context);
CUresult cuCtxEnablePeerAccess(CUcontext peer_context, unsigned int flags);
CUresult cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx green_context);
CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *version);
CUresult cuCtxGetCacheConfig(CUfunc_cache *config);
CUresult cuCtxGetCurrent(CUcontext *context);
CUresult cuCtxGetDevResource(CUcontext context, CUdevResource *resource, CUdevResourceType type);
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuCtxGetDevice_v2(CUdevice *device, CUcontext context);
CUresult cuCtxGetExecAffinity(CUexecAffinityParam *exec_affinity, CUexecAffinityType type);
CUresult cuCtxGetFlags(unsigned int *flags);
CUresult cuCtxGetId(CUcontext context, unsigned long long *id);
CUresult cuCtxGetLimit(size_t *value, CUlimit limit);
CUresult cuCtxGetSharedMemConfig(CUsharedconfig *config);
CUresult cuCtxGetStreamPriorityRange(int *least_priority, int *greatest_priority);
CUresult cuCtxPopCurrent(CUcontext *context);
CUresult cuCtxPopCurrent_v2(CUcontext *context);
CUresult cuCtxPushCurrent(CUcontext context);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxRecordEvent(CUcontext context, CUevent event);
CUresult cuCtxResetPersistingL2Cache(void);
CUresult cuCtxSetCacheConfig(CUfunc_cache config);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSetFlags(unsigned int flags);
CUresult cuCtxSetLimit(CUlimit limit, size_t value);
CUresult cuCtxSetSharedMemConfig(CUsharedconfig config);
CUresult cuCtxSynchronize(void);
CUresult cuCtxSynchronize_v2(CUcontext context);
CUresult cuCtxWaitEvent(CUcontext context, CUevent event);
CUresult cuDestroyExternalMemory(CUexternalMemory memory);
CUresult cuDestroyExternalSemaphore(CUexternalSemaphore semaphore);
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *descriptor, CUdevResource *resources,
                                   unsigned int resource_count);
CUresult cuDevSmResourceSplitByCount(CUdevResource *result, unsigned int *group_count,
                                     const CUdevResource *input, CUdevResource *remaining,
                                     unsigned int use_flags, unsigned int min_count);
CUresult cuDeviceCanAccessPeer(int *can_access_peer, CUdevice device, CUdevice peer_dev);
CUresult cuDeviceComputeCapability(int *major_version, int *minor_version, CUdevice device);
CUresult cuDeviceGet(CUdevice *device, int ordinal);
CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device);
CUresult cuDeviceGetByPCIBusId(CUdevice *device, const char *bus_id);
CUresult cuDeviceGetCount(int *count);
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type);
CUresult cuDeviceGetExecAffinitySupport(int *value, CUexecAffinityType type, CUdevice device);
CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value);
CUresult cuDeviceGetHostAtomicCapabilities(unsigned int *capabilities,
                                           const CUatomicOperation *operations, unsigned int count,
                                           CUdevice device);
CUresult cuDeviceGetLuid(char *luid, unsigned int *device_node_mask, CUdevice device);
CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device);
CUresult cuDeviceGetName(char *name, int len, CUdevice device);
CUresult cuDeviceGetNvSciSyncAttributes(void *nv_sci_sync_attr_list, CUdevice device, int flags);
CUresult cuDeviceGetP2PAtomicCapabilities(unsigned int *capabilities,
                                          const CUatomicOperation *operations, unsigned int count,
                                          CUdevice src_device, CUdevice dst_device);
CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice src_device,
                                 CUdevice dst_device);
CUresult cuDeviceGetPCIBusId(char *bus_id, int len, CUdevice device);
CUresult cuDeviceGetProperties(CUdevprop *properties, CUdevice device);
CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t *max_width_in_elements, CUarray_format format,
                                            unsigned int channel_count, CUdevice device);
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device);
CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device);
CUresult cuDeviceGraphMemTrim(CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active);
CUresult cuDevicePrimaryCtxRelease(CUdevice device);
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxReset(CUdevice device);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device);
CUresult cuDevicePrimaryCtxSetFlags(CUdevice device, unsigned int flags);
CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned int flags);
CUresult cuDeviceRegisterAsyncNotification(CUdevice device, CUasyncCallback function,
                                           void *user_data, CUasyncCallbackHandle *callback);
CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attribute, void *value);
CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);
CUresult cuDeviceTotalMem(unsigned int *bytes, CUdevice device);
CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device);
CUresult cuDeviceUnregisterAsyncNotification(CUdevice device, CUasyncCallbackHandle callback);
CUresult cuDriverGetVersion(int *driver_version);
CUresult cuEventCreate(CUevent *event, unsigned int flags);
CUresult cuEventDestroy(CUevent event);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventElapsedTime(float *milliseconds, CUevent first, CUevent last);
CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent first, CUevent last);
CUresult cuEventQuery(CUevent event);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags);
CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned int flags);
CUresult cuEventRecord_ptsz(CUevent event, CUstream stream);
CUresult cuEventSynchronize(CUevent event);
CUresult cuExternalMemoryGetMappedBuffer(CUdeviceptr *address, CUexternalMemory memory,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *descriptor);
CUresult cuExternalMemoryGetMappedMipmappedArray(
    CUmipmappedArray *mipmap, CUexternalMemory memory,
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *descriptor);
CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope);
CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function);
CUresult cuFuncGetModule(CUmodule *module, CUfunction function);
CUresult cuFuncGetName(const char **name, CUfunction function);
CUresult cuFuncGetParamInfo(CUfunction function, size_t param_index, size_t *param_offset,
                            size_t *param_size);
CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function);
CUresult cuFuncLoad(CUfunction function);
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult cuFuncSetBlockShape(CUfunction function, int x, int y, int z);
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config);
CUresult cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config);
CUresult cuFuncSetSharedSize(CUfunction function, unsigned int bytes);
CUresult cuGetErrorName(CUresult error, const char **text);
CUresult cuGetErrorString(CUresult error, const char **text);
CUresult cuGetExportTable(const void **table, const CUuuid *id);
CUresult cuGetProcAddress(const char *symbol, void **entry, int version, uint64_t flags);
CUresult cuGetProcAddress_v2(const char *symbol, void **entry, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult *status);
CUresult cuGraphAddBatchMemOpNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t dependency_count,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
CUresult cuGraphAddChildGraphNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t dependency_count, CUgraph child_graph);
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                size_t dependency_count);
CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   const CUgraphEdgeData *edges, size_t dependency_count);
CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                             size_t dependency_count);
CUresult cuGraphAddEventRecordNode(CUgraphNode *node, CUgraph graph,
                                   const CUgraphNode *dependencies, size_t dependency_count,
                                   CUevent event);
CUresult cuGraphAddEventWaitNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t dependency_count, CUevent event);
CUresult cuGraphAddExternalSemaphoresSignalNode(CUgraphNode *node, CUgraph graph,
                                                const CUgraphNode *dependencies,
                                                size_t dependency_count,
                                                const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params);
CUresult cuGraphAddExternalSemaphoresWaitNode(CUgraphNode *node, CUgraph graph,
                                              const CUgraphNode *dependencies,
                                              size_t dependency_count,
                                              const CUDA_EXT_SEM_WAIT_NODE_PARAMS *params);
CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                            size_t dependency_count, const CUDA_HOST_NODE_PARAMS *params);
CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t dependency_count, const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                 size_t dependency_count, const CUDA_KERNEL_NODE_PARAMS *params);
CUresult cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                size_t dependency_count, CUDA_MEM_ALLOC_NODE_PARAMS *params);
CUresult cuGraphAddMemFreeNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                               size_t dependency_count, CUdeviceptr address);
CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t dependency_count, const CUDA_MEMCPY3D *copy,
                              CUcontext context);
CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                              size_t dependency_count, const CUDA_MEMSET_NODE_PARAMS *params,
                              CUcontext context);
CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                        size_t dependency_count, CUgraphNodeParams *params);
CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                           const CUgraphEdgeData *edges, size_t dependency_count,
                           CUgraphNodeParams *params);
CUresult cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
CUresult cuGraphBatchMemOpNodeSetParams(CUgraphNode node,
                                        const CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *graph);
CUresult cuGraphClone(CUgraph *clone, CUgraph original);
CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph,
                                        CUcontext context, unsigned int default_launch_value,
                                        unsigned int flags);
CUresult cuGraphCreate(CUgraph *graph, unsigned int flags);
CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned int flags);
CUresult cuGraphDestroy(CUgraph graph);
CUresult cuGraphDestroyNode(CUgraphNode node);
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event);
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event);
CUresult cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event);
CUresult cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event);
CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS *params);
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                            CUgraph child_graph);
CUresult cuGraphExecDestroy(CUgraphExec graph_exec);
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec graph_exec, CUgraphNode node,
                                            CUevent event);
CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec graph_exec, CUgraphNode node, CUevent event);
CUresult cuGraphExecExternalSemaphoresSignalNodeSetParams(
    CUgraphExec graph_exec, CUgraphNode node, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params);
CUresult cuGraphExecExternalSemaphoresWaitNodeSetParams(
    CUgraphExec graph_exec, CUgraphNode node, const CUDA_EXT_SEM_WAIT_NODE_PARAMS *params);
CUresult cuGraphExecGetFlags(CUgraphExec graph_exec, uint64_t *flags);
CUresult cuGraphExecHostNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS *params);
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec graph_exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS *params);
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D *copy, CUcontext context);
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context);
CUresult cuGraphExecNodeSetParams(CUgraphExec graph_exec, CUgraphNode node,
                                  CUgraphNodeParams *params);
CUresult cuGraphExecUpdate(CUgraphExec graph_exec, CUgraph graph, CUgraphNode *error_node,
                           CUgraphExecUpdateResult *result);
CUresult cuGraphExecUpdate_v2(CUgraphExec graph_exec, CUgraph graph,
                              CUgraphExecUpdateResultInfo *info);
CUresult cuGraphExternalSemaphoresSignalNodeGetParams(CUgraphNode node,
                                                      CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params);
CUresult cuGraphExternalSemaphoresSignalNodeSetParams(
    CUgraphNode node, const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS *params);
CUresult cuGraphExternalSemaphoresWaitNodeGetParams(CUgraphNode node,
                                                    CUDA_EXT_SEM_WAIT_NODE_PARAMS *params);
CUresult cuGraphExternalSemaphoresWaitNodeSetParams(CUgraphNode node,
                                                    const CUDA_EXT_SEM_WAIT_NODE_PARAMS *params);
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *edge_count);
CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
                            CUgraphEdgeData *edges, size_t *edge_count);
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *node_count);
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *root_nodes, size_t *node_count);
CUresult cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *params);
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params);
CUresult cuGraphInstantiate(CUgraphExec *graph_exec, CUgraph graph, CUgraphNode *error_node,
                            char *log_buffer, size_t buffer_size);
CUresult cuGraphInstantiateWithFlags(CUgraphExec *graph_exec, CUgraph graph,
                                     unsigned long long flags);
CUresult cuGraphInstantiateWithParams(CUgraphExec *graph_exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS *params);
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec *graph_exec, CUgraph graph,
                                           CUDA_GRAPH_INSTANTIATE_PARAMS *params);
CUresult cuGraphInstantiate_v2(CUgraphExec *graph_exec, CUgraph graph, CUgraphNode *error_node,
                               char *log_buffer, size_t buffer_size);
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src);
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUlaunchAttributeID attribute,
                                       CUlaunchAttributeValue *value);
CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params);
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUlaunchAttributeID attribute,
                                       const CUlaunchAttributeValue *value);
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *params);
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);
CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream);
CUresult cuGraphLaunch_ptsz(CUgraphExec graph_exec, CUstream stream);
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *params);
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *address);
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *params);
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *params);
CUresult cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *params);
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params);
CUresult cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode original, CUgraph clone);
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *dependencies,
                                    size_t *dependency_count);
CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *dependencies,
                                       CUgraphEdgeData *edges, size_t *dependency_count);
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *dependent_nodes,
                                      size_t *dependent_count);
CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *dependent_nodes,
                                         CUgraphEdgeData *edges, size_t *dependent_count);
CUresult cuGraphNodeGetEnabled(CUgraphExec graph_exec, CUgraphNode node, unsigned int *is_enabled);
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type);
CUresult cuGraphNodeSetEnabled(CUgraphExec graph_exec, CUgraphNode node, unsigned int is_enabled);
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams *params);
CUresult cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned int count);
CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                   size_t dependency_count);
CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
                                      const CUgraphEdgeData *edges, size_t dependency_count);
CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int count,
                                 unsigned int flags);
CUresult cuGraphUpload(CUgraphExec graph, CUstream stream);
CUresult cuGraphUpload_ptsz(CUgraphExec graph_exec, CUstream stream);
CUresult cuGraphicsMapResources(unsigned int count, CUgraphicsResource *resources, CUstream stream);
CUresult cuGraphicsMapResources_ptsz(unsigned int count, CUgraphicsResource *resources,
                                     CUstream stream);
CUresult cuGraphicsResourceGetMappedMipmappedArray(CUmipmappedArray *mipmapped_array,
                                                   CUgraphicsResource resource);
CUresult cuGraphicsResourceGetMappedPointer(CUdeviceptr_v1 *address, unsigned int *size,
                                            CUgraphicsResource resource);
CUresult cuGraphicsResourceGetMappedPointer_v2(CUdeviceptr *address, size_t *size,
                                               CUgraphicsResource resource);
CUresult cuGraphicsResourceSetMapFlags(CUgraphicsResource resource, unsigned int flags);
CUresult cuGraphicsResourceSetMapFlags_v2(CUgraphicsResource resource, unsigned int flags);
CUresult cuGraphicsSubResourceGetMappedArray(CUarray *array, CUgraphicsResource resource,
                                             unsigned int array_index, unsigned int mip_level);
CUresult cuGraphicsUnmapResources(unsigned int count, CUgraphicsResource *resources,
                                  CUstream stream);
CUresult cuGraphicsUnmapResources_ptsz(unsigned int count, CUgraphicsResource *resources,
                                       CUstream stream);
CUresult cuGraphicsUnregisterResource(CUgraphicsResource resource);
CUresult cuGreenCtxCreate(CUgreenCtx *context, CUdevResourceDesc descriptor, CUdevice device,
                          unsigned int flags);
CUresult cuGreenCtxDestroy(CUgreenCtx context);
CUresult cuGreenCtxGetDevResource(CUgreenCtx context, CUdevResource *resource,
                                  CUdevResourceType type);
CUresult cuGreenCtxGetId(CUgreenCtx green_context, unsigned long long *id);
CUresult cuGreenCtxRecordEvent(CUgreenCtx context, CUevent event);
CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green_context, unsigned int flags,
                                int priority);
CUresult cuGreenCtxWaitEvent(CUgreenCtx context, CUevent event);
CUresult cuImportExternalMemory(CUexternalMemory *memory,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *descriptor);
CUresult cuImportExternalSemaphore(CUexternalSemaphore *semaphore,
                                   const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *descriptor);
CUresult cuInit(unsigned int flags);
CUresult cuIpcCloseMemHandle(CUdeviceptr address);
CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent event);
CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address);
CUresult cuIpcOpenEventHandle(CUevent *event, CUipcEventHandle handle);
CUresult cuIpcOpenMemHandle(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags);
CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle, unsigned int flags);
CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device);
CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel);
CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel);
CUresult cuKernelGetName(const char **name, CUkernel function);
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t param_index, size_t *param_offset,
                              size_t *param_size);
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device);
CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device);
CUresult cuLaunch(CUfunction function);
CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_dim_x,
                                   unsigned int grid_dim_y, unsigned int grid_dim_z,
                                   unsigned int block_dim_x, unsigned int block_dim_y,
                                   unsigned int block_dim_z, unsigned int shared_mem_bytes,
                                   CUstream stream, void **kernel_params);
CUresult cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launches,
                                              unsigned int device_count, unsigned int flags);
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_dim_x,
                                        unsigned int grid_dim_y, unsigned int grid_dim_z,
                                        unsigned int block_dim_x, unsigned int block_dim_y,
                                        unsigned int block_dim_z, unsigned int shared_mem_bytes,
                                        CUstream stream, void **kernel_params);
CUresult cuLaunchGrid(CUfunction function, int grid_width, int grid_height);
CUresult cuLaunchGridAsync(CUfunction function, int grid_width, int grid_height, CUstream stream);
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *user_data);
CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void *user_data);
CUresult cuLaunchKernel(CUfunction function, unsigned int grid_dim_x, unsigned int grid_dim_y,
                        unsigned int grid_dim_z, unsigned int block_dim_x, unsigned int block_dim_y,
                        unsigned int block_dim_z, unsigned int shared_mem_bytes, CUstream stream,
                        void **kernel_params, void **extra);
CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **kernel_params,
                          void **extra);
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function,
                               void **kernel_params, void **extra);
CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_dim_x, unsigned int grid_dim_y,
                             unsigned int grid_dim_z, unsigned int block_dim_x,
                             unsigned int block_dim_y, unsigned int block_dim_z,
                             unsigned int shared_mem_bytes, CUstream stream, void **kernel_params,
                             void **extra);
CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int kernel_count, CUlibrary library);
CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library,
                            const char *name);
CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name);
CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary library);
CUresult cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary library,
                             const char *name);
CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library);
CUresult cuLibraryGetUnifiedFunction(void **entry, CUlibrary library, const char *symbol);
CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jit_options,
                           void **jit_option_values, unsigned int jit_option_count,
                           CUlibraryOption *library_options, void **library_option_values,
                           unsigned int library_option_count);
CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *jit_options,
                               void **jit_option_values, unsigned int jit_option_count,
                               CUlibraryOption *library_options, void **library_option_values,
                               unsigned int library_option_count);
CUresult cuLibraryUnload(CUlibrary library);
CUresult cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size,
                       const char *name, unsigned int option_count, CUjit_option *options,
                       void **option_values);
CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                          const char *name, unsigned int option_count, CUjit_option *options,
                          void **option_values);
CUresult cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path,
                       unsigned int option_count, CUjit_option *options, void **option_values);
CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                          unsigned int option_count, CUjit_option *options, void **option_values);
CUresult cuLinkComplete(CUlinkState state, void **cubin, size_t *size);
CUresult cuLinkCreate(unsigned int option_count, CUjit_option *options, void **option_values,
                      CUlinkState *state);
CUresult cuLinkCreate_v2(unsigned int option_count, CUjit_option *options, void **option_values,
                         CUlinkState *state);
CUresult cuLinkDestroy(CUlinkState state);
CUresult cuLogsCurrent(CUlogIterator *iterator, unsigned int flags);
CUresult cuLogsDumpToFile(CUlogIterator *iterator, const char *path_to_file, unsigned int flags);
CUresult cuLogsDumpToMemory(CUlogIterator *iterator, char *buffer, size_t *size,
                            unsigned int flags);
CUresult cuLogsRegisterCallback(CUlogsCallback function, void *user_data,
                                CUlogsCallbackHandle *callback);
CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle callback);
CUresult cuMemAddressFree(CUdeviceptr address, size_t size);
CUresult cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags);
CUresult cuMemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice, CUdevice device);
CUresult cuMemAdvise_v2(CUdeviceptr address, size_t count, CUmem_advise advice,
                        CUmemLocation location);
CUresult cuMemAlloc(CUdeviceptr_v1 *address, unsigned int bytes);
CUresult cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream);
CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t bytes, CUstream stream);
CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream);
CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                      CUstream stream);
CUresult cuMemAllocHost(void **memory, unsigned int bytes);
CUresult cuMemAllocHost_v2(void **memory, size_t bytes);
CUresult cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags);
CUresult cuMemAllocPitch(CUdeviceptr_v1 *address, unsigned int *pitch, unsigned int width_in_bytes,
                         unsigned int height, unsigned int element_size_bytes);
CUresult cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width_in_bytes,
                            size_t height, unsigned int element_size_bytes);
CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes);
CUresult cuMemBatchDecompressAsync(CUmemDecompressParams *params, size_t count, unsigned int flags,
                                   size_t *error_index, CUstream stream);
CUresult cuMemBatchDecompressAsync_ptsz(CUmemDecompressParams *params, size_t count,
                                        unsigned int flags, size_t *error_index, CUstream stream);
CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                     const CUmemAllocationProp *properties, unsigned long long flags);
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                           CUmemLocation *locations, size_t *location_indexes,
                                           size_t location_count, unsigned long long flags,
                                           CUstream stream);
CUresult cuMemDiscardAndPrefetchBatchAsync_ptsz(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                                CUmemLocation *locations, size_t *location_indexes,
                                                size_t location_count, unsigned long long flags,
                                                CUstream stream);
CUresult cuMemDiscardBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                unsigned long long flags, CUstream stream);
CUresult cuMemDiscardBatchAsync_ptsz(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                     unsigned long long flags, CUstream stream);
CUresult cuMemExportToShareableHandle(void *shareable_handle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handle_type,
                                      unsigned long long flags);
CUresult cuMemFree(CUdeviceptr_v1 address);
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream);
CUresult cuMemFreeHost(void *memory);
CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                        CUdeviceptr address);
CUresult cuMemGetAddressRange(CUdeviceptr_v1 *base, unsigned int *size, CUdeviceptr_v1 address);
CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address);
CUresult cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *properties,
                                       CUmemAllocationGranularity_flags option);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *properties,
                                                CUmemGenericAllocationHandle handle);
CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location,
                                CUmemAllocationType type);
CUresult cuMemGetHandleForAddressRange(void *handle, CUdeviceptr address, size_t size,
                                       CUmemRangeHandleType handle_type, unsigned long long flags);
CUresult cuMemGetInfo(unsigned int *free_bytes, unsigned int *total_bytes);
CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes);
CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type);
CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned int flags);
CUresult cuMemHostGetDevicePointer(CUdeviceptr_v1 *address, void *memory, unsigned int flags);
CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *address, void *memory, unsigned int flags);
CUresult cuMemHostGetFlags(unsigned int *flags, void *memory);
CUresult cuMemHostRegister(void *memory, size_t bytes, unsigned int flags);
CUresult cuMemHostRegister_v2(void *memory, size_t bytes, unsigned int flags);
CUresult cuMemHostUnregister(void *memory);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *os_handle,
                                        CUmemAllocationHandleType sh_handle_type);
CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult cuMemMapArrayAsync(CUarrayMapInfo *map_info_list, unsigned int count, CUstream stream);
CUresult cuMemMapArrayAsync_ptsz(CUarrayMapInfo *map_info_list, unsigned int count,
                                 CUstream stream);
CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *properties);
CUresult cuMemPoolDestroy(CUmemoryPool pool);
CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *share, CUdeviceptr address);
CUresult cuMemPoolExportToShareableHandle(void *handle, CUmemoryPool pool,
                                          CUmemAllocationHandleType handle_type,
                                          unsigned long long flags);
CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool mem_pool,
                            CUmemLocation *location);
CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle,
                                            CUmemAllocationHandleType handle_type,
                                            unsigned long long flags);
CUresult cuMemPoolImportPointer(CUdeviceptr *address, CUmemoryPool pool,
                                CUmemPoolPtrExportData *share);
CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count);
CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value);
CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t min_bytes_to_keep);
CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice dst_device,
                            CUstream stream);
CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr address, size_t count, CUdevice dst_device,
                                 CUstream stream);
CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t count, CUmemLocation location,
                               unsigned int flags, CUstream stream);
CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr address, size_t count, CUmemLocation location,
                                    unsigned int flags, CUstream stream);
CUresult cuMemPrefetchBatchAsync(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                 CUmemLocation *locations, size_t *location_indexes,
                                 size_t location_count, unsigned long long flags, CUstream stream);
CUresult cuMemPrefetchBatchAsync_ptsz(CUdeviceptr *addresses, size_t *sizes, size_t count,
                                      CUmemLocation *locations, size_t *location_indexes,
                                      size_t location_count, unsigned long long flags,
                                      CUstream stream);
CUresult cuMemRangeGetAttribute(void *data, size_t data_size, CUmem_range_attribute attribute,
                                CUdeviceptr address, size_t count);
CUresult cuMemRangeGetAttributes(void **data, size_t *data_sizes, CUmem_range_attribute *attributes,
                                 size_t attribute_count, CUdeviceptr address, size_t count);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *address);
CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const CUmemAccessDesc *descriptor,
                        size_t count);
CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool);
CUresult cuMemUnmap(CUdeviceptr address, size_t size);
CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t byte_count);
CUresult cuMemcpy2D(const CUDA_MEMCPY2D_v1 *copy);
CUresult cuMemcpy2DAsync(const CUDA_MEMCPY2D_v1 *copy, CUstream stream);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream);
CUresult cuMemcpy2DAsync_v2_ptsz(const CUDA_MEMCPY2D *copy, CUstream stream);
CUresult cuMemcpy2DUnaligned(const CUDA_MEMCPY2D_v1 *copy);
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *copy);
CUresult cuMemcpy3D(const CUDA_MEMCPY3D_v1 *copy);
CUresult cuMemcpy3DAsync(const CUDA_MEMCPY3D_v1 *copy, CUstream stream);
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream);
CUresult cuMemcpy3DAsync_v2_ptsz(const CUDA_MEMCPY3D *copy, CUstream stream);
CUresult cuMemcpy3DBatchAsync(size_t op_count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail_index,
                              unsigned long long flags, CUstream stream);
CUresult cuMemcpy3DBatchAsync_ptsz(size_t op_count, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *fail_index,
                                   unsigned long long flags, CUstream stream);
CUresult cuMemcpy3DBatchAsync_v2(size_t op_count, CUDA_MEMCPY3D_BATCH_OP *ops,
                                 unsigned long long flags, CUstream stream);
CUresult cuMemcpy3DBatchAsync_v2_ptsz(size_t op_count, CUDA_MEMCPY3D_BATCH_OP *ops,
                                      unsigned long long flags, CUstream stream);
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy);
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream);
CUresult cuMemcpy3DPeerAsync_ptsz(const CUDA_MEMCPY3D_PEER *copy, CUstream stream);
CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *copy);
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy);
CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *copy);
CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t byte_count, CUstream stream);
CUresult cuMemcpyAsync_ptsz(CUdeviceptr dst, CUdeviceptr src, size_t byte_count, CUstream stream);
CUresult cuMemcpyAtoA(CUarray dst_array, unsigned int dst_offset, CUarray src_array,
                      unsigned int src_offset, unsigned int byte_count);
CUresult cuMemcpyAtoA_v2(CUarray dst_array, size_t dst_offset, CUarray src_array, size_t src_offset,
                         size_t byte_count);
CUresult cuMemcpyAtoA_v2_ptds(CUarray dst_array, size_t dst_offset, CUarray src_array,
                              size_t src_offset, size_t byte_count);
CUresult cuMemcpyAtoD(CUdeviceptr_v1 dst_device, CUarray src_array, unsigned int src_offset,
                      unsigned int byte_count);
CUresult cuMemcpyAtoD_v2(CUdeviceptr dst_device, CUarray src_array, size_t src_offset,
                         size_t byte_count);
CUresult cuMemcpyAtoD_v2_ptds(CUdeviceptr dst_device, CUarray src_array, size_t src_offset,
                              size_t byte_count);
CUresult cuMemcpyAtoH(void *dst_host, CUarray src_array, unsigned int src_offset,
                      unsigned int byte_count);
CUresult cuMemcpyAtoHAsync(void *dst_host, CUarray src_array, unsigned int src_offset,
                           unsigned int byte_count, CUstream stream);
CUresult cuMemcpyAtoHAsync_v2(void *dst_host, CUarray src_array, size_t src_offset,
                              size_t byte_count, CUstream stream);
CUresult cuMemcpyAtoHAsync_v2_ptsz(void *dst_host, CUarray src_array, size_t src_offset,
                                   size_t byte_count, CUstream stream);
CUresult cuMemcpyAtoH_v2(void *dst_host, CUarray src_array, size_t src_offset, size_t byte_count);
CUresult cuMemcpyAtoH_v2_ptds(void *dst_host, CUarray src_array, size_t src_offset,
                              size_t byte_count);
CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                            CUmemcpyAttributes *attributes, size_t *attribute_indexes,
                            size_t attribute_count, size_t *fail_index, CUstream stream);
CUresult cuMemcpyBatchAsync_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                                 CUmemcpyAttributes *attributes, size_t *attribute_indexes,
                                 size_t attribute_count, size_t *fail_index, CUstream stream);
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                               CUmemcpyAttributes *attributes, size_t *attribute_indexes,
                               size_t attribute_count, CUstream stream);
CUresult cuMemcpyBatchAsync_v2_ptsz(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes,
                                    size_t count, CUmemcpyAttributes *attributes,
                                    size_t *attribute_indexes, size_t attribute_count,
                                    CUstream stream);
CUresult cuMemcpyDtoA(CUarray dst_array, unsigned int dst_offset, CUdeviceptr_v1 src_device,
                      unsigned int byte_count);
CUresult cuMemcpyDtoA_v2(CUarray dst_array, size_t dst_offset, CUdeviceptr src_device,
                         size_t byte_count);
CUresult cuMemcpyDtoA_v2_ptds(CUarray dst_array, size_t dst_offset, CUdeviceptr src_device,
                              size_t byte_count);
CUresult cuMemcpyDtoD(CUdeviceptr_v1 dst_device, CUdeviceptr_v1 src_device,
                      unsigned int byte_count);
CUresult cuMemcpyDtoDAsync(CUdeviceptr_v1 dst_device, CUdeviceptr_v1 src_device,
                           unsigned int byte_count, CUstream stream);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst_device, CUdeviceptr src_device, size_t byte_count,
                              CUstream stream);
CUresult cuMemcpyDtoDAsync_v2_ptsz(CUdeviceptr dst_device, CUdeviceptr src_device,
                                   size_t byte_count, CUstream stream);
CUresult cuMemcpyDtoD_v2(CUdeviceptr dst_device, CUdeviceptr src_device, size_t byte_count);
CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr dst_device, CUdeviceptr src_device, size_t byte_count);
CUresult cuMemcpyDtoH(void *dst_host, CUdeviceptr_v1 src_device, unsigned int byte_count);
CUresult cuMemcpyDtoHAsync(void *dst_host, CUdeviceptr_v1 src_device, unsigned int byte_count,
                           CUstream stream);
CUresult cuMemcpyDtoHAsync_v2(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                              CUstream stream);
CUresult cuMemcpyDtoHAsync_v2_ptsz(void *dst_host, CUdeviceptr src_device, size_t byte_count,
                                   CUstream stream);
CUresult cuMemcpyDtoH_v2(void *dst_host, CUdeviceptr src_device, size_t byte_count);
CUresult cuMemcpyDtoH_v2_ptds(void *dst_host, CUdeviceptr src_device, size_t byte_count);
CUresult cuMemcpyHtoA(CUarray dst_array, unsigned int dst_offset, const void *src_host,
                      unsigned int byte_count);
CUresult cuMemcpyHtoAAsync(CUarray dst_array, unsigned int dst_offset, const void *src_host,
                           unsigned int byte_count, CUstream stream);
CUresult cuMemcpyHtoAAsync_v2(CUarray dst_array, size_t dst_offset, const void *src_host,
                              size_t byte_count, CUstream stream);
CUresult cuMemcpyHtoAAsync_v2_ptsz(CUarray dst_array, size_t dst_offset, const void *src_host,
                                   size_t byte_count, CUstream stream);
CUresult cuMemcpyHtoA_v2(CUarray dst_array, size_t dst_offset, const void *src_host,
                         size_t byte_count);
CUresult cuMemcpyHtoA_v2_ptds(CUarray dst_array, size_t dst_offset, const void *src_host,
                              size_t byte_count);
CUresult cuMemcpyHtoD(CUdeviceptr_v1 dst_device, const void *src_host, unsigned int byte_count);
CUresult cuMemcpyHtoDAsync(CUdeviceptr_v1 dst_device, const void *src_host, unsigned int byte_count,
                           CUstream stream);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst_device, const void *src_host, size_t byte_count,
                              CUstream stream);
CUresult cuMemcpyHtoDAsync_v2_ptsz(CUdeviceptr dst_device, const void *src_host, size_t byte_count,
                                   CUstream stream);
CUresult cuMemcpyHtoD_v2(CUdeviceptr dst_device, const void *src_host, size_t byte_count);
CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr dst_device, const void *src_host, size_t byte_count);
CUresult cuMemcpyPeer(CUdeviceptr dst_device, CUcontext dst_context, CUdeviceptr src_device,
                      CUcontext src_context, size_t byte_count);
CUresult cuMemcpyPeerAsync(CUdeviceptr dst_device, CUcontext dst_context, CUdeviceptr src_device,
                           CUcontext src_context, size_t byte_count, CUstream stream);
CUresult cuMemcpyPeerAsync_ptsz(CUdeviceptr dst_device, CUcontext dst_context,
                                CUdeviceptr src_device, CUcontext src_context, size_t byte_count,
                                CUstream stream);
CUresult cuMemcpyPeer_ptds(CUdeviceptr dst_device, CUcontext dst_context, CUdeviceptr src_device,
                           CUcontext src_context, size_t byte_count);
CUresult cuMemcpy_ptds(CUdeviceptr dst, CUdeviceptr src, size_t byte_count);
CUresult cuMemsetD16(CUdeviceptr_v1 dst_device, unsigned short value, unsigned int count);
CUresult cuMemsetD16Async(CUdeviceptr dst_device, unsigned short value, size_t count,
                          CUstream stream);
CUresult cuMemsetD16Async_ptsz(CUdeviceptr dst_device, unsigned short value, size_t count,
                               CUstream stream);
CUresult cuMemsetD16_v2(CUdeviceptr dst_device, unsigned short value, size_t count);
CUresult cuMemsetD16_v2_ptds(CUdeviceptr dst_device, unsigned short value, size_t count);
CUresult cuMemsetD2D16(CUdeviceptr_v1 dst_device, unsigned int dst_pitch, unsigned short value,
                       unsigned int width, unsigned int height);
CUresult cuMemsetD2D16Async(CUdeviceptr dst_device, size_t dst_pitch, unsigned short value,
                            size_t width, size_t height, CUstream stream);
CUresult cuMemsetD2D16Async_ptsz(CUdeviceptr dst_device, size_t dst_pitch, unsigned short value,
                                 size_t width, size_t height, CUstream stream);
CUresult cuMemsetD2D16_v2(CUdeviceptr dst_device, size_t dst_pitch, unsigned short value,
                          size_t width, size_t height);
CUresult cuMemsetD2D16_v2_ptds(CUdeviceptr dst_device, size_t dst_pitch, unsigned short value,
                               size_t width, size_t height);
CUresult cuMemsetD2D32(CUdeviceptr_v1 dst_device, unsigned int dst_pitch, unsigned int value,
                       unsigned int width, unsigned int height);
CUresult cuMemsetD2D32Async(CUdeviceptr dst_device, size_t dst_pitch, unsigned int value,
                            size_t width, size_t height, CUstream stream);
CUresult cuMemsetD2D32Async_ptsz(CUdeviceptr dst_device, size_t dst_pitch, unsigned int value,
                                 size_t width, size_t height, CUstream stream);
CUresult cuMemsetD2D32_v2(CUdeviceptr dst_device, size_t dst_pitch, unsigned int value,
                          size_t width, size_t height);
CUresult cuMemsetD2D32_v2_ptds(CUdeviceptr dst_device, size_t dst_pitch, unsigned int value,
                               size_t width, size_t height);
CUresult cuMemsetD2D8(CUdeviceptr_v1 dst_device, unsigned int dst_pitch, unsigned char value,
                      unsigned int width, unsigned int height);
CUresult cuMemsetD2D8Async(CUdeviceptr dst_device, size_t dst_pitch, unsigned char value,
                           size_t width, size_t height, CUstream stream);
CUresult cuMemsetD2D8Async_ptsz(CUdeviceptr dst_device, size_t dst_pitch, unsigned char value,
                                size_t width, size_t height, CUstream stream);
CUresult cuMemsetD2D8_v2(CUdeviceptr dst_device, size_t dst_pitch, unsigned char value,
                         size_t width, size_t height);
CUresult cuMemsetD2D8_v2_ptds(CUdeviceptr dst_device, size_t dst_pitch, unsigned char value,
                              size_t width, size_t height);
CUresult cuMemsetD32(CUdeviceptr_v1 dst_device, unsigned int value, unsigned int count);
CUresult cuMemsetD32Async(CUdeviceptr dst_device, unsigned int value, size_t count,
                          CUstream stream);
CUresult cuMemsetD32Async_ptsz(CUdeviceptr dst_device, unsigned int value, size_t count,
                               CUstream stream);
CUresult cuMemsetD32_v2(CUdeviceptr dst_device, unsigned int value, size_t count);
CUresult cuMemsetD32_v2_ptds(CUdeviceptr dst_device, unsigned int value, size_t count);
CUresult cuMemsetD8(CUdeviceptr_v1 dst_device, unsigned char value, unsigned int count);
CUresult cuMemsetD8Async(CUdeviceptr dst_device, unsigned char value, size_t count,
                         CUstream stream);
CUresult cuMemsetD8Async_ptsz(CUdeviceptr dst_device, unsigned char value, size_t count,
                              CUstream stream);
CUresult cuMemsetD8_v2(CUdeviceptr dst_device, unsigned char value, size_t count);
CUresult cuMemsetD8_v2_ptds(CUdeviceptr dst_device, unsigned char value, size_t count);
CUresult cuMipmappedArrayCreate(CUmipmappedArray *handle, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                                unsigned int level_count);
CUresult cuMipmappedArrayDestroy(CUmipmappedArray mipmapped_array);
CUresult cuMipmappedArrayGetLevel(CUarray *level_array, CUmipmappedArray mipmapped_array,
                                  unsigned int level);
CUresult cuMipmappedArrayGetMemoryRequirements(CUDA_ARRAY_MEMORY_REQUIREMENTS *memory_requirements,
                                               CUmipmappedArray mipmap, CUdevice device);
CUresult cuMipmappedArrayGetSparseProperties(CUDA_ARRAY_SPARSE_PROPERTIES *sparse_properties,
                                             CUmipmappedArray mipmap);
CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int function_count,
                                    CUmodule module);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule module);
CUresult cuModuleGetGlobal(CUdeviceptr_v1 *address, unsigned int *bytes, CUmodule module,
                           const char *name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module,
                              const char *name);
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode);
CUresult cuModuleGetSurfRef(CUsurfref *reference, CUmodule module, const char *name);
CUresult cuModuleGetTexRef(CUtexref *reference, CUmodule module, const char *name);
CUresult cuModuleLoad(CUmodule *module, const char *path);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int option_count,
                            CUjit_option *options, void **option_values);
CUresult cuModuleLoadFatBinary(CUmodule *module, const void *fat_cubin);
CUresult cuModuleUnload(CUmodule module);
CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle mc_handle, CUdevice device);
CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle mc_handle, size_t mc_offset,
                             CUdeviceptr address, size_t size, unsigned long long flags);
CUresult cuMulticastBindMem(CUmemGenericAllocationHandle mc_handle, size_t mc_offset,
                            CUmemGenericAllocationHandle mem_handle, size_t mem_offset, size_t size,
                            unsigned long long flags);
CUresult cuMulticastCreate(CUmemGenericAllocationHandle *mc_handle,
                           const CUmulticastObjectProp *properties);
CUresult cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *properties,
                                   CUmulticastGranularity_flags option);
CUresult cuMulticastUnbind(CUmemGenericAllocationHandle mc_handle, CUdevice device,
                           size_t mc_offset, size_t size);
CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamic_smem_size, CUfunction function,
                                                 int block_count, int block_size);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *block_count, CUfunction function,
                                                     int block_size, size_t dynamic_s_mem_size);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *block_count, CUfunction function,
                                                              int block_size,
                                                              size_t dynamic_s_mem_size,
                                                              unsigned int flags);
CUresult cuOccupancyMaxActiveClusters(int *cluster_count, CUfunction function,
                                      const CUlaunchConfig *config);
CUresult cuOccupancyMaxPotentialBlockSize(int *min_grid_size, int *block_size, CUfunction function,
                                          CUoccupancyB2DSize block_size_to_dynamic_s_mem_size,
                                          size_t dynamic_s_mem_size, int block_size_limit);
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *min_grid_size, int *block_size, CUfunction function,
    CUoccupancyB2DSize block_size_to_dynamic_s_mem_size, size_t dynamic_s_mem_size,
    int block_size_limit, unsigned int flags);
CUresult cuOccupancyMaxPotentialClusterSize(int *cluster_size, CUfunction function,
                                            const CUlaunchConfig *config);
CUresult cuParamSetSize(CUfunction function, unsigned int bytes);
CUresult cuParamSetTexRef(CUfunction function, int unit, CUtexref reference);
CUresult cuParamSetf(CUfunction function, int offset, float value);
CUresult cuParamSeti(CUfunction function, int offset, unsigned int value);
CUresult cuParamSetv(CUfunction function, int offset, void *memory, unsigned int bytes);
CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr address);
CUresult cuPointerGetAttributes(unsigned int attribute_count, CUpointer_attribute *attributes,
                                void **data, CUdeviceptr address);
CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                               CUdeviceptr address);
CUresult cuProfilerInitialize(const char *config_file, const char *output_file, CUoutput_mode mode);
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
CUresult cuSignalExternalSemaphoresAsync(const CUexternalSemaphore *semaphores,
                                         const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params,
                                         unsigned int semaphore_count, CUstream stream);
CUresult cuSignalExternalSemaphoresAsync_ptsz(const CUexternalSemaphore *semaphores,
                                              const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS *params,
                                              unsigned int semaphore_count, CUstream stream);
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *user_data,
                             unsigned int flags);
CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void *user_data,
                                  unsigned int flags);
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t length,
                                unsigned int flags);
CUresult cuStreamAttachMemAsync_ptsz(CUstream stream, CUdeviceptr address, size_t length,
                                     unsigned int flags);
CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *params,
                            unsigned int flags);
CUresult cuStreamBatchMemOp_ptsz(CUstream stream, unsigned int count,
                                 CUstreamBatchMemOpParams *params, unsigned int flags);
CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                               CUstreamBatchMemOpParams *params, unsigned int flags);
CUresult cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned int count,
                                    CUstreamBatchMemOpParams *params, unsigned int flags);
CUresult cuStreamBeginCapture(CUstream stream);
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                     const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
                                     size_t dependency_count, CUstreamCaptureMode mode);
CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph,
                                          const CUgraphNode *dependencies,
                                          const CUgraphEdgeData *edges, size_t dependency_count,
                                          CUstreamCaptureMode mode);
CUresult cuStreamBeginCapture_ptsz(CUstream stream);
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode);
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode);
CUresult cuStreamCopyAttributes(CUstream dst_stream, CUstream src_stream);
CUresult cuStreamCopyAttributes_ptsz(CUstream dst, CUstream src);
CUresult cuStreamCreate(CUstream *stream, unsigned int flags);
CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority);
CUresult cuStreamDestroy(CUstream stream);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph);
CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph);
CUresult cuStreamGetAttribute(CUstream stream, CUlaunchAttributeID attribute,
                              CUlaunchAttributeValue *value);
CUresult cuStreamGetAttribute_ptsz(CUstream stream, CUlaunchAttributeID attribute,
                                   CUlaunchAttributeValue *value);
CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id);
CUresult cuStreamGetCaptureInfo_ptsz(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id);
CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies,
                                   size_t *dependency_count);
CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, CUstreamCaptureStatus *status,
                                        uint64_t *id, CUgraph *graph,
                                        const CUgraphNode **dependencies, size_t *dependency_count);
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id,
                                   CUgraph *graph, const CUgraphNode **dependencies,
                                   const CUgraphEdgeData **edges, size_t *dependency_count);
CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream stream, CUstreamCaptureStatus *status,
                                        uint64_t *id, CUgraph *graph,
                                        const CUgraphNode **dependencies,
                                        const CUgraphEdgeData **edges, size_t *dependency_count);
CUresult cuStreamGetCtx(CUstream stream, CUcontext *context);
CUresult cuStreamGetCtx_ptsz(CUstream stream, CUcontext *context);
CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green_context);
CUresult cuStreamGetCtx_v2_ptsz(CUstream stream, CUcontext *context, CUgreenCtx *green_context);
CUresult cuStreamGetDevice(CUstream stream, CUdevice *device);
CUresult cuStreamGetDevice_ptsz(CUstream stream, CUdevice *device);
CUresult cuStreamGetFlags(CUstream stream, unsigned int *flags);
CUresult cuStreamGetFlags_ptsz(CUstream stream, unsigned int *flags);
CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *context);
CUresult cuStreamGetId(CUstream stream, unsigned long long *id);
CUresult cuStreamGetId_ptsz(CUstream stream, unsigned long long *id);
CUresult cuStreamGetPriority(CUstream stream, int *priority);
CUresult cuStreamGetPriority_ptsz(CUstream stream, int *priority);
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status);
CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus *status);
CUresult cuStreamQuery(CUstream stream);
CUresult cuStreamQuery_ptsz(CUstream stream);
CUresult cuStreamSetAttribute(CUstream stream, CUlaunchAttributeID attribute,
                              const CUlaunchAttributeValue *param);
CUresult cuStreamSetAttribute_ptsz(CUstream stream, CUlaunchAttributeID attribute,
                                   const CUlaunchAttributeValue *value);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuStreamSynchronize_ptsz(CUstream stream);
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies,
                                           size_t dependency_count, unsigned int flags);
CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream stream, CUgraphNode *dependencies,
                                                size_t dependency_count, unsigned int flags);
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *dependencies,
                                              const CUgraphEdgeData *edges, size_t dependency_count,
                                              unsigned int flags);
CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream stream, CUgraphNode *dependencies,
                                                   const CUgraphEdgeData *edges,
                                                   size_t dependency_count, unsigned int flags);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags);
CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags);
CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value,
                             unsigned int flags);
CUresult cuStreamWaitValue32_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                  unsigned int flags);
CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                unsigned int flags);
CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                     unsigned int flags);
CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, uint64_t value,
                             unsigned int flags);
CUresult cuStreamWaitValue64_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                  unsigned int flags);
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
                                unsigned int flags);
CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                     unsigned int flags);
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value,
                              unsigned int flags);
CUresult cuStreamWriteValue32_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                   unsigned int flags);
CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                 unsigned int flags);
CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                      unsigned int flags);
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, uint64_t value,
                              unsigned int flags);
CUresult cuStreamWriteValue64_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                   unsigned int flags);
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
                                 unsigned int flags);
CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                      unsigned int flags);
CUresult cuSurfObjectCreate(CUsurfObject *surf_object, const CUDA_RESOURCE_DESC *resource);
CUresult cuSurfObjectDestroy(CUsurfObject surf_object);
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUsurfObject surf_object);
CUresult cuSurfRefGetArray(CUarray *array, CUsurfref reference);
CUresult cuSurfRefSetArray(CUsurfref reference, CUarray array, unsigned int flags);
CUresult cuTensorMapEncodeIm2col(CUtensorMap *tensor_map, CUtensorMapDataType tensor_data_type,
                                 uint32_t tensor_rank, void *global_address,
                                 const uint64_t *global_dim, const uint64_t *global_strides,
                                 const int *pixel_box_lower_corner,
                                 const int *pixel_box_upper_corner, uint32_t channels_per_pixel,
                                 uint32_t pixels_per_column, const uint32_t *element_strides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion l2_promotion,
                                 CUtensorMapFloatOOBfill oob_fill);
CUresult cuTensorMapEncodeIm2colWide(
    CUtensorMap *tensor_map, CUtensorMapDataType tensor_data_type, uint32_t tensor_rank,
    void *global_address, const uint64_t *global_dim, const uint64_t *global_strides,
    int pixel_box_lower_corner_width, int pixel_box_upper_corner_width, uint32_t channels_per_pixel,
    uint32_t pixels_per_column, const uint32_t *element_strides, CUtensorMapInterleave interleave,
    CUtensorMapIm2ColWideMode mode, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2_promotion,
    CUtensorMapFloatOOBfill oob_fill);
CUresult cuTensorMapEncodeTiled(CUtensorMap *tensor_map, CUtensorMapDataType tensor_data_type,
                                uint32_t tensor_rank, void *global_address,
                                const uint64_t *global_dim, const uint64_t *global_strides,
                                const uint32_t *box_dim, const uint32_t *element_strides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion l2_promotion,
                                CUtensorMapFloatOOBfill oob_fill);
CUresult cuTensorMapReplaceAddress(CUtensorMap *tensor_map, void *global_address);
CUresult cuTexObjectCreate(CUtexObject *tex_object, const CUDA_RESOURCE_DESC *resource,
                           const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view);
CUresult cuTexObjectDestroy(CUtexObject tex_object);
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource, CUtexObject tex_object);
CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC *view, CUtexObject tex_object);
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *texture, CUtexObject tex_object);
CUresult cuTexRefCreate(CUtexref *reference);
CUresult cuTexRefDestroy(CUtexref reference);
CUresult cuTexRefGetAddress(CUdeviceptr_v1 *address, CUtexref reference);
CUresult cuTexRefGetAddressMode(CUaddress_mode *mode, CUtexref reference, int dim);
CUresult cuTexRefGetAddress_v2(CUdeviceptr *address, CUtexref reference);
CUresult cuTexRefGetArray(CUarray *array, CUtexref reference);
CUresult cuTexRefGetBorderColor(float *color, CUtexref reference);
CUresult cuTexRefGetFilterMode(CUfilter_mode *mode, CUtexref reference);
CUresult cuTexRefGetFlags(unsigned int *flags, CUtexref reference);
CUresult cuTexRefGetFormat(CUarray_format *format, int *channel_count, CUtexref reference);
CUresult cuTexRefGetMaxAnisotropy(int *max_anisotropy, CUtexref reference);
CUresult cuTexRefGetMipmapFilterMode(CUfilter_mode *mode, CUtexref reference);
CUresult cuTexRefGetMipmapLevelBias(float *bias, CUtexref reference);
CUresult cuTexRefGetMipmapLevelClamp(float *min_clamp, float *max_clamp, CUtexref reference);
CUresult cuTexRefGetMipmappedArray(CUmipmappedArray *mipmapped_array, CUtexref reference);
CUresult cuTexRefSetAddress(unsigned int *byte_offset, CUtexref reference, CUdeviceptr_v1 address,
                            unsigned int bytes);
CUresult cuTexRefSetAddress2D(CUtexref reference, const CUDA_ARRAY_DESCRIPTOR_v1 *descriptor,
                              CUdeviceptr_v1 address, unsigned int pitch);
CUresult cuTexRefSetAddress2D_v2(CUtexref reference, const CUDA_ARRAY_DESCRIPTOR *descriptor,
                                 CUdeviceptr address, size_t pitch);
CUresult cuTexRefSetAddress2D_v3(CUtexref reference, const CUDA_ARRAY_DESCRIPTOR *descriptor,
                                 CUdeviceptr address, size_t pitch);
CUresult cuTexRefSetAddressMode(CUtexref reference, int dim, CUaddress_mode mode);
CUresult cuTexRefSetAddress_v2(size_t *byte_offset, CUtexref reference, CUdeviceptr address,
                               size_t bytes);
CUresult cuTexRefSetArray(CUtexref reference, CUarray array, unsigned int flags);
CUresult cuTexRefSetBorderColor(CUtexref reference, float *color);
CUresult cuTexRefSetFilterMode(CUtexref reference, CUfilter_mode mode);
CUresult cuTexRefSetFlags(CUtexref reference, unsigned int flags);
CUresult cuTexRefSetFormat(CUtexref reference, CUarray_format format, int num_packed_components);
CUresult cuTexRefSetMaxAnisotropy(CUtexref reference, unsigned int max_anisotropy);
CUresult cuTexRefSetMipmapFilterMode(CUtexref reference, CUfilter_mode mode);
CUresult cuTexRefSetMipmapLevelBias(CUtexref reference, float bias);
CUresult cuTexRefSetMipmapLevelClamp(CUtexref reference, float min_clamp, float max_clamp);
CUresult cuTexRefSetMipmappedArray(CUtexref reference, CUmipmappedArray mipmapped_array,
                                   unsigned int flags);
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode);
CUresult cuUserObjectCreate(CUuserObject *object, void *address, CUhostFn destroy,
                            unsigned int initial_refcount, unsigned int flags);
CUresult cuUserObjectRelease(CUuserObject object, unsigned int count);
CUresult cuUserObjectRetain(CUuserObject object, unsigned int count);
CUresult cuWaitExternalSemaphoresAsync(const CUexternalSemaphore *semaphores,
                                       const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params,
                                       unsigned int semaphore_count, CUstream stream);
CUresult cuWaitExternalSemaphoresAsync_ptsz(const CUexternalSemaphore *semaphores,
                                            const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS *params,
                                            unsigned int semaphore_count, CUstream stream);
