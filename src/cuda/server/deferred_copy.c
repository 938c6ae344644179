/* Rooms of deferred copies, which the driver copies to without waiting since they are pinned. */
#include "config.h"

#include "cuda/server/deferred_copy.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "cuda/common/deferred_limits.h"
#include "cuda/server/served_call.h"
#include "proto/cuda-wire.h"

/* Rooms together: twice the client's limit, since a room may be nearly twice as large as its copy,
 * and as much again for unused rooms of other sizes. */
enum { ROOMS_MOST = 4 * ATH_CUDA_DEFERRED_MOST };

enum { FLAG_BYTES = 64 }; /* behind the data, in a line of their own */

struct ath_cuda_deferred {
    struct ath_cuda_deferred *next;
    size_t capacity, bytes;
    uint8_t *memory;
    uint64_t address;          /* the client's */
    _Atomic uint32_t *is_done; /* in the memory: the GPU sets it */
    CUdeviceptr flag;          /* its address for the GPU; 0: a host function sets it */
    bool is_registered;        /* with the driver */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ath_cuda_deferred *unused;
static struct ath_cuda_deferred *due, **last_due = &due; /* in the order of the calls */
static atomic_int due_count;
static size_t held_bytes; /* of all rooms */

static struct ath_cuda_deferred *take_unused(size_t bytes)
{
    struct ath_cuda_deferred **best = NULL;
    pthread_mutex_lock(&lock);
    for (struct ath_cuda_deferred **at = &unused; *at; at = &(*at)->next)
        if ((*at)->capacity >= bytes && (!best || (*at)->capacity < (*best)->capacity))
            best = at;
    struct ath_cuda_deferred *room = best ? *best : NULL;
    if (room)
        *best = room->next;
    pthread_mutex_unlock(&lock);
    return room;
}

static void put_unused(struct ath_cuda_deferred *room)
{
    pthread_mutex_lock(&lock);
    room->next = unused;
    unused = room;
    pthread_mutex_unlock(&lock);
}

/* Without a registration the driver waits in the copy, which is right but slow. */
static struct ath_cuda_deferred *map_room(const struct ath_cuda_driver *driver, size_t capacity)
{
    struct ath_cuda_deferred *room = calloc(1, sizeof *room);
    const size_t whole = capacity + FLAG_BYTES;
    void *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!room || memory == MAP_FAILED) {
        free(room);
        if (memory != MAP_FAILED)
            munmap(memory, whole);
        return NULL;
    }
    room->capacity = capacity;
    room->memory = memory;
    room->is_done = (_Atomic uint32_t *)(void *)(room->memory + capacity);
    room->is_registered = driver->cuMemHostRegister_v2 &&
                          !driver->cuMemHostRegister_v2(memory, whole, CU_MEMHOSTREGISTER_PORTABLE);
    if (!room->is_registered || !driver->cuStreamWriteValue32_v2 ||
        !driver->cuMemHostGetDevicePointer_v2 ||
        driver->cuMemHostGetDevicePointer_v2(&room->flag, (void *)room->is_done, 0))
        room->flag = 0;
    return room;
}

static void room_free(const struct ath_cuda_driver *driver, struct ath_cuda_deferred *room)
{
    if (room->is_registered && driver->cuMemHostUnregister)
        driver->cuMemHostUnregister(room->memory);
    munmap(room->memory, room->capacity + FLAG_BYTES);
    free(room);
}

/* Frees unused rooms until there may be a new one. Returns false if too many are in use. */
static bool has_space(const struct ath_cuda_driver *driver, size_t capacity)
{
    struct ath_cuda_deferred *freed = NULL;
    pthread_mutex_lock(&lock);
    while (unused && held_bytes + capacity > ROOMS_MOST) {
        struct ath_cuda_deferred *room = unused;
        unused = room->next;
        held_bytes -= room->capacity;
        room->next = freed;
        freed = room;
    }
    bool has = held_bytes + capacity <= ROOMS_MOST;
    held_bytes += has ? capacity : 0;
    pthread_mutex_unlock(&lock);
    for (struct ath_cuda_deferred *next; freed; freed = next) {
        next = freed->next;
        room_free(driver, freed);
    }
    return has;
}

