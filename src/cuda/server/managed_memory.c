/* Managed memory and variables: regions that the driver allocates and the client mirrors. */
#include "config.h"

#include <string.h>
#include <unistd.h>

#include "cuda/server/region.h"
#include "cuda/server/regions.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-structs.h"
#include "proto/cuda-wire.h"

enum {
    /* Smaller managed memory may come from a pool of the driver's, with old contents; the client
     * expects new memory to be zero. */
    RECYCLED_MAX = 2 * 1024 * 1024,
};

void ath_cuda_serve_cuMemAllocManaged(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemAllocManaged)
    NEEDS(served, cuMemFree_v2)
    struct ath_cuda_wire_mem_alloc_managed call =
        ath_cuda_wire_call_mem_alloc_managed(served->call);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t bytes = ath_cuda_wire_mem_alloc_managed_bytes(call);
    CUdeviceptr address = 0;
    if (!bytes || bytes >> ATH_REGION_MAX_BITS) {
        served->status = CUDA_ERROR_INVALID_VALUE;
        return;
    }
    /* Allocates whole pages, so that no two regions share one: the client maps its own memory at
     * the same address. */
    served->status =
        served->driver->cuMemAllocManaged(&address, (size_t)((bytes + page - 1) / page * page),
                                          ath_cuda_wire_mem_alloc_managed_flags(call));
    if (served->status)
        return;
    struct ath_cuda_region *region = ath_cuda_region_make(address, bytes, true);
    if (!region) {
        served->driver->cuMemFree_v2(address);
        served->status = CUDA_ERROR_OUT_OF_MEMORY;
        return;
    }
    if (bytes < RECYCLED_MAX)
        memset(region->here, 0, (size_t)bytes);
    region->context = served->worker->context;
    ath_cuda_region_widen(region, 0, (size_t)bytes);
    ath_cuda_region_add(served->session, region);
    ath_cuda_wire_mem_alloc_managed_result_set_address(
        ath_cuda_wire_answer_init_mem_alloc_managed(served->answer),
        ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_ADDRESS, address));
}

/* Takes a region out before the driver frees it, since another thread may look for changes in it.
 * Returns NULL if it is no region. */
static struct ath_cuda_region *take_managed(struct ath_cuda_session *session, uint64_t address)
{
    pthread_mutex_lock(&session->lock);
    const struct ath_cuda_region *region = ath_cuda_region_of(session, address, 1);
    bool is_managed = region && region->address == address && !region->is_registered;
    pthread_mutex_unlock(&session->lock);
    return is_managed ? ath_cuda_region_take(session, address) : NULL;
}

void ath_cuda_serve_cuMemFree_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemFree_v2)
    CUdeviceptr address = ath_cuda_to_own(
        &served->side, ATH_CUDA_KIND_ADDRESS,
        ath_cuda_wire_mem_free_v2_address(ath_cuda_wire_call_mem_free_v2(served->call)));
    struct ath_cuda_region *region = take_managed(served->session, address);
    served->status = served->driver->cuMemFree_v2(address);
    if (region && served->status == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        ath_cuda_region_add(served->session, region);
    else if (region) /* what remains belonged to a context that a fault has ended */
        ath_cuda_region_let_go(served->session, region);
}

/* ---- the end of a context ---- */

static bool ends_with(struct ath_cuda_session *session, const struct ath_cuda_region *region,
                      CUcontext context, CUdevice device)
{
    if (!region->context)
        return false;
    return context ? region->context == context
                   : ath_cuda_object_primary_device(&session->objects,
                                                    (uintptr_t)region->context) == device;
}

struct ath_cuda_region *ath_cuda_managed_hold(struct ath_cuda_session *session, CUcontext context,
                                              CUdevice device)
{
    struct ath_cuda_region *held = NULL;
    pthread_mutex_lock(&session->lock);
    for (struct ath_cuda_region **at = &session->regions, *one; (one = *at);) {
        if (!ends_with(session, one, context, device)) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        one->next = held;
        held = one;
    }
    pthread_mutex_unlock(&session->lock);
    return held;
}

void ath_cuda_managed_settle(struct ath_cuda_session *session, struct ath_cuda_region *held,
                             bool is_over)
{
    for (struct ath_cuda_region *next; held; held = next) {
        next = held->next;
        if (is_over)
            ath_cuda_region_let_go(session, held);
        else
            ath_cuda_region_add(session, held);
    }
}

/* ---- variables ---- */

/* Adds a managed variable, which the client mirrors. */
static CUresult add_variable(struct ath_cuda_session *session, CUlibrary library, uint64_t address,
                             uint64_t bytes)
{
    if (ath_cuda_region_at(session, address, bytes, true))
        return CUDA_SUCCESS;
    struct ath_cuda_region *region = ath_cuda_region_make(address, bytes, true);
    if (!region)
        return CUDA_ERROR_OUT_OF_MEMORY;
    region->library = library;
    ath_cuda_region_widen(region, 0, (size_t)bytes);
    ath_cuda_region_add(session, region);
    return CUDA_SUCCESS;
}

void ath_cuda_serve_cuLibraryGetManaged(struct ath_cuda_served *served)
{
    NEEDS(served, cuLibraryGetManaged)
    struct ath_cuda_wire_library_get_managed call =
        ath_cuda_wire_call_library_get_managed(served->call);
    CUlibrary library = (CUlibrary)(uintptr_t)ath_cuda_to_own(
        &served->side, ATH_CUDA_KIND_LIBRARY, ath_cuda_wire_library_get_managed_library(call));
    CUdeviceptr address = 0;
    size_t bytes = 0;
    if (ath_cuda_refused(served))
        return;
    served->status = served->driver->cuLibraryGetManaged(
        &address, &bytes, library, ath_cuda_wire_library_get_managed_name(call));
    if (!served->status)
        served->status = add_variable(served->session, library, address, bytes);
    if (served->status)
        return;
    struct ath_cuda_wire_library_get_managed_result_builder answer =
        ath_cuda_wire_answer_init_library_get_managed(served->answer);
    ath_cuda_wire_library_get_managed_result_set_address(
        answer, ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_ADDRESS, address));
    ath_cuda_wire_library_get_managed_result_set_bytes(answer, bytes);
}

/* Its variables go with it. */
void ath_cuda_serve_cuLibraryUnload(struct ath_cuda_served *served)
{
    NEEDS(served, cuLibraryUnload)
    CUlibrary library = (CUlibrary)(uintptr_t)ath_cuda_to_own(
        &served->side, ATH_CUDA_KIND_LIBRARY,
        ath_cuda_wire_library_unload_library(ath_cuda_wire_call_library_unload(served->call)));
    if (ath_cuda_refused(served))
        return;
    pthread_mutex_lock(&served->session->lock);
    for (struct ath_cuda_region **at = &served->session->regions; *at;) {
        struct ath_cuda_region *region = *at;
        if (!library || region->library != library) {
            at = &region->next;
            continue;
        }
        *at = region->next;
        ath_cuda_region_free(served->session, region);
    }
    pthread_mutex_unlock(&served->session->lock);
    served->status = served->driver->cuLibraryUnload(library);
}
