/*
 * Host memory that devices use too: pinned, registered and managed memory. Its addresses are the
 * same on host and device.
 */
#include "config.h"

#include "sim/host_memory.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sim/address_space.h"
#include "sim/arena.h"
#include "sim/capture.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/range.h"

/* ---- mapping ---- */

static size_t mapped_bytes(size_t bytes)
{
    return sim_round_up(bytes, (size_t)sysconf(_SC_PAGESIZE));
}

/* Small pieces of managed memory share pages, as in a real driver, and need not begin or end at a
 * page. These pages are kept. */
enum { PACK_PAGES = 16, PACKED_PAGES = 4 };

static void *pack(size_t bytes)
{
    static unsigned char *piece;
    static size_t used;
    size_t all = PACK_PAGES * (size_t)sysconf(_SC_PAGESIZE);
    bytes = sim_round_up(bytes, SIM_ALIGNMENT);
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

void sim_host_memory_end(const struct sim_range *range)
{
    unmap_host(range->backing, range->memory, range->bytes);
}

/* ---- allocation ---- */

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
    CUresult status = sim_enter_unless_captured(&context);
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
    bool needs_none = !sim_current(); /* as NVIDIA's driver does (580) */
    CUresult status = needs_none ? sim_enter_driver() : sim_enter_unless_captured(&context);
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

/* ---- registering the program's own memory ---- */

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
    CUresult status = sim_enter_unless_captured(&context);
    uint64_t base = (uint64_t)(uintptr_t)memory;
    if (status)
        return status;
    if (!memory || !bytes || base + bytes < base || flags & ~0xfu)
        return CUDA_ERROR_INVALID_VALUE;
    if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
        return CUDA_ERROR_NOT_SUPPORTED;
    const struct sim_range *other = sim_range_of(base, bytes);
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

/* ---- facts ---- */

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
    if (!flags || !range || !(is_managed || host_range_at(memory)))
        return CUDA_ERROR_INVALID_VALUE;
    *flags = CU_MEMHOSTALLOC_DEVICEMAP | (is_managed ? 0 : range->flags);
    return CUDA_SUCCESS;
}
