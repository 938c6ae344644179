/* Physical memory, reserved addresses, and mapping one into the other. */
#include "config.h"

#include "driver.h"

#include <string.h>
#include <unistd.h>

/* GRANULE is the granularity of all GPUs so far. */
enum { GRANULE = 2 << 20, TWO_GRANULES = 2 * GRANULE, FOUR_GRANULES = 4 * GRANULE };

static CUmemAllocationProp some_props(void)
{
    CUmemAllocationProp props;
    memset(&props, 0, sizeof props);
    props.type = (CUmemAllocationType)ONE_OF(1, 1, 1, 1, 1, 0);
    props.location.type = (CUmemLocationType)ONE_OF(1, 1, 1, 1, 1, 0);
    props.location.id = chance(15) ? 9 : 0;
    props.requestedHandleTypes = (CUmemAllocationHandleType)ONE_OF(0, 1, 1, 2);
    say(" type=%d location=%d,%d handles=%d", (int)props.type, (int)props.location.type,
        props.location.id, (int)props.requestedHandleTypes);
    return props;
}

static void create(void)
{
    CUmemGenericAllocationHandle handle = 0;
    struct object *allocation = vacant(ALLOCATION);
    size_t bytes = (size_t)ONE_OF(GRANULE, GRANULE, TWO_GRANULES, 4096, 0);
    NEED(allocation);
    say(" %s bytes=%zu", name_of(allocation), bytes);
    CUmemAllocationProp props = some_props();
    if (CALL(cuMemCreate, &handle, bytes, &props, chance(20)))
        return;
    born(allocation, handle, NULL);
    allocation->bytes = bytes;
    allocation->type = (int)props.requestedHandleTypes;
    allocation->physical = allocation->generation;
}

static void release(void)
{
    struct object *allocation = pick(ALLOCATION);
    NEED(allocation);
    say(" %s", name_of(allocation));
    END(allocation, cuMemRelease, allocation->handle);
}

static void reserve(void)
{
    CUdeviceptr address = 0;
    struct object *range = vacant(RANGE);
    size_t bytes = (size_t)ONE_OF(TWO_GRANULES, FOUR_GRANULES, FOUR_GRANULES, 4096, 0);
    size_t alignment = (size_t)ONE_OF(0, 0, GRANULE, 3);
    NEED(range);
    say(" %s bytes=%zu alignment=%zu", name_of(range), bytes, alignment);
    if (CALL(cuMemAddressReserve, &address, bytes, alignment, 0, 0))
        return;
    born(range, address, NULL);
    range->bytes = bytes;
}

static bool has_mapping(const struct object *range)
{
    for (int i = 0; i < slots_of(MEMORY); i++)
        if (slot_of(MEMORY, i)->is_live && slot_of(MEMORY, i)->parent == range)
            return true;
    return false;
}

static void free_range(void)
{
    struct object *range = pick(RANGE);
    NEED(range && (!has_mapping(range) || chance(5)));
    say(" %s", name_of(range));
    size_t bytes = chance(10) ? range->bytes / 2 : range->bytes;
    NEED(bytes == range->bytes ||
         has_mapping(range)); /* half of a range is freed by some drivers */
    CALL(cuMemAddressFree, range->handle, bytes);
    if (!has_mapping(range) && range->slot >= 0)
        dies(range);
}

static CUresult allow(CUdeviceptr address, size_t bytes, int flags)
{
    CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, (CUmemAccess_flags)flags };
    return CALL(cuMemSetAccess, address, bytes, &access, 1);
}

/* Mapped at two addresses it would have two names, and its order would be chance. */
static bool is_mapped(const struct object *allocation)
{
    for (int i = 0; i < slots_of(MEMORY); i++)
        if (slot_of(MEMORY, i)->is_live && allocation->physical &&
            slot_of(MEMORY, i)->physical == allocation->physical)
            return true;
    return false;
}

