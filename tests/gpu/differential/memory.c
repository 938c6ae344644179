/* Memory of the device and of the host: allocating, freeing, sets, plain copies, questions. */
#include "config.h"

#include "driver.h"

#include <stdlib.h>

enum { MOST = 256 << 10, LARGE = 9 << 20, ASYNC_MOST = 1 << 20 };

/* ---- sizes ---- */

static size_t some_bytes(void)
{
    if (chance(40))
        return LARGE;
    if (chance(25))
        return (size_t)ONE_OF(0, 1, 3, 5);
    return (1 + below(MOST / 256)) * (size_t)ONE_OF(4, 64, 256);
}

static CUdeviceptr wrong_address(void)
{
    return (CUdeviceptr)ONE_OF(0, 1, 0x1000, 0x7fff00000000000);
}

/* ---- allocating and freeing ---- */

static void allocate(void)
{
    CUdeviceptr address = 0;
    struct object *memory = vacant(MEMORY);
    size_t bytes = some_bytes();
    NEED(memory);
    say(" %s bytes=%zu", name_of(memory), bytes);
    if (!CALL(cuMemAlloc_v2, &address, bytes))
        new_memory(memory, DEVICE, address, bytes, legacy_stream());
}

static void allocate_pitched(void)
{
    CUdeviceptr address = 0;
    size_t pitch = 0, width = 4 + below(700), height = 1 + below(40);
    unsigned int element = (unsigned int)ONE_OF(4, 8, 16, 4, 3, 0);
    struct object *memory = vacant(MEMORY);
    NEED(memory);
    say(" %s width=%zu height=%zu element=%u", name_of(memory), width, height, element);
    if (CALL(cuMemAllocPitch_v2, &address, &pitch, width, height, element))
        return;
    say(" pitch=%zu", pitch);
    new_memory(memory, DEVICE, address, pitch * height, legacy_stream());
    memory->pitch = pitch;
}

static void allocate_pinned(void)
{
    void *address = NULL;
    struct object *memory = vacant(MEMORY);
    size_t bytes = some_bytes();
    unsigned int flags = (unsigned int)ONE_OF(0, 1, 2, 3, 4, 7, 8, 0x80);
    NEED(memory);
    say(" %s bytes=%zu flags=%u", name_of(memory), bytes, flags);
    if (!CALL(cuMemHostAlloc, &address, bytes, flags))
        new_memory(memory, PINNED, HANDLE(address), bytes, NULL);
}

static void allocate_managed(void)
{
    CUdeviceptr address = 0;
    struct object *memory = vacant(MEMORY);
    size_t bytes = some_bytes();
    unsigned int flags = (unsigned int)ONE_OF(1, 1, 1, 2, 0, 3, 4);
    NEED(memory);
    say(" %s bytes=%zu flags=%u", name_of(memory), bytes, flags);
    if (!CALL(cuMemAllocManaged, &address, bytes, flags))
        new_memory(memory, MANAGED, address, bytes, legacy_stream());
}

static void free_memory(void)
{
    struct object *memory = pick_memory(DEVICE | MANAGED | PINNED);
    NEED(memory && !memory->is_kept);
    settle(memory);
    say(" %s", name_of(memory));
    if (memory->type == PINNED)
        END(memory, cuMemFreeHost, HOST(memory->handle));
    else
        END(memory, cuMemFree_v2, memory->handle);
}

/* An address within memory, the wrong function for it, or none at all. */
static void free_wrongly(void)
{
    struct object *memory = pick_memory(DEVICE | MANAGED | MAPPED | PINNED | PAGEABLE);
    NEED(memory);
    settle(memory);
    switch (below(3)) {
    case 0:
        say(" %s+4", name_of(memory));
        CALL(cuMemFree_v2, memory->handle + 4);
        break;
    case 1:
        NEED(memory->type & ~PINNED);
        say(" %s as host memory", name_of(memory));
        CALL(cuMemFreeHost, HOST(memory->handle));
        break;
    default:
        NEED(memory->type & ON_HOST);
        say(" %s as device memory", name_of(memory));
        CALL(cuMemFree_v2, memory->handle);
    }
}

static void free_nothing(void)
{
    CUdeviceptr address = wrong_address();
    say(" %llx", address);
    CALL(cuMemFree_v2, address);
}

/* ---- registered memory ---- */