static struct ath_cuda_deferred *make_room(const struct ath_cuda_driver *driver, size_t bytes)
{
    size_t capacity = ATH_CUDA_DEFERRED_LEAST;
    while (capacity < bytes)
        capacity *= 2;
    if (!has_space(driver, capacity))
        return NULL;
    struct ath_cuda_deferred *room = map_room(driver, capacity);
    pthread_mutex_lock(&lock);
    held_bytes -= room ? 0 : capacity;
    pthread_mutex_unlock(&lock);
    return room;
}

static void note_done(void *memory)
{
    *((struct ath_cuda_deferred *)memory)->is_done = true;
}

/*
 * Marks the room as done behind its copy. The GPU writes the mark: a host function would hold the
 * stream for some ten microseconds, which is more than a copy of 64 KiB takes. A driver without
 * such writes (before CUDA 12 they are an option of the kernel module) gets a host function.
 */
static bool mark_behind(const struct ath_cuda_driver *driver, struct ath_cuda_deferred *room,
                        CUstream stream)
{
    return (room->flag && !driver->cuStreamWriteValue32_v2(stream, room->flag, true, 0)) ||
           (driver->cuLaunchHostFunc && !driver->cuLaunchHostFunc(stream, note_done, room));
}

static void add_due(struct ath_cuda_deferred *room)
{
    pthread_mutex_lock(&lock);
    room->next = NULL;
    *last_due = room;
    last_due = &room->next;
    due_count++;
    pthread_mutex_unlock(&lock);
}

void ath_cuda_defer_copy(struct ath_cuda_served *served, uint64_t address, CUdeviceptr source,
                         uint64_t bytes, CUstream stream)
{
    const struct ath_cuda_driver *driver = served->driver, *ungated = served->session->ungated;
    if (bytes > ATH_CUDA_DEFERRED_MOST) {
        served->status = CUDA_ERROR_INVALID_VALUE;
        return;
    }
    struct ath_cuda_deferred *room = take_unused((size_t)bytes);
    if (!room)
        room = make_room(driver, (size_t)bytes);
    served->status = room
                         ? driver->cuMemcpyDtoHAsync_v2(room->memory, source, (size_t)bytes, stream)
                         : CUDA_ERROR_OUT_OF_MEMORY;
    if (served->status) {
        if (room)
            put_unused(room);
        return;
    }
    room->address = address;
    room->bytes = (size_t)bytes;
    *room->is_done = false;
    if (!mark_behind(ungated, room, stream)) {
        served->status = driver->cuStreamSynchronize(stream);
        *room->is_done = true;
    }
    add_due(room);
}

static struct ath_cuda_deferred *take_done(void)
{
    pthread_mutex_lock(&lock);
    struct ath_cuda_deferred **at = &due;
    while (*at && !*(*at)->is_done)
        at = &(*at)->next;
    struct ath_cuda_deferred *room = *at;
    if (room) {
        *at = room->next;
        if (!room->next)
            last_due = at;
        due_count--;
    }
    pthread_mutex_unlock(&lock);
    return room;
}

struct ath_cuda_deferred *ath_cuda_deferred_tell(struct ath_wire_builder *answer)
{
    struct ath_cuda_deferred *room = due_count ? take_done() : NULL;
    if (!room)
        return NULL;
    struct ath_cuda_wire_answer_builder start = ath_cuda_wire_answer_start(answer);
    ath_wire_lend(answer, 1);
    struct ath_cuda_wire_memory_part_builder to = { ath_wire_array_struct(
        ath_cuda_wire_answer_init_changes(start, 1), 0) };
    ath_cuda_wire_memory_part_set_address(to, room->address);
    ath_cuda_wire_memory_part_set_is_copied(to, true);
    ath_cuda_wire_memory_part_set_data(to, (struct ath_wire_bytes){ room->memory, room->bytes });
    return room;
}

void ath_cuda_deferred_told(struct ath_cuda_deferred *room)
{
    put_unused(room);
}
