/* The functions whose default stream is the calling thread's own; those that copy are in copies.c.
 */
#include "config.h"

#include "runtime/sim/sim.h"

CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned int flags)
{
    return cuEventRecordWithFlags(event, sim_own(stream), flags);
}

CUresult cuEventRecord_ptsz(CUevent event, CUstream stream)
{
    return cuEventRecord(event, sim_own(stream));
}

CUresult cuGraphLaunch_ptsz(CUgraphExec graph_exec, CUstream stream)
{
    return cuGraphLaunch(graph_exec, sim_own(stream));
}

CUresult cuGraphUpload_ptsz(CUgraphExec graph_exec, CUstream stream)
{
    return cuGraphUpload(graph_exec, sim_own(stream));
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_dim_x,
                                        unsigned int grid_dim_y, unsigned int grid_dim_z,
                                        unsigned int block_dim_x, unsigned int block_dim_y,
                                        unsigned int block_dim_z, unsigned int shared_mem_bytes,
                                        CUstream stream, void **kernel_params)
{
    return cuLaunchCooperativeKernel(function, grid_dim_x, grid_dim_y, grid_dim_z, block_dim_x,
                                     block_dim_y, block_dim_z, shared_mem_bytes, sim_own(stream),
                                     kernel_params);
}

CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void *user_data)
{
    return cuLaunchHostFunc(sim_own(stream), function, user_data);
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_dim_x, unsigned int grid_dim_y,
                             unsigned int grid_dim_z, unsigned int block_dim_x,
                             unsigned int block_dim_y, unsigned int block_dim_z,
                             unsigned int shared_mem_bytes, CUstream stream, void **kernel_params,
                             void **extra)
{
    return cuLaunchKernel(function, grid_dim_x, grid_dim_y, grid_dim_z, block_dim_x, block_dim_y,
                          block_dim_z, shared_mem_bytes, sim_own(stream), kernel_params, extra);
}

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t bytes, CUstream stream)
{
    return cuMemAllocAsync(address, bytes, sim_own(stream));
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t bytes, CUmemoryPool pool,
                                      CUstream stream)
{
    return cuMemAllocFromPoolAsync(address, bytes, pool, sim_own(stream));
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream)
{
    return cuMemFreeAsync(address, sim_own(stream));
}

CUresult cuMemPrefetchAsync_ptsz(CUdeviceptr address, size_t count, CUdevice dst_device,
                                 CUstream stream)
{
    return cuMemPrefetchAsync(address, count, dst_device, sim_own(stream));
}

CUresult cuMemPrefetchAsync_v2_ptsz(CUdeviceptr address, size_t count, CUmemLocation location,
                                    unsigned int flags, CUstream stream)
{
    return cuMemPrefetchAsync_v2(address, count, location, flags, sim_own(stream));
}

CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void *user_data,
                                  unsigned int flags)
{
    return cuStreamAddCallback(sim_own(stream), callback, user_data, flags);
}

CUresult cuStreamAttachMemAsync_ptsz(CUstream stream, CUdeviceptr address, size_t length,
                                     unsigned int flags)
{
    return cuStreamAttachMemAsync(sim_own(stream), address, length, flags);
}

CUresult cuStreamBatchMemOp_ptsz(CUstream stream, unsigned int count,
                                 CUstreamBatchMemOpParams *params, unsigned int flags)
{
    return cuStreamBatchMemOp(sim_own(stream), count, params, flags);
}

CUresult cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned int count,
                                    CUstreamBatchMemOpParams *params, unsigned int flags)
{
    return cuStreamBatchMemOp_v2(sim_own(stream), count, params, flags);
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph,
                                          const CUgraphNode *dependencies,
                                          const CUgraphEdgeData *edges, size_t dependency_count,
                                          CUstreamCaptureMode mode)
{
    return cuStreamBeginCaptureToGraph(sim_own(stream), graph, dependencies, edges,
                                       dependency_count, mode);
}

CUresult cuStreamBeginCapture_ptsz(CUstream stream)
{
    return cuStreamBeginCapture(sim_own(stream));
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode)
{
    return cuStreamBeginCapture_v2(sim_own(stream), mode);
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph)
{
    return cuStreamEndCapture(sim_own(stream), graph);
}

CUresult cuStreamGetAttribute_ptsz(CUstream stream, CUlaunchAttributeID attribute,
                                   CUlaunchAttributeValue *value)
{
    return cuStreamGetAttribute(sim_own(stream), attribute, value);
}

