/*
 * Memory: the known ranges of the address space, and their contents.
 *
 * Addresses of device memory lie in a window that the host cannot read: a program that uses one on
 * the host crashes, as with a GPU. The contents lie in an arena with the same layout as the window.
 * Pinned and managed memory has the same address on host and device.
 */
#include "config.h"

#include "sim/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/capture.h"
#include "sim/context.h"
#include "sim/device.h"
#include "sim/ipc.h"
#include "sim/pool.h"
#include "sim/range.h"
#include "sim/stream.h"
#include "sim/virtual.h"
#include "sim/work.h"

enum { GIVE_BACK_BYTES = 1 << 20 /* larger holes go back to the system */ };

/* ---- ranges, sorted by address ---- */

static struct sim_range **ranges;
static size_t range_count, range_room;
static unsigned long long last_id;

/* Returns the number of ranges that begin at or below an address. */
static size_t count_up_to(uint64_t address)
{
    size_t low = 0, high = range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle]->base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct sim_range *sim_range_at(uint64_t address)
{
    size_t count = count_up_to(address);
    struct sim_range *range = count ? ranges[count - 1] : NULL;
    return range && address - range->base < range->bytes ? range : NULL;
}

struct sim_range *sim_range_number(size_t number)
{
    return number < range_count ? ranges[number] : NULL;
}

CUresult sim_range_add(const struct sim_range *range, struct sim_range **out)
{
    if (range_count == range_room) {
        size_t room = range_room ? 2 * range_room : 64;
        struct sim_range **grown = realloc(ranges, room * sizeof *grown);
        if (!grown)
            return CUDA_ERROR_OUT_OF_MEMORY;
        ranges = grown;
        range_room = room;
    }
    struct sim_range *added = malloc(sizeof *added);
    if (!added)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *added = *range;
    added->id = ++last_id;
    size_t at = count_up_to(range->base);
    memmove(ranges + at + 1, ranges + at, (range_count - at) * sizeof *ranges);
    ranges[at] = added;
    range_count++;
    *out = added;
    return CUDA_SUCCESS;
}

static void forget_range(struct sim_range *range)
{
    size_t at = count_up_to(range->base) - 1;
    memmove(ranges + at, ranges + at + 1, (range_count - at - 1) * sizeof *ranges);
    range_count--;
    free(range);
}

bool sim_is_known(uint64_t address, size_t bytes)
{
    while (bytes) {
        const struct sim_range *range = sim_range_at(address);
        if (!range)
            return false;
        size_t rest = range->bytes - (size_t)(address - range->base);
        size_t step = rest < bytes ? rest : bytes;
        address += step;
        bytes -= step;
    }
    return true;
}

unsigned char *sim_reach(uint64_t address, bool is_write, size_t *out_bytes)
{
    SIM_LOCKED;
    const struct sim_range *range = sim_range_at(address);
    if (!range || !(is_write ? range->is_writable : range->is_readable))
        return NULL;
    size_t offset = (size_t)(address - range->base);
    *out_bytes = range->bytes - offset;
    return range->backing + offset;
}

/* ---- addresses ---- */

/*
 * The kernel maps a program's memory at the top or the bottom of its address space. Memory that a
 * remote client must map at the same address goes between these, one piece after another.
 */
