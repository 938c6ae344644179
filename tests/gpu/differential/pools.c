/* Pools, and memory that is allocated and freed in a stream's order. */
#include "config.h"

#include "driver.h"

#include <string.h>
#include <unistd.h>

enum { MOST = 256 << 10 };

static void create(void)
{
    CUmemoryPool handle = NULL;
    CUmemPoolProps props;
    struct object *pool = vacant(POOL);
    NEED(pool);
    memset(&props, 0, sizeof props);
    props.allocType = (CUmemAllocationType)ONE_OF(1, 1, 1, 1, 0, 9);
    props.handleTypes = (CUmemAllocationHandleType)ONE_OF(0, 0, 1, 2);
    props.location.type = (CUmemLocationType)ONE_OF(1, 1, 1, 1, 0, 2);
    props.location.id = (int)ONE_OF(0, 0, 0, 0, 9);
    props.maxSize = (size_t)ONE_OF(0, 0, 1 << 20, 64 << 20);
    say(" %s type=%d handles=%d location=%d,%d most=%zu", name_of(pool), (int)props.allocType,
        (int)props.handleTypes, (int)props.location.type, props.location.id, props.maxSize);
    if (CALL(cuMemPoolCreate, &handle, &props))
        return;
    born(pool, HANDLE(handle), NULL);
    pool->type = (int)props.handleTypes;
}

static void get(void)
{
    CUmemoryPool handle = NULL;
    CUdevice device = (CUdevice)ONE_OF(0, 0, 0, 9);
    bool is_default = chance(2);
    struct object *pool = vacant(POOL);
    NEED(pool);
    say(" device=%d", device);
    CUresult result = is_default ? CALL(cuDeviceGetDefaultMemPool, &handle, device)
                                 : CALL(cuDeviceGetMemPool, &handle, device);
    if (result)
        return;
    for (int i = 0; i < slots_of(POOL); i++)
        if (slot_of(POOL, i)->is_live && slot_of(POOL, i)->handle == HANDLE(handle)) {
            say(" %s", name_of(slot_of(POOL, i)));
            return;
        }
    say(" %s", name_of(pool));
    born(pool, HANDLE(handle), NULL);
    pool->is_kept = true;
}

static void set(void)
{
    struct object *pool = pick(POOL);
    NEED(pool);
    say(" %s", name_of(pool));
    CALL(cuDeviceSetMemPool, (CUdevice)ONE_OF(0, 0, 0, 9), POOL_OF(pool));
}

static bool has_memory(const struct object *pool)
{
    for (int i = 0; i < slots_of(MEMORY); i++)
        if (slot_of(MEMORY, i)->is_live && slot_of(MEMORY, i)->parent == pool)
            return true;
    return false;
}

static void destroy(void)
{
    struct object *pool = pick(POOL);
    NEED(pool && !pool->is_kept && !has_memory(pool));
    settle_all();
    say(" %s", name_of(pool));
    END(pool, cuMemPoolDestroy, POOL_OF(pool));
}

static void allocate(void)
{
    CUdeviceptr address = 0;
    struct object *memory = vacant(MEMORY), *stream = pick(STREAM);
    struct object *pool = chance(2) ? pick(POOL) : NULL;
    size_t bytes = chance(15) ? 0 : 4 * (1 + below(MOST / 4));
    NEED(memory && stream);
    bool is_captured = is_stream_capturing(stream);
    say(" %s bytes=%zu %s %s", name_of(memory), bytes, name_of(stream),
        pool ? name_of(pool) : "its pool");
    CUresult result =
        pool ? CALL(cuMemAllocFromPoolAsync, &address, bytes, POOL_OF(pool), STREAM_OF(stream))
             : CALL(cuMemAllocAsync, &address, bytes, STREAM_OF(stream));
    if (result || is_captured) /* a graph's memory is there only while the graph runs */
        return;
    new_memory(memory, POOLED, address, bytes, stream);
    memory->parent = pool && pool->kind == POOL ? pool : NULL;
}

static void free_memory(void)
{
    struct object *memory = pick_memory(POOLED), *stream = pick(STREAM);
    NEED(memory && stream && !is_stream_capturing(stream) && use(memory, stream));
    say(" %s %s", name_of(memory), name_of(stream));
    if (!CALL(cuMemFreeAsync, memory->handle, STREAM_OF(stream)))
        dies(memory);
}