CUresult cuStreamGetCaptureInfo_ptsz(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id)
{
    return cuStreamGetCaptureInfo(sim_own(stream), status, id);
}

CUresult cuStreamGetCaptureInfo_v2_ptsz(CUstream stream, CUstreamCaptureStatus *status,
                                        uint64_t *id, CUgraph *graph,
                                        const CUgraphNode **dependencies, size_t *dependency_count)
{
    return cuStreamGetCaptureInfo_v2(sim_own(stream), status, id, graph, dependencies,
                                     dependency_count);
}

CUresult cuStreamGetCaptureInfo_v3_ptsz(CUstream stream, CUstreamCaptureStatus *status,
                                        uint64_t *id, CUgraph *graph,
                                        const CUgraphNode **dependencies,
                                        const CUgraphEdgeData **edges, size_t *dependency_count)
{
    return cuStreamGetCaptureInfo_v3(sim_own(stream), status, id, graph, dependencies, edges,
                                     dependency_count);
}

CUresult cuStreamGetCtx_ptsz(CUstream stream, CUcontext *context)
{
    return cuStreamGetCtx(sim_own(stream), context);
}

CUresult cuStreamGetCtx_v2_ptsz(CUstream stream, CUcontext *context, CUgreenCtx *green_context)
{
    return cuStreamGetCtx_v2(sim_own(stream), context, green_context);
}

CUresult cuStreamGetDevice_ptsz(CUstream stream, CUdevice *device)
{
    return cuStreamGetDevice(sim_own(stream), device);
}

CUresult cuStreamGetFlags_ptsz(CUstream stream, unsigned int *flags)
{
    return cuStreamGetFlags(sim_own(stream), flags);
}

CUresult cuStreamGetId_ptsz(CUstream stream, unsigned long long *id)
{
    return cuStreamGetId(sim_own(stream), id);
}

CUresult cuStreamGetPriority_ptsz(CUstream stream, int *priority)
{
    return cuStreamGetPriority(sim_own(stream), priority);
}

CUresult cuStreamIsCapturing_ptsz(CUstream stream, CUstreamCaptureStatus *status)
{
    return cuStreamIsCapturing(sim_own(stream), status);
}

CUresult cuStreamQuery_ptsz(CUstream stream)
{
    return cuStreamQuery(sim_own(stream));
}

CUresult cuStreamSetAttribute_ptsz(CUstream stream, CUlaunchAttributeID attribute,
                                   const CUlaunchAttributeValue *value)
{
    return cuStreamSetAttribute(sim_own(stream), attribute, value);
}

CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
    return cuStreamSynchronize(sim_own(stream));
}

CUresult cuStreamUpdateCaptureDependencies_ptsz(CUstream stream, CUgraphNode *dependencies,
                                                size_t dependency_count, unsigned int flags)
{
    return cuStreamUpdateCaptureDependencies(sim_own(stream), dependencies, dependency_count,
                                             flags);
}

CUresult cuStreamUpdateCaptureDependencies_v2_ptsz(CUstream stream, CUgraphNode *dependencies,
                                                   const CUgraphEdgeData *edges,
                                                   size_t dependency_count, unsigned int flags)
{
    return cuStreamUpdateCaptureDependencies_v2(sim_own(stream), dependencies, edges,
                                                dependency_count, flags);
}

CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags)
{
    return cuStreamWaitEvent(sim_own(stream), event, flags);
}

CUresult cuStreamWaitValue32_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                  unsigned int flags)
{
    return cuStreamWaitValue32(sim_own(stream), address, value, flags);
}

CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                     unsigned int flags)
{
    return cuStreamWaitValue32_v2(sim_own(stream), address, value, flags);
}

CUresult cuStreamWaitValue64_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                  unsigned int flags)
{
    return cuStreamWaitValue64(sim_own(stream), address, value, flags);
}

CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                     unsigned int flags)
{
    return cuStreamWaitValue64_v2(sim_own(stream), address, value, flags);
}

CUresult cuStreamWriteValue32_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                   unsigned int flags)
{
    return cuStreamWriteValue32(sim_own(stream), address, value, flags);
}

CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr address, uint32_t value,
                                      unsigned int flags)
{
    return cuStreamWriteValue32_v2(sim_own(stream), address, value, flags);
}

CUresult cuStreamWriteValue64_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                   unsigned int flags)
{
    return cuStreamWriteValue64(sim_own(stream), address, value, flags);
}

CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr address, uint64_t value,
                                      unsigned int flags)
{
    return cuStreamWriteValue64_v2(sim_own(stream), address, value, flags);
}
