/*
 * Virtual memory: reserved addresses, allocations without an address, and mapping allocations to
 * addresses. An allocation is a memfd: it can be exported as a descriptor, and a mapping that the
 * host may see uses the same memory.
 */
#include "config.h"

#include "sim/virtual.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/address_space.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/range.h"

enum { GRANULARITY = 2 << 20 };

struct sim_allocation {
    struct sim_object object;
    unsigned int handles, maps; /* freed when both are 0 */
    CUmemAllocationProp prop;
    size_t bytes;
    int fd;
    unsigned char *cells;
    bool is_charged;
};

static struct reservation {
    struct reservation *next;
    uint64_t base;
    size_t bytes;
} * reservations;

/* ---- addresses ---- */

static void *map_at(uint64_t wanted, size_t bytes)
{
    void *memory = mmap((void *)(uintptr_t)wanted, bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t alignment, CUdeviceptr wanted,
                             unsigned long long flags)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (alignment < GRANULARITY)
        alignment = GRANULARITY;
    if (!out || !bytes || bytes % GRANULARITY || alignment & (alignment - 1) || flags ||
        bytes > SIZE_MAX / 4 || alignment > SIZE_MAX / 4)
        return CUDA_ERROR_INVALID_VALUE;
    struct reservation *made = calloc(1, sizeof *made);
    /* The kernel uses the wanted address if it can; the extra bytes are for the alignment. */
    unsigned char *memory = wanted ? map_at(wanted, bytes + alignment)
                                   : sim_map(bytes + alignment, alignment, PROT_NONE);
    if (!made || !memory) {
        free(made);
        if (memory)
            munmap(memory, bytes + alignment);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    size_t before = (alignment - ((uintptr_t)memory & (alignment - 1))) & (alignment - 1);
    if (before)
        munmap(memory, before);
    munmap(memory + before + bytes, alignment - before);
    *made = (struct reservation){ reservations, (uint64_t)(uintptr_t)(memory + before), bytes };
    reservations = made;
    *out = made->base;
    return CUDA_SUCCESS;
}

/* Returns the first range that overlaps a part of the address space, or NULL. */
static struct sim_range *first_in(uint64_t base, size_t bytes)
{
    struct sim_range *range;
    for (size_t i = 0; (range = sim_range_number(i)); i++)
        if (range->base < base + bytes && range->base + range->bytes > base)
            return range;
    return NULL;
}

CUresult cuMemAddressFree(CUdeviceptr base, size_t bytes)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct reservation **at = &reservations;
    while (*at && ((*at)->base != base || (*at)->bytes != bytes))
        at = &(*at)->next;
    struct reservation *found = *at;
    if (!found || first_in(base, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    *at = found->next;
    munmap((void *)(uintptr_t)base, bytes);
    free(found);
    return CUDA_SUCCESS;
}

static bool is_reserved(uint64_t base, size_t bytes)
{
    for (const struct reservation *at = reservations; at; at = at->next)
        if (base >= at->base && base + bytes >= base && base + bytes <= at->base + at->bytes)
            return true;
    return false;
}

/* ---- allocations ---- */

static bool is_of_device(const CUmemAllocationProp *prop)
{
    return prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
}

static CUresult check_prop(const CUmemAllocationProp *prop)
{
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned int)prop->requestedHandleTypes &
        ~(unsigned int)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    switch (prop->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return sim_device(prop->location.id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static void free_allocation(struct sim_allocation *allocation)
{
    if (allocation->cells)
        munmap(allocation->cells, allocation->bytes);
    if (allocation->fd >= 0)
        close(allocation->fd);
    if (allocation->is_charged)
        sim_discharge(allocation->prop.location.id, allocation->bytes);
    free(allocation);
}

/* fd: of an imported allocation, otherwise -1; taken over. */
static CUresult make(const CUmemAllocationProp *prop, size_t bytes, int fd,
                     struct sim_allocation **out)
{
    struct sim_allocation *made = sim_object_new(SIM_ALLOCATION, NULL, sizeof *made);
    if (!made) {
        if (fd >= 0)
            close(fd);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    bool is_new = fd < 0;
    made->prop = *prop;
    made->bytes = bytes;
    made->handles = 1;
    made->fd = is_new ? memfd_create("aitherion-sim", MFD_CLOEXEC) : fd;
    made->is_charged = is_new && is_of_device(prop) && sim_charge(prop->location.id, bytes);
    bool is_there = made->fd >= 0 && (made->is_charged || !is_new || !is_of_device(prop)) &&
                    (!is_new || !ftruncate(made->fd, (off_t)bytes));
    void *cells =
        is_there ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made->fd, 0) : MAP_FAILED;
    if (cells == MAP_FAILED) {
        sim_object_forget(&made->object);
        free_allocation(made);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    made->cells = cells;
    *out = made;
    return CUDA_SUCCESS;
}

static struct sim_allocation *find(CUmemGenericAllocationHandle handle)
{
    struct sim_allocation *found = sim_object_find(SIM_ALLOCATION, (const void *)(uintptr_t)handle);
    return found && found->handles ? found : NULL;
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    SIM_LOCKED;
    struct sim_allocation *made;
    CUresult status = sim_enter_driver();
    if (!status)
        status = check_prop(prop);
    if (!status && (!out || !bytes || bytes % GRANULARITY || flags || bytes > SIZE_MAX / 4))
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = make(prop, bytes, -1, &made);
    if (!status)
        *out = (CUmemGenericAllocationHandle)(uintptr_t)made;
    return status;
}

static void end_when_unused(struct sim_allocation *allocation)
{
    if (!allocation->handles && !allocation->maps)
        free_allocation(allocation);
}

void sim_allocation_drop(struct sim_allocation *allocation)
{
    allocation->maps--;
    end_when_unused(allocation);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_allocation *allocation = find(handle);
    if (!allocation)
        return CUDA_ERROR_INVALID_VALUE;
    if (!--allocation->handles && !allocation->maps)
        sim_object_forget(&allocation->object);
    end_when_unused(allocation);
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *address)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_range *range = sim_range_at((uint64_t)(uintptr_t)address);
    if (!out || !range || range->memory != SIM_MAPPED_MEMORY)
        return CUDA_ERROR_INVALID_VALUE;
    range->allocation->handles++;
    *out = (CUmemGenericAllocationHandle)(uintptr_t)range->allocation;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (!status)
        status = check_prop(prop);
    if (!status && (!out || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                             option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)))
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        *out = GRANULARITY;
    return status;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out,
                                                CUmemGenericAllocationHandle handle)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_allocation *allocation = find(handle);
    if (!out || !allocation)
        return CUDA_ERROR_INVALID_VALUE;
    *out = allocation->prop;
    return CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_allocation *allocation = find(handle);
    if (!out || !allocation || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !(allocation->prop.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return CUDA_ERROR_INVALID_VALUE;
    int fd = dup(allocation->fd);
    if (fd < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    *(int *)out = fd;
    return CUDA_SUCCESS;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *os_handle,
                                        CUmemAllocationHandleType type)
{
    SIM_LOCKED;
    struct sim_context *context;
    struct sim_allocation *made;
    struct stat facts;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    int fd = dup((int)(intptr_t)os_handle);
    if (fd < 0)
        return CUDA_ERROR_INVALID_HANDLE;
    if (fstat(fd, &facts) || facts.st_size < GRANULARITY || facts.st_size % GRANULARITY) {
        close(fd);
        return CUDA_ERROR_INVALID_HANDLE;
    }
    const CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = context->device },
    };
    status = make(&prop, (size_t)facts.st_size, fd, &made);
    if (!status)
        *out = (CUmemGenericAllocationHandle)(uintptr_t)made;
    return status;
}

/* ---- mapping ---- */

CUresult cuMemMap(CUdeviceptr base, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    SIM_LOCKED;
    struct sim_range *range;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_allocation *allocation = find(handle);
    if (!allocation || flags || !bytes || base % GRANULARITY || bytes % GRANULARITY ||
        offset % GRANULARITY || !is_reserved(base, bytes) || first_in(base, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (offset > allocation->bytes || bytes > allocation->bytes - offset)
        return CUDA_ERROR_NOT_SUPPORTED; /* as the driver does (580) */
    const struct sim_range mapped = {
        .base = base,
        .bytes = bytes,
        .backing = allocation->cells + offset,
        .memory = SIM_MAPPED_MEMORY,
        .device = is_of_device(&allocation->prop) ? allocation->prop.location.id : 0,
        .allocation = allocation,
        .allocation_offset = offset,
    };
    status = sim_range_add(&mapped, &range);
    if (!status)
        allocation->maps++;
    return status;
}

/* Returns true if [base, base + bytes) is mapped without a hole; is_whole: and by whole
 * mappings. */
static bool is_mapped(uint64_t base, size_t bytes, bool is_whole)
{
    const uint64_t end = base + bytes;
    for (uint64_t at = base; at < end;) {
        const struct sim_range *range = sim_range_at(at);
        if (!range || range->memory != SIM_MAPPED_MEMORY)
            return false;
        uint64_t range_end = range->base + range->bytes;
        if (is_whole && (range->base != at || range_end > end))
            return false;
        at = range_end;
    }
    return bytes && end > base;
}

/* Maps for the host the allocation, or inaccessible memory. */
static bool show_to_host(const struct sim_range *range, CUmemAccess_flags access)
{
    int protection =
        access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE ? PROT_READ | PROT_WRITE : PROT_READ;
    void *at = (void *)(uintptr_t)range->base;
    if (access == CU_MEM_ACCESS_FLAGS_PROT_NONE)
        return mmap(at, range->bytes, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
    return mmap(at, range->bytes, protection, MAP_SHARED | MAP_FIXED, range->allocation->fd,
                (off_t)range->allocation_offset) != MAP_FAILED;
}

CUresult cuMemUnmap(CUdeviceptr base, size_t bytes)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    sim_drain_all();
    if (!is_mapped(base, bytes, true))
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_range *range;
    while ((range = first_in(base, bytes))) {
        struct sim_allocation *allocation = range->allocation;
        if (range->host_access != CU_MEM_ACCESS_FLAGS_PROT_NONE)
            show_to_host(range, CU_MEM_ACCESS_FLAGS_PROT_NONE);
        if (!allocation->handles && allocation->maps == 1)
            sim_object_forget(&allocation->object);
        sim_range_end(range);
    }
    return CUDA_SUCCESS;
}

static CUresult set_access(struct sim_range *range, const CUmemAccessDesc *access)
{
    bool is_host = access->location.type != CU_MEM_LOCATION_TYPE_DEVICE;
    if (is_host && is_of_device(&range->allocation->prop))
        return CUDA_ERROR_INVALID_VALUE; /* the host cannot reach a GPU's memory */
    if (is_host) {
        if (!show_to_host(range, access->flags))
            return CUDA_ERROR_OUT_OF_MEMORY;
        range->host_access = access->flags;
        return CUDA_SUCCESS;
    }
    range->is_readable = access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE;
    range->is_writable = access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return CUDA_SUCCESS;
}

static bool is_access(const CUmemAccessDesc *access)
{
    bool is_location = access->location.type == CU_MEM_LOCATION_TYPE_DEVICE
                           ? sim_device(access->location.id) != NULL
                           : access->location.type == CU_MEM_LOCATION_TYPE_HOST ||
                                 access->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
                                 access->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
    return is_location && (access->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE ||
                           access->flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
                           access->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

CUresult cuMemSetAccess(CUdeviceptr base, size_t bytes, const CUmemAccessDesc *list, size_t count)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (!list || !count || !is_mapped(base, bytes, true))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++)
        if (!is_access(&list[i]))
            return CUDA_ERROR_INVALID_VALUE;
    for (uint64_t at = base; at < base + bytes;) {
        struct sim_range *range = sim_range_at(at);
        for (size_t i = 0; i < count && !status; i++)
            status = set_access(range, &list[i]);
        if (status)
            return status;
        at = range->base + range->bytes;
    }
    return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                        CUdeviceptr address)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_range *range = sim_range_at(address);
    if (!flags || !location || !range || range->memory != SIM_MAPPED_MEMORY)
        return CUDA_ERROR_INVALID_VALUE;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        *flags = range->host_access;
    else if (range->is_writable)
        *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    else
        *flags = range->is_readable ? CU_MEM_ACCESS_FLAGS_PROT_READ : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}
