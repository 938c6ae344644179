/*
 * Memory and events of other processes.
 *
 * The arena of device memory is a memfd, so that another process can map a part of it: by a
 * descriptor (pools), or by asking this process for the descriptor (IPC handles:
 * docs.nvidia.com/cuda/cuda-driver-api, "cuIpcGetMemHandle"; sim/peer.c). An event of several
 * processes counts in a page that they share.
 */
#include "config.h"

#include "sim/ipc.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sim/address_space.h"
#include "sim/arena.h"
#include "sim/context.h"
#include "sim/current_context.h"
#include "sim/device.h"
#include "sim/event.h"
#include "sim/peer.h"
#include "sim/pool.h"
#include "sim/range.h"
#include "sim/work.h"

enum { MAGIC_MEMORY = 0x6d656d31, MAGIC_EVENT = 0x65767431 };

/* The content of a handle. */
struct place {
    uint32_t magic;
    int32_t pid, fd;
    uint64_t offset, bytes;
    char peer[SIM_PEER_NAME]; /* of an IPC handle */
};
_Static_assert(sizeof(struct place) <= sizeof(CUipcMemHandle), "it fits");
_Static_assert(sizeof(struct place) <= sizeof(CUmemPoolPtrExportData), "it fits");

/* ---- memory ---- */

/* Makes a part of an arena a range. fd stays the caller's. */
static CUresult show(int fd, const struct place *place, struct sim_pool *pool, int device,
                     struct sim_range **out)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t first = (size_t)place->offset / page * page, before = (size_t)place->offset - first;
    size_t bytes = (before + (size_t)place->bytes + page - 1) / page * page;
    void *window = sim_map(bytes, SIM_PLACES, PROT_NONE);
    void *cells = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)first);
    struct sim_range range = {
        .base = (uint64_t)(uintptr_t)window + before,
        .bytes = (size_t)place->bytes,
        .backing = (unsigned char *)cells + before,
        .memory = SIM_FOREIGN_MEMORY,
        .context = pool ? NULL : sim_current(),
        .device = device,
        .is_readable = true,
        .is_writable = true,
        .pool = pool,
    };
    CUresult status =
        window && cells != MAP_FAILED ? sim_range_add(&range, out) : CUDA_ERROR_OUT_OF_MEMORY;
    if (status && window)
        munmap(window, bytes);
    if (status && cells != MAP_FAILED)
        munmap(cells, bytes);
    return status;
}

void sim_foreign_end(struct sim_range *range)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t before = (size_t)(range->base % page);
    size_t bytes = (before + range->bytes + page - 1) / page * page;
    munmap(range->backing - before, bytes);
    munmap((void *)(uintptr_t)(range->base - before), bytes);
}

CUresult cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    const struct sim_range *range = sim_range_at(address);
    if (!handle || !range || range->memory != SIM_DEVICE_MEMORY || range->pool)
        return CUDA_ERROR_INVALID_VALUE;
    struct place place = { .magic = MAGIC_MEMORY, .pid = getpid(), .bytes = range->bytes };
    size_t offset;
    place.fd = sim_arena_place(range, &offset);
    place.offset = offset;
    if (!sim_peer_name(place.peer))
        return CUDA_ERROR_OPERATING_SYSTEM;
    *handle = (CUipcMemHandle){ { 0 } };
    memcpy(handle, &place, sizeof place);
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags)
{
    SIM_LOCKED;
    struct sim_context *context;
    struct sim_range *range;
    struct place place;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    memcpy(&place, &handle, sizeof place);
    if (!out || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS || place.magic != MAGIC_MEMORY)
        return CUDA_ERROR_INVALID_VALUE;
    if (place.pid == getpid())
        return CUDA_ERROR_INVALID_CONTEXT;
    int fd = sim_peer_open(place.peer, place.fd);
    if (fd < 0)
        return CUDA_ERROR_INVALID_HANDLE;
    status = show(fd, &place, NULL, context->device, &range);
    close(fd);
    if (!status)
        *out = range->base;
    return status;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned int flags)
{
    return cuIpcOpenMemHandle_v2(out, handle, flags);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
    SIM_LOCKED;
    struct sim_context *context;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    sim_drain_all();
    struct sim_range *range = sim_range_at(address);
    if (!range || range->base != address || range->memory != SIM_FOREIGN_MEMORY || range->pool)
        return CUDA_ERROR_INVALID_VALUE;
    sim_range_end(range);
    return CUDA_SUCCESS;
}

/* ---- memory of pools ---- */

CUresult cuMemPoolExportToShareableHandle(void *out, CUmemoryPool pool_handle,
                                          CUmemAllocationHandleType type, unsigned long long flags)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_pool *pool = sim_object_find(SIM_POOL, pool_handle);
    if (!out || !pool || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !sim_pool_is_shared(pool))
        return CUDA_ERROR_INVALID_VALUE;
    int fd = fcntl(sim_arena_place(NULL, NULL), F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return CUDA_ERROR_OPERATING_SYSTEM;
    *(int *)out = fd;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_INVALID_VALUE;
    int fd = fcntl((int)(intptr_t)handle, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return CUDA_ERROR_INVALID_HANDLE;
    return sim_pool_import(fd, out);
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr address)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_range *range = sim_range_at(address);
    if (!out || !range || range->memory != SIM_DEVICE_MEMORY || !range->pool ||
        !sim_pool_is_shared(range->pool))
        return CUDA_ERROR_INVALID_VALUE;
    struct place place = { .magic = MAGIC_MEMORY, .bytes = range->bytes };
    size_t offset;
    sim_arena_place(range, &offset);
    place.offset = offset;
    *out = (CUmemPoolPtrExportData){ { 0 } };
    memcpy(out, &place, sizeof place);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool handle,
                                CUmemPoolPtrExportData *share)
{
    SIM_LOCKED;
    struct sim_range *range;
    struct place place;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    struct sim_pool *pool = sim_object_find(SIM_POOL, handle);
    int fd = pool ? sim_pool_descriptor(pool) : -1;
    if (!out || !share || fd < 0)
        return CUDA_ERROR_INVALID_VALUE;
    memcpy(&place, share, sizeof place);
    if (place.magic != MAGIC_MEMORY)
        return CUDA_ERROR_INVALID_VALUE;
    status = show(fd, &place, pool, 0, &range);
    if (!status)
        *out = range->base;
    return status;
}