/* Memory of another kind, or freed as another kind. */
static void free_wrongly(void)
{
    struct object *memory = pick_memory(DEVICE | POOLED), *stream = pick(STREAM);
    NEED(memory && stream && !is_stream_capturing(stream));
    settle(memory);
    say(" %s %s", name_of(memory), name_of(stream));
    CUresult result = memory->type == POOLED
                          ? CALL(cuMemFree_v2, memory->handle)
                          : CALL(cuMemFreeAsync, memory->handle, STREAM_OF(stream));
    if (!result)
        dies(memory);
}

static void free_nothing(void)
{
    struct object *stream = pick(STREAM);
    CUdeviceptr address = (CUdeviceptr)ONE_OF(0, 0x1000);
    NEED(stream);
    say(" %llx %s", address, name_of(stream));
    CALL(cuMemFreeAsync, address, STREAM_OF(stream));
}

/* The driver chooses how much it reserves. */
static void ask(void)
{
    uint64_t value = 0;
    struct object *pool = pick(POOL);
    CUmemPool_attribute attribute = (CUmemPool_attribute)below(10);
    NEED(pool);
    settle_all();
    say(" %d of %s", (int)attribute, name_of(pool));
    if (CALL(cuMemPoolGetAttribute, POOL_OF(pool), attribute, &value))
        return;
    if (attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        say(" %u", (unsigned int)value);
    else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
        say(" %llu", (unsigned long long)value);
}

static void change(void)
{
    uint64_t value = (uint64_t)ONE_OF(0, 0, 1, 1 << 20, -1);
    struct object *pool = pick(POOL);
    CUmemPool_attribute attribute = (CUmemPool_attribute)below(10);
    NEED(pool);
    say(" %d of %s: %llu", (int)attribute, name_of(pool), (unsigned long long)value);
    CALL(cuMemPoolSetAttribute, POOL_OF(pool), attribute, &value);
}

static void ask_access(void)
{
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUmemLocation location = { (CUmemLocationType)ONE_OF(1, 1, 1, 0, 2), (int)ONE_OF(0, 0, 9) };
    CUmemAccessDesc wanted = { location, (CUmemAccess_flags)ONE_OF(3, 3, 1, 0, 7) };
    struct object *pool = pick(POOL);
    NEED(pool);
    say(" %s location=%d,%d", name_of(pool), (int)location.type, location.id);
    if (chance(2)) {
        say(" flags=%d", (int)wanted.flags);
        CALL(cuMemPoolSetAccess, POOL_OF(pool), &wanted, 1);
    } else if (!CALL(cuMemPoolGetAccess, &flags, POOL_OF(pool), &location)) {
        say(" flags=%d", (int)flags);
    }
}

static void trim(void)
{
    struct object *pool = pick(POOL);
    size_t bytes = (size_t)ONE_OF(0, 0, 1 << 20);
    NEED(pool);
    settle_all();
    say(" %s to %zu", name_of(pool), bytes);
    CALL(cuMemPoolTrimTo, POOL_OF(pool), bytes);
}

static void export_pool(void)
{
    int descriptor = -1;
    struct object *pool = pick_live(POOL);
    NEED(pool);
    say(" %s handles=%d", name_of(pool), pool->type);
    if (!CALL(cuMemPoolExportToShareableHandle, &descriptor, POOL_OF(pool),
              CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) &&
        descriptor >= 0)
        close(descriptor);
}

static void ask_graph_memory(void)
{
    uint64_t value = 0;
    CUgraphMem_attribute attribute = (CUgraphMem_attribute)below(5);
    CUdevice device = (CUdevice)ONE_OF(0, 0, 9);
    settle_all();
    say(" %d of device %d", (int)attribute, device);
    if (chance(3))
        CALL(cuDeviceSetGraphMemAttribute, device, attribute, &value);
    else if (chance(3))
        CALL(cuDeviceGraphMemTrim, device);
    else
        CALL(cuDeviceGetGraphMemAttribute, device, attribute, &value); /* the driver's choice */
}

static const struct operation operations[] = {
    { "create", 10, create },
    { "get", 8, get },
    { "set", 3, set },
    { "destroy", 4, destroy },
    { "allocate", 40, allocate },
    { "free", 25, free_memory },
    { "free wrongly", 3, free_wrongly },
    { "free nothing", 2, free_nothing },
    { "attribute", 8, ask },
    { "set attribute", 6, change },
    { "access", 6, ask_access },
    { "trim", 4, trim },
    { "export", 3, export_pool },
    { "graph memory", 3, ask_graph_memory },
};

const struct area pool_area = { "pools", operations, COUNT(operations), 0 };