static void register_memory(void)
{
    struct object *memory = pick_memory(PAGEABLE | (chance(8) ? PINNED : 0));
    unsigned int flags = (unsigned int)ONE_OF(0, 1, 2, 3, 8, 16, 2);
    NEED(memory);
    size_t offset = below(3) * 4096, bytes = (size_t)ONE_OF(4096, 8192, 65536, 100, 0);
    say(" %s+%zu:%zu flags=%u", name_of(memory), offset, bytes, flags);
    settle(memory);
    CALL(cuMemHostRegister_v2, HOST(memory->handle + offset), bytes, flags);
}

static void unregister_memory(void)
{
    struct object *memory = pick_memory(PAGEABLE);
    NEED(memory);
    size_t offset = below(3) * 4096;
    say(" %s+%zu", name_of(memory), offset);
    settle(memory);
    CALL(cuMemHostUnregister, HOST(memory->handle + offset));
}

static void ask_device_pointer(void)
{
    CUdeviceptr address = 0;
    struct object *memory = pick_memory(ON_HOST | DEVICE | MANAGED);
    unsigned int flags = chance(6);
    NEED(memory);
    size_t offset = below(memory->bytes / 2 + 1);
    say(" %s+%zu flags=%u", name_of(memory), offset, flags);
    if (!CALL(cuMemHostGetDevicePointer_v2, &address, HOST(memory->handle + offset), flags))
        say(" %s", name_of_address(address));
}

static void ask_host_flags(void)
{
    unsigned int flags = 0;
    struct object *memory = pick_memory(ON_HOST | DEVICE | MANAGED);
    NEED(memory);
    say(" %s", name_of(memory));
    if (!CALL(cuMemHostGetFlags, &flags, HOST(memory->handle)))
        say(" flags=%u", flags);
}

/* ---- sets ---- */

static void set(void)
{
    struct part to = pick_part(ON_DEVICE | MANAGED | PINNED, LARGE);
    unsigned int value = (unsigned int)any();
    NEED(to.memory && use(to.memory, legacy_stream()));
    say(" %s value=%x", name_of_part(&to), value);
    switch (below(3)) {
    case 0:
        CALL(cuMemsetD8_v2, to.address, (unsigned char)value, to.bytes);
        break;
    case 1:
        CALL(cuMemsetD16_v2, to.address, (unsigned short)value, to.bytes / 2);
        break;
    default:
        CALL(cuMemsetD32_v2, to.address, value, to.bytes / 4);
    }
}

static void set_in_stream(void)
{
    struct part to = pick_part(ON_DEVICE | MANAGED | PINNED, LARGE);
    struct object *stream = pick(STREAM);
    unsigned int value = (unsigned int)any();
    NEED(to.memory && stream && use(to.memory, stream));
    say(" %s value=%x %s", name_of_part(&to), value, name_of(stream));
    switch (below(3)) {
    case 0:
        CALL(cuMemsetD8Async, to.address, (unsigned char)value, to.bytes, STREAM_OF(stream));
        break;
    case 1:
        CALL(cuMemsetD16Async, to.address, (unsigned short)value, to.bytes / 2, STREAM_OF(stream));
        break;
    default:
        CALL(cuMemsetD32Async, to.address, value, to.bytes / 4, STREAM_OF(stream));
    }
}

static void set_rows(void)
{
    struct object *memory = pick_memory(ON_DEVICE | MANAGED), *stream = pick(STREAM);
    NEED(memory && stream && use(memory, stream));
    size_t pitch = memory->pitch ? memory->pitch : (size_t)ONE_OF(64, 256, 100, 512);
    size_t width = 1 + below(pitch / 4 + (chance(10) ? 9 : 0)), height = memory->bytes / pitch;
    unsigned int value = (unsigned int)any();
    if (height)
        height = 1 + below(height);
    NEED(width * 4 <= pitch || pitch * height + 64 < memory->bytes);
    say(" %s pitch=%zu value=%x width=%zu height=%zu %s", name_of(memory), pitch, value, width,
        height, name_of(stream));
    switch (below(3)) {
    case 0:
        CALL(cuMemsetD2D8Async, memory->handle, pitch, (unsigned char)value, width, height,
             STREAM_OF(stream));
        break;
    case 1:
        CALL(cuMemsetD2D16Async, memory->handle, pitch, (unsigned short)value, width, height,
             STREAM_OF(stream));
        break;
    default:
        CALL(cuMemsetD2D32Async, memory->handle, pitch, value, width, height, STREAM_OF(stream));
    }
}