void *sim_map(size_t bytes, size_t alignment, int protection)
{
    static const uint64_t first = (uint64_t)0x30 << 40, last = (uint64_t)0x50 << 40;
    static uint64_t next = (uint64_t)0x30 << 40;
    next = (next + alignment - 1) / alignment * alignment;
    if (next > last)
        next = first;
    void *memory = mmap((void *)(uintptr_t)next, bytes, protection,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    next += bytes;
    return memory == MAP_FAILED ? NULL : memory;
}

/* ---- the arena ---- */

static struct {
    unsigned char *window, *cells;
    int fd;
    struct hole {
        struct hole *next;
        size_t offset, bytes;
    } * holes; /* by offset; no two are adjacent */
} arena;

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

/* The arena has twice the memory of all devices, so that holes rarely matter. */
static bool open_arena(void)
{
    size_t bytes = 2 * (size_t)SIM_ALIGNMENT;
    for (int i = 0; i < sim_device_count(); i++)
        bytes += 2 * sim_device(i)->total_bytes;
    struct hole *hole = calloc(1, sizeof *hole);
    void *window = sim_map(bytes, SIM_PLACES, PROT_NONE);
    int fd = memfd_create("aitherion-sim-memory", MFD_CLOEXEC);
    void *cells = fd < 0 || ftruncate(fd, (off_t)bytes) ? MAP_FAILED
                                                        : mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                                               MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (!hole || !window || cells == MAP_FAILED) {
        free(hole);
        if (fd >= 0)
            close(fd);
        if (window)
            munmap(window, bytes);
        if (cells != MAP_FAILED)
            munmap(cells, bytes);
        return false;
    }
    hole->bytes = round_up(bytes, SIM_ALIGNMENT) - SIM_ALIGNMENT;
    arena.window = window;
    arena.cells = cells;
    arena.fd = fd;
    arena.holes = hole;
    return true;
}

/* Returns an offset, or SIZE_MAX. */
static size_t take_slot(size_t bytes)
{
    if (!arena.window && !open_arena())
        return SIZE_MAX;
    struct hole **at = &arena.holes;
    while (*at && (*at)->bytes < bytes)
        at = &(*at)->next;
    struct hole *hole = *at;
    if (!hole)
        return SIZE_MAX;
    size_t offset = hole->offset;
    hole->offset += bytes;
    hole->bytes -= bytes;
    if (!hole->bytes) {
        *at = hole->next;
        free(hole);
    }
    return offset;
}

static void give_back_pages(size_t offset, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t from = round_up(offset, page), to = (offset + bytes) / page * page;
    if (bytes >= GIVE_BACK_BYTES && to > from)
        madvise(arena.cells + from, to - from, MADV_REMOVE);
}

static void give_slot(size_t offset, size_t bytes)
{
    struct hole *before = NULL, *after = arena.holes;
    give_back_pages(offset, bytes);
    while (after && after->offset < offset) {
        before = after;
        after = after->next;
    }
    if (before && before->offset + before->bytes == offset) {
        before->bytes += bytes;
    } else {
        struct hole *hole = calloc(1, sizeof *hole);
        if (!hole)
            return; /* the slot is lost, but its memory is freed */
        *hole = (struct hole){ after, offset, bytes };
        *(before ? &before->next : &arena.holes) = hole;
        before = hole;
    }
    if (after && before->offset + before->bytes == after->offset) {
        before->bytes += after->bytes;
        before->next = after->next;
        free(after);
    }
}

int sim_arena_place(const struct sim_range *range, size_t *out_offset)
{
    if (!arena.window && !open_arena())
        return -1;
    if (range)
        *out_offset = (size_t)(range->backing - arena.cells);
    return arena.fd;
}

bool sim_charge(int device, size_t bytes)
{
    struct sim_device *of = sim_device(device);
    if (bytes > of->total_bytes - of->used_bytes)
        return false;
    of->used_bytes += bytes;
    return true;
}

void sim_discharge(int device, size_t bytes)
{
    sim_device(device)->used_bytes -= bytes;
}

/* Returns the device memory that a range occupies. */
static size_t cost_of(size_t bytes)
{
    return round_up(bytes, SIM_ALIGNMENT);
}

static bool pay(int device, size_t bytes, struct sim_pool *pool)
{
    return pool ? sim_pool_take(pool, bytes) : sim_charge(device, bytes);
}

CUresult sim_device_memory(struct sim_context *context, int device, size_t bytes,
                           struct sim_pool *pool, struct sim_range **out)
{
    if (bytes > sim_device(device)->total_bytes || !pay(device, cost_of(bytes), pool))
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t slot_bytes = cost_of(bytes) + SIM_ALIGNMENT;
    size_t offset = take_slot(slot_bytes);
    struct sim_range range = {
        .base = (uint64_t)(uintptr_t)arena.window + offset,
        .bytes = bytes,
        .backing = arena.cells + offset,
        .memory = SIM_DEVICE_MEMORY,
        .context = context,
        .device = device,
        .is_readable = true,
        .is_writable = true,
        .pool = pool,
    };
    CUresult status = offset == SIZE_MAX ? CUDA_ERROR_OUT_OF_MEMORY : sim_range_add(&range, out);
    if (!status)
        return CUDA_SUCCESS;
    if (offset != SIZE_MAX)
        give_slot(offset, slot_bytes);
    if (pool)
        sim_pool_give(pool, cost_of(bytes));
    else
        sim_discharge(device, cost_of(bytes));
    return status;
}

static size_t mapped_bytes(size_t bytes)
{
    return round_up(bytes, (size_t)sysconf(_SC_PAGESIZE));
}

/* Small pieces of managed memory share pages, as in a real driver, and need not begin or end at a
 * page. These pages are kept. */
enum { PACK_PAGES = 16, PACKED_PAGES = 4 };

static void *pack(size_t bytes)
{
    static unsigned char *piece;
    static size_t used;
    size_t all = PACK_PAGES * (size_t)sysconf(_SC_PAGESIZE);
    bytes = round_up(bytes, SIM_ALIGNMENT);
    if (!piece || bytes > all - used) {
        piece = sim_map(all, SIM_PLACES, PROT_READ | PROT_WRITE);
        used = 0;
    }
    if (!piece)
        return NULL;
    used += bytes;
    return piece + used - bytes;
}

static bool is_packed(enum sim_memory kind, size_t bytes)
{
    return kind == SIM_MANAGED_MEMORY && bytes < PACKED_PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

/* Small managed memory is not cleared, as in a real driver that uses memory again. */
static void *map_host(enum sim_memory kind, size_t bytes)
{
    enum { LITTLE = 64 * 1024, LEFT = 0xa5 };
    void *memory = is_packed(kind, bytes)
                       ? pack(bytes)
                       : sim_map(mapped_bytes(bytes), SIM_PLACES, PROT_READ | PROT_WRITE);
    if (memory && kind == SIM_MANAGED_MEMORY && bytes < LITTLE)
        memset(memory, LEFT, bytes);
    return memory;
}

static void unmap_host(void *memory, enum sim_memory kind, size_t bytes)
{
    if (!is_packed(kind, bytes))
        munmap(memory, mapped_bytes(bytes));
}

void sim_range_end(struct sim_range *range)
{
    switch (range->memory) {
    case SIM_DEVICE_MEMORY:
        give_slot((size_t)(range->backing - arena.cells), cost_of(range->bytes) + SIM_ALIGNMENT);
        if (range->pool)
            sim_pool_give(range->pool, cost_of(range->bytes));
        else
            sim_discharge(range->device, cost_of(range->bytes));
        break;
    case SIM_HOST_MEMORY:
    case SIM_MANAGED_MEMORY:
        unmap_host(range->backing, range->memory, range->bytes);
        break;
    case SIM_MAPPED_MEMORY:
        sim_allocation_drop(range->allocation);
        break;
    case SIM_FOREIGN_MEMORY:
        sim_foreign_end(range);
        break;
    case SIM_REGISTERED_MEMORY:
        break;
    }
    forget_range(range);
}

void sim_context_end_memory(struct sim_context *context)
{
    for (size_t i = range_count; i-- > 0;)
        if (ranges[i]->context == context && !ranges[i]->is_of_graph)
            sim_range_end(ranges[i]);
}

/* ---- device memory ---- */

static CUresult enter_for_memory(struct sim_context **out)
{
    CUresult status = sim_enter(out);
    return status ? status : sim_capture_forbids();
}

/* If the device has no memory, waits for streams that still have to free some, and tries again. */
static CUresult allocate(struct sim_context *context, size_t bytes, struct sim_range **out)
{
    CUresult status = sim_device_memory(context, context->device, bytes, NULL, out);
    if (status != CUDA_ERROR_OUT_OF_MEMORY)
        return status;
    status = sim_context_drain(context);
    return status ? status : sim_device_memory(context, context->device, bytes, NULL, out);
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    SIM_LOCKED;
    struct sim_context *context;
    struct sim_range *range = NULL;
    CUresult status = enter_for_memory(&context);
    if (!status && (!out || !bytes))
        status = CUDA_ERROR_INVALID_VALUE;
    if (!status)
        status = allocate(context, bytes, &range);
    if (range)
        *out = range->base;
    return status;
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *out_pitch, size_t width_bytes, size_t height,
                            unsigned int element_bytes)
{
    size_t pitch = round_up(width_bytes, SIM_ALIGNMENT);
    if (!out_pitch || !width_bytes || !height || pitch < width_bytes ||
        (element_bytes != 4 && element_bytes != 8 && element_bytes != 16))
        return CUDA_ERROR_INVALID_VALUE;
    if (height > SIZE_MAX / pitch)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = cuMemAlloc_v2(out, pitch * height);
    if (!status)
        *out_pitch = pitch;
    return status;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = enter_for_memory(&context);
    if (status || !address)
        return status;
    struct sim_range *range = sim_range_at(address);
    if (!range || range->base != address || range->is_leaving ||
        (range->memory != SIM_DEVICE_MEMORY && range->memory != SIM_MANAGED_MEMORY &&
         !(range->memory == SIM_FOREIGN_MEMORY && range->pool)))
        return CUDA_ERROR_INVALID_VALUE;
    sim_drain_all();
    range = sim_range_at(address);
    if (!range || range->base != address)
        return CUDA_ERROR_INVALID_VALUE; /* another thread freed it meanwhile */
    if (!range->is_of_graph)
        sim_range_end(range);
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    const struct sim_device *device = sim_device(context->device);
    if (total_bytes)
        *total_bytes = device->total_bytes;
    if (free_bytes)
        *free_bytes = device->total_bytes - device->used_bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_range *range = sim_range_at(address);
    if (!range || range->is_unmapped)
        return CUDA_ERROR_NOT_FOUND;
    if (base)
        *base = range->base;
    if (bytes)
        *bytes = range->bytes;
    return CUDA_SUCCESS;
}

/* ---- pinned memory ---- */

static CUresult add_host_range(struct sim_context *context, void *memory, size_t bytes,
                               enum sim_memory kind, unsigned int flags, bool is_writable)
{
    struct sim_range *range;
    struct sim_range made = {
        .base = (uint64_t)(uintptr_t)memory,
        .bytes = bytes,
        .backing = memory,
        .memory = kind,
        .context = context,
        .device = context ? context->device : 0,
        .flags = flags,
        .is_readable = true,
        .is_writable = is_writable,
    };
    return sim_range_add(&made, &range);
}

static CUresult make_host(struct sim_context *context, size_t bytes, enum sim_memory kind,
                          unsigned int flags, void **out)
{
    void *memory = map_host(kind, bytes);
    if (!memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult status = add_host_range(context, memory, bytes, kind, flags, true);
    if (status)
        unmap_host(memory, kind, bytes);
    else
        *out = memory;
    return status;
}

CUresult sim_managed_memory(size_t bytes, uint64_t *out_address)
{
    void *memory = NULL;
    CUresult status = make_host(NULL, bytes, SIM_MANAGED_MEMORY, CU_MEM_ATTACH_GLOBAL, &memory);
    *out_address = (uint64_t)(uintptr_t)memory;
    return status;
}

static CUresult allocate_host(void **out, size_t bytes, enum sim_memory kind, unsigned int flags)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = enter_for_memory(&context);
    if (status)
        return status;
    return out && bytes && bytes <= SIZE_MAX / 2 ? make_host(context, bytes, kind, flags, out)
                                                 : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned int flags)
{
    const unsigned int known =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    return allocate_host(flags & ~known ? NULL : out, bytes, SIM_HOST_MEMORY, flags);
}

CUresult cuMemAllocHost_v2(void **out, size_t bytes)
{
    return allocate_host(out, bytes, SIM_HOST_MEMORY, CU_MEMHOSTALLOC_DEVICEMAP);
}

CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned int flags)
{
    void *memory;
    if (!out || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
        return CUDA_ERROR_INVALID_VALUE;
    CUresult status = allocate_host(&memory, bytes, SIM_MANAGED_MEMORY, flags);
    if (!status)
        *out = (CUdeviceptr)(uintptr_t)memory;
    return status;
}

/* Waits for the streams that may use a host range, then ends the range that begins at memory. */
static CUresult end_host_range(const void *memory, enum sim_memory kind, CUresult otherwise)
{
    SIM_LOCKED;
    struct sim_context *context;
    bool needs_none = kind == SIM_HOST_MEMORY && !sim_current(); /* as NVIDIA's driver does (580) */
    CUresult status = needs_none ? sim_enter_driver() : enter_for_memory(&context);
    uint64_t address = (uint64_t)(uintptr_t)memory;
    if (status)
        return status;
    struct sim_range *range = sim_range_at(address);
    if (!range || range->memory != kind)
        return otherwise;
    if (range->base != address)
        return CUDA_ERROR_INVALID_VALUE;
    sim_drain_all();
    range = sim_range_at(address);
    if (!range || range->base != address || range->memory != kind)
        return otherwise;
    sim_range_end(range);
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *memory)
{
    return end_host_range(memory, SIM_HOST_MEMORY, CUDA_ERROR_INVALID_VALUE);
}

/* Returns a range that has some of these bytes, or NULL. */
static const struct sim_range *range_of(uint64_t base, size_t bytes)
{
    const struct sim_range *last = sim_range_at(base + bytes - 1), *first = sim_range_at(base);
    size_t count = count_up_to(base + bytes - 1);
    if (last || first)
        return last ? last : first;
    return count && ranges[count - 1]->base >= base ? ranges[count - 1] : NULL;
}

/* Returns true if the program has mapped the page, and the page's file is long enough. The kernel
 * checks this without a signal to the caller. */
static bool is_there(const void *byte)
{
    int ends[2];
    if (pipe(ends))
        return false;
    bool is = write(ends[1], byte, 1) == 1;
    close(ends[0]);
    close(ends[1]);
    return is;
}

CUresult cuMemHostRegister_v2(void *memory, size_t bytes, unsigned int flags)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = enter_for_memory(&context);
    uint64_t base = (uint64_t)(uintptr_t)memory;
    if (status)
        return status;
    if (!memory || !bytes || base + bytes < base || flags & ~0xfu)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
        return CUDA_ERROR_NOT_SUPPORTED;
    const struct sim_range *other = range_of(base, bytes);
    if (other)
        return other->memory == SIM_REGISTERED_MEMORY ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                                      : CUDA_ERROR_INVALID_VALUE;
    if (!is_there(memory) || !is_there((const uint8_t *)memory + bytes - 1))
        return CUDA_ERROR_INVALID_VALUE;
    return add_host_range(context, memory, bytes, SIM_REGISTERED_MEMORY, flags,
                          !(flags & CU_MEMHOSTREGISTER_READ_ONLY));
}

CUresult cuMemHostUnregister(void *memory)
{
    return end_host_range(memory, SIM_REGISTERED_MEMORY, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

static const struct sim_range *host_range_at(const void *memory)
{
    const struct sim_range *range = sim_range_at((uint64_t)(uintptr_t)memory);
    bool is_host =
        range && (range->memory == SIM_HOST_MEMORY || range->memory == SIM_REGISTERED_MEMORY);
    return is_host ? range : NULL;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *memory, unsigned int flags)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    if (!out || flags || !host_range_at(memory))
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUdeviceptr)(uintptr_t)memory;
    return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(unsigned int *flags, void *memory)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    const struct sim_range *range = sim_range_at((uint64_t)(uintptr_t)memory);
    bool is_managed = range && range->memory == SIM_MANAGED_MEMORY;
    if (!flags || !(is_managed || host_range_at(memory)))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEMHOSTALLOC_DEVICEMAP | (is_managed ? 0 : range->flags);
    return CUDA_SUCCESS;
}

/* ---- hints about managed memory, without effect ---- */

static CUresult hint(CUdeviceptr address, size_t bytes)
{
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    const struct sim_range *range = sim_range_at(address);
    return bytes && range && range->memory == SIM_MANAGED_MEMORY && sim_is_known(address, bytes)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static bool is_location(CUmemLocation location)
{
    switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return sim_device(location.id);
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        return true;
    default:
        return false;
    }
}

static CUmemLocation location_of(CUdevice device)
{
    CUmemLocation host = { .type = CU_MEM_LOCATION_TYPE_HOST };
    CUmemLocation of_device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device };
    return device == CU_DEVICE_CPU ? host : of_device;
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t bytes, CUmem_advise advice,
                        CUmemLocation location)
{
    SIM_LOCKED;
    bool wants_location = advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
                          advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
                          advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    CUresult status = hint(address, bytes);
    if (!status &&
        (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY ||
         (wants_location && !is_location(location))))
        return CUDA_ERROR_INVALID_VALUE;
    return status;
}

CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice, CUdevice device)
{
    return cuMemAdvise_v2(address, bytes, advice, location_of(device));
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t bytes, CUmemLocation location,
                               unsigned int flags, CUstream handle)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (!status)
        status = hint(address, bytes);
    if (!status && (flags || !is_location(location)))
        status = CUDA_ERROR_INVALID_VALUE;
    if (status)
        return status;
    if (stream->capture)
        return sim_capture_refuse(stream);
    return sim_submit(stream, sim_work_new(CU_GRAPH_NODE_TYPE_EMPTY, sim_run_nothing, NULL), NULL);
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUdevice device, CUstream stream)
{
    return cuMemPrefetchAsync_v2(address, bytes, location_of(device), 0, stream);
}

CUresult cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t bytes,
                                unsigned int flags)
{
    SIM_LOCKED;
    struct sim_stream *stream;
    CUresult status = sim_enter_stream(handle, &stream);
    if (status)
        return status;
    const struct sim_range *range = sim_range_at(address);
    if (!range || range->memory != SIM_MANAGED_MEMORY || (bytes && bytes != range->bytes) ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
         flags != CU_MEM_ATTACH_SINGLE))
        return CUDA_ERROR_INVALID_VALUE;
    return sim_submit(stream, sim_work_new(CU_GRAPH_NODE_TYPE_EMPTY, sim_run_nothing, NULL), NULL);
}
