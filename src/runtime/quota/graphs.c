/* Memory that graphs allocate. */
#include "config.h"

#include "runtime/quota/graphs.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/unknown.h"
#include "runtime/quota/quota.h"
#include "runtime/quota/room.h"
#include "runtime/quota/session_quota.h"
#include "runtime/quota/wrappers.h"

static struct {
    _Atomic uint64_t devices; /* a bit for each device with memory of graphs, by server's number */
    pthread_mutex_t lock;     /* of what follows */
    int64_t bytes[ATH_DEVICES_MAX]; /* counted on the board, by CUDA's number */
} graphs = { .lock = PTHREAD_MUTEX_INITIALIZER };

CUresult ath_graphs_check_room(size_t device, uint64_t bytes)
{
    struct ath_holding *holding = ath_room_take(device, bytes, NULL);
    bool has_room = holding;
    ath_holding_give(holding);
    if (device != SIZE_MAX)
        atomic_fetch_or(&graphs.devices, UINT64_C(1) << device);
    return has_room ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult ath_quota_cuGraphAddMemAllocNode(CUgraphNode *node, CUgraph graph,
                                          const CUgraphNode *dependencies, size_t count,
                                          CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
    CUresult status =
        ath_graphs_check_room(ath_quota_device_at(&params->poolProps.location), params->bytesize);
    return status
               ? status
               : ath_quota.driver.cuGraphAddMemAllocNode(node, graph, dependencies, count, params);
}

/* A node whose structure tells its kind. */
static CUresult check_node(const CUgraphNodeParams *params)
{
    return params && params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC
               ? ath_graphs_check_room(ath_quota_device_at(&params->alloc.poolProps.location),
                                       params->alloc.bytesize)
               : CUDA_SUCCESS;
}

CUresult ath_quota_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *dependencies,
                                  size_t count, CUgraphNodeParams *params)
{
    CUresult status = check_node(params);
    return status ? status
                  : ath_quota.driver.cuGraphAddNode(node, graph, dependencies, count, params);
}

CUresult ath_quota_cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph,
                                     const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
                                     size_t count, CUgraphNodeParams *params)
{
    CUresult status = check_node(params);
    return status ? status
                  : ath_quota.driver.cuGraphAddNode_v2(node, graph, dependencies, edges, count,
                                                       params);
}

static bool has_graphs(size_t device)
{
    return graphs.devices >> ath_quota.devices[device] & 1;
}

/* Returns whether any device is beyond its limit: a graph may allocate on other devices than the
 * current one. */
static bool is_beyond(void)
{
    bool is_beyond = false;
    for (size_t i = 0; i < ath_quota.count && !is_beyond; i++)
        is_beyond = has_graphs(i) && ath_room_is_beyond(ath_quota.devices[i]);
    return is_beyond;
}

/* Takes what the driver keeps for graphs of a device, even beyond the limit: the memory exists. */
static void count_graphs_of(size_t device)
{
    uint64_t reserved = 0;
    if (!ath_quota.driver.cuDeviceGetGraphMemAttribute ||
        ath_quota.driver.cuDeviceGetGraphMemAttribute(
            (CUdevice)device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved))
        return;
    pthread_mutex_lock(&graphs.lock);
    int64_t more = (int64_t)reserved - graphs.bytes[device];
    graphs.bytes[device] = (int64_t)reserved;
    pthread_mutex_unlock(&graphs.lock);
    ath_quota.books->give(ath_quota.devices[device], -more);
}

bool ath_graphs_have_memory(void)
{
    return graphs.devices;
}

void ath_graphs_count(void)
{
    for (size_t i = 0; i < ath_quota.count; i++)
        if (has_graphs(i))
            count_graphs_of(i);
}

/* Only after a launch the driver tells how much memory it took. So one launch may go beyond the
 * limit; the next one is refused. */
CUresult ath_quota_cuGraphLaunch(CUgraphExec graph, CUstream stream)
{
    if (is_beyond())
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = ath_quota.driver.cuGraphLaunch(graph, stream);
    ath_graphs_count();
    return status;
}

CUresult ath_quota_cuGraphUpload(CUgraphExec graph, CUstream stream)
{
    CUresult status = ath_quota.driver.cuGraphUpload(graph, stream);
    ath_graphs_count();
    return status;
}

CUresult ath_quota_cuGraphDestroy(CUgraph graph)
{
    CUresult status = ath_quota.driver.cuGraphDestroy(graph);
    ath_graphs_count();
    return status;
}

CUresult ath_quota_cuGraphExecDestroy(CUgraphExec graph)
{
    CUresult status = ath_quota.driver.cuGraphExecDestroy(graph);
    ath_graphs_count();
    return status;
}

CUresult ath_quota_cuDeviceGraphMemTrim(CUdevice device)
{
    CUresult status = ath_quota.driver.cuDeviceGraphMemTrim(device);
    ath_graphs_count();
    return status;
}
