/* Sharing between processes, seen by one process. */
#include "config.h"

#include "driver.h"

#include <string.h>

static void export_memory(void)
{
    CUipcMemHandle handle;
    CUdeviceptr address = 0;
    struct object *memory = pick_memory(ON_DEVICE | MANAGED | ON_HOST);
    unsigned int flags = (unsigned int)ONE_OF(1, 1, 0, 2);
    NEED(memory);
    settle_all();
    memset(&handle, 0, sizeof handle);
    say(" %s flags=%u", name_of(memory), flags);
    if (!CALL(cuIpcGetMemHandle, &handle, memory->handle))
        CALL(cuIpcOpenMemHandle_v2, &address, handle, flags); /* by the process that exported it */
}

static void open_nonsense(void)
{
    CUipcMemHandle memory;
    CUipcEventHandle event;
    CUdeviceptr address = 0;
    CUevent opened = NULL;
    memset(&memory, (int)ONE_OF(0, 0x5a), sizeof memory);
    memset(&event, (int)ONE_OF(0, 0x5a), sizeof event);
    NEED(takes_risk(RISK_FOREIGN)); /* a driver may take the bytes for its own */
    if (chance(2))
        CALL(cuIpcOpenMemHandle_v2, &address, memory, 1);
    else
        CALL(cuIpcOpenEventHandle, &opened, event);
}

static void close_memory(void)
{
    struct object *memory = pick_memory(ON_DEVICE | MANAGED);
    NEED(memory);
    settle_all();
    say(" %s", name_of(memory));
    CALL(cuIpcCloseMemHandle, memory->handle);
}

static void export_event(void)
{
    CUipcEventHandle handle;
    CUevent opened = NULL;
    struct object *event = pick(EVENT);
    NEED(event);
    memset(&handle, 0, sizeof handle);
    say(" %s", name_of(event));
    if (!CALL(cuIpcGetEventHandle, &handle, EVENT_OF(event)))
        CALL(cuIpcOpenEventHandle, &opened, handle);
}

static void export_pointer(void)
{
    CUmemPoolPtrExportData data;
    CUdeviceptr address = 0;
    struct object *memory = pick_memory(POOLED | DEVICE), *pool = pick(POOL);
    NEED(memory);
    settle_all();
    memset(&data, 0, sizeof data);
    say(" %s", name_of(memory));
    if (!CALL(cuMemPoolExportPointer, &data, memory->handle) && pool && takes_risk(RISK_FOREIGN))
        CALL(cuMemPoolImportPointer, &address, POOL_OF(pool), &data);
}

static const struct operation operations[] = {
    { "export memory", 20, export_memory },    { "open nonsense", 5, open_nonsense },
    { "close memory", 5, close_memory },       { "export an event", 15, export_event },
    { "export a pointer", 5, export_pointer },
};

const struct area ipc_area = { "ipc", operations, COUNT(operations), 0 };
