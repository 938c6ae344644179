/* The list of the session's regions, their pages, and which bytes of them may have changed. */
#include "config.h"

#include "cuda/server/region.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/host_budget.h"
#include "cuda/common/shadow_copy.h"
#include "cuda/server/regions.h"

/*
 * Mirrors that kernels do not reach. The client opens a mirror before a kernel gets an address of
 * it (cuda/client/mirror.h). Until then only copies write it, and only their bytes can have
 * changed.
 */
static atomic_int closed_mirrors; /* a process has one session */

static bool is_closed(const struct ath_cuda_region *region)
{
    return region->same && region->end - region->first < region->bytes;
}

void ath_cuda_region_widen(struct ath_cuda_region *region, size_t first, size_t end)
{
    if (!is_closed(region))
        return;
    const bool is_empty = region->first == region->end;
    region->first = is_empty || first < region->first ? first : region->first;
    region->end = is_empty || end > region->end ? end : region->end;
    closed_mirrors -= !is_closed(region);
}

/* Pages of a region, whole ones. */
struct pages {
    uintptr_t first, end;
};

static struct pages pages_of(const struct ath_cuda_region *region)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    return (struct pages){ (uintptr_t)region->address / page * page,
                           ((uintptr_t)(region->address + region->bytes) + page - 1) / page *
                               page };
}

static size_t pages_bytes(const struct ath_cuda_region *region)
{
    struct pages pages = pages_of(region);
    return pages.end - pages.first;
}

/* Offset of a region's first byte in its page. */
static size_t displacement(const struct ath_cuda_region *region)
{
    return (uintptr_t)region->address - pages_of(region).first;
}

/* Returns a region's pages without those at its ends that other regions use too; the pages between
 * belong to it alone. The caller has the lock, and region is not in the list. */
static struct pages own_pages_of(const struct ath_cuda_session *session,
                                 const struct ath_cuda_region *region)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    struct pages own = pages_of(region);
    const struct pages all = own;
    for (const struct ath_cuda_region *one = session->regions; one; one = one->next) {
        struct pages other = pages_of(one);
        if (!one->has_pages || other.first >= all.end || all.first >= other.end)
            continue;
        if (other.first <= all.first)
            own.first = all.first + page;
        if (other.end >= all.end)
            own.end = all.end - page;
    }
    if (own.first >= own.end)
        own.end = own.first;
    return own;
}

void ath_cuda_region_free(const struct ath_cuda_session *session, struct ath_cuda_region *region)
{
    if (!region)
        return;
    struct pages own = region->has_pages ? own_pages_of(session, region) : (struct pages){ 0 };
    if (own.end > own.first)
        munmap((void *)own.first, own.end - own.first);
    if (region->is_displaced)
        munmap(region->here - displacement(region), pages_bytes(region));
    closed_mirrors -= is_closed(region);
    if (region->is_counted)
        ath_host_give(ATH_HOST_BYTES, region->bytes);
    ath_cuda_shadow_copy_free(region->same, (size_t)region->bytes);
    free(region);
}

static bool is_within(uint64_t address, uint64_t bytes, uint64_t first, uint64_t length)
{
    return address >= first && bytes <= length && address - first <= length - bytes;
}

struct ath_cuda_region *ath_cuda_region_of(struct ath_cuda_session *session, uint64_t address,
                                           uint64_t bytes)
{
    struct ath_cuda_region *region = session->regions;
    while (region && !is_within(address, bytes, region->address, region->bytes))
        region = region->next;
    return region;
}

void *ath_cuda_region_at(struct ath_cuda_session *session, uint64_t address, uint64_t bytes,
                         bool is_target)
{
    pthread_mutex_lock(&session->lock);
    struct ath_cuda_region *region = ath_cuda_region_of(session, address, bytes);
    size_t first = region ? (size_t)(address - region->address) : 0;
    void *here = region ? region->here + first : NULL;
    if (region && is_target)
        ath_cuda_region_widen(region, first, first + (size_t)bytes);
    pthread_mutex_unlock(&session->lock);
    return here;
}

void ath_cuda_region_open_at(struct ath_cuda_session *session, uint64_t address)
{
    if (!closed_mirrors)
        return;
    pthread_mutex_lock(&session->lock);
    for (struct ath_cuda_region *region = session->regions; region; region = region->next)
        if (is_within(address, 1, region->address, region->bytes) ||
            (region->device && is_within(address, 1, region->device, region->bytes)))
            ath_cuda_region_widen(region, 0, (size_t)region->bytes);
    pthread_mutex_unlock(&session->lock);
}

