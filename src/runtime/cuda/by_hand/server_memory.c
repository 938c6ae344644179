/* The server's side of host memory: see host.h for how it is kept the same on both sides. */
#include "config.h"

#include "runtime/cuda/by_hand/regions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "proto/cuda-structs.h"
#include "runtime/cuda/by_hand/served.h"
#include "runtime/cuda/changed.h"
#include "runtime/cuda/same.h"
#include "runtime/transport/team.h"

enum {
    BLOCK = 64,
    PULL_MAX = 16 * 1024 * 1024,
    WIDEST = 16 * 1024 * 1024, /* what is compared at once */
    REGION_MAX_BITS = 46,      /* of an address space of 47 */
    /* Smaller managed memory may be a piece of what the driver keeps, with what that held before;
     * the client takes new memory for zeros. */
    RECYCLED_MAX = 2 * 1024 * 1024,
};

struct ath_cuda_region {
    struct ath_cuda_region *next;
    uint64_t address, bytes;
    uint8_t *same;      /* how a mirror was when both sides were the same; NULL: no mirror */
    CUlibrary library;  /* whose managed variables it holds; NULL: none */
    uint8_t *here;      /* the same memory in this process: at address, but for displaced mirrors */
    CUdeviceptr device; /* where the GPU has it; 0: not registered with the driver */
    bool is_displaced;
    bool has_pages;     /* mapped here for it, and for others that begin or end in one of them */
    bool is_registered; /* with the driver */
};

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

/* Of a region's first byte in its first page. */
static size_t displacement(const struct ath_cuda_region *region)
{
    return (uintptr_t)region->address - pages_of(region).first;
}

/* Without the pages at its ends that another region has as well; none has those between. The
 * caller has the lock, and region is not in the list. */
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

/* Takes out what is not in the list any more. The caller has the lock where others use it. */
static void region_free(const struct ath_cuda_session *session, struct ath_cuda_region *region)
{
    if (!region)
        return;
    struct pages own = region->has_pages ? own_pages_of(session, region) : (struct pages){ 0 };
    if (own.end > own.first)
        munmap((void *)own.first, own.end - own.first);
    if (region->is_displaced)
        munmap(region->here - displacement(region), pages_bytes(region));
    ath_cuda_same_free(region->same, (size_t)region->bytes);
    free(region);
}

static bool is_within(uint64_t address, uint64_t bytes, uint64_t first, uint64_t length)
{
    return address >= first && bytes <= length && address - first <= length - bytes;
}

/* The region that holds all these bytes. The caller has the lock. */
static struct ath_cuda_region *region_of(struct ath_cuda_session *session, uint64_t address,
                                         uint64_t bytes)
{
    struct ath_cuda_region *region = session->regions;
    while (region && !is_within(address, bytes, region->address, region->bytes))
        region = region->next;
    return region;
}

void *ath_cuda_region_at(struct ath_cuda_session *session, uint64_t address, uint64_t bytes)
{
    pthread_mutex_lock(&session->lock);
    const struct ath_cuda_region *region = region_of(session, address, bytes);
    void *here = region ? region->here + (address - region->address) : NULL;
    pthread_mutex_unlock(&session->lock);
    return here;
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
        region_free(session, region);
    }
}

static void add(struct ath_cuda_session *session, struct ath_cuda_region *region)
{
    pthread_mutex_lock(&session->lock);
    region->next = session->regions;
    session->regions = region;
    pthread_mutex_unlock(&session->lock);
}

static struct ath_cuda_region *take(struct ath_cuda_session *session, uint64_t address)
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

static struct ath_cuda_region *make(uint64_t address, uint64_t bytes, bool is_mirror)
{
    struct ath_cuda_region *region = calloc(1, sizeof *region);
    if (!region)
        return NULL;
    region->address = address;
    region->here = (uint8_t *)(uintptr_t)address;
    region->bytes = bytes;
    if (is_mirror && !(region->same = ath_cuda_same_make((size_t)bytes))) {
        free(region);
        return NULL;
    }
    return region;
}

/* ---- pinned ---- */

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

static void let_go(struct ath_cuda_session *session, struct ath_cuda_region *region)
{
    pthread_mutex_lock(&session->lock);
    region_free(session, region);
    pthread_mutex_unlock(&session->lock);
}