static void map(void)
{
    struct object *range = pick(RANGE), *allocation = pick(ALLOCATION), *memory = vacant(MEMORY);
    NEED(range && allocation && memory && !is_mapped(allocation));
    size_t offset = below(3) * GRANULE, skip = chance(15) ? 4096 : 0;
    say(" %s in %s+%zu of %s+%zu", name_of(memory), name_of(range), offset, name_of(allocation),
        skip);
    if (CALL(cuMemMap, range->handle + offset, allocation->bytes, skip, allocation->handle, 0))
        return;
    allow(range->handle + offset, allocation->bytes, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    new_memory(memory, MAPPED, range->handle + offset, allocation->bytes, legacy_stream());
    memory->parent = range;
    memory->physical = allocation->physical;
}

static void unmap(void)
{
    struct object *memory = pick_memory(MAPPED);
    NEED(memory);
    settle_all();
    size_t bytes = chance(10) ? 4096 : memory->bytes;
    say(" %s bytes=%zu", name_of(memory), bytes);
    if (!CALL(cuMemUnmap, memory->handle, bytes))
        dies(memory);
}

static void set_access(void)
{
    struct object *memory = pick_memory(MAPPED | (chance(8) ? DEVICE : MAPPED));
    NEED(memory);
    settle_all();
    say(" %s", name_of(memory));
    allow(memory->handle, memory->bytes, (int)ONE_OF(3, 3, 3, 7));
}

static void get_access(void)
{
    unsigned long long flags = 0;
    CUmemLocation location = { (CUmemLocationType)ONE_OF(1, 1, 1, 0), (int)ONE_OF(0, 0, 9) };
    struct object *memory = pick_memory(MAPPED | (chance(4) ? DEVICE : MAPPED));
    NEED(memory);
    say(" %s location=%d,%d", name_of(memory), (int)location.type, location.id);
    if (!CALL(cuMemGetAccess, &flags, &location, memory->handle))
        say(" flags=%llu", flags);
}

static void export_allocation(void)
{
    int descriptor = -1;
    CUmemGenericAllocationHandle handle = 0;
    struct object *allocation = pick(ALLOCATION), *again = vacant(ALLOCATION);
    CUmemAllocationHandleType type = (CUmemAllocationHandleType)ONE_OF(1, 1, 1, 2, 0);
    NEED(allocation && again);
    say(" %s as %d", name_of(allocation), (int)type);
    if (CALL(cuMemExportToShareableHandle, &descriptor, allocation->handle, type, 0))
        return;
    say(" %s", descriptor >= 0 ? "a descriptor" : "none");
    say(" %s", name_of(again));
    CUresult result = CALL(cuMemImportFromShareableHandle, &handle, HOST((long)descriptor), type);
    close(descriptor);
    if (result)
        return;
    born(again, handle, NULL);
    again->bytes = allocation->bytes;
    again->physical = allocation->physical;
    again->type = allocation->type;
}

static void retain(void)
{
    CUmemGenericAllocationHandle handle = 0;
    struct object *memory = pick_memory(MAPPED | (chance(8) ? DEVICE : MAPPED));
    struct object *allocation = vacant(ALLOCATION);
    NEED(memory && allocation);
    say(" %s of %s", name_of(allocation), name_of(memory));
    if (CALL(cuMemRetainAllocationHandle, &handle, HOST(memory->handle)))
        return;
    born(allocation, handle, NULL);
    allocation->bytes = memory->bytes;
    allocation->physical = memory->physical;
}

static void ask_props(void)
{
    CUmemAllocationProp props;
    size_t granularity = 0;
    struct object *allocation = pick(ALLOCATION);
    memset(&props, 0, sizeof props);
    if (allocation && chance(2)) {
        say(" %s", name_of(allocation));
        if (!CALL(cuMemGetAllocationPropertiesFromHandle, &props, allocation->handle))
            say(" type=%d location=%d,%d handles=%d compression=%d", (int)props.type,
                (int)props.location.type, props.location.id, (int)props.requestedHandleTypes,
                props.allocFlags.compressionType);
        return;
    }
    props = some_props();
    if (!CALL(cuMemGetAllocationGranularity, &granularity, &props,
              (CUmemAllocationGranularity_flags)below(3)))
        say(" %zu", granularity);
}

static const struct operation operations[] = {
    { "create", 20, create },
    { "release", 8, release },
    { "reserve", 15, reserve },
    { "free addresses", 4, free_range },
    { "map", 30, map },
    { "unmap", 8, unmap },
    { "set access", 6, set_access },
    { "access", 6, get_access },
    { "export and import", 5, export_allocation },
    { "retain", 5, retain },
    { "properties", 6, ask_props },
};

const struct area virtual_area = { "virtual", operations, COUNT(operations), 0 };