/* ---- events ---- */

struct sim_signal {
    unsigned int refs;
    int fd;
    struct {
        _Atomic uint64_t asked, done; /* recordings requested, and the last one done */
    } * page;
};

void sim_signal_drop(struct sim_signal *signal)
{
    if (!signal || --signal->refs)
        return;
    if (signal->page)
        munmap(signal->page, sizeof *signal->page);
    if (signal->fd >= 0)
        close(signal->fd);
    free(signal);
}

/* Takes fd over. */
static struct sim_signal *take_signal(int fd)
{
    struct sim_signal *made = calloc(1, sizeof *made);
    if (!made) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    made->refs = 1;
    made->fd = fd;
    void *page = fd < 0 ? MAP_FAILED
                        : mmap(NULL, sizeof *made->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        sim_signal_drop(made);
        return NULL;
    }
    made->page = page;
    return made;
}

struct sim_signal *sim_signal_new(void)
{
    int fd = memfd_create("aitherion-sim-event", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, sizeof *((struct sim_signal *)NULL)->page)) {
        close(fd);
        return NULL;
    }
    return take_signal(fd);
}

bool sim_signal_is_done(const struct sim_signal *signal)
{
    return atomic_load(&signal->page->done) >= atomic_load(&signal->page->asked);
}

/* One recording, which the stream marks or waits for when it comes to it. */
struct signal_work {
    struct sim_work work;
    struct sim_signal *signal;
    uint64_t number;
};

static CUresult run_tell(struct sim_work *work, struct sim_context *context)
{
    struct signal_work *told = (struct signal_work *)work;
    (void)context;
    atomic_store(&told->signal->page->done, told->number);
    told->number = 0;
    return CUDA_SUCCESS;
}

/* Takes back a recording that no stream accepted: a wait for its event would never end. */
static void end_signal(struct sim_work *work)
{
    struct signal_work *ended = (struct signal_work *)work;
    uint64_t number = ended->number;
    if (work->run == run_tell && number)
        atomic_compare_exchange_strong(&ended->signal->page->asked, &number, number - 1);
    sim_signal_drop(ended->signal);
}

static void wait_for(const struct sim_signal *signal, uint64_t number)
{
    while (atomic_load(&signal->page->done) < number)
        nanosleep(&(struct timespec){ .tv_nsec = 200000 }, NULL);
}

static CUresult run_await(struct sim_work *work, struct sim_context *context)
{
    const struct signal_work *awaited = (struct signal_work *)work;
    (void)context;
    wait_for(awaited->signal, awaited->number);
    return CUDA_SUCCESS;
}

static struct sim_work *new_work(struct sim_signal *signal, uint64_t number,
                                 CUresult (*run)(struct sim_work *, struct sim_context *))
{
    struct signal_work *made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->work.refs = 1;
    made->work.type = CU_GRAPH_NODE_TYPE_EMPTY;
    made->work.runs_after_fault = true;
    made->work.run = run;
    made->work.end = end_signal;
    made->signal = signal;
    made->number = number;
    signal->refs++;
    return &made->work;
}

struct sim_work *sim_signal_tell(struct sim_signal *signal)
{
    return new_work(signal, atomic_fetch_add(&signal->page->asked, 1) + 1, run_tell);
}

struct sim_work *sim_signal_await(struct sim_signal *signal)
{
    return new_work(signal, atomic_load(&signal->page->asked), run_await);
}

void sim_signal_wait(struct sim_signal *signal)
{
    uint64_t number = atomic_load(&signal->page->asked);
    signal->refs++;
    sim_unlock();
    wait_for(signal, number);
    sim_lock();
    sim_signal_drop(signal);
}

CUresult cuIpcGetEventHandle(CUipcEventHandle *handle, CUevent asked)
{
    SIM_LOCKED;
    CUresult status = sim_enter_driver();
    if (status)
        return status;
    const struct sim_event *event = sim_object_find(SIM_EVENT, asked);
    if (!event)
        return CUDA_ERROR_INVALID_HANDLE;
    if (!handle || !event->signal)
        return CUDA_ERROR_INVALID_VALUE;
    struct place place = { .magic = MAGIC_EVENT, .pid = getpid(), .fd = event->signal->fd };
    if (!sim_peer_name(place.peer))
        return CUDA_ERROR_OPERATING_SYSTEM;
    *handle = (CUipcEventHandle){ { 0 } };
    memcpy(handle, &place, sizeof place);
    return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle handle)
{
    SIM_LOCKED;
    struct sim_context *context;
    struct place place;
    CUresult status = sim_enter(&context);
    if (status)
        return status;
    memcpy(&place, &handle, sizeof place);
    if (!out || place.magic != MAGIC_EVENT)
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_signal *signal = take_signal(sim_peer_open(place.peer, place.fd));
    if (!signal)
        return CUDA_ERROR_INVALID_HANDLE;
    return sim_event_of_signal(context, signal, out);
}
