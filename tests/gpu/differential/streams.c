/* Streams: making and ending, questions, host functions, values in memory. */
#include "config.h"

#include "driver.h"

#include <string.h>

static void create(void)
{
    CUstream handle = NULL;
    struct object *stream = vacant(STREAM);
    unsigned int flags = (unsigned int)ONE_OF(0, 1, 1, 0, 1, 2);
    NEED(stream);
    say(" %s flags=%u", name_of(stream), flags);
    if (!CALL(cuStreamCreate, &handle, flags))
        born(stream, HANDLE(handle), NULL);
}

static void create_with_priority(void)
{
    CUstream handle = NULL;
    struct object *stream = vacant(STREAM);
    unsigned int flags = (unsigned int)ONE_OF(0, 1);
    int priority = (int)ONE_OF(0, -1, -2, -5, -100, 3);
    NEED(stream);
    say(" %s flags=%u priority=%d", name_of(stream), flags, priority);
    if (!CALL(cuStreamCreateWithPriority, &handle, flags, priority))
        born(stream, HANDLE(handle), NULL);
}

static void destroy(void)
{
    struct object *stream = pick(STREAM);
    NEED(stream && (!stream->is_kept || chance(10)));
    settle_stream(stream);
    NEED(!is_stream_capturing(stream)); /* ending a capture so leaves its graph to the driver */
    say(" %s", name_of(stream));
    if (stream->is_kept)
        CALL(cuStreamDestroy_v2, STREAM_OF(stream));
    else
        END(stream, cuStreamDestroy_v2, STREAM_OF(stream));
}

static void synchronize(void)
{
    struct object *stream = pick(STREAM);
    NEED(stream);
    say(" %s", name_of(stream));
    CALL(cuStreamSynchronize, STREAM_OF(stream));
}

/* Whether work is done is known only behind a wait. */
static void query(void)
{
    struct object *stream = pick(STREAM);
    NEED(stream);
    settle_all();
    say(" %s", name_of(stream));
    if (!CALL(cuStreamSynchronize, STREAM_OF(stream)))
        CALL(cuStreamQuery, STREAM_OF(stream));
}

static void ask(void)
{
    struct object *stream = pick(STREAM);
    NEED(stream);
    unsigned int flags = 0;
    int priority = 0;
    CUdevice device = -5;
    CUcontext context = NULL;
    unsigned long long id = 0;
    say(" %s", name_of(stream));
    switch (below(5)) {
    case 0:
        if (!CALL(cuStreamGetFlags, STREAM_OF(stream), &flags))
            say(" flags=%u", flags);
        break;
    case 1:
        if (!CALL(cuStreamGetPriority, STREAM_OF(stream), &priority))
            say(" priority=%d", priority);
        break;
    case 2:
        if (!CALL(cuStreamGetDevice, STREAM_OF(stream), &device))
            say(" device=%d", device);
        break;
    case 3:
        if (!CALL(cuStreamGetCtx, STREAM_OF(stream), &context))
            say(" %s", name_of_handle(CONTEXT, HANDLE(context)));
        break;
    default: /* numbers that the driver counts up, also for streams that aitherion keeps in stock */
        if (!CALL(cuStreamGetId, STREAM_OF(stream), &id))
            say(" %s", id ? "some" : "none");
    }
}

/* ---- attributes ---- */

static CUstreamAttrValue some_value(CUstreamAttrID id)
{
    CUstreamAttrValue value;
    memset(&value, 0, sizeof value);
    if (id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
        value.syncPolicy = (CUsynchronizationPolicy)(1 + below(5));
    else if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        value.priority = (int)ONE_OF(0, -1, -3, 7);
    else if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN)
        value.memSyncDomain = (CUlaunchMemSyncDomain)below(3);
    else if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP)
        value.memSyncDomainMap =
            (CUlaunchMemSyncDomainMap){ (unsigned char)below(3), (unsigned char)below(3) };
    return value;
}

static void set_attribute(void)
{
    struct object *stream = pick(STREAM);
    CUstreamAttrID id = (CUstreamAttrID)ONE_OF(1, 3, 3, 8, 8, 9, 10, 2, 4, 99);
    NEED(stream);
    CUstreamAttrValue value = some_value(id);
    say(" %s %d=%d", name_of(stream), (int)id, value.priority);
    CALL(cuStreamSetAttribute, STREAM_OF(stream), id, &value);
}

static void get_attribute(void)
{
    CUstreamAttrValue value;
    struct object *stream = pick(STREAM);
    CUstreamAttrID id = (CUstreamAttrID)ONE_OF(1, 3, 3, 8, 8, 9, 10, 2, 4, 99);
    NEED(stream);
    memset(&value, 0, sizeof value);
    say(" %s %d", name_of(stream), (int)id);
    if (!CALL(cuStreamGetAttribute, STREAM_OF(stream), id, &value))
        say(" %d", value.priority);
}

static void copy_attributes(void)
{
    struct object *to = pick(STREAM), *from = pick(STREAM);
    NEED(to && from);
    say(" %s from %s", name_of(to), name_of(from));
    CALL(cuStreamCopyAttributes, STREAM_OF(to), STREAM_OF(from));
}

/* ---- host functions: their order in a stream is seen in a pageable memory ---- */