static void set_wrongly(void)
{
    struct object *memory = pick_memory(ON_DEVICE);
    NEED(memory);
    settle(memory);
    CUdeviceptr address = chance(2) ? wrong_address() : memory->handle + ((uint64_t)1 << 42);
    say(" %s", address > memory->handle ? "far beyond" : "no memory");
    CALL(cuMemsetD8_v2, address, 1, 64);
}

/* ---- what the program does to host memory ---- */

static void write_host(void)
{
    struct part to = pick_part(ON_HOST | MANAGED, MOST);
    unsigned char value = (unsigned char)any();
    NEED(to.memory);
    settle(to.memory);
    NEED(to.memory->type != MANAGED); /* while the device is idle only, see write_managed() */
    say(" %s value=%x", name_of_part(&to), value);
    for (size_t i = 0; i < to.bytes; i++)
        ((unsigned char *)HOST(to.address))[i] = (unsigned char)(value + i);
}

/* Without concurrent access the program may touch managed memory only while the device is idle
 * (CUDA C++ programming guide, "Coherency and concurrency"). */
static void write_managed(void)
{
    struct object *memory = pick_memory(MANAGED);
    unsigned char value = (unsigned char)any();
    NEED(memory);
    settle_all();
    say(" %s value=%x", name_of(memory), value);
    if (CALL(cuCtxSynchronize))
        return;
    uint64_t before = hash_of(HOST(memory->handle), memory->bytes);
    for (size_t i = 0; i < memory->bytes; i += 16)
        ((unsigned char *)HOST(memory->handle))[i] = value;
    say(" before=%08x", (unsigned int)before);
}

/* ---- questions ---- */

static void ask_range(void)
{
    CUdeviceptr base = 0;
    size_t bytes = 0;
    struct object *memory = pick_memory(ON_DEVICE | MANAGED | ON_HOST);
    NEED(memory);
    size_t offset = below(memory->bytes + 1);
    NEED(offset < memory->bytes);
    say(" %s+%zu", name_of(memory), offset);
    if (!CALL(cuMemGetAddressRange_v2, &base, &bytes, memory->handle + offset))
        say(" %s bytes=%zu", name_of_address(base), bytes);
}

static void ask_memory_left(void)
{
    size_t unused = 0, total = 0;
    if (!CALL(cuMemGetInfo_v2, &unused, &total))
        say(" total=%zu", total); /* what is free depends on others */
}

static void say_pointer_value(CUpointer_attribute attribute, uint64_t value)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        say(" %s", name_of_handle(CONTEXT, value));
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        say(" %s", name_of_address(value));
        break;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        say(" %s", name_of_handle(POOL, value));
        break;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: /* numbers that the driver counts up */
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        say(" %s", value ? "some" : "none");
        break;
    default:
        say(" %llu", (unsigned long long)value);
    }
}

static void ask_pointer(void)
{
    uint64_t value[2] = { 0, 0 };
    CUpointer_attribute attribute = (CUpointer_attribute)(1 + below(23));
    struct object *memory = pick_memory(ON_DEVICE | MANAGED | ON_HOST);
    NEED(memory);
    CUdeviceptr address = memory->handle + below(memory->bytes + 1) / 2;
    say(" %d of %s", (int)attribute, name_of_address(address));
    if (!CALL(cuPointerGetAttribute, value, attribute, address))
        say_pointer_value(attribute, value[0]);
}

static void ask_pointer_for_several(void)
{
    enum { ASKED = 4 };
    uint64_t values[ASKED][2] = { { 0 } };
    CUpointer_attribute attributes[ASKED];
    void *places[ASKED];
    struct object *memory = pick_memory(ON_DEVICE | MANAGED | ON_HOST);
    NEED(memory);
    CUdeviceptr address = chance(8) ? wrong_address() : memory->handle;
    for (int i = 0; i < ASKED; i++) {
        attributes[i] = (CUpointer_attribute)ONE_OF(1, 2, 3, 4, 8, 9, 11, 12, 13, 16, 17);
        places[i] = values[i];
        say(" %d", (int)attributes[i]);
    }
    say(" of %s", name_of_address(address));
    if (CALL(cuPointerGetAttributes, ASKED, attributes, places, address))
        return;
    for (int i = 0; i < ASKED; i++)
        say_pointer_value(attributes[i], values[i][0]);
}

