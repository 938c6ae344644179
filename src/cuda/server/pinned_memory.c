/* Pinned and registered host memory: regions that are registered with the driver. */
#include "config.h"

#include "cuda/server/region.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire.h"

static CUresult register_with_driver(struct ath_cuda_served *served, struct ath_cuda_region *region)
{
    void *memory = region->here;
    CUresult status = served->driver->cuMemHostRegister_v2(
        memory, (size_t)region->bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    if (status)
        return status;
    region->is_registered = true;
    return served->driver->cuMemHostGetDevicePointer_v2(&region->device, memory, 0);
}

static void undo(struct ath_cuda_served *served, struct ath_cuda_region *region)
{
    if (region && region->is_registered && served->driver->cuMemHostUnregister)
        served->driver->cuMemHostUnregister(region->here);
    ath_cuda_region_let_go(served->session, region);
}

/* Registers memory that the transport shares with the driver. */
void ath_cuda_serve_cuMemHostAlloc(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemHostRegister_v2)
    NEEDS(served, cuMemHostGetDevicePointer_v2)
    struct ath_cuda_wire_mem_host_alloc call = ath_cuda_wire_call_mem_host_alloc(served->call);
    struct ath_cuda_shared *shared = served->session->shared;
    uint64_t bytes = ath_cuda_wire_mem_host_alloc_bytes(call);
    size_t there = 0;
    void *memory =
        shared ? shared->find(shared, ath_cuda_wire_mem_host_alloc_shared(call), &there) : NULL;
    if (!memory || !bytes || bytes > there) {
        served->status = CUDA_ERROR_INVALID_VALUE;
        return;
    }
    struct ath_cuda_region *region = ath_cuda_region_make((uintptr_t)memory, bytes, false);
    served->status = region ? register_with_driver(served, region) : CUDA_ERROR_OUT_OF_MEMORY;
    if (served->status) {
        undo(served, region);
        return;
    }
    CUdeviceptr device = region->device;
    ath_cuda_region_add(served->session, region);
    ath_cuda_wire_mem_host_alloc_result_set_address(
        ath_cuda_wire_answer_init_mem_host_alloc(served->answer),
        ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_ADDRESS, device));
}

static void answer_registered(struct ath_cuda_served *served, CUdeviceptr device)
{
    ath_cuda_wire_mem_host_register_v2_result_set_address(
        ath_cuda_wire_answer_init_mem_host_register_v2(served->answer),
        ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_ADDRESS, device));
}

/* Opens a mirror that was made for copies. Returns false if there is none. */
static bool open_mirror(struct ath_cuda_served *served, uint64_t address, uint64_t bytes)
{
    pthread_mutex_lock(&served->session->lock);
    struct ath_cuda_region *region = ath_cuda_region_of(served->session, address, bytes);
    bool is_there = region && region->same && region->is_registered && region->address == address &&
                    region->bytes == bytes;
    CUdeviceptr device = is_there ? region->device : 0;
    if (is_there)
        ath_cuda_region_widen(region, 0, (size_t)bytes);
    pthread_mutex_unlock(&served->session->lock);
    if (is_there)
        answer_registered(served, device);
    return is_there;
}

/* Registers memory of the client. CU_MEMHOSTREGISTER_DEVICEMAP: kernels reach it; else copies do,
 * until it is registered again with the flag. */
void ath_cuda_serve_cuMemHostRegister_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemHostRegister_v2)
    NEEDS(served, cuMemHostGetDevicePointer_v2)
    struct ath_cuda_wire_mem_host_register_v2 call =
        ath_cuda_wire_call_mem_host_register_v2(served->call);
    uint64_t address = ath_cuda_wire_mem_host_register_v2_memory(call);
    uint64_t bytes = ath_cuda_wire_mem_host_register_v2_bytes(call);
    bool is_open = ath_cuda_wire_mem_host_register_v2_flags(call) & CU_MEMHOSTREGISTER_DEVICEMAP;
    if (!address || !bytes || address >> ATH_REGION_MAX_BITS > 1 || bytes >> ATH_REGION_MAX_BITS) {
        served->status = CUDA_ERROR_INVALID_VALUE;
        return;
    }
    if (is_open && open_mirror(served, address, bytes))
        return;
    uint64_t shared = ath_cuda_wire_mem_host_register_v2_shared(call);
    struct ath_cuda_region *region = ath_cuda_region_make(address, bytes, !shared);
    if (region && is_open)
        ath_cuda_region_widen(region, 0, (size_t)bytes);
    served->status = CUDA_ERROR_OUT_OF_MEMORY;
    if (region && shared) {
        served->status = ath_cuda_region_find(served->session, shared, region);
    } else if (region) {
        pthread_mutex_lock(&served->session->lock);
        served->status = ath_cuda_region_map(served->session, region);
        pthread_mutex_unlock(&served->session->lock);
    }
    if (!served->status)
        served->status = register_with_driver(served, region);
    if (served->status) {
        undo(served, region);
        return;
    }
    CUdeviceptr device = region->device;
    ath_cuda_region_add(served->session, region);
    answer_registered(served, device);
}

void ath_cuda_serve_cuMemHostUnregister(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemHostUnregister)
    struct ath_cuda_region *region = ath_cuda_region_take(
        served->session, ath_cuda_wire_mem_host_unregister_memory(
                             ath_cuda_wire_call_mem_host_unregister(served->call)));
    served->status = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    if (region && region->is_registered)
        served->status = served->driver->cuMemHostUnregister(region->here);
    ath_cuda_region_let_go(served->session, region);
}

/* Skips cuCtxSynchronize() while a stream captures: it would break the capture, and freeing host
 * memory is no reason for that. */
void ath_cuda_serve_athQuiesce(struct ath_cuda_served *served)
{
    NEEDS(served, cuCtxSynchronize)
    bool is_capturing = served->session->captures.count;
    served->status = is_capturing ? CUDA_ERROR_NOT_READY : served->driver->cuCtxSynchronize();
}