bool ath_cuda_region_holds(struct ath_cuda_session *session, uintptr_t here, uint64_t bytes)
{
    pthread_mutex_lock(&session->lock);
    const struct ath_cuda_region *region = session->regions;
    while (region && !is_within(here, bytes, (uintptr_t)region->here, region->bytes))
        region = region->next;
    pthread_mutex_unlock(&session->lock);
    return region;
}

bool ath_cuda_region_is_gpus(struct ath_cuda_session *session, CUdeviceptr address, uint64_t bytes)
{
    pthread_mutex_lock(&session->lock);
    const struct ath_cuda_region *region = session->regions;
    while (region && (!region->device || !is_within(address, bytes, region->device, region->bytes)))
        region = region->next;
    pthread_mutex_unlock(&session->lock);
    return region;
}

void ath_cuda_regions_free(struct ath_cuda_session *session)
{
    while (session->regions) {
        struct ath_cuda_region *region = session->regions;
        session->regions = region->next;
        ath_cuda_region_free(session, region);
    }
}

void ath_cuda_region_add(struct ath_cuda_session *session, struct ath_cuda_region *region)
{
    pthread_mutex_lock(&session->lock);
    region->next = session->regions;
    session->regions = region;
    pthread_mutex_unlock(&session->lock);
}

struct ath_cuda_region *ath_cuda_region_take(struct ath_cuda_session *session, uint64_t address)
{
    pthread_mutex_lock(&session->lock);
    struct ath_cuda_region **at = &session->regions;
    while (*at && (*at)->address != address)
        at = &(*at)->next;
    struct ath_cuda_region *taken = *at;
    if (taken)
        *at = taken->next;
    pthread_mutex_unlock(&session->lock);
    return taken;
}

struct ath_cuda_region *ath_cuda_region_make(uint64_t address, uint64_t bytes, bool is_mirror)
{
    struct ath_cuda_region *region = calloc(1, sizeof *region);
    if (!region)
        return NULL;
    region->address = address;
    region->here = (uint8_t *)(uintptr_t)address;
    region->bytes = bytes;
    if (is_mirror && !(region->same = ath_cuda_shadow_copy_make((size_t)bytes))) {
        free(region);
        return NULL;
    }
    closed_mirrors += is_closed(region);
    return region;
}

void ath_cuda_region_let_go(struct ath_cuda_session *session, struct ath_cuda_region *region)
{
    pthread_mutex_lock(&session->lock);
    ath_cuda_region_free(session, region);
    pthread_mutex_unlock(&session->lock);
}

/*
 * If this process already uses the client's address, the mirror is displaced: it lies elsewhere,
 * and the GPU has a third address for it, as on a system where host and GPU addresses always
 * differ.
 */
static CUresult displace(struct ath_cuda_region *region)
{
    uint8_t *memory = mmap(NULL, pages_bytes(region), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return CUDA_ERROR_OUT_OF_MEMORY;
    region->here = memory + displacement(region);
    region->is_displaced = true;
    return CUDA_SUCCESS;
}

CUresult ath_cuda_region_map(const struct ath_cuda_session *session, struct ath_cuda_region *region)
{
    for (const struct ath_cuda_region *one = session->regions; one; one = one->next)
        if (region->address < one->address + one->bytes &&
            one->address < region->address + region->bytes)
            return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (!ath_host_take(ATH_HOST_BYTES, region->bytes))
        return CUDA_ERROR_OUT_OF_MEMORY;
    region->is_counted = true;
    struct pages own = own_pages_of(session, region);
    if (own.end > own.first) {
        void *wanted = (void *)own.first;
        void *memory =
            mmap(wanted, own.end - own.first, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        if (memory != MAP_FAILED && memory != wanted) /* a kernel before 4.17 */
            munmap(memory, own.end - own.first);
        if (memory != wanted)
            return displace(region);
    }
    region->has_pages = true;
    return CUDA_SUCCESS;
}

CUresult ath_cuda_region_find(struct ath_cuda_session *session, uint64_t shared,
                              struct ath_cuda_region *region)
{
    size_t there = 0;
    uint8_t *memory =
        session->shared ? session->shared->find(session->shared, shared, &there) : NULL;
    if (!memory || pages_bytes(region) > there)
        return CUDA_ERROR_INVALID_VALUE;
    region->here = memory + displacement(region);
    return CUDA_SUCCESS;
}