static void set_pointer(void)
{
    unsigned int value = (unsigned int)below(2);
    struct object *memory = pick_memory(ON_DEVICE | MANAGED | ON_HOST);
    CUpointer_attribute attribute =
        chance(4) ? (CUpointer_attribute)below(22) : CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
    NEED(memory);
    say(" %s %d=%u", name_of(memory), (int)attribute, value);
    CALL(cuPointerSetAttribute, &value, attribute, memory->handle);
}

/* ---- managed memory ---- */

static void advise(void)
{
    struct part part = pick_part(MANAGED | (chance(6) ? ON_DEVICE : MANAGED), MOST);
    CUmem_advise advice = (CUmem_advise)below(8);
    CUmemLocation location = { (CUmemLocationType)ONE_OF(1, 1, 2, 3, 0), (int)ONE_OF(0, 0, 0, 9) };
    NEED(part.memory);
    settle(part.memory);
    say(" %s advice=%d location=%d,%d", name_of_part(&part), (int)advice, (int)location.type,
        location.id);
    CALL(cuMemAdvise_v2, part.address, part.bytes, advice, location);
}

static void prefetch(void)
{
    struct part part = pick_part(MANAGED | (chance(6) ? ON_DEVICE : MANAGED), MOST);
    struct object *stream = pick(STREAM);
    CUmemLocation location = { (CUmemLocationType)ONE_OF(1, 1, 2, 3, 0), (int)ONE_OF(0, 0, 0, 9) };
    NEED(part.memory && stream && use(part.memory, stream));
    say(" %s location=%d,%d %s", name_of_part(&part), (int)location.type, location.id,
        name_of(stream));
    CALL(cuMemPrefetchAsync_v2, part.address, part.bytes, location, 0, STREAM_OF(stream));
}

static void ask_managed_range(void)
{
    int value = -7;
    struct part part = pick_part(MANAGED | (chance(6) ? ON_DEVICE : MANAGED), MOST);
    CUmem_range_attribute attribute = (CUmem_range_attribute)below(10);
    NEED(part.memory);
    settle(part.memory);
    say(" %d of %s", (int)attribute, name_of_part(&part));
    if (!CALL(cuMemRangeGetAttribute, &value, sizeof value, attribute, part.address, part.bytes))
        say(" %d", value);
}

static void attach(void)
{
    struct object *memory = pick_memory(MANAGED), *stream = pick(STREAM);
    unsigned int flags = (unsigned int)ONE_OF(1, 2, 4, 4, 0, 8);
    NEED(memory && stream);
    settle_all();
    say(" %s %s flags=%u", name_of(memory), name_of(stream), flags);
    CALL(cuStreamAttachMemAsync, STREAM_OF(stream), memory->handle, 0, flags);
}

static const struct operation operations[] = {
    { "allocate", 40, allocate },
    { "allocate pitched", 10, allocate_pitched },
    { "allocate pinned", 20, allocate_pinned },
    { "allocate managed", 10, allocate_managed },
    { "free", 25, free_memory },
    { "free wrongly", 5, free_wrongly },
    { "free nothing", 2, free_nothing },
    { "register", 10, register_memory },
    { "unregister", 6, unregister_memory },
    { "device pointer", 6, ask_device_pointer },
    { "host flags", 4, ask_host_flags },
    { "set", 15, set },
    { "set in a stream", 25, set_in_stream },
    { "set rows", 8, set_rows },
    { "set wrongly", 3, set_wrongly },
    { "write host memory", 15, write_host },
    { "write managed memory", 5, write_managed },
    { "address range", 6, ask_range },
    { "memory left", 2, ask_memory_left },
    { "pointer attribute", 12, ask_pointer },
    { "pointer attributes", 5, ask_pointer_for_several },
    { "set pointer attribute", 4, set_pointer },
    { "advise", 4, advise },
    { "prefetch", 4, prefetch },
    { "range attribute", 4, ask_managed_range },
    { "attach", 2, attach },
};

const struct area memory_area = { "memory", operations, COUNT(operations), ALWAYS };