static void undo(struct ath_cuda_served *served, struct ath_cuda_region *region)
{
    if (region && region->is_registered && served->driver->cuMemHostUnregister)
        served->driver->cuMemHostUnregister(region->here);
    let_go(served->session, region);
}

/* Memory that the transport shares becomes the driver's as well. */
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
    struct ath_cuda_region *region = make((uintptr_t)memory, bytes, false);
    served->status = region ? register_with_driver(served, region) : CUDA_ERROR_OUT_OF_MEMORY;
    if (served->status) {
        undo(served, region);
        return;
    }
    CUdeviceptr device = region->device;
    add(served->session, region);
    ath_cuda_wire_mem_host_alloc_result_set_address(
        ath_cuda_wire_answer_init_mem_host_alloc(served->answer),
        ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_ADDRESS, device));
}

/*
 * Where this process has something already at the client's address, the mirror lies elsewhere: the
 * GPU then has an address of its own for it, as on a system where it always does.
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

/* Pages for a mirror where the client has its memory. The caller has the lock. */
static CUresult map_pages(const struct ath_cuda_session *session, struct ath_cuda_region *region)
{
    for (const struct ath_cuda_region *one = session->regions; one; one = one->next)
        if (region->address < one->address + one->bytes &&
            one->address < region->address + region->bytes)
            return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
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

/* A file of the program's that the transport has mapped here: no mirror, but its very pages. */
static CUresult find_pages(struct ath_cuda_session *session, uint64_t shared,
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

void ath_cuda_serve_cuMemHostRegister_v2(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemHostRegister_v2)
    NEEDS(served, cuMemHostGetDevicePointer_v2)
    struct ath_cuda_wire_mem_host_register_v2 call =
        ath_cuda_wire_call_mem_host_register_v2(served->call);
    uint64_t address = ath_cuda_wire_mem_host_register_v2_memory(call);
    uint64_t bytes = ath_cuda_wire_mem_host_register_v2_bytes(call);
    if (!address || !bytes || address >> REGION_MAX_BITS > 1 || bytes >> REGION_MAX_BITS) {
        served->status = CUDA_ERROR_INVALID_VALUE;
        return;
    }
    uint64_t shared = ath_cuda_wire_mem_host_register_v2_shared(call);
    struct ath_cuda_region *region = make(address, bytes, !shared);
    served->status = CUDA_ERROR_OUT_OF_MEMORY;
    if (region && shared) {
        served->status = find_pages(served->session, shared, region);
    } else if (region) {
        pthread_mutex_lock(&served->session->lock);
        served->status = map_pages(served->session, region);
        pthread_mutex_unlock(&served->session->lock);
    }
    if (!served->status)
        served->status = register_with_driver(served, region);
    if (served->status) {
        undo(served, region);
        return;
    }
    CUdeviceptr device = region->device;
    add(served->session, region);
    ath_cuda_wire_mem_host_register_v2_result_set_address(
        ath_cuda_wire_answer_init_mem_host_register_v2(served->answer),
        ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_ADDRESS, device));
}

void ath_cuda_serve_cuMemHostUnregister(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemHostUnregister)
    struct ath_cuda_region *region =
        take(served->session, ath_cuda_wire_mem_host_unregister_memory(
                                  ath_cuda_wire_call_mem_host_unregister(served->call)));
    served->status = CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    if (region && region->is_registered)
        served->status = served->driver->cuMemHostUnregister(region->here);
    let_go(served->session, region);
}

/* A capture would be spoilt by cuCtxSynchronize(), whoever calls it; what frees host memory is no
 * reason for that. */
void ath_cuda_serve_athQuiesce(struct ath_cuda_served *served)
{
    NEEDS(served, cuCtxSynchronize)
    bool is_capturing = served->session->captures.count;
    served->status = is_capturing ? CUDA_ERROR_NOT_READY : served->driver->cuCtxSynchronize();
}

/* ---- managed ---- */

