/* Events: making, recording, waiting for them, and the time between two. */
#include "config.h"

#include "driver.h"

static void create(void)
{
    CUevent handle = NULL;
    struct object *event = vacant(EVENT);
    unsigned int flags = (unsigned int)ONE_OF(0, 0, 1, 2, 3, 4, 6, 7, 8);
    NEED(event);
    say(" %s flags=%u", name_of(event), flags);
    if (CALL(cuEventCreate, &handle, flags))
        return;
    born(event, HANDLE(handle), NULL);
    event->type = (int)flags;
}

static void destroy(void)
{
    struct object *event = pick(EVENT);
    NEED(event);
    say(" %s", name_of(event));
    END(event, cuEventDestroy_v2, EVENT_OF(event));
}

static void record(void)
{
    struct object *event = pick(EVENT), *stream = pick(STREAM);
    NEED(event && stream);
    say(" %s %s", name_of(event), name_of(stream));
    CALL(cuEventRecord, EVENT_OF(event), STREAM_OF(stream));
}

static void record_with_flags(void)
{
    struct object *event = pick(EVENT), *stream = pick(STREAM);
    unsigned int flags = (unsigned int)ONE_OF(0, 1, 1, 2);
    NEED(event && stream);
    say(" %s %s flags=%u", name_of(event), name_of(stream), flags);
    CALL(cuEventRecordWithFlags, EVENT_OF(event), STREAM_OF(stream), flags);
}

static void wait(void)
{
    struct object *event = pick(EVENT), *stream = pick(STREAM);
    unsigned int flags = (unsigned int)ONE_OF(0, 0, 0, 1, 2, 9);
    NEED(event && stream);
    say(" %s %s flags=%u", name_of(stream), name_of(event), flags);
    CALL(cuStreamWaitEvent, STREAM_OF(stream), EVENT_OF(event), flags);
}

static void synchronize(void)
{
    struct object *event = pick(EVENT);
    NEED(event);
    say(" %s", name_of(event));
    CALL(cuEventSynchronize, EVENT_OF(event));
}

/* Whether it has happened is known only behind a wait. */
static void query(void)
{
    struct object *event = pick(EVENT);
    NEED(event);
    say(" %s", name_of(event));
    if (!CALL(cuEventSynchronize, EVENT_OF(event)))
        CALL(cuEventQuery, EVENT_OF(event));
}

static void ask_time(void)
{
    float ms = -1;
    struct object *first = pick(EVENT), *last = pick(EVENT);
    NEED(first && last);
    say(" %s to %s", name_of(first), name_of(last));
    if (first->slot >= 0 && CALL(cuEventSynchronize, EVENT_OF(first)))
        return;
    if (last->slot >= 0 && CALL(cuEventSynchronize, EVENT_OF(last)))
        return;
    CALL(cuEventElapsedTime_v2, &ms, EVENT_OF(first), EVENT_OF(last)); /* the time is chance */
}

static const struct operation operations[] = {
    { "create", 20, create }, { "destroy", 6, destroy },
    { "record", 25, record }, { "record with flags", 5, record_with_flags },
    { "wait", 20, wait },     { "synchronize", 10, synchronize },
    { "query", 6, query },    { "elapsed time", 6, ask_time },
};

const struct area event_area = { "events", operations, COUNT(operations), ALWAYS };