static struct note {
    struct object *memory;
    unsigned int value;
} notes[256];
static unsigned int last_note;

static void take_note(void *of)
{
    struct note *note = of;
    unsigned int *word = HOST(note->memory->handle);
    *word = *word * 31 + note->value;
}

static void take_note_of_stream(CUstream stream, CUresult status, void *of)
{
    (void)stream;
    ((struct note *)of)->value += (unsigned int)status;
    take_note(of);
}

static struct note *new_note(struct object *memory)
{
    struct note *note = &notes[last_note++ % COUNT(notes)];
    *note = (struct note){ memory, (unsigned int)below(1000) };
    return note;
}

static void call_host(void)
{
    struct object *stream = pick(STREAM), *memory = pick_memory(PAGEABLE);
    NEED(stream && memory && last_note < COUNT(notes) && use(memory, stream));
    struct note *note = new_note(memory);
    say(" %s %s value=%u", name_of(stream), name_of(memory), note->value);
    CALL(cuLaunchHostFunc, STREAM_OF(stream), take_note, note);
}

static void add_callback(void)
{
    struct object *stream = pick(STREAM), *memory = pick_memory(PAGEABLE);
    unsigned int flags = chance(8);
    NEED(stream && memory && last_note < COUNT(notes) && use(memory, stream));
    struct note *note = new_note(memory);
    say(" %s %s value=%u flags=%u", name_of(stream), name_of(memory), note->value, flags);
    CALL(cuStreamAddCallback, STREAM_OF(stream), take_note_of_stream, note, flags);
}

/* ---- values in memory ---- */

static void write_value(void)
{
    struct object *stream = pick(STREAM);
    struct part to = pick_part(ON_DEVICE | MANAGED | PINNED, 8);
    unsigned int flags = (unsigned int)ONE_OF(0, 0, 1, 2);
    uint64_t value = any();
    NEED(stream && to.memory && use(to.memory, stream));
    CUdeviceptr at = to.address & ~(CUdeviceptr)7;
    NEED(at >= to.memory->handle && at + 8 <= to.memory->handle + to.memory->bytes);
    say(" %s %s=%llx flags=%u", name_of(stream), name_of_address(at), (unsigned long long)value,
        flags);
    if (chance(2))
        CALL(cuStreamWriteValue32_v2, STREAM_OF(stream), at, (uint32_t)value, flags);
    else
        CALL(cuStreamWriteValue64_v2, STREAM_OF(stream), at, value, flags);
}

/* The value is there already: a stream that waits forever would stop the run. */
static void wait_for_value(void)
{
    struct object *stream = pick(STREAM);
    struct part at = pick_part(ON_DEVICE | PINNED, 4);
    NEED(stream && at.memory && !is_stream_capturing(stream) && use(at.memory, stream));
    at.address &= ~(CUdeviceptr)3;
    NEED(at.address >= at.memory->handle && at.memory->bytes >= 4 &&
         at.address + 4 <= at.memory->handle + at.memory->bytes);
    say(" %s %s", name_of(stream), name_of_address(at.address));
    if (!CALL(cuStreamWriteValue32_v2, STREAM_OF(stream), at.address, 77, 0))
        CALL(cuStreamWaitValue32_v2, STREAM_OF(stream), at.address, (uint32_t)ONE_OF(77, 70, 0),
             CU_STREAM_WAIT_VALUE_GEQ);
}

static void do_value_operations(void)
{
    CUstreamBatchMemOpParams operations[3];
    struct object *stream = pick(STREAM), *memory = pick_memory(ON_DEVICE | PINNED);
    unsigned int count = (unsigned int)ONE_OF(1, 2, 3, 3, 0), flags = chance(12);
    NEED(stream && memory && memory->bytes >= 64 && use(memory, stream));
    memset(operations, 0, sizeof operations);
    say(" %s %s count=%u flags=%u:", name_of(stream), name_of(memory), count, flags);
    for (unsigned int i = 0; i < COUNT(operations); i++) {
        operations[i].operation = (CUstreamBatchMemOpType)ONE_OF(2, 2, 5, 6, 9);
        operations[i].writeValue.address = memory->handle + (CUdeviceptr)i * 8;
        operations[i].writeValue.value64 = any();
        if (operations[i].operation == CU_STREAM_MEM_OP_BARRIER)
            memset(&operations[i].writeValue.address, 0, sizeof operations[i] - 8);
        say(" %d", (int)operations[i].operation);
    }
    CALL(cuStreamBatchMemOp_v2, STREAM_OF(stream), count, operations, flags);
}

static const struct operation operations[] = {
    { "create", 25, create },
    { "create with priority", 12, create_with_priority },
    { "destroy", 10, destroy },
    { "synchronize", 15, synchronize },
    { "query", 5, query },
    { "ask", 10, ask },
    { "set attribute", 5, set_attribute },
    { "get attribute", 5, get_attribute },
    { "copy attributes", 2, copy_attributes },
    { "host function", 8, call_host },
    { "callback", 4, add_callback },
    { "write a value", 5, write_value },
    { "wait for a value", 3, wait_for_value },
    { "several values", 3, do_value_operations },
};

const struct area stream_area = { "streams", operations, COUNT(operations), ALWAYS };