void ath_cuda_serve_cuMemAllocManaged(struct ath_cuda_served *served)
{
    NEEDS(served, cuMemAllocManaged)
    NEEDS(served, cuMemFree_v2)
    struct ath_cuda_wire_mem_alloc_managed call =
        ath_cuda_wire_call_mem_alloc_managed(served->call);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t bytes = ath_cuda_wire_mem_alloc_managed_bytes(call);
    CUdeviceptr address = 0;
    if (!bytes || bytes >> REGION_MAX_BITS) {
        served->status = CUDA_ERROR_INVALID_VALUE;
        return;
    }
    /* Whole pages, so that no two share one: the client maps its own at the same place. */
    served->status =
        served->driver->cuMemAllocManaged(&address, (size_t)((bytes + page - 1) / page * page),
                                          ath_cuda_wire_mem_alloc_managed_flags(call));
    if (served->status)
        return;
    struct ath_cuda_region *region = make(address, bytes, true);
    if (!region) {
        served->driver->cuMemFree_v2(address);
        served->status = CUDA_ERROR_OUT_OF_MEMORY;
        return;
    }
    if (bytes < RECYCLED_MAX)
        memset(region->here, 0, (size_t)bytes);
    add(served->session, region);
    ath_cuda_wire_mem_alloc_managed_result_set_address(
        ath_cuda_wire_answer_init_mem_alloc_managed(served->answer),
        ath_cuda_to_wire(&served->side, ATH_CUDA_KIND_ADDRESS, address));
}

/* Before the driver frees it: another thread may look for changes in it. NULL: it is none. */
static struct ath_cuda_region *take_managed(struct ath_cuda_session *session, uint64_t address)
{
    pthread_mutex_lock(&session->lock);
    const struct ath_cuda_region *region = region_of(session, address, 1);
    bool is_managed = region && region->address == address && !region->is_registered;
    pthread_mutex_unlock(&session->lock);
    return is_managed ? take(session, address) : NULL;
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
        add(served->session, region);
    else if (region) /* what was not freed is a context's that a fault has ended */
        let_go(served->session, region);
}

/* A managed variable, which the client mirrors. */
static CUresult add_variable(struct ath_cuda_session *session, CUlibrary library, uint64_t address,
                             uint64_t bytes)
{
    if (ath_cuda_region_at(session, address, bytes))
        return CUDA_SUCCESS;
    struct ath_cuda_region *region = make(address, bytes, true);
    if (!region)
        return CUDA_ERROR_OUT_OF_MEMORY;
    region->library = library;
    add(session, region);
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
    pthread_mutex_lock(&served->session->lock);
    for (struct ath_cuda_region **at = &served->session->regions; *at;) {
        struct ath_cuda_region *region = *at;
        if (!library || region->library != library) {
            at = &region->next;
            continue;
        }
        *at = region->next;
        region_free(served->session, region);
    }
    pthread_mutex_unlock(&served->session->lock);
    served->status = served->driver->cuLibraryUnload(library);
}

/* ---- mirrors ---- */

static bool mask_has(struct ath_wire_bytes mask, size_t i)
{
    return !mask.length || (i / 8 < mask.length && (mask.data[i / 8] >> i % 8 & 1));
}

static void apply(const struct ath_cuda_region *region, uint64_t address,
                  struct ath_wire_bytes data, struct ath_wire_bytes mask)
{
    uint8_t *now = region->here + (address - region->address);
    uint8_t *same = region->same + (address - region->address);
    if (!mask.length) {
        memcpy(now, data.data, data.length);
        memcpy(same, data.data, data.length);
        return;
    }
    for (size_t i = 0; i < data.length; i++)
        if (mask_has(mask, i))
            now[i] = same[i] = data.data[i];
}

void ath_cuda_serve_athPushMemory(struct ath_cuda_served *served)
{
    struct ath_wire_list parts =
        ath_cuda_wire_push_memory_parts(ath_cuda_wire_call_push_memory(served->call));
    served->status = CUDA_SUCCESS;
    pthread_mutex_lock(&served->session->lock);
    for (uint32_t i = 0; !served->status && i < parts.count; i++) {
        struct ath_cuda_wire_memory_part part = { ath_wire_list_struct(parts, i) };
        uint64_t address = ath_cuda_wire_memory_part_address(part);
        struct ath_wire_bytes data = ath_cuda_wire_memory_part_data(part);
        const struct ath_cuda_region *region = region_of(served->session, address, data.length);
        if (region && region->same)
            apply(region, address, data, ath_cuda_wire_memory_part_mask(part));
        else
            served->status = CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_unlock(&served->session->lock);
}

struct change {
    struct change *next;
    uint64_t address;
    size_t length;
    const uint8_t *bytes; /* in the region's copy */
    uint8_t *mask;        /* NULL: every byte is changed */
};

static struct ath_team *helpers;

static void make_helpers(void)
{
    helpers = ath_team_make_helpers();
}

/* Passes over what is the same: more and more at once as long as nothing differs, since what lies
 * behind a difference is compared again. */
static size_t pass_same(const struct ath_cuda_region *region, size_t at)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const uint8_t *now = region->here;
    const size_t end = (size_t)region->bytes;
    size_t most = ATH_TEAM_STRIDE;
    pthread_once(&once, make_helpers);
    while (at < end) {
        if (at % ATH_TEAM_STRIDE == 0) {
            size_t part = end - at < most ? end - at : most;
            size_t same = ath_team_compare(helpers, now + at, region->same + at, part);
            most *= most < WIDEST ? 4 : 1;
            at += same;
            if (same == part)
                continue;
        }
        size_t part = end - at < BLOCK ? end - at : BLOCK;
        if (memcmp(now + at, region->same + at, part))
            break;
        at += part;
    }
    return at;
}

/* The GPU may write on: what is sent is what the region's copy has got. */
static struct change *take_over(struct ath_cuda_side *side, struct ath_cuda_region *region,
                                size_t first, size_t length)
{
    uint8_t *same = region->same + first;
    struct change *change = ath_cuda_room(side, 1, sizeof *change);
    uint8_t *mask = ath_cuda_room(side, ath_changed_mask_bytes(length), 1);
    uint8_t *now = ath_cuda_room(side, length, 1);
    if (!change || !mask || !now)
        return NULL;
    memcpy(now, region->here + first, length);
    size_t changed = ath_changed_mask(now, same, length, mask);
    memcpy(same, now, length);
    *change = (struct change){ .address = region->address + first,
                               .length = length,
                               .bytes = now,
                               .mask = changed == length ? NULL : mask };
    return change;
}

/* The next run of blocks that the GPU changed. NULL: none, or no memory. */
static struct change *next_change(struct ath_cuda_side *side, struct ath_cuda_region *region,
                                  size_t *offset, size_t most)
{
    const size_t first = pass_same(region, *offset), end = (size_t)region->bytes;
    size_t at = first;
    while (at < end && at - first < most) {
        size_t part = end - at < BLOCK ? end - at : BLOCK;
        if (!memcmp(region->here + at, region->same + at, part))
            break;
        at += part;
    }
    *offset = at;
    return at > first ? take_over(side, region, first, at - first) : NULL;
}

/* What fits into a message. */
static struct change *find_changes(struct ath_cuda_session *session, struct ath_cuda_side *side,
                                   uint32_t *out_count)
{
    struct change *first = NULL, **last = &first;
    size_t total = 0;
    *out_count = 0;
    pthread_mutex_lock(&session->lock);
    for (struct ath_cuda_region *region = session->regions; region; region = region->next) {
        for (size_t offset = 0; region->same && offset < region->bytes && total < PULL_MAX;) {
            struct change *change = next_change(side, region, &offset, PULL_MAX - total);
            if (!change)
                break;
            *last = change;
            last = &change->next;
            total += change->length + BLOCK;
            ++*out_count;
        }
    }
    pthread_mutex_unlock(&session->lock);
    return first;
}

static void tell(const struct change *change, uint32_t count, struct ath_wire_builder *answer)
{
    struct ath_wire_array parts =
        ath_cuda_wire_answer_init_changes(ath_cuda_wire_answer_start(answer), count);
    for (uint32_t i = 0; change; change = change->next, i++) {
        struct ath_cuda_wire_memory_part_builder to = { ath_wire_array_struct(parts, i) };
        ath_cuda_wire_memory_part_set_address(to, change->address);
        ath_cuda_wire_memory_part_set_data(
            to, (struct ath_wire_bytes){ change->bytes, change->length });
        if (change->mask)
            ath_cuda_wire_memory_part_set_mask(
                to,
                (struct ath_wire_bytes){ change->mask, ath_changed_mask_bytes(change->length) });
    }
}

int ath_cuda_changes(struct ath_cuda_session *session, struct ath_wire_builder *answer)
{
    struct ath_cuda_side side = { .status = CUDA_SUCCESS };
    uint32_t count;
    const struct change *changes = find_changes(session, &side, &count);
    if (changes)
        tell(changes, count, answer);
    int status = side.status ? -ENOMEM : changes != NULL;
    ath_cuda_side_free(&side);
    return status;
}

/* What is to be pulled goes ahead of the answer. */
void ath_cuda_serve_athPullMemory(struct ath_cuda_served *served)
{
    served->status = CUDA_SUCCESS;
}
